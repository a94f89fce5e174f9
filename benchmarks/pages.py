"""Measure how long the report takes on StereoSet's development set with 20 models.

The models are made up: scores at random that prefer meaningful and stereotypical associations more
or less, in four architectures of five sizes. Limits: 20 s, ``report.html`` at most 2 MB, the folder
at most 20 MB.

    python benchmarks/pages.py --data DIR [--models N]

DIR has ``stereoset/dev_labelled.json.gz``. The exit code is 1 if a limit is missed.
"""

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SECONDS, PAGE, FOLDER = 20, 2e6, 20e6
FAMILIES = ("Oak", "Elm", "Fir", "Ash")


def write_runs(folder: Path, cats: list[Any], count: int) -> None:
    """Write runs of made-up models: the larger, the more they know and the more they stereotype."""
    from curation.files import dump_line
    from curation.kinds import CAT_KINDS
    from curation.models.rules import PROFILES, rules_of
    from curation.records import Score

    for number in range(count):
        family, size = FAMILIES[number % len(FAMILIES)], number // len(FAMILIES)
        model, drawn = f"made-up/{family.lower()}-{size + 1}", random.Random(number)
        lean = {
            "stereotype": 0.8 + 0.25 * size,
            "anti-stereotype": 0.7 + 0.2 * size,
            "unrelated": 0,
        }
        place = folder / model.replace("/", "--") / "default"
        place.mkdir(parents=True)
        scores = [
            Score(model=model, rule="default", association=a.id, value=drawn.gauss(lean[a.gold]))
            for cat in cats
            for a in cat.associations
        ]
        (place / "scores.jsonl").write_bytes(b"".join(map(dump_line, scores)))
        opened = {"architecture": f"{family}Model", "parameters": 10**8 * 2**size}
        about = {
            "model": model,
            "family": "causal",
            "rules": rules_of(PROFILES["default"]["causal"], CAT_KINDS),
        }
        (place / "run.json").write_text(json.dumps(about | {"opened": opened}), "utf-8")


def main() -> None:
    """Print the table."""
    from curation.catsets.stereoset import read_cats

    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="write to this folder, and keep it")
    given = parser.parse_args()
    packed = given.data / "stereoset" / "dev_labelled.json.gz"
    if not packed.exists():
        sys.exit(f"{packed} is missing: nothing was measured")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(exist_ok=True, parents=True)
        gold, scores, out = folder / "dev.json", folder / "scores", folder / "report"
        gold.write_bytes(gzip.decompress(packed.read_bytes()))
        cats = read_cats(gold)
        write_runs(scores, cats, given.models)
        words = ["pages", "build", "--gold", gold, "--scores", scores, "--to", out]
        before, start = os.times(), time.perf_counter()
        subprocess.run([sys.executable, "-m", "curation", *map(str, words)], check=True)
        wall, after = time.perf_counter() - start, os.times()
        spent = after.children_user - before.children_user
        page = next(out.rglob("report.html")).stat().st_size
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    rows = [
        ("seconds", wall, SECONDS, f"{spent:.1f} s of a processor"),
        ("report.html, MB", page / 1e6, PAGE / 1e6, ""),
        ("folder, MB", size / 1e6, FOLDER / 1e6, ""),
    ]
    print(f"{len(cats):,} CATs, {given.models} models")
    for name, value, limit, note in rows:
        print(f"{name:20}{value:9.2f}{limit:9.0f}  {note}")
    sys.exit(any(value > limit for _, value, limit, _ in rows))


if __name__ == "__main__":
    main()

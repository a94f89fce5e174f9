"""Measure the time and memory of building a release with all its files.

Makes a campaign of 20,000 made-up CATs of both kinds on 200 terms, with five labels for each
association and the scores of two made-up models, and brings its steps up to date. Then
``curation release build`` runs in its own process. Prints the files and one table. Targets: under
60 s and 1 GB.

    python benchmarks/release.py [CATS]
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path, PurePath

from measures import made_up

CATS = 20_000
SECONDS, MEGABYTES = 60, 1_000
LABELS, PEOPLE = 5, 400
DOMAINS = ("gender", "profession", "race", "religion")
MODELS = ("model-a", "model-b")


def campaign(root: Path, count: int) -> None:
    """Make the campaign: a file of published items is imported, and the steps run."""
    from curation.campaign import create_campaign
    from curation.checks.codes import PITFALLS
    from curation.files import dump_json
    from curation.settings import CampaignSettings, ReleaseSettings, Settings, new_id
    from curation.stereoset import dataset

    drawn = random.Random(1)
    cats, labels = [], {}
    for cat in made_up(count):
        cats.append(cat.model_copy(update={"domain": DOMAINS[int(cat.domain.split()[1])]}))
        for option in cat.associations:
            people = drawn.sample(range(PEOPLE), LABELS)
            right = LABELS if drawn.random() < 0.7 else drawn.choice((3, 4))
            labels[option.id] = [
                (f"person-{person}", option.gold if n < right else "related")
                for n, person in enumerate(people)
            ]
    published = root.with_name("published.json")
    published.write_bytes(dump_json(dataset(cats, labels, version="1")))
    create_campaign(
        root,
        Settings(
            campaign=CampaignSettings(id=new_id(), name="Made up"),
            release=ReleaseSettings(accept=tuple(PITFALLS)),  # texts of random words have many
        ),
    )
    run("import", "stereoset", published, "-c", root)
    for step in ("filter", "agreement", "split"):
        run("decisions", step, "-c", root)
    for model in MODELS:
        scores(root / "5-scores" / model / "default", model, drawn)
    for step in ("statistics", "sentiment", "pitfalls"):
        run("measures", step, "-c", root)


def scores(folder: Path, model: str, drawn: random.Random) -> None:
    """Write the run of a model whose scores are random."""
    from curation.files import dump_line, read_records
    from curation.models.rules import PROFILES, revisions
    from curation.records import Cat, Score

    folder.mkdir(parents=True)
    cats = read_records(folder.parents[2] / "3-decisions" / "cats.jsonl", Cat)
    lines = [
        dump_line(Score(model=model, rule="default", association=a.id, value=-drawn.random()))
        for cat in cats
        for a in cat.associations
    ]
    (folder / "scores.jsonl").write_bytes(b"".join(lines))
    rules = PROFILES["default"]["causal"]
    about = {"model": model, "family": "causal", "rules": rules, "revisions": revisions(rules)}
    (folder / "run.json").write_text(json.dumps(about), "utf-8")


def run(*args: str | Path) -> tuple[float, float, float]:
    """Run ``curation`` in its own process: seconds, seconds of processors, peak memory in MB."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "curation", *map(str, args)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stderr
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"curation {' '.join(map(str, args))}:\n{said}")
    seconds = time.perf_counter() - start
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def kinds(release: Path) -> list[tuple[str, int, float]]:
    """The files of a release by ending: how many, and their size in MB."""
    files = [path for path in release.rglob("*") if path.is_file()]
    sizes: dict[str, float] = Counter()
    for path in files:
        sizes[PurePath(path).suffix or path.name] += path.stat().st_size / 1e6
    number = Counter(path.suffix or path.name for path in files)
    return sorted((name, number[name], size) for name, size in sizes.items())


def main() -> None:
    """Print the tables."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CATS
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "campaign"
        start = time.perf_counter()
        campaign(root, count)
        made = time.perf_counter() - start
        seconds, cpu, peak = run("release", "build", "-c", root)
        (release,) = (path for path in (root / "7-release").iterdir() if path.is_dir())
        print(f"{count:,} CATs, {count * 3 * LABELS:,} labels, made in {made:.0f} s\n")
        print(f"{'files':24}{'number':>9}{'MB':>9}")
        for ending, number, size in kinds(release):
            print(f"{ending:24}{number:9}{size:9.1f}")
    print(f"\n{'what':24}{'seconds':>9}{'limit':>8}{'CPU':>9}{'peak MB':>9}{'limit':>8}")
    print(f"{'release build':24}{seconds:9.1f}{SECONDS:8}{cpu:9.1f}{peak:9.0f}{MEGABYTES:8}")
    if seconds > SECONDS or peak > MEGABYTES:
        print("\nthe build is over a limit")


if __name__ == "__main__":
    main()

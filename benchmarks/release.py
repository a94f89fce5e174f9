"""Measure how the time and memory of releases grow, and which near-duplicates are missed.

For each size, makes a campaign of made-up CATs of both kinds on 200 terms, with five labels for
each association and the scores of two made-up models, and brings its steps up to date. Then
``curation release build``, ``check`` and ``near`` run in processes of their own. Prints one table,
and the files of the largest release. Targets for 100,000 CATs on two idle cores: 90 s and 1.5 GB
for each command.

In each dataset, near-duplicates are planted: contexts in which letters or a word are changed. The
table has how many of them are found. For the smallest size, all similar contexts are compared with
those that a comparison of all pairs finds.

    python benchmarks/release.py [CATS ...]
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path, PurePath
from typing import NamedTuple

from measures import made_up

SIZES = (10_000, 20_000, 50_000, 100_000)
SECONDS, MEGABYTES = 90, 1_500
PLANTED = 1_000
LABELS, PEOPLE = 5, 400
DOMAINS = ("gender", "profession", "race", "religion")
MODELS = ("model-a", "model-b")


def campaign(root: Path, count: int) -> None:
    """Make the campaign: a file of published items is imported, and the steps run."""
    from curation.campaign.settings import CampaignSettings, ReleaseSettings, Settings, new_id
    from curation.campaign.store import create_campaign
    from curation.catsets.stereoset import dataset
    from curation.checks.codes import PITFALLS
    from curation.files import dump_json

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
    from curation.kinds import CAT_KINDS
    from curation.models.rules import PROFILES, rules_of
    from curation.records import Cat, Score

    folder.mkdir(parents=True)
    cats = read_records(folder.parents[2] / "3-decisions" / "cats.jsonl", Cat)
    lines = [
        dump_line(Score(model=model, rule="default", association=a.id, value=-drawn.random()))
        for cat in cats
        for a in cat.associations
    ]
    (folder / "scores.jsonl").write_bytes(b"".join(lines))
    rules = rules_of(PROFILES["default"]["causal"], CAT_KINDS)
    about = {"model": model, "family": "causal", "rules": rules}
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
    sizes: dict[str, float] = defaultdict(float)
    for path in files:
        sizes[PurePath(path).suffix or path.name] += path.stat().st_size / 1e6
    number = Counter(path.suffix or path.name for path in files)
    return sorted((name, number[name], size) for name, size in sizes.items())


class Found(NamedTuple):
    """How many planted near-duplicates are found, of how many, and the pairs that are compared."""

    planted: int
    of: int
    compared: int
    lost: int | None
    """Of all similar pairs; None if they are not known."""
    similar: int


def changed(text: str, words: list[str], drawn: random.Random) -> str:
    """The text with one word or up to four letters replaced, added or left out."""
    if drawn.random() < 0.5:
        parts = text.split()
        at = drawn.randrange(len(parts))
        parts[at : at + drawn.randint(0, 1)] = drawn.choice([[drawn.choice(words)], []])
        return " ".join(parts)
    for _ in range(drawn.randint(1, 4)):
        at = drawn.randrange(len(text))
        letter = drawn.choice("abcdefghijklmnopqrstuvwxyz")
        text = text[:at] + drawn.choice([letter, ""]) + text[at + drawn.randint(0, 1) :]
    return text


def near_duplicates(count: int, *, whole: bool) -> Found:
    """Look for similar contexts with planted ones; ``whole`` also compares all pairs."""
    from rapidfuzz import fuzz, process

    from curation.checks.similar import similar

    drawn = random.Random(3)
    texts = list(dict.fromkeys(cat.context for cat in made_up(count)))
    words = [word for text in texts[:1000] for word in text.split()]
    planted = {changed(text, words, drawn): text for text in drawn.sample(texts, PLANTED)}
    planted = {a: b for a, b in planted.items() if a != b and fuzz.ratio(a, b) >= 90}
    texts = list(dict.fromkeys([*texts, *planted]))
    pairs, compared = set(), 0
    for part in similar(texts, texts, similarity=0.9):
        pairs |= set(zip(part.some.tolist(), part.others.tolist(), strict=True))
        compared += part.compared
    at = {text: number for number, text in enumerate(texts)}
    found = sum((at[a], at[b]) in pairs or (at[b], at[a]) in pairs for a, b in planted.items())
    lost = None
    if whole:
        lost = 0
        for start in range(0, len(texts), 500):
            ratios = process.cdist(
                texts[start : start + 500], texts, score_cutoff=90, scorer=fuzz.ratio
            )
            lost += sum((start + a, b) not in pairs for a, b in zip(*ratios.nonzero(), strict=True))
    return Found(found, len(planted), compared, lost, len(pairs) - len(texts))


def main() -> None:
    """Print the tables."""
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print(f"{'CATs':>8}  {'what':16}{'seconds':>9}{'CPU':>8}{'peak MB':>9}", flush=True)
    over = False
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name) / "campaign"
            campaign(root, size)
            for command in ("build", "check", "near"):
                seconds, cpu, peak = run("release", command, "-c", root)
                print(
                    f"{size:8,}  {'release ' + command:16}{seconds:9.1f}{cpu:8.1f}{peak:9.0f}",
                    flush=True,
                )
                over |= seconds > SECONDS or peak > MEGABYTES
            (release,) = (path for path in (root / "7-release").iterdir() if path.is_dir())
            files = kinds(release)
    print(f"\n{'files of the last':24}{'number':>9}{'MB':>9}")
    for ending, number, megabytes in files:
        print(f"{ending:24}{number:9}{megabytes:9.1f}")
    print(
        f"\n{'CATs':>8}{'planted':>9}{'found':>8}{'compared a text':>17}{'similar':>9}{'lost':>6}"
    )
    for size in sizes:
        found = near_duplicates(size, whole=size == min(sizes))
        lost = "" if found.lost is None else found.lost
        print(
            f"{size:8,}{found.of:9}{found.planted:8}{found.compared / size:17.1f}"
            f"{found.similar:9}{lost:>6}"
        )
    if over:
        print(f"\na command is over a limit of {SECONDS} s or {MEGABYTES:,} MB")


if __name__ == "__main__":
    main()

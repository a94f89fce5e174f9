"""Measure the time and memory of reading, filtering and agreement on a large table of labels.

Writes a synthetic campaign's items and labels (200,000 associations, five labels each). Runs three
jobs, each in its own process: a plain pandas read and groupby of the same file, our read and
filter, and agreement with its intervals. Prints one table. Targets: read and filter under 3 times
the time of pandas and under 2 GB, agreement under 30 s.

    python benchmarks/labels.py [ASSOCIATIONS]
"""

import json
import multiprocessing as mp
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LABELS = 5
DOMAINS = ("gender", "profession", "race", "religion")
GOLDS = ("stereotype", "anti-stereotype", "unrelated")


def write(folder: Path, associations: int) -> None:
    """Write items and labels in the form of a campaign; 85 % of labels match the intent."""
    rng = random.Random(1)
    with (folder / "items.jsonl").open("w") as items, (folder / "labels.jsonl").open("w") as out:
        for n in range(associations // 3):
            name = f"item-{n:08d}"
            options = [
                {"id": f"association-{n:08d}{k}", "sentence": f"Sentence {k} of item {n}.",
                 "intent": gold, "published_gold": None}
                for k, gold in enumerate(GOLDS)
            ]  # fmt: skip
            item = {"id": name, "kind": "intersentence", "term": f"term-{n % 300:03d}",
                    "context": f"Context {n}.", "associations": options, "round": "main",
                    "writer": None, "submitted_at": None, "seconds": None}  # fmt: skip
            items.write(json.dumps(item) + "\n")
            people = rng.sample(range(2000), LABELS)
            for option in options:
                for person in people:
                    value = option["intent"] if rng.random() < 0.85 else rng.choice(GOLDS)
                    second = rng.randrange(86_400)
                    label = {
                        "id": f"label-{rng.getrandbits(80):020x}", "item": name,
                        "association": option["id"], "annotator": f"p-{person:016x}",
                        "value": value, "round": "main",
                        "submitted_at": f"2026-03-{1 + n % 28:02d}T{second // 3600:02d}:"
                        f"{second // 60 % 60:02d}:{second % 60:02d}.000Z",
                        "seconds": float(rng.randrange(5, 90)), "source": "answers",
                    }  # fmt: skip
                    out.write(json.dumps(label) + "\n")


def plain_pandas(folder: Path) -> dict[str, float]:
    """For comparison: read the labels, count them by association and value."""
    import pandas as pd

    start = time.perf_counter()
    table = pd.read_json(folder / "labels.jsonl", lines=True)
    table.groupby(["association", "value"]).size()
    return {"pandas read_json + groupby": time.perf_counter() - start}


def read_and_filter(folder: Path) -> dict[str, float]:
    """Ours: read and check items and labels, count, decide."""
    from curation.decisions.filter import judge
    from curation.files import read_records, read_table
    from curation.records import Item, Label
    from curation.stats.agreement import count

    start = time.perf_counter()
    labels = read_table([folder / "labels.jsonl"], Label)
    items = read_records(folder / "items.jsonl", Item)
    counted = count(items, labels)
    kept = sum(d.kept for d in judge(items, counted.votes))
    assert kept > len(items) / 2
    return {"read + filter": time.perf_counter() - start}


def agreement(folder: Path) -> dict[str, float]:
    """Ours: the three measures, two scopes, two classes, with intervals."""
    from curation.decisions.agreement import by_annotator, facts, measured
    from curation.decisions.filter import judge
    from curation.files import read_records, read_table
    from curation.records import Item, Label, Term
    from curation.stats.agreement import count

    labels = read_table([folder / "labels.jsonl"], Label)
    items = read_records(folder / "items.jsonl", Item)
    counted = count(items, labels)
    decisions = judge(items, counted.votes)
    terms = {
        name: Term(id=name, text=name, domain=DOMAINS[n % 4])
        for n, name in enumerate(sorted({item.term for item in items}))
    }
    start = time.perf_counter()
    found = facts(items, decisions, counted, terms)
    measured(found)
    middle = time.perf_counter()
    by_annotator(found)
    for group in ("domain", "kind", "round", "term"):
        measured(found, by=group)
    return {
        "agreement, overall": middle - start,
        "agreement by domain, kind, round, term, annotator": time.perf_counter() - middle,
    }


def apart(work: Callable[[Path], dict[str, float]], folder: Path) -> tuple[dict[str, float], float]:
    """Run ``work`` in its own process; return times and peak memory in MB."""
    with mp.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (work, folder))


def _measured(
    work: Callable[[Path], dict[str, float]], folder: Path
) -> tuple[dict[str, float], float]:
    times = work(folder)
    return times, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    associations = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, associations)
        size = (folder / "labels.jsonl").stat().st_size / 1e6
        print(f"{associations} associations × {LABELS} labels, {size:.0f} MB of labels.jsonl\n")
        print(f"{'what':52}{'seconds':>9}{'ratio':>8}{'peak MB':>9}")
        base = 0.0
        for work in (plain_pandas, read_and_filter, agreement):
            times, peak = apart(work, folder)
            for what, seconds in times.items():
                base = base or seconds
                print(f"{what:52}{seconds:9.2f}{seconds / base:8.2f}{peak:9.0f}")


if __name__ == "__main__":
    main()

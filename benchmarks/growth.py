"""Measure how the time and memory of a campaign's commands grow with CATs, people and models.

Imports made-up CATs of both kinds on 200 terms, with five labels for each association, at four
sizes, and runs the commands of decisions and measures, each in its own process. Then imports a
table of 15,000 answers to 3,000 items, by so many people, and compares models with random scores on
1,000 CATs. CPU seconds are those of all processors. Target: importing 100,000 CATs takes at most
1,650 MB.

    python benchmarks/growth.py [--cats N,N] [--people N,N] [--models N,N]
"""

import argparse
import csv
import json
import multiprocessing as mp
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from measures import made_up
from release import DOMAINS, LABELS, run

CATS = (2_500, 5_000, 10_000, 20_000)
MODELS = (5, 10, 20, 40)
PEOPLE = (100, 1_000, 10_000)
WRITTEN, COMPARED = 3_000, 1_000  # items that these people label, CATs that models score
MEGABYTES_OF_100_000 = 1_650
COMMANDS = (
    *(("decisions", name) for name in ("filter", "agreement", "split")),
    *(("measures", name) for name in ("statistics", "sentiment", "pitfalls")),
)


def published(path: Path, count: int) -> None:
    """Write a dataset of ``count`` CATs with labels by 400 annotators."""
    from curation.catsets.stereoset import dataset
    from curation.files import dump_json

    drawn = random.Random(1)
    cats, labels = [], {}
    for cat in made_up(count):
        cats.append(cat.model_copy(update={"domain": DOMAINS[int(cat.domain.split()[1])]}))
        for option in cat.associations:
            right = LABELS if drawn.random() < 0.7 else drawn.choice((3, 4))
            labels[option.id] = [
                (f"person-{person}", option.gold if n < right else "related")
                for n, person in enumerate(drawn.sample(range(400), LABELS))
            ]
    path.write_bytes(dump_json(dataset(cats, labels, version="1")))


def row(what: str, *args: str | Path) -> float:
    """Run a command and print its row; the peak of its memory in MB."""
    seconds, cpu, peak = run(*args)
    print(f"{what:44}{seconds:9.1f}{cpu:9.1f}{peak:9.0f}", flush=True)
    return peak


def numbers(text: str) -> list[int]:
    """Whole numbers, separated by commas."""
    return [int(part) for part in text.split(",") if part]


def apart(work: Callable[..., None], *args: Any) -> None:
    """Do work in its own process: a command's peak is never below that of the process before it."""
    process = mp.get_context("spawn").Process(target=work, args=args)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


def empty(root: Path) -> None:
    """Make a campaign without answers."""
    from curation.campaign.settings import CampaignSettings, ReleaseSettings, Settings, new_id
    from curation.campaign.store import create_campaign
    from curation.checks.codes import PITFALLS

    about = CampaignSettings(id=new_id(), name="Made up")
    accept = ReleaseSettings(accept=tuple(PITFALLS))  # texts of random words have many
    create_campaign(root, Settings(campaign=about, release=accept))


def campaign(root: Path, count: int) -> None:
    """Make a campaign of ``count`` CATs, and print a row for each command."""
    file = root.with_suffix(".json")
    apart(published, file, count)
    apart(empty, root)
    peak = row(f"{count:9,} CATs: import", "import", "stereoset", file, "-c", root)
    for command in COMMANDS:
        row(f"{count:9,} CATs: {command[1]}", *command, "-c", root)
    for path in sorted(path for path in root.rglob("*.json*") if path.is_file()):
        if (size := path.stat().st_size / count) >= 100:
            name = path.relative_to(root)
            place = name.parent if name.parent.name == "raw" else name  # a segment's name is a time
            print(f"{'':11}{place}: {size:,.0f} bytes for each CAT")
    if peak > MEGABYTES_OF_100_000 * max(1, count / 100_000):
        print("this import is over its limit")


def write(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def tables(folder: Path, people: int) -> None:
    """Write a table of items, and one of labels that so many people gave."""
    drawn = random.Random(1)
    items, given = [], []
    for cat in made_up(WRITTEN):
        options = {option.gold: option.sentence for option in cat.associations}
        items.append({
            "item_id": cat.id, "domain": DOMAINS[int(cat.domain.split()[1])], "kind": cat.kind,
            "target": cat.target, "context": cat.context, "annotator": "writer",
            "stereotype": options["stereotype"], "unrelated": options["unrelated"],
            "anti_stereotype": options["anti-stereotype"],
        })  # fmt: skip
        for person in drawn.sample(range(people), LABELS):
            labels = {"item_id": cat.id, "annotator": f"person-{person}", "seconds": "30"}
            for number, (gold, sentence) in enumerate(options.items(), 1):
                labels |= {f"association_{number}": sentence, f"label_{number}": gold}
            given.append(labels)
    write(folder / "items.csv", items)
    write(folder / "labels.csv", given)


def answers(root: Path, people: int) -> None:
    """Make a campaign with answers of so many people, and print a row for each command."""
    apart(tables, root.parent, people)
    apart(empty, root)
    for name in ("items", "labels"):
        file = root.with_name(f"{name}.csv")
        row(f"{people:9,} people: import {name}", "import", "answers", file, "-c", root)
    for command in (
        *(("decisions", "filter"), ("decisions", "agreement", "--by", "annotator")),
        *(("status",), ("rounds", "pay")),
    ):
        row(f"{people:9,} people: {' '.join(command)}", *command, "-c", root)


def runs(folder: Path, first: int, end: int) -> None:
    """Write runs of models with random scores."""
    from curation.files import dump_line
    from curation.kinds import CAT_KINDS
    from curation.models.rules import PROFILES, rules_of
    from curation.records import Score

    options = [option.id for cat in made_up(COMPARED) for option in cat.associations]
    drawn, rules = random.Random(first), rules_of(PROFILES["default"]["causal"], CAT_KINDS)
    about = {"family": "causal", "rules": rules}
    for model in (f"model-{number}" for number in range(first, end)):
        place = folder / model / "default"
        place.mkdir(parents=True)
        found = [
            Score(model=model, rule="default", association=option, value=-drawn.random())
            for option in options
        ]
        (place / "scores.jsonl").write_bytes(b"".join(map(dump_line, found)))
        (place / "run.json").write_text(json.dumps({"model": model, **about}), "utf-8")


def models(folder: Path, counts: Sequence[int]) -> None:
    """Compare models with random scores; print a row for each number of them."""
    gold, found, out, before = folder / "gold.json", folder / "scores", folder / "out.json", 0
    apart(published, gold, COMPARED)
    for count in sorted(counts):
        apart(runs, found, before, count)
        before, where = count, ("--gold", gold, "--scores", found)
        row(f"{count:9,} models: compare", "scores", "compare", *where, "--json", out)
        print(f"{'':11}{out.stat().st_size / 1e6:.1f} MB of JSON")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cats", type=numbers, default=CATS)
    parser.add_argument("--people", type=numbers, default=PEOPLE)
    parser.add_argument("--models", type=numbers, default=MODELS)
    given = parser.parse_args(sys.argv[1:])
    print(f"{'what':44}{'seconds':>9}{'CPU':>9}{'peak MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for count in given.cats:
            campaign(Path(folder) / str(count), count)
        for people in given.people:
            answers(Path(folder) / f"people-{people}", people)
        models(Path(folder), given.models)


if __name__ == "__main__":
    main()

"""Neutral rounds: on tables and on our own pages, and the report on how people read them."""

from pathlib import Path
from typing import Any

import pytest

from curation.records import Item, Task
from support.commands import set_to
from support.desk import GOLD, Desk, Row, at, label_row, word

CRAFTS = ("baker", "potter", "fiddler")
S, A, U = GOLD.values()
READ = {"baker": (S, S, S, A, U), "potter": (S, S, A, A, U), "fiddler": (U, U, U, U, S)}
"""What five people say of the neutral association on each term."""
PEOPLE = ("val-1", "val-2", "val-3", "val-4", "val-5")
SIDES = "curation rounds open validation --of n"


@pytest.fixture
def desk(forked: Any, tmp_path: Path) -> Desk:
    """A campaign with an item on each of three terms, by two writers."""
    made = Desk.make(forked, tmp_path / "c", CRAFTS, items=1, accept_times=("w", "n", "nv", "v"))
    made.open("intrasentence", "w")
    made.written("w", ["ann", "ben"])
    made.say("rounds", "close", "w")
    return made


def neutral_rows(desk: Desk, *people: str) -> list[Row]:
    """What people write in a neutral round, which are given no item of their own."""
    return [
        row
        | {"annotator": who, "neutral": word(row["task_id"]), "seconds": 40, "submitted_at": at(n)}
        for who, rows in desk.tables("n", people).items()
        for n, row in enumerate(rows)
    ]


def read_rows(desk: Desk, read: dict[str, tuple[str, ...]]) -> list[Row]:
    """What five people say of each neutral association, and rightly of those beside it."""
    golds, rows = desk.golds(), []
    for n, task in enumerate(desk.export("nv")):
        for who, label in zip(PEOPLE, read[task["target"]], strict=True):
            said = {text: label if gold == "None" else gold for text, gold in golds.items()}
            rows.append(label_row(task, who, said, n))
    return rows


def counted(desk: Desk) -> tuple[int, int]:
    counts = desk.say("decisions", "filter")
    return counts["items_in"], counts["labels_in"]


def test_a_whole_round_on_tables(desk: Desk) -> None:
    assert "there are no neutral associations yet" in desk.refused("decisions", "neutral")
    opened = desk.open("neutral", "n")
    assert (opened["tasks"], opened["answers_asked"]) == (3, 3)
    assert desk.say("status")["next"].startswith("n: 3 answers missing; curation rounds export n")
    rows = neutral_rows(desk, "ann", "ben", "cat")
    assert {*rows[0]} >= {"target", "domain", "context", "text_1", "text_2", "text_3"}
    writers = {item.id: item.writer for item in desk.records("w/items.jsonl", Item)}
    shown = {task.id: task for task in desk.records("n/tasks.jsonl", Task)}
    assert {task.barred for task in shown.values()} == {*writers.values()}
    assert desk.bring("n", rows)["new"] == 3
    assert desk.status("n")["remaining"] == 0
    items = desk.records("n/items.jsonl", Item)
    for item in items:
        base = next(i for i in desk.records("w/items.jsonl", Item) if i.context == item.context)
        assert item.associations[:2] == base.associations[:2]  # the stereotype and its opposite
        assert item.associations[2].intent is None
        assert item.writer not in (None, base.writer)
    assert counted(desk) == (3, 0)
    desk.say("rounds", "close", "n")
    assert desk.say("status")["next"] == f"labels for neutral associations: {SIDES}"
    assert f"fix:   «{SIDES}»" in desk.refused("decisions", "neutral")

    opened = desk.open("validation", "nv", "--of", "n")
    assert (opened["tasks"], opened["answers_asked"]) == (3, 15)
    assert desk.bring("nv", read_rows(desk, READ))["new"] == 15
    status = desk.status("nv")
    assert (status["remaining"], status["decided"], status["labels_per_item"]) == (0, 3, None)
    told = desk.say("rounds", "quality", "nv")
    assert [(who["labels"], who["agreement"] > 0.6) for who in told["people"]] == [(9, True)] * 5
    assert "next: curation decisions neutral\n" in desk.does("rounds", "close", "nv").out
    report = desk.say("decisions", "neutral")
    check(report)
    said = desk.does("decisions", "neutral").out
    assert "paper, several: no number: by multiple validators (section 4.2)" in said
    # 9 of 15 labels are one of the two sides: 60 %, with an interval around 50.
    (first, second) = report["meaning"]
    assert first.startswith("People read 60 % as a stereotype or an anti-stereotype, and the inte")
    assert second.startswith(
        "Of these, 67 % are read as stereotypes. That cannot be told from half"
    )

    # The items are labelled as ever: no label on a neutral association counts for them.
    assert counted(desk) == (3, 0)
    assert desk.open("validation", "v")["answers_asked"] == 15
    assert "every neutral association has its labels" in desk.refused(
        *("rounds", "open", "validation", "--of", "n", "--platform", "files")
    )
    assert "there is no item to write a neutral" in desk.refused(
        *("rounds", "open", "neutral", "--name", "n2", "--platform", "files")
    )
    assert "w is not a neutral round" in desk.refused(
        *("rounds", "open", "validation", "--of", "n", "--of", "w", "--platform", "files")
    )
    people_go(desk)


def check(report: Any) -> None:
    """The figures by hand. Stereotype 3 + 2 + 1, anti-stereotype 1 + 2 + 0, unrelated 1 + 1 + 4."""
    rows = {row["group"]: row for row in report["readings"]}
    assert [*rows] == ["all", "intrasentence", "profession", f"beside: {S}", f"beside: {A}"]
    every = rows["all"]
    assert (report["written"], every["associations"], every["labels"]) == (3, 3, 15)
    assert every["shares"] == pytest.approx({S: 40, A: 20, U: 40})
    # Wilson over 3 terms: variance 2 · 3/2 / 15² = 1/75, so n = .24 · 75 = 18; t = 4.3027 for 2.
    # Centre (.4 + 18.513 / 36) / (1 + 18.513 / 18) = .4507; half 4.3027 / 2.0285 ·
    # √(.24 / 18 + 18.513 / (4 · 18²)) = .3525.
    assert every["intervals"][S] == pytest.approx([9.82, 80.32], abs=0.01)
    assert every["several"] == pytest.approx(200 / 3)  # baker and potter
    assert every["majority"] == pytest.approx({S: 100 / 3, A: 0, U: 100 / 3, "none": 100 / 3})
    assert every["leaning"] == pytest.approx(600 / 9)
    # Pairs that differ, over 5 − 1: (25 − 11 + 25 − 9 + 25 − 17) / 4 = 9.5 of 15 labels; by chance
    # (225 − 36 − 9 − 36) / (15 · 14). Alpha = 1 − .63333 / .68571.
    assert every["alpha"] == pytest.approx(0.0763889)
    assert rows[f"beside: {S}"]["shares"] == pytest.approx({S: 100, A: 0, U: 0})
    assert rows[f"beside: {A}"]["majority"] == pytest.approx({S: 0, A: 100, U: 0, "none": 0})


def people_go(desk: Desk) -> None:
    """What people wrote and said goes with them."""
    desk.say("rounds", "exclude", "val-5", "--reason", "copied")
    every = desk.say("decisions", "neutral")["readings"][0]
    # Without the last label of each: stereotype 3 + 2 + 0 of 12.
    assert (every["labels"], every["shares"][S]) == (12, pytest.approx(500 / 12))
    desk.say("rounds", "exclude", "val-5", "--undo")
    items = desk.records("n/items.jsonl", Item)
    wrote = {item.writer for item in desk.records("w/items.jsonl", Item)}
    (who,) = {item.writer for item in items} - wrote
    gone = {item.id for item in items if item.writer == who}
    assert f"\n  {len(gone)} item" in desk.run("rounds", "withdraw", who).err  # it asks
    desk.say("rounds", "withdraw", "--yes", who)
    left = desk.say("decisions", "neutral")
    assert left["written"] == 3 - len(gone)
    assert {i.id for i in desk.records("n/items.jsonl", Item)}.isdisjoint(gone)

    # The words of an erased writer of items leave the tasks of both rounds, and what stood beside.
    (base, *_) = desk.records("w/items.jsonl", Item)
    words = base.context.split()[1]
    assert any(words in path.read_text() for path in desk.rounds.glob("n*/tasks.jsonl"))
    desk.say("rounds", "withdraw", "--yes", base.writer, "--erase")
    for path in [*desk.rounds.glob("n*/*.jsonl"), *desk.rounds.glob("n*/raw/*")]:
        assert words not in path.read_text(), path


def test_associations_that_are_read_as_unrelated_lean_to_no_side(desk: Desk) -> None:
    desk.open("neutral", "n")
    desk.bring("n", neutral_rows(desk, "cat"))
    desk.say("rounds", "close", "n")
    desk.open("validation", "nv", "--of", "n")
    desk.bring("nv", read_rows(desk, dict.fromkeys(CRAFTS, (U,) * 5)))
    every = desk.say("decisions", "neutral")["readings"][0]
    assert every["shares"] == pytest.approx({S: 0, A: 0, U: 100})
    assert (every["labels"], every["several"], every["leaning"]) == (15, 0, None)
    desk.say("rounds", "withdraw", "--yes", "cat", "--erase")
    assert "there are no neutral associations yet" in desk.refused("decisions", "neutral")


def test_bad_answers_are_refused_with_their_reasons(desk: Desk) -> None:
    unknown = desk.refused("rounds", "open", "neutral", "--of", "x", "--platform", "files")
    assert "round 'x' has no items" in unknown
    desk.open("neutral", "n")
    first, second, third = neutral_rows(desk, "cat")
    rows = [first | {"neutral": first["text_2"]}, second | {"neutral": "HITs are ok in my book"}]
    desk.bring("n", [*rows, third | {"annotator": "ann"}, third | {"annotator": "ben"}])
    codes = desk.status("n")["refused_by_reason"]
    assert codes == {"same_text_twice": 1, "meta_text": 1, "own_item": 1}
    missing = desk.refused(
        "rounds", "import", "n", write(desk, [{"task_id": "t", "annotator": "c"}])
    )
    assert "name the columns neutral" in missing


def write(desk: Desk, rows: list[Row]) -> Path:
    from support.desk import write_csv

    return write_csv(desk.out / "bad.csv", rows)


def test_a_correction_of_the_item_makes_its_neutral_association_void(desk: Desk) -> None:
    item, _, left_out = desk.records("w/items.jsonl", Item)
    set_to(desk.root, "leave_out = []", f'leave_out = ["{left_out.id}"]')
    assert desk.open("neutral", "n")["tasks"] == 2
    desk.bring("n", neutral_rows(desk, "cat"))
    (beside,) = [
        each.id for each in desk.records("n/items.jsonl", Item) if each.context == item.context
    ]
    command = ("rounds", "correct", item.id, "--field", "stereotype", "--text", "friendly")
    why = ("--by", "me", "--why", "a typing error")
    told = "written beside the old text, and so refused: 1 neutral association\n"
    assert told in desk.run(*command, *why).out  # and it asks
    assert desk.say(*command, *why, "--yes")["neutral_refused"] == [beside]
    assert len(desk.records("n/items.jsonl", Item)) == 1
    assert desk.status("n")["refused_by_reason"] == {"text_changed": 1}
    assert desk.status("n")["void"] == 1

"""``drop_flagged``: items that validators flagged, and figures with and without them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_records
from curation.records import Decision, Rejection, Task
from support.desk import label_row
from support.labelled import PEOPLE, Desk, written
from support.written import lines

pytestmark = pytest.mark.long
TERMS = ("baker", "potter", "fiddler", "thatcher", "cook", "smith", "dyer", "hatter")
SAID = {0: ["objective"] * 2, 1: ["objective", "ungrammatical"], 2: ["ungrammatical"] * 3}
"""By the place of an item, a flag of each of its first validators."""


@pytest.fixture(scope="module")
def labelled(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Eight terms with an item each. Everybody labels them as they are meant; three have flags."""
    made = written(forked, tmp_path_factory.mktemp("flagged") / "c", *TERMS, items=1)
    golds, tasks = made.golds(), made.export("v")
    rows = []
    for n, task in enumerate(tasks):
        for k in range(5):
            row = label_row(task, PEOPLE[(n + k) % 6], golds, n)
            rows.append(row | {"flags": "".join(SAID.get(n, [])[k : k + 1])})
    made.bring("v", rows, "v.csv")
    return made


@pytest.fixture
def desk(labelled: Desk, tmp_path: Path) -> Desk:
    return labelled.copy(tmp_path / "c")


def items(desk: Desk) -> list[str]:
    """The ids of the items, in the order of the table that validators filled in."""
    tasks = {task.id: str(task.item) for task in desk.records("v/tasks.jsonl", Task)}
    return [tasks[row["task_id"]] for row in desk.look("v")] or list(tasks.values())


def reasons(desk: Desk) -> dict[str, str | None]:
    path = desk.root / "3-decisions" / "decisions.jsonl"
    return {decision.item: decision.reason for decision in read_records(path, Decision)}


def flagged_by(desk: Desk) -> dict[str, Counter[str]]:
    """By item, how many people set each flag."""
    found: dict[str, Counter[str]] = {}
    for flag in lines(desk.rounds / "v" / "flags.jsonl"):
        found.setdefault(flag["item"], Counter())[flag["flag"]] += 1
    return found


def test_flags_drop_nothing_by_default(desk: Desk) -> None:
    counts = desk.say("decisions", "filter")
    assert (counts["items_kept"], counts["items_dropped"]) == (8, 0)
    assert "flagged" not in counts
    assert sorted(map(dict, flagged_by(desk).values()), key=str) == [
        {"objective": 1, "ungrammatical": 1}, {"objective": 2}, {"ungrammatical": 3},
    ]  # fmt: skip
    for line in desk.does("rounds", "status", "v").out.split("flagged ")[1:]:
        command = line.partition("; curation ")[2].splitlines()[0]
        assert line.partition(" ")[0] in desk.does(*command.split()).out  # it shows the flag


@pytest.mark.parametrize(
    ("settings", "dropped"),
    [
        ({"drop_flagged": 1}, 2),
        ({"drop_flagged": 2}, 1),
        ({"drop_flagged": 3}, 0),
        ({"drop_flagged": 1, "flags": ["objective", "ungrammatical"]}, 3),
        # The second item has a flag of two people each.
        ({"drop_flagged": 2, "flags": ["objective", "ungrammatical"]}, 3),
        ({"drop_flagged": 3, "flags": ["ungrammatical"]}, 1),
        ({"drop_flagged": 1, "flags": ["unknown_target"]}, 0),
    ],
)
def test_flags_drop_items_with_their_own_reason(
    desk: Desk, settings: dict[str, Any], dropped: int
) -> None:
    desk.set(**settings)
    counts = desk.say("decisions", "filter")
    assert counts["items_in"] == 8
    assert (counts["items_kept"], counts["items_dropped"]) == (8 - dropped, dropped)
    assert counts.get("flagged", 0) == dropped
    least, names = settings["drop_flagged"], settings.get("flags", ["objective"])
    people = {id: sum(n for flag, n in of.items() if flag in names)
              for id, of in flagged_by(desk).items()}  # fmt: skip
    meant = {id for id, count in people.items() if count >= least}
    assert {id for id, reason in reasons(desk).items() if reason == "flagged"} == meant
    refused = read_records(desk.root / "3-decisions/rejected.jsonl", Rejection)
    assert {(r.code, r.where, r.detail.split("; ")[1]) for r in refused} == {
        ("flagged", f"item {id}", f"flagged by {people[id]}") for id in meant
    }


def test_agreement_is_shown_with_and_without_flagged_items(desk: Desk) -> None:
    desk.set(drop_flagged=2)
    report = desk.say("decisions", "agreement")
    flagged = report["flagged"]
    left = [tuple(row.values()) for row in flagged]
    # 15 labels an item. The figures are the same whether flags drop items or not.
    assert left == [(0, 8, 120, 8, 100, 1), (1, 6, 90, 6, 100, 1), (2, 7, 105, 7, 100, 1)]
    overall = [row for row in report["measures"] if row["by"] == "overall"]
    kept = {(row["cats"], row["labels"]) for row in overall if row["scope"] == "kept"}
    assert kept == {(7, 105), (7, 70)}  # all three associations of a CAT, or two
    said = " ".join(desk.done("decisions", "agreement").out.split())
    assert "Without flagged items flagged by items left labels CATs" in said
    desk.set(drop_flagged=0)
    assert desk.say("decisions", "agreement")["flagged"] == flagged
    desk.set(flags=["unknown_target"])
    assert desk.say("decisions", "agreement")["flagged"] == []


def test_models_are_compared_with_and_without_flagged_cats(desk: Desk) -> None:
    """A model prefers the stereotype in the two CATs that are flagged objective alone."""
    desk.say("decisions", "split")
    facts = {id for id, of in flagged_by(desk).items() if of["objective"]}
    scores = [
        {"id": a.id, "score": {"unrelated": 0, "stereotype": 2 if cat.id in facts else 1}.get(
            a.gold, 1.5)}
        for cat in desk.cats()
        for a in cat.associations
    ]  # fmt: skip
    path = desk.out / "model.json"
    path.write_text(json.dumps({"intrasentence": scores, "intersentence": []}), "utf-8")
    out = desk.out / "compared.json"
    words = ("scores", "compare", "--split", "all", "--predictions", f"m={path}", "--json", out)
    shown = desk.done(*words)
    rows = {row["by"]: row for row in json.loads(out.read_text("utf-8"))["flagged"]}
    # ss is the mean over terms with a CAT each: 2 of 8, 0 of 6, 1 of 7.
    assert {by: (row["cats"], row["ss"]) for by, row in rows.items()} == {
        0: (8, 25.0), 1: (6, 0.0), 2: (7, pytest.approx(100 / 7, abs=1e-4)),
    }  # fmt: skip
    assert {row["lms"] for row in rows.values()} == {100.0}
    assert "Without flagged CATs" in shown.out
    # What is dropped is in no row: one of the two is left.
    desk.set(drop_flagged=2)
    desk.say("decisions", "split")
    desk.done(*words)
    rows = {row["by"]: row for row in json.loads(out.read_text("utf-8"))["flagged"]}
    assert {by: row["cats"] for by, row in rows.items()} == {0: 7, 1: 6}
    desk.set(flags=["unknown_target"])
    desk.say("decisions", "split")
    assert "Without flagged CATs" not in desk.done(*words).out


def test_a_cat_of_a_version_that_flags_drop_is_removed_in_the_errata(desk: Desk) -> None:
    desk.build()
    assert desk.facts()["decisions"]["drop_flagged"] == 0
    assert "flagged" not in desk.statement()
    gone = {id for id, of in flagged_by(desk).items() if of["objective"] == 2}
    desk.set(drop_flagged=2, version="0.2.0", keep="0.1.0")
    desk.build()
    errata = lines(desk.second / "errata.jsonl")
    assert {row["id"] for row in errata if row["what"] == "removed"} == gone
    assert len(desk.cats()) == 7
    facts = desk.facts("0.2.0")
    assert (facts["not_kept"], facts["changes"]["removed"]) == ({"flagged": 1}, 1)
    said = " ".join(f"{desk.card('0.2.0')} {desk.statement('0.2.0')}".split())
    assert "An item that 2 validators or more flagged (objective) is not a CAT." in said
    assert "1 item did not become a CAT: as many validators flagged the item" in said
    desk.free("release", "check", desk.second)


def test_wrong_settings_name_the_line(desk: Desk) -> None:
    desk.set(drop_flagged=-1)
    assert "decisions.drop_flagged" in desk.refused("decisions", "filter")
    desk.set(drop_flagged=1, flags=["offensive"])
    assert "decisions.flags" in desk.refused("decisions", "filter")
    desk.set(flags=[])
    assert "decisions.flags" in desk.refused("decisions", "filter")

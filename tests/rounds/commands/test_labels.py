"""Commands: only the labels that are needed, and who gets which task."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from curation.records import Decision
from support.desk import MEANT, Desk, at, item_row, label_row

pytestmark = pytest.mark.long

# --- only the labels that are needed ------------------------------------------------------------


def test_what_a_writer_changed_is_asked_for_again(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=1)
    desk.open("intrasentence", "w", "--term", "baker", "--term", "potter")
    tasks = enumerate(desk.export("w"))
    rows = [
        item_row(task, "ann", n) | {"answer_id": f"a-{n}", "updated_at": at(n)} for n, task in tasks
    ]
    desk.bring("w", rows)
    desk.open("validation", "v")
    shown = desk.labels("v", [f"v-{k}" for k in range(5)])
    later = {**rows[0], "stereotype": "quite other", "updated_at": at(5, 3)}
    desk.bring("w", [later], "later.csv")
    found = desk.status("v")
    assert (found["tasks"], found["void"], found["remaining"]) == (2, 1, 5)
    assert [task["context"] for task in desk.look("v")] == [rows[1]["template"]]
    # What is out shows the old words; it comes back, and none of it counts for the new ones.
    assert desk.bring("v", shown)["refused"] == {"text_changed": 5}
    # In that round nothing of it is asked for again: it would be in vain.
    assert desk.status("v")["remaining"] == 0
    assert desk.say("rounds", "top-up", "v")["answers"] == 0
    assert "waits for no answer" in desk.refused("rounds", "export", "v")
    desk.say("rounds", "close", "v")
    assert desk.open("validation", "v2")["tasks"] == 1
    golds, table = desk.golds(), desk.export("v2")
    assert {t[f"text_{n}"] for t in table for n in (1, 2, 3)} == {
        sentence for sentence in golds if rows[0]["template"][:12] in sentence
    }
    given = [label_row(t, f"u-{k}", golds, n) for n, t in enumerate(table) for k in range(5)]
    assert desk.bring("v2", given)["refused"] == {}
    assert desk.run("decisions", "filter").code == 0
    decisions = desk.records("../3-decisions/decisions.jsonl", Decision)
    assert [d.kept for d in decisions] == [True, True]


# --- who gets what ------------------------------------------------------------------------------


def test_tasks_are_dealt_out_fairly_and_nobody_gets_their_own(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=3, per_person_label=18, per_term_label=3)
    desk.open("intrasentence", "w")
    writers = ["ann", "ben", "cho"]
    wrote = {r["task_id"]: r for r in desk.written("w", writers)}
    own = {
        row["template"].replace("BLANK", row[name]): row["annotator"]
        for row in wrote.values()
        for name in MEANT
    }
    desk.open("validation", "v")
    people = [*writers, *(f"val-{n}" for n in range(6))]
    share = desk.tables("v", people)
    got: dict[str, list[str]] = defaultdict(list)
    for person, rows in share.items():
        assert len(rows) <= 18
        assert max(Counter(row["target"] for row in rows).values()) <= 3
        for row in rows:
            got[row["task_id"]].append(person)
            assert own[row["text_1"]] != person
    assert {(len(takers), len(set(takers))) for takers in got.values()} == {(5, 5)}
    loads = [len(rows) for rows in share.values()]
    assert max(loads) - min(loads) <= 1
    again = desk.copy(tmp_path / "again")
    (again.rounds / "v" / "dealt.jsonl").unlink()
    assert again.tables("v", people) == share

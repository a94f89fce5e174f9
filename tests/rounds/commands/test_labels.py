"""Commands: only the labels that are needed, and who gets which task."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_json
from curation.records import Decision, Label, Task
from support.commands import set_to
from support.desk import GOLD, MEANT, Desk, Row, at, item_row, label_row

pytestmark = pytest.mark.long

# --- only the labels that are needed ------------------------------------------------------------


def stream(seed: int, task: Row, golds: dict[str, str]) -> Iterator[Row]:
    """Endless answers to tasks: right, wrong, too fast, or incomplete."""
    draw, texts = random.Random(f"{seed}/{task['context']}"), [task[f"text_{n}"] for n in (1, 2, 3)]
    hard = draw.choice((0.0, 0.25, 0.6))
    for n in range(99):
        row = label_row(task, f"s-{n}", golds, n)
        for text in sorted(texts):  # by text: the order of a task is the campaign's own
            if draw.random() < hard:
                place = texts.index(text) + 1
                row[f"label_{place}"] = draw.choice([*GOLD.values(), "related"])
        trouble = draw.random()
        if trouble < 0.1:
            row["seconds"] = 1
        elif trouble < 0.15:
            row["label_2"] = draw.choice(["", "dunno"])
        elif trouble < 0.2:
            row |= {"label_1": "", "label_2": "", "label_3": ""}
        yield row


def collect(desk: Desk, seed: int, of: int) -> Counter[str]:
    """Answer and top up until nothing is missing. Returns how many labels each item got."""
    golds, streams = desk.golds(), dict[str, Iterator[Row]]()
    tasks = {t.id: t for t in desk.records("v/tasks.jsonl", Task)}
    for _ in range(40):
        rows = []
        for row in desk.export("v"):
            answers = streams.setdefault(row["task_id"], stream(seed, row, golds))
            rows += [next(answers) for _ in range(int(row["answers_needed"]))]
        desk.bring("v", rows)
        said = desk.say("rounds", "top-up", "v")
        asked = json.loads((desk.rounds / "v" / "asked.json").read_text("utf-8"))
        codes: dict[str, Counter[Any]] = defaultdict(Counter)
        for line in (desk.rounds / "v" / "answers.jsonl").read_text("utf-8").splitlines():
            answer = json.loads(line)
            codes[answer["task"]][answer["code"]] += 1
        labels = Counter(label.association for label in desk.records("v/labels.jsonl", Label))
        for id, n in asked.items():
            taken = codes[id][None]
            halves = taken - min(labels[shown.association] for shown in tasks[id].shown)
            assert n <= of + codes[id].total() - taken + halves, (id, n, codes[id])
        assert desk.status("v")["missing"] == said["to_export"]
        if not said["to_export"]:
            assert "waits for no answer" in desk.refused("rounds", "export", "v")
            break
    else:
        raise AssertionError("it never ends")
    assert desk.status("v")["remaining"] == 0
    return Counter(label.item for label in desk.records("v/labels.jsonl", Label))


@pytest.mark.parametrize("seed", range(3))
def test_needed_labels_keep_what_all_labels_keep(forked: Any, tmp_path: Path, seed: int) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=3, sample=0.2, labels="all")
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben", "cho", "dan"])
    kept, given = {}, dict[str, Counter[str]]()
    for labels in ("all", "needed"):
        own = desk.copy(tmp_path / labels)
        set_to(own.root, 'labels = "all"', f'labels = "{labels}"')
        own.open("validation", "v")
        given[labels] = collect(own, seed, 5)
        own.say("decisions", "agreement")
        decisions = own.records("../3-decisions/decisions.jsonl", Decision)
        kept[labels] = {d.item for d in decisions if d.kept}
        assert "too_few_labels" not in {d.reason for d in decisions}
        full = [task.item for task in own.records("v/tasks.jsonl", Task) if task.full]
        assert len(full) == (21 if labels == "all" else 4)
        items = read_json(own.root / "3-decisions" / "agreement.json")["items"]
        assert (items["in"], items["stopped_early"]) == (21, 21 - len(full))
        assert min(given[labels][item] for item in full) >= 15
    assert kept["needed"] == kept["all"]
    assert 3 <= len(kept["all"]) < 21
    assert sum(given["needed"].values()) < sum(given["all"].values())


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

    # One answers what is not theirs: their own item, another's task twice, more than the cap.
    golds = desk.golds()
    rows = [label_row(r, who, golds, n) for who, rs in share.items() for n, r in enumerate(rs)]
    mine = next(r for rs in share.values() for r in rs if own[r["text_1"]] == "ann")
    rows.append(label_row(mine, "ann", golds, 500))
    rows.append(label_row(share["val-0"][0], "val-0", golds, 501))
    theirs = {r["task_id"] for r in share["val-1"]}
    more = [r for rs in share.values() for r in rs if r["task_id"] not in theirs]
    foreign = list({r["task_id"]: r for r in more}.values())[:6]
    rows += [label_row(r, "val-1", golds, 600 + n) for n, r in enumerate(foreign)]
    refused = desk.bring("v", rows)["refused"]
    assert refused["own_item"] == 1
    assert refused["second_answer"] == 1
    over = refused.get("over_person_cap", 0) + refused.get("over_term_cap", 0)
    assert over >= len(foreign) - (18 - len(share["val-1"]))
    for task, n in Counter(r["task_id"] for r in rows).items():
        assert n >= 5, task
    assert desk.status("v")["remaining"] == 0

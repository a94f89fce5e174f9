"""Commands of rounds on tables: all of them, repeated, killed, and on a full disk."""

import random
import resource
import shutil
import signal
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.private import PRIVATE
from curation.files import read_json
from curation.records import Decision, Item, Label, Task
from support.desk import Desk, Row, Stage, at, item_row, label_row, read_csv, told, write_csv
from support.strike import strike, times

pytestmark = pytest.mark.long

# --- the whole way, and every command again ---------------------------------------------------


def review_row(task: Row, who: str, n: int) -> Row:
    action = {"court jester": "drop", "lamplighter": "merge"}.get(task["term"], "keep")
    row: Row = {"task_id": task["task_id"], "annotator": who, "decision": action}
    if action == "merge":
        into = next(c for c in task["merge_choices"].split(" | ") if c.endswith(": wheelwright"))
        row["merge_into"] = into.split(": ")[0]
    row["rename"] = "master wheelwright" if task["term"] == "wheelwright" else ""
    return row | {"consent": task["consent"], "submitted_at": at(n), "seconds": 9}


WRITERS, VALIDATORS = ["Ann W.", "ben@example.invalid", "Chlöe"], [f"val-{n}" for n in range(5)]
NAMES = (
    *("open-review", "import-review", "close-review", "select", "open", "export", "import"),
    *("top-up", "close", "open-v", "export-v", "import-v", "top-up-v", "import-v-2", "close-v"),
    *("run", "exclude", "undo", "withdraw", "pay", "erase"),
)


@pytest.fixture(scope="module")
def stages(
    one_canary: None, forked: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Stage]:
    folder = tmp_path_factory.mktemp("stages")
    desk = Desk.make(forked, folder / "0", labels="needed", sample=0.2)
    found: dict[str, Stage] = {}

    def step(name: str, *command: Any) -> None:
        nonlocal desk
        before, desk = desk, desk.copy(folder / str(len(found) + 1))
        desk.say(*command)
        found[name] = Stage(command, before, desk)

    def file(name: str, rows: list[Row]) -> Path:
        return write_csv(folder / f"{name}.csv", rows)

    files = ("--platform", "files")
    step("open-review", "rounds", "open", "review", "--name", "r", *files)
    rows = [review_row(t, f"rev-{k}", n) for n, t in enumerate(desk.look("r")) for k in range(3)]
    step("import-review", "rounds", "import", "r", file("r", rows))
    step("close-review", "rounds", "close", "r")
    step("select", "terms", "select")
    step("open", "rounds", "open", "intrasentence", "--name", "w", *files)
    step("export", "rounds", "export", "w", "--to", folder / "tables")
    rows = [item_row(t, WRITERS[n % 3], n) for n, t in enumerate(desk.look("w"))]
    rows[0]["template"] = "No gap here."
    step("import", "rounds", "import", "w", file("w", rows))
    step("top-up", "rounds", "top-up", "w")
    step("close", "rounds", "close", "w")
    step("open-v", "rounds", "open", "validation", "--name", "v", *files)
    people, to = desk.listed(*VALIDATORS), ("--format", "csv", "--to", folder / "dealt")
    step("export-v", "rounds", "export", "v", "--people", people, *to)
    golds, tasks = desk.golds(), desk.look("v")
    # The first that is not of the sample.
    short = next(n for n, t in enumerate(tasks) if int(t["answers_needed"]) == 3)
    takers: dict[str, list[str]] = {task["task_id"]: [] for task in tasks}
    for line in read_csv(folder / "dealt" / "v-who-gets-which.csv"):
        for row in read_csv(folder / "dealt" / line["file"]):
            takers[row["task_id"]].append(line["person"])
    rows = [
        label_row(t, who, golds, n, wrong="unrelated" if (n, k) == (short, 0) else "")
        for n, t in enumerate(tasks)
        for k, who in enumerate(takers[t["task_id"]])
    ]
    step("import-v", "rounds", "import", "v", file("v", rows))
    step("top-up-v", "rounds", "top-up", "v")
    more = [
        label_row(t, next(v for v in VALIDATORS if v not in takers[t["task_id"]]), golds, 99)
        for t in desk.look("v")
    ]
    step("import-v-2", "rounds", "import", "v", file("v2", more))
    step("close-v", "rounds", "close", "v")
    step("run", "run")
    step("exclude", "rounds", "exclude", "val-3", "--reason", "asleep")
    step("undo", "rounds", "exclude", "val-3", "--undo")
    step("withdraw", "rounds", "withdraw", "--yes", "val-4")
    step("pay", "rounds", "pay")
    step("erase", "rounds", "withdraw", "--yes", WRITERS[1], "--erase")
    assert tuple(found) == NAMES
    return found


def test_the_whole_way_says_what_it_should(stages: dict[str, Stage]) -> None:
    after = stages["import-v-2"].after
    edits = read_csv(stages["close-review"].after.root / "1-terms" / "edits.csv")
    assert {(e["term"], e["action"], e["into"]) for e in edits} == {
        ("court jester", "drop", ""),
        ("lamplighter", "merge", "wheelwright"),
        ("wheelwright", "rename", "master wheelwright"),
    }
    items = after.records("w/items.jsonl", Item)
    tasks = {t.item: t for t in after.records("v/tasks.jsonl", Task)}
    assert len(items) == len(tasks) == 9  # five terms of two items; one had no gap
    assert sum(t.full for t in tasks.values()) == 2
    said = read_json(stages["run"].after.root / "3-decisions" / "agreement.json")["items"]
    assert (said["in"], said["stopped_early"]) == (9, 7)
    labels = after.records("v/labels.jsonl", Label)
    assert all(
        d.kept for d in stages["run"].after.records("../3-decisions/decisions.jsonl", Decision)
    )
    # Three labels on each association, five in the sample; on one item the first validator
    # erred: with three labels two associations stand at 2 of 3, and need a fourth.
    given = Counter(label.item for label in labels)
    wrong = next(i for i, t in tasks.items() if not t.full)
    assert given == {i: 15 if t.full else 12 if i == wrong else 9 for i, t in tasks.items()}


ELSEWHERE = (
    *("6-trust/", "7-release/", "8-pages/", "boards/", "2-rounds/web.", "2-rounds/links-"),
    *("2-rounds/annotators", "2-rounds/approve", "2-rounds/bonus", "2-rounds/corrections"),
)
"""Private files that only other commands make, or the team itself; their own tests look at them."""


def test_private_files_are_for_their_owner_only(stages: dict[str, Stage]) -> None:
    after = stages["erase"].after.root
    private: set[Path] = set()
    for pattern in PRIVATE:
        if pattern.startswith(ELSEWHERE):
            continue
        paths = list(after.glob(f"{pattern}*" if pattern.endswith("/") else pattern))
        assert paths, pattern
        assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}, pattern
        private |= set(paths)
    # No other file of the rounds has a text that a writer wrote.
    items = stages["erase"].after.records("w/items.jsonl", Item)
    sentences = [a.sentence for item in items for a in item.associations]
    for path in after.glob("2-rounds/**/*"):
        if path.is_file() and path not in private:
            assert not [s for s in sentences if s in path.read_text("utf-8")], path


REPEATED = {
    "exclude": "is excluded already",
    "undo": "is not excluded",
    "withdraw": "withdrew",
    "export": "waits for no answer that is not out already: w.xlsx",
    "export-v": "waits for no answer that is not out already: v-001.csv",
}
"""Errors of commands that are repeated; the first call's changes are complete."""


@pytest.mark.parametrize("name", NAMES)
def test_a_command_again_changes_nothing(
    content: Any, stages: dict[str, Stage], tmp_path: Path, name: str
) -> None:
    desk = stages[name].after.copy(tmp_path / "again")
    done = give_again(desk, content, stages, name)
    assert (done.code == 0) == (name not in REPEATED), done.err
    if name in ("close", "close-review"):
        rounds = [path.relative_to(desk.root) for path in desk.rounds.glob("*/round.json")]
        assert rounds
        for path in rounds:
            before = stages[name].after.root / path
            assert (desk.root / path).read_bytes() == before.read_bytes()
    if name in ("open", "open-v", "close", "close-v"):
        steps = stages[name].after.say("status")["steps"]
        assert "out of date" not in {step["state"] for step in steps}, steps


undisturbed = cache(told)


def give_again(desk: Desk, content: Any, stages: dict[str, Stage], name: str) -> Any:
    """Give a command again: the campaign is the same as after the undisturbed command."""
    done = desk.run(*stages[name].command)
    assert done.code == 0 or REPEATED.get(name, "-") in done.err, done.err
    assert "Traceback" not in done.err
    after = stages[name].after
    if name == "close-review":  # what it said of terms, the next command takes up
        assert desk.run("terms", "select").code == 0
        after = stages["select"].after
    found, wanted = told(content, desk.root), deepcopy(undisturbed(content, after.root))
    for each in (found, wanted):
        if name == "close-review":
            del each["2-rounds/manifest.json"]
        if name == "erase":  # what can be said twice
            each["2-rounds/standing.jsonl"] = each["2-rounds/standing.jsonl"][-1:]
    assert found == wanted
    return done


# --- kill -9, and a full disk -------------------------------------------------------------------


def go_on(desk: Desk, content: Any, stages: dict[str, Stage], name: str) -> None:
    """After a command that died people look, and give it again: as if it had not died."""
    # The progress of rounds folds answers if terms have changed; «terms select» alone does not.
    shown = desk.copy(desk.root.parent / "shown") if name == "select" else desk
    for words in (("rounds", "status"), ("status",)):
        looked = shown.run(*words)
        assert looked.code == 0 or "no round was opened here" in looked.err, looked.err
    give_again(desk, content, stages, name)
    assert list(desk.root.rglob(".*.tmp")) == []
    shutil.rmtree(desk.root.parent / "shown", ignore_errors=True)


def some(name: str, writes: Sequence[int]) -> Sequence[int]:
    """The writes at which a command is killed: of most commands three."""
    assert len(writes) >= 3  # at the least the lock, its holder and the end of it
    count = 10 if name in ("import-v", "open-v") else 3
    return sorted(random.Random(name).sample(writes, min(count, len(writes))))


@pytest.mark.parametrize("name", NAMES)
def test_killed_anywhere_and_given_again(
    content: Any, stages: dict[str, Stage], tmp_path: Path, name: str
) -> None:
    stage = stages[name]
    for desk in stage.before.killed(stage.command, tmp_path, partial(some, name))[1]:
        go_on(desk, content, stages, name)


@pytest.mark.parametrize("name", ["export", "export-v"])
def test_an_export_killed_between_its_tables_and_given_again(
    stages: dict[str, Stage], tmp_path: Path, name: str
) -> None:
    before, (*words, _, usual) = stages[name].before, stages[name].command

    def tables(to: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in to.glob("*")}

    counted, whole = before.copy(tmp_path / "counted"), tmp_path / "whole"
    for write in range(1, times(counted.run, (*words, "--to", whole), whole, seen=True) + 1):
        desk, to = before.copy(tmp_path / f"killed-{write}"), tmp_path / f"tables-{write}"
        died = desk.run(*words, "--to", to, before=strike(to, at=write, seen=True))
        assert died.code == -signal.SIGKILL
        shown = {name: text for name, text in tables(to).items() if not name.startswith(".")}
        assert shown.items() <= tables(whole).items()
        dealt = (desk.rounds / words[2] / "dealt.jsonl").exists()  # killed after the last table
        done = desk.run(*words, "--to", to)
        assert done.code == dealt, done.err
        assert tables(to) == tables(whole)
    assert tables(whole) == tables(Path(usual))


@pytest.mark.parametrize("name", ["close-review", "open", "export-v", "import-v", "erase"])
def test_a_full_disk(content: Any, stages: dict[str, Stage], tmp_path: Path, name: str) -> None:
    failed = 0
    for size in (1, 300, 900, 2500, 6000):
        desk = stages[name].before.copy(tmp_path / f"room-{size}")
        limits = (resource.RLIMIT_FSIZE, (size, size))
        done = desk.run(*stages[name].command, before=partial(resource.setrlimit, *limits))
        if done.code:
            failed += 1
            assert "the disk is full" in done.err, done.err
        go_on(desk, content, stages, name)
    assert failed

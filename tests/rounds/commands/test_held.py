"""Tables that are out: nothing in them is asked for or dealt again, unless it is recalled."""

import json
from typing import Any

import jsonschema
import pytest

from curation.files import shipped
from curation.records import Answer, Dealing
from support.commands import set_to
from support.desk import Desk, Row, label_row, read_csv, write_csv

pytestmark = pytest.mark.long
PEOPLE = [f"val-{n}" for n in range(5)]


class Held(Desk):
    """A desk whose tables of the round ``v`` are out."""

    def refuses(self, *people: str, recall: str = "") -> str:
        """What an export says that is refused."""
        more: tuple[Any, ...] = ("--recall", recall) if recall else ()
        more += ("--people", self.listed(*people)) if people else ()
        return self.refused("rounds", "export", "v", *more)

    def answer(self, who: str, rows: list[Row], **said: Any) -> Any:
        golds = self.golds()
        answers = [{**label_row(row, who, golds, n), **said} for n, row in enumerate(rows)]
        self.brought = getattr(self, "brought", 0) + 1
        return self.bring("v", answers, f"{who}-{self.brought}.csv")

    def counts(self) -> tuple[int, int, int]:
        status = self.status("v")
        return status["remaining"], status["out"], status["missing"]

    def advice(self) -> str:
        return next(
            line for line in self.run("rounds", "status", "v").out.splitlines() if "v: " in line
        )


@pytest.fixture(scope="module")
def made(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Held:
    """Two items by two writers, and an open round of validation on them."""
    root = tmp_path_factory.mktemp("held") / "c"
    desk = Held.make(forked, root, ["baker", "potter"], items=1, consent=False)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    desk.open("validation", "v")
    return desk


def test_top_up_says_which_answers_of_the_next_tables_are_not_new(desk: Held) -> None:
    tables = desk.tables("v", PEOPLE)
    first, second = tables["val-0"]
    labels = {f"label_{n}": "" for n in (1, 2, 3)}
    skip = {"task_id": first["task_id"], "annotator": "val-0", **labels}
    desk.bring("v", [skip], "skip.csv")
    desk.answer("val-0", [second], seconds=1)
    done = desk.run("rounds", "top-up", "v")
    assert "asked for 1 more answer, on 1 task" in done.out
    # The skipped task still waits for the answer that was asked for at first.
    assert "next: curation rounds export v, for 2 answers, 1 of them asked for before" in done.out


def test_what_is_out_is_not_asked_for_and_not_dealt_again(desk: Held) -> None:
    assert desk.counts() == (10, 0, 10)
    assert desk.advice() == "v: 10 answers missing; curation rounds export v"
    tables = desk.tables("v", PEOPLE)
    assert {person: len(rows) for person, rows in tables.items()} == dict.fromkeys(PEOPLE, 2)
    before = {path.name: path.read_bytes() for path in desk.out.iterdir()}
    assert desk.counts() == (10, 10, 0)
    # One comes back, with one answer that is refused: one is missing, and eight are out.
    first, second = tables["val-0"]
    desk.answer("val-0", [first])
    desk.answer("val-0", [second], seconds=1)
    assert desk.counts() == (9, 8, 1)
    assert "8 answers are out (4 tables, the oldest v-002.csv, since 20" in desk.advice()
    assert desk.advice().endswith("), 1 missing; curation rounds top-up v")
    assert desk.say("rounds", "top-up", "v")["answers"] == 1
    again = {"round": "v", "tasks": 0, "answers": 0, "to_export": 1}
    assert desk.say("rounds", "top-up", "v") == again
    assert desk.advice().endswith("), 1 missing; curation rounds export v")
    # The same people have had the task, or have it; a sixth gets it, and nothing else.
    refused = desk.refuses(*PEOPLE)
    assert "too few people, 1 missing" in refused
    more = desk.tables("v", [*PEOPLE, "val-5"])
    theirs = {person: [row["task_id"] for row in rows] for person, rows in more.items()}
    assert theirs == {"val-5": [second["task_id"]]}
    names = {path.name for path in desk.out.iterdir()} - before.keys()
    assert {n for n in names if n.startswith("v-0")} == {"v-006.csv"}
    assert "v-who-gets-which-006.csv" in names
    assert {name: (desk.out / name).read_bytes() for name in before} == before
    # All is out: an export says who holds what.
    said = desk.refuses(*PEOPLE)
    assert "waits for no answer that is not out already: v-002.csv (val-1, 2 answers" in said
    assert "v-006.csv (p-" in said  # not in that file of people
    assert desk.counts() == (9, 9, 0)


def test_what_is_recalled_is_dealt_again_and_a_late_answer_counts(desk: Held) -> None:
    tables = desk.tables("v", PEOPLE)
    desk.answer("val-1", tables["val-1"][:1])
    said = desk.refuses(recall="nobody")
    assert "--recall nobody: nothing is out under this name" in said
    assert "v-002.csv" in said
    again = desk.tables("v", ["new"], "--recall", "val-1")
    assert [row["task_id"] for row in again["new"]] == [tables["val-1"][1]["task_id"]]
    ledger = desk.records("v/dealt.jsonl", Dealing)
    assert [line.action for line in ledger] == ["deal"] * 5 + ["recall", "deal"]
    written = json.loads(shipped("schemas", "dealing.schema.json").read_text("utf-8"))
    for line in (desk.rounds / "v" / "dealt.jsonl").read_text("utf-8").splitlines():
        jsonschema.validate(json.loads(line), written)
    assert "nothing is out under this name" in desk.refuses(recall="val-1")
    # By the name of a table, and into one table for anybody.
    table = desk.export("v", "--recall", "v-003.csv", "--recall", "v-004")
    assert sum(int(row["answers_needed"]) for row in table) == 4
    assert desk.counts() == (9, 9, 0)
    desk.answer("val-1", tables["val-1"][1:])
    assert {a.code for a in desk.records("v/answers.jsonl", Answer)} == {None}
    assert desk.counts() == (8, 9, 0)
    assert desk.say("rounds", "top-up", "v")["answers"] == 0


def test_a_table_that_is_out_when_nothing_is_missing_is_told(desk: Held) -> None:
    tables = desk.tables("v", PEOPLE)
    again = desk.tables("v", ["new"], "--recall", "val-0")
    for person in PEOPLE:
        desk.answer(person, tables[person])
    assert len(again["new"]) == 2
    assert desk.counts() == (0, 2, 0)
    expected = "v: nothing is missing; 2 answers out that no task needs; curation rounds close v"
    assert desk.advice() == expected


def test_more_tasks_come_on_top_of_those_that_a_person_holds(desk: Held) -> None:
    set_to(desk.root, "per_person_label = 0", "per_person_label = 1")
    tables = desk.tables("v", [f"val-{n}" for n in range(10)])
    first = tables["val-0"][0]["task_id"]
    other = next(who for who, rows in tables.items() if rows[0]["task_id"] != first)
    said = desk.refuses(other, recall="val-0")
    assert "as many tasks as per_person_label allows: 1" in said
    assert len(desk.records("v/dealt.jsonl", Dealing)) == 10  # nothing was taken back
    set_to(desk.root, "per_person_label = 1", "per_person_label = 2")
    assert [r["task_id"] for r in desk.tables("v", [other], "--recall", "val-0")[other]] == [first]


def test_tables_that_the_round_does_not_know_are_not_overwritten(desk: Held) -> None:
    (desk.out / "v.csv").write_text("somebody's answers\n", "utf-8")
    done = desk.run("rounds", "export", "v", "--to", desk.out, "--format", "csv")
    assert done.code == 0
    assert "v.csv: this file is there already" in done.err
    assert (desk.out / "v.csv").read_text("utf-8") == "somebody's answers\n"
    assert len(read_csv(desk.out / "v-001.csv")) == 2


def test_many_holders_are_named_once_and_in_full_only_for_one_round(desk: Held) -> None:
    tables = desk.tables("v", [f"val-{n}" for n in range(10)])
    said = desk.refuses()
    assert "v-005.csv" in said
    assert "v-006.csv" not in said
    assert " and 5 more\n" in said
    assert "«curation rounds status v» lists all tables that are out" in said
    assert desk.run("rounds", "status").out.count("v-0") < 8
    assert desk.run("rounds", "status", "v").out.count("  out: v-0") == 10
    (first, *_, last) = desk.status("v")["tables"]
    assert (first["table"], first["answers"]) == ("v-001.csv", 1)
    assert first["person"].startswith("p-")
    assert last["since"] >= first["since"]
    done = desk.run("rounds", "export", "v", "--recall", "val-3", "--to", desk.out)
    assert "taken back: 1 answer\n" in done.out
    assert len(tables) == 10


def test_a_table_for_one_person_is_numbered(desk: Held) -> None:
    set_to(desk.root, "of = 5", "of = 1")
    set_to(desk.root, "needed = 3", "needed = 1")
    assert len(desk.tables("v", ["val-0"])["val-0"]) == 2
    assert [line.table for line in desk.records("v/dealt.jsonl", Dealing)] == ["v-001.csv"]


def test_a_table_for_a_closed_round_is_told_how_to_open_it(desk: Held) -> None:
    rows = desk.tables("v", PEOPLE)["val-0"]
    closed = desk.run("rounds", "close", "v")
    assert "5 tables are still out: v-001.csv (" in closed.err
    assert "curation rounds open validation --name v" in closed.err
    table = write_csv(desk.out / "late.csv", [label_row(r, "val-0", desk.golds(), 1) for r in rows])
    command = ("rounds", "open", "validation", "--name", "v", "--platform", "files")
    said = desk.refused("rounds", "import", "v", table)
    assert f"round v is closed\nfix:   «curation {' '.join(command)}» opens it again" in said
    desk.say(*command)
    assert desk.say("rounds", "import", "v", table)["new"] == 2


def test_people_are_listed_once_however_their_address_is_written(desk: Held) -> None:
    said = desk.refuses("ann@x.invalid", "ben", "Ann@X.invalid")
    assert "line 3: 'Ann@X.invalid' is already in line 1, as 'ann@x.invalid'" in said
    assert "'ann' is already in line 1" in desk.refuses("ann", "ben", "ann")


def test_void_tasks_are_not_out(desk: Held) -> None:
    desk.tables("v", PEOPLE)
    desk.say("rounds", "exclude", "ann", "--reason", "x")  # a writer
    status = desk.status("v")
    assert (status["void"], status["out"]) == (1, 5)
    assert sum(table["answers"] for table in status["tables"]) == 5


@pytest.mark.parametrize("dealt", [True, False])
@pytest.mark.parametrize(
    "how", [("exclude", "--reason", "x"), ("withdraw", "--yes"), ("withdraw", "--yes", "--erase")]
)
def test_what_somebody_leaves_behind_is_asked_for(
    desk: Held, how: tuple[str, ...], dealt: bool
) -> None:
    tables = desk.tables("v", PEOPLE) if dealt else dict.fromkeys(PEOPLE, desk.export("v"))
    for person in PEOPLE[:3]:
        desk.answer(person, tables[person])
    desk.answer("val-3", tables["val-3"][:1])  # the other one is still out
    assert desk.counts() == (3, 3, 0)
    word, *more = how
    desk.say("rounds", word, "val-3", *more)
    # In tables for anybody, nobody knows who has the other one.
    out = 2 if dealt else 3
    assert desk.counts() == (4, out, 4 - out)
    desk.run("rounds", "top-up", "v")
    desk.say("rounds", "top-up", "v")
    table = desk.export("v")
    assert sum(int(row["answers_needed"]) for row in table) == 4 - out
    assert desk.counts() == (4, 4, 0)
    if "--erase" in how:
        ledger = (desk.rounds / "v" / "dealt.jsonl").read_text("utf-8")
        (standing,) = (desk.rounds / "standing.jsonl").read_text("utf-8").splitlines()
        assert json.loads(standing)["person"] not in ledger

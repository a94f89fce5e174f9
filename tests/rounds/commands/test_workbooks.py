"""A workbook goes out, people fill it in, and its answers come back."""

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from curation.records import Item
from support.desk import Desk

TERMS = ("baker", "potter")
HEADS = ("Sentence with BLANK", "Stereotype", "Anti-stereotype", "Unrelated", "Your id", "Consent")


@pytest.fixture(scope="module")
def begun(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A campaign with an open round of writing, and its workbook for anybody."""
    desk = Desk.make(forked, tmp_path_factory.mktemp("begun") / "c", TERMS, items=1)
    desk.open("intrasentence", "w")
    made = desk.say("rounds", "export", "w", "--to", desk.out)
    shutil.copyfile(made["files"][1], desk.root / "w.xlsx")
    return desk


@pytest.fixture
def desk(begun: Desk, tmp_path: Path) -> Desk:
    return begun.copy(tmp_path / "c")


def filled(desk: Desk, change: Callable[[Any], object] = lambda book: None) -> Path:
    """The workbook with an answer in each row, and another change."""
    book = openpyxl.load_workbook(desk.root / "w.xlsx")
    tasks, _, lists = book.worksheets
    heads = {cell.value: cell.column for cell in tasks[1]}
    for row in (2, 3):
        text = f"The {tasks.cell(row, heads['Group']).value} starts BLANK on day {row}."
        answer = (text, "early", "late", "octal", f"ann-{row}", lists["A1"].value)
        for head, value in zip(HEADS, answer, strict=True):
            tasks.cell(row, heads[head]).value = value
    change(book)
    path = desk.out / "filled.xlsx"
    book.save(path)
    return path


def test_answers_come_back_in_the_workbook(desk: Desk) -> None:
    came = desk.say("rounds", "import", "w", filled(desk))
    assert (came["new"], came["refused"]) == (2, {})
    sentences = [item.associations[0].sentence for item in desk.records("w/items.jsonl", Item)]
    assert {text.split()[1] for text in sentences} == set(TERMS)
    assert {text.split(maxsplit=2)[2] for text in sentences} == {
        "starts early on day 2.",
        "starts early on day 3.",
    }


def test_an_id_that_is_typed_once_holds_for_the_whole_table(desk: Desk) -> None:
    path = filled(desk, lambda book: book.worksheets[0].__setitem__("I3", " "))
    done = desk.run("rounds", "import", "w", path)
    said = " ".join(done.err.split())
    assert "1 row with answers and without an id" in said
    assert "taken as answers of the only person that the table names" in said
    assert "ann-2" not in said
    items = desk.records("w/items.jsonl", Item)
    assert (len(items), len({item.writer for item in items})) == (2, 1)
    assert desk.say("rounds", "import", "w", path)["new"] == 0


def test_another_sheet_is_named(desk: Desk) -> None:
    path = filled(desk, lambda book: book.create_sheet("Notes").append(["call", "Ann"]))
    done = desk.run("rounds", "import", "w", path)
    assert done.code == 0, done.err
    assert "only sheet 'Tasks' is read; 'Notes' has data, too" in "".join(done.err.split("\n"))


def test_nothing_is_kept_of_a_workbook_that_is_refused(desk: Desk, untouched: Any) -> None:
    """What else can be wrong with one is in ``tests/formats/test_workbook_tables.py``."""

    def rename(book: Any) -> None:
        book.worksheets[0]["A1"] = "task-no"
        book.worksheets[0].delete_cols(9)  # whose answers they are

    before = untouched(desk.root)
    for change, says in {
        (lambda book: book.worksheets[0].__setitem__("F3", "=E2")): "cell F3 with a formula",
        (lambda book: book.worksheets[0].__setitem__("F3", date(2026, 4, 3))): (
            "cell F3 with a date, which the spreadsheet program made of what was typed"
        ),
        rename: "sheet 'Tasks': no column task_id; it has task-no, Group",
    }.items():
        assert says in desk.refused("rounds", "import", "w", filled(desk, change))
    said = desk.refused("rounds", "import", "w", desk.root / "w.xlsx")
    assert "nobody has filled in a row" in said
    assert untouched(desk.root) == before

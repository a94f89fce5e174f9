"""A workbook goes out, people fill it in, and its answers come back."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from curation.records import Item
from support.desk import Desk

TERMS = ("baker", "potter")
HEADS = ("Sentence with BLANK", "Stereotype", "Anti-stereotype", "Unrelated", "Your id", "Consent")


@pytest.fixture(scope="module")
def made(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A campaign with an open round of writing, and its workbook for anybody."""
    desk = Desk.make(forked, tmp_path_factory.mktemp("begun") / "c", TERMS, items=1)
    desk.open("intrasentence", "w")
    made = desk.say("rounds", "export", "w", "--to", desk.out)
    shutil.copyfile(made["files"][1], desk.root / "w.xlsx")
    return desk


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

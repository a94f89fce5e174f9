"""Texts of annotators are shown as they are: nothing in them acts on the terminal."""

import pytest

from curation.terminal import console

EVIL = "a [/b] \\[i] :car: \x1b[2J\u202ebaker"
SHOWN = "a [/b] \\[i] :car: \\x1b[2J\\u202ebaker"


def test_messages_and_tables_show_any_text(capsys: pytest.CaptureFixture[str]) -> None:
    console.table(EVIL, [EVIL, "n"], [(EVIL, 1)])
    assert capsys.readouterr().out.count(SHOWN) == 3
    console.say(EVIL)
    console.heading(EVIL)
    console.note(EVIL)
    console.warn(EVIL)
    console.fail(EVIL, EVIL)
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [SHOWN, SHOWN]
    assert shown.err.splitlines() == [
        SHOWN,
        f"warning: {SHOWN}",
        f"error: {SHOWN}",
        f"fix:   {SHOWN}",
    ]


def test_a_table_that_is_too_wide_becomes_several(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    heads, rows = ["person", "labels", "agreement"], [("p-1", 12, 0.5), ("p-2", 3, None)]
    tables = {}
    for width in (23, 22, 5):
        monkeypatch.setattr(console.out, "width", width)
        console.wide_table("People", heads, rows)
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        tables[width] = [line for line in lines if line and "─" not in line[0]]
    whole, two, narrow = tables.values()
    assert whole == [["People"], heads, ["p-1", "12", "0.50"], ["p-2", "3", "–"]]
    first = [["People"], heads[:2], ["p-1", "12"], ["p-2", "3"]]
    then = [["People,", "continued"], ["person", "agreement"], ["p-1", "0.50"], ["p-2", "–"]]
    assert two == first + then
    assert len(narrow) > len(whole)  # a column that does not fit is cut as in any table

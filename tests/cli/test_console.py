"""Texts of annotators are shown as they are: nothing in them acts on the terminal."""

import pytest

from curation.cli import console

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

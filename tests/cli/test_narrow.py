"""In a narrow window no table breaks a number or an interval; it says what it lacks."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from curation.campaign.settings import read_settings
from curation.campaign.store import create_campaign
from curation.terminal import console
from support import commands

LACKS = "The window is too narrow for "
TO = re.compile(r" to (?=[-+]?\d)")
HEADS = ["model", "rules", "terms", "lms", "95 %"]
ROWS = [
    ("a-model", "ll-bos, conditional", "4*", 61.483, (48.33, 100.0)),
    ("b", "–", "22", 50.0, None),
]


@contextmanager
def window(width: int) -> Iterator[io.StringIO]:
    """Standard output is a terminal of this width; gives what is printed there."""
    file, before = io.StringIO(), console.out
    console.out = Console(
        file=file, width=width, force_terminal=True, color_system=None, soft_wrap=True
    )
    yield file
    console.out = before


def tokens(text: str) -> list[str]:
    """The numbers and intervals of a text, each whole."""
    words = TO.sub("…to…", text).split()
    return [
        word for word in words if re.search(r"\d", word) and not re.search(r"[A-Za-z]{3}", word)
    ]


def broken(
    printed: str, title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]
) -> set[str]:
    """The numbers in what was printed that the table does not have."""
    cells = [console.show(cell) for row in rows for cell in row]
    whole = {token for text in (title, *heads, *cells) for token in tokens(text)}
    return set(tokens(printed.split(LACKS)[0])) - whole


def heads_in(width: int) -> list[str]:
    """The heads that a window shows of the table, and what the line below it says."""
    with window(width) as file:
        console.table("Models", HEADS, ROWS, least=["terms", "rules"], whole="in all.csv")
    lines = file.getvalue().splitlines()
    assert not broken(file.getvalue(), "Models", HEADS, ROWS)
    assert all(len(line.rstrip()) <= width for line in lines if not line.startswith(LACKS))
    return [" ".join(lines[2].split()), *(line for line in lines if line.startswith(LACKS))]


def test_columns_are_left_out_in_order_and_named() -> None:
    # 7 + 19 + 5 + 5 + 10 and four gaps are 50; «ll-bos, conditional» may be folded to 16, that is
    # 47. Without terms, 41; without rules, too, 24; the last column and its gap are 11.
    lacks = LACKS + "{}. The whole table is in all.csv."
    assert heads_in(50) == heads_in(47) == ["model rules terms lms 95 %"]
    assert heads_in(46) == heads_in(41) == ["model rules lms 95 %", lacks.format("terms")]
    assert heads_in(40) == heads_in(24) == ["model lms 95 %", lacks.format("rules, terms")]
    assert heads_in(23) == heads_in(13) == ["model lms", lacks.format("rules, terms, 95 %")]
    assert heads_in(12) == heads_in(7) == ["model", lacks.format("rules, terms, lms, 95 %")]


def test_a_pipe_has_whole_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console.out, "width", 20)
    console.table("Models", HEADS, ROWS)
    assert "48.3–100.0" in capsys.readouterr().out.splitlines()[4].split()


def test_a_broken_interval_would_be_seen() -> None:
    rows = [("a", "-10.3 to 13.2", (48.33, 100.0))]
    assert broken("a -10.3 to 13.2 48.3–100.0", "T", ["", "", ""], rows) == set()
    assert broken("a -10.3 to\n 13.2 48.3–\n 100.0", "T", ["", "", ""], rows) == {
        *("-10.3", "13.2", "48.3–", "100.0")
    }


GOLD = "{}/7-release/0.1.0/test.json"
COMMANDS = f"""
status -c {{}}
terms scan DATA/dump.json -c NEW
terms select -c NEW
import answers DATA/writers.csv -c NEW
import answers DATA/validators.csv -c NEW
rounds status -c {{}}
rounds quality -c {{}}
rounds pay write-2 -c {{}}
rounds exclude earlier-human-1 --reason x -c {{}}
decisions filter -c {{}}
decisions agreement --by annotator -c {{}}
decisions split -c {{}}
measures statistics --terms -c {{}}
measures sentiment -c {{}}
measures keywords --top 5 -c {{}}
measures pitfalls -c {{}}
scores models {{}}/models/tiny-gpt {{}}/models/tiny-bert -c {{}}
scores compare --power 5 -c {{}}
trust text DATA/trust/tales.txt -c {{}}
trust text --labels DATA/trust/labels.csv --source tales -c {{}}
trust report --all -c {{}}
release diff {GOLD} {GOLD.replace("test", "dev")} -c {{}}
scores baselines --gold {GOLD}
scores predictions --gold {GOLD} --predictions {{}}/predictions_shorter-is-likelier.json
"""


@pytest.mark.long
def test_no_command_of_the_demo_breaks_a_number(
    finished: Path, example_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_campaign(tmp_path / "new", read_settings(example_data / "campaign.toml"))
    tables: list[tuple[str, Any, Any, Any]] = []
    names = ("table", "wide_table")
    prints = {name: getattr(console, name) for name in names}
    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(
                console,
                name,
                lambda *given, name=name, **how: tables.append((line, name, given, how)),
            )
        for line in COMMANDS.strip().splitlines():
            words = line.format(*[finished] * 3).replace("DATA", str(example_data))
            words = words.replace("NEW", str(tmp_path / "new"))
            before = len(tables)
            commands.well(*words.split())
            assert len(tables) > before, f"{line} prints no table"
    lacking = set()
    for width in (160, 80, 60):
        for line, name, given, how in tables:
            with window(width) as file:
                prints[name](*given, **how)
            printed = file.getvalue()
            about = f"{line} at {width}:\n{printed}"
            assert not broken(printed, *given), about
            grid = printed.split(LACKS)[0].splitlines()
            assert all(len(row.rstrip()) <= width for row in grid if given[0] not in row), about
            lacking |= {width} if LACKS in printed else set()
    assert lacking == {80, 60}

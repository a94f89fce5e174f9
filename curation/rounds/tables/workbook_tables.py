"""Finds the table of answers in an .xlsx workbook, and reads it as texts.

Spreadsheet programs change what people type: they make dates of texts, shorten long numbers and
keep formulas. If an answer can no longer be known, an error names the cells before anything is
kept.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.cell_range import CellRange

from curation.files import CurationError
from curation.formats.tables import restored
from curation.rounds.answers.forms import columns_of
from curation.rounds.tables.workbook_parts import DIGITS, Cell, Row, Sheet, Workbook, as_text
from curation.text.table_words import Words
from curation.text.times import is_plausible
from curation.text.wording import some

PEEK = 500  # rows with content that tell what a sheet is
TITLES = 10  # rows with content that may be above the header, and the header
SHOWN = 5  # cells that an error names
DAY = 86_400  # seconds
TIMES = ("submitted_at", "updated_at")
PLAIN = re.compile(r"general|@|0|standard|g/標準", re.IGNORECASE)
AS_TEXT = "format the column as Text and type the answer again"
PROBLEMS = {
    "formula": ("with a formula", "copy the column and paste it as values only"),
    "error": ("with an error value such as #N/A", "type the answer again"),
    "date": ("with a date, which the spreadsheet program made of what was typed", AS_TEXT),
    "number": ("with a percentage, an amount or the like instead of what was typed", AS_TEXT),
    "long": (f"with a number of over {DIGITS} digits, which the program cuts off", AS_TEXT),
    "time": ("with something else than a date", "write date and time as 2026-03-14 10:22:05"),
    "seconds": ("with something else than seconds", "write the number of seconds, such as 45"),
}
"""What is wrong with a cell: how an error says it, and what to do."""
Warn = Callable[[str], None]
Columns = Callable[[Iterable[str]], set[str]]
"""Gives the columns that headings mean."""


class Grid(NamedTuple):
    """A table of a sheet, as texts.

    Attributes:
        place: the file and the sheet, for messages.
        row: the number of the row with the header.
        header: the headings, each with its cell.
        rows: the texts of each row in the order of the header, with the row's number.
    """

    place: str
    row: int
    header: list[tuple[str, str]]
    rows: list[tuple[int, list[str]]]


class _Peeked(NamedTuple):
    """The first rows of a sheet, and what they say about it."""

    sheet: Sheet
    header: Row
    above: int  # rows with content above the header
    has_rows: bool
    answers: bool  # the header is one of answers
    describes: bool  # the sheet is about the columns of another


def read_grid(path: Path, warn: Warn | None = None, words: Words | None = None) -> Grid:
    """The table of answers of a workbook; dates and numbers are texts, and empty rows are left out.

    Args:
        path: the workbook.
        warn: gets warnings of what is not read. Without it, a second sheet with data is an
            error.
        words: the words of a round's own texts; None for those of the shipped languages.

    Raises:
        CurationError: the workbook is damaged or too large, or it is not clear which sheet has the
            answers. Or answers in it were changed by a spreadsheet program or cannot be read:
            formulas, error values, dates among texts, merged cells.
    """
    with Workbook(path) as book:
        columns = partial(columns_of, words=words)
        chosen = _choose(path, book, warn, columns)
        return _read(path, book, chosen, warn or (lambda text: None), columns)


# --- which sheet --------------------------------------------------------------------------------


def _choose(path: Path, book: Workbook, warn: Warn | None, columns: Columns) -> _Peeked:
    peeked = [p for sheet in book.sheets if (p := _peek(book, sheet, columns))]
    tables = [p for p in peeked if p.answers and p.has_rows]
    seen = [p for p in peeked if p.sheet.visible and not p.describes]
    if hidden := [p for p in tables if not p.sheet.visible]:
        raise CurationError(
            f"{path} sheet {hidden[0].sheet.name!r}: has answers and is hidden",
            "show this sheet if it is the table, or delete it",
        )
    candidates = tables or [p for p in seen if p.answers] or seen
    if not candidates:
        raise CurationError(
            f"{path}: no sheet has a table", "check that this is the right file, and save it again"
        )
    others = [p for p in seen if p not in candidates[:1]]
    if len(candidates) > 1 or (others and warn is None):
        alike = len(candidates) > 1 and candidates[0].answers
        what = "look like tables of answers" if alike else "have data"
        raise CurationError(
            f"{path}: the sheets {_names(candidates if alike else seen)} {what}, and only one "
            "table is read",
            "delete the others, or save each sheet as a workbook of its own",
        )
    if others and warn:
        warn(
            f"{path}: only sheet {candidates[0].sheet.name!r} is read; "
            f"{_names(others)} {'has' if len(others) == 1 else 'have'} data, too"
        )
    return candidates[0]


def _peek(book: Workbook, sheet: Sheet, columns: Columns) -> _Peeked | None:
    """What a sheet is, by its first rows; None if it is empty."""
    first = list(islice((row for row in book.rows(sheet) if _has_text(row)), PEEK))
    if not first:
        return None
    texts = [[cell.text for cell in row.cells.values()] for row in first]
    above = next((n for n, heads in enumerate(texts[:TITLES]) if _is_header(columns(heads))), None)
    left = columns(row.cells[min(row.cells)].text for row in first)
    return _Peeked(
        sheet,
        first[above or 0],
        above or 0,
        len(first) > (above or 0) + 1,
        above is not None,
        above is None and "task_id" in left and len(left) > 1,
    )


def _has_text(row: Row) -> bool:
    return any(cell.text.strip() for cell in row.cells.values())


def _is_header(known: set[str]) -> bool:
    """Whether a table with these columns has answers; a table of consent has two of them."""
    pair = len(known) >= 2 and "task_id" in known
    return pair or len(known) >= 4 or {"annotator", "consent"} <= known


def _names(sheets: Sequence[_Peeked]) -> str:
    return some((repr(peeked.sheet.name) for peeked in sheets), SHOWN)


# --- its cells ----------------------------------------------------------------------------------


def _read(path: Path, book: Workbook, peeked: _Peeked, warn: Warn, columns: Columns) -> Grid:
    place, row = f"{path} sheet {peeked.sheet.name!r}", peeked.header.number
    heads = {n: cell.text.strip() for n, cell in sorted(peeked.header.cells.items())}
    heads = {n: name for n, name in heads.items() if name}
    meanings = {n: next(iter(columns([name])), "") for n, name in heads.items()}
    problems: dict[str, list[str]] = {}
    rows: list[tuple[int, list[str]]] = []
    hidden: list[int] = []
    outside: list[str] = []
    merged: list[CellRange] = []
    began, last = False, row
    for line in book.rows(peeked.sheet, merged):
        if not began:
            began = line.number == row and line.cells == peeked.header.cells
            continue
        outside += [
            f"{get_column_letter(n)}{line.number}"
            for n, cell in line.cells.items()
            if n not in heads and cell.text.strip()
        ]
        cells = {n: cell for n, cell in line.cells.items() if n in heads}
        if not any(cell.text.strip() or cell.formula for cell in cells.values()):
            continue
        texts = []
        for n in heads:
            text, problem = _text(cells[n], meanings[n], book) if n in cells else ("", "")
            texts.append(text)
            if problem:
                problems.setdefault(problem, []).append(f"{get_column_letter(n)}{line.number}")
        rows.append((line.number, texts))
        last = max(last, line.number)
        if line.hidden:
            hidden.append(line.number)
    # «0:45» is 45 minutes for the program, and may have been 45 seconds for the person. If other
    # cells have seconds, it is clear.
    clear, minutes = problems.pop("clock", []), problems.pop("minutes", [])
    if minutes and not clear:
        problems["seconds"] = [*problems.get("seconds", ()), *minutes]
    _refuse_merged(place, merged, row, last, [n for n in heads if meanings[n]])
    if problems:
        raise _changed(place, problems)
    if peeked.above:
        warn(f"{place}: the header is row {row}; what is above it is not read")
    if outside:
        warn(f"{place}: cells in columns without a heading are not read: {some(outside, SHOWN)}")
    if hidden:
        warn(f"{place}: hidden rows are read, too: {some(map(str, hidden), SHOWN)}")
    header = [(name, f"{get_column_letter(n)}{row}") for n, name in heads.items()]
    return Grid(place, row, header, rows)


def _text(cell: Cell, meaning: str, book: Workbook) -> tuple[str, str]:
    """The text of a cell in a column with this meaning, and what is wrong with it.

    Columns without a meaning are kept as they are, because nothing is computed from them.
    """
    text = restored(cell.value) if isinstance(cell.value, str) else cell.text
    if not meaning:
        return text, ""
    if cell.formula:
        return "", "formula"
    if cell.error:
        return "", "error"
    match cell.value:
        case bool() | str() | None:
            return text, ""
        case int() | float() as number:
            if meaning in TIMES:
                moment = book.moment(number)
                return (as_text(moment) if is_plausible(moment) else text), ""
            if meaning == "seconds":
                return text, ""
            if not PLAIN.fullmatch(cell.format):
                return text, "number"
            return text, "long" if abs(number) >= 10**DIGITS else ""
        case time() | timedelta() as clock if meaning == "seconds":
            seconds = _seconds(clock)
            if not 0 <= seconds < DAY:
                return text, "seconds"
            return as_text(seconds), "clock" if seconds % 60 else "minutes"
        case date() if meaning in TIMES:
            return text, ""
    return text, "time" if meaning in TIMES else "seconds" if meaning == "seconds" else "date"


def _seconds(clock: time | timedelta) -> float:
    if isinstance(clock, time):
        clock = datetime.combine(date.min, clock) - datetime.min
    return round(clock.total_seconds(), 3)


def _refuse_merged(
    place: str, merged: Sequence[CellRange], first: int, last: int, columns: Sequence[int]
) -> None:
    """Refuse merged cells between two rows in one of these columns."""
    bad = [
        cells.coord
        for cells in merged
        if ":" in cells.coord
        and cells.min_row <= last
        and cells.max_row >= first
        and any(cells.min_col <= n <= cells.max_col for n in columns)
    ]
    if bad:
        raise CurationError(
            f"{place}: cells {some(bad, SHOWN)} are merged, so only the first of each has an "
            "answer",
            "unmerge them, and write the answer into every row",
        )


def _changed(place: str, problems: dict[str, list[str]]) -> CurationError:
    """The error of cells whose content is not what somebody wrote."""
    texts = [
        f"{'cells' if len(cells) > 1 else 'cell'} {some(cells, SHOWN)} {PROBLEMS[kind][0]}"
        for kind, cells in problems.items()
    ]
    fixes = dict.fromkeys(PROBLEMS[kind][1] for kind in problems)
    return CurationError(f"{place}: {'; '.join(texts)}", "; ".join(fixes))

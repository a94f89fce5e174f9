"""Tables, and how text holds them: CSV and JSON Lines, as people and programs write them."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from curation.files import CurationError, parsed_json
from curation.text.wording import some

NumberedRow = tuple[int, dict[str, Any]]
"""The number of a row or line, and its cells by heading."""

Columns = Callable[[Iterable[str]], frozenset[str]]


def no_columns(headings: Iterable[str]) -> frozenset[str]:
    """For tables whose headings have no meaning that is known."""
    return frozenset()


class TablePlace(NamedTuple):
    """The place of a table's rows, for messages.

    Attributes:
        name: the file, and of a workbook the sheet.
        numbers: of a workbook the number of each row; empty for other tables.
        cells: of a workbook the cell of each heading.
    """

    name: str
    numbers: Sequence[int] = ()
    cells: Mapping[str, str] = {}


class Table(NamedTuple):
    """The rows of a table, by heading, and where they are."""

    rows: list[dict[str, Any]]
    place: TablePlace


DELIMITERS = ",;\t|"
MOST_COLUMNS = 2000
_LONGEST = 60  # characters of a column's name in a message
_MOST_LISTED = 40  # columns in a message


class Header(NamedTuple):
    """Where the header of a CSV text is.

    Attributes:
        start: the position of its first character in the text.
        lines: how many lines are before it: blank ones, and the line ``sep=;`` of spreadsheets.
        delimiter: the most frequent of ``DELIMITERS`` in its first line.
    """

    start: int
    lines: int
    delimiter: str


def damaged(path: Path, problem: object, part: str = "") -> CurationError:
    """The error of a workbook that cannot be read.

    Args:
        path: the workbook.
        problem: what is wrong.
        part: the file inside the workbook that has the problem.
    """
    where = f", part {part}" if part else ""
    reason = problem.args[0] if isinstance(problem, KeyError) else problem
    return CurationError(
        f"{path}{where}: the workbook is damaged or unusual ({reason})",
        "open it in a spreadsheet program and save it as .xlsx again, or as CSV",
    )


def find_header(text: str, path: Path) -> Header:
    """Where the header of a CSV text is.

    Raises:
        CurationError: there is no header; the error names the file.
    """
    stream = io.StringIO(text, newline="")
    for lines, line in enumerate(stream):
        if line.strip() and line[:4].lower() != "sep=":
            start = stream.tell() - len(line)
            return Header(start, lines, max(DELIMITERS, key=line.count))
    raise no_rows(path)


def no_rows(path: Path) -> CurationError:
    """The error of a table of which every cell is empty."""
    return CurationError(f"{path}: no header and no rows", "export the table again")


def read_csv(text: str, path: Path) -> tuple[list[str], Iterator[NumberedRow]]:
    """The columns of a CSV text, and its rows, each with the number of its first line.

    Cells keep their text. Rows without any text are left out. A row with fewer cells than columns
    lacks the last columns; cells beyond the columns are a list under ``""``. Columns without a name
    are not in the rows, and Qualtrics' other rows of headings are left out.

    Args:
        text: the content of the file. It may begin with a line ``sep=;``; its cells have commas,
            semicolons, tabs or bars between them.
        path: the file, for errors.

    Raises:
        CurationError: there is no header, it has a column twice or too many columns, or a row
            cannot be read. The iterator raises it, too.
    """
    header = find_header(text, path)
    lines = io.StringIO(text[header.start :], newline="")
    reader = csv.reader(lines, delimiter=header.delimiter, strict=True)
    all_cells = _cells(reader, path, header.lines)
    number, names = next(all_cells, (0, []))
    if not names:
        raise no_rows(path)
    columns = [name.strip() for name in names]
    check_columns(columns, f"{path} line {number}")
    return columns, without_headings((number, _row(columns, cells)) for number, cells in all_cells)


def without_headings(
    rows: Iterable[NumberedRow],
) -> Iterator[NumberedRow]:
    """Numbered rows without Qualtrics' second and third row of headings.

    These have the texts of the questions, and objects such as ``{"ImportId": "QID1"}``.

    >>> list(without_headings([(2, {"a": "Your id"}), (3, {"a": '{"ImportId": "a"}'})]))
    []
    """
    left = iter(rows)
    first = list(islice(left, 2))
    cells = [str(cell) for _, row in first[1:] for cell in row.values() if cell]
    if cells and all(cell.startswith('{"ImportId"') for cell in cells):
        first = []
    return chain(first, left)


def _cells(reader: Any, path: Path, before: int) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row with the number of its first line; ``before`` lines are above."""
    number = before + 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield number, cells
            number = before + reader.line_num + 1
    except csv.Error as error:
        fix = (
            f"a cell may have {csv.field_size_limit():,} characters: shorten it, or close a "
            "quotation mark that is open"
            if "limit" in str(error)
            else "a quotation mark is open or doubled; export the table again as CSV"
        )
        raise CurationError(
            f"{path} line {number}: is not a row of a table: {error}", fix
        ) from None


def _row(columns: list[str], cells: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(columns, cells, strict=False))
    row.pop("", None)
    more = cells[len(columns) :]
    return row | {"": more} if any(cell.strip() for cell in more) else row


def check_columns(columns: list[str], place: str) -> None:
    """Raise if a table has too many columns, or one twice.

    Args:
        columns: the columns; several may have no name.
        place: the file and line of the header, for the error.

    Raises:
        CurationError: it does.
    """
    check_width(len(columns), place)
    for name, times in Counter(columns).items():
        if name and times > 1:
            raise doubled_column(name, place)


def check_width(columns: int, place: str) -> None:
    """Raise if a table or a row has too many columns.

    Raises:
        CurationError: it has more than ``MOST_COLUMNS``.
    """
    if columns > MOST_COLUMNS:
        raise CurationError(
            f"{place}: it has {columns:,} columns, and {MOST_COLUMNS:,} are the most",
            "check that this is the right file; delete the columns that are not needed",
        )


def doubled_column(name: str, place: str) -> CurationError:
    """The error of a column that is there twice."""
    return CurationError(
        f"{place}: the column {name[:_LONGEST]!r} is there twice", "rename one of them"
    )


def list_columns(columns: Iterable[str]) -> str:
    """Names of columns for a message; of very many and very long ones only the beginning."""
    short = (name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in columns)
    return some(short, _MOST_LISTED)


def read_json_lines(text: str, path: Path) -> Iterator[NumberedRow]:
    """The objects of a text in JSON Lines, each with the number of its line.

    Raises:
        CurationError: a line is not a JSON object.
    """
    for number, line in enumerate(text.split("\n"), 1):  # a text may hold other line separators
        if line.strip():
            row = parsed_json(line, path, line=number)
            if not isinstance(row, dict):
                raise CurationError(
                    f"{path} line {number}: not a JSON object", "write {…} on each line"
                )
            yield number, row


# Spreadsheets also take the wide signs of East Asian keyboards.
_SIGN = r"(?:\s*[=+\-@＝＋－＠]|[\t\r\n])"
_LIVE = re.compile(rf"'*{_SIGN}")
_MARKED = re.compile(rf"'+{_SIGN}")


def safe(cell: Any) -> Any:
    """A cell as it is written: a text that a spreadsheet would run gets an apostrophe.

    Numbers and other values that are not texts stay as they are.

    >>> safe("=1+1"), safe("'=1+1"), safe("it's"), safe(-0.5)
    ("'=1+1", "''=1+1", "it's", -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and _LIVE.match(cell) else cell


def restore_cell(cell: str) -> str:
    """A cell as it was before ``safe``.

    >>> restore_cell("'=1+1"), restore_cell("''=1+1"), restore_cell("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return cell[1:] if _MARKED.match(cell) else cell


class _Lines(list[str]):
    """Takes lines that end in a carriage return and a line feed, and keeps only the line feed."""

    def write(self, line: str) -> None:
        """Keep a line, as ``csv.writer`` gives it."""
        self.append(line[:-2] + "\n")


def csv_text(rows: Iterable[Sequence[Any]], *, delimiter: str = ",") -> str:
    """Rows as a CSV table whose texts no spreadsheet runs."""
    lines = _Lines()
    # With this end of lines, csv puts a cell with a carriage return into quotation marks.
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([safe(cell) for cell in row] for row in rows)
    return "".join(lines)

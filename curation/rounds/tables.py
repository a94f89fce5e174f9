"""Reads tables: .xlsx workbooks, CSV and JSONL, as people and other platforms write them."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from curation.cells import restored
from curation.files import CurationError, read_json, read_text
from curation.rounds.answers.archive import as_json
from curation.rounds.file_kinds import is_workbook
from curation.table_words import Words

DELIMITERS = ",;\t|"
MOST_COLUMNS = 2000


class Place(NamedTuple):
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
    place: Place


def read_table(
    path: Path, warn: Callable[[str], None] | None = None, words: Words | None = None
) -> Table:
    """The table of a workbook, a CSV or a JSONL file; see ``read_rows``.

    ``words`` are those of a round's own texts, None for those of the shipped languages.
    """
    if is_workbook(path):
        return _sheet(path, warn, words)
    return Table([row for _, row in _text_rows(path)], Place(str(path)))


def read_rows(
    path: Path, warn: Callable[[str], None] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a workbook, a CSV or a JSONL file with their row or line numbers.

    A JSON list of objects is read too; its rows are numbered from 1. Values are not changed, and
    those of a workbook are texts.

    A CSV file may have a byte order mark, a first line ``sep=;``, and commas, semicolons, tabs or
    bars between its cells. Cells beyond the header are kept under the empty name. An apostrophe
    that ``cells.safe`` wrote before a cell is removed.

    Args:
        path: the file; its content says what it is, and not its name.
        warn: gets warnings of what is not read of a workbook. Without it, a second sheet with
            data is an error.

    Raises:
        CurationError: the file cannot be read, is empty, has no header, has a column twice or too
            many columns; a line is not a JSON object or cannot be kept; or a spreadsheet program
            changed answers in a workbook. The error names file and line, or sheet and cell.
    """
    if is_workbook(path):
        table = _sheet(path, warn)
        yield from zip(table.place.numbers, table.rows, strict=True)
    else:
        yield from _text_rows(path)


def _text_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    text = read_text(path)
    first = text.lstrip()[:1]
    if first == "[":
        yield from _checked(path, "row", enumerate(_json_list(path), 1))
    elif first == "{":
        yield from _checked(path, "line", _json_rows(path, text))
    else:
        yield from _csv_rows(path, text)


def _sheet(path: Path, warn: Callable[[str], None] | None, words: Words | None = None) -> Table:
    from curation.rounds.workbook_tables import read_grid  # openpyxl takes long to import

    grid = read_grid(path, warn, words)
    if len(grid.header) > MOST_COLUMNS:
        raise _too_wide(f"{grid.place} row {grid.row}", len(grid.header))
    cells: dict[str, str] = {}
    for name, cell in grid.header:
        if name in cells:
            raise _doubled(f"{grid.place} cells {cells[name]} and {cell}", name)
        cells[name] = cell
    rows = [dict(zip(cells, texts, strict=True)) for _, texts in grid.rows]
    numbers = [number for number, _ in grid.rows]
    return Table(rows, Place(grid.place, numbers, cells))


def listed(names: Iterable[str], *, most: int = 40) -> str:
    """Names of columns for a message; if there are very many, only the first.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    all_names = [name if len(name) <= 60 else f"{name[:60]}…" for name in names]
    more = len(all_names) - most
    return ", ".join(all_names[:most]) + (f" and {more} more" if more > 0 else "")


def _checked(
    path: Path, unit: str, rows: Iterable[tuple[int, dict[str, Any]]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of JSON that can be kept: not too many fields, and not nested too deeply."""
    for number, row in rows:
        place = f"{path} {unit} {number}"
        if len(row) > MOST_COLUMNS:
            raise _too_wide(place, len(row))
        as_json(row, place)
        yield number, row


def _too_wide(place: str, columns: int) -> CurationError:
    return CurationError(
        f"{place}: it has {columns:,} columns, and {MOST_COLUMNS:,} are the most",
        "check that this is the right file; delete the columns that are not needed",
    )


def _doubled(place: str, name: str) -> CurationError:
    return CurationError(f"{place}: the column {name!r} is there twice", "rename one of them")


def _json_list(path: Path) -> list[dict[str, Any]]:
    rows = read_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise CurationError(f"{path}: not a list of JSON objects", "write [{…}, {…}]")
    return rows


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise CurationError(
                f"{path} line {number} column {error.colno}: not JSON ({error.msg})",
                "each line must be one complete JSON object; the file may have been cut off",
            ) from None
        if not isinstance(row, dict):
            raise CurationError(
                f"{path} line {number}: not a JSON object", "write {…} on each line"
            )
        yield number, row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    before = start = 0
    while True:
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)]
        if line.strip() and line[:4].lower() != "sep=":
            break
        if end < 0 or end + 1 == len(text):
            raise CurationError(f"{path}: no header and no rows", "export the table again")
        before, start = before + 1, end + 1
    delimiter = max(DELIMITERS, key=line.count)
    lines = io.StringIO(text[start:], newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    began = 0
    try:
        header = [name.strip() for name in next(reader)]
        began = reader.line_num
        if len(header) > MOST_COLUMNS:
            raise _too_wide(f"{path} line {1 + before}", len(header))
        doubled = [name for name, times in Counter(header).items() if name and times > 1]
        if doubled:
            raise _doubled(f"{path} line {1 + before}", min(doubled))
        for raw_cells in reader:
            began = reader.line_num
            if not any(cell.strip() for cell in raw_cells):
                continue
            cells = [restored(cell) if cell[:1] == "'" else cell for cell in raw_cells]
            row: dict[str, Any] = dict(zip(header, cells, strict=False))
            row.pop("", None)
            if any(cell.strip() for cell in cells[len(header) :]):
                row[""] = cells[len(header) :]
            yield reader.line_num + before, row
    except csv.Error as error:
        fix = (
            f"a cell may have {csv.field_size_limit():,} characters: shorten it, or close a "
            "quotation mark that is open"
            if "limit" in str(error)
            else "a quotation mark is open or doubled; export the table again as CSV"
        )
        raise CurationError(f"{path} line {began + 1 + before}: {error}", fix) from None

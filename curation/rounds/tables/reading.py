"""Reads tables: .xlsx workbooks, CSV and JSONL, as people and other platforms write them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files import CurationError, parsed_json, read_text
from curation.formats.tables import check_width, doubled, read_csv, read_json_lines, restored
from curation.rounds.answers.archive import as_json
from curation.rounds.tables.file_kinds import is_workbook
from curation.text.table_words import Words


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


def read_table(
    path: Path, warn: Callable[[str], None] | None = None, words: Words | None = None
) -> Table:
    """The table of a workbook, a CSV or a JSONL file; see ``read_rows``.

    ``words`` are those of a round's own texts, None for those of the shipped languages.
    """
    if is_workbook(path):
        return _sheet(path, warn, words)
    return Table([row for _, row in _text_rows(path)], TablePlace(str(path)))


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
        yield from _checked(path, "row", enumerate(_json_list(text, path), 1))
    elif first == "{":
        yield from _checked(path, "line", read_json_lines(text, path))
    else:
        _, rows = read_csv(text, path)
        for number, row in rows:
            yield number, {name: _restored(cell) for name, cell in row.items()}


def _restored(cell: str | list[str]) -> str | list[str]:
    return restored(cell) if isinstance(cell, str) else [restored(each) for each in cell]


def _sheet(path: Path, warn: Callable[[str], None] | None, words: Words | None = None) -> Table:
    from curation.rounds.tables.workbook_tables import read_grid  # openpyxl takes long to import

    grid = read_grid(path, warn, words)
    check_width(len(grid.header), f"{grid.place} row {grid.row}")
    cells: dict[str, str] = {}
    for name, cell in grid.header:
        if name in cells:
            raise doubled(name, f"{grid.place} cells {cells[name]} and {cell}")
        cells[name] = cell
    rows = [dict(zip(cells, texts, strict=True)) for _, texts in grid.rows]
    numbers = [number for number, _ in grid.rows]
    return Table(rows, TablePlace(grid.place, numbers, cells))


def _checked(
    path: Path, unit: str, rows: Iterable[tuple[int, dict[str, Any]]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of JSON that can be kept: not too many fields, and not nested too deeply."""
    for number, row in rows:
        place = f"{path} {unit} {number}"
        check_width(len(row), place)
        as_json(row, place)
        yield number, row


def _json_list(text: str, path: Path) -> list[dict[str, Any]]:
    rows = parsed_json(text, path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise CurationError(f"{path}: not a list of JSON objects", "write [{…}, {…}]")
    return rows

"""Reads tables: .xlsx workbooks, CSV and JSONL, as people and other platforms write them."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from curation.files import CurationError, decode_text, open_input, parsed_json, read_text
from curation.formats.packed import CUT_OFF, HEAD, WORKBOOK, kind_of, kinds
from curation.formats.tables import (
    Columns,
    NumberedRow,
    Table,
    TablePlace,
    check_width,
    damaged,
    no_columns,
    read_csv,
    read_json_lines,
    restore_cell,
)


def is_workbook(path: Path, data: bytes | None = None) -> bool:
    """Whether a file is an .xlsx workbook, whatever its name is.

    Args:
        path: the file.
        data: its bytes, if they are read already.

    Raises:
        CurationError: it is missing, is a damaged archive, or is another kind of file that is not
            read: .ods, .xls, .xlsb, .xlsm, a workbook with a password, a link to a Google sheet,
            and so on. The error says what it is and what to do.
    """
    if path.name.startswith(("~$", ".~lock.")):
        raise _other_kind(
            path,
            "a note of a spreadsheet program that has the table open",
            "save the table, close the program, and name the table",
        )
    if data is None:
        with open_input(path) as file:
            head = file.read(HEAD)
    else:
        head = data[:HEAD]
    kind = kind_of(path, head)
    if kind == CUT_OFF:
        raise damaged(path, "it is cut off, or is not an archive")
    if kind not in ("", WORKBOOK):
        fix = (
            "unpack it, and name the table"
            if kind.endswith(" archive")
            else kinds()["fixes"].get(kind)
        )
        raise _other_kind(path, kind, fix or "ask for the table as .xlsx or CSV")
    return kind == WORKBOOK


def _other_kind(path: Path, kind: str, fix: str) -> CurationError:
    return CurationError(f"{path}: is {kind}; tables are read from .xlsx, CSV and JSONL", fix)


def read_table(
    path: Path, warn: Callable[[str], None] | None = None, columns: Columns = no_columns
) -> Table:
    """The table of a workbook, a CSV or a JSONL file; see ``read_rows``."""
    if is_workbook(path):
        from curation.formats.sheets import read_workbook  # it loads slowly

        return read_workbook(path, warn, columns)
    return Table([row for _, row in _text_rows(path)], TablePlace(str(path)))


def read_rows(
    path: Path,
    warn: Callable[[str], None] | None = None,
    columns: Columns = no_columns,
    *,
    data: bytes | None = None,
) -> Iterator[NumberedRow]:
    """The rows of a workbook, a CSV or a JSONL file with their row or line numbers.

    A JSON list of objects is read too; its rows are numbered from 1. Values are not changed, and
    those of a workbook are texts.

    A CSV file may have a byte order mark, a first line ``sep=;``, and commas, semicolons, tabs or
    bars between its cells. Cells beyond the header are kept under the empty name. An apostrophe
    that ``tables.safe`` wrote before a cell is removed.

    Args:
        path: the file; its content says what it is, and not its name.
        warn: gets warnings of what is not read of a workbook. Without it, a second sheet with
            data is an error.
        columns: gives the known columns that headings mean; by them the table in a workbook is
            found.
        data: its bytes, if they are read already.

    Raises:
        CurationError: the file cannot be read, is empty, has no header, has a column twice or too
            many columns; a line is not a JSON object or cannot be kept; or a spreadsheet program
            changed answers in a workbook. The error names file and line, or sheet and cell.
    """
    if is_workbook(path, data):
        from curation.formats.sheets import read_workbook

        table = read_workbook(path, warn, columns)
        yield from zip(table.place.numbers, table.rows, strict=True)
    else:
        yield from _text_rows(path, data)


def _text_rows(path: Path, data: bytes | None = None) -> Iterator[NumberedRow]:
    text = read_text(path) if data is None else decode_text(data, path)
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
    return restore_cell(cell) if isinstance(cell, str) else [restore_cell(each) for each in cell]


def _checked(path: Path, unit: str, rows: Iterable[NumberedRow]) -> Iterator[NumberedRow]:
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


def as_json(content: Any, place: str) -> bytes:
    """An answer, or a part of one, as JSON with sorted keys.

    Raises:
        CurationError: it cannot be kept as JSON; the error names the place.
    """
    try:
        return orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise CurationError(
            f"{place}: an answer cannot be kept as JSON ({error})",
            "write its fields as plain texts and numbers, or leave the answer out",
        ) from None

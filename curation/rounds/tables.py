"""Reads tables from CSV or JSONL files, as other platforms and spreadsheets write them."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from curation.files import CurationError, read_json, read_text

DELIMITERS = ",;\t|"


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV or JSONL file with their line numbers; values are not changed.

    A JSON list of objects is read too; its rows are numbered from 1.

    A CSV file may have a byte order mark, a first line ``sep=;``, and commas, semicolons, tabs or
    bars between its cells. Cells beyond the header are kept under the empty name.

    Raises:
        CurationError: the file cannot be read, is empty, has no header or has a column twice, or
            a line is not a JSON object. The error names file and line.
    """
    text = read_text(path)
    first = text.lstrip()[:1]
    if first == "[":
        yield from enumerate(_json_list(path), 1)
    else:
        yield from _json_rows(path, text) if first == "{" else _csv_rows(path, text)


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
    before = 0
    while not (line := text.split("\n", 1)[0]).strip() or line[:4].lower() == "sep=":
        before += 1
        text = text[len(line) + 1 :]
        if not text:
            raise CurationError(f"{path}: no header and no rows", "export the table again")
    delimiter = max(DELIMITERS, key=line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    began = 0
    try:
        header = [name.strip() for name in next(reader)]
        began = reader.line_num
        doubled = {name for name in header if name and header.count(name) > 1}
        if doubled:
            raise CurationError(
                f"{path} line {1 + before}: the column {min(doubled)!r} is there twice",
                "rename one of them",
            )
        for cells in reader:
            began = reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            row: dict[str, Any] = dict(zip(header, cells, strict=False))
            row.pop("", None)
            if any(cell.strip() for cell in cells[len(header) :]):
                row[""] = cells[len(header) :]
            yield reader.line_num + before, row
    except csv.Error as error:
        raise CurationError(
            f"{path} line {began + 1 + before}: {error}",
            "a quotation mark is open or doubled; export the table again as CSV",
        ) from None

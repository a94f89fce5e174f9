"""What is in a file of CATs: its rows, whatever container they are in."""

import csv
import io
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from curation.catsets.entries import Part, Row
from curation.catsets.headings import is_by_label, resolve
from curation.catsets.other_sets import refuse_other_sets
from curation.catsets.parquet_rows import read_parquet
from curation.catsets.unreadable import refuse, refuse_address, refuse_folder
from curation.file_kinds import HEAD, PARQUET
from curation.files import CurationError, decoded, open_input, parsed_json, read_bytes
from curation.packed import packing_of, read_lines
from curation.records import KINDS
from curation.text_tables import find_header, read_csv, read_json_lines

LONGEST_LINE = 256 << 20  # bytes of a line of packed JSON, which is often one line
_LONGEST_NAME = 60
_DEEP = 4  # lists of items within rows


def read_parts(path: Path, *, named: Collection[str] | None = None) -> tuple[list[Part], Any]:
    """The rows of a JSON, JSONL, CSV or Parquet file; text may be packed as .gz or .bz2.

    Args:
        path: the file.
        named: the columns of a mapping file that names this file. Then errors quote nothing of a
            file in which no column is known or named.

    Returns:
        The parts of the file, and the field ``curation`` of a release's file.

    Raises:
        CurationError: the file cannot be read, is damaged, or is not of these; the message names
            the file and, if possible, the place.
    """
    refuse_address(path)
    refuse_folder(path)
    head, packing = _head(path)
    refuse(path, head, packed=bool(packing))
    curation: Any = {}
    if head.startswith(PARQUET) and not packing:
        parts = _unnested(path, read_parquet(path))
    elif (document := _document(data := _data(path, packing), path)) is None and (
        text := decoded(data, path)
    ).lstrip()[:1] not in ("{", "["):
        _refuse_unknown(path, _header(text, path), named)
        parts = [_table(path, text)]
    elif document is None and _is_lines(text, path):
        lines = read_json_lines(text, path)
        parts = _unnested(path, Part([Row(f"{path.name} line {n}", row) for n, row in lines]))
    else:
        document = parsed_json(text, path) if document is None else document
        curation = document.get("curation", {}) if isinstance(document, dict) else {}
        parts = list(_parts(document, path, named))
    for part in parts:
        if part.rows and named is not None:
            _refuse_unknown(path, part.columns(), named)
    return parts, curation


def _head(path: Path) -> tuple[bytes, str]:
    """The first bytes of a file, unpacked, and how it is packed."""
    packing = packing_of(path)
    if not packing:
        with open_input(path) as file:
            return file.read(HEAD), ""
    first = b""
    for line in read_lines(path, longest=LONGEST_LINE, packing=packing):
        first += line[:HEAD]
        if len(first) >= HEAD:
            break
    return first[:HEAD], packing


def _data(path: Path, packing: str) -> bytes:
    if not packing:
        return read_bytes(path)
    return b"".join(read_lines(path, longest=LONGEST_LINE, packing=packing))


def _document(data: bytes, path: Path) -> Any:
    """The content of a file that is one JSON object or list; None of any other.

    It is read from bytes: a text with accents takes twice as much memory, and large files have
    hundreds of megabytes. Whatever this cannot read is read as a text, whose errors name the place.
    """
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    one_line = path.suffix.lower() == ".jsonl" and isinstance(document, dict)
    is_item = one_line and "context" in document
    return document if isinstance(document, dict | list) and not is_item else None


def _refuse_unknown(path: Path, columns: Collection[str], named: Collection[str] | None) -> None:
    """Refuse a file that a mapping file names and that is not a table of items.

    A mapping file may come from somebody else, it may name any file of the user, and errors are
    passed on. So before a column is quoted, one must be known, or named in ``[columns]``.

    Raises:
        CurationError: no column is known or ``named``; the message quotes nothing of the file.
    """
    if named is None or resolve(columns) or {*named} & {*map(str.strip, columns)}:
        return
    raise CurationError(
        f"{path}: is not a table of items: no column of it is known",
        "check in the mapping that «files» names the right file, and [columns] its columns",
    )


# --- JSON ---------------------------------------------------------------------------------------


def _is_lines(text: str, path: Path) -> bool:
    """Whether a text is JSONL: its first line is a whole object, and there is another line.

    A file that is called so may also have one line, with one item.
    """
    first, _, rest = text.lstrip().partition("\n")
    several = bool(rest.strip())
    if not first.startswith("{") or not (several or path.suffix.lower() == ".jsonl"):
        return False
    try:
        content = parsed_json(first, path)
    except CurationError:
        return False
    return isinstance(content, dict) and (several or "context" in content)


def _parts(document: Any, path: Path, named: Collection[str] | None) -> Iterator[Part]:
    name = path.name
    if isinstance(document, list):
        yield from _unnested(path, Part(_list(document, f"{name} ", path)))
        return
    if not isinstance(document, dict):
        raise _unknown(path, "it is not a JSON object or list")
    data = document.get("data")
    if isinstance(data, dict) and set(KINDS) & set(data):
        for kind in KINDS:
            rows = _list(data.get(kind, []), f"{name} data.{kind}", path)
            yield Part(rows, kind=kind, whole=True)
    elif isinstance(data, list) and data:
        yield from _unnested(path, Part(_list(data, f"{name} data", path)))
    elif set(KINDS) & set(document) and not _are_scores(document):
        for kind in KINDS:
            yield Part(_list(document.get(kind, []), f"{name} {kind}", path), kind=kind)
    elif is_by_label(document):
        rows = [
            Row(row.where, {**_without(row.values, "label"), "gold_label": label})
            for label, items in document.items()
            for row in _list(items, f"{name} {label}", path)
        ]
        yield Part(rows, by_label=True)
    elif _are_scores(document):
        raise _unknown(
            path,
            "it has predictions, the scores of a model",
            "give it to --predictions, and the file with the items to --gold",
        )
    else:
        refuse_other_sets(path, list(document))
        _refuse_unknown(path, document, named)
        keys = ", ".join(f"«{str(key)[:_LONGEST_NAME]}»" for key in list(document)[:10])
        shown = f"; it has {keys}" if keys else ""
        raise _unknown(path, f"no «data» with «intrasentence» or «intersentence»{shown}")


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _are_scores(document: dict[str, Any]) -> bool:
    lists = [document[kind] for kind in KINDS if kind in document]
    rows = [rows[0] for rows in lists if isinstance(rows, list) and rows]
    return bool(rows) and all(isinstance(row, dict) and "score" in row for row in rows)


def _list(items: Any, where: str, path: Path) -> list[Row]:
    if not isinstance(items, list):
        place = where.removeprefix(f"{path.name} ")
        raise CurationError(f"{path}: {place} is not a list", "see docs/datasets.md")
    return [Row(f"{where}[{n}]", _object(item, f"{where}[{n}]")) for n, item in enumerate(items)]


def _object(item: Any, where: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise CurationError(f"{where}: not an object", "see docs/datasets.md")
    return item


def _unnested(path: Path, part: Part, depth: int = 0) -> list[Part]:
    """The parts of rows that each hold a list of items, or objects of lists, under «data»."""
    first = next((row.values for row in part.rows), {})
    holds = first.get("data")
    by_kind = isinstance(holds, dict) and bool(set(KINDS) & set(holds))
    if depth > _DEEP or "context" in first or not (isinstance(holds, list) or by_kind):
        return [part]
    parts: list[Part] = []
    for where, values in part.rows:
        data = values.get("data")
        lists = data.items() if by_kind and isinstance(data, dict) else [("", data)]
        for key, items in lists:
            kind = next((kind for kind in KINDS if kind == key), None)
            place = f"{where} data.{key}" if key else f"{where} data"
            rows = _list(items, place, path)
            parts += _unnested(path, Part(rows, kind=kind, classes=part.classes), depth + 1)
    return parts


def _unknown(path: Path, problem: str, fix: str = "") -> CurationError:
    return CurationError(
        f"{path}: not a StereoSet file, and not another set of CATs: {problem}",
        fix or "see docs/datasets.md for the layouts; a mapping file describes other sets of CATs",
    )


# --- CSV ----------------------------------------------------------------------------------------


def _header(text: str, path: Path) -> list[str]:
    """The first row with a text; it is empty if it cannot be read."""
    start, _, delimiter = find_header(text, path)
    reader = csv.reader(io.StringIO(text[start:], newline=""), delimiter=delimiter)
    with suppress(csv.Error):
        return next((cells for cells in reader if any(cell.strip() for cell in cells)), [])
    return []


def _table(path: Path, text: str) -> Part:
    """The rows of a CSV file; cells keep their text, and empty cells are left out."""
    columns, lines = read_csv(text, path)
    rows = []
    for number, cells in lines:
        if more := cells.pop("", []):
            raise CurationError(
                f"{path} line {number}: has {len(columns) + len(more)} cells, and the header has "
                f"{len(columns)}",
                "put texts that contain the separator into quotation marks",
            )
        values = {name: cell for name, cell in cells.items() if cell.strip()}
        rows.append(Row(f"{path.name} line {number}", values))
    return Part(rows, header=tuple(columns))

"""What is in a file of CATs: its rows, whatever container they are in."""

import csv
import io
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from curation.catsets.entries import Part, Row
from curation.catsets.headings import is_by_label, resolve
from curation.catsets.other_sets import refuse_other_sets
from curation.catsets.parquet_rows import read_parquet
from curation.catsets.unreadable import refuse, refuse_address, refuse_folder
from curation.file_kinds import HEAD, PARQUET
from curation.files import CurationError, decoded, open_input, parsed_json, read_text
from curation.packed import packing_of, read_lines
from curation.records import KINDS
from curation.text_tables import find_header, read_csv, read_json_lines

LONGEST_LINE = 256 << 20  # bytes of a line of packed JSON, which is often one line
_LONGEST_NAME = 60
_DEEP = 4  # lists of items within rows


def read_parts(
    path: Path, *, pipe: bool = False, named: Collection[str] | None = None
) -> tuple[list[Part], Any]:
    """The rows of a JSON, JSONL, CSV or Parquet file; text may be packed as .gz or .bz2.

    Args:
        path: the file.
        pipe: it may also be a pipe that gives text.
        named: the columns of a mapping file that names this file. Then errors quote nothing of a
            text that is not a table.

    Returns:
        The parts of the file, and the field ``curation`` of a release's file.

    Raises:
        CurationError: the file cannot be read, is damaged, or is not of these; the message names
            the file and, if possible, the place.
    """
    refuse_address(path)
    refuse_folder(path)
    # What is read from a pipe once cannot be read again: it must be text.
    head, packing = (b"", "") if pipe and path.is_fifo() else _head(path)
    refuse(path, head, packed=bool(packing))
    if head.startswith(PARQUET) and not packing:
        return _unnested(read_parquet(path)), {}
    text = _text(path, packing, pipe=pipe)
    if text.lstrip()[:1] not in ("{", "["):
        if named is not None:
            _refuse_no_table(path, text, named)
        return [_table(path, text)], {}
    if _is_lines(text, path):
        lines = read_json_lines(text, path)
        return _unnested(Part([Row(f"{path.name} line {n}", row) for n, row in lines])), {}
    document = parsed_json(text, path)
    curation = document.get("curation", {}) if isinstance(document, dict) else {}
    return list(_parts(document, path)), curation


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


def _text(path: Path, packing: str, *, pipe: bool) -> str:
    if not packing:
        return read_text(path, pipe=pipe)
    return decoded(b"".join(read_lines(path, longest=LONGEST_LINE, packing=packing)), path)


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


def _parts(document: Any, path: Path) -> Iterator[Part]:
    name = path.name
    if isinstance(document, list):
        rows = [
            Row(f"{name} [{n}]", _object(row, f"{name} [{n}]")) for n, row in enumerate(document)
        ]
        yield from _unnested(Part(rows))
        return
    if not isinstance(document, dict):
        raise _unknown(path, "it is not a JSON object or list")
    data = document.get("data")
    if isinstance(data, dict) and set(KINDS) & set(data):
        for kind in KINDS:
            rows = _list(data.get(kind, []), f"{name} data.{kind}", path)
            yield Part(rows, kind=kind, whole=True)
    elif isinstance(data, list) and data:
        yield from _unnested(Part(_list(data, f"{name} data", path)))
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
        refuse_other_sets(path, [str(key) for key in document])
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


def _unnested(part: Part, depth: int = 0) -> list[Part]:
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
            if not isinstance(items, list):
                raise CurationError(f"{place}: is not a list", "see docs/datasets.md")
            rows = [
                Row(f"{place}[{n}]", _object(item, f"{place}[{n}]")) for n, item in enumerate(items)
            ]
            parts += _unnested(Part(rows, kind=kind, classes=part.classes), depth + 1)
    return parts


def _unknown(path: Path, problem: str, fix: str = "") -> CurationError:
    return CurationError(
        f"{path}: not a StereoSet file, and not another set of CATs: {problem}",
        fix or "see docs/datasets.md for the layouts; a mapping file describes other sets of CATs",
    )


# --- CSV ----------------------------------------------------------------------------------------


def _refuse_no_table(path: Path, text: str, named: Collection[str]) -> None:
    """Refuse a text that is not a table of items: it may be any file of the user.

    A mapping file may come from somebody else, and errors are passed on. So before a column is
    quoted, one must be known, or all rows must have as many cells as the header, and several.

    Raises:
        CurationError: it is not a table; the message quotes nothing of it.
    """
    header = find_header(text, path)
    reader = csv.reader(io.StringIO(text[header.start :], newline=""), delimiter=header.delimiter)
    try:
        first, *rows = [cells for cells in reader if any(cell.strip() for cell in cells)] or [[]]
    except csv.Error:
        return  # the error of reading the table quotes nothing
    full = bool(rows) and len(first) > 1 and all(len(cells) == len(first) for cells in rows)
    if not full and not resolve(first) and not {*named} & {*map(str.strip, first)}:
        raise CurationError(
            f"{path}: is not a table of items: no column of it is known",
            "check in the mapping that «files» names the right file, and [columns] its columns",
        )


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

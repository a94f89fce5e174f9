"""What is in a file of CATs: its rows, whatever container they are in."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from curation.catsets.entries import Part, Row
from curation.catsets.headings import is_by_label
from curation.catsets.other_sets import refuse_other_sets
from curation.catsets.parquet_rows import read_parquet
from curation.catsets.unreadable import refuse, refuse_folder
from curation.file_kinds import HEAD, PARQUET
from curation.files import CurationError, read_bytes, read_json, read_text
from curation.packed import packing_of, read_lines
from curation.records import KINDS

DELIMITERS = ",;\t|"
MOST_COLUMNS = 2000
LONGEST_LINE = 256 << 20  # bytes of a line of packed JSON, which is often one line
_LONGEST_NAME = 60
_DEEP = 4  # lists of items within rows


def read_parts(path: Path) -> tuple[list[Part], Any]:
    """The rows of a JSON, JSONL, CSV or Parquet file; text may be packed as .gz or .bz2.

    Returns:
        The parts of the file, and the field ``curation`` of a release's file.

    Raises:
        CurationError: the file cannot be read, is damaged, or is not of these; the message names
            the file and, if possible, the place.
    """
    refuse_folder(path)
    head, packing = _head(path)
    refuse(path, head, packed=bool(packing))
    if head.startswith(PARQUET) and not packing:
        return _unnested(read_parquet(path)), {}
    text = _text(path, packing)
    if text.lstrip()[:1] not in ("{", "["):
        return [_table(path, text)], {}
    if _is_lines(text):
        return _unnested(Part(list(_json_lines(path, text)))), {}
    document = _packed_json(path, text) if packing else read_json(path)
    curation = document.get("curation", {}) if isinstance(document, dict) else {}
    return list(_parts(document, path)), curation


def _head(path: Path) -> tuple[bytes, str]:
    """The first bytes of a file, unpacked, and how it is packed."""
    try:
        packing = packing_of(path)
        if not packing:
            with path.open("rb") as file:
                return file.read(HEAD), ""
    except (OSError, ValueError):
        read_bytes(path)  # raises a CurationError that explains the problem
        raise
    first = b""
    for line in read_lines(path, longest=LONGEST_LINE, packing=packing):
        first += line[:HEAD]
        if len(first) >= HEAD:
            break
    return first[:HEAD], packing


def _text(path: Path, packing: str) -> str:
    if not packing:
        return read_text(path)
    data = b"".join(read_lines(path, longest=LONGEST_LINE, packing=packing))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CurationError(
            f"{path} line {line}: byte 0x{data[error.start]:02x} is not UTF-8",
            "unpack the file, and convert it with iconv",
        ) from None
    if not text.strip():
        raise CurationError(f"{path}: is empty", "it may have been cut off; fetch it again")
    return text


# --- JSON ---------------------------------------------------------------------------------------


def _is_lines(text: str) -> bool:
    """Whether a text is JSONL: its first line is a whole object, and there is another line."""
    first, _, rest = text.lstrip().partition("\n")
    if not rest.strip() or not first.startswith("{"):
        return False
    try:
        return isinstance(orjson.loads(first), dict)
    except orjson.JSONDecodeError:
        return False


def _json_lines(path: Path, text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{path.name} line {number}"
            yield Row(where, _object(_line(line, f"{path} line {number}"), where))


def _line(line: str, where: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise CurationError(
            f"{where} column {error.colno}: not JSON ({error.msg})",
            "each line must be one complete JSON object; the file may have been cut off",
        ) from None


def _packed_json(path: Path, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise CurationError(
            f"{path} line {error.lineno} column {error.colno}: not JSON ({error.msg})",
            "unpack the file and correct it at this position, or fetch it again",
        ) from None


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
        raise CurationError(f"{path}: {place} is not a list", "see docs/formats.md")
    return [Row(f"{where}[{n}]", _object(item, f"{where}[{n}]")) for n, item in enumerate(items)]


def _object(item: Any, where: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise CurationError(f"{where}: not an object", "see docs/formats.md")
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
                raise CurationError(f"{place}: is not a list", "see docs/formats.md")
            rows = [
                Row(f"{place}[{n}]", _object(item, f"{place}[{n}]")) for n, item in enumerate(items)
            ]
            parts += _unnested(Part(rows, kind=kind, classes=part.classes), depth + 1)
    return parts


def _unknown(path: Path, problem: str, fix: str = "") -> CurationError:
    return CurationError(
        f"{path}: not a StereoSet file, and not another set of CATs: {problem}",
        fix or "see docs/formats.md for the layouts; a mapping file describes others",
    )


# --- CSV ----------------------------------------------------------------------------------------


def _table(path: Path, text: str) -> Part:
    """The rows of a CSV file; cells keep their text, and empty cells are left out."""
    lines = (line for line in text.splitlines() if line.strip())
    first_line = next((line for line in lines if line[:4].lower() != "sep="), "")
    delimiter = max(DELIMITERS, key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    began, columns, rows = 0, None, []
    try:
        for cells in reader:
            first, began = began + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if columns is None and cells[0][:4].lower() == "sep=":
                continue
            if columns is None:
                columns = _header(path, first, cells)
                continue
            if any(cell.strip() for cell in cells[len(columns) :]):
                raise CurationError(
                    f"{path} line {first}: has {len(cells)} cells, and the header has "
                    f"{len(columns)}",
                    "put texts that contain the separator into quotation marks",
                )
            filled = zip(columns, cells, strict=False)
            values = {name: cell for name, cell in filled if cell.strip()}
            rows.append(Row(f"{path.name} line {first}", values))
    except csv.Error as error:
        fix = (
            f"a cell may have {csv.field_size_limit():,} characters: check for an open quotation "
            "mark"
            if "limit" in str(error)
            else "a quotation mark is open or doubled; export the table again as CSV"
        )
        raise CurationError(f"{path} line {began + 1}: {error}", fix) from None
    return Part(rows, header=tuple(columns or ()))


def _header(path: Path, line: int, cells: list[str]) -> list[str]:
    columns = [cell.strip() for cell in cells]
    if len(columns) > MOST_COLUMNS:
        raise CurationError(
            f"{path} line {line}: it has {len(columns):,} columns, and {MOST_COLUMNS:,} are the "
            "most",
            "check that this is the right file",
        )
    twice = [name for name, times in Counter(columns).items() if name and times > 1]
    if twice:
        raise CurationError(
            f"{path} line {line}: the column {twice[0][:_LONGEST_NAME]!r} is there twice",
            "rename one of them",
        )
    return columns

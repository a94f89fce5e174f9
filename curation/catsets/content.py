"""What is in a file of CATs: its rows, whatever container they are in."""

import csv
import io
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from curation.catsets.entries import Part, Row, is_by_label, plain, resolve
from curation.files import CurationError, decode_text, parsed_json
from curation.formats.packed import PARQUET, PARQUET_FILE, PICKLE, kind_of, read_head, read_unpacked
from curation.formats.parquet import read_parquet
from curation.formats.tables import find_header, read_csv, read_json_lines
from curation.formats.toml_files import shipped_table
from curation.kinds import CAT_KINDS, KINDS
from curation.records import Fields
from curation.text.wording import some

_PICKLES = (".pkl", ".pickle", ".p", ".joblib")

_TABLE = "export the items as JSON, CSV or Parquet"


def refuse(path: Path, head: bytes, *, packed: bool = False) -> None:
    """Refuse a file that is of a known kind and cannot be read.

    Args:
        path: the file.
        head: its first bytes, after unpacking.
        packed: whether the file is compressed.

    Raises:
        CurationError: the file is of such a kind; the fix says what to do.
    """
    kind = kind_of(path, head, packed=packed)
    if kind == PARQUET_FILE:
        kind = "a compressed Parquet file" if packed else ""
    elif not kind and _is_old_pickle(path, head):
        kind = PICKLE
    elif not kind and path.suffix == ".py":
        kind = "a Python program, perhaps a loader of a Hugging Face dataset"
    if kind:
        name = _in_a_command(path)
        raise CurationError(
            f"{path}: is {kind}; this is not a file of items that can be read",
            _fix(kind).replace("{name}", name).replace("{stem}", name.split(".")[0]),
        )


def _fix(kind: str) -> str:
    """What to do with a file of this kind."""
    fixes = shipped_table("catsets", "fixes.toml")["fix"]
    return next((str(fix["text"]) for fix in fixes if kind in fix["kinds"]), _TABLE)


def _in_a_command(path: Path) -> str:
    """The name of a file for a command to copy; a placeholder if a shell could misread it."""
    return path.name if re.fullmatch(r"\w[\w. +-]*", path.name) else "FILE"


def _is_old_pickle(path: Path, head: bytes) -> bool:
    """Whether a file is a pickle as Python 2 wrote them, which only its name tells."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".bz2")
    return name.endswith(_PICKLES) and head[:1] not in b"{[" and head != b""


def refuse_address(path: Path) -> None:
    """Refuse a web address, of which ``Path`` has made one slash of two.

    Raises:
        CurationError: the path is a web address.
    """
    if path.parts[:1] in (("http:",), ("https:",), ("hf:",)) and not path.exists():
        address = str(path).replace(":/", "://", 1)
        raise CurationError(
            f"{address}: is a web address, not a file", "download the file, and name the copy"
        )


def refuse_folder(path: Path) -> None:
    """Refuse a folder, and say which file in it to name.

    Raises:
        CurationError: the path is a folder.
    """
    if not path.is_dir():
        return
    try:
        names = sorted(file.name for file in path.iterdir())
    except OSError:
        names = []
    name = _in_a_command(path)
    if "dataset_info.json" in names or "dataset_dict.json" in names:
        raise CurationError(
            f"{path}: is a folder of Hugging Face datasets (save_to_disk), not a file",
            'convert it: python -c "from datasets import load_from_disk; '
            f"load_from_disk('{name}').to_parquet('{name}.parquet')\"",
        )
    data = [name for name in names if name.endswith((".parquet", ".jsonl", ".json", ".csv"))]
    shown = f", such as {data[0]}" if data else ""
    raise CurationError(f"{path}: is a folder, not a file", f"name a file in it{shown}")


_MOST_LISTED = 25  # columns in a message
PAIRS = (
    "write both sentences of a pair into one row, without a context, in columns such as stereotype "
    "and anti_stereotype; see «Pairs» in docs/datasets.md"
)


def refuse_other_sets(path: Path, columns: Collection[str], *, always_only: bool = False) -> None:
    """Refuse a file whose columns are those of another known kind of data.

    ``always_only`` asks only for the kinds that no mapping file makes CATs.

    Raises:
        CurationError: the file is not a set of CATs.
    """
    names = set(map(plain, columns))
    for other in shipped_table("catsets", "other_sets.toml")["set"]:
        if always_only and "always" not in other:
            continue
        if names.issuperset(map(plain, other["columns"])):
            raise CurationError(
                f"{path}: not a StereoSet file, and not another set of CATs: it has "
                f"{other['kind']}",
                other["fix"].replace("{pairs}", PAIRS),
            )


def unknown_columns(path: Path, columns: Collection[str]) -> CurationError:
    """The error of a file whose columns are of no known layout."""
    return CurationError(
        f"{path}: not a StereoSet file, and not another set of CATs: its columns are "
        f"{list_columns(columns)}",
        "if it has an unrelated sentence for each context, or pairs of sentences, describe it in a "
        "mapping file; see docs/datasets.md. If it has neither, use the tool of that benchmark",
    )


def list_columns(columns: Collection[str]) -> str:
    """Columns for a message; if there are very many, only the first."""
    return some((f"«{str(name)[:60]}»" for name in columns), _MOST_LISTED) or "none"


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
    head, packing = read_head(path)
    refuse(path, head, packed=bool(packing))
    curation: Any = {}
    if head.startswith(PARQUET):  # a packed one is refused
        rows, classes = read_parquet(path)
        numbered = [Row(f"{path.name} row {n}", row) for n, row in enumerate(rows, 1)]
        parts = _unnested(path, Part(numbered, classes=classes))
    else:
        parts, curation = _of_text(path, read_unpacked(path, packing), named)
    for part in parts:
        if part.rows and named is not None:
            _refuse_unknown(path, part.columns(), named)
    return parts, curation


def _of_text(path: Path, data: bytes, named: Collection[str] | None) -> tuple[list[Part], Any]:
    """The parts of a JSON, JSONL or CSV file, and the field ``curation`` of a release's file."""
    document = _document(data, path)
    if document is None:
        text = decode_text(data, path)
        if text.lstrip()[:1] not in ("{", "["):
            _refuse_unknown(path, _header(text, path), named)
            return [_table(path, text)], {}
        if _is_lines(text, path):
            lines = read_json_lines(text, path)
            rows = [Row(f"{path.name} line {n}", row) for n, row in lines]
            return _unnested(path, Part(rows)), {}
        document = parsed_json(text, path)
    curation = document.get("curation", {}) if isinstance(document, dict) else {}
    return list(_parts(document, path, named)), curation


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
    elif set(CAT_KINDS) & set(document) and not _are_scores(document):
        for kind in CAT_KINDS:
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
        kinds = " or ".join(f"«{kind}»" for kind in CAT_KINDS)
        raise _unknown(path, f"no «data» with {kinds}{shown}")


def _without(values: Fields, name: str) -> Fields:
    return {key: value for key, value in values.items() if key != name}


def _are_scores(document: Fields) -> bool:
    lists = [document[kind] for kind in KINDS if kind in document]
    rows = [rows[0] for rows in lists if isinstance(rows, list) and rows]
    return bool(rows) and all(isinstance(row, dict) and "score" in row for row in rows)


def _list(items: Any, where: str, path: Path) -> list[Row]:
    if not isinstance(items, list):
        place = where.removeprefix(f"{path.name} ")
        raise CurationError(f"{path}: {place} is not a list", "see docs/datasets.md")
    return [Row(f"{where}[{n}]", _object(item, f"{where}[{n}]")) for n, item in enumerate(items)]


def _object(item: Any, where: str) -> Fields:
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

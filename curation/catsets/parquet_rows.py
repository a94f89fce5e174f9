"""The rows of a Parquet file as plain values, and the names of its integer labels."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar

from curation.catsets.entries import Part, Row
from curation.files import CurationError, open_input
from curation.packed import FREE, RATIO, too_packed
from curation.parquet import is_text, unpacked

ROWS = 256  # rows to turn into plain values at once
MOST = 2_000_000  # rows of a file at most
VALUE = 8  # bytes that a value takes at least, also an empty one
_DEEP = 20  # features within features

T = TypeVar("T")


def read_parquet(path: Path) -> Part:
    """The rows of a Parquet file, numbered from 1.

    Raises:
        CurationError: pyarrow is missing, or the file is cut off or damaged, or unpacks to far
            more than texts would.
    """
    classes: dict[str, list[str]] = {}
    rows = enumerate(each_row(path, classes), 1)
    return Part([Row(f"{path.name} row {n}", values) for n, values in rows], classes=classes)


def each_row(path: Path, classes: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    """As ``read_parquet``, one row after the other; ``classes`` gets those of the part."""
    return _each(path, classes, lambda batch: batch.to_pylist())


def each_columns(path: Path) -> Iterator[tuple[int, dict[str, list[Any]]]]:
    """As ``read_parquet``, some rows at once: their number, and the values of each column."""
    return _each(path, {}, lambda batch: [(batch.num_rows, batch.to_pydict())], rows=4096)


def _each(
    path: Path,
    classes: dict[str, list[str]],
    values: Callable[[Any], Iterable[T]],
    *,
    rows: int = ROWS,
) -> Iterator[T]:
    try:
        import pyarrow as arrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise CurationError(
            f"{path}: reading Parquet needs pyarrow, which is not installed",
            "pip install 'curation[parquet]'",
        ) from None
    try:
        with open_input(path) as source:
            _refuse_cut(path, source)
            file = ParquetFile(source)
            classes.update(_classes(file.schema_arrow.metadata or {}))
            if file.metadata.num_rows > MOST:
                raise CurationError(
                    f"{path}: has {file.metadata.num_rows:,} rows, and {MOST:,} are the most",
                    "check that this is the right file",
                )
            _refuse_large(path, source, file.metadata)
            for batch in file.iter_batches(rows):
                yield from values(batch)
    except (arrow.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise CurationError(
            f"{path}: cannot be read as Parquet: {_one_line(error)}", "fetch the file again"
        ) from None


def _refuse_large(path: Path, source: BufferedReader, about: Any) -> None:
    """Refuse a file that unpacks to far more than texts would, before its texts are repeated.

    Raises:
        CurationError: it does.
    """
    from pyarrow.parquet import ParquetFile

    most, size = FREE + RATIO * path.stat().st_size, 0
    kinds = [about.schema.column(index) for index in range(about.num_columns)]
    for group in map(about.row_group, range(about.num_row_groups)):
        for index, kind in enumerate(kinds):
            column = group.column(index)
            size += unpacked(kind, column) + VALUE * column.num_values
    if size > most:
        raise too_packed(path, size)
    # A dictionary may hold a long text that every row repeats: so dictionaries are not written out.
    file = ParquetFile(source, read_dictionary=[kind.path for kind in kinds if is_text(kind)])
    size = 0
    for number in range(about.num_row_groups):
        columns = file.read_row_group(number).columns
        size += sum(_size(part) for column in columns for part in column.chunks)
        if size > most:
            raise too_packed(path, size)


def _size(array: Any) -> int:
    """The bytes of an array whose dictionaries are written out."""
    import pyarrow as arrow
    from pyarrow import compute

    if arrow.types.is_dictionary(array.type):
        lengths = compute.binary_length(array.dictionary)
        return int(array.indices.nbytes + (compute.sum(lengths.take(array.indices)).as_py() or 0))
    if arrow.types.is_map(array.type):
        return _size(array.keys) + _size(array.items)
    if arrow.types.is_nested(array.type):
        parts = array.flatten()
        return sum(map(_size, parts if isinstance(parts, list) else [parts]))
    return int(array.nbytes)


def _one_line(error: Exception) -> str:
    """A message of pyarrow, which may have line breaks and bytes of the damaged file."""
    return "".join(c for c in " ".join(str(error).split()) if c.isprintable())[:300].strip()


def _refuse_cut(path: Path, source: BufferedReader) -> None:
    size = source.seek(0, os.SEEK_END)
    source.seek(max(0, size - 4))
    if source.read() != b"PAR1" or size < 12:
        raise CurationError(
            f"{path}: cannot be read as Parquet: the file ends in the middle",
            "it was probably cut off: fetch it again",
        )


def _classes(metadata: dict[bytes, bytes]) -> dict[str, list[str]]:
    """The names of integer labels that Hugging Face writes into a schema, by column."""
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    names: dict[str, list[str]] = {}
    _collect(features, "", names, 0)
    return names


def _collect(feature: Any, column: str, names: dict[str, list[str]], depth: int) -> None:
    if isinstance(feature, list):
        feature = {"feature": feature[0]} if feature else {}
    if not isinstance(feature, dict) or depth > _DEEP:
        return
    given = feature.get("names")
    if feature.get("_type") == "ClassLabel" and isinstance(given, list):
        names.setdefault(column, [str(name) for name in given])
        return
    for key, inner in feature.items():
        _collect(inner, column if key == "feature" else key, names, depth + 1)

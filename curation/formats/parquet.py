"""The rows and texts of a Parquet file, with bounds on what is unpacked at once."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar

from curation.files import CurationError, open_input
from curation.formats.packed import FREE, LONGEST, RATIO, too_packed

ROWS = 1 << 12  # rows to read at once at most
AT_ONCE = 64 << 20  # bytes of texts to read at once, as far as the file tells their size


def check_installed() -> None:
    """Check that Parquet can be written.

    Raises:
        CurationError: pyarrow is not installed.
    """
    try:
        there = find_spec("pyarrow") is not None
    except ValueError:  # its import is blocked
        there = False
    if not there:
        raise CurationError(
            "a release has Parquet files, which need pyarrow, and it is not installed",
            "pip install 'curation[parquet]'",
        )


def unpacked_size(kind: Any, column: Any) -> int:
    """How many bytes a column of a row group unpacks to, as far as the file tells it.

    A text that a dictionary holds counts once, however often it occurs.

    Args:
        kind: the column in the schema of the file.
        column: the column in the metadata of the row group.
    """
    size, values = int(column.total_uncompressed_size), int(column.num_values)
    if kind.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return max(size, values * int(kind.length))
    if kind.physical_type == "BYTE_ARRAY" and (
        not is_text(kind) or "DELTA_BYTE_ARRAY" in column.encodings  # each repeats the one before
    ):
        return values * size
    return size


def is_text(kind: Any) -> bool:
    """Whether a column can be read as a dictionary of texts or bytes."""
    return kind.physical_type == "BYTE_ARRAY" and kind.logical_type.type in ("STRING", "NONE")


def _pyarrow(name: Path | str) -> Any:
    """The package pyarrow, with ``parquet``; ``name`` is that of the file, for the error."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise CurationError(
            f"{name}: reading Parquet needs pyarrow, which is not installed",
            "pip install 'curation[parquet]'",
        ) from None
    return pyarrow


def _group(file: Any, number: int) -> Any:
    """What a file tells of a row group and its columns.

    pyarrow ends the process if the description of a column is damaged and asked for, but raises
    an error if rows are read by it. So rows are read first, of which there are none.

    Args:
        file: a ``ParquetFile``.
        number: the row group.
    """
    list(file.reader.iter_batches(0, row_groups=[number]))
    return file.metadata.row_group(number)


class TextColumns(AbstractContextManager["TextColumns"]):
    """An open Parquet file with columns of text; close it, or use it in a ``with`` statement.

    Attributes:
        groups: the number of row groups.
        types: the type of each column of the file, by name.
    """

    def __init__(self, path: Path | str, field: str, *, name: str = "") -> None:
        """Open a file, whose texts are in a column.

        Args:
            path: the file.
            field: the column.
            name: the file's name in messages; by default the path.

        Raises:
            CurationError: pyarrow is missing, the file is missing or damaged, or the column does
                not exist or is not text.
        """
        self.name = name or str(path)
        self._arrow = arrow = _pyarrow(self.name)
        self._damage = (arrow.ArrowException, OSError, UnicodeError)
        self._open = open_input(Path(path))
        try:
            schema = arrow.parquet.ParquetFile(self._open).schema_arrow
            self.types = {
                column: kind.value_type if arrow.types.is_dictionary(kind) else kind
                for column, kind in zip(schema.names, schema.types, strict=True)
            }
            # Each value is unpacked once, however often it occurs.
            texts = [column for column, kind in self.types.items() if self._is_text(kind)]
            self._file = arrow.parquet.ParquetFile(self._open, read_dictionary=texts)
        except self._damage as error:
            self._open.close()
            raise _damaged(self.name, error) from None
        self.groups = int(self._file.num_row_groups)
        if not self.has(field):
            self._open.close()
            columns = ", ".join(self.types)
            problem = (
                f"is {self.types[field]}, not text" if field in self.types else "does not exist"
            )
            raise CurationError(
                f"{self.name}: the column {field!r} {problem}",
                f"name the column of the text with --field; the columns are {columns}",
            )

    def has(self, column: str) -> bool:
        """Whether the file has a column of this name that is text."""
        return column in self.types and self._is_text(self.types[column])

    def _is_text(self, kind: Any) -> bool:
        return kind in {self._arrow.string(), self._arrow.large_string(), self._arrow.string_view()}

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def rows(
        self, columns: Sequence[str], groups: Sequence[int] | None = None
    ) -> Iterator[tuple[str | None, ...]]:
        """The texts of each row; None for a missing one.

        Args:
            columns: columns of text.
            groups: the row groups to read; by default all.

        Raises:
            CurationError: the file is damaged, a text is too long, or far more is unpacked than
                texts would give.
        """
        number = 0
        for group in range(self.groups) if groups is None else groups:
            try:
                batches = self._file.iter_batches(
                    self._at_once(group, columns), row_groups=[group], columns=list(columns)
                )
                for batch in batches:
                    for row in zip(*(self._texts(batch.column(c)) for c in columns), strict=True):
                        number += 1
                        if max(len(text or "") for text in row) > LONGEST:
                            raise CurationError(
                                f"{self.name} row {number}: a text has over {LONGEST >> 20} MiB",
                                "check that the column contains texts, and split long ones",
                            )
                        yield row
            except self._damage as error:
                raise _damaged(self.name, error) from None

    def _at_once(self, group: int, columns: Sequence[str]) -> int:
        """How many rows of a row group to read at once."""
        about, schema = _group(self._file, group), self._file.schema
        packed = size = most = 0
        for index in range(about.num_columns):
            column = about.column(index)
            if column.path_in_schema in columns:
                packed += column.total_compressed_size
                size += column.total_uncompressed_size
                most += unpacked_size(schema.column(index), column)
        if size > FREE + RATIO * packed:
            raise too_packed(self.name, size)
        return max(1, min(ROWS, AT_ONCE * int(about.num_rows) // max(most, 1)))

    def _texts(self, column: Any) -> Iterator[str | None]:
        if not hasattr(column, "dictionary"):
            return iter(column.cast(self._arrow.string()).to_pylist())
        column.validate(full=True)  # indices of a damaged file may be of no text
        texts = column.dictionary.cast(self._arrow.string()).to_pylist()
        return (None if index is None else texts[index] for index in column.indices.to_pylist())


ROWS_AT_ONCE = 256  # rows to turn into plain values at once
MOST = 2_000_000  # rows of a file at most
VALUE = 8  # bytes that a value takes at least, also an empty one
_DEEP = 20  # features within features

T = TypeVar("T")


def read_parquet(path: Path) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """The rows of a Parquet file, and the names of its integer labels by column.

    Raises:
        CurationError: pyarrow is missing, or the file is cut off or damaged, or unpacks to far
            more than texts would.
    """
    classes: dict[str, list[str]] = {}
    return list(_each(path, classes, lambda batch: batch.to_pylist())), classes


def each_columns(path: Path) -> Iterator[tuple[int, dict[str, list[Any]]]]:
    """As ``read_parquet``, some rows at once: their number, and the values of each column."""
    return _each(path, {}, lambda batch: [(batch.num_rows, batch.to_pydict())], rows=4096)


def _each(
    path: Path,
    classes: dict[str, list[str]],
    values: Callable[[Any], Iterable[T]],
    *,
    rows: int = ROWS_AT_ONCE,
) -> Iterator[T]:
    arrow = _pyarrow(path)
    try:
        with open_input(path) as source:
            _refuse_cut(path, source)
            file = arrow.parquet.ParquetFile(source)
            classes.update(_classes(file.schema_arrow.metadata or {}))
            if file.metadata.num_rows > MOST:
                raise CurationError(
                    f"{path}: has {file.metadata.num_rows:,} rows, and {MOST:,} are the most",
                    "check that this is the right file",
                )
            _refuse_large(path, source, file)
            for batch in file.iter_batches(rows):
                yield from values(batch)
    except (arrow.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise _damaged(path, error) from None


def _refuse_large(path: Path, source: BufferedReader, first: Any) -> None:
    """Refuse a file that unpacks to far more than texts would, before its texts are repeated.

    Raises:
        CurationError: it does.
    """
    from pyarrow.parquet import ParquetFile

    most, size, about = FREE + RATIO * path.stat().st_size, 0, first.metadata
    kinds = [about.schema.column(index) for index in range(about.num_columns)]
    for number in range(about.num_row_groups):
        group = _group(first, number)
        for index, kind in enumerate(kinds):
            column = group.column(index)
            size += unpacked_size(kind, column) + VALUE * column.num_values
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


def _damaged(name: Path | str, error: Exception) -> CurationError:
    # A message of pyarrow may have line breaks and bytes of the damaged file.
    says = "".join(c for c in " ".join(str(error).split()) if c.isprintable())[:300].strip()
    return CurationError(f"{name}: cannot be read as Parquet: {says}", "fetch the file again")


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

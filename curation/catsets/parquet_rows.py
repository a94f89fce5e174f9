"""The rows of a Parquet file as plain values, and the names of its integer labels."""

import json
from pathlib import Path
from typing import Any

from curation.catsets.entries import Part, Row
from curation.files import CurationError, read_bytes
from curation.packed import FREE, RATIO, too_packed

ROWS = 256  # rows to turn into plain values at once
MOST = 2_000_000  # rows of a file at most
_DEEP = 20  # features within features


def read_parquet(path: Path) -> Part:
    """The rows of a Parquet file, numbered from 1.

    Raises:
        CurationError: pyarrow is missing, or the file is cut off or damaged, or unpacks to far
            more than texts would.
    """
    try:
        import pyarrow as arrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise CurationError(
            f"{path}: reading Parquet needs pyarrow, which is not installed",
            "pip install 'curation[parquet]'",
        ) from None
    _refuse_cut(path)
    rows: list[Row] = []
    most = FREE + RATIO * path.stat().st_size
    try:
        with ParquetFile(path) as file:
            classes = _classes(file.schema_arrow.metadata or {})
            if file.metadata.num_rows > MOST:
                raise CurationError(
                    f"{path}: has {file.metadata.num_rows:,} rows, and {MOST:,} are the most",
                    "check that this is the right file",
                )
            size = 0
            for batch in file.iter_batches(ROWS):
                size += batch.nbytes
                if size > most:
                    raise too_packed(path, size)
                for values in batch.to_pylist():
                    rows.append(Row(f"{path.name} row {len(rows) + 1}", values))
    except (arrow.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise CurationError(
            f"{path}: cannot be read as Parquet: {_one_line(error)}", "fetch the file again"
        ) from None
    return Part(rows, classes=classes)


def _one_line(error: Exception) -> str:
    """A message of pyarrow, which may have line breaks and bytes of the damaged file."""
    return "".join(c for c in " ".join(str(error).split()) if c.isprintable())[:300].strip()


def _refuse_cut(path: Path) -> None:
    try:
        with path.open("rb") as file:
            file.seek(-min(4, path.stat().st_size), 2)
            end = file.read()
    except OSError:
        read_bytes(path)  # raises a CurationError that explains the problem
        raise
    if end != b"PAR1" or path.stat().st_size < 12:
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

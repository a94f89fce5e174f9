"""Files of a corpus, cut into shards and read as blocks of text.

A shard is a range of bytes of a plain file, every nth block of a packed one, or row groups of a
Parquet file: so several workers share a large file, whatever its form.
"""

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from isal import igzip, isal_zlib

from curation.files import CurationError, read_bytes
from curation.words import UNSPACED, base

BLOCK = 1 << 21  # bytes read at once: more fall out of the processor's cache
LARGEST = 256 << 20  # bytes of a shard: a bar should move, and a worker may be late
LEAST = 4 << 20  # bytes that are worth a worker
LONGEST = 64 << 20  # bytes that may stand without a place to cut
FORMS = ".txt, .jsonl (either also .gz) or .parquet"
_SPACE = b" \t\r\x0b\x0c"
_BOM = b"\xef\xbb\xbf"  # some programs begin UTF-8 with it
_FETCH = "it may have been cut off; fetch it again"


@dataclass(frozen=True)
class Shard:
    """A part of a corpus that one worker counts.

    Attributes:
        file: the number of the file among those given.
        name: what the user calls the file.
        path: the whole path, so that workers elsewhere find it.
        form: «txt», «jsonl» or «parquet».
        packed: by gzip.
        field: of JSON or Parquet, where the text stands.
        language: of the texts.
        size: in bytes of the file, for progress.
        start: of a plain file, the first byte.
        end: of a plain file, the byte after the last.
        part: of a packed file the first block that is read, and of Parquet the first row group.
        parts: every so many blocks or row groups one is read.
        last: whether the end of the file is this one's.
    """

    file: int
    name: str
    path: str
    form: str
    packed: bool
    field: str
    language: str
    size: int
    start: int = 0
    end: int = 0
    part: int = 0
    parts: int = 1
    last: bool = True


# --- cutting ------------------------------------------------------------------------------------


def shards(paths: Sequence[Path], *, language: str, field: str, workers: int) -> list[Shard]:
    """Cut files so that all workers have something to do.

    Raises:
        CurationError: a file is of no known form, empty, missing or given twice.
    """
    sizes = [_size(path) for path in paths]
    for place, path in enumerate(paths):
        if any(path.samefile(other) for other in paths[:place]):
            raise CurationError(f"{path}: is given twice", "name each file once")
    share = min(max(-(-sum(sizes) // workers), LEAST), LARGEST)
    found: list[Shard] = []
    for number, (path, size) in enumerate(zip(paths, sizes, strict=True)):
        name = path.name.lower()
        packed, form = name.endswith(".gz"), name.removesuffix(".gz").rpartition(".")[2]
        if form not in {"txt", "jsonl", "parquet"} or (packed and form == "parquet"):
            raise CurationError(
                f"{path}: neither text, JSON lines nor Parquet by its name", f"name it {FORMS}"
            )
        whole = Shard(
            number, str(path), str(path.resolve()), form, packed, field, language, size, end=size
        )
        found += _ranges(whole, share) if form != "parquet" and not packed else _turns(whole, share)
    return found


def _size(path: Path) -> int:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
    except OSError:
        read_bytes(path)  # says it better
        raise
    if not size:
        raise CurationError(f"{path}: is empty", _FETCH)
    return size


def _ranges(whole: Shard, share: int) -> Iterator[Shard]:
    """Ranges of bytes, cut at the ends of lines, or where lines are very long at a space."""
    at = 0
    with Path(whole.path).open("rb") as file:
        while at < whole.size:
            end = _next_cut(file, at + share, whole) if at + share < whole.size else whole.size
            yield _with(whole, start=at, end=end, size=end - at, last=end == whole.size)
            at = end


def _next_cut(file: Any, at: int, whole: Shard) -> int:
    file.seek(at - 1)
    text = b""
    while more := file.read(BLOCK):
        text += more
        cut = text.find(b"\n") + 1
        if not cut and _by_spaces(whole):
            cut = min(text.find(space) + 1 or len(text) + 1 for space in _bytes(_SPACE))
        if 0 < cut <= len(text):
            return int(at - 1 + cut)
        _check_length(text, whole)
    return whole.size


def _turns(whole: Shard, share: int) -> Iterator[Shard]:
    """Packed text is unpacked by each worker, which is cheap, and counted by them in turn."""
    groups = _row_groups(whole) if whole.form == "parquet" else 4
    parts = max(min(-(-whole.size // share), groups), 1)
    for part in range(parts):
        size = whole.size * (part + 1) // parts - whole.size * part // parts
        yield _with(whole, part=part, parts=parts, size=size, last=not part)


def _with(shard: Shard, **changes: int) -> Shard:
    return Shard(**(vars(shard) | changes))


def _by_spaces(shard: Shard) -> bool:
    return shard.form == "txt" and base(shard.language) not in UNSPACED


def _bytes(several: bytes) -> list[bytes]:
    return [bytes([one]) for one in several]


def _check_length(text: bytes, shard: Shard) -> None:
    if len(text) > LONGEST:
        raise CurationError(
            f"{shard.name}: over {LONGEST >> 20} MiB without the end of a line",
            "is this text? If so, break its lines",
        )


# --- reading ------------------------------------------------------------------------------------


def blocks(shard: Shard) -> Iterator[tuple[bytes, int]]:
    """A shard's text in blocks that end where words end, and how many lines or records each has.

    Raises:
        CurationError: the file is damaged, gone, or not what its name says; names the line.
    """
    if shard.form == "parquet":
        yield from _from_parquet(shard)
        return
    read = _records(shard) if shard.form == "jsonl" else _plain
    block = b"\n"
    for number, block in enumerate(_cut_blocks(shard)):
        if number % shard.parts == shard.part:
            if b"\0" in block:
                fault(shard)
            first = number == shard.start == 0
            yield read(block.removeprefix(_BOM) if first else block)
    if shard.form == "txt" and shard.last and not block.endswith(b"\n"):
        yield b"", 1  # a line, too, though nothing ends it


def _plain(block: bytes) -> tuple[bytes, int]:
    return block, block.count(b"\n")


def _records(shard: Shard) -> Any:
    lines: Any = msgspec.json.Decoder(_row(shard))

    def read(block: bytes) -> tuple[bytes, int]:
        try:
            values = [one.value for one in lines.decode_lines(block)]
            # A line break within a text is white space as any other.
            return "\n".join(values).replace("\0", " ").encode(), len(values)
        except (msgspec.DecodeError, UnicodeError):
            fault(shard)

    return read


def _row(shard: Shard) -> Any:
    return msgspec.defstruct("Row", [("value", str)], rename={"value": shard.field})


def _cut_blocks(shard: Shard) -> Iterator[bytes]:
    """Blocks that end with a line, or where lines are very long before a space."""
    rest, left = b"", shard.end - shard.start
    with opened(shard) as file:
        if not shard.packed:
            file.seek(shard.start)
        while more := file.read(BLOCK if shard.packed else min(BLOCK, left)):
            left -= len(more)
            text = rest + more
            cut = text.rfind(b"\n") + 1
            if not cut and _by_spaces(shard):
                cut = max(text.rfind(space) + 1 for space in _bytes(_SPACE))
            _check_length(text[cut:], shard)
            rest = text[cut:]
            if cut:
                yield text[:cut]
    if rest:
        yield rest


@contextmanager
def opened(shard: Shard) -> Iterator[Any]:
    """A shard's file, unpacked; what can go wrong is said."""
    try:
        with Path(shard.path).open("rb", buffering=0) as file:
            yield igzip.open(file) if shard.packed else file  # type: ignore[no-untyped-call]
    except FileNotFoundError:
        raise CurationError(
            f"{shard.name}: is not there (any more)",
            "on Ray, every machine must see the file under this path",
        ) from None
    except (igzip.BadGzipFile, isal_zlib.error, EOFError, zlib.error) as error:  # type: ignore[misc]
        raise CurationError(
            f"{shard.name}: cannot be unpacked: {error}", "fetch the file again"
        ) from None


def fault(shard: Shard) -> NoReturn:
    """Say which line is no text, or no record: the first of the file, whoever found one."""
    row = _row(shard)
    with opened(shard) as file:
        for number, line in enumerate(file if shard.packed else _lines(file), 1):
            where = f"{shard.name} line {number}"
            if b"\0" in line:
                raise CurationError(f"{where}: no text", f"name {FORMS}, in UTF-8")
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise CurationError(
                    f"{where}: byte 0x{line[error.start]:02x} is not UTF-8",
                    "save the file as UTF-8, or convert it with iconv",
                ) from None
            if shard.form == "jsonl" and line.strip():
                line = line.removeprefix(_BOM) if number == 1 else line
                try:
                    msgspec.json.decode(line, type=row).value.encode()
                except msgspec.ValidationError as error:
                    raise CurationError(
                        f"{where}: no text in the field {shard.field!r}: {error}",
                        "say with --field where the text stands",
                    ) from None
                except (msgspec.DecodeError, UnicodeError) as error:
                    raise CurationError(
                        f"{where}: not JSON: {error}", "write one record a line"
                    ) from None
    raise CurationError(f"{shard.name}: changed while it was read", "count it again")


def _lines(file: Any) -> Iterator[bytes]:
    with open(file.fileno(), "rb", closefd=False) as buffered:
        yield from buffered


# --- Parquet ------------------------------------------------------------------------------------


def _from_parquet(shard: Shard) -> Iterator[tuple[bytes, int]]:
    file, arrow = _parquet(shard)
    groups = range(shard.part, file.num_row_groups, shard.parts)
    try:
        for batch in file.iter_batches(1 << 12, row_groups=list(groups), columns=[shard.field]):
            values = batch.column(0).cast(arrow.string()).drop_null().to_pylist()
            yield "\n".join(values).replace("\0", " ").encode(), len(batch)
    except (arrow.ArrowException, OSError, UnicodeError) as error:
        raise _damaged(shard, error) from None


def _row_groups(whole: Shard) -> int:
    return int(_parquet(whole)[0].num_row_groups)


def _parquet(shard: Shard) -> tuple[Any, Any]:
    """An open file, in which the field is text, and pyarrow."""
    try:
        import pyarrow as arrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise CurationError(
            f"{shard.name}: Parquet is read by pyarrow, which is not installed",
            "pip install 'curation[parquet]'",
        ) from None
    try:
        file = ParquetFile(shard.path)
    except FileNotFoundError:
        with opened(shard):
            raise
    except (arrow.ArrowException, OSError) as error:
        raise _damaged(shard, error) from None
    kinds: dict[str, Any] = {field.name: field.type for field in file.schema_arrow}
    kind = kinds.get(shard.field)
    kind = getattr(kind, "value_type", kind)  # of a column that keeps each value once
    if kind not in {arrow.string(), arrow.large_string(), arrow.string_view()}:
        what = f"is {kind}, not text" if kind else "is not there"
        raise CurationError(
            f"{shard.name}: the column {shard.field!r} {what}",
            f"say with --field where the text stands: {', '.join(kinds)}",
        )
    return file, arrow


def _damaged(shard: Shard, error: Exception) -> CurationError:
    return CurationError(
        f"{shard.name}: cannot be read as Parquet: {str(error).strip()}", "fetch the file again"
    )

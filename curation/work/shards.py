"""The files of a corpus, cut into shards and read as blocks of text.

A shard is a range of bytes of a plain file, every nth block of a compressed file, or some row
groups of a Parquet file. So several workers can share a large file of any form.
"""

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from isal import igzip, isal_zlib

from curation.files import CurationError, open_input
from curation.formats.packed import too_long
from curation.formats.parquet import ROWS, TextColumns
from curation.text.words import UNSPACED, base

BLOCK = 1 << 21  # bytes to read at once: more would not fit into the processor's cache
LARGEST = 256 << 20  # bytes of a shard at most, so that progress shows and no worker is last
LEAST = 4 << 20  # bytes of a shard at least; less is not worth a worker
LONGEST = 64 << 20  # bytes that a file may have without a place to cut
FORMS = ".txt, .jsonl (either also .gz) or .parquet"
_SPACE = b" \t\r\x0b\x0c"
_BREAK = 0x0A
_BOM = b"\xef\xbb\xbf"  # some programs write it at the start of UTF-8 files
_FETCH = "it may have been cut off; fetch it again"


@dataclass(frozen=True)
class Shard:
    """A part of a corpus that one worker counts.

    Attributes:
        file: the index of the file in the list of files.
        name: the file's name as the user gave it.
        path: the absolute path, so that workers elsewhere find it.
        form: "txt", "jsonl" or "parquet".
        packed: whether the file is compressed with gzip.
        field: the field (JSON) or column (Parquet) that has the text.
        language: the language of the texts.
        size: the shard's size in bytes, for progress.
        start: the first byte of the shard (plain files).
        end: the byte after the shard's last (plain files).
        part: the first block (compressed files) or row group (Parquet) to read.
        parts: the step from one block or row group to the next.
        last: whether the shard includes the end of the file.
        whole: whether lines stay whole, because each is a document.
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
    whole: bool = False


# --- cutting ------------------------------------------------------------------------------------


def shards(
    paths: Sequence[Path], *, language: str, field: str, workers: int, documents: bool = False
) -> list[Shard]:
    """Cut files so that all workers have something to do.

    Args:
        paths: the files.
        language: the language of the texts.
        field: the field or column that has the text.
        workers: how many run at once.
        documents: whether lines stay whole, for ``documents``.

    Raises:
        CurationError: a file has an unknown type, is empty or missing, or is given twice.
    """
    sizes = [_size(path) for path in paths]
    for place, path in enumerate(paths):
        if any(path.samefile(other) for other in paths[:place]):
            raise CurationError(f"{path}: is given twice", "name each file once")
    share = min(max(-(-sum(sizes) // workers), LEAST), LARGEST)
    all_shards: list[Shard] = []
    for number, (path, size) in enumerate(zip(paths, sizes, strict=True)):
        name = path.name.lower()
        packed, form = name.endswith(".gz"), name.removesuffix(".gz").rpartition(".")[2]
        if form not in {"txt", "jsonl", "parquet"} or (packed and form == "parquet"):
            raise CurationError(
                f"{path}: cannot tell the type of the file from its name",
                f"rename it so that it ends in {FORMS}",
            )
        about = (number, str(path), str(path.resolve()), form, packed, field, language, size)
        whole = Shard(*about, end=size, whole=documents)
        cut = _ranges if form != "parquet" and not packed else _turns
        all_shards += cut(whole, share)
    return all_shards


def _size(path: Path) -> int:
    with open_input(path) as file:
        size = file.seek(0, os.SEEK_END)
    if not size:
        raise CurationError(f"{path}: is empty", _FETCH)
    return size


def _ranges(whole: Shard, share: int) -> Iterator[Shard]:
    """Ranges of bytes, cut at line ends, or at a space if lines are very long."""
    at = 0
    with open_input(Path(whole.path)) as file:
        while at < whole.size:
            end = _next_cut(file, at + share, whole) if at + share < whole.size else whole.size
            yield replace(whole, start=at, end=end, size=end - at, last=end == whole.size)
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
    """Shards whose workers each decompress the whole file, which is cheap, and take turns."""
    groups = _row_groups(whole) if whole.form == "parquet" else 4
    parts = max(min(-(-whole.size // share), groups), 1)
    for part in range(parts):
        size = whole.size * (part + 1) // parts - whole.size * part // parts
        yield replace(whole, part=part, parts=parts, size=size, last=not part)


def _by_spaces(shard: Shard) -> bool:
    return shard.form == "txt" and not shard.whole and base(shard.language) not in UNSPACED


def _bytes(several: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in several]


def _check_length(text: bytes, shard: Shard) -> None:
    if len(text) > LONGEST:
        raise too_long(shard.name, LONGEST)


# --- reading ------------------------------------------------------------------------------------


def blocks(shard: Shard) -> Iterator[tuple[bytes, int]]:
    """The text of a shard in blocks that end where a word ends, each with its number of lines.

    Lines are records in JSON files, and rows in Parquet files.

    Raises:
        CurationError: the file is damaged or missing, or has another type than its name says; the
            message names the line.
    """
    if shard.form == "parquet":
        for rows in _rows(shard):
            yield _block([text for text in rows if text is not None]), len(rows)
        return
    if shard.form == "jsonl":
        for values in _records(shard):
            yield _block(values), len(values)  # a line break inside a text is white space
        return
    block = b"\n"
    for block, own in _blocks_in_turn(shard):
        if own:
            yield block, block.count(b"\n")
    if shard.last and not block.endswith(b"\n"):
        yield b"", 1  # the last line, which has no line break


def documents(shard: Shard) -> Iterator[list[str]]:
    """The documents of a shard in lists: the lines of a text file, the texts of records or rows.

    A document has no NUL characters. Documents of records and rows may have line breaks.

    Args:
        shard: from ``shards`` with ``documents=True``.

    Raises:
        CurationError: as for ``blocks``.
    """
    if shard.form == "txt":
        for block, own in _blocks_in_turn(shard):
            if own:
                yield _lines(block, shard)
        return
    for texts in _records(shard) if shard.form == "jsonl" else _rows(shard):
        known = [text for text in texts if text is not None]
        yield [text.replace("\0", " ") if "\0" in text else text for text in known]


def _lines(block: bytes, shard: Shard) -> list[str]:
    try:
        lines = block.decode().split("\n")
    except UnicodeDecodeError:
        fault(shard)
    return lines if lines[-1] else lines[:-1]


def _blocks_in_turn(shard: Shard) -> Iterator[tuple[bytes, bool]]:
    """The blocks of a plain or compressed file, and whether it is this shard's turn."""
    for number, block in enumerate(_cut_blocks(shard)):
        own = number % shard.parts == shard.part
        if own and b"\0" in block:
            fault(shard)
        yield (block.removeprefix(_BOM) if number == shard.start == 0 else block), own


def _records(shard: Shard) -> Iterator[list[str]]:
    lines: Any = msgspec.json.Decoder(_row(shard))
    for block, own in _blocks_in_turn(shard):
        if not own:
            continue
        try:
            values = [row.value for row in lines.decode_lines(block)]
            if b"\\u" in block:  # half a surrogate pair is not text
                "".join(values).encode()
        except (msgspec.DecodeError, UnicodeError):
            fault(shard)
        yield values


def _row(shard: Shard) -> Any:
    return msgspec.defstruct("Row", [("value", str)], rename={"value": shard.field})


def _cut_blocks(shard: Shard) -> Iterator[bytes]:
    """Blocks that end at a line end, or at a space if lines are very long."""
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
    """Open a shard's file, and decompress it if needed.

    Raises:
        CurationError: the file is missing or damaged.
    """
    path = Path(shard.path)
    if not path.exists():
        raise CurationError(
            f"{shard.name}: no such file (any more)",
            "check the path; on Ray, every machine must see the file under the same path",
        )
    try:
        with open_input(path) as file:
            yield igzip.open(file) if shard.packed else file.raw  # type: ignore[no-untyped-call]
    except (igzip.BadGzipFile, isal_zlib.error, EOFError, zlib.error) as error:  # type: ignore[misc]
        raise CurationError(
            f"{shard.name}: cannot be decompressed: {error}", "fetch the file again"
        ) from None


def fault(shard: Shard) -> NoReturn:
    """Raise an error that names the first line of the file that is not valid."""
    row = _row(shard)
    with ExitStack() as stack:
        file = stack.enter_context(opened(shard))
        lines = file if shard.packed else stack.enter_context(_buffered(file))
        for number, line in _pieces(lines, LONGEST if shard.form == "jsonl" else BLOCK):
            where = f"{shard.name} line {number}"
            if b"\0" in line:
                raise CurationError(f"{where}: not text", f"name files of type {FORMS}, in UTF-8")
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
                        "name the field of the text with --field",
                    ) from None
                except (msgspec.DecodeError, UnicodeError) as error:
                    raise CurationError(
                        f"{where}: not JSON: {error}", "write one record per line"
                    ) from None
    raise CurationError(f"{shard.name}: changed while it was read", "count the corpus again")


def _buffered(file: Any) -> Any:
    return open(file.fileno(), "rb", closefd=False)


def _pieces(file: Any, size: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; long ones in pieces of whole characters."""
    number, rest = 1, b""
    while piece := file.readline(size):
        piece, rest = rest + piece, b""
        for back in range(1, 5 if len(piece) >= size and piece[-1] != _BREAK else 1):
            if piece[-back] >= 0xC0:  # the first byte of a character
                piece, rest = piece[:-back], piece[-back:]
            if piece[-1] < 0x80 or rest:
                break
        yield number, piece
        number += piece[-1] == _BREAK
    if rest:
        yield number, rest


# --- Parquet ------------------------------------------------------------------------------------


def _rows(shard: Shard) -> Iterator[list[str | None]]:
    """The texts of a Parquet file's rows; None if a row has none."""
    with _parquet(shard) as file:
        groups = range(shard.part, file.groups, shard.parts)
        texts, size = list[str | None](), 0
        for (text,) in file.rows([shard.field], groups):
            texts.append(text)
            size += len(text or "")
            if size > BLOCK or len(texts) == ROWS:
                yield texts
                texts, size = [], 0
        yield texts


def _block(texts: Sequence[str]) -> bytes:
    return "\n".join(texts).replace("\0", " ").encode()


def _row_groups(whole: Shard) -> int:
    with _parquet(whole) as file:
        return file.groups


def _parquet(shard: Shard) -> TextColumns:
    if not Path(shard.path).exists():
        with opened(shard):  # raises an error that also speaks of other machines
            pass
    return TextColumns(shard.path, shard.field, name=shard.name)

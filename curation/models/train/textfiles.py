"""Text files, plain or compressed: their lines, and their description in reports."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from curation.files import CurationError, digest, printable
from curation.formats.packed import read_lines

_PACKINGS = (".gz", ".bz2")


def bare_name(path: Path) -> str:
    """A file's name in lower case, without the ending of a compressed file.

    >>> bare_name(Path("corpus/A.TXT.gz")), bare_name(Path("AA/wiki_00.bz2"))
    ('a.txt', 'wiki_00')
    """
    name = path.name.lower()
    return name.removesuffix(path.suffix.lower()) if path.suffix.lower() in _PACKINGS else name


def lines(path: Path, *, forms: str) -> Iterator[tuple[int, str]]:
    """The lines of a file, with their numbers from 1.

    Args:
        path: the file; it may be compressed by gzip (``.gz``) or bzip2 (``.bz2``).
        forms: the file types that the caller reads, for errors.

    Raises:
        CurationError: the file does not exist, is empty, is not UTF-8 text, cannot be decompressed,
            or has a line that is too long.
    """
    packing = path.suffix.lower() if path.suffix.lower() in _PACKINGS else ""
    number = 0
    for number, line in enumerate(read_lines(path, packing=packing), 1):
        if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise CurationError(f"{path}: is UTF-16", "save the file as UTF-8")
        if b"\0" in line:
            raise CurationError(
                f"{path} line {number}: has a zero byte, so the file is not text",
                f"use {forms} in UTF-8",
            )
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise CurationError(
                f"{path} line {number}: byte 0x{line[error.start]:02x} is not UTF-8",
                "save the file as UTF-8, or convert it with iconv",
            ) from None
    if number == 0:
        raise CurationError(f"{path}: is empty", "it may have been cut off; download it again")


def plain(sentence: str) -> str:
    """A sentence on one line, with single spaces."""
    return " ".join(sentence.split())


def described(path: Path, files: Sequence[Path]) -> dict[str, Any]:
    """The description of a file or folder in reports: its name, sha256 and size in bytes.

    The sha256 of a folder is that of the lines that ``sha256sum`` prints for its files, with paths
    relative to the folder and in the order of ``files``. A folder also has ``files``, their number.
    """
    size = sum(file.stat().st_size for file in files)
    if not path.is_dir():
        return {"file": printable(path.name), "sha256": digest(path), "bytes": size}
    listed = hashlib.sha256()
    for file in files:
        listed.update(f"{digest(file)}  {file.relative_to(path).as_posix()}\n".encode())
    name = printable(path.resolve().name)
    return {"file": name, "sha256": listed.hexdigest(), "bytes": size, "files": len(files)}

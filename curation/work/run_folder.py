"""Folders that long work fills and can continue: runs of scores, trainings, cached classifications.

Such a folder has a lock, a JSON file that identifies the work, and results. If the identity differs
from what is asked for now, the results must not be mixed: the caller moves them to ``superseded/``
or refuses. Lines are appended whole. ``cut_half_line`` repairs a file after a killed command; call
it only while you hold the lock. The cache of classifications has no lock and is only appended to.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from curation.files import (
    CurationError,
    dump_json,
    dump_line,
    open_plain,
    read_bytes,
    read_json,
    refuse_links,
    writing,
)
from curation.records import Record
from curation.text.times import now

LOCK, SUPERSEDED = ".lock", "superseded"
_BLOCK = 1 << 20  # bytes that are read at a time


@contextmanager
def locked(folder: Path, busy: CurationError, *, name: str = LOCK) -> Iterator[None]:
    """Keep other commands out of a folder, which must exist.

    Args:
        folder: the folder.
        busy: raised if another command holds the lock.
        name: the file name of the lock.

    Raises:
        CurationError: another command holds the lock, or a file in the folder is a link.
    """
    for path in (folder / name, *folder.iterdir()):
        refuse_links(path, below=folder)
    lock = FileLock(folder / name)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise busy from None
    try:
        yield
    finally:
        lock.release()


# --- identity -----------------------------------------------------------------------------------


def read_identity(path: Path) -> dict[str, Any]:
    """The content of the file that identifies the work in a folder; {} if there is no such file.

    Raises:
        CurationError: the file is not a JSON object.
    """
    if not path.exists():
        return {}
    content = read_json(path)
    if not isinstance(content, dict):
        raise CurationError(f"{path}: is not a JSON object", "delete the file, or move the folder")
    return content


def differences(
    before: Mapping[str, Any], now: Mapping[str, Any], *, free: Collection[str] = ()
) -> list[str]:
    """The fields in which two identities differ.

    Args:
        before: the identity of the work in the folder.
        now: the identity that is asked for.
        free: fields that may differ.

    >>> differences({"a": 1, "b": 2, "day": "Monday"}, {"a": 1, "c": 3}, free=("day",))
    ['c', 'b']
    """
    fields = dict.fromkeys([*now, *before])
    return [name for name in fields if name not in free and before.get(name) != now.get(name)]


def write_json(path: Path, content: Any) -> None:
    """Write JSON; the file appears whole or not at all."""
    with writing(path) as file:
        file.write(dump_json(content))


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise OSError if torch or safetensors cannot write, which have exceptions of their own.

    Args:
        path: the file or folder that they write; it becomes ``filename``.
    """
    try:
        yield
    except Exception as error:
        cause, number = error.__context__, re.search(r"\(os error (\d+)\)", str(error))
        if isinstance(error, OSError) or not (number or isinstance(cause, OSError)):
            raise
        code = int(number[1]) if number else getattr(cause, "errno", 0)
        raise OSError(code, os.strerror(code), str(path)) from None


# --- lines --------------------------------------------------------------------------------------


def cut_half_line(path: Path) -> None:
    """Remove the half line that a killed command left at the end of a file, if the file exists."""
    if not path.exists():
        return
    with open_plain(path, "rb+") as file:
        size = end = file.seek(0, os.SEEK_END)
        newline = -1
        while newline < 0 < end:  # the file may be larger than the memory
            begin = max(0, end - _BLOCK)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            newline, end = (begin + found, end) if found >= 0 else (-1, begin)
        if newline + 1 < size:
            file.truncate(newline + 1)


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines to a file: all of them or, if the disk is full, none.

    Raises:
        OSError: they could not be written; ``filename`` is the path.
    """
    if not lines:
        return
    with open_plain(path, "ab") as file:
        write_whole(file, b"".join(lines), path)


def write_whole(file: Any, content: bytes, path: Path, *, sync: bool = True) -> None:
    """Append bytes to an open file: all of them or, if the disk is full, none.

    Args:
        file: from ``open_plain``, to append to it.
        content: whole lines.
        path: of the file, for errors.
        sync: wait until they would also survive a power failure.

    Raises:
        OSError: they could not be written; ``filename`` is the path.
    """
    # ``tell`` is wrong after an earlier write that failed.
    before, left = file.seek(0, os.SEEK_END), memoryview(content)
    try:
        while left:
            left = left[file.write(left) :]
        if sync:
            os.fsync(file.fileno())
    except BaseException as error:  # the disk is full, or Ctrl-C: no half line stays
        file.truncate(before)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def write_lines(path: Path, records: Iterable[Record]) -> None:
    """Write records as JSON lines; the file appears whole or not at all."""
    with writing(path) as file:
        file.writelines(map(dump_line, records))


def count_whole_lines(path: Path) -> int:
    """How many lines a file has; 0 if there is no file."""
    return read_bytes(path).count(b"\n") if path.exists() else 0


# --- superseded results -------------------------------------------------------------------------


def set_aside(folder: Path, names: Sequence[str]) -> Path:
    """Move files to a new folder ``superseded/TIME``, in the order given.

    Name the identity last: if the command is killed in between, results without an identity are
    recognised, but an identity without its results would look complete.

    Returns:
        The new folder.
    """
    place, number = folder / SUPERSEDED / now().replace(":", "-"), 0
    aside = place
    while aside.exists():  # two in one millisecond
        number += 1
        aside = place.with_name(f"{place.name}-{number}")
    aside.mkdir(parents=True)
    move(names, folder, aside)
    return aside


def move(names: Sequence[str], folder: Path, to: Path) -> None:
    """Move files from one folder to another; files that do not exist are skipped."""
    for name in names:
        if (folder / name).exists():
            os.replace(folder / name, to / name)

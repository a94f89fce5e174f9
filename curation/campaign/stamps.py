"""What is known of a campaign's files: their sha256, so that ``curation status`` is fast.

As in git's index, the time, inode and size of a file say whether it is still the same. A file that
is not older than ``.lock-stamps.json`` may have changed in the same moment: it is read again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from curation.files import (
    CurationError,
    Hashed,
    hash_file,
    printable,
    read_bytes,
    refuse_links,
    writing,
)

STAMPS = ".lock-stamps.json"


class Stamp(NamedTuple):
    """The time, inode and size of a file: if they are equal, it has not changed."""

    mtime_ns: int
    inode: int
    size: int


class Known(NamedTuple):
    """What is known of a file as long as its stamp is the same.

    Attributes:
        stamp: its stamp before it was read.
        hashed: its sha256 and how many lines it has.
        content: a digest of what it holds, whatever the order; "" if nobody has asked for it.
    """

    stamp: Stamp
    hashed: Hashed
    content: str = ""


_FORM = TypeAdapter(dict[str, Known])


def stamp(path: Path) -> Stamp | None:
    """The stamp of a file as it is now; None if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return Stamp(stat.st_mtime_ns, stat.st_ino, stat.st_size)


def known_of(path: Path) -> Known | None:
    """What is known of a file when it has been read; None if there is none."""
    now, found = stamp(path), hash_file(path)
    return Known(now, found) if now and found else None


def read_stamps(root: Path) -> dict[Path, Known]:
    """What is known of the files that are as they were; nothing if it cannot be read."""
    written = stamp(root / STAMPS)
    try:
        found = _FORM.validate_json(read_bytes(root / STAMPS)) if written else {}
    except (CurationError, ValidationError):
        return {}
    return {
        root / name: known
        for name, known in found.items()
        if written and known.stamp.mtime_ns < written.mtime_ns and known.stamp == stamp(root / name)
    }


def write_stamps(root: Path, known: Mapping[Path, Known]) -> None:
    """Keep what is known of files in the campaign's folder, beside what was known before."""
    before = read_stamps(root)
    now = dict(before)
    for path, found in known.items():
        if path.is_relative_to(root) and found.stamp == stamp(path):
            old = before.get(path)
            kept = old.content if old and old.hashed == found.hashed else ""
            now[path] = found._replace(content=found.content or kept)
    if now != before:
        refuse_links(root / STAMPS, below=root)
        names = {path: path.relative_to(root).as_posix() for path in now}
        content = {n: now[path] for path, n in names.items() if n == printable(n)}
        with writing(root / STAMPS, private=True) as file:
            file.write(_FORM.dump_json(content))

"""Names of temporary files and folders, and the deletion of those that killed commands left.

A file or folder that is being written has a name of its own: hidden, with the machine and the
process that write it. So a file of a process that still runs is never deleted.
"""

import os
import platform
import re
import shutil
import time
import zlib
from pathlib import Path

DAY = 86_400  # seconds
_HERE = f"{zlib.crc32(platform.node().encode()):08x}"
_NAME = re.compile(r"\..+\.(?:([0-9a-f]{8})-)?(\d+)\.tmp", re.DOTALL)


def beside(path: Path) -> Path:
    """The temporary path of a file or folder while it is written."""
    return path.with_name(f".{path.name}.{_HERE}-{os.getpid()}.tmp")


def sweep(folder: Path, *, below: bool = True) -> None:
    """Delete what killed commands left in a folder. Call it only under the folder's lock.

    Args:
        folder: the folder.
        below: also look in the folders in it.
    """
    for path in list(folder.rglob(".*.tmp") if below else folder.glob(".*.tmp")):
        if _abandoned(path, locked=True):
            _delete(path)


def sweep_beside(path: Path) -> None:
    """Delete what killed commands left in the folder of a file. This needs no lock."""
    for left in path.parent.glob(".*.tmp"):
        if _abandoned(left, locked=False):
            _delete(left)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _abandoned(path: Path, *, locked: bool) -> bool:
    """Whether a file is a temporary file of ours that no process is writing any more.

    Whether a process of another machine still runs is unknown, so its file must be a day old.
    """
    name = _NAME.fullmatch(path.name)
    if name is None:
        return False
    machine, process = name.groups()
    if machine == _HERE:
        return not _runs(int(process)) or (locked and int(process) == os.getpid())
    try:
        old = time.time() - path.stat().st_mtime > DAY
    except FileNotFoundError:  # another command has just deleted it
        return False
    return old or (locked and machine is None)  # earlier versions did not write the machine


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True

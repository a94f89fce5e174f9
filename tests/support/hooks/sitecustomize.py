"""Notes every path that a process and its workers touch, in the file that TOUCHED names.

Python imports this module when it starts, if its folder is in PYTHONPATH. Audit events tell of
files that are opened and folders that are listed. ``exists()`` raises none, so ``os.stat`` and
``os.lstat`` are patched.
"""

import os
import sys
from typing import Any

EVENTS = ("open", "os.listdir", "os.scandir", "sqlite3.connect")

if place := os.environ.get("TOUCHED"):
    log = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(path: Any) -> None:
        """Write down a path; file descriptors have none."""
        if isinstance(path, str | bytes | os.PathLike):
            os.write(log, os.fsencode(os.path.abspath(os.fspath(path))) + b"\n")  # noqa: PTH100

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        """Note what an audit event is about."""
        if event in EVENTS and arguments:
            note(arguments[0])

    def patched(call: Any) -> Any:
        """The call, which notes its path first."""

        def stat(path: Any, *arguments: Any, **options: Any) -> Any:
            note(path)
            return call(path, *arguments, **options)

        return stat

    sys.addaudithook(heard)
    os.stat, os.lstat = patched(os.stat), patched(os.lstat)

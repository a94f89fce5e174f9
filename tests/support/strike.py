"""Killing a command at a chosen moment."""

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from curation.files import beside
from curation.models.train.settings import Progress

ENDED = 1 << 22  # a process that never runs: no system has so many


def half_written(path: Path) -> Path:
    """The temporary file that a killed command left of a file or folder."""
    return path.with_name(beside(path).name.replace(f"-{os.getpid()}.", f"-{ENDED}."))


def strike(
    *folders: Path,
    at: int = 0,
    tell: int | None = None,
    by: int = signal.SIGKILL,
    seen: bool = False,
) -> Callable[[], None]:
    """Prepare a process to get a signal when it touches the disk under folders the ``at``-th time.

    Args:
        folders: where opening for writing, making, renaming, linking, removing and fsync count.
        at: which of these times; 0: none.
        tell: a file handle; the count so far is written there.
        by: the signal; by default it dies.
        seen: count only what changes what others see: each write once, at its rename; not where
            its temporary file is opened or synced, and no folder that is there already.
    """
    under, met = tuple(map(str, folders)), 0
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    events = {"os.rename", "os.link", "os.remove", "os.mkdir"}
    fsync = os.fsync

    def meet() -> None:
        nonlocal met
        met += 1
        if tell is not None:
            os.pwrite(tell, str(met).encode(), 0)
        if met == at:
            os.kill(os.getpid(), by)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        harms = event in events or (event == "open" and args[2] & writes)
        name = str(args[0])
        if harms and name.startswith(under) and not (seen and unseen(event, name)):
            meet()

    def unseen(event: str, name: str) -> bool:
        if event == "os.mkdir":
            return os.path.isdir(name)  # noqa: PTH112
        return event in ("open", "os.remove") and name.endswith(".tmp")

    def struck(handle: int) -> None:
        if not seen:
            meet()
        fsync(handle)

    def prepare() -> None:
        os.fsync = struck
        sys.addaudithook(hook)

    return prepare


def times(run: Any, command: Sequence[Any], *folders: Path, seen: bool = False) -> int:
    """How often a command touches the disk under folders, in the sense of :func:`strike`."""
    with tempfile.TemporaryFile() as tell:
        done = run(*command, before=strike(*folders, tell=tell.fileno(), seen=seen))
        assert done.code == 0, done.err
        tell.seek(0)
        return int(tell.read())


class KilledError(Exception):
    """Ends a training from outside."""


def kill_at(step: int) -> Callable[[Progress], None]:
    """What, told of a training's progress, ends it after a step."""

    def tell(told: Progress) -> None:
        if told.step == step and told.loss is not None:
            raise KilledError

    return tell

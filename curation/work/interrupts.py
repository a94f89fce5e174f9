"""Ctrl-C and SIGTERM end a command in one line, with its own exit status and without leftovers.

Both raise ``Stopped`` in the main thread, so that every ``finally`` on the way out runs.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 15.0  # seconds in which the command cleans up; further signals in between change nothing


class Stopped(BaseException):
    """A signal to stop. Like KeyboardInterrupt, it is not an error to be handled."""

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)
        super().__init__(self.signal.name)

    @property
    def status(self) -> int:
        """The exit status: 130 after SIGINT, 143 after SIGTERM, as shells have it."""
        return 128 + self.signal


class _Waiting:
    """A signal that came while it must not end the command."""

    holds = 0
    number: int | None = None


def is_command() -> bool:
    """Whether the command ``curation`` runs, and not another program that uses this package."""
    path = Path(sys.argv[0] if sys.argv else "")
    return path.name == "curation" or path.parts[-2:] == ("curation", "__main__.py")


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise ``Stopped`` at the first signal. Handlers of before come back at the end.

    A signal that the caller ignores, as nohup does, stays ignored.
    """
    first = 0.0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal first
        if _Waiting.holds:
            _Waiting.number = number
        elif not first or time.monotonic() - first > PATIENCE:
            first = time.monotonic()
            raise Stopped(number)

    with handlers_kept() as before:
        for each, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(each, stop)
        yield


@contextmanager
def handlers_kept() -> Iterator[dict[signal.Signals, Any]]:
    """Set handlers back at the end of the block; yields them, or {} outside the main thread."""
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {each: signal.getsignal(each) for each in SIGNALS}
    try:
        yield before
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def held() -> Iterator[None]:
    """Let a signal wait until the end of this block, which must be short.

    Processes that are started in the block begin with both signals blocked.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    _Waiting.holds += 1
    try:
        yield
    finally:
        _Waiting.holds -= 1
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        number, _Waiting.number = _Waiting.number, None
        if number is not None:
            signal.raise_signal(number)

"""Pins what differs between two runs of the same commands: clock, durations, random bytes.

A change that moves code must not change a byte of what commands write. ``benchmarks/frozen.py``
runs the same commands before and after it, under :func:`pinned`, and compares the files.
"""

import datetime as dates
import hashlib
import secrets
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

MOMENT = dates.datetime(2026, 6, 2, 3, 4, 5, 678901, dates.UTC)  # after the example's answers


class Clock(dates.datetime):
    """Dates as always, but it is always the same moment."""

    moment = MOMENT

    @classmethod
    def now(cls, tz: dates.tzinfo | None = None) -> dates.datetime:
        return cls.moment.astimezone(tz)


@contextmanager
def pinned(*, days: float = 0, draws: int = 0) -> Iterator[None]:
    """Clock, durations, nonces and canaries of all loaded modules of curation are always the same.

    Random bytes differ from call to call, but not from run to run: they are digests of a counter.

    Args:
        days: how many days later it is.
        draws: where the counter begins.
    """
    calls, moment = count(draws), MOMENT + dates.timedelta(days)

    def draw(size: int | None = None) -> bytes:
        length = 32 if size is None else size
        return hashlib.shake_256(str(next(calls)).encode()).digest(length)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Clock, "moment", moment)
        for name, module in list(sys.modules.items()):
            ours = name.split(".")[0] == "curation"
            if ours and getattr(module, "datetime", None) is dates.datetime:
                patch.setattr(module, "datetime", Clock)
        patch.setattr(secrets, "token_bytes", draw)
        patch.setattr(secrets, "token_hex", lambda size=None: draw(size).hex())
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(bytes=draw(16), version=4))
        patch.setattr(time, "perf_counter", lambda: 0.0)
        patch.setattr(time, "time", moment.timestamp)
        yield

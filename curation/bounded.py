"""Read the body of a response up to a size and a time, whatever the server sends."""

import time
from collections.abc import Callable

LARGEST = 64 << 20  # bytes, uncompressed
PATIENCE = 10  # times the time without any answer: some servers send blanks while a model thinks
_PART = 1 << 16


class TooLargeError(Exception):
    """The body is too large."""


class TooSlowError(Exception):
    """The body does not end in time."""


def read_body(read: Callable[[int], bytes], *, seconds: float, largest: int | None = None) -> bytes:
    """The body of a response.

    Args:
        read: reads at most this number of bytes, and waits only for the first; b"" at the end.
        seconds: the longest time for the whole body.
        largest: the largest number of bytes, uncompressed; by default ``LARGEST``.

    Raises:
        TooLargeError: the body is larger.
        TooSlowError: it takes longer.
    """
    end, parts, size = time.monotonic() + seconds, list[bytes](), 0
    largest = LARGEST if largest is None else largest
    while part := read(_PART):
        parts.append(part)
        size += len(part)
        if size > largest:
            raise TooLargeError(f"the answer is larger than {largest >> 20} MiB")
        if time.monotonic() > end:
            raise TooSlowError(f"the answer did not end within {seconds:g} s")
    return b"".join(parts)

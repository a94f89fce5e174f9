"""Counts of the strings between white space in a text, mostly by sorting numbers.

A dictionary needs about a hundred nanoseconds per word, mostly to wait for memory. Here a word of
up to eight bytes is one number, and a word of up to sixteen bytes is two. numpy sorts and counts
these several times faster. Only longer words use a dictionary.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Keys = NDArray[np.uint64]
_Counts = NDArray[np.int64]
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(9)], np.uint64)
_LAST = 0x20  # bytes up to this one are white space or control characters, and separate words
_PENDING = 1 << 22  # how many numbers may wait to be merged: 24 bytes each


class _Numbers(NamedTuple):
    """Distinct chunks as their first and next eight bytes, and how often each occurred."""

    low: _Keys
    high: _Keys
    counts: _Counts


class Tally:
    """Counts of chunks: the bytes of a text between white space or control characters."""

    def __init__(self) -> None:
        self._numbers: list[_Numbers] = []
        self._pending = 0
        self._longer: Counter[bytes] = Counter()

    def add(self, block: bytes) -> None:
        """Count the chunks of a text. The text must not contain NUL, and must end a chunk."""
        text = block + bytes([_LAST]) * 16  # so that sixteen bytes can be read at any position
        ends = np.flatnonzero(np.frombuffer(text, np.uint8, len(block) + 1) <= _LAST)
        starts = np.empty_like(ends)
        starts[0] = 0
        starts[1:] = ends[:-1] + 1
        sizes = ends - starts
        at_every_byte: _Keys = np.ndarray((len(block) + 9,), "<u8", text, 0, (1,))

        tiny = np.flatnonzero((sizes > 0) & (sizes <= 4))
        four: _Keys = np.ndarray((len(block) + 9,), "<u4", text, 0, (1,))
        # Half of all words are this short, and numbers of half the length sort in half the time.
        self._keep_low(four[starts[tiny]] & _MASKS.astype(np.uint32)[sizes[tiny]])
        short = np.flatnonzero((sizes > 4) & (sizes <= 8))
        self._keep_low(at_every_byte[starts[short]] & _MASKS[sizes[short]])

        middle = np.flatnonzero((sizes > 8) & (sizes <= 16))
        places = starts[middle]
        high = at_every_byte[places + 8] & _MASKS[sizes[middle] - 8]
        self._keep(_grouped(at_every_byte[places], high, np.ones(len(middle), np.int64)))

        longer = np.flatnonzero(sizes > 16)
        pairs = zip(starts[longer].tolist(), ends[longer].tolist(), strict=True)
        self._longer.update([block[start:end] for start, end in pairs])

    def _keep_low(self, low: _Keys) -> None:
        low.sort()
        first = np.flatnonzero(np.concatenate([[True], low[1:] != low[:-1]])[: len(low)])
        counts = np.diff(first, append=len(low))
        self._keep(_Numbers(low[first].astype(np.uint64), np.zeros(len(first), np.uint64), counts))

    def _keep(self, numbers: _Numbers) -> None:
        self._numbers.append(numbers)
        self._pending += len(numbers.counts)
        if self._pending > _PENDING:
            self._join()

    def _join(self) -> None:
        """Merge the counts of several blocks."""
        if self._numbers:
            parts = zip(*self._numbers, strict=True)
            self._numbers = [_grouped(*(np.concatenate(part) for part in parts))]
            self._pending = len(self._numbers[0].counts)

    def __len__(self) -> int:
        """An upper bound of the number of distinct chunks."""
        return self._pending + len(self._longer)

    def drain(self) -> dict[bytes, int]:
        """Each chunk and how often it occurred; afterwards the tally is empty."""
        self._join()
        totals = dict(self._longer)
        for low, high, counts in self._numbers:
            both = np.empty((len(low), 2), "<u8")
            both[:, 0], both[:, 1] = low, high
            # numpy's byte strings drop the NULs that pad them.
            chunks = both.view("S16").ravel().tolist()
            totals.update(zip(chunks, counts.tolist(), strict=True))
        self.__init__()  # type: ignore[misc]
        return totals


def _grouped(low: _Keys, high: _Keys, counts: _Counts) -> _Numbers:
    """Merge equal pairs of numbers."""
    with np.errstate(over="ignore"):
        mixed = low * np.uint64(0x9E3779B97F4A7C15) ^ high * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed)
    mixed, low, high, counts = mixed[order], low[order], high[order], counts[order]
    alike = mixed[1:] == mixed[:-1]
    same = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    if not np.array_equal(alike, same):  # two pairs have one hash: sort by the pairs themselves
        order = np.lexsort((high, low))
        low, high, counts = low[order], high[order], counts[order]
    return _runs(low, high, counts)


def _runs(low: _Keys, high: _Keys, counts: _Counts) -> _Numbers:
    """Merge equal neighbours."""
    if not len(low):
        return _Numbers(low, high, counts)
    changes = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    first = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return _Numbers(low[first], high[first], np.add.reduceat(counts, first))

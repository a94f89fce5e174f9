"""Finds the similar texts among many without comparing all pairs.

Each text is looked up by some of its rarest pieces of 2 to 4 characters that do not overlap, as in
Deng, Li and Feng 2014, "A pivotal prefix based filtering algorithm for string similarity search".
Texts that share such a piece at about the same place, and most of their letters, are compared.
Pieces are of characters, not of words, so that every script works.

A change of one character damages at most one piece. So a similar text is found if it differs in
fewer than ``PIECES`` places. It can be missed if it differs in more, or if all pieces that both
have are in more than ``TEXTS`` texts of about this length. These two limits make the time
proportional to the number of texts. ``benchmarks/release.py`` measures how many pairs are missed.
Texts of up to ``SMALL`` letters together are all compared.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

PIECES = 6
TEXTS = 400
SMALL = 200_000
_BLOCK = 512  # texts that are looked up at once; fewer if they are long
_PART = 4096  # texts that are read at once
_HASH = 22  # bits of the hash of a piece; two pieces with the same hash only cost time
_SIZES = ((0, 2), (16, 3), (32, 4), (1 << 40, 4))  # by the length of a text, that of its pieces

Ints = NDArray[np.int64]


class Similar(NamedTuple):
    """Pairs of similar texts.

    Attributes:
        some: the index of the first text of each pair.
        others: the index of the second.
        percent: their similarity in percent.
        compared: how many pairs were compared to find these.
    """

    some: Ints
    others: Ints
    percent: NDArray[np.float32]
    compared: int


def similar(some: Sequence[str], others: Sequence[str], *, similarity: float) -> Iterator[Similar]:
    """Find the texts of ``others`` that are similar to each text of ``some``, part by part.

    The similarity is twice the number of letters that two texts share, in order, divided by the
    number of all letters of both.

    Args:
        some: different texts.
        others: different texts; may be those of ``some``. A text that is in both makes a pair, too.
        similarity: the least similarity of a pair, from 0.9 to 1.
    """
    place = {text: at for at, text in enumerate(others)}
    same = np.array([(at, place[text]) for at, text in enumerate(some) if text in place], np.int64)
    a, b = same.reshape(-1, 2).T
    yield Similar(a, b, np.full(len(a), 100, np.float32), 0)
    longer = (2 - similarity) / similarity  # by this factor at most, even if it contains the other
    for (low, size), (high, _) in pairwise(_SIZES):
        own = _between(some, low, high)
        near = _between(others, low / longer - 1e-9, high * longer)
        if not len(own) or not len(near):
            continue
        index = _Index([others[at] for at in near], size, 1 - similarity)
        start = 0
        while start < len(own):
            end = start + max(1, min(_BLOCK, 100_000 // (len(some[own[start]]) + 1)))
            texts = [some[at] for at in own[start:end]]
            a, b = index.candidates(texts)
            percent = process.cpdist(
                [texts[at] for at in a.tolist()],
                [index.texts[at] for at in b.tolist()],
                scorer=fuzz.ratio,
                score_cutoff=100 * similarity,
                dtype=np.float32,
            )
            kept = (percent > 0) & (percent < 100)
            pairs = own[start:end][a[kept]], near[b[kept]]
            yield Similar(*pairs, percent[kept], len(a))
            start = end


def _between(texts: Sequence[str], low: float, high: float) -> Ints:
    """The indices of the texts of such lengths, in the order of an index."""
    chosen = (at for at, text in enumerate(texts) if low <= len(text) < high)
    return np.array(sorted(chosen, key=lambda at: _order(texts[at])), np.int64)


def _order(text: str) -> tuple[int, str]:
    return len(text), text


class _Index:
    """Texts from short to long, their letters, and where each piece is in them."""

    def __init__(self, texts: list[str], size: int, different: float) -> None:
        self.texts, self._size, self._different = texts, size, different
        self._known = set(texts)
        self._lengths = np.array([len(text) for text in texts])
        parts = [(at, texts[at : at + _PART]) for at in range(0, len(texts), _PART)]
        self._letters = np.concatenate([_letters(part) for _, part in parts])
        self._bits = len(texts).bit_length(), int(self._lengths.max(initial=0)).bit_length()
        # One number for each piece and its place: sorted, those of a piece and length are together.
        places = []
        for start, part in parts:
            text, at, piece = _pieces(part, size)
            places.append(self._key(piece, text + start) | at)
        self._places = np.concatenate(places)
        self._places.sort()
        self._counts = np.bincount(self._places >> sum(self._bits), minlength=1 << _HASH)

    def _key(self, piece: Ints, text: Ints) -> Ints:
        bits, letters = self._bits
        return (piece << bits | text) << letters

    def candidates(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """The pairs to compare: indices of these texts, and of those of the index."""
        lengths = np.array([len(text) for text in texts])
        longer = (1 + self._different) / (1 - self._different)
        first = np.searchsorted(self._lengths, np.ceil(lengths / longer - 1e-9))
        last = np.searchsorted(self._lengths, _floor(lengths * longer), "right")
        if self._lengths.sum() <= SMALL:
            own, other = np.nonzero(
                (first[:, None] <= np.arange(len(self.texts)))
                & (np.arange(len(self.texts)) < last[:, None])
            )
        else:
            own, other = self._by_pieces(texts, lengths, first, last)
        letters = np.bitwise_count(_letters(texts)[own] ^ self._letters[other]).sum(1)
        most = _floor((lengths[own] + self._lengths[other]) * self._different)
        bits = self._bits[0]
        pair = np.unique((own << bits | other)[letters <= most])
        return pair >> bits, pair & (1 << bits) - 1

    def _by_pieces(
        self, texts: Sequence[str], lengths: Ints, first: Ints, last: Ints
    ) -> tuple[Ints, Ints]:
        """The pairs that share a piece: of each text with those from a first to a last one."""
        # A similar text that is as long as possible differs in this many letters.
        most = _floor(2 * lengths * self._different / (1 - self._different))
        own, at, piece = self._rarest(texts, np.minimum(most + 1, PIECES))
        rank = np.array([bisect_left(self.texts, _order(text), key=_order) for text in texts])
        start, middle, end = (
            np.searchsorted(self._places, self._key(piece, where[own]))
            for where in (first, rank, last)
        )
        start = np.maximum(start, np.minimum(middle - TEXTS // 2, end - TEXTS))
        number = np.minimum(end - start, TEXTS)
        hit = np.repeat(np.arange(len(own)), number)
        place = self._places[
            np.arange(len(hit)) + np.repeat(start - np.cumsum(number) + number, number)
        ]
        bits, letters = self._bits
        shift = (place & (1 << letters) - 1) - at[hit]
        own, other = own[hit], place >> letters & (1 << bits) - 1
        # The letters that are added or missing before the piece, and after it.
        more = self._lengths[other] - lengths[own]
        changes = _floor((self._lengths[other] + lengths[own]) * self._different)
        fits = np.abs(shift) + np.abs(more - shift) <= changes
        return own[fits], other[fits]

    def _rarest(self, texts: Sequence[str], number: Ints) -> tuple[Ints, Ints, Ints]:
        """This many of the rarest pieces of each text that do not overlap, as in ``_pieces``."""
        text, at, piece = _pieces(texts, self._size)
        width = int(at.max(initial=0)) + 1
        pieces, counts = np.zeros((2, len(texts), width), np.int64)
        pieces[text, at] = piece
        counts[text, at] = self._counts[piece] - np.array([t in self._known for t in texts])[text]
        counts[counts <= 0] = never = np.iinfo(np.int64).max  # no other text has the piece
        picked = []
        for turn in range(number.max(initial=0)):
            column = counts.argmin(1)
            rows = np.flatnonzero((turn < number) & (counts.min(1) < never))
            column = column[rows]
            picked.append((rows, column))
            for step in range(1 - self._size, self._size):
                counts[rows, np.clip(column + step, 0, width - 1)] = never
        own, at = np.concatenate(picked, 1) if picked else np.zeros((2, 0), np.int64)
        return own, at, pieces[own, at]


def _pieces(texts: Sequence[str], size: int) -> tuple[Ints, Ints, Ints]:
    """All pieces: the text of each, its place there, and its hash."""
    lengths, points = _points(texts)
    number = np.maximum(lengths - size + 1, 0)
    text = np.repeat(np.arange(len(texts)), number)
    at = np.arange(len(text)) - np.repeat(np.cumsum(number) - number, number)
    start = at + (np.cumsum(lengths) - lengths)[text]
    code = np.zeros(len(text), np.uint64)
    for n in range(size):
        code = (code + points[start + n].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(32)
    return text, at, (code >> np.uint64(64 - _HASH)).astype(np.int64)


def _letters(texts: Sequence[str]) -> NDArray[np.uint64]:
    """128 bits for each text: two texts differ in at least as many letters as in bits.

    Letters are in 32 groups; the first four of each group have a bit.
    """
    lengths, points = _points(texts)
    groups = np.repeat(np.arange(len(texts)), lengths) << 5 | points & 31
    counts = np.bincount(groups, minlength=len(texts) << 5).reshape(-1, 32, 1)
    return np.packbits(counts > np.arange(4), axis=None).view(np.uint64).reshape(-1, 2)


def _points(texts: Sequence[str]) -> tuple[Ints, Ints]:
    """The length of each text, and the code points of all texts, one after another."""
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    return np.array([len(text) for text in texts], np.int64), points.astype(np.int64)


def _floor(values: NDArray[np.floating]) -> Ints:
    floor: Ints = np.floor(values + 1e-9).astype(
        np.int64
    )  # what is whole may be computed as a little less
    return floor

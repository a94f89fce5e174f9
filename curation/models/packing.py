"""Lay out texts for a forward pass: shared prefixes once, no padding, as few reads as possible.

A text is token ids and what is read of it: the probability of a token at a position's output. Three
layouts give the same numbers:

* ``tries``, for models that read from the left: texts that begin alike share those tokens. Each row
  is a tree of texts; a token sees its ancestors only, its position is its depth.
* ``blocks``, for models that read both ways: a row is several texts that do not see each other.
* ``padded``: a row a text, as everybody does it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROW = 128  # tokens: longer rows cost attention, shorter ones share less and pack worse


class Text(NamedTuple):
    """Token ids, (position, token) pairs to read, and segment ids where there are two segments."""

    ids: Sequence[int]
    reads: Sequence[tuple[int, int]]
    types: Sequence[int] = ()


@dataclass
class Row:
    """What a model is given as one row; ``parents`` is None where it is no tree.

    ``starts`` are the places where texts begin that do not see each other. A read is (place in the
    row, token, slot of the result).
    """

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    parents: list[int] | None = None
    starts: list[int] = field(default_factory=list)
    reads: list[tuple[int, int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def mask(self) -> NDArray[np.bool_]:
        """Which token (row) sees which (column); shape (tokens, tokens)."""
        size = len(self.ids)
        sees = np.zeros((size, size), dtype=bool)
        if self.parents is None:
            for start, end in zip(self.starts, [*self.starts[1:], size], strict=True):
                sees[start:end, start:end] = True
            return sees
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                sees[place, : parent + 1] = sees[parent, : parent + 1]
            sees[place, place] = True
        return sees


@dataclass
class Layout:
    """Rows, and of each text the slots of what was asked of it, in its order."""

    rows: list[Row]
    slots: list[list[int]]
    packed: bool

    @property
    def size(self) -> int:
        """How many slots there are."""
        return sum(len(row.reads) for row in self.rows)


def tries(texts: Sequence[Text], *, row: int = ROW) -> Layout:
    """Texts as prefix trees, texts that begin alike in one row of about ``row`` tokens.

    A text's last token is no input unless something is read there.
    """
    order = sorted(range(len(texts)), key=lambda n: list(texts[n].ids))
    rows: list[Row] = []
    slots: list[list[int]] = [[] for _ in texts]
    count = 0
    current, below, known = Row(parents=[]), [dict[int, int]()], dict[tuple[int, int], int]()
    for n in order:
        text = texts[n]
        needed = max((place for place, _ in text.reads), default=-1) + 1
        node = shared = 0
        while shared < needed and text.ids[shared] in below[node]:
            node = below[node][text.ids[shared]]
            shared += 1
        if len(current) and len(current) + needed - shared > row:
            rows.append(current)
            current, below, known = Row(parents=[]), [{}], {}
        path, node = [], 0  # nodes are numbered from 1; 0 stands above all
        for depth in range(needed):
            token = text.ids[depth]
            if token not in below[node]:
                assert current.parents is not None
                current.ids.append(token)
                current.positions.append(depth)
                current.parents.append(node - 1)
                below[node][token] = len(current.ids)
                below.append({})
            node = below[node][token]
            path.append(node - 1)
        for place, token in text.reads:
            key = (path[place], token)
            if key not in known:
                known[key] = count
                current.reads.append((*key, count))
                count += 1
            slots[n].append(known[key])
    if len(current):
        rows.append(current)
    return Layout(rows, slots, packed=True)


def blocks(texts: Sequence[Text], *, row: int = ROW) -> Layout:
    """Texts side by side in rows of about ``row`` tokens, longest first; equal texts once."""
    unique, reads, slots = _once(texts)
    rows: list[Row] = []
    room: dict[int, list[int]] = defaultdict(list)  # rows by the tokens that they still take
    for n in sorted(range(len(unique)), key=lambda n: -len(unique[n].ids)):
        ids = unique[n].ids
        fits = [left for left in room if left >= len(ids) and room[left]]
        if fits:
            left = min(fits)
            place = room[left].pop()
        else:
            left, place = max(row, len(ids)), len(rows)
            rows.append(Row())
        room[left - len(ids)].append(place)
        _add(rows[place], unique[n], reads[n])
    return Layout(rows, slots, packed=True)


def padded(texts: Sequence[Text], *, ahead: bool = False) -> Layout:
    """A row a text; equal texts once.

    With ``ahead`` no token sees those after it, and what stands after the last read is left out.
    """
    if ahead:
        ends = [max((place for place, _ in text.reads), default=0) + 1 for text in texts]
        texts = [t._replace(ids=t.ids[:end]) for t, end in zip(texts, ends, strict=True)]
    unique, reads, slots = _once(texts)
    rows = []
    for text, asked in zip(unique, reads, strict=True):
        row = Row()
        _add(row, text, asked)
        rows.append(row)
    return Layout(rows, slots, packed=False)


def _add(row: Row, text: Text, asked: dict[tuple[int, int], int]) -> None:
    start = len(row)
    row.starts.append(start)
    row.ids += text.ids
    row.positions += range(len(text.ids))
    row.types += text.types or [0] * len(text.ids)
    row.reads += [(start + place, token, slot) for (place, token), slot in asked.items()]


def _once(
    texts: Sequence[Text],
) -> tuple[list[Text], list[dict[tuple[int, int], int]], list[list[int]]]:
    """Different texts, what is read of each with its slot, and each text's slots."""
    unique: list[Text] = []
    reads: list[dict[tuple[int, int], int]] = []
    seen: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    slots = []
    count = 0
    for text in texts:
        key = (tuple(text.ids), tuple(text.types))
        if key not in seen:
            seen[key] = len(unique)
            unique.append(text)
            reads.append({})
        asked = reads[seen[key]]
        for read in text.reads:
            if read not in asked:
                asked[read] = count
                count += 1
        slots.append([asked[read] for read in text.reads])
    return unique, reads, slots


def batches(rows: Sequence[Row], *, tokens: int) -> Iterator[list[Row]]:
    """Rows of like length, longest first, as many as make ``tokens`` tokens with padding."""
    ordered = sorted(rows, key=len, reverse=True)
    while ordered:
        take = max(1, tokens // max(len(ordered[0]), 1))
        yield ordered[:take]
        ordered = ordered[take:]

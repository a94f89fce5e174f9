"""Pack texts into rows for a forward pass: shared prefixes once, no padding, few reads.

A text consists of token ids and of reads: pairs of a position and a token whose probability is
read there (or ``forward.LIKELIEST``).
Three layouts give the same numbers:

* ``tries``, for autoregressive models: texts that begin alike share these tokens. Each row is a
  tree of texts. A token sees only its ancestors, and its position is its depth.
* ``blocks``, for models that read both ways: a row has several texts that do not see each other.
* ``padded``: a row per text, padded at the right.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROW = 128  # tokens: longer rows need more attention, shorter ones share and pack less


class Text(NamedTuple):
    """Token ids, (position, token) pairs to read, and segment ids if there are two segments."""

    ids: Sequence[int]
    reads: Sequence[tuple[int, int]]
    types: Sequence[int] = ()


@dataclass
class Row:
    """One row for a model.

    Attributes:
        ids: token ids.
        positions: the position of each token in its text.
        types: segment ids.
        parents: the place of the token before each token, −1 for none; None if the row is not a
            tree.
        starts: the places where texts begin that do not see each other.
        reads: (place in the row, token, slot of the result) for each probability to be read.
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
        """Which token (first axis) sees which token (second axis); shape (tokens, tokens)."""
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
    """Rows, and for each text the slots of its reads, in their order."""

    rows: list[Row]
    slots: list[list[int]]
    packed: bool

    @property
    def size(self) -> int:
        """The number of slots."""
        return sum(len(row.reads) for row in self.rows)


def tries(texts: Sequence[Text], *, row: int = ROW) -> Layout:
    """Pack texts as prefix trees; texts that begin alike share a row of about ``row`` tokens.

    The last token of a text is left out if nothing is read there.
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
        path, node = [], 0  # nodes are numbered from 1; 0 is the root
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
    """Pack texts side by side in rows of about ``row`` tokens; equal texts are packed once."""
    unique, reads, slots = _once(texts)
    rows: list[Row] = []
    room: dict[int, list[int]] = defaultdict(list)  # rows by the number of tokens that still fit
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
    """Make a row of each text; equal texts share a row.

    With ``ahead``, no token sees later ones, so the tokens after the last read are left out.
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
    """The different texts, their reads with slots, and the slots of each of ``texts``."""
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
    """Batches of rows of similar length, longest first, of ``tokens`` tokens with padding."""
    ordered = sorted(rows, key=len, reverse=True)
    while ordered:
        take = max(1, tokens // max(len(ordered[0]), 1))
        yield ordered[:take]
        ordered = ordered[take:]

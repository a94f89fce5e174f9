"""Test CATs that nearly repeat public CATs, whatever their labels and targets are.

Two CATs of a kind are near-duplicates if their contexts, and two options of each, are alike. Texts
are alike from the similarity with which imports refuse an item (``checks.content.near``). There,
the unrelated association does not count; here one option does not, because labels may be hidden.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from curation.checks.content import compared, gist
from curation.records import Kind
from curation.release.contents import PublishedCat
from curation.release.facts import Near

SIMILARITY = 0.95
_BLOCK = 512  # texts compared at once
_CONTEXT = 4  # counts more than the three options together


class Texts(NamedTuple):
    """What is compared of a CAT."""

    id: str
    kind: Kind
    context: str
    sentences: tuple[str, ...]


class Pair(NamedTuple):
    """A test CAT, and the first CAT of a place that it nearly repeats; both by their ids."""

    cat: str
    place: str
    other: str


def texts_of(cat: PublishedCat) -> Texts:
    """What is compared of a CAT of a release."""
    return Texts(cat.id, cat.kind, cat.context, tuple(o.sentence for o in cat.options))


def near(
    cats: Sequence[Texts], places: Mapping[str, Sequence[Texts]]
) -> tuple[tuple[Near, ...], list[Pair]]:
    """How many CATs nearly repeat CATs of each place, and the pairs.

    The numbers may be published; the pairs say which CATs they are.

    Args:
        cats: the test CATs.
        places: the public CATs of each place, by its name.
    """
    counts, pairs = [], []
    for place, others in places.items():
        here = [Pair(cats[at].id, place, others[other].id) for at, other in _repeats(cats, others)]
        counts.append(Near(place=place, cats=len(here), similarity=SIMILARITY))
        pairs += here
    return tuple(counts), pairs


def _repeats(cats: Sequence[Texts], others: Sequence[Texts]) -> list[tuple[int, int]]:
    """The indices of each CAT that nearly repeats another, and of the first such other."""
    pairs = []
    for kind in {cat.kind for cat in cats}:
        some = [at for at, cat in enumerate(cats) if cat.kind == kind]
        public = [at for at, cat in enumerate(others) if cat.kind == kind]
        lines = [compared(gist(cats[at].context, cats[at].sentences)) for at in some]
        known = [compared(gist(others[at].context, others[at].sentences)) for at in public]
        pairs += [(some[at], public[other]) for at, other in _of_a_kind(lines, known)]
    return sorted(pairs)


def _of_a_kind(
    lines: Sequence[tuple[str, ...]], known: Sequence[tuple[str, ...]]
) -> Iterable[tuple[int, int]]:
    """The same for CATs of a kind, each with the lines that are compared: context and options."""
    contexts = _Index([line[:1] for line in known])
    options = _Index([line[1:] for line in known])
    contexts.look_up(line[0] for line in lines)
    options.look_up(option for line in lines for option in line[1:])
    for at, (context, *own) in enumerate(lines):
        alike = contexts.with_text(context)
        by_option = [options.with_text(option) for option in own] if len(alike) else []
        if sum(len(places) > 0 for places in by_option) < 2:
            continue
        # A first pass over numbers leaves few CATs for the exact comparison.
        places = np.concatenate([np.repeat(alike, _CONTEXT), *by_option])
        hits = np.bincount(places, minlength=len(known))
        for other in np.flatnonzero(hits >= _CONTEXT + 2).tolist():
            if _two_alike(own, known[other][1:]):
                yield at, other
                break


def _two_alike(options: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two options are alike to two different others."""
    cutoff = 100 * SIMILARITY
    alike = [[fuzz.ratio(a, b, score_cutoff=cutoff) > 0 for b in others] for a in options]
    return any(
        sum(alike[n][at] for n, at in enumerate(order)) >= 2
        for order in permutations(range(len(others)), len(options))
    )


class _Index:
    """The CATs that have a text that is alike to a given one."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        places: dict[str, list[int]] = defaultdict(list)
        for at, own in enumerate(texts):
            for text in dict.fromkeys(own):
                places[text].append(at)
        self._places = {text: np.array(own) for text, own in places.items()}
        self._alike: dict[str, list[str]] = {}

    def look_up(self, texts: Iterable[str]) -> None:
        """Find the texts that are alike to each of these."""
        self._alike = _alike(dict.fromkeys(texts), self._places)

    def with_text(self, text: str) -> NDArray[np.int64]:
        """The CATs with a text that is alike to this one, which was looked up."""
        own = [self._places[other] for other in self._alike.get(text, ())]
        if len(own) < 2:
            return own[0] if own else np.zeros(0, np.int64)
        places: NDArray[np.int64] = np.unique(np.concatenate(own))
        return places


def _alike(texts: Iterable[str], others: Iterable[str]) -> dict[str, list[str]]:
    """The texts that are alike to each text, for those that have any.

    Texts are sorted by length, because texts of very different length cannot be alike.
    """
    cutoff = 100 * SIMILARITY
    some, known = sorted(texts, key=len), sorted(others, key=len)
    lengths = np.array([len(text) for text in known])
    longer = (2 - SIMILARITY) / SIMILARITY  # by this factor at most, even if it contains the other
    alike: dict[str, list[str]] = defaultdict(list)
    for start in range(0, len(some), _BLOCK):
        block = some[start : start + _BLOCK]
        first = int(np.searchsorted(lengths, len(block[0]) / longer, "left"))
        last = int(np.searchsorted(lengths, len(block[-1]) * longer, "right"))
        likeness = process.cdist(
            block, known[first:last], scorer=fuzz.ratio, score_cutoff=cutoff, dtype=np.uint8
        )
        for at, other in np.argwhere(likeness).tolist():
            alike[block[at]].append(known[first + other])
    return alike

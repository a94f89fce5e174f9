"""Test CATs that nearly repeat public CATs, whatever their labels and targets are.

Two CATs of a kind are near-duplicates if their contexts, and two options of each, are alike. Texts
are alike from the similarity with which imports refuse an item (``checks.content.near``). There,
the unrelated association does not count; here one option does not, because labels may be hidden.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from rapidfuzz import fuzz

from curation.checks.content import compared, gist
from curation.checks.similar import similar
from curation.release.contents import PublishedCat
from curation.release.facts import Near
from curation.release.seen import Seen

SIMILARITY = 0.95


class Texts(NamedTuple):
    """What is compared of a CAT."""

    id: str
    kind: str
    context: str
    sentences: tuple[str, ...]


class Pair(NamedTuple):
    """A test CAT, and the first CAT of a place that it nearly repeats; both by their ids."""

    cat: str
    place: str
    other: str


def texts_of(cat: PublishedCat | Seen) -> Texts:
    """What is compared of a CAT."""
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
    # If two options are alike, then one of all but the last is: it is looked up with the context.
    asked, homes = _homes(lines, slice(1, -1)), _homes(known, slice(1, None))
    texts, others = list(asked), list(homes)
    found: dict[int, int] = {}
    for pairs in similar(texts, others, similarity=SIMILARITY):
        for a, b in zip(pairs.some.tolist(), pairs.others.tolist(), strict=True):
            for at in asked[texts[a]]:
                for other in homes[others[b]]:
                    if other >= found.get(at, len(known)):
                        break
                    if _repeats_line(lines[at], known[other]):
                        found[at] = other
    return found.items()


def _homes(lines: Sequence[tuple[str, ...]], options: slice) -> dict[str, list[int]]:
    """Each context with each of some options, and the CATs that have both."""
    homes: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        for option in dict.fromkeys(line[options]):
            homes[f"{line[0]}\n{option}"].append(at)
    return homes


def _repeats_line(line: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return fuzz.ratio(line[0], other[0], score_cutoff=100 * SIMILARITY) > 0 and _two_alike(
        line[1:], other[1:]
    )


def _two_alike(options: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two options are alike to two different others."""
    cutoff = 100 * SIMILARITY
    alike = [[fuzz.ratio(a, b, score_cutoff=cutoff) > 0 for b in others] for a in options]
    return any(
        sum(alike[n][at] for n, at in enumerate(order)) >= 2
        for order in permutations(range(len(others)), len(options))
    )

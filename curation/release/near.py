"""Test CATs that nearly repeat public CATs, whatever their labels and targets are.

Two CATs of a kind are near-duplicates if their contexts, and two options of each, are alike. Texts
are alike from the similarity with which imports refuse an item (``checks.content.near``). There,
the unrelated association does not count; here one option does not, because labels may be hidden.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import NamedTuple

from rapidfuzz import fuzz

from curation.checks.content import compared, gist
from curation.checks.similar import similar
from curation.released.contents import PublishedCat
from curation.released.facts import Near

SIMILARITY = 0.95


class Pair(NamedTuple):
    """A test CAT, and the first CAT of a place that it nearly repeats; both by their ids."""

    cat: str
    place: str
    other: str


def near(
    cats: Sequence[PublishedCat], places: Mapping[str, Sequence[PublishedCat]]
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


def _repeats(cats: Sequence[PublishedCat], others: Sequence[PublishedCat]) -> list[tuple[int, int]]:
    """The indices of each CAT that nearly repeats another, and of the first such other."""
    pairs = []
    for kind in {cat.kind for cat in cats}:
        (some, lines), (public, known) = (_lines(each, kind) for each in (cats, others))
        pairs += [(some[at], public[other]) for at, other in _of_a_kind(lines, known)]
    return sorted(pairs)


def _lines(cats: Sequence[PublishedCat], kind: str) -> tuple[list[int], list[tuple[str, ...]]]:
    """The indices of the CATs of a kind, and what is compared of each: context and options."""
    places = [at for at, cat in enumerate(cats) if cat.kind == kind]
    gists = (gist(cats[at].context, [o.sentence for o in cats[at].options]) for at in places)
    return places, list(map(compared, gists))


def _of_a_kind(
    lines: Sequence[tuple[str, ...]], known: Sequence[tuple[str, ...]]
) -> Iterable[tuple[int, int]]:
    """The same for CATs of a kind, each with the lines of ``_lines``."""
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
                    if _alike(lines[at], known[other]):
                        found[at] = other
    return found.items()


def _homes(lines: Sequence[tuple[str, ...]], options: slice) -> dict[str, list[int]]:
    """Each context with each of some options, and the CATs that have both."""
    homes: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        for option in dict.fromkeys(line[options]):
            homes[f"{line[0]}\n{option}"].append(at)
    return homes


def _alike(line: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether the contexts are alike, and two options to two different others."""
    ratio = partial(fuzz.ratio, score_cutoff=100 * SIMILARITY)
    if not ratio(line[0], other[0]):
        return False
    alike = [[ratio(a, b) > 0 for b in other[1:]] for a in line[1:]]
    return any(
        sum(alike[n][at] for n, at in enumerate(order)) >= 2
        for order in permutations(range(len(other) - 1), len(line) - 1)
    )

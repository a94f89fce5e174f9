"""Only the labels that are needed: how many more an item gets, and which items get all labels.

At first an item is asked for the fewest answers that can decide it. If they do not decide it, it
is topped up until it is decided or has all the labels that count. The same items are kept as with
all labels. Agreement would not be the same, because an item stops early if people agree. So
agreement is computed from a random sample of the items, which always get all labels.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, count, product

from curation.records import GOLDS, Gold
from curation.text.rules import Votes, decide, stable_id


def further(
    votes: Sequence[Votes],
    *,
    needed: int = 3,
    of: int = 5,
    intents: Sequence[Gold | None] | None = None,
) -> int:
    """The fewest further answers after which an item can be decided.

    An answer labels all three associations. It counts for an association that has fewer than
    ``of`` labels. Takes the arguments of ``decide``, which says whether an item is decided.

    Returns:
        The number of answers; 0 if the item is decided.

    >>> further([(3, 0, 0, 0), (0, 3, 0, 0), (0, 1, 2, 0)])
    1
    >>> further([(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)])
    2
    >>> further([(3, 0, 0, 0), (3, 0, 0, 0), (0, 0, 1, 0)])  # two stereotypes: it cannot be kept
    0
    """
    meant = None if intents is None else tuple(intents)
    return _further(tuple(votes), needed, of, meant)


@lru_cache(maxsize=1 << 16)
def _further(
    votes: tuple[Votes, ...], needed: int, of: int, intents: tuple[Gold | None, ...] | None
) -> int:
    def decidable(more: int) -> bool:
        ways = [_ahead(v, more, needed, of) for v in votes]
        outcomes = (decide(w, needed=needed, of=of, intents=intents) for w in product(*ways))
        return any(outcome.reason != "too_few_labels" for outcome in outcomes)

    return next(filter(decidable, count()))  # this ends: with all labels, an item is decided


def _ahead(votes: Votes, more: int, needed: int, of: int) -> list[Votes]:
    """The votes that an association can have after ``more`` answers, one for each different case.

    Two cases differ for the decision if different labels have a majority, or can still get one.
    """
    cases: dict[tuple[int, ...], Votes] = {}
    for s, a, u, r in _sums(votes, min(more, of - sum(votes))):
        left = of - (s + a + u + r)
        key = tuple((n >= needed) + (n + left >= needed) for n in (s, a, u))
        cases.setdefault(key, (s, a, u, r))
    return list(cases.values())


def _sums(votes: Votes, more: int) -> Iterator[Votes]:
    values = range(len(GOLDS) + 1)
    for added in combinations_with_replacement(values, more):
        s, a, u, r = (n + added.count(value) for value, n in enumerate(votes))
        yield s, a, u, r


def sample(ids: Collection[str], *, share: float, seed: int) -> set[str]:
    """The random sample of a round's items that always get all labels, to compute agreement.

    Args:
        ids: the items' ids; their order does not matter.
        share: the share of the items, between 0 and 1; at least one item is drawn.
        seed: the round's seed.

    >>> sorted(sample(["a", "b", "c", "d"], share=0.5, seed=1))
    ['b', 'c']
    """
    drawn = sorted(set(ids), key=lambda item: stable_id("sample", str(seed), item))
    return set(drawn[: max(round(share * len(drawn)), 1)])

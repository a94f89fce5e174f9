"""The tasks of a round, planned from terms or items. Deterministic, given seed and key.

The ids of tasks and of the texts that they show are keyed. So nobody who sees a task can find out
by trying which item it is made from, and what its writer meant.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, count, product
from random import Random
from typing import TypeVar

from curation.records import GOLDS, Association, Gold, Item, Kind, Shown, Task, Term
from curation.text.rules import Votes, decide, stable_id

T = TypeVar("T")
Sealed = Callable[..., str]
CHOICES = 8  # terms offered to merge into: not more than people read


def writing(
    terms: Sequence[Term], *, round: str, kind: Kind, items: int, seed: int, sealed: Sealed
) -> list[Task]:
    """One task for each item to write. Terms take turns, so that none comes twice in a row.

    Args:
        terms: the terms to write about.
        round: the round's name.
        kind: intrasentence or intersentence.
        items: how many items to write on each term.
        seed: the seed of the shuffling.
        sealed: makes an opaque id from a prefix and parts; see ``people.sealed``.
    """
    tasks = []
    for turn in range(items):
        for term in _shuffled(terms, f"{seed}/{round}/{turn}"):
            tasks.append(
                Task(
                    id=sealed("t", round, kind, term.id, str(turn)),
                    term=term.id,
                    domain=term.domain,
                    target=term.text,
                    wanted=1,
                )
            )
    return tasks


def review(
    terms: Sequence[Term],
    *,
    among: Sequence[Term],
    round: str,
    reviewers: int,
    seed: int,
    sealed: Sealed,
) -> list[Task]:
    """One task for each term; it offers the most similar terms of its domain to merge into.

    Args:
        terms: the terms under review.
        among: the terms into which they may merge.
        round: the round's name.
        reviewers: how many people review each term.
        seed: the seed of the shuffling.
        sealed: makes an opaque id from a prefix and parts.
    """
    from rapidfuzz import fuzz, process

    tasks = []
    for term in _shuffled(terms, f"{seed}/{round}"):
        others = {t.id: t.text for t in among if t.domain == term.domain and t.id != term.id}
        near = process.extract(term.text, others, scorer=fuzz.WRatio, limit=CHOICES)
        kin = [t.id for t in among if term.family and t.family == term.family and t.id in others]
        tasks.append(
            Task(
                id=sealed("t", round, "review", term.id),
                term=term.id,
                domain=term.domain,
                target=term.text,
                choices=tuple(dict.fromkeys([*kin, *(id for _, _, id in near)]))[:CHOICES],
                wanted=reviewers,
            )
        )
    return tasks


def validation(
    items: Sequence[Item],
    terms: Mapping[str, Term],
    *,
    round: str,
    wanted: Mapping[str, int],
    full: Collection[str],
    seed: int,
    sealed: Sealed,
) -> list[Task]:
    """One task for each item: its associations, shuffled, without what the writer meant.

    Args:
        items: the items to label.
        terms: the campaign's terms by id.
        round: the round's name.
        wanted: by item id, how many answers are asked for at first.
        full: ids of the items that get all labels in any case.
        seed: the seed of the shuffling; the order within a task also depends on its keyed id.
        sealed: makes an opaque id from a prefix and parts.
    """
    tasks = []
    for item in _shuffled(items, f"{seed}/{round}"):
        id, term = sealed("t", round, "validation", item.id), terms[item.term]
        shown = [
            Shown(id=sealed("a", round, a.id), text=a.sentence, association=a.id)
            for a in item.associations
        ]
        first, second, third = _shuffled(shown, f"{seed}/{id}")
        tasks.append(
            Task(
                id=id,
                term=term.id,
                domain=term.domain,
                target=term.text,
                item=item.id,
                context=item.context,
                shown=(first, second, third),
                wanted=wanted[item.id],
                full=item.id in full,
                barred=item.writer,
            )
        )
    return tasks


def sides(item: Item) -> list[Association]:
    """The stereotype and the anti-stereotype of an item, as its writer meant or as published."""
    roles = {each.intent or each.published_gold: each for each in item.associations}
    return [roles[role] for role in ("stereotype", "anti-stereotype") if role in roles]


def _shuffled(items: Sequence[T], seed: str) -> list[T]:
    return Random(seed).sample(list(items), len(items))  # noqa: S311


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

"""The tasks of a round, planned from terms or items. Deterministic, given seed and key.

The ids of tasks and of the texts that they show are keyed. So nobody who sees a task can find out
by trying which item it is made from, and what its writer meant.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import TypeVar

from curation.records import Item, Kind, Shown, Task, Term

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
    terms: dict[str, Term],
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


def _shuffled(items: Sequence[T], seed: str) -> list[T]:
    return Random(seed).sample(list(items), len(items))  # noqa: S311

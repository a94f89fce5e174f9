"""From what replies say to comparisons of associations, and to questions without an answer."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np

from curation.records import PAIRS, Cat, Comparison, Pair, Rejection
from curation.scores.asking import cat_digest
from curation.scores.choice.asking import Asked, ChatQuestion
from curation.stats.intervals import Floats

RULE = "choice"
EVEN = 1e-5
"""Probabilities of the two orders that differ by no more than this are equal: rounding errors of
models reach 1e-6, and would decide which association a model prefers that has no preference."""
Replicate = tuple[str, int]  # prompt and sample


def preferred(plain: Floats, swapped: Floats) -> Floats:
    """Which association each replicate prefers: 1 for the pair's first, 0 for its second, 0.5.

    In the swapped order, the first letter is the pair's second association. So the mean probability
    of the first association over both orders is (plain + 1 − swapped) / 2.

    Args:
        plain: the probability of the first letter if the pair's first association is shown first.
        swapped: the same if its second association is shown first.

    >>> preferred(np.array([0.9, 0.2, 0.7]), np.array([0.3, 0.2, 0.700001]))
    array([1. , 0.5, 0.5])
    """
    difference = plain - swapped
    even = np.abs(difference) <= EVEN
    return np.asarray(np.where(even, 0.5, difference > 0), float)


def on_one_basis(asked: Sequence[Asked]) -> list[Asked]:
    """What replies say, so that both orders of a replicate are read in the same way.

    If only one of the two replies has probabilities, as with servers that send requests to several
    machines, both count by the letter that they name: 1 or 0. Else the reply without probabilities
    would outweigh the other one.
    """
    basis: dict[tuple[object, ...], set[bool]] = {}
    for each in asked:
        if each.reading.letter:
            basis.setdefault(_replicate(each), set()).add(each.reading.sure)
    return [
        each._replace(
            reading=each.reading._replace(first=float(each.reading.letter == "first"), sure=True)
        )
        if each.reading.letter and len(basis[_replicate(each)]) == 2
        else each
        for each in asked
    ]


def _replicate(asked: Asked) -> tuple[object, ...]:
    return asked.cat, asked.pair, asked.prompt, asked.sample


def compare(
    cats: Sequence[Cat], asked: Iterable[Asked], *, model: str, variant: str = ""
) -> list[Comparison]:
    """The comparisons that replies make.

    A replicate, which is one prompt in one sample, counts only if both orders have an answer. Its p
    is the mean over both orders of the probability of the pair's first association. It is won if
    p > 1/2, lost if p < 1/2, and split if p = 1/2 (``preferred``). A pair without any such
    replicate is left out.

    Args:
        cats: the CATs.
        asked: what the replies say, in any order; replies about other CATs are ignored.
        model: the model's name.
        variant: how the texts were altered.

    Returns:
        In the order of the CATs and of ``PAIRS``. ``p`` is None if a reply that counts gives no
        probabilities.
    """
    orders: dict[tuple[str, Pair], dict[Replicate, dict[bool, Asked]]] = {}
    for each in asked:
        if each.reading.first is not None:
            of_pair = orders.setdefault((each.cat, each.pair), {})
            of_pair.setdefault((each.prompt, each.sample), {})[each.swapped] = each
    comparisons = []
    for cat in cats:
        digest = ""
        for pair in PAIRS:
            of_pair = orders.get((cat.id, pair), {})
            both = [of_pair[key] for key in sorted(of_pair) if len(of_pair[key]) == 2]
            if not both:
                continue
            digest = digest or cat_digest(cat, variant=variant)
            comparisons.append(_comparison(model, cat.id, pair, digest, both))
    return comparisons


def _comparison(
    model: str, cat: str, pair: Pair, digest: str, both: Sequence[Mapping[bool, Asked]]
) -> Comparison:
    plain = [order[False].reading for order in both]
    swapped = [order[True].reading for order in both]
    firsts = [(a.first or 0.0, b.first or 0.0) for a, b in zip(plain, swapped, strict=True)]
    values = preferred(*np.array(firsts).T)
    known = not any(reading.sure for reading in (*plain, *swapped))
    return Comparison(
        model=model,
        rule=RULE,
        cat=cat,
        pair=pair,
        won=float((values == 1).mean()),
        split=float((values == 0.5).mean()),
        p=min(max(fmean((a + 1 - b) / 2 for a, b in firsts), 0.0), 1.0) if known else None,
        replicates=len(firsts),
        asked=digest,
    )


def unanswered(
    cats: Sequence[Cat],
    questions: Iterable[ChatQuestion],
    asked: Iterable[Asked],
    *,
    model: str,
    variant: str = "",
) -> list[Rejection]:
    """The questions without an answer although a reply came, in order, with the reason.

    Args:
        cats: the CATs.
        questions: the questions; those without a reply are left out.
        asked: what the replies say, in any order.
        model: the model's name.
        variant: how the texts were altered.
    """
    by_id = {cat.id: cat for cat in cats}
    none = {each[:5]: each.reading for each in asked if each.reading.first is None}
    digests: dict[str, str] = {}
    rejections = []
    for question in questions:
        reading, place = none.get(question.place), question.place
        if reading is None:
            continue
        cat = by_id[place.cat]
        if cat.id not in digests:
            digests[cat.id] = cat_digest(cat, variant=variant)
        about = {"target": cat.target, "domain": cat.domain, "kind": cat.kind}
        record = {
            **place._asdict(),
            "asked": question.digest,
            "texts": digests[cat.id],
            "rule": RULE,
            **about,
        }
        rejections.append(
            Rejection(code=reading.code, detail=reading.detail, where=model, record=record)
        )
    return rejections

"""How people read neutral associations: as stereotype, anti-stereotype or unrelated."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.kinds import CAT_KINDS, GOLDS
from curation.records import VALUES, Item, Label, Term
from curation.stats.agreement import coefficient
from curation.stats.intervals import Interval, share_interval
from curation.text.rules import grouped

SEVERAL = 2  # validators that the paper calls multiple
BESIDE = "beside: "
"""How the groups of the associations begin beside which the neutral ones were labelled."""


class Reading(NamedTuple):
    """How a group of associations was read; shares are in per cent, None without labels.

    Attributes:
        group: all, a kind or a domain; or what the writers of those beside meant.
        associations: how many have labels.
        labels: how many labels they have.
        shares: by label, the share of the labels.
        intervals: by label, the interval of that share over terms.
        leaning: the share of stereotypes among the labels stereotype and anti-stereotype.
        leaning_ci: its interval over terms.
        several: the share of associations that at least ``SEVERAL`` people read as a stereotype, or
            as many as an anti-stereotype.
        majority: by label and "none", the share of associations with enough votes for it.
        alpha: Krippendorff's alpha; None if it is not defined.
    """

    group: str
    associations: int
    labels: int
    shares: dict[str, float | None]
    intervals: dict[str, Interval | None]
    leaning: float | None
    leaning_ci: Interval | None
    several: float | None
    majority: dict[str, float | None]
    alpha: float | None


class NeutralReport(NamedTuple):
    """How neutral associations were read.

    Attributes:
        written: how many neutral associations were written.
        readings: all of them, by kind, by domain; then those beside which they were labelled.
        paper: what the paper says of each figure; it prints no share.
        meaning: what the figures mean for the ideal ss of 50, in sentences.
    """

    written: int
    readings: list[Reading]
    paper: dict[str, str]
    meaning: list[str]


def report(
    items: Sequence[Item],
    labels: Iterable[Label],
    terms: Mapping[str, Term],
    *,
    needed: int,
    confidence: float = 0.95,
) -> NeutralReport:
    """How people read neutral associations (ACL §4.2, A.4, Table 9).

    The intervals are those of shares over terms. A term's neutral associations, and the labels of
    each, resemble each other.

    Args:
        items: the items whose last association is the neutral one, without an intent.
        labels: the labels that were let in.
        terms: the terms by id.
        needed: how many votes are a majority.
        confidence: of the intervals.
    """
    given = grouped(((label.item, label.association), label.value) for label in labels)
    rows: list[tuple[str, str, Counter[str]]] = []  # group, term and votes of an association
    for item in items:
        *beside, neutral = item.associations
        votes = Counter[str](given[item.id, neutral.id])
        rows += [(name, item.term, votes) for name in ("all", item.kind, terms[item.term].domain)]
        for each in beside:
            name = f"{BESIDE}{each.intent or each.published_gold}"
            rows.append((name, item.term, Counter[str](given[item.id, each.id])))
    by_group = grouped((name, (term, votes)) for name, term, votes in rows if votes)
    domains = sorted({term.domain for term in terms.values()})
    order = ("all", *CAT_KINDS, *domains, *(f"{BESIDE}{gold}" for gold in GOLDS))
    readings = [
        _reading(name, by_group[name], needed=needed, confidence=confidence)
        for name in dict.fromkeys(order)
        if by_group[name]
    ]
    paper = _texts()["paper"]
    return NeutralReport(len(items), readings, paper, _meaning(readings[0]) if readings else [])


def _reading(
    group: str, of: Sequence[tuple[str, Counter[str]]], *, needed: int, confidence: float
) -> Reading:
    """How the associations of a group were read, from the term and the votes of each."""
    votes = np.array([[each[value] for value in VALUES] for _, each in of])
    names = sorted({term for term, _ in of})
    by_term = np.zeros((len(names), len(VALUES)))
    np.add.at(by_term, [names.index(term) for term, _ in of], votes)
    sides = by_term[:, 0] + by_term[:, 1]
    enough = votes[:, : len(GOLDS)] >= needed

    def share(part: Any, whole: Any) -> float | None:
        return 100 * float(part) / float(whole) if whole else None

    def interval(won: Any, out_of: Any) -> Interval | None:
        told = out_of > 0
        ends = share_interval(
            won[told], out_of[told], observations=float(out_of.sum()), confidence=confidence
        )
        return ends and [100 * end for end in ends]

    total = by_term.sum(axis=1)
    majority = [*enough.sum(axis=0), (~enough.any(axis=1)).sum()]
    return Reading(
        group=group,
        associations=len(of),
        labels=int(votes.sum()),
        shares={v: share(by_term[:, n].sum(), total.sum()) for n, v in enumerate(GOLDS)},
        intervals={value: interval(by_term[:, n], total) for n, value in enumerate(GOLDS)},
        leaning=share(by_term[:, 0].sum(), sides.sum()),
        leaning_ci=interval(by_term[:, 0], sides),
        several=share((votes[:, :2] >= SEVERAL).any(axis=1).sum(), len(of)),
        majority={v: share(n, len(of)) for v, n in zip((*GOLDS, "none"), majority, strict=True)},
        alpha=coefficient("alpha", votes),
    )


@cache
def _texts() -> dict[str, dict[str, str]]:
    """What the paper says, and the sentences on the ideal of 50, by name."""
    path = shipped("data", "published", "neutral.toml")
    return dict(read_toml(path, fix="install curation again"))


def _meaning(every: Reading) -> list[str]:
    """What the figures of all neutral associations mean for the ideal of 50."""

    def name(ends: Interval | None, below: str, around: str, above: str) -> str:
        low, high = ends or (0, 100)
        return below if high < 50 else above if low > 50 else around

    sided = sum(every.shares[gold] or 0 for gold in GOLDS[:2])
    names = [name(every.intervals["unrelated"], "sided", "unclear", "apart")]
    if every.leaning is not None:
        names.append(name(every.leaning_ci, "anti", "even", "stereotype"))
    return [_texts()["meaning"][n].format(sided=sided, leaning=every.leaning) for n in names]

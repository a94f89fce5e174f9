"""How negative and positive the associations of each label are (ACL §4.4, Table 2).

The text is the filled sentence (intrasentence) or the association's sentence (intersentence). With
two classes, neutral counts as positive, as in the paper's classifier; with three, it is a class of
its own. Shares are of associations. Intervals are over target terms (``docs/intervals.md``). The
test of stereotype against anti-stereotype swaps the two in whole terms, because a term's CATs
resemble one another.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from curation.kinds import CAT_KINDS, GOLDS
from curation.records import Cat, Fields
from curation.stats.intervals import FEW, Interval, mean_interval, share_interval
from curation.stats.tests import swap_test
from curation.text.words import CLEAR, vader

CLASSES = ("negative", "neutral", "positive")
PAPER = {"stereotype": 41.0, "anti-stereotype": 33.0}
"""Negative associations in StereoSet, in percent (ACL Table 2)."""

Floats = NDArray[np.float64]


class Feeling(NamedTuple):
    """The sentiment of a text: one of ``CLASSES``, and a value from −1 (most negative) to 1."""

    name: str
    value: float


class Share(TypedDict):
    """The share of a class in per cent, with its interval over terms."""

    share: float
    ci: Interval | None


class Difference(TypedDict):
    """The negative share of stereotypes minus that of anti-stereotypes, in percentage points.

    ``p`` is two-sided.
    """

    value: float
    ci: Interval | None
    p: float


class SentimentRow(TypedDict):
    """A group of CATs: a kind, a domain, both, or all; ``labels`` has each label's shares."""

    kind: str | None
    domain: str | None
    cats: int
    terms: int
    few_terms: bool
    labels: dict[str, dict[str, Share]]
    difference: Difference


class Sentiment(TypedDict):
    """The content of ``sentiment.json``; ``by`` has the classifier and its version or settings."""

    language: str
    classes: int
    by: Fields
    rows: list[SentimentRow]


def by_vader(cats: Iterable[Cat], *, language: str) -> dict[str, Feeling]:
    """The sentiment of each association by VADER, by the association's id.

    A text is negative at −0.05 or below and positive from 0.05, as VADER's authors recommend.

    Raises:
        NotCheckedError: the language is not English, or vaderSentiment is not installed.
    """
    associations = [a for cat in cats for a in cat.associations]
    values = vader((a.sentence for a in associations), language=language)
    return {a.id: Feeling(class_of(v), v) for a, v in zip(associations, values, strict=True)}


def class_of(value: float) -> str:
    """The class of a compound score.

    >>> class_of(-0.05), class_of(0.049), class_of(0.3)
    ('negative', 'neutral', 'positive')
    """
    return "negative" if value <= -CLEAR else "positive" if value >= CLEAR else "neutral"


def sentiment(
    cats: Sequence[Cat],
    feelings: Mapping[str, Feeling],
    *,
    classes: int = 2,
    seed: int = 1,
) -> list[SentimentRow]:
    """Shares of negative and positive texts by label, and how much more negative stereotypes are.

    Args:
        cats: the CATs.
        feelings: the sentiment of each association by its id.
        classes: 2, so that neutral counts as positive, or 3.
        seed: of the swaps that are drawn.

    Returns:
        One row for all CATs, each kind, each domain, and each domain of a kind.
        A group without CATs has no row.

    Raises:
        KeyError: an association has no feeling.
    """
    groups: list[tuple[str | None, str | None]] = [
        (None, None),
        *((kind, None) for kind in CAT_KINDS),
    ]
    domains = sorted({cat.domain for cat in cats})
    groups += [(None, domain) for domain in domains]
    groups += [(kind, domain) for kind in CAT_KINDS for domain in domains]
    rows = []
    for kind, domain in groups:
        own = [c for c in cats if kind in (None, c.kind) and domain in (None, c.domain)]
        if own:
            counts = _counts(own, feelings, classes)
            rows.append(_row(kind, domain, len(own), counts, classes=classes, seed=seed))
    return rows


def _counts(cats: Sequence[Cat], feelings: Mapping[str, Feeling], classes: int) -> Floats:
    """How many associations of each term (axis 0) and label (1) have each class (2)."""
    counts: dict[str, Floats] = defaultdict(lambda: np.zeros((len(GOLDS), len(CLASSES))))
    for cat in cats:
        for a in cat.associations:
            name = feelings[a.id].name
            name = "positive" if classes == 2 and name == "neutral" else name
            counts[f"{cat.domain}/{cat.term}"][GOLDS.index(a.gold), CLASSES.index(name)] += 1
    return np.array(list(counts.values()))


def _row(
    kind: str | None, domain: str | None, cats: int, table: Floats, *, classes: int, seed: int
) -> SentimentRow:
    shares = ("negative", "positive") if classes == 2 else CLASSES
    worse, better = (table[:, GOLDS.index(gold), 0] for gold in ("stereotype", "anti-stereotype"))
    sizes = table.sum(axis=2)  # of each term, the CATs that have an association of each label
    cats_of_term = sizes[:, 0]
    ends = _percent(mean_interval(worse - better, cats_of_term))
    return {
        "kind": kind,
        "domain": domain,
        "cats": cats,
        "terms": len(table),
        "few_terms": len(table) < FEW,
        "labels": {
            gold: {name: _share(table[:, n, CLASSES.index(name)], sizes[:, n]) for name in shares}
            for n, gold in enumerate(GOLDS)
            if sizes[:, n].any()
        },
        "difference": {
            "value": 100 * float((worse - better).sum() / cats_of_term.sum()),
            "ci": ends and [max(-100.0, ends[0]), min(100.0, ends[1])],
            "p": swap_test(worse - better, seed=seed),
        },
    }


def _share(of_class: Floats, sizes: Floats) -> Share:
    there = sizes > 0
    ends = share_interval(of_class[there], sizes[there], observations=float(sizes.sum()))
    return {"share": 100 * float(of_class.sum() / sizes.sum()), "ci": _percent(ends)}


def _percent(ends: Interval | None) -> Interval | None:
    return ends and [100 * end for end in ends]

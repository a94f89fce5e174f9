"""How negative and positive the associations of each label are (ACL §4.4, Table 2).

Of the filled sentence (intrasentence), or of the association's sentence (intersentence). With two
classes neutral counts as positive, as the paper's classifier has it; with three it is on its own.
Shares are of associations. Intervals are over target terms (``docs/intervals.md``); the test of
stereotype against anti-stereotype swaps the two in whole terms, for a term's CATs resemble one
another.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.records import GOLDS, KINDS, Cat
from curation.sentiment import CLEAR, vader
from curation.stats.intervals import FEW, Interval, mean_interval, share_interval

ALGORITHM = 2
SWAPS = 10_000  # drawn, where there are more than can be gone through
_AT_ONCE = 1_000_000  # signs held at once: 16 MB
ALL_SWAPS = 12  # terms up to which all swaps are gone through
CLASSES = ("negative", "neutral", "positive")
PAPER = {"stereotype": 41.0, "anti-stereotype": 33.0}
"""Negative associations in StereoSet, in percent (ACL Table 2)."""

Floats = NDArray[np.float64]


class Feeling(NamedTuple):
    """What is said of a text: one of ``CLASSES``, and from −1, most negative, to 1."""

    name: str
    value: float


def by_vader(cats: Iterable[Cat], *, language: str) -> dict[str, Feeling]:
    """The sentiment of each association by VADER, by the association's id.

    Negative and positive from 0.05 on either side of 0, as its authors recommend.

    Raises:
        NotCheckedError: the language is not English, or vaderSentiment is not installed.
    """
    every = [a for cat in cats for a in cat.associations]
    found = vader((a.sentence for a in every), language=language)
    return {a.id: Feeling(named(value), value) for a, value in zip(every, found, strict=True)}


def named(value: float) -> str:
    """The class of a compound score.

    >>> named(-0.05), named(0.049), named(0.3)
    ('negative', 'neutral', 'positive')
    """
    return "negative" if value <= -CLEAR else "positive" if value >= CLEAR else "neutral"


def sentiment(
    cats: Sequence[Cat],
    feelings: Mapping[str, Feeling],
    *,
    classes: int = 2,
    seed: int = 1,
) -> list[dict[str, Any]]:
    """Shares by label, and how far stereotypes are the more negative.

    Args:
        cats: the CATs.
        feelings: of each association by its id.
        classes: 2, neutral counting as positive, or 3.
        seed: of the swaps that are drawn.

    Returns:
        A row for overall, each kind, each domain, and each domain of a kind. Each has ``cats``,
        ``terms``, ``few_terms``; ``labels``, by label the share of each class in percent with its
        interval; and ``difference``, the negative share of stereotypes less that of
        anti-stereotypes in percentage points, with ``ci`` and ``p`` (two-sided). An empty group
        has no row.

    Raises:
        KeyError: an association has no feeling.
    """
    groups: list[tuple[str | None, str | None]] = [(None, None), *((kind, None) for kind in KINDS)]
    domains = sorted({cat.domain for cat in cats})
    groups += [(None, domain) for domain in domains]
    groups += [(kind, domain) for kind in KINDS for domain in domains]
    rows = []
    for kind, domain in groups:
        own = [c for c in cats if kind in (None, c.kind) and domain in (None, c.domain)]
        if own:
            found = _measured(own, feelings, classes=classes, seed=seed)
            rows.append({"kind": kind, "domain": domain, **found})
    return rows


def _measured(
    cats: Sequence[Cat],
    feelings: Mapping[str, Feeling],
    *,
    classes: int,
    seed: int,
) -> dict[str, Any]:
    shares = ("negative", "positive") if classes == 2 else CLASSES
    counts: dict[str, Floats] = defaultdict(lambda: np.zeros((len(GOLDS), len(CLASSES))))
    for cat in cats:
        for a in cat.associations:
            name = feelings[a.id].name
            name = "positive" if classes == 2 and name == "neutral" else name
            counts[f"{cat.domain}/{cat.term}"][GOLDS.index(a.gold), CLASSES.index(name)] += 1
    table = np.array(list(counts.values()))
    worse, better = (table[:, GOLDS.index(gold), 0] for gold in ("stereotype", "anti-stereotype"))
    sizes = table[:, 0].sum(axis=1)  # every CAT has one association of each label
    return {
        "cats": len(cats),
        "terms": len(counts),
        "few_terms": len(counts) < FEW,
        "labels": {
            gold: {
                name: _share(table[:, GOLDS.index(gold), CLASSES.index(name)], sizes)
                for name in shares
            }
            for gold in GOLDS
        },
        "difference": {
            "value": 100 * float((worse - better).sum() / sizes.sum()),
            "ci": _clipped(_percent(mean_interval(worse - better, sizes))),
            "p": swap_test(worse - better, seed=seed),
        },
    }


def _share(of_class: Floats, sizes: Floats) -> dict[str, Any]:
    """The share of a class in percent, with its interval over terms."""
    ends = share_interval(of_class, sizes, observations=float(sizes.sum()))
    return {"share": 100 * float(of_class.sum() / sizes.sum()), "ci": _percent(ends)}


def _clipped(ends: Interval | None) -> Interval | None:
    return ends and [max(-100.0, ends[0]), min(100.0, ends[1])]


def _percent(ends: Interval | None) -> Interval | None:
    return ends and [100 * end for end in ends]


def swap_test(gaps: Floats, *, seed: int) -> float:
    """How likely a gap at least so large is if the two labels could be swapped in any term.

    Two-sided. All swaps are gone through up to twelve terms, 10,000 are drawn of more, and what
    was seen counts as one of them (Phipson & Smyth 2010).

    Args:
        gaps: of each term, how many more of the one than of the other are negative.
        seed: of the draws.

    >>> swap_test(np.array([2.0, 1.0, 1.0]), seed=1)  # of 8 swaps two are as far from 0
    0.25
    """
    seen = abs(gaps.sum()) - 1e-9
    if len(gaps) <= ALL_SWAPS:
        signs = 1.0 - 2 * ((np.arange(2 ** len(gaps))[:, None] >> np.arange(len(gaps))) & 1)
        return float((abs(signs @ gaps) >= seen).mean())
    draw = np.random.default_rng(seed)
    found, step = 0, max(1, _AT_ONCE // len(gaps))
    for start in range(0, SWAPS, step):
        signs = draw.choice([-1.0, 1.0], size=(min(step, SWAPS - start), len(gaps)))
        found += int((abs(signs @ gaps) >= seen).sum())
    return (1 + found) / (1 + SWAPS)

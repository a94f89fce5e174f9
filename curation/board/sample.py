"""The recheck of a row: how many CATs are drawn, and whether a model's own scores agree with it.

A CAT's *order* is what its three comparisons are: which of two associations has the higher score,
or neither. Orders decide lms, ss and icat, so a row can only be improved by other orders. Scores
show, beyond that, that they are of this model and rule at all.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from curation.board.log import Compared
from curation.records import Cat, Kind

SHARE, FOUND = 0.05, 0.95
"""A row with this share of its CATs altered is found with at least this probability."""
HONEST = 0.99
"""An honest row agrees with at least this probability."""


class Precision(NamedTuple):
    """What may differ if a model is run with the same number format on another machine.

    Attributes:
        relative: the largest relative difference of a score.
        turns: the share of CATs whose order turns, because two scores are nearly the same.
    """

    relative: float
    turns: float


PRECISIONS = {
    "float32": Precision(2e-5, 0.0),
    "float16": Precision(2e-3, 0.01),
    "bfloat16": Precision(1e-2, 0.01),
}
"""By number format.

Measured between CPU and GPU, the largest relative difference is 1.4e-6 in float32 and 1.9e-3 in
bfloat16; float16 is eight times as fine as bfloat16. The limits leave a factor of at least five. If
scores of four models on 334 CATs of StereoSet move by a normal error with 1.9e-3 as three standard
deviations, the order of 0.1 to 1.0 % of the CATs turns. In float32, none does.
"""
_LEAST = {"ratio": 50.0, "nsp": 10.0}
"""The size of the numbers, in nats, whose difference a rule's score is: it may be near 0."""


_FAR = 1e9  # a relative difference; a larger one is shown as this, so never as infinite
_MOST = 400  # CATs: more than any set needs


class Size(NamedTuple):
    """A sample: how many CATs are drawn, and how many may have another order."""

    cats: int
    turned: int


def size(cats: int, format: str) -> Size:
    """How many CATs to draw for a recheck.

    The smallest number for which both hold: of an honest row, more than ``turned`` orders turn with
    a probability of at most 1 - HONEST (binomial). If SHARE of all CATs have another order, more
    than ``turned`` of them are drawn with a probability of at least FOUND (hypergeometric).

    Args:
        cats: how many CATs the test set has.
        format: the number format of the model when it was scored.

    Returns:
        The size; all CATs if there are too few for both.

    >>> size(1_000, "float32"), size(1_000, "bfloat16"), size(10, "bfloat16")
    (Size(cats=57, turned=0), Size(cats=221, turned=6), Size(cats=10, turned=0))
    """
    import numpy as np
    from scipy.stats import binom, hypergeom

    altered, drawn = math.ceil(SHARE * cats), np.arange(1, min(cats, _MOST) + 1)
    turned = binom.ppf(HONEST, drawn, PRECISIONS[format].turns).astype(int)
    enough = hypergeom.cdf(turned, cats, altered, drawn) <= 1 - FOUND
    first = int(enough.argmax()) if enough.any() else cats - 1
    return Size(first + 1, min(int(turned[first]), altered - 1))


def compare(
    cats: Sequence[Cat],
    sent: Mapping[str, float],
    scored: Mapping[str, float],
    *,
    rules: Mapping[Kind, str],
    format: str,
    turned: int,
) -> Compared:
    """Compare the scores of a row with those of the model itself.

    Args:
        cats: the sample.
        sent: the scores of the row, by association.
        scored: those of the model; a CAT without one counts as beyond the tolerance.
        rules: by kind of CAT.
        format: the number format.
        turned: in how many CATs the order may differ.

    Returns:
        ``agrees`` if no score is beyond the tolerance, and at most ``turned`` orders differ.
    """
    orders = beyond = 0
    largest = 0.0
    for cat in cats:
        ids = [association.id for association in cat.associations]
        if any(id not in scored for id in ids):
            beyond += 1
            continue
        least = _LEAST.get(rules[cat.kind], 1.0)
        apart = max(abs(sent[id] - scored[id]) / max(abs(scored[id]), least) for id in ids)
        beyond += apart > PRECISIONS[format].relative
        orders += _order(ids, sent) != _order(ids, scored)
        largest = max(largest, min(apart, _FAR))
    agrees, largest = not beyond and orders <= turned, float(f"{largest:.3g}")
    counts = {"cats": len(cats), "orders": orders, "beyond": beyond}
    return Compared(agrees=agrees, largest=largest, **counts)


def _order(ids: Sequence[str], scores: Mapping[str, float]) -> list[int]:
    pairs = combinations((scores[id] for id in ids), 2)
    return [(a > b) - (a < b) for a, b in pairs]

"""Means over terms with their intervals, and how many more terms would decide."""

import math
from collections.abc import Sequence

import numpy as np

from curation.bias import Pair
from curation.stats.intervals import FEW, Floats, mean_interval
from curation.stats.metrics import percent_interval
from curation.wording import amount

CHANCE = 50.0


def share_of_terms(
    means: Floats, *, cats: int, confidence: float
) -> tuple[float | None, Pair | None, int]:
    """The mean of percentages over terms, its interval, and the number of terms.

    With fewer than five terms an interval says little, so there is none.

    Args:
        means: shape (terms,), NaN for terms without a value.
        cats: how many CATs there are in all.
        confidence: of the interval.
    """
    values = means[~np.isnan(means)]
    if not len(values):
        return None, None, 0
    ci = percent_interval(values, observations=cats, confidence=confidence)
    known = ci is not None and len(values) >= FEW
    return float(values.mean()), (ci[0], ci[1]) if ci and known else None, len(values)


def change_over_terms(
    differences: Floats, *, confidence: float
) -> tuple[float | None, Pair | None, int]:
    """The mean difference over terms with Student's interval, and the number of terms.

    If all terms differ by the same amount, the interval is that amount alone: there is no
    variance. With fewer than five terms there is no interval.

    Args:
        differences: shape (terms,), NaN for terms without a value.
        confidence: of the interval.
    """
    values = differences[~np.isnan(differences)]
    if not len(values):
        return None, None, 0
    mean = float(values.mean())
    if len(values) < FEW:
        return mean, None, len(values)
    ci = mean_interval(values, confidence=confidence) or [mean, mean]
    return mean, (ci[0], ci[1]), len(values)


def more_terms(value: float, ci: Sequence[float] | None, limit: float, terms: int) -> str:
    """About how many more terms decide whether a value is beyond a limit.

    The half-width of an interval shrinks with the root of the number of terms.

    >>> more_terms(56.0, (44.0, 68.0), 50.0, 10)  # the half-width must fall from 12 to 6
    'about 30 more terms, if the value stays'
    >>> more_terms(51.0, (41.0, 61.0), 50.0, 30)
    'more than 1,000 more terms, if the value stays'
    """
    if ci is None:
        return "CATs of at least 5 terms"
    distance, half = abs(value - limit), (ci[1] - ci[0]) / 2
    if distance < 1e-9 or half / distance > 100:
        return "many more terms: the value is at the limit"
    needed = math.ceil(terms * (half / distance) ** 2 - 1e-9) - terms
    if needed > 1000:
        return "more than 1,000 more terms, if the value stays"
    return f"about {amount(max(1, needed), 'more term')}, if the value stays"


def span(ci: Sequence[float] | None, digits: int = 1) -> str:
    """An interval as text.

    >>> span((1.0, 2.25)), span(None)
    ('[1.0, 2.2]', 'no interval')
    """
    return "no interval" if ci is None else f"[{ci[0]:.{digits}f}, {ci[1]:.{digits}f}]"

"""Agreement measures from per-CAT sums, so that leaving a CAT out is a subtraction.

Votes have shape (associations, classes). Each measure reads sums of what single associations
add.
"""

from collections.abc import Callable, Sequence

import krippendorff
import numpy as np
from numpy.typing import NDArray

from curation.stats.intervals import Floats, Interval, mean_interval, pseudo_values

Counts = NDArray[np.int64]
_ROUNDING = 1e-12  # a disagreement below this is none
_LEAST = -1.0  # no measure is lower


def contributions(votes: Counts) -> Floats:
    """What each association adds to the sums that the measures read.

    Args:
        votes: shape (n, c).

    Returns:
        Shape (n, 2c + 4): votes by class of the pairable associations (two votes or more), their
        observed coincidences, 1 if pairable, share of agreeing pairs, 1 if voted at all, share
        of each class among the votes.
    """
    n = votes.sum(axis=1)
    pairable, voted = n >= 2, n >= 1
    agreeing = (votes * (votes - 1)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        coincidences = np.where(pairable, agreeing / (n - 1), 0.0)
        pairs = np.where(pairable, agreeing / (n * (n - 1)), 0.0)
        shares = np.where(voted[:, None], votes / n[:, None], 0.0)
    return np.column_stack(
        [votes * pairable[:, None], coincidences, pairable, pairs, voted, shares]
    )


def alpha(sums: Floats) -> Floats:
    """Krippendorff's alpha for nominal data (Krippendorff 2011) of sums of contributions.

    Args:
        sums: shape (r, 2c + 4).

    Returns:
        Shape (r,); NaN where no two votes differ, or none can be paired.
    """
    c = (sums.shape[1] - 4) // 2
    by_class, coincidences = sums[:, :c], sums[:, c]
    n = by_class.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = n - coincidences
        expected = (n**2 - (by_class**2).sum(axis=1)) / (n - 1)
        return np.asarray(np.where(expected > 0, 1 - observed / expected, np.nan))


def _observed(sums: Floats) -> tuple[Floats, Floats]:
    c = (sums.shape[1] - 4) // 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[:, c + 2] / sums[:, c + 1], sums[:, c + 4 :] / sums[:, c + 3, None]


def fleiss(sums: Floats) -> Floats:
    """Fleiss' kappa for unequal numbers of raters (Fleiss 1971; Gwet 2014, ch. 2.4).

    Observed agreement is the mean share of agreeing pairs over pairable associations, chance
    agreement comes from the mean share of each class over all that were voted on.
    """
    observed, shares = _observed(sums)
    chance = (shares**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(chance < 1, (observed - chance) / (1 - chance), np.nan))


def ac1(sums: Floats) -> Floats:
    """Gwet's AC1 (Gwet 2008, eq. 10, for several raters), classes without any vote left out."""
    observed, shares = _observed(sums)
    used = int((shares.sum(axis=0) > 0).sum())
    chance = (shares * (1 - shares)).sum(axis=1) / max(used - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((observed - chance) / (1 - chance))


MEASURES: dict[str, Callable[[Floats], Floats]] = {"alpha": alpha, "fleiss": fleiss, "ac1": ac1}


def figure(measure: str, votes: Counts) -> float | None:
    """A measure of votes of shape (n, c); alpha by the package krippendorff.

    Returns:
        The figure, or None where the votes define none: nothing to pair, or one class only.
    """
    pairable = votes[votes.sum(axis=1) >= 2]
    if (pairable.sum(axis=0) > 0).sum() < 2:
        return None
    if measure == "alpha":
        return float(krippendorff.alpha(value_counts=pairable, level_of_measurement="nominal"))
    return float(MEASURES[measure](contributions(votes).sum(axis=0, keepdims=True))[0])


def interval(measure: str, units: Floats, *, confidence: float = 0.95) -> Interval | None:
    """The interval of a measure over CATs, by the jackknife (Efron & Tibshirani 1993, chapter 11).

    CATs are left out one by one. The logarithm of 1 − measure, the disagreement relative to chance,
    varies more evenly than the measure, so pseudo-values and Student's t are of this logarithm;
    where there is none, because all disagreement is in one CAT, they are of the measure.

    Args:
        measure: a name in ``MEASURES``.
        units: shape (CATs, 2c + 4), of ``by_cat``.
        confidence: of the interval.

    Returns:
        Lower and upper bound, from -1 to 1; None with fewer than two CATs, where nobody disagrees,
        where all CATs are alike, or where the measure is not defined for all of them or without one
        of them.
    """

    def disagreement(sums: Floats) -> Floats:
        found = 1 - MEASURES[measure](sums)
        return np.asarray(np.where(found > _ROUNDING, found, 0.0 * found))  # NaN stays

    def logarithm(sums: Floats) -> Floats:
        return np.asarray(np.log(disagreement(sums)))

    if len(units) < 2:
        return None
    whole = units.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        if not disagreement(whole)[0] > 0:
            return None
        ends = _jackknife(logarithm, units, confidence=confidence)
        found = ends and [float(np.exp(end)) for end in ends]
        found = found or _jackknife(disagreement, units, confidence=confidence)
    return found and [min(1.0, max(_LEAST, 1 - end)) for end in reversed(found)]


def _jackknife(
    statistic: Callable[[Floats], Floats], units: Floats, *, confidence: float
) -> Interval | None:
    """Student's t interval about a statistic, by its pseudo-values; None where one is missing."""
    values = pseudo_values(statistic, units)
    if not np.isfinite(values).all():
        return None
    whole = float(statistic(units.sum(axis=0, keepdims=True))[0])
    return mean_interval(values - values.mean() + whole, confidence=confidence)


def by_cat(values: Floats, cats: Sequence[int] | NDArray[np.int64]) -> Floats:
    """Sums of association rows by CAT: shape (n, k) to (number of CATs, k), in their order."""
    _, place = np.unique(cats, return_inverse=True)
    sums = np.zeros((int(place.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, place, values)
    return sums

"""95 % intervals of values over units that are sampled as a whole: target terms, or CATs.

Nothing here draws random numbers. ``docs/intervals.md`` has the methods with their sources, and
their measured coverage; ``benchmarks/coverage.py`` measures it.

Sources: Wilson 1927; effective sample size of clustered data, Korn & Graubard 1998 and Dean &
Pagano 2015; linearization of ratios, Cochran 1977 §6.3; jackknife, Efron & Tibshirani 1993
chapter 11, and of clusters of unequal size, Bell & McCaffrey 2002; effective number, Kish 1965.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Interval = list[float]
FEW = 5  # with fewer terms than this an interval says little, and the value is flagged
FEW_CATS = 20  # with fewer CATs than this the interval of a single term is too wide
FEW_CLUSTERS = 20  # with fewer clusters of items than this an interval covers 96 to 100 %
_LEAST_EFFECTIVE = 2.0  # with a smaller effective number of clusters there is no interval


def t_quantile(confidence: float, df: float) -> float:
    """The value t such that Student's t is between −t and t with this probability.

    Args:
        confidence: for example 0.95.
        df: degrees of freedom, at least 1.

    >>> round(t_quantile(0.95, 4), 3), round(t_quantile(0.95, 79), 3)
    (2.776, 1.99)
    """
    from scipy.special import stdtrit  # here, so that commands without statistics start fast

    return float(stdtrit(df, (1 + confidence) / 2))


def share_interval(
    won: Floats,
    of: Floats | None = None,
    *,
    observations: float,
    confidence: float = 0.95,
    extra: float = 0.0,
) -> Interval | None:
    """Wilson's interval of a share, with the effective sample size that the units show.

    The share is the sum of ``won`` over the sum of ``of``. Without ``of`` it is the mean of
    ``won``, so every unit weighs the same. Its variance comes from how the units differ. A simple
    random sample of n = p (1 − p) / variance observations would have the same variance. The
    interval is Wilson's for that n, with the quantile of Student's t for units − 1. It stays
    within 0 and 1, and has the right coverage near 0 and 1, where a t interval does not.

    Args:
        won: shape (units,), what each unit won; without ``of`` between 0 and 1.
        of: shape (units,), out of how many; None if each unit counts once.
        observations: how many observations there are in all. Used as n if all units are alike and
            so show no variance.
        confidence: of the interval.
        extra: variance of the share that the units cannot show, such as that of a trained model.

    Returns:
        Lower and upper bound, between 0 and 1; None with fewer than two units.

    >>> low, high = share_interval(np.array([0.4, 0.6, 0.5, 0.7, 0.3]), observations=100)
    >>> round(low, 3), round(high, 3)
    (0.317, 0.683)
    >>> share_interval(np.array([1.0, 1.0, 1.0]), observations=60)[1]  # all won: not below 100 %
    1.0
    """
    units = len(won)
    if units < 2:
        return None
    weights = np.ones(units) if of is None else of
    total = float(weights.sum())
    share = float(won.sum()) / total
    variance = _variance(won - share * weights) / total**2
    spread = share * (1 - share)
    n = spread / variance if variance > 0 and spread > 0 else observations
    if extra > 0 and spread > 0:
        n = spread / (spread / n + extra)
    return wilson(share, n, t_quantile(confidence, units - 1))


class Clustered(NamedTuple):
    """A ratio of sums over clusters of very different size, and how precise it is.

    Attributes:
        ratio: the sum of what clusters won over the sum of their sizes.
        variance: of the ratio, by the jackknife: a large cluster draws the ratio to itself, so its
            residual is divided by 1 − its weight (Bell & McCaffrey 2002).
        df: degrees of freedom, Kish's effective number of clusters − 1; the number is
            1 / Σ weights².
    """

    ratio: float
    variance: float
    df: float


def clustered(won: Floats, sizes: Floats) -> Clustered | None:
    """The share of items, or a mean over items, if items come in clusters.

    Args:
        won: shape (clusters,), the sum over each cluster's items.
        sizes: shape (clusters,), the number of items of each.

    Returns:
        None if the effective number of clusters is below 2: one cluster decides, and nothing shows
        how it could have turned out.

    >>> of = clustered(np.array([1.0, 2.0, 2.0, 1.0]), np.array([2.0, 2.0, 2.0, 2.0]))
    >>> of.ratio, round(of.variance, 4), of.df  # s² / clusters = (4 · 0.25² / 3) / 4
    (0.75, 0.0208, 3.0)
    """
    count, total = len(sizes), float(sizes.sum())
    weights = sizes / total
    effective = 1 / float(weights @ weights)
    if effective < _LEAST_EFFECTIVE - 1e-9:
        return None
    ratio = float(won.sum()) / total
    residuals = (won - ratio * sizes) / (total * (1 - weights))
    variance = float(residuals @ residuals) * (count - 1) / count
    return Clustered(ratio, variance if variance > 1e-18 else 0.0, max(effective - 1, 1.0))


def clustered_share_interval(
    won: Floats, sizes: Floats, *, confidence: float = 0.95
) -> Interval | None:
    """As ``share_interval``, of a share of items that come in clusters of very different size.

    Args:
        won: as for ``clustered``, each from 0 to the cluster's size.
        sizes: as for ``clustered``. Their sum is used as n if the clusters show no variance.
        confidence: of the interval.

    Returns:
        Lower and upper bound, between 0 and 1; None as for ``clustered``.
    """
    of = clustered(won, sizes)
    if of is None:
        return None
    spread = of.ratio * (1 - of.ratio)
    n = spread / of.variance if of.variance > 0 and spread > 0 else float(sizes.sum())
    return wilson(of.ratio, n, t_quantile(confidence, of.df))


def wilson(share: float, n: float, t: float) -> Interval:
    """Wilson's interval of a share of n observations, with the quantile t of its confidence.

    >>> [round(end, 3) for end in wilson(0.5, 96.04, 1.96)]
    [0.402, 0.598]
    """
    center = (share + t * t / (2 * n)) / (1 + t * t / n)
    spread = max(share * (1 - share), 0.0)
    half = t / (1 + t * t / n) * math.sqrt(spread / n + t * t / (4 * n * n))
    return [max(0.0, center - half), min(1.0, center + half)]


def _variance(residuals: Floats) -> float:
    """The variance of a sum over units, from residuals whose sum is 0; rounding errors give 0."""
    units = len(residuals)
    variance = float(residuals @ residuals) * units / (units - 1)
    return variance if variance > 1e-18 * units else 0.0


def mean_interval(
    values: Floats, of: Floats | None = None, *, confidence: float = 0.95
) -> Interval | None:
    """Student's t interval of a mean over units, or of a ratio of sums.

    Args:
        values: shape (units,).
        of: shape (units,); the ratio is the sum of ``values`` over the sum of ``of``. None for the
            mean.
        confidence: of the interval.

    Returns:
        Lower and upper bound; None with fewer than two units, and if all units are alike, since
        they show no variance.

    >>> [round(end, 3) for end in mean_interval(np.array([1.0, 2.0, 3.0]))]  # 2 ± 4.303 · 1 / √3
    [-0.484, 4.484]
    """
    if len(values) < 2:
        return None
    mean, error = mean_and_error(values, of)
    if error == 0:
        return None
    half = t_quantile(confidence, len(values) - 1) * error
    return [mean - half, mean + half]


def mean_and_error(values: Floats, of: Floats | None = None) -> tuple[float, float]:
    """The mean over units, or a ratio of sums, and its standard error.

    Args:
        values: shape (units,), two units or more.
        of: as in ``mean_interval``.
    """
    weights = np.ones(len(values)) if of is None else of
    total = float(weights.sum())
    mean = float(values.sum()) / total
    return mean, math.sqrt(_variance(values - mean * weights)) / total


def pseudo_values(statistic: Callable[[Floats], Floats], units: Floats) -> Floats:
    """The jackknife's pseudo-values of a statistic of sums over units (Tukey 1958).

    Their mean and standard error approximate those of the statistic, so you can pass them to
    ``mean_interval`` and ``stats.tests.t_test``.

    Args:
        statistic: maps sums of shape (n, k) to n values.
        units: shape (units, k), what each unit adds to the sums.

    Returns:
        Shape (units,): units · whole − (units − 1) · without the unit.

    >>> pseudo_values(lambda sums: sums[:, 0] / sums[:, 1], np.array([[1.0, 1], [2, 1], [6, 1]]))
    array([1., 2., 6.])
    """
    count, whole = len(units), units.sum(axis=0, keepdims=True)
    return np.asarray(count * statistic(whole) - (count - 1) * statistic(whole - units))


def difference_interval(
    first: float, second: float, first_ci: Sequence[float], second_ci: Sequence[float]
) -> tuple[float, float]:
    """The interval of a difference of two independent values from their intervals (MOVER).

    The result has the confidence of the two intervals (Zou & Donner 2008).

    Args:
        first: the value from which the second is subtracted.
        second: the other value.
        first_ci: the interval of the first value.
        second_ci: the interval of the second value.

    >>> low, high = difference_interval(0.5, 0.25, (0.25, 0.75), (0.0, 0.5))
    >>> round(low, 3), round(high, 3)  # 0.25 ± √2 / 4
    (-0.104, 0.604)
    """
    down = math.hypot(first - first_ci[0], second_ci[1] - second)
    up = math.hypot(first_ci[1] - first, second - second_ci[0])
    return first - second - down, first - second + up

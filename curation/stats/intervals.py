"""95 % intervals and tests of figures whose units are drawn whole: target terms, or CATs.

Nothing here draws random numbers. ``docs/intervals.md`` has the methods with their sources, and
their measured coverage; ``benchmarks/coverage.py`` measures it.

Sources: Wilson 1927; effective sample size of clustered data, Korn & Graubard 1998 and Dean &
Pagano 2015; linearization of ratios, Cochran 1977 §6.3; jackknife, Efron & Tibshirani 1993
chapter 11.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Interval = list[float]
FEW = 5  # with fewer terms than this an interval says little, and the figure is flagged
FEW_CATS = 20  # with fewer CATs than this the interval of a single term is too wide


def t_quantile(confidence: float, df: int) -> float:
    """The value that Student's t stays within, on both sides, with this probability.

    Args:
        confidence: for example 0.95.
        df: degrees of freedom, at least 1.

    >>> round(t_quantile(0.95, 4), 3), round(t_quantile(0.95, 79), 3)
    (2.776, 1.99)
    """
    from scipy.special import stdtrit  # here, so that commands without figures start fast

    return float(stdtrit(df, (1 + confidence) / 2))


def share_interval(
    won: Floats, of: Floats | None = None, *, observations: float, confidence: float = 0.95
) -> Interval | None:
    """Wilson's interval of a share, with the effective sample size that the units show.

    The share is the sum of ``won`` over the sum of ``of``: without ``of`` the mean of ``won``, so
    that every unit weighs the same. Its variance comes from how the units differ. A simple random
    sample of n = p (1 − p) / variance observations would have the same variance, and Wilson's
    interval is taken for that n, with the quantile of Student's t for units − 1. It stays within
    0 and 1, and covers near 0 and 1, where a t interval does not.

    Args:
        won: shape (units,), what each unit won; without ``of`` between 0 and 1.
        of: shape (units,), of how many; None where each unit counts once.
        observations: stands for n where all units are alike, so that they show no variance: how
            many observations there are in all.
        confidence: of the interval.

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
    t = t_quantile(confidence, units - 1)
    center = (share + t * t / (2 * n)) / (1 + t * t / n)
    half = t / (1 + t * t / n) * math.sqrt(max(spread, 0.0) / n + t * t / (4 * n * n))
    return [max(0.0, center - half), min(1.0, center + half)]


def _variance(residuals: Floats) -> float:
    """The variance of a sum over units, from residuals whose sum is 0; nought where rounding is."""
    units = len(residuals)
    found = float(residuals @ residuals) * units / (units - 1)
    return found if found > 1e-18 * units else 0.0


def mean_interval(
    values: Floats, of: Floats | None = None, *, confidence: float = 0.95
) -> Interval | None:
    """Student's t interval of a mean over units, or of a ratio of sums.

    Args:
        values: shape (units,).
        of: shape (units,); the figure is the sum of ``values`` over the sum of ``of``. None for
            the mean.
        confidence: of the interval.

    Returns:
        Lower and upper bound; None with fewer than two units, and where all are alike: they show no
        variance.

    >>> [round(end, 3) for end in mean_interval(np.array([1.0, 2.0, 3.0]))]  # 2 ± 4.303 · 1 / √3
    [-0.484, 4.484]
    """
    if len(values) < 2:
        return None
    mean, error = _mean_and_error(values, of)
    if error == 0:
        return None
    half = t_quantile(confidence, len(values) - 1) * error
    return [mean - half, mean + half]


def _mean_and_error(values: Floats, of: Floats | None = None) -> tuple[float, float]:
    weights = np.ones(len(values)) if of is None else of
    total = float(weights.sum())
    mean = float(values.sum()) / total
    return mean, math.sqrt(_variance(values - mean * weights)) / total


def t_test(values: Floats) -> float | None:
    """Two-sided p of the hypothesis that the mean over units is 0 (Student's t).

    Where all values are alike and not 0, t has no variance to go by; then p is that of the sign
    test, 2 / 2^units.

    Args:
        values: shape (units,).

    Returns:
        None with fewer than two units.

    >>> round(t_test(np.array([1.0, 2.0, 3.0])), 4)  # t = 2 √3 with 2 degrees of freedom
    0.0742
    >>> t_test(np.array([4.0, 4.0, 4.0]))
    0.25
    """
    from scipy.special import stdtr

    units = len(values)
    if units < 2:
        return None
    mean, error = _mean_and_error(values)
    if error == 0:
        return 1.0 if abs(mean) < 1e-9 else 2.0 ** (1 - units)
    return float(2 * stdtr(units - 1, -abs(mean) / error))


def pseudo_values(statistic: Callable[[Floats], Floats], units: Floats) -> Floats:
    """The jackknife's pseudo-values of a statistic of sums over units (Tukey 1958).

    Their mean and standard error stand for those of the statistic, so ``mean_interval`` and
    ``t_test`` take them.

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

"""Spearman's rank correlation: its permutation test, its interval, its power, and partial ones."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import permutations
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from curation.stats.intervals import Floats, t_quantile

EXACT = 8  # with more units than this, permutations are drawn at random
_FEWEST = 5  # with fewer units than this, no interval
_EQUAL = 1e-9  # values that differ by less than this share of the largest one are equal


class Correlation(NamedTuple):
    """How two series go together.

    ``rho`` is Spearman's rank correlation with its interval ``ci`` and two-sided permutation ``p``,
    ``r_squared`` the square of Pearson's correlation, ``n`` the number of units. A value that does
    not exist is None.
    """

    rho: float | None
    ci: tuple[float, float] | None
    p: float | None
    n: int
    r_squared: float | None


def ranks(values: Floats) -> Floats:
    """Ranks from 1 on; equal values get the mean of their ranks.

    Neighbours that differ by no more than 1e-9 of the largest absolute value count as equal.
    Otherwise rounding, which differs between processors, would rank values that are equal.

    >>> ranks(np.array([30.0, 10.0, 30.0, 20.0])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    >>> ranks(np.array([0.3, 0.1 + 0.2, 0.5])).tolist()
    [1.5, 1.5, 3.0]
    """
    order = np.argsort(values, kind="stable")
    ordered, largest = values[order], np.abs(values).max(initial=0, where=np.isfinite(values))
    equal = np.isclose(ordered[1:], ordered[:-1], rtol=0, atol=_EQUAL * largest)
    place = np.zeros(len(values), np.intp)
    place[order[1:]] = np.cumsum(~equal)
    count = np.bincount(place)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place])


def rho(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float | None:
    """Spearman's rank correlation; equal values have the mean of their ranks.

    Returns:
        None with fewer than three units, or if all units have the same value.

    >>> rho([1, 2, 3, 4], [10, 30, 20, 40])
    0.8
    """
    return pearson(ranks(np.asarray(first, float)), ranks(np.asarray(second, float)))


def pearson(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float | None:
    """Pearson's correlation; None with fewer than three units, or if all have the same value.

    >>> pearson([1, 2, 3], [1, 2, 0]), pearson([1, 1, 1], [1, 2, 3])
    (-0.5, None)
    """
    x, y = np.asarray(first, float), np.asarray(second, float)
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    x, y = x - x.mean(), y - y.mean()
    value = float(x @ y) / math.sqrt(float(x @ x) * float(y @ y))
    return max(-1.0, min(1.0, value))


def r_squared(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float | None:
    """The square of Pearson's correlation, the R² of Bommasani & Liang 2022 (section 5).

    >>> r_squared([1, 2, 3], [1, 2, 0])
    0.25
    """
    value = pearson(first, second)
    return None if value is None else value * value


def correlate(
    first: Sequence[float],
    second: Sequence[float],
    *,
    confidence: float = 0.95,
    draws: int = 9999,
    seed: int = 1,
) -> Correlation:
    """Spearman's rho with interval and permutation p, and R².

    Args:
        first: one value for each unit.
        second: another value for each unit.
        confidence: of the interval.
        draws: as in ``spearman``.
        seed: of the draws.
    """
    found = spearman(first, second, draws=draws, seed=seed)
    n, value = len(first), found["rho"]
    ci = None if value is None else rho_interval(value, n, confidence=confidence)
    return Correlation(value, ci, found["p"], n, r_squared(first, second))


def partial(
    first: Floats, second: Floats, third: Floats, *, confidence: float = 0.95
) -> Correlation:
    """Spearman's partial correlation of two series without what both have from a third.

    rho = (r12 − r13 r23) / √((1 − r13²) (1 − r23²)) of the rank correlations (Kendall 1942). p is
    two-sided, by Student's t with n − 3 degrees of freedom; the interval is that of one unit fewer.

    Args:
        first: shape (n,).
        second: the same.
        third: the same.
        confidence: of the interval.

    Returns:
        All but n are None with fewer than five units, or if a correlation is ±1 or not defined.

    >>> x, z = np.array([1.0, 2, 3, 4, 5, 6]), np.array([2.0, 1, 4, 3, 6, 5])
    >>> found = partial(x, np.array([3.0, 1, 2, 6, 4, 5]), z)
    >>> round(found.rho, 3)  # (.657 − .829 · .486) / (.560 · .874)
    0.52
    """
    from scipy.special import stdtr

    n, nothing = len(first), Correlation(None, None, None, len(first), None)
    r12, r13, r23 = rho(first, second), rho(first, third), rho(second, third)
    if n < _FEWEST or r12 is None or r13 is None or r23 is None:
        return nothing
    rest = (1 - r13 * r13) * (1 - r23 * r23)
    if rest < _EQUAL:
        return nothing
    value = max(-1.0, min(1.0, (r12 - r13 * r23) / math.sqrt(rest)))
    t = abs(value) * math.sqrt((n - 3) / max(1 - value * value, 1e-300))
    p = float(2 * stdtr(n - 3, -t))
    return Correlation(value, rho_interval(value, n - 1, confidence=confidence), p, n, None)


def rho_interval(value: float, n: int, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """The interval of Spearman's rho by Bonett & Wright (2000).

    Fisher's z = artanh(rho) has about the variance (1 + rho² / 2) / (n − 3). A rho of ±1 has no z.
    It counts as the value in the middle between 1 and the next possible rho, and the interval then
    ends at ±1. ``docs/intervals.md`` has the measured coverage.

    Args:
        value: rho.
        n: units.
        confidence: of the interval.

    Returns:
        Lower and upper bound; None with fewer than five units.

    >>> low, high = rho_interval(0.7, 16)
    >>> round(low, 3), round(high, 3)
    (0.255, 0.9)
    """
    if n < _FEWEST:
        return None
    inner = max(-_largest(n), min(_largest(n), value))
    half = NormalDist().inv_cdf((1 + confidence) / 2) * z_error(inner, n)
    low, high = math.tanh(math.atanh(inner) - half), math.tanh(math.atanh(inner) + half)
    return (-1.0 if value <= -_largest(n) else low), (1.0 if value >= _largest(n) else high)


def z_error(value: float, n: int) -> float:
    """The standard error of artanh(rho) (Bonett & Wright 2000); n must be 4 or more."""
    return math.sqrt((1 + value * value / 2) / (n - 3))


def _largest(n: int) -> float:
    """The middle between rho = 1 and the next smaller value, 1 − 12 / (n³ − n), without ties."""
    return 1 - 6 / (n**3 - n)


def spearman_brown(value: float) -> float:
    """The reliability of a whole from the correlation of its halves (Spearman 1910, Brown 1910).

    >>> spearman_brown(0.5), spearman_brown(-1.0)
    (0.6666666666666666, -1.0)
    """
    return 2 * value / (1 + value) if value > -1 / 3 else -1.0


def spearman(
    first: Sequence[float], second: Sequence[float], *, draws: int = 9999, seed: int = 1
) -> dict[str, Any]:
    """Spearman's rank correlation over models, with its two-sided permutation p.

    With up to eight models p is exact: the share of all orders whose correlation is at least as
    far from 0 as the observed one. With more models, orders are drawn at random, and the observed
    order is counted among them.

    Args:
        first: one value for each model.
        second: another value for each model.
        draws: how many orders are drawn if there are too many to try all.
        seed: of the draws.

    Returns:
        ``{"rho", "p", "models", "exact"}``; rho and p are None with fewer than three models, or if
        all models have the same value.
    """
    count, value = len(first), rho(first, second)
    result: dict[str, Any] = {"rho": None, "p": None, "models": count, "exact": count <= EXACT}
    x, y = ranks(np.asarray(first, float)), ranks(np.asarray(second, float))
    if value is None:
        return result
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    if count <= EXACT:
        orders = np.array(list(permutations(range(count))))
        extra = 0
    else:
        rng = np.random.default_rng(seed)
        orders = rng.permuted(np.tile(np.arange(count), (draws, 1)), axis=1)
        extra = 1
    as_far = np.sum(np.abs(y[orders] @ x) / scale >= abs(value) - 1e-12)
    return result | {"rho": value, "p": float((as_far + extra) / (len(orders) + extra))}


# --- power --------------------------------------------------------------------------------------


_TRIED = 9  # units up to which the critical rho comes from all orders
_MOST = 100_000  # units above which no number of units is suggested


def rank_power(rho: float, n: int, *, alpha: float = 0.05) -> float:
    """The probability that Spearman's test finds a rank correlation, with the right sign.

    The test's critical value is exact up to nine units, and from Student's t above. The observed
    rho exceeds it if artanh(rho) does, which varies about normally with the standard error of
    Bonett & Wright (2000). From seven units on, the result is within 0.03 of simulated power. With
    five or six units it is too low, but the power is below 0.6 all the same.

    Args:
        rho: the true correlation, 0 or more and less than 1.
        n: units.
        alpha: two-sided error of the first kind.

    >>> round(rank_power(0.7, 8), 2), round(rank_power(0.7, 16), 2), rank_power(0.7, 4)
    (0.44, 0.85, 0.0)
    """
    critical = critical_rho(n, alpha)
    if critical >= 1:
        return 0.0
    return NormalDist().cdf(
        (math.atanh(min(rho, 1 - 1e-9)) - math.atanh(critical)) / z_error(rho, n)
    )


@cache
def critical_rho(n: int, alpha: float = 0.05) -> float:
    """The smallest rho with a two-sided p of at most alpha; 1.0 if none is below 1.

    >>> round(critical_rho(8), 3), round(critical_rho(16), 3)
    (0.738, 0.497)
    """
    if n < 4:
        return 1.0
    if n > _TRIED:
        t = t_quantile(1 - alpha, n - 2)
        return t / math.sqrt(t * t + n - 2)
    orders = np.array(list(permutations(range(n)))) - (n - 1) / 2
    rhos, counts = np.unique(
        np.abs(orders @ orders[0]).round(6) / (n * (n * n - 1) / 12), return_counts=True
    )
    as_far = counts[::-1].cumsum()[::-1] / counts.sum()
    return min((float(rho) for rho, p in zip(rhos, as_far, strict=True) if p <= alpha), default=1.0)


def needed_units(rho: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """The smallest number of units with which ``rank_power`` reaches a power.

    Returns:
        None if the correlation is 0, or so small that more than 100,000 units are needed.

    >>> needed_units(0.7), needed_units(0.3), needed_units(0.0)
    (15, 87, None)
    """
    if rho <= 0 or rank_power(rho, _MOST, alpha=alpha) < power:
        return None
    low, high = 4, _MOST  # low has too little power, high has enough
    while high - low > 1:
        middle = (low + high) // 2
        if rank_power(rho, middle, alpha=alpha) >= power:
            high = middle
        else:
            low = middle
    return high


def detectable_rho(n: int, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest rank correlation that n units show with this power; None if none below 0.999.

    >>> round(detectable_rho(8), 2), round(detectable_rho(100), 2), detectable_rho(5)
    (0.88, 0.28, None)
    """
    low, high = 0.0, 0.999
    if rank_power(high, n, alpha=alpha) < power:
        return None
    while high - low > 1e-4:
        middle = (low + high) / 2
        if rank_power(middle, n, alpha=alpha) >= power:
            high = middle
        else:
            low = middle
    return high

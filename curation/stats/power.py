"""Power: of differences between two models by terms and CATs, of rank correlations, of signs."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import permutations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.stats.correlations import z_error
from curation.stats.intervals import Floats, t_quantile
from curation.stats.tests import right_signs, sign_test

MOST_IN_EACH = 100  # signs in each direction that are looked at

CATS_A_TERM = (1, 2, 3, 5, 10, 20)
_TRIED = 9  # units up to which the critical rho comes from all orders
_MOST = 100_000  # units above which no number of units is suggested
_SURE = 30  # a difference this many times the critical value is always found


class Spread(NamedTuple):
    """How much the difference between two models varies, in squared points.

    ``between`` is the variance of terms' true differences, ``within`` that of CATs around their
    term's mean. If no term has two CATs, within is None and between holds both. ``of_means`` is
    the variance of the terms' observed means.
    """

    between: float
    within: float | None
    of_means: float
    mean: float
    terms: int
    cats: int


def spread(codes: NDArray[np.intp], values: Floats) -> Spread:
    """Variance between and within terms by the method of moments, for terms of unequal size.

    Within is pooled over terms: the squared distances from the terms' means, divided by CATs less
    terms. The variance of the terms' unweighted means has the expectation between + within ·
    mean(1/m), with m CATs per term (Searle, Casella & McCulloch 1992). Between is what remains of
    it, and at least 0. Means are not weighted by their CATs because lms and ss are not, either.

    Args:
        codes: each CAT's term as a number from 0 on, without gaps.
        values: each CAT's difference, in points.

    Raises:
        ValueError: fewer than two terms.
    """
    sizes = np.bincount(codes)
    terms, cats = len(sizes), len(values)
    if terms < 2:
        raise ValueError("no variance between fewer than two terms")
    means = np.bincount(codes, weights=values) / sizes
    of_means = float(means.var(ddof=1))
    within = None
    if cats > terms:
        within = float(((values - means[codes]) ** 2).sum() / (cats - terms))
    remaining = of_means - (within or 0.0) * float((1 / sizes).mean())
    return Spread(max(0.0, remaining), within, of_means, float(means.mean()), terms, cats)


def power_at(of: Spread, difference: float, *, terms: int, cats: int, alpha: float = 0.05) -> float:
    """The probability that a paired t test over terms finds a difference (noncentral t).

    Args:
        of: how much such differences vary.
        difference: in points.
        terms: how many terms, at least 2.
        cats: CATs per term.
        alpha: two-sided error of the first kind.

    Returns:
        From 0 to 1; the chance of a significant result in the wrong direction is not included.
    """
    from scipy.special import nctdtr

    error = math.sqrt((of.between + (of.within or 0.0) / cats) / terms)
    shift, t = difference / error, t_quantile(1 - alpha, terms - 1)
    return 1.0 if shift > _SURE * t else float(1 - nctdtr(terms - 1, shift, t))


def needed_terms(
    of: Spread, difference: float, cats: int, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """The smallest number of terms with which ``power_at`` reaches a power.

    Args:
        of: how much such differences vary.
        difference: D, in points.
        cats: m, CATs per term.
        alpha: two-sided error of the first kind.
        power: the probability with which the difference is to be found.

    Returns:
        At least 2. None if the models never differ, or if there is more than one CAT per term and
        within is not known.
    """
    if of.of_means == 0 or (of.within is None and cats > 1):
        return None
    normal = NormalDist()
    z = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    terms = max(2, math.ceil((z / difference) ** 2 * (of.between + (of.within or 0.0) / cats)))
    while power_at(of, difference, terms=terms, cats=cats, alpha=alpha) < power:
        terms += 1  # the normal distribution gives too few, by two or so
    return terms


def detectable(of: Spread, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest difference, in points, that the present terms show with this power."""
    from scipy.special import nctdtrinc

    df = of.terms - 1
    shift = float(nctdtrinc(df, 1 - power, t_quantile(1 - alpha, df)))
    return shift * math.sqrt(of.of_means / of.terms)


class Needed(NamedTuple):
    """The terms that the median pair of models and the hardest pair need.

    ``terms``, ``cats`` (all CATs) and the power reached are those of the median pair. Since terms
    are whole, the power is a little higher than the one asked for. All but the first are None if
    ``needed_terms`` is None for every pair.
    """

    cats_a_term: int
    terms: int | None = None
    cats: int | None = None
    power: float | None = None
    terms_hardest: int | None = None


def needed_by_pairs(
    spreads: Sequence[Spread], difference: float, cats: int, *, alpha: float, power: float
) -> Needed:
    """The terms that the median pair of models and the hardest pair need.

    Args:
        spreads: one for each pair of models.
        difference: in points.
        cats: CATs per term.
        alpha: two-sided error of the first kind.
        power: the probability with which the difference is to be found.
    """
    pairs = [
        (terms, of)
        for of in spreads
        if (terms := needed_terms(of, difference, cats, alpha=alpha, power=power)) is not None
    ]
    pairs.sort(key=lambda pair: pair[0])
    if not pairs:
        return Needed(cats)
    terms, of = pairs[len(pairs) // 2]
    reached = power_at(of, difference, terms=terms, cats=cats, alpha=alpha)
    return Needed(cats, terms, terms * cats, reached, pairs[-1][0])


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


def sign_power(share: float, each: Sequence[int], *, alpha: float = 0.05) -> float:
    """The probability that the one-sided sign test is significant if this share of signs is right.

    Args:
        share: of right signs.
        each: the number of signs in each direction, see ``tests.chances``.
        alpha: the level.

    >>> round(sign_power(0.9, (4, 4)), 3), sign_power(0.9, (8, 0))  # 7 or 8 of 8; nothing suffices
    (0.813, 0.0)
    """
    least = right_signs(each, alpha=alpha)
    return 0.0 if least is None else sign_test(least, sum(each), chance=share)


@cache
def needed_signs(
    share: float, *, directions: int = 2, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """The smallest number of signs in each direction with which ``sign_power`` reaches a power.

    The power of an exact test falls now and then as n grows. It is 0.8 with 8 signs and a share of
    0.9, and less with 10; the number that is returned is the first that reaches the power.

    Returns:
        None if fewer than ``MOST_IN_EACH`` do not suffice.

    >>> needed_signs(0.9), needed_signs(0.9, directions=3), needed_signs(0.9, directions=10)
    (4, 7, None)
    """
    for each in range(1, MOST_IN_EACH):
        if sign_power(share, [each] * directions, alpha=alpha) >= power:
            return each
    return None

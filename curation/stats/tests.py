"""Tests of differences over terms, and their power: paired t, Holm, swaps of labels, signs."""

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.kinds import MetricName
from curation.stats.intervals import (
    Floats,
    Interval,
    clustered,
    mean_and_error,
    mean_interval,
    pseudo_values,
    t_quantile,
)
from curation.stats.metrics import (
    Metric,
    Units,
    extreme,
    may_be_ideal,
    metrics_of,
    percent_interval,
)

SWAPS = 10_000  # drawn by ``swap_test`` if there are too many to try all
ALL_SWAPS = 12  # terms up to which all swaps are tried
_AT_ONCE = 1_000_000  # signs in memory at once: 16 MB
_MOST_SIGNS = 1000  # with more, binomial coefficients may not fit into a float


def t_test(values: Floats) -> float | None:
    """Two-sided p of the hypothesis that the mean over units is 0 (Student's t).

    If all values are equal and not 0, there is no variance and so no t; p is then that of the sign
    test, 2 / 2^units.

    Args:
        values: shape (units,).

    Returns:
        p, or None with fewer than two units.

    >>> round(t_test(np.array([1.0, 2.0, 3.0])), 4)  # t = 2 √3 with 2 degrees of freedom
    0.0742
    >>> t_test(np.array([4.0, 4.0, 4.0]))
    0.25
    """
    from scipy.special import stdtr

    units = len(values)
    if units < 2:
        return None
    mean, error = mean_and_error(values)
    if error == 0:
        return 1.0 if abs(mean) < 1e-9 else 2.0 ** (1 - units)
    return float(2 * stdtr(units - 1, -abs(mean) / error))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of p-values (Holm 1979).

    Args:
        values: p-values; None means that there was no test, and stays None.

    >>> holm([0.01, 0.04, None, 0.03])  # 3 · 0.01, then 2 · 0.03, then at least as much
    [0.03, 0.06, None, 0.06]
    """
    tests = sorted((p, place) for place, p in enumerate(values) if p is not None)
    corrected: list[float | None] = [None] * len(values)
    least = 0.0
    for done, (p, place) in enumerate(tests):
        least = max(least, min(1.0, (len(tests) - done) * p))
        corrected[place] = least
    return corrected


def sign_test(right: int, n: int, *, chance: float = 0.5) -> float:
    """One-sided p of the exact sign test: at least this many right signs by chance.

    >>> round(sign_test(7, 8), 3)  # 9 of 256
    0.035
    """
    from scipy.special import betainc

    return float(betainc(right, n - right + 1, chance)) if right else 1.0


@cache
def chances(each: tuple[int, ...]) -> tuple[float, ...]:
    """The chance of at least 0, 1, … right signs, at most, of what says the same of all targets.

    It may favour every direction but one, whatever the target is, or with any probabilities: what
    matters is the largest chance that these can give. For two directions it is computed (as in
    Barnard's test); for more it is that of a binomial distribution with the largest expected share
    of right signs, 1 − the share of the rarest direction, which is at least as large (Hoeffding
    1956).

    Args:
        each: the number of signs in each direction.

    >>> round(chances((4, 4))[7], 3), chances((8, 0))[8]  # 9 of 256, as a coin has; and no test
    (0.035, 1.0)
    """
    n = sum(each)
    if len(each) != 2 or n > _MOST_SIGNS:
        chance = 1 - min(each) / max(1, n)
        return tuple(sign_test(right, n, chance=chance) for right in range(n + 1))
    favours: Floats = np.linspace(
        0, 1, 1001, dtype=np.float64
    )  # the first direction, with this probability
    total = np.zeros((n + 1, len(favours)))
    second = _binomial(each[1], 1 - favours)
    for right, own in enumerate(_binomial(each[0], favours)):
        total[right : right + each[1] + 1] += own * second
    return tuple(total[::-1].cumsum(axis=0)[::-1].max(axis=1).clip(max=1).tolist())


def _binomial(n: int, shares: Floats) -> Floats:
    """The probabilities of 0 to n, shape (n + 1, shares)."""
    ways = np.array([float(math.comb(n, k)) for k in range(n + 1)])[:, None]
    count = np.arange(n + 1)[:, None]
    return np.asarray(ways * shares**count * (1 - shares) ** (n - count))


def right_signs(each: Sequence[int], *, alpha: float = 0.05) -> int | None:
    """The least number of right signs that is significant; None if not even all are.

    Args:
        each: the number of signs in each direction.
        alpha: the level.

    >>> right_signs((4, 4)), right_signs((2, 2)), right_signs((8, 0))
    (7, None, None)
    """
    return next((right for right, p in enumerate(chances(tuple(each))) if p <= alpha), None)


def exact_share_interval(right: int, n: int, *, confidence: float) -> tuple[float, float]:
    """The interval of a share by Clopper & Pearson (1934); it fits the exact sign test.

    With confidence 1 − 2 alpha, its lower end is above one half if the sign test has p < alpha.

    >>> [round(end, 3) for end in exact_share_interval(7, 8, confidence=0.9)]
    [0.529, 0.994]
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(right, n - right + 1, tail)) if right else 0.0
    high = float(betaincinv(right + 1, n - right, 1 - tail)) if right < n else 1.0
    return low, high


def term_means(codes: NDArray[np.intp], values: Floats) -> Floats:
    """Means over each term's CATs.

    Args:
        codes: each CAT's term as a number from 0 on, without gaps.
        values: shape (k, CATs).

    Returns:
        Shape (terms, k).
    """
    count = np.bincount(codes)
    sums = [np.bincount(codes, weights=row, minlength=len(count)) for row in values]
    return np.column_stack(sums) / count[:, None]


class PairedTest(NamedTuple):
    """The difference of two models in one metric, ``figure``, with its interval and test.

    Values are in points. ci and p are None with fewer than two terms.
    """

    figure: MetricName
    a_value: float
    b_value: float
    difference: float
    ci: Interval | None
    p: float | None
    unsure: bool


def paired_tests(a: Units, b: Units, *, cats: int, sizes: Floats | None = None) -> list[PairedTest]:
    """Differences of two models in each metric, the first less the second, with tests.

    For a share, such as lms and ss, every term gives one difference; ``ci`` and ``p`` are those of
    Student's paired t test over terms. A single term has no icat, so the jackknife's pseudo-values
    over terms take the place of its differences. If two models are equal, p is below 0.05 in 4 to
    6 of 100 cases from five terms on, except for the tests that ``unsure`` marks
    (``docs/intervals.md`` has the measured shares).

    Args:
        a: the shares of the first model on each term, of shape (terms,), in points.
        b: those of the second, on the same CATs.
        cats: the number of these CATs.
        sizes: shape (terms,), how many CATs each term has, if shares are of all CATs and terms are
            their clusters. Interval and test then use ``intervals.clustered``.

    Returns:
        One test for each metric.
    """
    rows = []
    if sizes is not None:
        return [_clustered_test(name, a[name], b[name], sizes) for name in a]
    for metric in metrics_of(a):
        units = _units(metric, a) - _units(metric, b)
        first, second = (_mean(metric, side) for side in (a, b))
        difference, ci = first - second, mean_interval(units)
        if ci:  # the mean of pseudo-values is near the difference, and not always equal to it
            shift = difference - float(units.mean())
            ci = [end + shift for end in ci]
        p = t_test(units - float(units.mean()) + difference)
        unsure = any(_is_unsure(metric, side, cats) for side in (a, b))
        rows.append(PairedTest(metric.name, first, second, difference, ci, p, unsure))
    return rows


def _clustered_test(name: MetricName, a: Floats, b: Floats, sizes: Floats) -> PairedTest:
    """The difference of two shares of items, from their values in each cluster."""
    from scipy.special import stdtr

    first, second = (float(np.average(side, weights=sizes)) for side in (a, b))
    difference, of = first - second, clustered((a - b) * sizes, sizes)
    if of is None:
        return PairedTest(name, first, second, difference, None, None, False)
    if of.variance == 0:
        return PairedTest(name, first, second, difference, None, t_test(a - b), False)
    error = math.sqrt(of.variance)
    half = t_quantile(0.95, of.df) * error
    p = float(2 * stdtr(of.df, -abs(difference) / error))
    return PairedTest(
        name, first, second, difference, [difference - half, difference + half], p, False
    )


def _units(metric: Metric, side: Units) -> Floats:
    """The values of terms that a test compares: of a metric that no term has, pseudo-values."""
    if metric.pairs:
        return side[metric.name]
    terms = len(side[metric.of[0]])
    if terms < 2:
        return np.zeros(terms)

    def compute(sums: Floats) -> Floats:
        return metric.value(dict(zip(metric.of, (sums[:, :-1] / sums[:, -1:]).T, strict=True)))

    return pseudo_values(compute, np.column_stack([*(side[n] for n in metric.of), np.ones(terms)]))


def _mean(metric: Metric, side: Units) -> float:
    means = np.column_stack(list(side.values())).mean(axis=0)
    return float(metric.value(dict(zip(side, means, strict=True))))


def _is_unsure(metric: Metric, side: Units, cats: int) -> bool:
    """Whether the error rate of a metric's test may be outside 4 to 6 in 100 (docs/intervals.md).

    This holds for lms near 0 or 100 over few terms. It also holds for icat if ss may be 50: icat
    has its maximum there, and does not vary as the test assumes.
    """
    if metric.wrong_at_ends:
        return extreme(float(side[metric.name].mean()), len(side[metric.name]))
    if metric.peak is None:
        return False
    ends = percent_interval(side[metric.peak], observations=cats)
    return may_be_ideal(metric.peak, ends)


def swap_test(gaps: Floats, *, seed: int) -> float:
    """The probability of a gap at least this large if two labels could be swapped in any term.

    The test is two-sided. With up to twelve terms, all swaps are tried. With more, 10,000 are drawn
    at random, and the observed gap counts as one of them (Phipson & Smyth 2010).

    Args:
        gaps: for each term, how many more associations of the first label than of the second have
            the property that is tested.
        seed: of the draws.

    >>> swap_test(np.array([2.0, 1.0, 1.0]), seed=1)  # of 8 swaps, two are as far from 0
    0.25
    """
    observed = abs(gaps.sum()) - 1e-9
    if len(gaps) <= ALL_SWAPS:
        signs = 1.0 - 2 * ((np.arange(2 ** len(gaps))[:, None] >> np.arange(len(gaps))) & 1)
        return float((abs(signs @ gaps) >= observed).mean())
    rng = np.random.default_rng(seed)
    as_far, step = 0, max(1, _AT_ONCE // len(gaps))
    for start in range(0, SWAPS, step):
        signs = rng.choice([-1.0, 1.0], size=(min(step, SWAPS - start), len(gaps)))
        as_far += int((abs(signs @ gaps) >= observed).sum())
    return (1 + as_far) / (1 + SWAPS)


LEVELS = 36  # shares are rounded to this many steps; 6, 12, 18 and 36 questions fit exactly
_MOST_WORK = 2e8  # additions; with more, the sum is near enough to normal
_SHOWS = 0.05  # a test that cannot give a smaller p is left out
_TINY = 1e-9


def exchange_test(
    shares: Floats,
    inside: Sequence[bool] | NDArray[np.bool_],
    strata: Sequence[str] | NDArray[np.str_] | None = None,
) -> float | None:
    """Two-sided p of the hypothesis that units of a group are like the other units.

    If the group does not matter, every choice of as many units (of each stratum) is equally likely.
    p is the probability that such a choice has a sum of shares at least as far from the expected
    sum. It is exact, whatever the distribution of the shares: it is counted, with shares rounded to
    1/36 (Fisher 1935; shift algorithm, Streitberg & Röhmel 1986). If a group and the rest both have
    hundreds of units that are not 0, p comes from the normal distribution with the same mean and
    variance.

    Args:
        shares: shape (units,), 0 to 1.
        inside: shape (units,), whether the unit is in the group.
        strata: shape (units,); only units of the same stratum are exchanged.

    Returns:
        p; None if not even the largest possible difference has p < 0.05.

    >>> shares = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # one choice of 21 is as far from 0
    >>> round(exchange_test(shares, [True, True, False, False, False, False, False]), 4)
    0.0476
    >>> exchange_test(shares[:5], [True, True, False, False, False]) is None  # one of 10 at best
    True
    """
    scores = np.rint(np.asarray(shares) * LEVELS).astype(np.int64)
    step = max(1, math.gcd(*scores.tolist(), LEVELS))
    scores, top_score = scores // step, LEVELS // step
    member = np.asarray(inside, bool)
    names = np.asarray(strata if strata is not None else [""] * len(scores))
    parts = []
    for name in np.unique(names):
        own, chosen = scores[names == name], member[names == name]
        if 2 * chosen.sum() > len(own):  # count for the rest, which is smaller; same distances
            own, chosen = top_score - own, ~chosen
        if chosen.any() and len(np.unique(own)) > 1:
            parts.append(_Part(own, int(chosen.sum()), int(own[chosen].sum())))
    if not parts or (least := _least(parts)) >= _SHOWS:
        return None
    mean = sum(part.mean for part in parts)
    off = abs(sum(part.total for part in parts) - mean)
    top = math.floor(mean + off + 1)
    if sum(_work(part, top) for part in parts) > _MOST_WORK:
        variance = sum(part.variance for part in parts)
        return max(math.erfc(off / math.sqrt(2 * variance)), least)
    sums: Floats = np.ones(1)
    for part in parts:
        sums = np.asarray(np.convolve(sums, _distribution(part, top))[: top + 1], float)
    nearer = np.abs(np.arange(len(sums)) - mean) < off - _TINY
    return float(min(1.0, max(1.0 - sums[nearer].sum(), least)))


class _Part(NamedTuple):
    """The scores of a stratum, how many units of it the group has, and the sum of their scores."""

    scores: NDArray[np.int64]
    size: int
    total: int

    @property
    def mean(self) -> float:
        """The mean of the sum of ``size`` scores that are drawn at random."""
        return self.size * float(self.scores.mean())

    @property
    def variance(self) -> float:
        """The variance of this sum, drawn without replacement."""
        free = self.size * (1 - self.size / len(self.scores))
        return free * float(self.scores.var(ddof=1))


def _least(parts: Sequence[_Part]) -> float:
    """The smaller of the probabilities of the largest and of the smallest possible sum."""
    logs = [0.0, 0.0]
    for part in parts:
        ordered = np.sort(part.scores)
        for end, drawn in enumerate((ordered[: part.size], ordered[-part.size :])):
            last = drawn[-1] if end == 0 else drawn[0]
            alike, needed = int((ordered == last).sum()), int((drawn == last).sum())
            logs[end] += log_choose(alike, needed) - log_choose(len(ordered), part.size)
    return math.exp(min(logs))


def log_choose(n: int, k: int) -> float:
    """The logarithm of the number of ways to choose ``k`` of ``n``."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _bounds(part: _Part, top: int) -> tuple[int, int]:
    """How many units above the smallest score can be drawn, and the largest sum that counts."""
    above = part.scores - part.scores.min()
    largest = int(np.sort(above)[-part.size :].sum())
    return min(part.size, int((above > 0).sum())), min(largest, top)


def _work(part: _Part, top: int) -> float:
    drawn, sums = _bounds(part, top)
    counts = np.unique(part.scores, return_counts=True)[1][1:]
    return float(np.minimum(counts, drawn).sum()) * drawn * sums


def _distribution(part: _Part, top: int) -> Floats:
    """The probabilities of the sums 0 to ``top`` of a random choice of ``size`` units.

    Units are drawn score by score. A state is how many are drawn, and their sum.
    """
    smallest, pool = int(part.scores.min()), len(part.scores)
    logs = np.concatenate([np.zeros(1), np.log(np.arange(1, pool + 1)).cumsum()])  # of factorials
    drawn, largest = _bounds(part, top)
    states = np.zeros((drawn + 1, largest + 1))
    states[0, 0] = 1.0
    left = part.size - np.arange(drawn + 1)  # units that are still to be drawn
    for score, count in zip(*np.unique(part.scores - smallest, return_counts=True), strict=True):
        if score == 0:  # what is not drawn in the end has the smallest score
            continue
        others = pool - int(count)
        following = np.zeros_like(states)
        for k in range(min(int(count), drawn) + 1):
            shift = k * int(score)
            if shift > largest:
                break
            # The probability of k of these units among all that are left (hypergeometric).
            possible = (left >= k) & (left - k <= others)
            n = np.where(possible, left, k)
            chance = logs[count] - logs[k] - logs[count - k] - logs[pool] + logs[n] + logs[pool - n]
            chance = chance + logs[others] - logs[n - k] - logs[np.maximum(others - n + k, 0)]
            chance = np.where(possible, np.exp(chance), 0.0)
            following[k:, shift:] += (
                states[: drawn + 1 - k, : largest + 1 - shift] * chance[: drawn + 1 - k, None]
            )
        states, pool = following, others
    sums: Floats = np.concatenate([np.zeros(part.size * smallest), states.sum(axis=0)])
    return sums[: top + 1]


# --- power --------------------------------------------------------------------------------------


MOST_IN_EACH = 100  # signs in each direction that are looked at
CATS_A_TERM = (1, 2, 3, 5, 10, 20)
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


def sign_power(share: float, each: Sequence[int], *, alpha: float = 0.05) -> float:
    """The probability that the one-sided sign test is significant if this share of signs is right.

    Args:
        share: of right signs.
        each: the number of signs in each direction, see ``chances``.
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

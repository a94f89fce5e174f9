"""An exact test of whether a group of units differs from the other units."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.stats.intervals import Floats

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
        return self.size * float(self.scores.mean())

    @property
    def variance(self) -> float:
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
            logs[end] += _log_choose(alike, needed) - _log_choose(len(ordered), part.size)
    return math.exp(min(logs))


def _log_choose(n: int, k: int) -> float:
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

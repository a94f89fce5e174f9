"""The association of words with two groups, and the word embedding association test (WEAT).

Caliskan, Bryson and Narayanan (2017), *Semantics derived automatically from language corpora
contain human-like biases*, Materials and Methods.
"""

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from curation.trust.prior.directions import Floats
from curation.trust.vectors.cosine import soa

EXACT = 200_000  # partitions up to which all are counted
DRAWN = 100_000  # partitions that are drawn if there are more
_BLOCK = 10_000


class Weat(NamedTuple):
    """The result of the test; all values are positive if X is closer to A than Y is.

    Attributes:
        statistic: the sum of the associations over X minus the sum over Y.
        effect_size_population: the difference of the means by the standard deviation over X and Y
            together, with n in its denominator; None if it is 0.
        effect_size_sample: the same with n - 1 in its denominator.
        p: the share of the partitions of X and Y, into sets of the same sizes, whose statistic is
            at least as large (one-sided).
        partitions: how many partitions were counted.
        exact: whether these are all. If not, they were drawn, and p counts the observed one, too.
    """

    statistic: float
    effect_size_population: float | None
    effect_size_sample: float | None
    p: float
    partitions: int
    exact: bool


def associations(targets: Floats, first: Floats, second: Floats) -> Floats:
    """s(t) = mean cos(t, a) over the first group's words - mean cos(t, b) over the second's.

    Args:
        targets: shape (n, dimensions).
        first: the vectors of the first group's words, shape (words, dimensions).
        second: those of the second group's.

    Returns:
        Shape (n,); NaN for a target of length 0.
    """
    return np.asarray(soa(targets, first).mean(axis=1) - soa(targets, second).mean(axis=1))


def weat(x: Floats, y: Floats, a: Floats, b: Floats, *, seed: int) -> Weat:
    """The test of two sets of targets, X and Y, against two groups, A and B.

    The paper writes > for the p-value; with ≥ the observed partition counts, so p is never 0. X and
    Y have the same size in the paper; here they need not.

    Args:
        x: the vectors of the first targets, shape (words, dimensions), none of length 0.
        y: those of the second targets.
        a: those of the first group's words.
        b: those of the second group's.
        seed: makes partitions that are drawn the same in each run.
    """
    own = associations(np.concatenate([x, y]), a, b)
    first, second = own[: len(x)], own[len(x) :]
    gap = float(first.mean() - second.mean())
    sample = float(own.std(ddof=1))
    p, partitions, exact = _p_value(own, len(x), seed=seed)
    return Weat(
        float(first.sum() - second.sum()),
        gap / float(own.std()) if sample else None,
        gap / sample if sample else None,
        p,
        partitions,
        exact,
    )


def _p_value(own: Floats, size: int, *, seed: int) -> tuple[float, int, bool]:
    """p, the number of partitions, and whether these are all.

    The statistic of a partition is twice the sum over its first set minus the sum of all, so the
    sums over the first sets have the same order.
    """
    rounding = 1e-12 * max(1.0, float(np.abs(own).sum()))
    least = own[:size].sum() - rounding
    ways = math.comb(len(own), size)
    if ways <= EXACT:
        sums = np.fromiter((sum(part) for part in combinations(own.tolist(), size)), float, ways)
        return float((sums >= least).mean()), ways, True
    rng = np.random.default_rng(seed)
    reached = 0
    for _ in range(DRAWN // _BLOCK):
        mixed = rng.permuted(np.broadcast_to(own, (_BLOCK, len(own))), axis=1)
        reached += int((mixed[:, :size].sum(axis=1) >= least).sum())
    return (reached + 1) / (DRAWN + 1), DRAWN, False

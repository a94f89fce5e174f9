"""Spearman's rank correlation with its permutation test."""

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np

from curation.stats.intervals import Floats

_EXACT = 8  # with more models than this, permutations are drawn at random


def ranks(values: Floats) -> Floats:
    """Ranks from 1 on; equal values get the mean of their ranks.

    >>> ranks(np.array([30.0, 10.0, 30.0, 20.0])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place])


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
    count = len(first)
    result: dict[str, Any] = {"rho": None, "p": None, "models": count, "exact": count <= _EXACT}
    x, y = ranks(np.asarray(first, float)), ranks(np.asarray(second, float))
    if count < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return result
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    rho = float(x @ y) / scale
    if count <= _EXACT:
        orders = np.array(list(permutations(range(count))))
        extra = 0
    else:
        rng = np.random.default_rng(seed)
        orders = rng.permuted(np.tile(np.arange(count), (draws, 1)), axis=1)
        extra = 1
    as_far = np.sum(np.abs(y[orders] @ x) / scale >= abs(rho) - 1e-12)
    return result | {"rho": rho, "p": float((as_far + extra) / (len(orders) + extra))}

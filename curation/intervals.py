"""Bootstrap intervals over units that are drawn whole: CATs or target terms."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FEW = 5  # fewer units than this: the interval says little, and the figure is flagged
_BLOCK = 4_000_000  # draws held at once: about 32 MB


def resampled_sums(units: Floats, *, resamples: int = 1000, seed: int = 0) -> Floats:
    """Sums over bootstrap samples of units.

    Args:
        units: shape (units, k), what each unit adds.
        resamples: how many samples, each of as many units as there are, with replacement.
        seed: of the draws.

    Returns:
        Shape (resamples, k).
    """
    count = len(units)
    rng = np.random.default_rng(seed)
    sums = np.empty((resamples, units.shape[1]))
    step = max(1, _BLOCK // max(count, 1))
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        draws = rng.integers(count, size=(rows, count), dtype=np.int32)
        draws += (np.arange(rows, dtype=np.int64) * count).astype(np.int32)[:, None]
        times = np.bincount(draws.ravel(), minlength=rows * count).reshape(rows, count)
        sums[start : start + rows] = times.astype(np.float64) @ units
    return sums


def intervals(
    units: Floats,
    statistics: Mapping[str, Callable[[Floats], Floats]],
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, list[float] | None]:
    """Percentile bootstrap intervals of statistics of sums (Efron & Tibshirani 1993, ch. 13).

    Args:
        units: shape (units, k).
        statistics: by name; each maps sums of shape (n, k) to n values, NaN where not defined.
        resamples: bootstrap samples, the same for all statistics.
        confidence: share of the samples inside.
        seed: of the draws.

    Returns:
        Lower and upper bound by name; None where fewer than two units, or no sample, give a value.

    >>> scores = np.array([[40.0, 1], [60.0, 1]])
    >>> intervals(scores, {"mean": lambda sums: sums[:, 0] / sums[:, 1]})
    {'mean': [40.0, 60.0]}
    """
    if len(units) < 2:
        return dict.fromkeys(statistics)
    sums = resampled_sums(units, resamples=resamples, seed=seed)
    tail = (1 - confidence) / 2
    bounds: dict[str, list[float] | None] = {}
    for name, statistic in statistics.items():
        values = statistic(sums)
        values = values[~np.isnan(values)]
        bounds[name] = np.quantile(values, [tail, 1 - tail]).tolist() if len(values) else None
    return bounds

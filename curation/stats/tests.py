"""Tests of differences over terms: paired t, Holm's correction, swaps of labels, and signs."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.stats.intervals import Floats, mean_and_error, mean_interval, pseudo_values
from curation.stats.metrics import METRICS, extreme, icat, percent_interval

SWAPS = 10_000  # drawn by ``swap_test`` if there are too many to try all
ALL_SWAPS = 12  # terms up to which all swaps are tried
_AT_ONCE = 1_000_000  # signs in memory at once: 16 MB


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


def sign_test(right: int, n: int) -> float:
    """One-sided p of the exact sign test: at least this many right signs by chance.

    >>> round(sign_test(7, 8), 3)  # 9 of 256
    0.035
    """
    return float(sum(math.comb(n, k) for k in range(right, n + 1)) / 2**n)


def right_signs(n: int, *, alpha: float = 0.05) -> int | None:
    """The least number of right signs that is significant; None if not even all are.

    >>> right_signs(8), right_signs(4)
    (7, None)
    """
    return next((right for right in range(n + 1) if sign_test(right, n) <= alpha), None)


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


def paired_tests(means: Floats, *, cats: int) -> list[dict[str, Any]]:
    """Differences of two models in lms, ss and icat, the first less the second, with tests.

    For lms and ss, every term gives one difference; ``ci`` and ``p`` are those of Student's paired
    t test over terms. A single term has no icat, so the jackknife's pseudo-values over terms take
    the place of its differences. If two models are equal, p is below 0.05 in 4 to 6 of 100 cases
    from five terms on, except for the tests that ``unsure`` marks (``docs/intervals.md`` has the
    measured shares).

    Args:
        means: shape (terms, 4), in points: lms and ss of the first model on each term, then lms
            and ss of the second, all on the same CATs.
        cats: the number of these CATs.

    Returns:
        One row for each of lms, ss and icat: ``{"figure", "a_value", "b_value", "difference",
        "ci", "p", "unsure"}``; values are in points. ``figure`` names the metric. ci and p are
        None with fewer than two terms.
    """
    ones = np.ones(len(means))
    sides = [np.column_stack([means[:, at], means[:, at + 1], ones]) for at in (0, 2)]
    units = {
        "lms": means[:, 0] - means[:, 2],
        "ss": means[:, 1] - means[:, 3],
        "icat": np.zeros(len(means)),
    }
    if len(means) > 1:
        first_icat, second_icat = (pseudo_values(_icat_of_sums, side) for side in sides)
        units["icat"] = first_icat - second_icat
    rows = []
    for metric in METRICS:
        first, second = (_mean(metric, side) for side in sides)
        difference, ci = first - second, mean_interval(units[metric])
        if ci:  # the mean of pseudo-values is near the difference, and not always equal to it
            shift = difference - float(units[metric].mean())
            ci = [end + shift for end in ci]
        rows.append(
            {
                "figure": metric,
                "a_value": first,
                "b_value": second,
                "difference": difference,
                "ci": ci,
                "p": t_test(units[metric] - float(units[metric].mean()) + difference),
                "unsure": any(_unsure(metric, side, cats) for side in sides),
            }
        )
    return rows


def _mean(metric: str, side: Floats) -> float:
    lms, ss, _ = side.mean(axis=0)
    return float({"lms": lms, "ss": ss, "icat": icat(lms, ss)}[metric])


def _icat_of_sums(sums: Floats) -> Floats:
    """The icat of sums over terms; the columns are the sums of lms, of ss, and of ones."""
    return icat(sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2])


def _unsure(metric: str, side: Floats, cats: int) -> bool:
    """Whether the error rate of a metric's test may be outside 4 to 6 in 100 (docs/intervals.md).

    This holds for lms near 0 or 100 over few terms. It also holds for icat if ss may be 50: icat
    has its maximum there, and does not vary as the test assumes.
    """
    if metric == "lms":
        return extreme(float(side[:, 0].mean()), len(side))
    ends = percent_interval(side[:, 1], observations=cats) if metric == "icat" else None
    return ends is not None and ends[0] <= 50 <= ends[1]


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

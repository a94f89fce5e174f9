"""Tests of differences between two models: paired t tests over terms, Holm's correction."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.stats.intervals import Floats, mean_and_error, mean_interval, pseudo_values
from curation.stats.metrics import METRICS, extreme, icat, percent_interval


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

"""Whether models differ: paired tests over terms, Holm's correction, rank correlation."""

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.records import KINDS
from curation.scores.runs import Board
from curation.stats.intervals import FEW, Floats, mean_interval, pseudo_values, t_test
from curation.stats.metrics import extreme, icat, percent_interval

FIGURES = ("lms", "ss", "icat")
BOTH = "both"  # a term's CATs of both kinds pooled
_EXACT = 8  # with more models than this, permutations are drawn

Pair = tuple[int, int]


def term_means(codes: NDArray[np.intp], values: Floats) -> Floats:
    """Means over each term's CATs.

    Args:
        codes: each CAT's term as a number from 0 on; none is left out.
        values: shape (k, CATs).

    Returns:
        Shape (terms, k).
    """
    count = np.bincount(codes)
    sums = [np.bincount(codes, weights=row, minlength=len(count)) for row in values]
    return np.column_stack(sums) / count[:, None]


def paired(board: Board, pairs: Sequence[Pair], *, kind: str = BOTH) -> list[dict[str, Any]]:
    """Differences of two runs' lms, ss and icat, the first less the second, with tests.

    Both are computed on the CATs that both have. Of lms and ss, every term gives the difference of
    the two runs on it; ``ci`` and ``p`` are those of Student's paired t test over terms. Of icat,
    which no term has by itself, the jackknife's pseudo-values over terms take their place. Between
    equal models p is below 0.05 in 4 to 6 of 100 cases from five terms on, but for what ``unsure``
    marks (``docs/intervals.md`` has the measured shares).

    Args:
        board: what the runs won.
        pairs: numbers of runs.
        kind: of CATs, or "both".

    Returns:
        A row for each pair and figure: ``{"a", "b", "kind", "figure", "a_value", "b_value",
        "difference", "ci", "p", "cats", "terms", "few_terms", "unsure"}``, a and b being
        names of runs; values in points. ci and p are None with fewer than two terms. Pairs without
        common CATs have no row.
    """
    chosen = np.ones(len(board.cats), bool) if kind == BOTH else board.cats["kind"] == kind
    codes, _ = board.cats["term"].factorize(sort=True)
    has = ~np.isnan(board.stereotype) & np.asarray(chosen)
    rows = []
    for a, b in pairs:
        common = has[a] & has[b]
        if not common.any():
            continue
        _, own = np.unique(codes[common], return_inverse=True)
        won = [50 * board.meaningful[:, common], 100 * board.stereotype[:, common]]
        means = term_means(own, np.stack([of[run] for run in (a, b) for of in won]))
        names = {"a": board.runs[a].name, "b": board.runs[b].name, "kind": kind}
        sizes = {"cats": int(common.sum()), "terms": len(means), "few_terms": len(means) < FEW}
        rows += [names | row | sizes for row in compared(means, cats=int(common.sum()))]
    return rows


def _icat(sums: Floats) -> Floats:
    """Of sums over terms of lms and 1 in the first and last column, and ss in the second."""
    return icat(sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2])


def compared(means: Floats, *, cats: int) -> list[dict[str, Any]]:
    """The differences of two runs from the terms' lms and ss.

    Args:
        means: shape (terms, 4): lms and ss of the one run, lms and ss of the other.
        cats: how many CATs the two were compared on.

    Returns:
        A row for each figure: ``{"figure", "a_value", "b_value", "difference", "ci", "p",
        "unsure"}``, as in ``paired``.
    """
    ones = np.ones(len(means))
    sides = [np.column_stack([means[:, at], means[:, at + 1], ones]) for at in (0, 2)]
    units = {
        "lms": means[:, 0] - means[:, 2],
        "ss": means[:, 1] - means[:, 3],
        "icat": np.zeros(len(means)),
    }
    if len(means) > 1:
        of_first, of_second = (pseudo_values(_icat, side) for side in sides)
        units["icat"] = of_first - of_second
    rows = []
    for figure in FIGURES:
        first, second = (_value(figure, side) for side in sides)
        difference, ci = first - second, mean_interval(units[figure])
        if ci:  # the mean of pseudo-values is near the difference, and not always equal to it
            shift = difference - float(units[figure].mean())
            ci = [end + shift for end in ci]
        rows.append(
            {
                "figure": figure,
                "a_value": first,
                "b_value": second,
                "difference": difference,
                "ci": ci,
                "p": t_test(units[figure] - float(units[figure].mean()) + difference),
                "unsure": any(_unsure(figure, side, cats) for side in sides),
            }
        )
    return rows


def _value(figure: str, side: Floats) -> float:
    lms, ss, _ = side.mean(axis=0)
    return float({"lms": lms, "ss": ss, "icat": icat(lms, ss)}[figure])


def _unsure(figure: str, side: Floats, cats: int) -> bool:
    """Whether the test of a figure may err in other than 4 to 6 of 100 cases (docs/intervals.md).

    lms near 0 or 100 over few terms; icat where ss may be 50: there it has its maximum, and does
    not vary as the test supposes.
    """
    if figure == "lms":
        return extreme(float(side[:, 0].mean()), len(side))
    ends = percent_interval(side[:, 1], observations=cats) if figure == "icat" else None
    return ends is not None and ends[0] <= 50 <= ends[1]


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of p-values (Holm 1979); None is no test and stays None.

    >>> holm([0.01, 0.04, None, 0.03])  # 3 · 0.01, then 2 · 0.03, then at least as much
    [0.03, 0.06, None, 0.06]
    """
    tests = sorted((p, place) for place, p in enumerate(values) if p is not None)
    found: list[float | None] = [None] * len(values)
    least = 0.0
    for done, (p, place) in enumerate(tests):
        least = max(least, min(1.0, (len(tests) - done) * p))
        found[place] = least
    return found


def differences(board: Board, chosen: Sequence[int]) -> list[dict[str, Any]]:
    """Every pair of runs: the rows of ``paired``, overall and by kind, with ``p_holm``.

    Holm's correction is over all pairs of one figure and one kind. A run that lacks a kind which
    another has is in no pair of both kinds.

    Args:
        board: what the runs won.
        chosen: numbers of the runs; each pair stands in this order.
    """
    rows = []
    for kind in (BOTH, *(k for k in KINDS if (board.cats["kind"] == k).any())):
        found = paired(board, _pairs(board.whole(chosen) if kind == BOTH else chosen), kind=kind)
        for figure in FIGURES:
            of = [row for row in found if row["figure"] == figure]
            for row, p in zip(of, holm([row["p"] for row in of]), strict=True):
                row["p_holm"] = p
        rows += found
    return rows


def _pairs(runs: Sequence[int]) -> list[Pair]:
    return [(a, b) for place, a in enumerate(runs) for b in runs[place + 1 :]]


# --- rank correlation -----------------------------------------------------------------------


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

    With up to eight models p is exact: the share of all orders whose correlation is as far from 0
    or farther. With more, orders are drawn, and the one found is counted among them.

    Args:
        first: one figure of each model.
        second: another.
        draws: orders drawn where there are too many to go through.
        seed: of the draws.

    Returns:
        ``{"rho", "p", "models", "exact"}``; rho and p are None with fewer than three models, or
        where all models are equal in a figure.
    """
    count = len(first)
    found: dict[str, Any] = {"rho": None, "p": None, "models": count, "exact": count <= _EXACT}
    x, y = ranks(np.asarray(first, float)), ranks(np.asarray(second, float))
    if count < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return found
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
    return found | {"rho": rho, "p": float((as_far + extra) / (len(orders) + extra))}

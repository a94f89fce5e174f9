"""Whether models differ: paired bootstrap over terms, Holm's correction, rank correlation."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.intervals import FEW, Floats, resampled_sums
from curation.records import KINDS
from curation.scores.metrics import icat
from curation.scores.runs import Board

FIGURES = ("lms", "ss", "icat")
BOTH = "both"  # a term's CATs of both kinds pooled
ENOUGH = 20  # terms, with fewer of which the bootstrap's p is too small
_BATCH = 64  # pairs whose resamples are held at once: about 80 MB at 38,000 resamples
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


def enough_resamples(pairs: int, resamples: int) -> int:
    """How many resamples ``differences`` takes: at least so many that p can pass the correction.

    The smallest p of the bootstrap is 2 / (resamples + 1), and Holm's correction multiplies it by
    the number of pairs; with this many the least corrected p is at most 0.01.

    >>> enough_resamples(1, 1000), enough_resamples(190, 1000)
    (1000, 37999)
    """
    return max(resamples, 200 * pairs - 1)


def paired(
    board: Board, pairs: Sequence[Pair], *, kind: str = BOTH, resamples: int = 1000, seed: int = 1
) -> list[dict[str, Any]]:
    """Differences of two runs' lms, ss and icat, the first less the second, with intervals.

    Both are computed on the CATs that both have. Terms are drawn with replacement (Efron &
    Tibshirani 1993, ch. 13), the same for both runs; each draw's figures are means over its terms,
    icat comes from these means. ``ci`` is the 95 % percentile interval. ``p`` is two-sided: twice
    the smaller share of draws on one side of 0, one draw added to both counts (Davison & Hinkley
    1997, §4.2.5), so that it is never 0. With fewer than ``ENOUGH`` terms p is too small: in
    simulations of equal models it was below 0.05 in 4 to 6 of 100 cases from 20 terms on, with 10
    in up to 11, with 5 in up to 15.

    Args:
        board: what the runs won.
        pairs: numbers of runs.
        kind: of CATs, or "both".
        resamples: bootstrap samples.
        seed: of the draws.

    Returns:
        A row for each pair and figure: ``{"a", "b", "kind", "figure", "a_value", "b_value",
        "difference", "ci", "p", "cats", "terms", "few_terms"}``, a and b being names of runs;
        values in points. ci and p are None with fewer than two terms. Pairs without common CATs
        have no row.
    """
    chosen = np.ones(len(board.cats), bool) if kind == BOTH else board.cats["kind"] == kind
    codes, _ = board.cats["term"].factorize(sort=True)
    has = ~np.isnan(board.stereotype) & np.asarray(chosen)
    units: dict[Pair, Floats] = {}
    cats: dict[Pair, int] = {}
    alike: dict[bytes, list[Pair]] = defaultdict(list)  # with the same terms, drawn at once
    for a, b in pairs:
        common = has[a] & has[b]
        if not common.any():
            continue
        terms, own = np.unique(codes[common], return_inverse=True)
        lms, ss = 50 * board.meaningful[:, common], 100 * board.stereotype[:, common]
        units[a, b] = term_means(own, np.stack([lms[a], ss[a], lms[b], ss[b]]))
        cats[a, b] = int(common.sum())
        alike[terms.tobytes()].append((a, b))
    rows: dict[Pair, list[dict[str, Any]]] = {}
    for group in alike.values():
        for start in range(0, len(group), _BATCH):
            batch = group[start : start + _BATCH]
            together = np.hstack([units[pair] for pair in batch])
            count = len(together)
            drawn: Floats = np.empty((0, together.shape[1]))
            if count > 1:
                drawn = resampled_sums(together, resamples=resamples, seed=seed) / count
            for number, pair in enumerate(batch):
                whole = units[pair].mean(axis=0, keepdims=True)
                draws = drawn[:, 4 * number : 4 * number + 4]
                names = {"a": board.runs[pair[0]].name, "b": board.runs[pair[1]].name, "kind": kind}
                size = {"cats": cats[pair], "terms": count, "few_terms": count < FEW}
                rows[pair] = [names | row | size for row in _rows(whole, draws)]
    return [row for pair in pairs if pair in rows for row in rows[pair]]


def _figures(means: Floats) -> dict[str, Floats]:
    return {"lms": means[:, 0], "ss": means[:, 1], "icat": icat(means[:, 0], means[:, 1])}


def _rows(whole: Floats, draws: Floats) -> list[dict[str, Any]]:
    """A row a figure; both have the columns lms, ss of the one run and lms, ss of the other."""
    first, second = _figures(whole[:, :2]), _figures(whole[:, 2:])
    of_first, of_second = _figures(draws[:, :2]), _figures(draws[:, 2:])
    rows = []
    for figure in FIGURES:
        found = of_first[figure] - of_second[figure]
        rows.append(
            {
                "figure": figure,
                "a_value": float(first[figure][0]),
                "b_value": float(second[figure][0]),
                "difference": float(first[figure][0] - second[figure][0]),
                "ci": np.quantile(found, [0.025, 0.975]).tolist() if len(found) else None,
                "p": two_sided(found) if len(found) else None,
            }
        )
    return rows


def two_sided(draws: Floats, *, rounding: float = 1e-9) -> float:
    """Two-sided p of the hypothesis 0, from a bootstrap's draws; between 2 / (draws + 1) and 1.

    Args:
        draws: of the difference.
        rounding: what is nearer to 0 than this counts as 0, on both sides.

    >>> two_sided(np.array([1.0, 2.0, 3.0]))  # 2 · (0 + 1) / (3 + 1)
    0.5
    >>> two_sided(np.array([0.0, 0.0, 0.0]))
    1.0
    """
    low, high = int(np.sum(draws <= rounding)), int(np.sum(draws >= -rounding))
    return float(min(1.0, 2 * (1 + min(low, high)) / (len(draws) + 1)))


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


def differences(
    board: Board, chosen: Sequence[int], *, resamples: int = 1000, seed: int = 1
) -> list[dict[str, Any]]:
    """Every pair of runs: the rows of ``paired``, overall and by kind, with ``p_holm``.

    Holm's correction is over all pairs of one figure and one kind.

    Args:
        board: what the runs won.
        chosen: numbers of the runs; each pair stands in this order.
        resamples: at least so many; see ``enough_resamples``.
        seed: of the draws.
    """
    pairs = [(a, b) for place, a in enumerate(chosen) for b in chosen[place + 1 :]]
    draws = enough_resamples(len(pairs), resamples)
    rows = []
    for kind in (BOTH, *(k for k in KINDS if (board.cats["kind"] == k).any())):
        found = paired(board, pairs, kind=kind, resamples=draws, seed=seed)
        for figure in FIGURES:
            of = [row for row in found if row["figure"] == figure]
            for row, p in zip(of, holm([row["p"] for row in of]), strict=True):
                row["p_holm"] = p
        rows += found
    return rows


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

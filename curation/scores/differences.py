"""Whether two runs differ in lms, ss and icat, on the CATs that both have scored."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from curation.records import KINDS
from curation.scores.boards import Board
from curation.stats.intervals import FEW
from curation.stats.metrics import BOTH, METRICS
from curation.stats.tests import holm, paired_tests, term_means

Pair = tuple[int, int]


def paired(board: Board, pairs: Sequence[Pair], *, kind: str = BOTH) -> list[dict[str, Any]]:
    """Differences of pairs of runs, the first run less the second, with tests over terms.

    Both runs are computed on the CATs that both have. ``stats.tests.paired_tests`` has the tests.

    Args:
        board: what the runs won.
        pairs: numbers of runs.
        kind: of CATs, or "both". If the common CATs of a pair are of one kind only, its rows have
            that kind.

    Returns:
        One row for each pair and metric: ``{"a", "b", "kind", "figure", "a_value", "b_value",
        "difference", "ci", "p", "cats", "terms", "few_terms", "unsure"}``. a and b are names of
        runs; values are in points. ci and p are None with fewer than two terms. Pairs without
        common CATs have no row.
    """
    chosen = np.ones(len(board.cats), bool) if kind == BOTH else board.cats["kind"] == kind
    codes, _ = board.cats["term"].factorize(sort=True)
    has = ~np.isnan(board.stereotype) & np.asarray(chosen)
    kind_of = np.asarray(board.cats["kind"], str)
    rows = []
    for a, b in pairs:
        common = has[a] & has[b]
        if not common.any():
            continue
        _, terms = np.unique(codes[common], return_inverse=True)
        won = [50 * board.meaningful[:, common], 100 * board.stereotype[:, common]]
        means = term_means(terms, np.stack([metric[run] for run in (a, b) for metric in won]))
        kinds = np.unique(kind_of[common])
        names = {"a": board.runs[a].name, "b": board.runs[b].name}
        names["kind"] = str(kinds[0]) if len(kinds) == 1 else kind
        sizes = {"cats": int(common.sum()), "terms": len(means), "few_terms": len(means) < FEW}
        rows += [names | row | sizes for row in paired_tests(means, cats=int(common.sum()))]
    return rows


def differences(board: Board, chosen: Sequence[int]) -> list[dict[str, Any]]:
    """Every pair of runs: the rows of ``paired``, of both kinds and by kind, with ``p_holm``.

    Holm's correction is over all pairs of one metric and one kind. If a run lacks a kind of CAT
    that another run has, it is in no pair of both kinds. If no run has CATs of both kinds, there
    are no such pairs.

    Args:
        board: what the runs won.
        chosen: numbers of the runs; the runs of each pair are in this order.
    """
    rows = []
    whole = board.whole(chosen)
    scored = ~np.isnan(board.stereotype[list(whole)]).all(axis=0)
    both = len(np.unique(np.asarray(board.cats["kind"], str)[scored])) > 1
    for kind in (*([BOTH] if both else []), *(k for k in KINDS if (board.cats["kind"] == k).any())):
        tests = paired(board, _pairs(whole if kind == BOTH else chosen), kind=kind)
        for metric in METRICS:
            own = [row for row in tests if row["figure"] == metric]
            for row, p in zip(own, holm([row["p"] for row in own]), strict=True):
                row["p_holm"] = p
        rows += tests
    return rows


def _pairs(runs: Sequence[int]) -> list[Pair]:
    return [(a, b) for place, a in enumerate(runs) for b in runs[place + 1 :]]

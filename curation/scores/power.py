"""How many terms, and CATs per term, are needed to show a difference between runs of a board."""

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from curation.scores.boards import Board
from curation.scores.differences import Pair
from curation.stats.power import CATS_A_TERM, Spread, detectable, needed_by_pairs, spread

EVEN = 50.0  # the ss of a model that prefers neither


def pair_spread(board: Board, pair: Pair | tuple[int, None], metric: str) -> Spread | None:
    """The spread of one pair's differences, on CATs that both have, kinds pooled.

    Args:
        board: what the runs won.
        pair: numbers of two runs; or of one run and None, to compare its ss with 50.
        metric: lms or ss.

    Returns:
        None with fewer than two terms.
    """
    values = 100 * board.stereotype if metric == "ss" else 50 * board.meaningful
    first, second = pair
    differences = values[first] - (EVEN if second is None else values[second])
    has = ~np.isnan(differences)
    codes, terms = board.cats["term"][has].factorize(sort=True)
    return spread(codes, differences[has]) if len(terms) > 1 else None


def power_report(
    board: Board,
    chosen: Sequence[int],
    difference: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> dict[str, Any]:
    """What it takes to show a difference of ``difference`` points of lms or ss between two models.

    Every pair of models has a spread of its own; the report has the median pair and the hardest
    pair. With one model, its ss is tested against 50. The test is the paired t test of
    ``stats.tests.paired_tests``.

    Args:
        board: what the runs won.
        chosen: numbers of the runs, one per model.
        difference: in points.
        alpha: two-sided error of the first kind.
        power: the probability with which the difference is to be found.

    Returns:
        ``{"difference", "alpha", "power", "against", "figures": [{"figure", "pairs", "detectable",
        "detectable_hardest", "terms", "cats", "between", "within", "needed": [{"cats_a_term",
        "terms", "cats", "power", "terms_hardest"}]}]}``. ``figure`` is lms or ss; one with fewer
        than two terms is left out. ``against`` is "each other" or "50". ``between`` and ``within``
        are medians. ``power`` in ``needed`` is the power that these terms reach; since terms are
        whole, it is a little higher than the one asked for. Values are None if they are not
        defined, for example if two models differ by the same amount on all terms.
    """
    alone = len(chosen) == 1
    pairs: list[Pair | tuple[int, None]] = [
        (a, b) for place, a in enumerate(chosen) for b in chosen[place + 1 :]
    ]
    if alone:
        pairs = [(chosen[0], None)]
    parts = []
    for metric in ("ss",) if alone else ("lms", "ss"):
        spreads = [s for s in (pair_spread(board, pair, metric) for pair in pairs) if s]
        if not spreads:
            continue
        least = [detectable(of, alpha=alpha, power=power) for of in spreads if of.of_means > 0]
        within = [of.within for of in spreads if of.within is not None]
        parts.append(
            {
                "figure": metric,
                "pairs": len(spreads),
                "detectable": median(least) if least else None,
                "detectable_hardest": max(least) if least else None,
                "terms": min(of.terms for of in spreads),
                "cats": min(of.cats for of in spreads),
                "between": median(of.between for of in spreads),
                "within": median(within) if within else None,
                "needed": [
                    needed_by_pairs(spreads, difference, cats, alpha=alpha, power=power)
                    for cats in CATS_A_TERM
                ],
            }
        )
    return {
        "difference": difference,
        "alpha": alpha,
        "power": power,
        "against": "50" if alone else "each other",
        "figures": parts,
    }

"""How many terms, and CATs a term, it takes to tell two models apart."""

import math
from collections.abc import Sequence
from statistics import NormalDist, median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.scores.differences import Pair
from curation.scores.runs import Board
from curation.stats.intervals import Floats, t_quantile

CATS_A_TERM = (1, 2, 3, 5, 10, 20)
_SURE = 30  # times the critical value: a difference so clear is always found
EVEN = 50.0  # the ss of a model that prefers neither


class Spread(NamedTuple):
    """How a difference of two models varies, in squared points.

    ``between`` is the variance of terms' true differences, ``within`` that of CATs about their
    term's; within is None, and between holds both, where no term has two CATs. ``of_means`` is the
    variance of the terms' observed means.
    """

    between: float
    within: float | None
    of_means: float
    mean: float
    terms: int
    cats: int


def spread(codes: NDArray[np.intp], values: Floats) -> Spread:
    """Variance between and within terms by the method of moments, terms of unequal size.

    Within is pooled over terms: the squares about the terms' means by CATs less terms. The
    variance of the terms' unweighted means has the expectation between + within · mean(1/m), with
    m CATs a term (Searle, Casella & McCulloch 1992), so between is what is left of it, at
    least 0. Means are not weighted by their CATs because lms and ss are not, either.

    Args:
        codes: each CAT's term as a number from 0 on; none is left out.
        values: each CAT's difference, in points.

    Raises:
        ValueError: fewer than two terms.
    """
    sizes = np.bincount(codes)
    terms, cats = len(sizes), len(values)
    if terms < 2:
        raise ValueError("no variance between fewer than two terms")
    means = np.bincount(codes, weights=values) / sizes
    of_means = float(means.var(ddof=1))
    within = None
    if cats > terms:
        within = float(((values - means[codes]) ** 2).sum() / (cats - terms))
    left = of_means - (within or 0.0) * float((1 / sizes).mean())
    return Spread(max(0.0, left), within, of_means, float(means.mean()), terms, cats)


def power_at(of: Spread, difference: float, *, terms: int, cats: int, alpha: float = 0.05) -> float:
    """How probably a paired t test over terms finds a difference (noncentral t distribution).

    Args:
        of: how such differences vary.
        difference: in points.
        terms: how many, at least 2.
        cats: CATs a term.
        alpha: two-sided error of the first kind.

    Returns:
        From 0 to 1; the chance of a significant result in the wrong direction is left out.
    """
    from scipy.special import nctdtr

    error = math.sqrt((of.between + (of.within or 0.0) / cats) / terms)
    shift, t = difference / error, t_quantile(1 - alpha, terms - 1)
    return 1.0 if shift > _SURE * t else float(1 - nctdtr(terms - 1, shift, t))


def needed_terms(
    of: Spread, difference: float, cats: int, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """The least number of terms with which ``power_at`` reaches a power.

    Args:
        of: how such differences vary.
        difference: D, in points.
        cats: m, CATs a term.
        alpha: two-sided error of the first kind.
        power: how probably the difference is to be found.

    Returns:
        At least 2. None where the models never differ, or where more than one CAT a term is asked
        about and within is not known.
    """
    if of.of_means == 0 or (of.within is None and cats > 1):
        return None
    normal = NormalDist()
    z = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    terms = max(2, math.ceil((z / difference) ** 2 * (of.between + (of.within or 0.0) / cats)))
    while power_at(of, difference, terms=terms, cats=cats, alpha=alpha) < power:
        terms += 1  # the normal distribution asks for too few, by two or so
    return terms


def detectable(of: Spread, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The least difference, in points, that the terms at hand show with this power."""
    from scipy.special import nctdtrinc

    df = of.terms - 1
    shift = float(nctdtrinc(df, 1 - power, t_quantile(1 - alpha, df)))
    return shift * math.sqrt(of.of_means / of.terms)


def pair_spread(board: Board, pair: Pair | tuple[int, None], figure: str) -> Spread | None:
    """The spread of one pair's differences, of CATs that both have, kinds pooled.

    Args:
        board: what the runs won.
        pair: numbers of two runs; or of one and None, for its ss against 50.
        figure: lms or ss.

    Returns:
        None with fewer than two terms.
    """
    values = 100 * board.stereotype if figure == "ss" else 50 * board.meaningful
    first, second = pair
    found = values[first] - (EVEN if second is None else values[second])
    has = ~np.isnan(found)
    codes, terms = board.cats["term"][has].factorize(sort=True)
    return spread(codes, found[has]) if len(terms) > 1 else None


def power_report(
    board: Board,
    chosen: Sequence[int],
    difference: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> dict[str, Any]:
    """What a difference of ``difference`` points of lms or ss between two models would need.

    Every pair of models gives a spread of its own; shown are the pair in the middle and the
    hardest pair. With one model its ss is tested against 50. The test is the paired t test of
    ``differences.paired``.

    Args:
        board: what the runs won.
        chosen: numbers of the runs, one a model.
        difference: in points.
        alpha: two-sided error of the first kind.
        power: how probably the difference is to be found.

    Returns:
        ``{"difference", "alpha", "power", "against", "figures": [{"figure", "pairs", "detectable",
        "detectable_hardest", "terms", "cats", "between", "within", "needed": [{"cats_a_term",
        "terms", "cats", "power", "terms_hardest"}]}]}``; against is "each other" or "50", between
        and within are medians; ``power`` is what so many whole terms reach, a little more than
        was asked for. None where nothing can be said, as where two models differ by the same on
        all terms. A figure without two terms is left out.
    """
    alone = len(chosen) == 1
    pairs: list[Pair | tuple[int, None]] = [
        (a, b) for place, a in enumerate(chosen) for b in chosen[place + 1 :]
    ]
    if alone:
        pairs = [(chosen[0], None)]
    figures = []
    for figure in ("ss",) if alone else ("lms", "ss"):
        spreads = [s for s in (pair_spread(board, pair, figure) for pair in pairs) if s]
        if not spreads:
            continue
        least = [detectable(of, alpha=alpha, power=power) for of in spreads if of.of_means > 0]
        within = [of.within for of in spreads if of.within is not None]
        figures.append(
            {
                "figure": figure,
                "pairs": len(spreads),
                "detectable": median(least) if least else None,
                "detectable_hardest": max(least) if least else None,
                "terms": min(of.terms for of in spreads),
                "cats": min(of.cats for of in spreads),
                "between": median(of.between for of in spreads),
                "within": median(within) if within else None,
                "needed": [
                    _needed(spreads, difference, cats, alpha=alpha, power=power)
                    for cats in CATS_A_TERM
                ],
            }
        )
    return {
        "difference": difference,
        "alpha": alpha,
        "power": power,
        "against": "50" if alone else "each other",
        "figures": figures,
    }


def _needed(
    spreads: Sequence[Spread], difference: float, cats: int, *, alpha: float, power: float
) -> dict[str, Any]:
    found = [
        (terms, of)
        for of in spreads
        if (terms := needed_terms(of, difference, cats, alpha=alpha, power=power)) is not None
    ]
    found.sort(key=lambda pair: pair[0])
    row: dict[str, Any] = {"cats_a_term": cats, "terms": None, "cats": None, "power": None}
    if not found:
        return row | {"terms_hardest": None}
    terms, of = found[len(found) // 2]
    reached = power_at(of, difference, terms=terms, cats=cats, alpha=alpha)
    whole = {"terms": terms, "cats": terms * cats, "power": reached}
    return row | whole | {"terms_hardest": found[-1][0]}

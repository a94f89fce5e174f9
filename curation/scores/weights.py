"""The weights of an ensemble: their value on dev, and the search for the best."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from curation.stats.intervals import Floats
from curation.stats.metrics import icat

Objective = Literal["icat", "lms"]
_BLOCK = 8_000_000  # comparisons in memory at once: about 64 MB
_STEPS = (0.2, 0.1, 0.05, 0.02, 0.01)
_DRAWS, _STARTS, _MOVES = 2000, 5, 100
_EQUAL = 1e-9  # values nearer than this count as equal


def objective_of(
    gaps: Floats, terms: Sequence[str], *, objective: Objective, half: float
) -> Callable[[Floats], Floats]:
    """The value of weights on dev: a function of rows of weights that returns one value per row.

    Args:
        gaps: differences of standardised scores in each of a CAT's three comparisons, shape
            (3, CATs, members).
        terms: the term of each CAT.
        objective: lms or icat.
        half: how much a tie counts.
    """
    _, code, count = np.unique(terms, return_inverse=True, return_counts=True)
    share = 1 / (count[code] * len(count))  # of a CAT in the mean over terms

    def won(gap: Floats) -> Floats:
        wins = share @ (gap > 0)
        return np.asarray(wins + half * (share @ (gap == 0)) if half else wins)

    def block(weights: Floats) -> Floats:
        lms = 50 * (won(gaps[0] @ weights.T) + won(gaps[1] @ weights.T))
        if objective == "lms":
            return lms
        return icat(lms, 100 * won(gaps[2] @ weights.T))

    def score(weights: Floats) -> Floats:
        step = max(1, _BLOCK // gaps.shape[1])
        parts = range(0, len(weights), step)
        return np.concatenate([block(weights[at : at + step]) for at in parts])

    return score


def search(score: Callable[[Floats], Floats], count: int, seed: int) -> Floats:
    """The best weights; of equally good ones, the most even.

    Args:
        score: of ``objective_of``.
        count: how many members.
        seed: of the draws, with four members or more.
    """
    if count <= 3:
        tried = _grid(count, 1000 if count == 2 else 100)
        return np.asarray(_best(tried, score(tried))[0])
    rng = np.random.default_rng(seed)
    tried = np.vstack(
        [
            np.full(count, 1 / count),
            np.eye(count),
            (1 - np.eye(count)) / (count - 1),
            rng.dirichlet(np.ones(count), _DRAWS),
            rng.dirichlet(np.full(count, 0.3), _DRAWS),
        ]
    )
    starts = _best(tried, score(tried))[:_STARTS]
    ends = np.array([_climb(score, start) for start in starts])
    return np.asarray(_best(ends, score(ends))[0])


def _grid(count: int, steps: int) -> Floats:
    """All weights of two or three members that are whole multiples of 1 / steps."""
    first = np.arange(steps + 1)
    if count == 2:
        return np.column_stack([first, steps - first]) / steps
    a, b = (part.ravel() for part in np.meshgrid(first, first, indexing="ij"))
    fits = a + b <= steps
    return np.column_stack([a[fits], b[fits], steps - a[fits] - b[fits]]) / steps


def _best(weights: Floats, values: Floats) -> Floats:
    """The weights, best first; of equal values the most even, then more to earlier members."""
    steps = np.round(values / _EQUAL) * _EQUAL
    uneven = np.round((weights**2).sum(axis=1), 9)
    order = np.lexsort([*(-weights.T[::-1]), uneven, -steps])
    return np.asarray(weights[order])


def _climb(score: Callable[[Floats], Floats], start: Floats) -> Floats:
    """Move weight between members while this is better, or equally good and more even.

    Smaller and smaller steps are tried.
    """
    here, value = start, float(score(start[None])[0])
    for step in _STEPS:
        for _ in range(_MOVES):
            tried = np.array(list(_moves(here, step)))
            values = score(tried)
            top = _best(tried, values)[0]
            high = float(values.max())
            more_even = (top**2).sum() < (here**2).sum() - _EQUAL
            if high < value - _EQUAL or (high <= value + _EQUAL and not more_even):
                break
            here, value = top, high
    return here


def _moves(here: Floats, step: float) -> Iterator[Floats]:
    for giver, has in enumerate(here):
        for taker in range(len(here)):
            if taker != giver and has > 0:
                moved = here.copy()
                moved[giver] -= min(step, has)
                moved[taker] += min(step, has)
                yield moved

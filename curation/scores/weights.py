"""The weights of an ensemble: what they are worth on dev, and the search for the best."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from curation.stats.intervals import Floats
from curation.stats.metrics import icat

Objective = Literal["icat", "lms"]
_BLOCK = 8_000_000  # comparisons held at once: about 64 MB
_STEPS = (0.2, 0.1, 0.05, 0.02, 0.01)
_DRAWS, _STARTS, _MOVES = 2000, 5, 100
_EQUAL = 1e-9  # figures nearer than this are the same


def objective_of(
    gaps: Floats, terms: Sequence[str], *, objective: Objective, half: float
) -> Callable[[Floats], Floats]:
    """What weights give on dev: a function of rows of weights that returns a figure each.

    Args:
        gaps: standardised score less score of each of a CAT's three comparisons, shape
            (3, CATs, members).
        terms: of each CAT.
        objective: the figure.
        half: what a tie counts.
    """
    _, code, count = np.unique(terms, return_inverse=True, return_counts=True)
    share = 1 / (count[code] * len(count))  # of a CAT in the mean over terms

    def won(gap: Floats) -> Floats:
        found = share @ (gap > 0)
        return np.asarray(found + half * (share @ (gap == 0)) if half else found)

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
    """The best weights by a figure, and of equally good ones the most even.

    Args:
        score: of ``objective_of``.
        count: of members.
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


def _best(weights: Floats, figures: Floats) -> Floats:
    """The weights, best first; of equal figures the most even, then more to earlier members."""
    steps = np.round(figures / _EQUAL) * _EQUAL
    uneven = np.round((weights**2).sum(axis=1), 9)
    order = np.lexsort([*(-weights.T[::-1]), uneven, -steps])
    return np.asarray(weights[order])


def _climb(score: Callable[[Floats], Floats], start: Floats) -> Floats:
    """Move weight from one member to another for as long as that is better, or as good and evener.

    Ever smaller steps are tried.
    """
    here, figure = start, float(score(start[None])[0])
    for step in _STEPS:
        for _ in range(_MOVES):
            tried = np.array(list(_moves(here, step)))
            found = score(tried)
            top = _best(tried, found)[0]
            high = float(found.max())
            evener = (top**2).sum() < (here**2).sum() - _EQUAL
            if high < figure - _EQUAL or (high <= figure + _EQUAL and not evener):
                break
            here, figure = top, high
    return here


def _moves(here: Floats, step: float) -> Iterator[Floats]:
    for giver, has in enumerate(here):
        for taker in range(len(here)):
            if taker != giver and has > 0:
                moved = here.copy()
                moved[giver] -= min(step, has)
                moved[taker] += min(step, has)
                yield moved

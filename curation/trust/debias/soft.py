"""Soft debiasing: a linear map that keeps the words' inner products and shrinks their bias.

Bolukbasi et al. (2016, section 6, step 2b) minimise over T, with λ = 0.2,

    |(TW)ᵀ(TW) - WᵀW|² + λ |(TN)ᵀ(TB)|²

for the vectors W of all words and N of neutral words (columns) and the subspace B. Then all words
are normalised to length 1. Only X = TᵀT matters, and the objective is a convex quadratic in X over
positive semidefinite matrices. So it has one minimum, and T is taken as the symmetric root of X:
the map that turns nothing. All matrices are d × d, whatever the number of words.

The code of Manzini et al. (2019) starts at random, does not square the norms, and takes 10 steps of
1e-6: it ends where it starts.
"""

from typing import NamedTuple

import numpy as np

from curation.trust.prior.directions import Floats

WEIGHT = 0.2
TOLERANCE = 1e-9  # of a step, relative to the norm of the solution
STEPS = 5000
_FLAT = 1e-10  # a variance below this share of the largest is rounding


class Soft(NamedTuple):
    """The map, and how it was found.

    Attributes:
        map: T, symmetric, shape (d, d); words (rows) become ``rows @ map``.
        before: the objective for T = 1.
        after: the objective for T.
        steps: how many steps were taken.
        converged: whether the last step was within the tolerance.
    """

    map: Floats
    before: float
    after: float
    steps: int
    converged: bool


def soft_map(words: Floats, neutral: Floats, axes: Floats, *, weight: float = WEIGHT) -> Soft:
    """The map T that minimises the objective.

    In coordinates in which the words' inner products are the identity, with Y for X, the objective
    is |Y - C|² + λ tr(Y N Y B). Projected gradient steps with Nesterov's momentum reach its minimum
    in few steps, since its curvature is at least 2 in all directions.

    Args:
        words: the sum of w wᵀ over all words of length 1, shape (d, d).
        neutral: the same over neutral words, shape (d, d).
        axes: the subspace, orthonormal, shape (dimensions, d).
        weight: λ.
    """
    values, turn = np.linalg.eigh(words)
    kept = values > _FLAT * values[-1]
    values, turn = values[kept], turn[:, kept]
    narrow = turn / np.sqrt(values)  # to coordinates in which the words' products are 1
    own = np.diag(values)
    mine, theirs = narrow.T @ neutral @ narrow, narrow.T @ axes.T @ axes @ narrow

    def objective(y: Floats) -> float:
        return float(((y - own) ** 2).sum() + weight * np.trace(y @ mine @ y @ theirs))

    steep = 2 + 2 * weight * float(np.linalg.norm(mine, 2) * np.linalg.norm(theirs, 2))
    momentum = (np.sqrt(steep) - np.sqrt(2)) / (np.sqrt(steep) + np.sqrt(2))
    y = ahead = own
    steps, converged = 0, False
    while steps < STEPS and not converged:
        part = mine @ ahead @ theirs
        slope = 2 * (ahead - own) + weight * (part + part.T)
        following = _positive(ahead - slope / steep)
        moved = np.linalg.norm(following - y)
        ahead = following + momentum * (following - y)
        y = following
        steps += 1
        converged = bool(moved <= TOLERANCE * np.linalg.norm(own))
    product = narrow @ y @ narrow.T + np.eye(len(turn)) - turn @ turn.T
    return Soft(_root(product), objective(own), objective(y), steps, converged)


def _positive(matrix: Floats) -> Floats:
    """The nearest positive semidefinite matrix."""
    values, turn = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((turn * np.maximum(values, 0)) @ turn.T)


def _root(matrix: Floats) -> Floats:
    """The symmetric root of a positive semidefinite matrix."""
    values, turn = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((turn * np.sqrt(np.maximum(values, 0))) @ turn.T)

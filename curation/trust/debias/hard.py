"""Hard debiasing: words lose their part in the subspace; sets of words are made equal but for it.

Bolukbasi et al. (2016, section 6, step 2a) for two groups and one dimension; Manzini et al. (2019,
section 3) for any number of both. The formulas are the same.
"""

import numpy as np

from curation.trust.debias.subspace import unit, without
from curation.trust.prior.directions import Floats

_NONE = 1e-6  # rounding of float32; a shorter vector has no direction


def neutralise(rows: Floats, axes: Floats) -> Floats:
    """The words without their part in the subspace, w - w_B, normalised to length 1.

    Args:
        rows: vectors of length 1, shape (words, d).
        axes: the subspace B, orthonormal, shape (dimensions, d).

    Returns:
        Shape (words, d); zeros for a word that is wholly in the subspace.
    """
    left = without(rows, axes)
    short = np.linalg.norm(left, axis=1, keepdims=True) < _NONE
    return unit(np.where(short, 0.0, left))


def equalise(members: Floats, axes: Floats) -> Floats | None:
    """A set of words with the same part outside the subspace, and with length 1.

    With the set's mean mu and nu = mu - mu_B, each word becomes nu + sqrt(1 - |nu|²) times the unit
    vector of w_B - mu_B.

    Args:
        members: vectors of length 1, shape (words, d).
        axes: the subspace, orthonormal, shape (dimensions, d).

    Returns:
        Shape (words, d); None if a word and the mean have the same part in the subspace, since the
        word then has no side on which it could be placed.
    """
    mean = members.mean(axis=0)
    outside = without(mean, axes)
    sides = (members - mean) @ axes.T
    lengths = np.linalg.norm(sides, axis=1, keepdims=True)
    if (lengths < _NONE).any():
        return None
    height = np.sqrt(max(0.0, 1 - float(outside @ outside)))
    return np.asarray(outside + height * (sides / lengths) @ axes)

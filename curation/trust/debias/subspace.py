"""The subspace that separates groups, and the removal of a vector's part in it."""

import numpy as np
from numpy.typing import NDArray

from curation.trust.prior.directions import Components, Floats, principal


def unit(rows: NDArray[np.floating]) -> Floats:
    """Rows of length 1; a row of zeros stays as it is."""
    rows = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths))


def subspace(sets: Floats, dimensions: int) -> Components:
    """The first principal components of words, each minus the mean of its set.

    Bolukbasi et al. (2016, section 6, step 1), and for several groups Manzini et al. (2019, section
    3). For k groups the words of a set span k - 1 dimensions about their mean.

    Args:
        sets: vectors of length 1, one word of each group in a set, shape (sets, k, d).
        dimensions: how many components.
    """
    centred = sets - sets.mean(axis=1, keepdims=True)
    return principal(centred.reshape(-1, sets.shape[-1]), dimensions)


def without(rows: Floats, axes: Floats) -> Floats:
    """Rows minus their projection on the subspace.

    Args:
        rows: shape (..., d).
        axes: orthonormal, shape (dimensions, d).
    """
    return np.asarray(rows - rows @ axes.T @ axes)

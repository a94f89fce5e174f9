"""Strength of association in word embeddings: the cosine of means (section 4.2)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def soa(targets: Floats, groups: Floats) -> NDArray[np.float64]:
    """The cosine of each target's vector with each group's.

    Args:
        targets: the mean vector of each target's words, shape (..., n, dimensions).
        groups: the mean vector of each group's words, shape (..., k, dimensions).

    Returns:
        Shape (..., n, k); NaN for a vector of zeros.
    """
    first, second = np.asarray(targets, float), np.asarray(groups, float)
    lengths = np.linalg.norm(first, axis=-1)[..., :, None]
    lengths = lengths * np.linalg.norm(second, axis=-1)[..., None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.matmul(first, np.swapaxes(second, -1, -2)) / lengths)

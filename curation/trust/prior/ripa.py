"""RIPA, the relational inner product association.

Ethayarajh, Duvenaud and Hirst (2019), *Understanding Undesirable Word Embedding Associations*,
section 4: the inner product of a word's vector, which is not normalised, with the unit vector b.
For one pair b = (x - y) / |x - y|; for several it is the first principal component of the
differences. wefe averages the pairs' RIPA instead.
"""

import numpy as np

from curation.trust.prior.directions import Centring, Floats, direction


def ripa(targets: Floats, first: Floats, second: Floats, centring: Centring = "pairs") -> Floats:
    """The RIPA of each target; positive: the first group.

    Args:
        targets: shape (n, dimensions).
        first: the vectors of the first group's words, shape (pairs, dimensions).
        second: those of the second group's, in the same order.
        centring: how the direction is found.

    Returns:
        Shape (n,); NaN for a target of length 0, and if there is no direction.
    """
    axis = direction(first, second, centring)
    targets = np.asarray(targets, float)
    if axis is None:
        return np.full(len(targets), np.nan)
    return np.asarray(np.where(targets.any(axis=1), targets @ axis, np.nan))

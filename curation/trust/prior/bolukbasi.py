"""Direct bias: the cosine of a word with the direction between two groups.

Bolukbasi, Chang, Zou, Saligrama and Kalai (2016), *Man is to Computer Programmer as Woman is to
Homemaker?*, section 4: DirectBias_c = mean |cos(w, g)|^c over neutral words w. They normalise all
vectors to length 1 first, which changes g.
"""

import numpy as np

from curation.trust.prior.directions import Centring, Floats, direction
from curation.trust.vectors.cosine import soa


def cosines(targets: Floats, first: Floats, second: Floats, centring: Centring = "pairs") -> Floats:
    """The signed cosine of each target with the direction; positive: the first group.

    Args:
        targets: shape (n, dimensions).
        first: the vectors of the first group's words, shape (pairs, dimensions).
        second: those of the second group's, in the same order.
        centring: how the direction is found.

    Returns:
        Shape (n,); NaN for a target of length 0, and if there is no direction.
    """
    axis = direction(first, second, centring)
    if axis is None:
        return np.full(len(targets), np.nan)
    return soa(targets, axis[None])[:, 0]


def direct_bias(cosines: Floats, strictness: float = 1.0) -> float | None:
    """DirectBias_c of signed cosines: the mean of |cos|^c; c = 0 counts all that are not 0.

    >>> direct_bias(np.array([0.5, -0.5, np.nan])), direct_bias(np.array([0.5, -0.5]), 2)
    (0.5, 0.25)
    """
    sizes = np.abs(cosines[~np.isnan(cosines)])
    if not len(sizes):
        return None
    return float(((sizes > 0) if strictness == 0 else sizes**strictness).mean())

"""Relative distances from the mean vectors of two groups.

Garg, Schiebinger, Jurafsky and Zou (2018), *Word embeddings quantify 100 years of gender and ethnic
stereotypes*, Materials and Methods. They normalise all vectors to length 1 first; the code of
Bommasani and Liang (2022) does not. Their relative norm distance is |t - first| - |t - second|;
here its sign is reversed, so that both measures are positive if a target is closer to the first
group.
"""

import numpy as np

from curation.trust.prior.directions import Floats
from curation.trust.vectors.cosine import soa


def cosine(targets: Floats, first: Floats, second: Floats) -> Floats:
    """cos(t, mean of the first) - cos(t, mean of the second).

    Args:
        targets: shape (n, dimensions).
        first: the vectors of the first group's words, shape (words, dimensions).
        second: those of the second group's.

    Returns:
        Shape (n,); NaN for a target of length 0.
    """
    both = soa(targets, np.stack([first.mean(axis=0), second.mean(axis=0)]))
    return np.asarray(both[:, 0] - both[:, 1])


def euclidean(targets: Floats, first: Floats, second: Floats) -> Floats:
    """|t - mean of the second| - |t - mean of the first|; arguments as above."""
    targets = np.asarray(targets, float)
    near, far = (np.linalg.norm(targets - group.mean(axis=0), axis=1) for group in (first, second))
    return np.asarray(np.where(targets.any(axis=1), far - near, np.nan))

"""The measure of Manzini et al., for any number of groups.

Manzini, Lim, Black and Tsvetkov (2019), *Black is to Criminal as Caucasian is to Police*, section
3: MAC is the mean, over targets and groups, of the mean cosine distance to the group's words. The
code of Bommasani and Liang (2022) takes the mean cosine similarity over all groups' words together.
Both add the groups' associations instead of comparing them (section 8), so exchanging the groups
changes nothing.
"""

from collections.abc import Sequence

import numpy as np

from curation.trust.prior.directions import Floats
from curation.trust.vectors.cosine import soa


def similarity(targets: Floats, groups: Sequence[Floats]) -> Floats:
    """The mean cosine of each target with all words of all groups; it favours no group.

    Args:
        targets: shape (n, dimensions).
        groups: the vectors of each group's words, shape (words, dimensions).

    Returns:
        Shape (n,); NaN for a target of length 0.
    """
    return np.asarray(soa(targets, np.concatenate(groups)).mean(axis=1))


def mac(targets: Floats, groups: Sequence[Floats]) -> float | None:
    """MAC as published: the mean cosine distance; 1 means no association with any group.

    Arguments as above. None if no target has a vector.
    """
    distances = 1 - np.stack([soa(targets, group).mean(axis=1) for group in groups])
    known = distances[:, ~np.isnan(distances).any(axis=0)]
    return float(known.mean()) if known.size else None

"""Bias in word embeddings (Bommasani & Liang 2022, section 4.2).

The strength of association is the cosine of the mean of the target's word vectors and the mean of
the group's word vectors. The vectors are used as they are, not scaled to length 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from curation.bias import Bias
from curation.files import CurationError
from curation.trust.framework import Floats, Policies, biases, distributions, simultaneous
from curation.trust.groups import Groups
from curation.trust.vectors.reading import Vectors
from curation.wording import some

_TARGETS = 2_000  # targets whose intervals are computed at once, to limit the memory


def soa(targets: NDArray[np.floating], groups: NDArray[np.floating]) -> Floats:
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


def mean_vectors(vectors: Vectors, lists: Mapping[str, Sequence[str]]) -> Floats:
    """The mean vector of the words of each list that are known.

    Returns:
        Shape (lists, dimensions); NaN for a list without a known word.
    """
    means = np.full((len(lists), vectors.array.shape[1]), np.nan)
    for place, words in enumerate(lists.values()):
        if known := vectors.known(words):
            means[place] = vectors.rows(known).mean(axis=0, dtype=float)
    return means


def known_words(vectors: Vectors, groups: Groups) -> Groups:
    """The groups with those words only that have a vector; targets keep all words.

    Raises:
        CurationError: a group has no such word.
    """
    words = {name: vectors.known(own) for name, own in groups.words.items()}
    for name, known in words.items():
        if not known:
            shown = some(groups.words[name], 5)
            raise CurationError(
                f"[groups.{groups.name}]: no word of the group «{name}» has a vector: {shown}",
                "use words of the language and the spelling of the vectors, or other vectors",
            )
    return replace(groups, words=words)


def vector_biases(
    vectors: Vectors, groups: Groups, policies: Policies, *, confidence: float | None = None
) -> list[Bias]:
    """The bias of each target.

    Args:
        vectors: of the words of groups and targets; a word without a vector is left out.
        groups: groups, targets and references.
        policies: how cosines become a distribution.
        confidence: of the intervals; None for no intervals.

    Returns:
        One result per target. ``n`` is the number of group words that have a vector.
    """
    targets, means = mean_vectors(vectors, groups.targets), mean_vectors(vectors, groups.words)
    lost = np.isnan(means).any()
    ends = None
    if confidence is not None:
        ends = intervals(vectors, groups, policies, confidence=confidence)
    return biases(
        tuple(groups.targets),
        soa(targets, means),
        groups=groups.names,
        references=[groups.reference(target) for target in groups.targets],
        policies=policies,
        n=sum(len(vectors.known(words)) for words in groups.words.values()),
        intervals=ends,
        undefined=dict.fromkeys(groups.targets, "missing_group") if lost else {},
    )


def intervals(
    vectors: Vectors, groups: Groups, policies: Policies, *, confidence: float
) -> Floats | None:
    """Intervals of p − p0 over group words and, if a target has several words, over these.

    The words are taken as a sample of those that could name the group. Each word is left out in
    turn (jackknife, with the quantiles of Student's t; degrees of freedom by Satterthwaite). With
    more than two groups, the intervals of a target hold at the same time. ``docs/trust.md`` has the
    measured coverage.

    Returns:
        Shape (targets, k, 2), NaN for a target without an interval: if a result without one of the
        words is undefined. None if a group has only one word.
    """
    lists = [vectors.rows(vectors.known(words)).astype(float) for words in groups.words.values()]
    if min(map(len, lists)) < 2:
        return None
    means = np.stack([rows.mean(axis=0) for rows in lists])
    without = [_leave_one_out(rows) for rows in lists]
    names = list(groups.targets)
    parts = [
        _some_intervals(
            vectors, groups, names[at : at + _TARGETS], means, without, policies, confidence
        )
        for at in range(0, len(names), _TARGETS)
    ]
    return np.concatenate(parts) if parts else None


def _leave_one_out(rows: Floats) -> Floats:
    """The mean of all rows but one, for each row."""
    return np.asarray((rows.sum(axis=0) - rows) / (len(rows) - 1))


def _some_intervals(
    vectors: Vectors,
    groups: Groups,
    names: Sequence[str],
    means: Floats,
    without: Sequence[Floats],
    policies: Policies,
    confidence: float,
) -> Floats:
    from scipy.special import stdtrit

    lists = {name: groups.targets[name] for name in names}
    targets = mean_vectors(vectors, lists)
    cosines = soa(targets, means)
    p = distributions(cosines, policies)
    total, square = np.zeros_like(p), np.zeros_like(p)
    for group, rows in enumerate(without):
        changed = np.repeat(cosines[None], len(rows), axis=0)
        changed[:, :, group] = soa(targets, rows).T
        _add(distributions(changed, policies), total, square)
    for place, words in enumerate(lists.values()):
        known = vectors.known(words)
        if len(known) > 1:
            changed = soa(_leave_one_out(vectors.rows(known).astype(float)), means)
            _add(distributions(changed, policies), total[place], square[place])
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = np.where(total > 0, total**2 / square, 1.0)
    level = simultaneous(confidence, len(means))
    half = stdtrit(freedom, (1 + level) / 2) * np.sqrt(total)
    ends = np.stack([p - half, p + half], axis=-1)
    if policies.negative != "raw" or policies.normalise == "softmax":  # p is in the simplex
        ends = ends.clip(0, 1)
    uniform = groups.references is None
    p0 = [groups.reference(name) or (np.nan,) * len(means) for name in names]
    shift = np.array(p0 if not uniform else p0[:1], float)
    return np.asarray(ends - shift[..., None])


def _add(changed: Floats, total: Floats, square: Floats) -> None:
    """Add the jackknife's variance over the first axis, and its square by degrees of freedom."""
    units = len(changed)
    gaps = changed - changed.mean(axis=0)
    variance = (units - 1) / units * (gaps**2).sum(axis=0)
    total += variance
    square += variance**2 / (units - 1)

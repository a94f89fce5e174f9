"""Bias in word embeddings (Bommasani & Liang 2022, section 4.2).

The strength of association is the cosine of the mean of the target's word vectors and the mean of
the group's word vectors. The vectors are used as they are, not scaled to length 1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.files import CurationError
from curation.formats.word_vectors import Vectors
from curation.records import Bias
from curation.text.wording import some
from curation.trust.measure import framework
from curation.trust.measure.framework import Floats, Policies, distributions
from curation.trust.measure.groups import Groups

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


def unit(rows: NDArray[np.floating]) -> Floats:
    """Rows of length 1; a row of zeros stays as it is."""
    rows = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths))


def mean_vectors(vectors: Vectors, lists: Mapping[str, Sequence[str]]) -> Floats:
    """The mean vector of the words of each list that are known.

    Returns:
        Shape (lists, dimensions); NaN for a list without a known word.
    """
    means = [vectors.mean(tuple(words)) for words in lists.values()]
    return np.reshape(means, (len(lists), vectors.array.shape[1]))


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
    vectors: Vectors,
    groups: Groups,
    policies: Policies,
    *,
    confidence: float | None = None,
    ends: Floats | None = None,
    n: Sequence[int] | int = 0,
    units: Sequence[float] | None = None,
) -> list[Bias]:
    """The bias of each target.

    Args:
        vectors: of the words of groups and targets; a word without a vector is left out.
        groups: groups, targets and references.
        policies: how cosines become a distribution.
        confidence: of the intervals over group words; None for no such intervals.
        ends: other intervals of p − p0, shape (targets, k, 2).
        units: the effective number of documents that these are in.
        n: how many contexts each target has; by default the number of group words that have a
            vector.
    """
    targets, means = mean_vectors(vectors, groups.targets), mean_vectors(vectors, groups.words)
    if confidence is not None:
        ends = intervals(vectors, groups, policies, confidence=confidence)
    lost = dict.fromkeys(groups.targets, "missing_group") if np.isnan(means).any() else {}
    n = n or sum(len(vectors.known(words)) for words in groups.words.values())
    how: dict[str, Any] = {"n": n, "units": units, "intervals": ends, "undefined": lost}
    return framework.biases(groups, soa(targets, means), policies, **how)


def intervals(vectors: Vectors, groups: Groups, policies: Policies, *, confidence: float) -> Floats:
    """Intervals of p − p0 over group words and, if a target has several words, over these.

    The words are taken as a sample of those that could name the group. Each word is left out in
    turn (jackknife, with the quantiles of Student's t; degrees of freedom by Satterthwaite). With
    more than two groups, the intervals of a target hold at the same time. ``docs/trust.md`` has the
    measured coverage.

    Returns:
        Shape (targets, k, 2). NaN if a group has only one word, and for a target that has no result
        without one of the words.
    """
    every = [*groups.targets.items()]
    if len(every) > _TARGETS:
        parts = (dict(every[at : at + _TARGETS]) for at in range(0, len(every), _TARGETS))
        several = (replace(groups, targets=part) for part in parts)
        found = (intervals(vectors, few, policies, confidence=confidence) for few in several)
        return np.concatenate([*found])
    lists = [vectors.rows(words) for words in groups.words.values()]
    if min(map(len, lists)) < 2:
        return np.full((len(every), len(lists), 2), np.nan)
    targets, means = mean_vectors(vectors, groups.targets), mean_vectors(vectors, groups.words)
    cosines = soa(targets, means)

    def changes() -> Iterator[tuple[Any, Floats]]:
        for group, rows in enumerate(lists):
            changed = np.repeat(cosines[None], len(rows), axis=0)
            changed[:, :, group] = soa(targets, _leave_one_out(rows)).T
            yield ..., distributions(changed, policies)
        for place, (_, words) in enumerate(every):
            if len(rows := vectors.rows(words)) > 1:
                changed = soa(_leave_one_out(rows), means)
                yield place, distributions(changed, policies)

    p = distributions(cosines, policies)
    level = framework.simultaneous(confidence, len(means))
    half = jackknife(p.shape, changes(), confidence=level)
    return framework.around(p, half, groups, policies)


def jackknife(
    shape: tuple[int, ...], changes: Iterable[tuple[Any, Floats]], *, confidence: float
) -> Floats:
    """Half the width of intervals, from results without each unit of some independent samples.

    The quantiles are those of Student's t; degrees of freedom by Satterthwaite.

    Args:
        shape: of the results.
        changes: for each sample its place in the results, ... for all of them, and the results
            there without each unit, shape (units, ...).
        confidence: of the intervals.
    """
    from scipy.special import stdtrit

    total, square = np.zeros(shape), np.zeros(shape)
    for place, values in changes:
        units = len(values)
        variance = (units - 1) / units * ((values - values.mean(axis=0)) ** 2).sum(axis=0)
        total[place] += variance
        square[place] += variance**2 / (units - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = np.where(total > 0, total**2 / square, 1.0)
    return np.asarray(stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(total))


def _leave_one_out(rows: Floats) -> Floats:
    """The mean of all rows but one, for each row."""
    return np.asarray((rows.sum(axis=0) - rows) / (len(rows) - 1))

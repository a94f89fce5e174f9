"""Reduction: the mean of a word's contextual vectors, then as word embeddings (section 4.3).

The vector of a word is the mean of its states over a sample of its contexts in a named corpus.
Strength of association is the cosine of the mean vector of a target's words with that of a group's.
Intervals are over documents: the documents are put into blocks, and each block is left out once
(the jackknife). They have the sampling error of the corpus, given the lists of words.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.records import Bias
from curation.stats.intervals import t_quantile
from curation.trust import framework
from curation.trust.contextual.contexts import Context, Key, Part, blocks_of
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.vectors.cosine import mean_vectors, soa
from curation.trust.vectors.reading import Vectors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BLOCKS = 100
"""The largest number of blocks of documents; each block is left out once."""


class Sums(NamedTuple):
    """Sums of states by word and block of documents.

    Attributes:
        words: the words.
        values: shape (words, blocks, width).
        counts: the number of contexts, shape (words, blocks).
    """

    words: Sequence[str]
    values: Floats
    counts: Ints


def keys_of(contexts: Sequence[Context], words: Sequence[str], *, seed: int) -> list[Key]:
    """The word and the block of each context, as numbers: where its state is added."""
    place = {word: number for number, word in enumerate(words)}
    blocks = blocks_of((context.document for context in contexts), BLOCKS, seed)
    return [(place[each.word], blocks[each.document]) for each in contexts]


def sums_of(part: Part, words: Sequence[str]) -> Sums:
    """The sums of a part that has all contexts, with the keys of ``keys_of``."""
    blocks = int(part.keys[:, 1].max(initial=0)) + 1
    values = np.zeros((len(words), blocks, part.values.shape[1]))
    counts = np.zeros((len(words), blocks), dtype=np.int64)
    at = part.keys[:, 0], part.keys[:, 1]
    values[at], counts[at] = part.values, part.counts
    return Sums(words, values, counts)


def word_vectors(values: Floats, counts: Ints) -> Floats:
    """The mean vector of each word; NaN for a word without contexts.

    Args:
        values: sums of states, shape (words, width).
        counts: the number of contexts, shape (words,).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        vectors = values / counts[:, None]
    vectors[counts == 0] = np.nan  # a difference of equal sums need not be exactly 0
    return np.asarray(vectors)


def vectors_of(sums: Sums) -> Vectors:
    """The mean vector of each word over its contexts."""
    counts = sums.counts.sum(axis=1)
    means = word_vectors(sums.values.sum(axis=1), counts)
    known = counts > 0
    return Vectors(
        tuple(word for word, has in zip(sums.words, known, strict=True) if has),
        means[known].astype(np.float32),
        missing=tuple(word for word, has in zip(sums.words, known, strict=True) if not has),
    )


def reduced_biases(
    vectors: Vectors, sums: Sums, groups: Groups, policies: Policies, *, confidence: float
) -> list[Bias]:
    """The results of all targets, with intervals over documents.

    Args:
        vectors: from ``vectors_of``.
        sums: of all contexts.
        groups: targets and groups.
        policies: how strengths become a distribution.
        confidence: of the intervals of L1, and of those of p − p0 together.

    Returns:
        One result per target. ``n`` is the number of the target's contexts.
    """
    rows = _numbers(sums.words, groups.targets)
    return framework.biases(
        tuple(groups.targets),
        soa(mean_vectors(vectors, groups.targets), mean_vectors(vectors, groups.words)),
        groups=groups.names,
        references=[groups.reference(target) for target in groups.targets],
        policies=policies,
        n=[int(sums.counts[own].sum()) for own in rows],
        intervals=intervals(sums, groups, policies, confidence=confidence),
    )


def intervals(sums: Sums, groups: Groups, policies: Policies, *, confidence: float) -> Floats:
    """Intervals of p − p0 over documents.

    Each block of documents is left out once (jackknife). The quantiles are those of Student's t;
    the degrees of freedom are the number of blocks that mention the target, minus 1. With more than
    two groups, the intervals of a target hold at the same time.

    Args:
        sums: of all contexts.
        groups: targets and groups.
        policies: how strengths become a distribution.
        confidence: of the intervals of a target.

    Returns:
        Shape (targets, groups, 2); NaN for a target that only one block mentions, or whose result
        is undefined without one of the blocks.
    """
    of_targets, of_groups = (_numbers(sums.words, own) for own in (groups.targets, groups.words))
    values, counts = sums.values.sum(axis=1), sums.counts.sum(axis=1)
    blocks = sums.counts.shape[1]

    def shares(own_values: Floats, own_counts: Ints) -> Floats:
        """The p of all targets, shape (targets, groups)."""
        means = word_vectors(own_values, own_counts)
        strengths = soa(_means(means, of_targets), _means(means, of_groups))
        return framework.distributions(strengths, policies)

    whole = shares(values, counts)
    left = np.stack(
        [shares(values - sums.values[:, n], counts - sums.counts[:, n]) for n in range(blocks)]
    )
    error = np.sqrt((blocks - 1) / blocks * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    level = framework.simultaneous(confidence, len(groups.words))
    mentioned = [int((sums.counts[own].sum(axis=0) > 0).sum()) for own in of_targets]
    half = error * np.array(
        [t_quantile(level, units - 1) if units > 1 else np.nan for units in mentioned]
    ).reshape(-1, 1)
    ends = np.stack([whole - half, whole + half], axis=-1)
    if policies.negative != "raw" or policies.normalise == "softmax":  # p is in the simplex
        ends = ends.clip(0, 1)
    size = len(groups.words)
    p0 = [groups.reference(target) or (np.nan,) * size for target in groups.targets]
    return np.asarray(ends - np.array(p0, float).reshape(-1, size, 1))


def _numbers(words: Sequence[str], lists: Mapping[str, Sequence[str]]) -> list[list[int]]:
    """The numbers of each list's words; words that are not known are left out."""
    place = {word: number for number, word in enumerate(words)}
    return [[place[word] for word in own if word in place] for own in lists.values()]


def _means(vectors: Floats, lists: Sequence[Sequence[int]]) -> Floats:
    """The mean of the vectors of each list, without those that are NaN."""
    means = np.full((len(lists), vectors.shape[1]), np.nan)
    for number, own in enumerate(lists):
        rows = vectors[own]
        rows = rows[~np.isnan(rows).any(axis=1)]
        if len(rows):
            means[number] = rows.mean(axis=0)
    return means

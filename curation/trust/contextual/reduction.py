"""Reduction: the mean of a word's contextual vectors, then as word embeddings (section 4.3).

The vector of a word is the mean of its states over a sample of its contexts in a named corpus.
Strength of association is the cosine of the mean vector of a target's words with that of a group's.
Intervals are over documents: the documents are put into blocks, and each block is left out once
(the jackknife). They have the sampling error of the corpus, given the lists of words.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.records import Bias
from curation.stats.intervals import t_quantile
from curation.trust import framework
from curation.trust.contextual.contexts import Context, Key, Part, blocks_of
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.vectors.cosine import mean_vectors, soa, vector_biases
from curation.trust.vectors.files import Vectors

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


def word_vectors(words: Sequence[str], values: Floats, counts: Ints) -> Vectors:
    """The mean vector of each word; words without contexts are missing.

    Args:
        words: the words.
        values: sums of states, shape (words, width).
        counts: the number of contexts, shape (words,).
    """
    known = counts > 0
    has = dict(zip(words, known.tolist(), strict=True))
    return Vectors(
        tuple(word for word in words if has[word]),
        values[known] / counts[known, None],
        missing=tuple(word for word in words if not has[word]),
    )


def vectors_of(sums: Sums) -> Vectors:
    """The mean vector of each word over its contexts."""
    vectors = word_vectors(sums.words, sums.values.sum(axis=1), sums.counts.sum(axis=1))
    return replace(vectors, array=vectors.array.astype(np.float32))


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
    ends = intervals(sums, groups, policies, confidence=confidence)
    n = _contexts(sums, groups).sum(axis=1).tolist()
    return vector_biases(vectors, groups, policies, ends=ends, n=n)


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
    values, counts = sums.values.sum(axis=1), sums.counts.sum(axis=1)
    blocks = sums.counts.shape[1]

    def shares(own_values: Floats, own_counts: Ints) -> Floats:
        """The p of all targets, shape (targets, groups)."""
        vectors = word_vectors(sums.words, own_values, own_counts)
        targets, means = (mean_vectors(vectors, own) for own in (groups.targets, groups.words))
        return framework.distributions(soa(targets, means), policies)

    whole = shares(values, counts)
    left = np.stack(
        [shares(values - sums.values[:, n], counts - sums.counts[:, n]) for n in range(blocks)]
    )
    error = np.sqrt((blocks - 1) / blocks * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    level = framework.simultaneous(confidence, len(groups.words))
    mentioned = (_contexts(sums, groups) > 0).sum(axis=1).tolist()
    quantiles = [t_quantile(level, units - 1) if units > 1 else np.nan for units in mentioned]
    return framework.around(whole, error * np.reshape(quantiles, (-1, 1)), groups, policies)


def _contexts(sums: Sums, groups: Groups) -> Ints:
    """The number of contexts of each target in each block, shape (targets, blocks)."""
    rows = dict(zip(sums.words, sums.counts, strict=True))
    none = np.zeros(sums.counts.shape[1], np.int64)
    return np.array(
        [sum((rows.get(w, none) for w in own), none) for own in groups.targets.values()]
    )

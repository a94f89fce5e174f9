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

from curation.bias import Bias, Pair
from curation.stats.intervals import t_quantile
from curation.trust import framework
from curation.trust.contextual.sampling import Context, draw
from curation.trust.contextual.units import Part
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.vectors.cosine import soa

Floats = NDArray[np.float64]
BLOCKS = 100
"""Documents are put into so many blocks at most; each block is left out once."""


class Sums(NamedTuple):
    """Sums of states by word and block of documents.

    Attributes:
        values: shape (words, blocks, width).
        counts: the number of contexts, shape (words, blocks).
    """

    values: Floats
    counts: NDArray[np.int64]


def blocks_of(contexts: Sequence[Context], *, seed: int) -> dict[str, int]:
    """The block of each document: a block of its own, or one of ``BLOCKS`` random ones."""
    documents = sorted(
        {each.document for each in contexts}, key=lambda name: (draw(seed, name), name)
    )
    return {name: number % BLOCKS for number, name in enumerate(documents)}


def keys_of(
    contexts: Sequence[Context], *, words: Sequence[str], blocks: Mapping[str, int]
) -> list[tuple[int, int]]:
    """The word and the block of each context, as numbers: where its state is added."""
    place = {word: number for number, word in enumerate(words)}
    return [(place[each.word], blocks[each.document]) for each in contexts]


def sums_of(part: Part, *, words: int) -> Sums:
    """The sums of a part that has all contexts, with the keys of ``keys_of``."""
    blocks = int(part.keys[:, 1].max(initial=0)) + 1
    values = np.zeros((words, blocks, part.values.shape[1]))
    counts = np.zeros((words, blocks), dtype=np.int64)
    at = part.keys[:, 0], part.keys[:, 1]
    values[at], counts[at] = part.values, part.counts
    return Sums(values, counts)


def word_vectors(values: Floats, counts: NDArray[np.int64]) -> Floats:
    """The mean vector of each word; NaN for a word without contexts.

    Args:
        values: sums of states, shape (words, width).
        counts: the number of contexts, shape (words,).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        vectors = values / counts[:, None]
    vectors[counts == 0] = np.nan  # a difference of equal sums need not be exactly 0
    return np.asarray(vectors)


def strengths(vectors: Floats, words: Sequence[str], groups: Groups) -> Floats:
    """The cosines of all targets with all groups, shape (targets, groups).

    Args:
        vectors: shape (words, width); NaN for a word without a vector.
        words: the words.
        groups: targets and groups; words that have no vector are left out.

    Returns:
        NaN for a target or a group of which no word has a vector.
    """
    place = {word: number for number, word in enumerate(words)}

    def mean(own: Sequence[str]) -> Floats:
        rows = vectors[[place[word] for word in own if word in place]]
        rows = rows[~np.isnan(rows).any(axis=1)]
        return rows.mean(axis=0) if len(rows) else np.full(vectors.shape[1], np.nan)

    of_targets = np.stack([mean(own) for own in groups.targets.values()])
    return soa(of_targets, np.stack([mean(own) for own in groups.words.values()]))


def biases(
    sums: Sums, words: Sequence[str], groups: Groups, policies: Policies, *, confidence: float
) -> list[Bias]:
    """The results of all targets, with intervals over documents.

    ``n`` is the number of the target's contexts. There is no interval if the target's contexts are
    in one document only, or if the result would be undefined without one of the blocks.

    Args:
        sums: of all contexts.
        words: the words of the sums.
        groups: targets and groups.
        policies: how strengths become a distribution.
        confidence: of the intervals of L1, and of those of p − p0 together.
    """
    values, counts = sums.values.sum(axis=1), sums.counts.sum(axis=1)
    whole = strengths(word_vectors(values, counts), words, groups)
    p = framework.distributions(whole, policies)
    left = np.stack(
        [
            framework.distributions(
                strengths(
                    word_vectors(values - sums.values[:, block], counts - sums.counts[:, block]),
                    words,
                    groups,
                ),
                policies,
            )
            for block in range(sums.counts.shape[1])
        ],
        axis=1,
    )  # (targets, blocks, groups)
    found = []
    for number, (target, own) in enumerate(groups.targets.items()):
        rows = [place for place, word in enumerate(words) if word in own]
        own_counts = sums.counts[rows].sum(axis=0)
        reference = groups.reference(target)
        ci = None
        if reference is not None:
            ci = _interval(
                p[number] - np.array(reference),
                p[number] - left[number],
                units=int((own_counts > 0).sum()),
                confidence=framework.simultaneous(confidence, len(groups.words)),
            )
        found.append(
            _result(target, whole[number], groups, policies, n=int(own_counts.sum()), ci=ci)
        )
    return found


def again(vectors: Floats, words: Sequence[str], groups: Groups, policies: Policies) -> list[Bias]:
    """The results with other groups or policies, without intervals; ``n`` is 0."""
    found = strengths(vectors, words, groups)
    return [
        _result(target, found[number], groups, policies, n=0, ci=None)
        for number, target in enumerate(groups.targets)
    ]


def _result(
    target: str,
    strength: Floats,
    groups: Groups,
    policies: Policies,
    *,
    n: int,
    ci: Sequence[Pair] | None,
) -> Bias:
    return framework.bias(
        target,
        [None if np.isnan(value) else float(value) for value in strength],
        groups=groups.names,
        reference=groups.reference(target),
        policies=policies,
        n=n,
        ci=ci,
    )


def _interval(
    signed: Floats, changes: Floats, *, units: int, confidence: float
) -> list[Pair] | None:
    """The jackknife's intervals.

    Args:
        signed: p − p0, shape (groups,).
        changes: by how much p changes if a block is left out, shape (blocks, groups).
        units: the number of blocks that have contexts of the target; the degrees of freedom are
            one less.
        confidence: of each interval.
    """
    if units < 2 or np.isnan(changes).any() or np.isnan(signed).any():
        return None
    blocks = len(changes)
    spread = changes - changes.mean(axis=0)
    errors = np.sqrt((blocks - 1) / blocks * (spread**2).sum(axis=0))
    half = t_quantile(confidence, units - 1) * errors
    return [(float(a - b), float(a + b)) for a, b in zip(signed, half, strict=True)]

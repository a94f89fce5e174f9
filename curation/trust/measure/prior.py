"""Prior measures of bias in word embeddings, with which the measures of this stage are compared.

All take the vectors of the targets and of the words of ordered groups. A signed measure is positive
if a target is closer to the first group.

Some need the direction between two groups: the first principal component of pairs of their words.
Bolukbasi, Chang, Zou, Saligrama and Kalai (2016), *Man is to Computer Programmer as Woman is to
Homemaker?*, section 4, centre each pair on its mean. The code of Bommasani and Liang (2022)
subtracts the mean of all differences instead, which removes most of the direction between the
groups; on GoogleNews the cosine of the component with the mean difference is then .62, and .99 if
pairs are centred.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from curation.files import CurationError
from curation.formats.word_vectors import Vectors
from curation.records import Bias
from curation.trust.measure.cosine import jackknife, known_words, mean_vectors, soa
from curation.trust.measure.framework import Floats
from curation.trust.measure.groups import Groups

Centring = Literal["pairs", "differences", "uncentred"]
Words = Mapping[str, tuple[str, ...]]
Scale = Literal["own", "raw", "unit"]
"""Whether vectors are normalised to length 1: as the measure's authors do, never, or always."""
EXACT = 200_000  # partitions of WEAT up to which all are counted
DRAWN = 100_000  # partitions that are drawn if there are more
_BLOCK = 10_000
_NONE = 1e-10  # a variance below this share of the vectors' squared length is rounding


class Components(NamedTuple):
    """Principal components.

    Attributes:
        axes: orthonormal, the largest first, shape (k, dimensions). Their signs have no meaning.
        shares: each axis' share of the sum of squares, shape (k,).
    """

    axes: Floats
    shares: Floats


def principal(rows: Floats, most: int) -> Components:
    """The first principal components of rows, which are used as they are, without centring.

    Args:
        rows: shape (n, dimensions).
        most: how many components; there are fewer if the rows span fewer dimensions.
    """
    rows = np.asarray(rows, float)
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    kept = min(most, int((sizes > _NONE * max(np.abs(rows).max(initial=0), 1)).sum()))
    squares = sizes**2
    return Components(axes[:kept], squares[:kept] / max(squares.sum(), np.finfo(float).tiny))


def centred_rows(first: Floats, second: Floats, centring: Centring = "pairs") -> Floats:
    """The rows whose first principal component is the direction.

    Args:
        first: the vectors of the first group's words, shape (pairs, dimensions).
        second: those of the second group's, in the same order.
        centring: pairs (both words of a pair minus the pair's mean), differences (the pairs'
            differences minus their mean) or uncentred (the differences). Pairs and uncentred give
            the same component, since a pair is symmetric about its mean.
    """
    gaps = np.asarray(first, float) - np.asarray(second, float)
    if centring == "differences":
        return np.asarray(gaps - gaps.mean(axis=0))
    # The two rows of a pair, gap / 2 and -gap / 2, have the squares of gap / √2.
    return np.asarray(gaps / np.sqrt(2) if centring == "pairs" else gaps)


def direction(first: Floats, second: Floats, centring: Centring = "pairs") -> Floats:
    """The unit vector that points from the second group to the first; arguments as above.

    A principal component has no sign of its own: it is turned so that its product with the mean
    difference is positive.

    Returns:
        Shape (dimensions,); NaN if the rows are all 0, as the centred difference of one pair is.
    """
    axes = principal(centred_rows(first, second, centring), 1).axes
    if not len(axes):
        return np.full(axes.shape[1], np.nan)
    return np.asarray(-axes[0] if axes[0] @ _gap(first, second) < 0 else axes[0])


def alignment(first: Floats, second: Floats, centring: Centring = "pairs") -> float | None:
    """The cosine of the direction with the mean difference, from 0 to 1.

    If it is small, the direction is hardly that between the groups, and its sign says little.
    """
    gap = _gap(first, second)
    size = float(np.linalg.norm(gap))
    cosine = float(direction(first, second, centring) @ gap) / size if size else math.nan
    return None if math.isnan(cosine) else cosine


def _gap(first: Floats, second: Floats) -> Floats:
    return np.asarray((np.asarray(first, float) - second).mean(axis=0))


# --- the measures -------------------------------------------------------------------------------


def bolukbasi(
    targets: Floats, first: Floats, second: Floats, centring: Centring = "pairs"
) -> Floats:
    """The signed cosine of each target with the direction; positive: the first group.

    Bolukbasi et al. (2016, section 4). They normalise all vectors to length 1 first, which changes
    the direction.

    Args:
        targets: shape (n, dimensions).
        first: the vectors of the first group's words, shape (pairs, dimensions).
        second: those of the second group's, in the same order.
        centring: how the direction is found.

    Returns:
        Shape (n,); NaN for a target of length 0, and if there is no direction.
    """
    return soa(targets, direction(first, second, centring)[None])[:, 0]


def direct_bias(cosines: Floats, strictness: float = 1.0) -> float | None:
    """DirectBias_c of signed cosines: the mean of |cos|^c; c = 0 counts all that are not 0.

    Bolukbasi et al. (2016, section 4) take the mean over neutral words.

    >>> direct_bias(np.array([0.5, -0.5, np.nan])), direct_bias(np.array([0.5, -0.5]), 2)
    (0.5, 0.25)
    """
    sizes = np.abs(cosines[~np.isnan(cosines)])
    if not len(sizes):
        return None
    return float(((sizes > 0) if strictness == 0 else sizes**strictness).mean())


def caliskan(targets: Floats, first: Floats, second: Floats) -> Floats:
    """s(t) = mean cos(t, a) over the first group's words - mean cos(t, b) over the second's.

    Caliskan, Bryson and Narayanan (2017), *Semantics derived automatically from language corpora
    contain human-like biases*, Materials and Methods.

    Args:
        targets: shape (n, dimensions).
        first: the vectors of the first group's words, shape (words, dimensions).
        second: those of the second group's.

    Returns:
        Shape (n,); NaN for a target of length 0.
    """
    return np.asarray(soa(targets, first).mean(axis=1) - soa(targets, second).mean(axis=1))


def garg_cosine(targets: Floats, first: Floats, second: Floats) -> Floats:
    """cos(t, mean of the first) - cos(t, mean of the second).

    Garg, Schiebinger, Jurafsky and Zou (2018), *Word embeddings quantify 100 years of gender and
    ethnic stereotypes*, Materials and Methods. They normalise all vectors to length 1 first; the
    code of Bommasani and Liang (2022) does not.

    Args:
        targets: shape (n, dimensions).
        first: the vectors of the first group's words, shape (words, dimensions).
        second: those of the second group's.

    Returns:
        Shape (n,); NaN for a target of length 0.
    """
    both = soa(targets, np.stack([first.mean(axis=0), second.mean(axis=0)]))
    return np.asarray(both[:, 0] - both[:, 1])


def garg_euclidean(targets: Floats, first: Floats, second: Floats) -> Floats:
    """|t - mean of the second| - |t - mean of the first|; arguments and source as above.

    Garg et al. have the other sign; here both measures are positive if a target is closer to the
    first group.
    """
    targets = np.asarray(targets, float)
    near, far = (np.linalg.norm(targets - group.mean(axis=0), axis=1) for group in (first, second))
    return np.asarray(np.where(targets.any(axis=1), far - near, np.nan))


def manzini(targets: Floats, *groups: Floats) -> Floats:
    """The mean cosine of each target with all words of all groups; it favours no group.

    So does the code of Bommasani and Liang (2022). It adds the groups' associations instead of
    comparing them (section 8), so exchanging the groups changes nothing.

    Args:
        targets: shape (n, dimensions).
        groups: the vectors of each group's words, shape (words, dimensions).

    Returns:
        Shape (n,); NaN for a target of length 0.
    """
    return np.asarray(soa(targets, np.concatenate(groups)).mean(axis=1))


def mac(targets: Floats, *groups: Floats) -> float | None:
    """MAC as published: the mean cosine distance; 1 means no association with any group.

    Manzini, Lim, Black and Tsvetkov (2019), *Black is to Criminal as Caucasian is to Police*,
    section 3: the mean, over targets and groups, of the mean distance to the group's words.

    Arguments as above. None if no target has a vector.
    """
    distances = 1 - np.stack([soa(targets, group).mean(axis=1) for group in groups])
    known = distances[:, ~np.isnan(distances).any(axis=0)]
    return float(known.mean()) if known.size else None


def ripa(targets: Floats, first: Floats, second: Floats, centring: Centring = "pairs") -> Floats:
    """RIPA: the inner product of each target, not normalised, with the direction.

    Ethayarajh, Duvenaud and Hirst (2019), *Understanding Undesirable Word Embedding Associations*,
    section 4. For one pair the direction is (x - y) / |x - y|; for several it is the first
    principal component of the differences. wefe averages the pairs' RIPA instead.

    Args:
        targets: shape (n, dimensions).
        first: the vectors of the first group's words, shape (pairs, dimensions).
        second: those of the second group's, in the same order.
        centring: how the direction is found.

    Returns:
        Shape (n,); NaN for a target of length 0, and if there is no direction.
    """
    targets = np.asarray(targets, float)
    values = targets @ direction(first, second, centring)
    return np.asarray(np.where(targets.any(axis=1), values, np.nan))


class Measure(NamedTuple):
    """A prior measure.

    Attributes:
        value: from the targets' vectors, and those of each group's words, to one value per target.
        centring: how the direction is found, for a measure that takes the groups' words in pairs.
        several: whether it takes more than two groups.
        signed: whether exchanging the two groups changes the sign.
        unit: whether its authors normalise all vectors to length 1.
    """

    value: Callable[..., Floats]
    centring: Centring | None = None
    several: bool = False
    signed: bool = True
    unit: bool = False

    @property
    def paired(self) -> bool:
        """Whether it takes the groups' words in pairs."""
        return self.centring is not None

    def words(self, vectors: Vectors, words: Words) -> dict[str, tuple[str, ...]]:
        """The words of each group that it uses: those with vectors, or of complete pairs only."""
        if not self.paired:
            return {group: vectors.known(own) for group, own in words.items()}
        pairs = complete_pairs(vectors, words)
        return {group: tuple(pair[n] for pair in pairs) for n, group in enumerate(words)}

    def rows(self, vectors: Vectors, words: Words) -> list[Floats]:
        """The vectors of these words, by group, each of shape (words, dimensions)."""
        return [vectors.rows(own) for own in self.words(vectors, words).values()]


_AXES: tuple[Centring, ...] = get_args(Centring)
MEASURES: dict[str, Measure] = {
    **{f"bolukbasi-{c}": Measure(partial(bolukbasi, centring=c), c, unit=True) for c in _AXES},
    "caliskan": Measure(caliskan),
    "garg-cosine": Measure(garg_cosine, unit=True),
    "garg-euclidean": Measure(garg_euclidean, unit=True),
    "manzini": Measure(manzini, several=True, signed=False),
    **{f"ripa-{c}": Measure(partial(ripa, centring=c), c) for c in _AXES},
}
"""The measures by name. Those that are uncentred equal those of pairs: they are a check."""


# --- the measures of groups ---------------------------------------------------------------------


def fitting(groups: Groups) -> list[str]:
    """The measures that take this number of groups, without those that equal others."""
    two = len(groups.words) == 2
    every = MEASURES.items()
    return [name for name, m in every if m.centring != "uncentred" and (two or m.several)]


class NoPairsError(CurationError):
    """Too few pairs of group words have vectors for a measure that takes pairs."""


def complete_pairs(vectors: Vectors, words: Words) -> list[tuple[str, ...]]:
    """The pairs (for k groups: sets) of words at the same place of their lists, if all are known.

    Words at the end of the longer list have no partner.
    """
    together = zip(*words.values(), strict=False)
    return [pair for pair in together if len(vectors.known(pair)) == len(words)]


def check_measure(name: str, groups: Groups, vectors: Vectors) -> None:
    """Check that a measure can be computed for groups with these vectors.

    Raises:
        CurationError: it does not take that many groups, or no word of a group has a vector.
        NoPairsError: no pair of words has vectors, or only one if the mean difference is
            subtracted.
    """
    measure, where = MEASURES[name], f"[groups.{groups.name}]"
    if len(groups.words) > 2 and not measure.several:
        several = [key for key, other in MEASURES.items() if other.several]
        raise CurationError(
            f"{where}: {name} compares two groups, and there are {len(groups.words)}",
            f"use {', '.join(several)}, or groups with two lists",
        )
    known_words(vectors, groups)
    pairs = len(complete_pairs(vectors, groups.words))
    least = {None: 0, "differences": 2}.get(measure.centring, 1)
    if pairs < least:
        raise NoPairsError(
            f"{where}: {name} needs {least} or more pairs of words with vectors; there are {pairs}",
            "order the lists so that the words at the same place form pairs",
        )


def biases(name: str, groups: Groups, vectors: Vectors, ends: Floats | None = None) -> list[Bias]:
    """The value of each target.

    Args:
        name: the measure.
        groups: the groups and targets.
        vectors: as in the file, or of length 1.
        ends: intervals from ``intervals``, shape (2, targets).
    """
    measure, targets = MEASURES[name], mean_vectors(vectors, groups.targets)
    rows = measure.rows(vectors, groups.words)
    empty = not all(map(len, rows))
    values = np.full(len(targets), np.nan) if empty else measure.value(targets, *rows)
    found = []
    for n, (target, value) in enumerate(zip(groups.targets, values.tolist(), strict=True)):
        fields: dict[str, Any] = {"value": value}
        if np.isnan(value):
            known = "no_direction" if np.nan_to_num(targets[n]).any() else "missing_target"
            fields = {"undefined": "missing_group" if empty and not measure.paired else known}
        elif ends is not None and not np.isnan(ends[:, n]).any():
            fields["value_ci"] = tuple(ends[:, n].tolist())
        found.append(Bias(target=target, groups=groups.names, n=sum(map(len, rows)), **fields))
    return found


def used_words(name: str, groups: Groups, vectors: Vectors) -> Groups:
    """The groups with the words that a measure uses: those with vectors, or complete pairs only."""
    return replace(groups, words=MEASURES[name].words(vectors, groups.words))


def intervals(name: str, groups: Groups, vectors: Vectors, *, confidence: float) -> Floats | None:
    """Intervals over the words of each group, or over the pairs.

    Each word or pair is left out in turn (jackknife, with the quantiles of Student's t; degrees of
    freedom by Satterthwaite). A percentile bootstrap covers less with short lists.

    Returns:
        Lower and upper ends, shape (2, targets); NaN for a target without an interval. None if a
        group has one word or pair only.
    """
    measure, targets = MEASURES[name], mean_vectors(vectors, groups.targets)
    rows = measure.rows(vectors, groups.words)
    if min(map(len, rows)) < 2:
        return None

    def without(sample: Sequence[int], unit: int) -> Floats:
        """The values without a word of one group, or without a pair if the sample is both."""
        rest = (np.delete(own, unit, 0) if n in sample else own for n, own in enumerate(rows))
        return measure.value(targets, *rest)

    samples = [range(2)] if measure.paired else [range(n, n + 1) for n in range(len(rows))]
    changes = (
        (..., np.array([without(sample, unit) for unit in range(len(rows[sample[0]]))]))
        for sample in samples
    )
    values = measure.value(targets, *rows)
    half = jackknife(values.shape, changes, confidence=confidence)
    return np.stack([values - half, values + half])


def facts(
    name: str,
    groups: Groups,
    vectors: Vectors,
    found: Sequence[Bias],
    *,
    strictness: float,
    unit: bool,
) -> dict[str, object]:
    """What ``run.json`` says about a measure beside the values.

    Args:
        name: the measure.
        groups: the groups and targets.
        vectors: as in the file, or of length 1.
        found: the results.
        strictness: c of Bolukbasi's direct bias.
        unit: whether the vectors are of length 1.
    """
    measure = MEASURES[name]
    values = np.array([bias.value for bias in found if bias.value is not None], float)
    about: dict[str, object] = {
        "signed": measure.signed,
        "unit": unit,
        "group_words": {group: len(vectors.known(own)) for group, own in groups.words.items()},
        "mean": float(values.mean()) if len(values) else None,
        "mean_absolute": direct_bias(values),
    }
    own = measure.rows(vectors, groups.words)
    if measure.centring is not None:
        about |= {"pairs": len(own[0]), "alignment": alignment(own[0], own[1], measure.centring)}
    if name.startswith("bolukbasi"):
        about |= {"strictness": strictness, "direct_bias": direct_bias(values, strictness)}
    if name == "manzini":
        about["mac"] = mac(mean_vectors(vectors, groups.targets), *own)
    return about


# --- WEAT ---------------------------------------------------------------------------------------


class Weat(NamedTuple):
    """The result of the test; all values are positive if X is closer to A than Y is.

    Attributes:
        statistic: the sum of the associations over X minus the sum over Y.
        effect_size_population: the difference of the means by the standard deviation over X and Y
            together, with n in its denominator; None if it is 0.
        effect_size_sample: the same with n - 1 in its denominator.
        p: the share of the partitions of X and Y, into sets of the same sizes, whose statistic is
            at least as large (one-sided).
        partitions: how many partitions were counted.
        exact: whether these are all. If not, they were drawn, and p counts the observed one, too.
    """

    statistic: float
    effect_size_population: float | None
    effect_size_sample: float | None
    p: float
    partitions: int
    exact: bool


def weat(x: Floats, y: Floats, a: Floats, b: Floats, *, seed: int) -> Weat:
    """The test of two sets of targets, X and Y, against two groups, A and B (Caliskan et al. 2017).

    The paper writes > for the p-value; with ≥ the observed partition counts, so p is never 0. X and
    Y have the same size in the paper; here they need not.

    Args:
        x: the vectors of the first targets, shape (words, dimensions), none of length 0.
        y: those of the second targets.
        a: those of the first group's words.
        b: those of the second group's.
        seed: makes partitions that are drawn the same in each run.
    """
    own = caliskan(np.concatenate([x, y]), a, b)
    first, second = own[: len(x)], own[len(x) :]
    gap, population, sample = float(first.mean() - second.mean()), own.std(), own.std(ddof=1)
    sizes = (float(gap / population), float(gap / sample)) if sample else (None, None)
    return Weat(
        float(first.sum() - second.sum()), sizes[0], sizes[1], *_p_value(own, len(x), seed=seed)
    )


def _p_value(own: Floats, size: int, *, seed: int) -> tuple[float, int, bool]:
    """p, the number of partitions, and whether these are all.

    The statistic of a partition is twice the sum over its first set minus the sum of all, so the
    sums over the first sets have the same order.
    """
    rounding = 1e-12 * max(1.0, float(np.abs(own).sum()))
    least = own[:size].sum() - rounding
    ways = math.comb(len(own), size)
    if ways <= EXACT:
        sums = np.fromiter((sum(part) for part in combinations(own.tolist(), size)), float, ways)
        return float((sums >= least).mean()), ways, True
    rng = np.random.default_rng(seed)
    reached = 0
    for _ in range(DRAWN // _BLOCK):
        mixed = rng.permuted(np.broadcast_to(own, (_BLOCK, len(own))), axis=1)
        reached += int((mixed[:, :size].sum(axis=1) >= least).sum())
    return (reached + 1) / (DRAWN + 1), DRAWN, False

"""Methods that reduce the bias of word embeddings along the directions between groups.

All take vectors of length 1, as their authors do, and return such vectors. They work block by
block: the whole space need not fit in memory.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from curation.files import CurationError
from curation.formats.word_vectors import Block, Singles, Vectors
from curation.records import Evidence
from curation.stats.intervals import mean_interval
from curation.stats.tests import t_test
from curation.text.wording import amount
from curation.trust.measure import prior
from curation.trust.measure.cosine import unit, vector_biases
from curation.trust.measure.framework import Floats, Policies
from curation.trust.measure.groups import Groups
from curation.trust.measure.prior import Components, complete_pairs, principal

Method = Literal["hard", "multiclass", "soft"]
WEIGHT = 0.2  # λ of soft debiasing, as published
TOLERANCE = 1e-9  # of a step, relative to the norm of the solution
STEPS = 5000
_NONE = 1e-6  # rounding of float32; a shorter vector has no direction
_FLAT = 1e-10  # a variance below this share of the largest is rounding


def subspace(sets: Floats, dimensions: int) -> Components:
    """The first principal components of words, each minus the mean of its set.

    Bolukbasi et al. (2016, section 6, step 1), and for several groups Manzini et al. (2019, section
    3). For k groups the words of a set span k - 1 dimensions about their mean.

    Args:
        sets: vectors of length 1, one word of each group in a set, shape (sets, k, d).
        dimensions: how many components.
    """
    centred = sets - sets.mean(axis=1, keepdims=True)
    return principal(centred.reshape(-1, sets.shape[-1]), dimensions)


def without(rows: Floats, axes: Floats) -> Floats:
    """Rows minus their projection on the subspace.

    Args:
        rows: shape (..., d).
        axes: orthonormal, shape (dimensions, d).
    """
    return np.asarray(rows - rows @ axes.T @ axes)


# --- hard debiasing -----------------------------------------------------------------------------


def neutralise(rows: Floats, axes: Floats) -> Floats:
    """The words without their part in the subspace, w - w_B, normalised to length 1.

    Bolukbasi et al. (2016, section 6, step 2a) for two groups and one dimension; Manzini et al.
    (2019, section 3) for any number of both. The formulas are the same.

    Args:
        rows: vectors of length 1, shape (words, d).
        axes: the subspace B, orthonormal, shape (dimensions, d).

    Returns:
        Shape (words, d); zeros for a word that is wholly in the subspace.
    """
    left = without(rows, axes)
    short = np.linalg.norm(left, axis=1, keepdims=True) < _NONE
    return unit(np.where(short, 0.0, left))


def equalise(members: Floats, axes: Floats) -> Floats | None:
    """A set of words with the same part outside the subspace, and with length 1.

    With the set's mean mu and nu = mu - mu_B, each word becomes nu + sqrt(1 - |nu|²) times the unit
    vector of w_B - mu_B.

    Args:
        members: vectors of length 1, shape (words, d).
        axes: the subspace, orthonormal, shape (dimensions, d).

    Returns:
        Shape (words, d); None if a word and the mean have the same part in the subspace, since the
        word then has no side on which it could be placed.
    """
    mean = members.mean(axis=0)
    outside = without(mean, axes)
    sides = (members - mean) @ axes.T
    lengths = np.linalg.norm(sides, axis=1, keepdims=True)
    if (lengths < _NONE).any():
        return None
    height = np.sqrt(max(0.0, 1 - float(outside @ outside)))
    return np.asarray(outside + height * (sides / lengths) @ axes)


class Equalised(NamedTuple):
    """Sets of words that were made equal but for their part in the subspace.

    Attributes:
        rows: the new vectors by word, in the file's spelling.
        missing: sets with a word that has no vector.
        flat: sets with a word that has no side in the subspace; they stay as they are.
    """

    rows: dict[str, Floats]
    missing: list[tuple[str, ...]]
    flat: list[tuple[str, ...]]


def equalise_sets(vectors: Vectors, sets: Iterable[tuple[str, ...]], axes: Floats) -> Equalised:
    """New vectors for sets of words; sets that cannot be equalised are listed."""
    found = Equalised({}, [], [])
    for words in sets:
        if len(rows := vectors.rows(words)) < len(words):
            found.missing.append(words)
        elif (changed := equalise(unit(rows), axes)) is None:
            found.flat.append(words)
        else:
            found.rows.update(zip(vectors.spelled(words), changed, strict=True))
    return found


def hard_blocks(
    blocks: Iterable[Block], axes: Floats, kept: Collection[str], rows: dict[str, Floats]
) -> Iterator[tuple[list[str], Singles]]:
    """Blocks with neutralised words; words of ``kept`` are only normalised, ``rows`` replaced."""
    for words, block in blocks:
        own = unit(block)
        free = np.array([word not in kept for word in words], bool)
        changed = np.where(free[:, None], neutralise(own, axes), own)
        for n, word in enumerate(words):
            changed[n] = rows.get(word, changed[n])
        yield words, changed.astype(np.float32)


# --- soft debiasing -----------------------------------------------------------------------------


class Soft(NamedTuple):
    """The map, and how it was found.

    Attributes:
        map: T, symmetric, shape (d, d); words (rows) become ``rows @ map``.
        before: the objective for T = 1.
        after: the objective for T.
        steps: how many steps were taken.
        converged: whether the last step was within the tolerance.
    """

    map: Floats
    before: float
    after: float
    steps: int
    converged: bool


def soft_map(words: Floats, neutral: Floats, axes: Floats, *, weight: float = WEIGHT) -> Soft:
    """The map T of soft debiasing: it keeps the words' inner products and shrinks their bias.

    Bolukbasi et al. (2016, section 6, step 2b) minimise over T, with λ = 0.2,

        |(TW)ᵀ(TW) - WᵀW|² + λ |(TN)ᵀ(TB)|²

    for the vectors W of all words and N of neutral words (columns) and the subspace B. Then all
    words are normalised to length 1. Only X = TᵀT matters, and the objective is a convex quadratic
    in X over positive semidefinite matrices. So it has one minimum, and T is taken as the symmetric
    root of X: the map that turns nothing. All matrices are d × d, whatever the number of words.
    (The code of Manzini et al. (2019) starts at random, does not square the norms, and takes 10
    steps of 1e-6: it ends where it starts.)

    In coordinates in which the words' inner products are the identity, with Y for X, the objective
    is |Y - C|² + λ tr(Y N Y B). Projected gradient steps with Nesterov's momentum reach its minimum
    in few steps, since its curvature is at least 2 in all directions.

    Args:
        words: the sum of w wᵀ over all words of length 1, shape (d, d).
        neutral: the same over neutral words, shape (d, d).
        axes: the subspace, orthonormal, shape (dimensions, d).
        weight: λ.
    """
    values, turn = np.linalg.eigh(words)
    kept = values > _FLAT * values[-1]
    values, turn = values[kept], turn[:, kept]
    narrow = turn / np.sqrt(values)  # to coordinates in which the words' products are 1
    own = np.diag(values)
    mine, theirs = narrow.T @ neutral @ narrow, narrow.T @ axes.T @ axes @ narrow

    def objective(y: Floats) -> float:
        return float(((y - own) ** 2).sum() + weight * np.trace(y @ mine @ y @ theirs))

    steep = 2 + 2 * weight * float(np.linalg.norm(mine, 2) * np.linalg.norm(theirs, 2))
    momentum = (np.sqrt(steep) - np.sqrt(2)) / (np.sqrt(steep) + np.sqrt(2))
    y = ahead = own
    steps, converged = 0, False
    while steps < STEPS and not converged:
        part = mine @ ahead @ theirs
        slope = 2 * (ahead - own) + weight * (part + part.T)
        following = _mapped(ahead - slope / steep, np.asarray)
        moved = np.linalg.norm(following - y)
        ahead = following + momentum * (following - y)
        y = following
        steps += 1
        converged = bool(moved <= TOLERANCE * np.linalg.norm(own))
    product = narrow @ y @ narrow.T + np.eye(len(turn)) - turn @ turn.T
    return Soft(_mapped(product, np.sqrt), objective(own), objective(y), steps, converged)


def _mapped(matrix: Floats, change: Callable[[Floats], Floats]) -> Floats:
    """A symmetric matrix with other eigenvalues, made from its own or from 0 if these are less."""
    values, turn = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((turn * change(np.maximum(values, 0))) @ turn.T)


def soft_of_blocks(
    blocks: Iterable[Block], axes: Floats, kept: Collection[str], *, weight: float
) -> Soft:
    """The map of soft debiasing for all words in blocks; words of ``kept`` are not neutral."""
    width = axes.shape[1]
    products, neutral = np.zeros((width, width)), np.zeros((width, width))
    for words, block in blocks:
        own = unit(block)
        free = own[np.array([word not in kept for word in words], bool)]
        products += own.T @ own
        neutral += free.T @ free
    return soft_map(products, neutral, axes, weight=weight)


def mapped_blocks(blocks: Iterable[Block], change: Floats) -> Iterator[tuple[list[str], Singles]]:
    """Blocks of normalised words after a linear map, normalised again."""
    for words, block in blocks:
        yield words, unit(unit(block) @ change).astype(np.float32)


# --- groups -------------------------------------------------------------------------------------


def group_subspace(
    groups: Groups, vectors: Vectors, dimensions: int
) -> tuple[Components, list[tuple[str, ...]]]:
    """The subspace of groups, and the sets of words from which it was found.

    Raises:
        CurationError: no set of words has vectors, or the sets do not span these dimensions.
    """
    sets = complete_pairs(vectors, groups.words)
    where = f"[groups.{groups.name}]"
    if not sets:
        raise CurationError(
            f"{where}: no words at the same place of all lists have vectors",
            "order the lists so that the words at the same place form sets, such as she and he",
        )
    found = subspace(unit(np.stack([vectors.rows(words) for words in sets])), dimensions)
    if (span := len(found.axes)) < dimensions:
        fix = "set --dimensions to fewer, or add words to the lists"
        raise CurationError(
            f"{where}: the words span {span} dimensions, not {dimensions}",
            fix if span else "use groups whose words have different vectors",
        )
    return found, sets


# --- before and after ---------------------------------------------------------------------------


class Change(NamedTuple):
    """A measure before and after, over the n targets that have a value in both.

    ``targeted`` says that the method aims to reduce it.
    """

    measure: str
    targeted: bool
    before: float | None
    after: float | None
    n: int


def held_out(
    before: Vectors,
    after: Vectors,
    fitted: Collection[str],
    groups: Groups,
    *,
    policies: Policies,
    confidence: float,
) -> Evidence:
    """Whether our measure changes if words that a method was fitted on do not judge it.

    Both sides have the same words, and vectors of length 1, so that only the debiasing differs.
    A target with a fitted word is left out.

    Args:
        before: the vectors of the words of groups and targets.
        after: the same after debiasing.
        fitted: the words that the method equalised or was fitted on; also as the file spells them.
        groups: the judging groups and their targets.
        policies: how cosines become a distribution.
        confidence: of the interval.

    Returns:
        The mean change of L1, after − before, over the targets that have a value in both, with
        Student's interval and p. Without such a target there is no value, and ``detail`` says why.
    """
    spelled, everywhere = before.spellings, {word for word in before.words if word in after}
    free = {word for word in everywhere if not {word, spelled.get(word, word)} & {*fitted}}
    lists = {name: tuple(w for w in own if w in free) for name, own in groups.words.items()}
    left = {name: everywhere.intersection(own) for name, own in groups.targets.items()}
    targets = {name: tuple(sorted(own)) for name, own in left.items() if own and own <= free}
    gaps = np.zeros(0)
    if all(lists.values()):
        judge = replace(groups, words=lists, targets=targets)
        pair = (vector_biases(_of_length_1(each), judge, policies) for each in (after, before))
        values = [(x.l1, y.l1) for x, y in zip(*pair, strict=True)]
        gaps = np.array([x - y for x, y in values if x is not None and y is not None])
    detail = (
        f"of {amount(sum(map(len, groups.words.values())), 'group word')} "
        f"{sum(map(len, lists.values()))}, and of {amount(len(groups.targets), 'target')} "
        f"{len(targets)} have a vector and were not fitted"
    )
    if not len(gaps):
        empty = ", ".join(f"«{name}»" for name, own in lists.items() if not own)
        used = amount(len({spelled.get(word, word) for word in fitted}), "word")
        why = f"no {f'word of {empty}' if empty else 'target'} is left to judge with"
        if not empty and targets:
            why = "no target has a result before and after"
        detail = (
            f"{why}: the method was fitted on {used}; {detail}; judge with a table of other words: "
            "--judge NAME"
        )
    ci = mean_interval(gaps, confidence=confidence)
    return Evidence(
        criterion="mitigation",
        check="held_out",
        statistic="mean change of L1 without fitted words",
        value=float(gaps.mean()) if len(gaps) else None,
        ci=(ci[0], ci[1]) if ci else None,
        p=t_test(gaps) if len(gaps) else None,
        n=len(gaps),
        detail=detail,
    )


def measure_targeted(groups: Groups, method: Method) -> str:
    """The prior measure that a method aims to reduce."""
    two = len(groups.words) == 2
    return "bolukbasi-pairs" if two and method != "multiclass" else "manzini"


def compare(
    groups: Groups, before: Vectors, after: Vectors, own: Policies, *, method: Method
) -> tuple[Change, ...]:
    """The targeted measure and ours, before and after (Table 7).

    All are computed from scratch on vectors of length 1, so that only the debiasing differs.
    """
    both, changes = (before, after), []
    sizes: dict[str, Callable[[float], float]] = {"bolukbasi-pairs": abs, "manzini": float}
    labels = {"bolukbasi-pairs": "direct bias (bolukbasi-pairs)", "manzini": "manzini"}
    for name in [*labels][len(groups.words) > 2 :]:
        spaces = [replace(vectors, array=unit(vectors.array)) for vectors in both]
        found = [[each.value for each in prior.biases(name, groups, space)] for space in spaces]
        pair = [[None if v is None else sizes[name](v) for v in values] for values in found]
        changes.append(_change(labels[name], name == measure_targeted(groups, method), *pair))
    ours = ([each.l1 for each in vector_biases(_of_length_1(v), groups, own)] for v in both)
    return (*changes, _change("vectors (L1)", False, *ours))


def _of_length_1(vectors: Vectors) -> Vectors:
    return replace(vectors, array=unit(vectors.array).astype(np.float32))


def _change(name: str, targeted: bool, *pair: Sequence[float | None]) -> Change:
    known = [(a, b) for a, b in zip(*pair, strict=True) if a is not None and b is not None]
    first, second = np.array(known).mean(axis=0).tolist() if known else (None, None)
    return Change(name, targeted, first, second, len(known))

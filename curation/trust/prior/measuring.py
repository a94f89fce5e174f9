"""Compute a prior measure for groups and targets, with intervals over the groups' words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from curation.bias import Bias
from curation.files import CurationError
from curation.trust.groups import Groups
from curation.trust.prior import bolukbasi, caliskan, garg, manzini
from curation.trust.prior.directions import Centring, Floats, alignment
from curation.trust.prior.ripa import ripa
from curation.trust.vectors.cosine import known_words
from curation.trust.vectors.reading import Vectors

Scale = Literal["own", "raw", "unit"]
"""Whether vectors are normalised to length 1: as the measure's authors do, never, or always."""
Value = Callable[[Floats, Sequence[Floats]], Floats]


class NoPairsError(CurationError):
    """Too few pairs of group words have vectors for a measure that takes pairs."""


class Measure(NamedTuple):
    """A prior measure.

    Attributes:
        value: from the targets' vectors and those of each group's words to one value per target.
        centring: how the direction is found, for a measure that takes the groups' words in pairs.
        several: whether it takes more than two groups.
        signed: whether exchanging the two groups changes the sign.
        unit: whether its authors normalise all vectors to length 1.
    """

    value: Value
    centring: Centring | None = None
    several: bool = False
    signed: bool = True
    unit: bool = False


def _of_two(value: Callable[[Floats, Floats, Floats], Floats]) -> Value:
    return lambda targets, groups: value(targets, groups[0], groups[1])


def _of_direction(
    value: Callable[..., Floats], centring: Centring, *, unit: bool = False
) -> Measure:
    return Measure(_of_two(partial(value, centring=centring)), centring, unit=unit)


MEASURES: dict[str, Measure] = {
    "bolukbasi-pairs": _of_direction(bolukbasi.cosines, "pairs", unit=True),
    "bolukbasi-differences": _of_direction(bolukbasi.cosines, "differences", unit=True),
    "bolukbasi-uncentred": _of_direction(bolukbasi.cosines, "uncentred", unit=True),
    "caliskan": Measure(_of_two(caliskan.associations)),
    "garg-cosine": Measure(_of_two(garg.cosine), unit=True),
    "garg-euclidean": Measure(_of_two(garg.euclidean), unit=True),
    "manzini": Measure(manzini.similarity, several=True, signed=False),
    "ripa-pairs": _of_direction(ripa, "pairs"),
    "ripa-differences": _of_direction(ripa, "differences"),
    "ripa-uncentred": _of_direction(ripa, "uncentred"),
}
"""The measures by name. Those that are uncentred equal those of pairs: they are a check."""


class Space:
    """Word vectors as a measure uses them: as in the file, or of length 1."""

    def __init__(self, vectors: Vectors, *, unit: bool = False) -> None:
        self.vectors, self.unit = vectors, unit
        self._targets: tuple[Mapping[str, tuple[str, ...]], Floats] | None = None

    def rows(self, words: Sequence[str]) -> Floats:
        """The vectors of the words that are known, shape (words, dimensions)."""
        rows = np.asarray(self.vectors.rows(self.vectors.known(words)), float)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if self.unit else rows

    def targets(self, targets: Mapping[str, tuple[str, ...]]) -> Floats:
        """The mean vector of each target's words, shape (targets, dimensions); 0 if none is known.

        They are kept: a measure is computed hundreds of times with other words of the groups.
        """
        if self._targets is None or self._targets[0] != targets:
            found = [self.rows(words) for words in targets.values()]
            width = self.vectors.array.shape[1]
            means = [rows.mean(axis=0) if len(rows) else np.zeros(width) for rows in found]
            self._targets = dict(targets), np.reshape(means, (len(means), width))
        return self._targets[1]

    def groups(self, words: Mapping[str, tuple[str, ...]], *, pairs: bool) -> list[Floats]:
        """The vectors of each group's words that are known; with pairs, of complete pairs."""
        if not pairs:
            return [self.rows(own) for own in words.values()]
        both = complete_pairs(self.vectors, words)
        return [self.rows([pair[n] for pair in both]) for n in range(len(words))]


def complete_pairs(vectors: Vectors, words: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
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
    if measure.centring is None:
        return
    pairs = len(complete_pairs(vectors, groups.words))
    least = 2 if measure.centring == "differences" else 1
    if pairs < least:
        raise NoPairsError(
            f"{where}: {name} needs {least} or more pairs of words with vectors; there are {pairs}",
            "order the lists so that the words at the same place form pairs",
        )


def biases(name: str, groups: Groups, space: Space, ends: Floats | None = None) -> list[Bias]:
    """The value of each target.

    Args:
        name: the measure.
        groups: the groups and targets.
        space: the vectors.
        ends: intervals from ``intervals``, shape (2, targets).
    """
    measure = MEASURES[name]
    vectors = space.groups(groups.words, pairs=measure.centring is not None)
    targets = space.targets(groups.targets)
    empty = not all(len(group) for group in vectors)
    values = np.full(len(targets), np.nan) if empty else measure.value(targets, vectors)
    return [
        Bias(
            target=target,
            groups=groups.names,
            value=None if np.isnan(value) else float(value),
            value_ci=None
            if ends is None or np.isnan([value, *ends[:, n]]).any()
            else (float(ends[0, n]), float(ends[1, n])),
            n=sum(map(len, vectors)),
            undefined=_why(float(value), measure, empty=empty, known=bool(targets[n].any())),
        )
        for n, (target, value) in enumerate(zip(groups.targets, values, strict=True))
    ]


def _why(value: float, measure: Measure, *, empty: bool, known: bool) -> str | None:
    if not np.isnan(value):
        return None
    if empty and measure.centring is None:
        return "missing_group"
    return "no_direction" if known else "missing_target"


def used_words(name: str, groups: Groups, vectors: Vectors) -> Groups:
    """The groups with the words that a measure uses: those with vectors, or complete pairs only."""
    if MEASURES[name].centring is None:
        return known_words(vectors, groups)
    pairs = complete_pairs(vectors, groups.words)
    words = {group: tuple(pair[n] for pair in pairs) for n, group in enumerate(groups.words)}
    return replace(groups, words=words)


def intervals(
    name: str, groups: Groups, space: Space, *, samples: int, confidence: float, seed: int
) -> Floats | None:
    """Percentile bootstrap intervals over the words of each group, or over the pairs.

    Returns:
        Lower and upper ends, shape (2, targets); None if a group has one word or pair only.
    """
    measure = MEASURES[name]
    pairs = measure.centring is not None
    vectors = space.groups(groups.words, pairs=pairs)
    if min(map(len, vectors)) < 2:
        return None
    targets, rng = space.targets(groups.targets), np.random.default_rng(seed)
    drawn = []
    for _ in range(samples):
        same = rng.integers(len(vectors[0]), size=len(vectors[0]))
        picks = [same if pairs else rng.integers(len(own), size=len(own)) for own in vectors]
        again = [own[pick] for own, pick in zip(vectors, picks, strict=True)]
        drawn.append(measure.value(targets, again))
    values = np.array(drawn)
    known = ~np.isnan(values).all(axis=0)
    ends = np.full((2, len(targets)), np.nan)
    tail = (1 - confidence) / 2
    ends[:, known] = np.nanquantile(values[:, known], [tail, 1 - tail], axis=0)
    return ends


def facts(
    name: str, groups: Groups, space: Space, found: Sequence[Bias], *, strictness: float
) -> dict[str, object]:
    """What ``run.json`` says about a measure beside the values.

    Args:
        name: the measure.
        groups: the groups and targets.
        space: the vectors.
        found: the results.
        strictness: c of Bolukbasi's direct bias.
    """
    measure, vectors = MEASURES[name], space.vectors
    values = np.array([bias.value for bias in found if bias.value is not None], float)
    about: dict[str, object] = {
        "signed": measure.signed,
        "unit": space.unit,
        "group_words": {group: len(vectors.known(own)) for group, own in groups.words.items()},
        "mean": float(values.mean()) if len(values) else None,
        "mean_absolute": bolukbasi.direct_bias(values),
    }
    if measure.centring is not None:
        first, second = space.groups(groups.words, pairs=True)
        about["pairs"] = len(first)
        about["alignment"] = alignment(first, second, measure.centring)
    if name.startswith("bolukbasi"):
        about["strictness"] = strictness
        about["direct_bias"] = bolukbasi.direct_bias(values, strictness)
    if name == "manzini":
        own = space.groups(groups.words, pairs=False)
        about["mac"] = manzini.mac(space.targets(groups.targets), own)
    return about

"""Made-up measures of bias, and results as Bommasani & Liang (2022) print them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from curation.records import Bias, Evidence
from curation.trust.measure.again import Again
from curation.trust.measure.framework import DEFAULT, Floats, Policies, biases
from curation.trust.measure.groups import Groups
from curation.trust.protocol.cases import MeasureRun

TARGETS = (
    *("carpenter", "dancer", "librarian", "nurse", "pilot", "soldier"),
    *("businessman", "businesswoman"),
)
ANCHORS = {
    **dict.fromkeys(("carpenter", "pilot", "soldier", "businessman"), "male"),
    **dict.fromkeys(("dancer", "librarian", "nurse", "businesswoman"), "female"),
}
TABLE_3: dict[str, tuple[float, ...]] = {
    "text-human": (-0.5, 0.167, -0.105, 0.373, -0.417, -0.473, -0.5, 0.5),
    "text-automated": (-0.368, 0.039, -0.275, 0.097, -0.265, -0.358, -0.341, 0.453),
    "word2vec": (-0.128, 0.078, 0.177, 0.119, -0.099, -0.041, -0.173, 0.174),
    "glove": (-0.05, 0.086, 0.124, 0.114, -0.072, -0.065, -0.145, 0.385),
    "contextual": (-0.02, 0.035, -0.003, 0.066, -0.022, -0.025, -0.056, 0.058),
    "probe": (-0.384, 0.09, -0.333, 0.111, -0.33, -0.389, -0.232, 0.5),
}
"""p of «female» less 0.5, of the eight targets."""
TABLE_6: dict[str, tuple[float, ...]] = {
    "L2;L1": (0.176, 0.063, 0.127, 0.017, -0.063, -0.041, -0.021, 0.118),
    "L3;L2": (-0.166, -0.143, -0.146, -0.136, 0.066, 0.089, 0.066, -0.086),
    "L3;L1": (0.010, -0.080, -0.019, -0.119, 0.003, 0.049, 0.044, 0.032),
}
GENDER = Groups(
    "gender",
    {"female": ("she", "woman", "girl", "aunt"), "male": ("he", "man", "boy", "uncle")},
    {name: (name,) for name in TARGETS},
    anchors=ANCHORS,
)


def bias(
    target: str,
    soa: Sequence[float | None],
    *,
    groups: Sequence[str],
    reference: Sequence[float] | None,
    policies: Policies = DEFAULT,
    n: int,
) -> Bias:
    """The result of one target from its strengths of association."""
    references = {} if reference is None else {target: tuple(reference)}
    given = Groups("own", dict.fromkeys(groups, ()), {target: ()}, references)
    return biases(given, np.array([soa], float), policies, n=n)[0]  # None becomes NaN


def result(
    target: str, signed: float, *, half: float | None = None, groups: Sequence[str] = GENDER.names
) -> Bias:
    """A result for two groups with equal shares as the reference."""
    p = (0.5 + signed, 0.5 - signed)
    ci = None if half is None else ((signed - half, signed + half),) * 2
    own = {"soa": p, "reference": (0.5, 0.5), "p": p, "signed": (signed, -signed), "ci": ci}
    return Bias(target=target, groups=tuple(groups), l1=2 * abs(signed), n=10, **own)


def run_of(
    signed: Mapping[str, float] | Sequence[float],
    name: str = "vectors/gender-made",
    *,
    half: float | None = None,
    evidence: Sequence[Evidence] = (),
) -> MeasureRun:
    """A run of a measure of ours; a list is for the eight targets of Table 3."""
    values = signed if isinstance(signed, Mapping) else dict(zip(TARGETS, signed, strict=True))
    found = tuple(result(target, value, half=half) for target, value in values.items())
    return MeasureRun(name, name.partition("/")[0], "gender", found, tuple(evidence))


def prior_run(values: Mapping[str, float], name: str = "caliskan/gender-made") -> MeasureRun:
    """A run of a prior measure."""
    found = [Bias(target=t, groups=GENDER.names, value=value) for t, value in values.items()]
    return MeasureRun(name, name.partition("/")[0], "gender", tuple(found))


def made_vectors(groups: Groups, *, seed: int = 1, noise: float = 0.3) -> dict[str, Floats]:
    """Vectors whose first two entries are the two groups, and the targets between them."""
    rng = np.random.default_rng(seed)
    axes, others = np.eye(12), np.eye(12)[2:].sum(axis=0)
    found = {
        word: axes[place] + noise * rng.standard_normal(12) * others
        for place, words in enumerate(groups.words.values())
        for word in words
    }
    for place, target in enumerate(groups.targets):
        share = (place + 1) / (len(groups.targets) + 1)
        vector = rng.standard_normal(12) * 0.1
        vector[:3] = share, 1 - share, 0.5
        found[target] = vector
    return found


Lists = list[tuple[str, ...]]


def _measure(strengths: Callable[[Lists], Callable[[str], list[float]]]) -> Again:
    """A measure that gives the strengths of a target with each list of words."""

    def again(groups: Groups, policies: Policies = DEFAULT) -> list[Bias]:
        of = strengths(list(groups.words.values()))
        how: dict[str, Any] = {"groups": groups.names, "policies": policies, "n": 4}
        return [bias(t, of(t), reference=groups.reference(t), **how) for t in groups.targets]

    return again


def cosine_measure(vectors: Mapping[str, Floats]) -> Again:
    """The measure of word embeddings; words without a vector are left out."""

    def strengths(lists: Lists) -> Callable[[str], list[float]]:
        means = [np.mean([vectors[w] for w in words if w in vectors], axis=0) for words in lists]
        return lambda target: [_cosine(vectors[target], mean) for mean in means]

    return _measure(strengths)


def count_measure(counts: Mapping[str, Mapping[str, int]]) -> Again:
    """A measure of text: how often a target was seen with each word of a group."""
    return _measure(
        lambda lists: lambda t: [sum(counts[t].get(w, 0) for w in words) for words in lists]
    )


def prior_measure(
    vectors: Mapping[str, Floats], value: Callable[[Floats, list[Floats]], float]
) -> Again:
    """A prior measure: a value of the target's vector and of the vectors of the groups' words."""

    def again(groups: Groups, policies: Policies = DEFAULT) -> list[Bias]:
        lists = [np.array([vectors[word] for word in words]) for words in groups.words.values()]
        return [
            Bias(target=target, groups=groups.names, value=value(vectors[target], lists), n=8)
            for target in groups.targets
        ]

    return again


def caliskan(target: Floats, lists: list[Floats]) -> float:
    """Mean cosine with the first list, less that with the second."""
    first, second = (float(np.mean([_cosine(target, row) for row in rows])) for rows in lists)
    return first - second


def manzini(target: Floats, lists: list[Floats]) -> float:
    """Mean cosine with all words: it adds the groups."""
    return float(np.mean([_cosine(target, row) for rows in lists for row in rows]))


def ripa(target: Floats, lists: list[Floats]) -> float:
    """Mean inner product with the differences of pairs."""
    gaps = lists[0] - lists[1]
    return float((gaps / np.linalg.norm(gaps, axis=1, keepdims=True) @ target).mean())


def _cosine(first: Floats, second: Floats) -> float:
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))

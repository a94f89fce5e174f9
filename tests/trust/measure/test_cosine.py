"""The measure of word embeddings, on vectors whose cosines are known."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from curation.formats.word_vectors import Vectors
from curation.records import Bias
from curation.trust.measure.cosine import intervals, known_words, soa, vector_biases
from curation.trust.measure.framework import Floats, Policies, distributions
from curation.trust.measure.groups import Groups
from support.expected import fails

WIDTH = 50  # dimensions of random words
PLANE = {
    "east": (2, 0),
    "easterly": (4, 0),
    "north": (0, 1),
    "northerly": (0, 3),
    "mill": (3, 4),
    "field": (1, 1),
    "fields": (1, 3),
    "cave": (-3, 4),
}
VECTORS = Vectors(tuple(PLANE), np.array(list(PLANE.values()), np.float32))
LISTS = {"east": ("east", "easterly"), "north": ("north", "northerly")}


def scattered(
    sizes: tuple[int, ...], *, spread: float, targets: int, random: np.random.Generator
) -> tuple[Vectors, Groups, Floats]:
    """Random words of groups, and the bias that endless lists of words would give.

    Args:
        sizes: the number of words of each group.
        spread: the length of a word's distance from its group, whose own vector has length 1.
        targets: how many targets, each with one word.
        random: where the numbers come from.

    Returns:
        The vectors, the groups, and p − p0 of each target, shape (targets, groups).
    """

    def noise(*shape: int) -> Floats:
        return np.asarray(random.normal(size=(*shape, WIDTH)) / np.sqrt(WIDTH))

    shared = noise()
    shared /= np.linalg.norm(shared)
    centres = shared + 0.5 * noise(len(sizes))
    rows = [centre + spread * noise(size) for centre, size in zip(centres, sizes, strict=True)]
    own = 0.8 * shared + 0.6 * noise(targets)
    lists = {f"g{g}": tuple(f"g{g}w{w}" for w in range(size)) for g, size in enumerate(sizes)}
    names = tuple(f"t{place}" for place in range(targets))
    words = (*(word for each in lists.values() for word in each), *names)
    vectors = Vectors(words, np.concatenate([*rows, own]).astype(np.float32))
    groups = Groups("made", lists, {name: (name,) for name in names})
    return vectors, groups, distributions(soa(own, centres)) - 1 / len(sizes)


def groups(**targets: tuple[str, ...]) -> Groups:
    return Groups("sky", LISTS, targets)


def found(
    lists: Mapping[str, tuple[str, ...]], *target: str, vectors: Vectors = VECTORS, **how: Any
) -> Bias:
    """The result of a target of these words, by default of its name."""
    own = Groups("sky", lists, {target[0]: target})
    (bias,) = vector_biases(vectors, own, Policies(), **how)
    return bias


def test_cosines_by_hand() -> None:
    mill, several, cave, none = vector_biases(
        VECTORS,
        groups(mill=("mill",), field=("field", "fields"), cave=("cave",), lake=("lake",)),
        Policies(),
    )
    assert mill.soa == pytest.approx((0.6, 0.8))
    assert mill.signed == pytest.approx((0.6 / 1.4 - 0.5, 0.8 / 1.4 - 0.5))
    assert mill.n == 4
    assert several.soa == pytest.approx((1 / np.sqrt(5), 2 / np.sqrt(5)))  # the mean is (1, 2)
    assert (cave.undefined, none.undefined) == ("negative_soa", "missing_target")
    assert none.soa == (None, None)


def test_vectors_are_averaged_as_they_are() -> None:
    # The mean of (2, 0) and (0, 6) points north; of unit vectors it would point between the two.
    lists = {"both": ("east", "northerly"), "north": ("north",)}
    vectors = Vectors(("east", "northerly", "north", "field"), VECTORS.array[[0, 3, 2, 5]])
    mean = np.array([1, 1.5])
    expected = mean.sum() / np.linalg.norm(mean) / np.sqrt(2)
    assert found(lists, "field", vectors=vectors).soa[0] == pytest.approx(expected)


def test_a_vector_of_zeros_has_no_cosine() -> None:
    assert np.isnan(soa(np.zeros((1, 2)), np.ones((2, 2)))).all()


def test_words_without_a_vector_are_left_out() -> None:
    lists = {"east": ("east", "orient"), "north": ("north",)}
    known = known_words(VECTORS, Groups("sky", lists, {"mill": ("mill",)}))
    assert known.words == {"east": ("east",), "north": ("north",)}
    assert vector_biases(VECTORS, known, Policies())[0].n == 2
    lists = {"east": ("orient", "levant"), "north": ("north",)}
    with fails("no word of the group «east» has a vector"):
        known_words(VECTORS, Groups("sky", lists, {"mill": ("mill",)}))
    # If it is computed again, a group of unknown words is undefined.
    assert found(lists, "mill").undefined == "missing_group"


# --- intervals ----------------------------------------------------------------------------------


def test_there_is_no_interval_with_one_word() -> None:
    lists = {"east": ("east",), "north": ("north", "northerly")}
    one = Groups("sky", lists, {"mill": ("mill",)})
    assert np.isnan(intervals(VECTORS, one, Policies(), confidence=0.95)).all()
    assert vector_biases(VECTORS, one, Policies(), confidence=0.95)[0].ci is None
    # Words that are alike have no spread.
    alike = found(LISTS, "mill", confidence=0.95)
    low, high = (alike.ci or ())[0] or (0, 0)
    assert low == high == pytest.approx((alike.signed or ())[0])


def test_the_words_of_a_target_widen_its_interval() -> None:
    ends = (found(LISTS, "field", "fields", confidence=0.9).ci or ())[0]
    # By hand: p(east) is 1/2 without «fields» and 1/4 without «field», so the variance is
    # 1/2 · 2 · (1/8)² with one degree of freedom; t is 6.314.
    half = 6.3138 * np.sqrt(1 / 64)
    low, high = max(1 / 3 - half, 0) - 0.5, min(1 / 3 + half, 1) - 0.5
    assert ends == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize("policies", [Policies(), Policies("softmax", "raw")])
def test_intervals_stay_where_shares_can_be(policies: Policies) -> None:
    random = np.random.default_rng(0)
    vectors, made, _ = scattered((2, 2), spread=3, targets=50, random=random)
    ends = np.array(intervals(vectors, made, policies, confidence=0.99))
    known = ends[~np.isnan(ends)]
    assert known.size
    assert -0.5 <= known.min() < known.max() <= 0.5


def test_an_interval_needs_all_results_without_one_word() -> None:
    array = np.array([[1, 0], [1, 0.1], [0.1, 1], [-9, 1], [0.1, 9]], float)
    vectors = Vectors(("a", "b", "c", "d", "t"), array.astype(np.float32))
    lists = {"first": ("a", "b"), "second": ("c", "d")}
    bias = found(lists, "t", vectors=vectors, confidence=0.95)
    assert bias.undefined is None
    assert bias.ci is None or all(pair is not None for pair in bias.ci)


@pytest.mark.parametrize("sizes", [(20, 20), (7, 7), (20, 16, 20)])
def test_the_intervals_cover_the_bias_of_endless_lists(sizes: tuple[int, ...]) -> None:
    # docs/trust.md has the coverage over 4,000 targets.
    random, inside = np.random.default_rng(3), list[bool]()
    for _ in range(60):
        vectors, groups, true = scattered(sizes, spread=1, targets=10, random=random)
        ends = np.array(intervals(vectors, groups, Policies(), confidence=0.95))
        inside += ((ends[..., 0] <= true) & (true <= ends[..., 1])).all(axis=-1).tolist()
    assert 0.92 <= np.mean(inside) <= 0.985

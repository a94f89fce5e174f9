"""The measure of word embeddings, on vectors whose cosines are known."""

import numpy as np
import pytest

from curation.files import CurationError
from curation.formats.word_vectors import Vectors
from curation.trust.framework import Floats, Policies, distributions
from curation.trust.groups import Groups
from curation.trust.vectors.cosine import intervals, known_words, soa, vector_biases

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


def test_cosines_by_hand() -> None:
    found, several, cave, none = vector_biases(
        VECTORS,
        groups(mill=("mill",), field=("field", "fields"), cave=("cave",), lake=("lake",)),
        Policies(),
    )
    assert found.soa == pytest.approx((0.6, 0.8))
    assert found.signed == pytest.approx((0.6 / 1.4 - 0.5, 0.8 / 1.4 - 0.5))
    assert found.n == 4
    assert several.soa == pytest.approx((1 / np.sqrt(5), 2 / np.sqrt(5)))  # the mean is (1, 2)
    assert (cave.undefined, none.undefined) == ("negative_soa", "missing_target")
    assert none.soa == (None, None)


def test_vectors_are_averaged_as_they_are() -> None:
    # The mean of (2, 0) and (0, 6) points north; of unit vectors it would point between the two.
    lists = {"both": ("east", "northerly"), "north": ("north",)}
    vectors = Vectors(("east", "northerly", "north", "field"), VECTORS.array[[0, 3, 2, 5]])
    found = vector_biases(vectors, Groups("sky", lists, {"field": ("field",)}), Policies())
    mean = np.array([1, 1.5])
    assert found[0].soa[0] == pytest.approx(mean.sum() / np.linalg.norm(mean) / np.sqrt(2))


def test_a_vector_of_zeros_has_no_cosine() -> None:
    assert np.isnan(soa(np.zeros((1, 2)), np.ones((2, 2)))).all()


def test_words_without_a_vector_are_left_out() -> None:
    lists = {"east": ("east", "orient"), "north": ("north",)}
    known = known_words(VECTORS, Groups("sky", lists, {"mill": ("mill",)}))
    assert known.words == {"east": ("east",), "north": ("north",)}
    assert vector_biases(VECTORS, known, Policies())[0].n == 2
    lists = {"east": ("orient", "levant"), "north": ("north",)}
    with pytest.raises(CurationError, match="no word of the group «east» has a vector"):
        known_words(VECTORS, Groups("sky", lists, {"mill": ("mill",)}))


def test_a_group_of_unknown_words_is_undefined_if_it_is_computed_again() -> None:
    lists = {"east": ("orient",), "north": ("north",)}
    found = vector_biases(VECTORS, Groups("sky", lists, {"mill": ("mill",)}), Policies())
    assert found[0].undefined == "missing_group"


# --- intervals ----------------------------------------------------------------------------------


def test_there_is_no_interval_with_one_word() -> None:
    lists = {"east": ("east",), "north": ("north", "northerly")}
    one = Groups("sky", lists, {"mill": ("mill",)})
    assert np.isnan(intervals(VECTORS, one, Policies(), confidence=0.95)).all()
    assert vector_biases(VECTORS, one, Policies(), confidence=0.95)[0].ci is None


def test_words_that_are_alike_have_no_spread() -> None:
    found = vector_biases(VECTORS, groups(mill=("mill",)), Policies(), confidence=0.95)[0]
    assert found.ci is not None
    assert found.signed is not None
    assert found.ci[0] == pytest.approx((found.signed[0], found.signed[0]))


def test_the_words_of_a_target_widen_its_interval() -> None:
    several = groups(field=("field", "fields"))
    found = vector_biases(VECTORS, several, Policies(), confidence=0.9)[0]
    assert found.ci is not None
    assert found.ci[0] is not None
    # By hand: p(east) is 1/2 without «fields» and 1/4 without «field», so the variance is
    # 1/2 · 2 · (1/8)² with one degree of freedom; t is 6.314.
    half = 6.3138 * np.sqrt(1 / 64)
    low, high = max(1 / 3 - half, 0) - 0.5, min(1 / 3 + half, 1) - 0.5
    assert found.ci[0] == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize("policies", [Policies(), Policies("softmax", "raw")])
def test_intervals_stay_where_shares_can_be(policies: Policies) -> None:
    random = np.random.default_rng(0)
    vectors, made, _ = scattered((2, 2), spread=3, targets=50, random=random)
    ends = intervals(vectors, made, policies, confidence=0.99)
    assert ends is not None
    known = ends[~np.isnan(ends)]
    assert known.size
    assert known.min() >= -0.5
    assert known.max() <= 0.5


def test_an_interval_needs_all_results_without_one_word() -> None:
    array = np.array([[1, 0], [1, 0.1], [0.1, 1], [-9, 1], [0.1, 9]], float)
    vectors = Vectors(("a", "b", "c", "d", "t"), array.astype(np.float32))
    lists = {"first": ("a", "b"), "second": ("c", "d")}
    found = vector_biases(vectors, Groups("g", lists, {"t": ("t",)}), Policies(), confidence=0.95)[
        0
    ]
    assert found.undefined is None
    assert found.ci is None or all(pair is not None for pair in found.ci)


@pytest.mark.parametrize("sizes", [(20, 20), (7, 7), (20, 16, 20)])
def test_the_intervals_cover_the_bias_of_endless_lists(sizes: tuple[int, ...]) -> None:
    # docs/trust.md has the coverage over 4,000 targets.
    random, inside = np.random.default_rng(3), list[bool]()
    for _ in range(60):
        vectors, groups, true = scattered(sizes, spread=1, targets=10, random=random)
        ends = intervals(vectors, groups, Policies(), confidence=0.95)
        assert ends is not None
        inside += ((ends[..., 0] <= true) & (true <= ends[..., 1])).all(axis=-1).tolist()
    assert 0.92 <= np.mean(inside) <= 0.985

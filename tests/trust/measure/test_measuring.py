"""Prior measures of groups: words without vectors, pairs, intervals, and what is undefined."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from curation.formats.word_vectors import Vectors
from curation.trust.measure import cosine, prior
from curation.trust.measure.groups import Groups
from curation.trust.measure.prior import MEASURES, biases
from support.expected import fails

WORDS = {
    "she": (2.0, 0.2, 0.0),
    "aunt": (1.5, 0.1, 1.0),
    "niece": (1.0, -0.3, 2.0),
    "he": (-2.0, 0.1, 0.2),
    "uncle": (-1.0, 0.3, 1.1),
    "baker": (1.0, 1.0, 1.0),
    "potter": (-1.0, 2.0, 0.5),
    "weaver": (3.0, 0.0, 0.0),
}
VECTORS = Vectors(tuple(WORDS), np.array(list(WORDS.values()), np.float32))
GROUPS = Groups(
    "gender",
    {"female": ("she", "lass", "aunt", "niece"), "male": ("he", "lad", "uncle")},
    {"baker": ("baker",), "crafts": ("potter", "weaver", "fiddler"), "fiddler": ("fiddler",)},
)


def test_pairs_are_the_words_at_the_same_place_that_both_have_vectors() -> None:
    assert prior.complete_pairs(VECTORS, GROUPS.words) == [("she", "he"), ("aunt", "uncle")]
    assert prior.used_words("ripa-pairs", GROUPS, VECTORS).words["female"] == ("she", "aunt")
    assert prior.used_words("caliskan", GROUPS, VECTORS).words["female"] == ("she", "aunt", "niece")


def test_a_target_is_the_mean_of_its_words_and_undefined_without_any() -> None:
    baker, crafts, fiddler = biases("garg-euclidean", GROUPS, VECTORS)
    mean = np.mean([WORDS["potter"], WORDS["weaver"]], axis=0)
    first = np.mean([WORDS["she"], WORDS["aunt"], WORDS["niece"]], axis=0)
    second = np.mean([WORDS["he"], WORDS["uncle"]], axis=0)
    expected = np.linalg.norm(mean - second) - np.linalg.norm(mean - first)
    assert crafts.value == pytest.approx(expected, abs=1e-6)
    assert (baker.value or 0) > 0  # closer to the first group
    assert (baker.n, biases("ripa-pairs", GROUPS, VECTORS)[0].n) == (5, 4)
    assert (fiddler.value, fiddler.undefined) == (None, "missing_target")
    assert (baker.p, baker.l1) == (None, None)


def test_vectors_of_length_1_differ_from_those_of_the_file() -> None:
    unit = replace(VECTORS, array=cosine.unit(VECTORS.array))
    np.testing.assert_allclose(np.linalg.norm(unit.rows(["she", "baker"]), axis=1), 1)
    for name in ("garg-euclidean", "bolukbasi-pairs", "ripa-pairs"):
        assert biases(name, GROUPS, unit)[0].value != biases(name, GROUPS, VECTORS)[0].value
    for name in ("caliskan", "manzini"):
        raw = biases(name, GROUPS, VECTORS)[0].value
        assert biases(name, GROUPS, unit)[0].value == pytest.approx(raw)


def test_without_words_or_pairs_a_measure_computed_again_is_undefined() -> None:
    groups = Groups("gender", {"female": ("lass",), "male": ("he",)}, GROUPS.targets)
    codes = {name: biases(name, groups, VECTORS)[0].undefined for name in MEASURES}
    paired = {name for name, measure in MEASURES.items() if measure.centring}
    assert {name for name, code in codes.items() if code == "no_direction"} == paired
    assert {codes[name] for name in codes.keys() - paired} == {"missing_group"}


def test_intervals_are_over_words_or_pairs() -> None:
    for name, measure in MEASURES.items():
        ends = prior.intervals(name, GROUPS, VECTORS, confidence=0.9)
        if measure.centring == "differences":  # of two pairs, without one there is no direction
            assert np.isnan(ends).all()
            continue
        bias, _, fiddler = biases(name, GROUPS, VECTORS, ends)
        low, high = bias.value_ci or (0, 0)
        assert low < (bias.value or 0) < high
        assert fiddler.value_ci is None


def test_the_interval_of_a_difference_of_means_by_hand() -> None:
    groups = Groups("g", {"a": ("she", "aunt"), "b": ("he", "uncle")}, {"weaver": ("weaver",)})
    cosines = [WORDS[w][0] / np.linalg.norm(WORDS[w]) for w in ("she", "aunt", "he", "uncle")]
    (first, second), (third, fourth) = cosines[:2], cosines[2:]
    ends = prior.intervals("caliskan", groups, VECTORS, confidence=0.9)
    # The variance of a mean of two is the squared difference / 4; freedom by Satterthwaite.
    parts = np.array([(first - second) ** 2, (third - fourth) ** 2]) / 4
    freedom = parts.sum() ** 2 / (parts**2).sum()
    half = student.ppf(0.95, freedom) * np.sqrt(parts.sum())
    value = (first + second - third - fourth) / 2
    assert ends[:, 0] == pytest.approx([value - half, value + half], rel=1e-5)


def test_one_word_of_a_group_has_no_interval() -> None:
    groups = Groups("g", {"female": ("she", "aunt"), "male": ("he",)}, {"baker": ("baker",)})
    for name in ("caliskan", "ripa-pairs"):
        assert prior.intervals(name, groups, VECTORS, confidence=0.9) is None


def test_facts_say_what_a_value_rests_on() -> None:
    found = biases("bolukbasi-pairs", GROUPS, VECTORS)
    about = prior.facts("bolukbasi-pairs", GROUPS, VECTORS, found, strictness=2, unit=False)
    values = [bias.value for bias in found if bias.value is not None]
    assert about["direct_bias"] == pytest.approx(np.mean(np.square(values)))
    assert about["mean_absolute"] == pytest.approx(np.mean(np.abs(values)))
    assert about["pairs"] == 2
    assert about["group_words"] == {"female": 3, "male": 2}
    assert 0.9 < about["alignment"] <= 1  # type: ignore[operator]
    assert "mac" in prior.facts("manzini", GROUPS, VECTORS, found, strictness=1, unit=False)


@pytest.mark.parametrize(
    ("name", "lists", "message"),
    [
        ("caliskan", {"a": ("she",), "b": ("he",), "c": ("uncle",)}, "there are 3"),
        ("caliskan", {"a": ("she",), "b": ("lad", "lord")}, "no word of the group «b»"),
        ("ripa-pairs", {"a": ("she", "lass"), "b": ("lad", "he")}, "1 or more pairs"),
        ("ripa-differences", {"a": ("she",), "b": ("he",)}, "2 or more pairs"),
    ],
)
def test_measures_are_refused(name: str, lists: dict[str, tuple[str, ...]], message: str) -> None:
    groups = Groups("gender", lists, {"baker": ("baker",)})
    with fails("[groups.gender]", message) as caught:
        prior.check_measure(name, groups, VECTORS)
    assert isinstance(caught.value, prior.NoPairsError) == name.startswith("ripa")


def test_manzini_takes_more_than_two_groups() -> None:
    groups = Groups("gender", {"a": ("she",), "b": ("he",), "c": ("uncle",)}, {"baker": ("baker",)})
    prior.check_measure("manzini", groups, VECTORS)
    (found,) = biases("manzini", groups, VECTORS)
    assert (found.n, found.groups) == (3, ("a", "b", "c"))

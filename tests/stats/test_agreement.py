"""Agreement measures: figures worked out by hand, and the jackknife against the package."""

import krippendorff
import numpy as np
import pytest

from curation.stats.agreement import MEASURES, by_cat, coefficient, contributions, interval
from curation.stats.intervals import t_quantile

# Four units, two classes, votes (a, b): three, three, three and two raters.
SMALL = np.array([[3, 0], [2, 1], [0, 3], [1, 1]])


def test_alpha_fleiss_and_ac1_by_hand() -> None:
    # n = 11 votes, 6 a and 5 b. Agreeing pairs over (m − 1): 6/2 + 2/2 + 6/2 + 0/1 = 7.
    # D_o = (11 − 7)/11; D_e = (121 − 36 − 25)/(11 · 10) = 60/110; alpha = 1 − (4/11)/(6/11).
    assert coefficient("alpha", SMALL) == pytest.approx(1 - 4 / 6)
    # P_i = 1, 2/6, 1, 0, mean 7/12. Shares of a: 1, 2/3, 0, 1/2, mean 13/24; b 11/24.
    # Fleiss: P_e = (169 + 121)/576 = 290/576. AC1: P_e = 2 · (13/24)(11/24)/(2 − 1) = 286/576.
    for measure, chance in (("fleiss", 290 / 576), ("ac1", 286 / 576)):
        assert coefficient(measure, SMALL) == pytest.approx((7 / 12 - chance) / (1 - chance))


def test_krippendorffs_own_example() -> None:
    # Krippendorff 2011, «Computing Krippendorff's alpha reliability», example C: alpha = 0.743,
    # four observers, twelve units, five nominal values, the last unit with one value.
    units = "111 2232 3333 3333 2222 1234 4444 1121 2222 555 11 3"
    votes = np.array([[unit.count(v) for v in "12345"] for unit in units.split()])
    assert coefficient("alpha", votes) == pytest.approx(0.743, abs=5e-4)


def test_a_class_that_only_single_labels_have_is_a_class() -> None:
    # Three classes occur. P_a = (1 + 0 + 1)/3; shares 3/8, 3/8, 1/4, so that
    # P_e = (15/64 + 15/64 + 12/64)/(3 − 1) = 21/64, and AC1 = (2/3 − 21/64)/(43/64) = 65/129.
    votes = np.array([[2, 0, 0, 0], [1, 1, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0]])
    assert coefficient("ac1", votes) == pytest.approx(65 / 129)


def test_no_pair_of_two_classes_gives_no_value() -> None:
    for measure in MEASURES:
        assert coefficient(measure, np.array([[2, 0, 0, 0], [0, 1, 0, 0]])) is None


def test_full_agreement_and_none() -> None:
    for measure in ("alpha", "fleiss", "ac1"):
        assert coefficient(measure, np.array([[5, 0], [0, 5]])) == pytest.approx(1)
    # One class only: nothing to judge by.
    assert coefficient("alpha", np.array([[5, 0], [5, 0]])) is None
    assert coefficient("alpha", np.array([[1, 0], [0, 1]])) is None  # nothing to pair


def random_votes(units: int, seed: int = 3) -> np.ndarray:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    return np.stack([rng.multinomial(n, [0.5, 0.3, 0.15, 0.05]) for n in rng.integers(0, 6, units)])


@pytest.mark.parametrize("measure", MEASURES)
def test_sums_of_contributions_give_the_coefficient(measure: str) -> None:
    votes = random_votes(60)
    sums = contributions(votes).sum(axis=0, keepdims=True)
    assert MEASURES[measure](sums)[0] == pytest.approx(coefficient(measure, votes), rel=1e-12)


def test_alpha_without_each_cat_equals_the_package_and_so_does_its_interval() -> None:
    votes, cats = random_votes(60), np.repeat(np.arange(20), 3)
    units = by_cat(contributions(votes), cats)
    without = [
        krippendorff.alpha(value_counts=votes[cats != cat], level_of_measurement="nominal")
        for cat in range(20)
    ]
    sums = units.sum(axis=0, keepdims=True) - units
    assert MEASURES["alpha"](sums) == pytest.approx(without, rel=1e-12)
    # Pseudo-values of log(1 − alpha): 20 · whole − 19 · without; t is 2.093 with 19 degrees.
    whole = np.log(1 - coefficient("alpha", votes))  # type: ignore[operator]
    pseudo = 20 * whole - 19 * np.log(1 - np.array(without))
    half = t_quantile(0.95, 19) * pseudo.std(ddof=1) / np.sqrt(20)
    expected = [1 - np.exp(whole + half), 1 - np.exp(whole - half)]
    assert interval("alpha", units) == pytest.approx(expected)


def test_if_one_cat_has_all_disagreement_the_interval_is_of_the_coefficient() -> None:
    votes = np.array([[5, 0], [0, 5], [5, 0], [0, 5], [3, 2]])
    for measure in MEASURES:
        low, high = interval(measure, contributions(votes)) or (None, None)
        whole = coefficient(measure, votes)
        assert low < whole < high <= 1  # type: ignore[operator]


def test_a_rounding_error_is_not_a_disagreement() -> None:
    # One association of fifteen has a vote against: without its CAT every measure is 1, up to
    # rounding, whose logarithm would make the interval endless.
    votes = np.array([[5, 0, 0], [0, 5, 0], [0, 0, 5]] * 5)
    votes[0] = [4, 1, 0]
    units = by_cat(contributions(votes), np.repeat(np.arange(5), 3))
    for measure in MEASURES:
        low, high = interval(measure, units) or (None, None)
        assert 0.4 < low < coefficient(measure, votes) < high <= 1  # type: ignore[operator]


def test_one_cat_and_full_agreement_have_no_interval() -> None:
    assert interval("alpha", contributions(np.array([[3, 2]]))) is None
    assert interval("alpha", contributions(np.array([[5, 0], [0, 5], [5, 0]]))) is None

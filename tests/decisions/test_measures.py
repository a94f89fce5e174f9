"""Agreement measures: figures worked out by hand, and the bootstrap against the package."""

import krippendorff
import numpy as np
import pytest

from curation.decisions.measures import MEASURES, by_cat, contributions, figure
from curation.intervals import intervals, resampled_sums

# Four units, two classes, votes (a, b): three, three, three and two raters.
SMALL = np.array([[3, 0], [2, 1], [0, 3], [1, 1]])


def test_alpha_by_hand() -> None:
    # n = 11 votes, 6 a and 5 b. Agreeing pairs over (m − 1): 6/2 + 2/2 + 6/2 + 0/1 = 7.
    # D_o = (11 − 7)/11; D_e = (121 − 36 − 25)/(11 · 10) = 60/110; alpha = 1 − (4/11)/(6/11).
    assert figure("alpha", SMALL) == pytest.approx(1 - 4 / 6)


def test_fleiss_by_hand() -> None:
    # P_i = 1, 2/6, 1, 0, mean 7/12. Shares of a: 1, 2/3, 0, 1/2, mean 13/24; b 11/24.
    # P_e = (169 + 121)/576 = 290/576.
    chance = 290 / 576
    assert figure("fleiss", SMALL) == pytest.approx((7 / 12 - chance) / (1 - chance))


def test_ac1_by_hand() -> None:
    # The same P_a; P_e = 2 · (13/24)(11/24)/(2 − 1) = 286/576.
    chance = 286 / 576
    assert figure("ac1", SMALL) == pytest.approx((7 / 12 - chance) / (1 - chance))


def test_krippendorffs_own_example() -> None:
    # Krippendorff 2011, «Computing Krippendorff's alpha reliability», example C: alpha = 0.743,
    # four observers, twelve units, five nominal values, the last unit with one value.
    units = [
        "111",
        "2232",
        "3333",
        "3333",
        "2222",
        "1234",
        "4444",
        "1121",
        "2222",
        "555",
        "11",
        "3",
    ]
    votes = np.array([[unit.count(v) for v in "12345"] for unit in units])
    assert figure("alpha", votes) == pytest.approx(0.743, abs=5e-4)


def test_a_class_that_only_single_labels_have_is_a_class() -> None:
    # Three classes occur. P_a = (1 + 0 + 1)/3; shares 3/8, 3/8, 1/4, so that
    # P_e = (15/64 + 15/64 + 12/64)/(3 − 1) = 21/64, and AC1 = (2/3 − 21/64)/(43/64) = 65/129.
    votes = np.array([[2, 0, 0, 0], [1, 1, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0]])
    assert figure("ac1", votes) == pytest.approx(65 / 129)


def test_no_pair_of_two_classes_gives_no_figure() -> None:
    for measure in MEASURES:
        assert figure(measure, np.array([[2, 0, 0, 0], [0, 1, 0, 0]])) is None


def test_full_agreement_and_none() -> None:
    assert figure("alpha", np.array([[5, 0], [0, 5]])) == pytest.approx(1)
    assert figure("fleiss", np.array([[5, 0], [0, 5]])) == pytest.approx(1)
    assert figure("ac1", np.array([[5, 0], [0, 5]])) == pytest.approx(1)
    assert (
        figure("alpha", np.array([[5, 0], [5, 0]])) is None
    )  # one class only: nothing to judge by
    assert figure("alpha", np.array([[1, 0], [0, 1]])) is None  # nothing to pair


def random_votes(units: int, seed: int = 3) -> np.ndarray:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    return np.stack([rng.multinomial(n, [0.5, 0.3, 0.15, 0.05]) for n in rng.integers(0, 6, units)])


@pytest.mark.parametrize("measure", MEASURES)
def test_sums_of_contributions_give_the_figure(measure: str) -> None:
    votes = random_votes(60)
    sums = contributions(votes).sum(axis=0, keepdims=True)
    assert MEASURES[measure](sums)[0] == pytest.approx(figure(measure, votes), rel=1e-12)


def test_the_bootstrap_of_alpha_equals_the_package_on_every_resample() -> None:
    votes, cats = random_votes(60), np.repeat(np.arange(20), 3)
    units = by_cat(contributions(votes), cats)
    sums = resampled_sums(units, resamples=50, seed=7)
    draws = np.random.default_rng(7).integers(20, size=(50, 20), dtype=np.int32)
    slow = [
        krippendorff.alpha(
            value_counts=np.concatenate([votes[cats == cat] for cat in draw]),
            level_of_measurement="nominal",
        )
        for draw in draws
    ]
    assert MEASURES["alpha"](sums) == pytest.approx(slow, rel=1e-12)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    # Means of 40 draws from a known distribution: 200 intervals of 90 % miss about 20 times.
    rng = np.random.default_rng(5)
    missed = 0
    for trial in range(200):
        sample = np.column_stack([rng.exponential(1.0, 40), np.ones(40)])
        mean = {"mean": lambda s: s[:, 0] / s[:, 1]}
        bounds = intervals(sample, mean, resamples=300, confidence=0.9, seed=trial)["mean"]
        assert bounds is not None
        missed += not bounds[0] <= 1.0 <= bounds[1]
    assert 8 <= missed <= 42


def test_one_unit_has_no_interval_and_seeds_decide_the_draws() -> None:
    one = np.array([[1.0, 1.0]])
    assert intervals(one, {"mean": lambda s: s[:, 0] / s[:, 1]}) == {"mean": None}
    units = np.random.default_rng(0).random((9, 2))
    first, again, other = (resampled_sums(units, resamples=10, seed=s) for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()

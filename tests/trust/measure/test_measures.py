"""The prior measures, with vectors whose values can be computed by hand."""

from collections.abc import Callable
from math import comb, sqrt

import numpy as np
import pytest

from curation.trust.measure import prior
from curation.trust.measure.framework import Floats
from curation.trust.measure.prior import MEASURES, direct_bias, mac, manzini, weat

A = np.array([[1.0, 0.0], [3.0, 0.0]])  # the first group: two words on the first axis
B = np.array([[0.0, 1.0], [0.0, 3.0]])  # the second group, on the second axis
HALF = 1 / sqrt(2)
TARGETS = np.array([[2.0, 0.0], [0.0, 5.0], [1.0, 1.0], [0.0, 0.0]])


ONE_AND_HALF = np.array([[1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("measure", "first", "expected"),
    [
        # All differences are multiples of (1, -1), so g = (1, -1) / √2: the cosine with it.
        (prior.bolukbasi, A, [HALF, -HALF, 0]),
        # The length of the target stays: (2, 0) · (1, -1) / √2 = √2; (0, 5) · (1, -1) / √2.
        (prior.ripa, A, [sqrt(2), -5 * HALF, 0]),
        # The means are (2, 0) and (0, 2).
        (prior.garg_cosine, A, [1, -1, 0]),
        # (2, 0): √8 - 0. (0, 5): 3 - √29. (1, 1): √2 - √2.
        (prior.garg_euclidean, A, [sqrt(8), 3 - sqrt(29), 0]),
        # (2, 0): (1 + 1/√2) / 2 - 0; (0, 5): (0 + 1/√2) / 2 - 1; (1, 1): (1/√2 + 1) / 2 - 1/√2.
        (prior.caliskan, ONE_AND_HALF, [(1 + HALF) / 2, HALF / 2 - 1, (1 - HALF) / 2]),
    ],
)
def test_values_of_two_groups_by_hand(
    measure: Callable[..., Floats], first: Floats, expected: list[float]
) -> None:
    assert measure(TARGETS, first, B) == pytest.approx([*expected, np.nan], nan_ok=True)


def test_direct_bias_is_the_mean_size_of_the_cosines() -> None:
    cosines = np.array([HALF, -HALF, 0])
    assert direct_bias(np.append(cosines, np.nan)) == pytest.approx(2 * HALF / 3)
    assert direct_bias(cosines, 2) == pytest.approx(1 / 3)
    assert direct_bias(cosines, 0) == pytest.approx(2 / 3)
    assert direct_bias(np.array([np.nan])) is None


def test_manzini_adds_where_the_others_compare() -> None:
    # (2, 0): two cosines are 1, two are 0. (1, 1): all are 1/√2.
    assert manzini(TARGETS, A, B) == pytest.approx([0.5, 0.5, HALF, np.nan], nan_ok=True)
    # The mean distance over targets and groups: (.5 + .5 + 1 - 1/√2) / 3.
    assert mac(TARGETS, A, B) == pytest.approx((2 - HALF) / 3)
    assert mac(TARGETS[3:], A, B) is None


def test_mac_weighs_groups_alike_and_the_code_weighs_words_alike() -> None:
    groups = [A, B[:1]]
    # (2, 0): similarity (1 + 1 + 0) / 3; MAC the mean of the distances 0 and 1.
    assert manzini(TARGETS[:1], *groups) == pytest.approx([2 / 3])
    assert mac(TARGETS[:1], *groups) == pytest.approx(1 / 2)


@pytest.mark.parametrize("name", MEASURES)
def test_exchanging_the_groups_changes_the_sign_only_if_a_measure_is_signed(name: str) -> None:
    rng = np.random.default_rng(1)
    targets, first, second = rng.normal(size=(3, 6, 4)) + np.array([0, 1, 0])[:, None, None]
    measure = MEASURES[name]
    there, back = (measure.value(targets, *pair) for pair in ((first, second), (second, first)))
    assert np.abs(there).min() > 1e-6
    np.testing.assert_allclose(there, -back if measure.signed else back)


# --- WEAT ---------------------------------------------------------------------------------------

X = np.array([[1.0, 0.0], [1.0, 1.0]])  # associations 1 and 0
Y = np.array([[0.0, 1.0], [0.0, 2.0]])  # associations -1 and -1


def test_weat_by_hand() -> None:
    found = weat(X, Y, A, B, seed=1)
    assert found.statistic == pytest.approx(1 + 2)
    # Means .5 and -1. The values 1, 0, -1, -1 have mean -.25 and squares 1.5625 + .0625 + 2 × .5625
    # = 2.75.
    assert found.effect_size_population == pytest.approx(1.5 / sqrt(2.75 / 4))
    assert found.effect_size_sample == pytest.approx(1.5 / sqrt(2.75 / 3))
    # Of the 6 pairs of values only 1 + 0 reaches 1 + 0.
    assert (found.p, found.partitions, found.exact) == (pytest.approx(1 / 6), 6, True)


def test_weat_counts_ties_and_the_other_side() -> None:
    # Exchanged, every partition reaches the statistic.
    assert weat(Y, X, A, B, seed=1).p == 1
    # 1, -1 against 0, -1: both pairs with 1 and a -1 tie; 1 + 0 is above: 3 of 6.
    swapped = weat(np.stack([X[0], Y[0]]), np.stack([X[1], Y[1]]), A, B, seed=1)
    assert swapped.p == pytest.approx(1 / 2)
    assert swapped.statistic == pytest.approx(1)


def test_weat_without_variance_has_no_effect_size() -> None:
    found = weat(X[:1], X[:1], A, B, seed=1)
    assert (found.statistic, found.p) == (0, 1)
    assert (found.effect_size_population, found.effect_size_sample) == (None, None)
    # Sets may have different sizes.
    found = weat(X[:1], Y, A, B, seed=1)
    assert (found.partitions, found.p) == (3, pytest.approx(1 / 3))


def test_weat_draws_partitions_if_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(6, 2)) + np.array([0.6, 0]), rng.normal(size=(6, 2))
    exact = weat(x, y, A, B, seed=1)
    assert (exact.partitions, exact.exact) == (comb(12, 6), True)
    monkeypatch.setattr(prior, "EXACT", 100)
    drawn = weat(x, y, A, B, seed=1)
    assert (drawn.partitions, drawn.exact) == (prior.DRAWN, False)
    assert drawn.p == pytest.approx(exact.p, abs=0.006)  # three standard errors
    assert drawn == weat(x, y, A, B, seed=1)
    assert drawn.p != weat(x, y, A, B, seed=2).p

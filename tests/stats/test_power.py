"""Variance components by hand, the formula, and the promised power in simulations."""

import math

import numpy as np
import pytest

from curation.stats import tests as module
from curation.stats.correlations import critical_rho, needed_units, rank_power, rho
from curation.stats.tests import Spread, needed_terms, sign_power, spread, t_test

Z2 = 2.8015852**2  # (1.9599640 + 0.8416212)²


def test_variances_by_hand_where_between_is_never_below_zero_and_within_may_be_unknown() -> None:
    # Terms (1, 3), (4, 6), (8): means 2, 5, 8, their variance 9. Within: 1+1+1+1 over 5 − 3 = 2.
    # mean(1/m) = (½ + ½ + 1)/3 = 2/3, so between = 9 − 2 · 2/3.
    found = spread(np.array([0, 0, 1, 1, 2]), np.array([1.0, 3.0, 4.0, 6.0, 8.0]))
    assert found.within == 2.0
    assert found.of_means == pytest.approx(9.0)
    assert found.between == pytest.approx(9 - 4 / 3)
    assert (found.mean, found.terms, found.cats) == (5.0, 3, 5)
    # Means 2 and 2, within (1+1+1+1)/2.
    assert spread(np.array([0, 0, 1, 1]), np.array([1.0, 3.0, 1.0, 3.0])).between == 0.0
    alone = spread(np.array([0, 1]), np.array([1.0, 3.0]))
    assert (alone.within, alone.between) == (None, 2.0)
    with pytest.raises(ValueError, match="fewer than two terms"):
        spread(np.array([0, 0]), np.array([1.0, 3.0]))


def test_variances_are_right_on_the_mean_with_terms_of_unequal_size() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(60), rng.integers(1, 12, 60))
    found = []
    for _ in range(200):
        values = rng.normal(0, 10, 60)[codes] + rng.normal(0, 40, len(codes))
        found.append(spread(codes, values)[:2])
    between, within = np.mean(np.array(found, float), axis=0)
    assert within == pytest.approx(1600, rel=0.02)
    assert between == pytest.approx(100, rel=0.35)  # s.e. of the mean: about 7


def test_needed_by_hand() -> None:
    of = Spread(between=100.0, within=1600.0, of_means=0.1, mean=0.0, terms=2, cats=4)
    # Of the normal distribution, (2.8016/5)² = 0.31396, times 1700, 900, 180: 534, 283, 57.
    # Student's t asks for two more.
    assert [needed_terms(of, 5, m) for m in (1, 2, 20)] == [536, 285, 59]
    assert needed_terms(of, 100_000, 1) == 2  # never fewer than two
    assert needed_terms(of._replace(of_means=0.0), 5, 1) is None
    assert needed_terms(of._replace(within=None), 5, 2) is None
    assert needed_terms(of._replace(within=None), 5, 1) == math.ceil(Z2 / 25 * 100) + 2


def test_power_is_that_of_the_noncentral_t() -> None:
    # Of a one-sample t test: n = 10, effect 1 standard deviation, power 0.803 (Cohen 1988).
    of = Spread(between=100.0, within=None, of_means=100.0, mean=0.0, terms=2, cats=2)
    assert module.power_at(of, 10, terms=10, cats=1) == pytest.approx(0.803, abs=1e-3)
    assert needed_terms(of, 10, 1) == 10
    assert module.power_at(of, 1e6, terms=5, cats=1) == 1.0


def test_detectable_by_hand() -> None:
    of = Spread(between=1.0, within=1.0, of_means=64.0, mean=0.0, terms=16, cats=99)
    # With 16 terms t asks for a shift of 2.998 standard errors, not 2.802; an error is 8/4.
    assert module.detectable(of) == pytest.approx(2.998 * 8 / 4, abs=2e-3)
    same = of._replace(between=64.0, within=None)
    assert module.power_at(same, module.detectable(of), terms=16, cats=1) == pytest.approx(
        0.8, abs=1e-6
    )


@pytest.mark.parametrize("cats", [1, 3, 10])
def test_the_needed_terms_have_the_power(cats: int) -> None:
    # True differences 100 · (won by A − won by B), each CAT a coin of its term's own.
    rng = np.random.default_rng(cats)
    difference, terms_sd = 6.0, 8.0
    chance = rng.normal(0.5 + difference / 200, terms_sd / 200, 200_000)
    a, b = rng.random((2, 200_000)) < np.array([chance, 1 - chance])
    within = 100.0**2 * 2 * 0.25  # of a difference of two coins near ½, less what lies between
    of = Spread(terms_sd**2, within, 1.0, difference, 2, 4)
    assert (100 * (a * 1.0 - b)).var() == pytest.approx(within + terms_sd**2, rel=0.05)
    terms = needed_terms(of, difference, cats)
    assert terms is not None
    found = 0
    for _ in range(400):
        chance = rng.normal(0.5 + difference / 200, terms_sd / 200, terms)
        won_a = rng.random((cats, terms)) < chance
        won_b = rng.random((cats, terms)) < 1 - chance
        means = 100 * (won_a * 1.0 - won_b).mean(axis=0)
        p = t_test(means)
        found += p is not None and p < 0.05
    assert 0.74 < found / 400 < 0.86  # s.e. 0.02


def test_critical_rhos_are_those_of_the_tables() -> None:
    # Exact two-sided 5 % values, as in textbooks (Zar 1972); Student's t above nine.
    exact = {5: 1.0, 6: 0.886, 7: 0.786, 8: 0.738, 9: 0.7}
    assert {n: round(critical_rho(n), 3) for n in exact} == exact
    assert critical_rho(16) == pytest.approx(0.503, abs=0.01)
    assert critical_rho(30) == pytest.approx(0.362, abs=0.002)
    assert critical_rho(3) == 1.0


def test_power_of_a_rank_correlation_of_0_7() -> None:
    assert [rank_power(0.7, n) for n in (8, 16)] == pytest.approx([0.44, 0.86], abs=0.01)


@pytest.mark.parametrize(("true", "n"), [(0.5, 8), (0.7, 8), (0.3, 20), (0.7, 20), (0.9, 8)])
def test_power_of_rank_correlations_is_that_of_simulations(true: float, n: int) -> None:
    rng, draws = np.random.default_rng(4), 3000
    r = 2 * math.sin(math.pi * true / 6)
    x = rng.standard_normal((draws, n))
    y = r * x + math.sqrt(1 - r * r) * rng.standard_normal((draws, n))
    least = critical_rho(n) - 1e-9
    found = np.mean([(rho(a, b) or 0.0) >= least for a, b in zip(x, y, strict=True)])
    assert rank_power(true, n) == pytest.approx(found, abs=0.03)


def test_needed_units_are_the_least() -> None:
    for true in (0.3, 0.7, 0.9):
        needed = needed_units(true)
        assert needed is not None
        assert rank_power(true, needed) >= 0.8 > rank_power(true, needed - 1)
    assert needed_units(1e-6) is None


def test_power_of_signs_by_hand() -> None:
    assert sign_power(0.9, (4, 4)) == pytest.approx(0.9**8 + 8 * 0.9**7 * 0.1)
    assert sign_power(0.5, (4, 4)) == pytest.approx(9 / 256)
    assert (sign_power(1.0, (3, 3)), sign_power(1.0, (2, 2))) == (1.0, 0.0)
    assert module.needed_signs(0.9) == 4  # in each of two directions
    # Of three directions, two thirds are right by chance: 18 of 21 have p .046, and power .85.
    assert module.needed_signs(0.9, directions=3) == 7
    assert module.needed_signs(0.9, directions=10) is None

"""Rank correlation and its permutation test, worked out by hand."""

import math

import numpy as np
import pytest

from curation.stats import correlations as module
from curation.stats.correlations import pearson, r_squared, rho_interval, spearman, spearman_brown

# Bommasani & Liang 2022, Table 3: text, human and automated; Table 4's own contexts differ.
HUMAN = (-0.5, 0.167, -0.105, 0.373, -0.417, -0.473, -0.5, 0.5)
AUTOMATED = (-0.368, 0.039, -0.275, 0.097, -0.265, -0.358, -0.341, 0.453)


# 4/3 computed in three ways, as different processors do it, and values of another size.
NOISY = np.array([4 / 3, np.nextafter(4 / 3, 2), 0.5, np.nextafter(4 / 3, 0)])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5.0, 5.0, 5.0, 1.0], [3.0, 3.0, 3.0, 1.0]),
        (NOISY, [3.0, 3.0, 1.0, 3.0]),
        (NOISY * 1e-12, [3.0, 3.0, 1.0, 3.0]),
        ([1.0, 1.00001, 0.99999], [2.0, 3.0, 1.0]),
        ([], []),
        ([1.0, np.inf, -np.inf, np.inf], [2.0, 3.5, 1.0, 3.5]),
    ],
)
def test_ranks_of_ties_and_of_nearly_equals(values: list[float], expected: list[float]) -> None:
    assert module.ranks(np.array(values)).tolist() == expected


def test_spearman_by_hand() -> None:
    # Ranks 1 2 3 4 against 1 3 2 4: d² = 0 1 1 0, rho = 1 − 6 · 2/(4 · 15) = 0.8. Of 24 orders
    # those with |rho| ≥ 0.8: Σd² ≤ 2 (1 + 3 neighbours swapped) and, mirrored, ≥ 18: 8 of 24.
    found = spearman([1, 2, 3, 4], [10, 30, 20, 40])
    assert found == pytest.approx({"rho": 0.8, "p": 8 / 24, "models": 4, "exact": True})
    three = spearman([1, 2, 3], [3, 2, 1])
    assert (three["rho"], three["p"]) == pytest.approx((-1.0, 2 / 6))
    # x ranks 1.5 1.5 3, y ranks 1 2 3; centred −½ −½ 1 and −1 0 1: 1.5/√(1.5 · 2)
    found = spearman([1, 1, 2], [1, 2, 3])
    assert found["rho"] == pytest.approx(1.5 / math.sqrt(3))
    # By where y's 3, 1 or 2 meets the 3: 1.5, −1.5 or 0, two orders each: 4 of 6 as far.
    assert found["p"] == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("x", "y"), [([1, 2], [2, 1]), ([], []), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [4, 4, 4])]
)
def test_spearman_of_too_few_or_of_equal_models_is_none(x: list[float], y: list[float]) -> None:
    found = spearman(x, y)
    assert (found["rho"], found["p"]) == (None, None)


def test_spearman_of_many_models_draws_and_is_never_zero() -> None:
    up = list(range(20))
    found = spearman(up, up, draws=999)
    assert (found["rho"], found["exact"]) == (pytest.approx(1.0), False)
    assert found["p"] == 1 / 1000
    first, again = (spearman(range(9), [2, 1, 4, 3, 6, 5, 8, 7, 9], draws=999) for _ in range(2))
    assert first == again


def test_table_3_gives_rho_and_r_squared_of_human_and_automated_text() -> None:
    found = module.correlate(HUMAN, AUTOMATED)
    assert (found.rho, found.r_squared, found.n) == pytest.approx((0.934, 0.886, 8), abs=5e-4)
    assert (found.p or 1) < 0.01


def test_pearson_by_hand() -> None:
    # Centred −1 0 1 and −1 2 −1: no covariance. With 1 2 4 (−4/3 −1/3 5/3): 3 / √(2 · 14/3).
    assert pearson([1, 2, 3], [1, 4, 1]) == 0
    assert pearson([1, 2, 3], [1, 2, 4]) == pytest.approx(3 / math.sqrt(28 / 3))
    assert r_squared([1, 2, 3], [1, 2, 4]) == pytest.approx(27 / 28)
    assert r_squared([1, 1, 1], [1, 2, 4]) is None


def test_the_interval_of_rho_by_hand() -> None:
    # artanh 0.5 = 0.5493; √((1 + 0.125) / 25) = 0.2121; · 1.96 = 0.4158
    ends = [math.tanh(0.54931 - 0.41578), math.tanh(0.54931 + 0.41578)]
    assert rho_interval(0.5, 28) == pytest.approx(ends, abs=1e-4)
    assert rho_interval(0.5, 4) is None
    low, high = rho_interval(1.0, 8)  # type: ignore[misc]
    assert (0.9 < low < 1, high) == (True, 1.0)
    assert rho_interval(-1.0, 8) == (-1.0, pytest.approx(-low))


@pytest.mark.parametrize(("true", "n"), [(0.0, 8), (0.7, 8), (0.7, 16), (0.9, 30)])
def test_intervals_of_rho_hold(true: float, n: int) -> None:
    rng, draws = np.random.default_rng(5), 2000
    r = 2 * math.sin(math.pi * true / 6)  # Pearson's correlation of normal data with this rho
    x = rng.standard_normal((draws, n))
    y = r * x + math.sqrt(1 - r * r) * rng.standard_normal((draws, n))
    found = [rho_interval(module.rho(a, b) or 0.0, n) or (1, 1) for a, b in zip(x, y, strict=True)]
    covered = np.mean([low <= true <= high for low, high in found])
    assert 0.93 <= covered <= 0.975


def test_halves_give_the_reliability_of_the_whole() -> None:
    assert spearman_brown(0.6) == pytest.approx(0.75)
    assert spearman_brown(1.0) == 1.0
    assert spearman_brown(-0.9) == -1.0

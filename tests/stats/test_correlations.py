"""Rank correlation and its permutation test, worked out by hand."""

import math

import numpy as np
import pytest

from curation.stats.correlations import ranks, spearman


def test_ranks_of_ties_are_averaged() -> None:
    assert ranks(np.array([5.0, 5.0, 5.0, 1.0])).tolist() == [3.0, 3.0, 3.0, 1.0]


def test_spearman_by_hand() -> None:
    # Ranks 1 2 3 4 against 1 3 2 4: d² = 0 1 1 0, rho = 1 − 6 · 2/(4 · 15) = 0.8. Of 24 orders
    # those with |rho| ≥ 0.8: Σd² ≤ 2 (1 + 3 neighbours swapped) and, mirrored, ≥ 18: 8 of 24.
    found = spearman([1, 2, 3, 4], [10, 30, 20, 40])
    assert found["rho"] == pytest.approx(0.8)
    assert found["p"] == pytest.approx(8 / 24)
    assert (found["models"], found["exact"]) == (4, True)
    three = spearman([1, 2, 3], [3, 2, 1])
    assert (three["rho"], three["p"]) == (pytest.approx(-1.0), pytest.approx(2 / 6))


def test_spearman_with_ties() -> None:
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
    drawn = spearman(range(9), [2, 1, 4, 3, 6, 5, 8, 7, 9], draws=999)
    again = spearman(range(9), [2, 1, 4, 3, 6, 5, 8, 7, 9], draws=999)
    assert drawn == again

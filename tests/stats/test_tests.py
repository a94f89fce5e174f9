"""The paired t test and Holm's correction, worked out by hand."""

import math

import numpy as np
import pytest

from curation.stats.tests import (
    exact_share_interval,
    holm,
    right_signs,
    sign_test,
    t_test,
    term_means,
)


def test_t_test_by_hand() -> None:
    # Mean 2, standard error 1/√3: t = 3.4641, whose p with two degrees of freedom is
    # 1 − t/√(t² + 2) = 1 − 3.4641/√14.
    assert t_test(np.array([1.0, 2.0, 3.0])) == pytest.approx(1 - math.sqrt(12 / 14))
    assert t_test(np.zeros(4)) == 1.0
    assert t_test(np.full(4, -7.0)) == 2 / 2**4


def test_holm_by_hand() -> None:
    # sorted 0.01, 0.02, 0.03, 0.5: times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.5
    assert holm([0.5, 0.03, 0.01, 0.02]) == pytest.approx([0.5, 0.06, 0.04, 0.06])
    assert holm([0.4, 0.6]) == [0.8, 0.8]  # 2 · 0.4, and 0.6 may not be below it
    assert holm([0.7, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([None]) == [None]


def test_term_means() -> None:
    found = term_means(np.array([1, 0, 1]), np.array([[1.0, 5.0, 3.0], [0.0, 1.0, 1.0]]))
    assert found.tolist() == [[5.0, 1.0], [2.0, 0.5]]


def test_signs_by_hand() -> None:
    assert sign_test(7, 8) == pytest.approx(9 / 256)  # eight orders with one wrong, one without
    assert sign_test(0, 8) == 1.0
    assert sign_test(0, 0) == 1.0
    assert [right_signs(n) for n in (4, 5, 7, 8, 20)] == [None, 5, 7, 7, 15]


@pytest.mark.parametrize("n", [5, 8, 13])
def test_the_interval_of_signs_fits_their_test(n: int) -> None:
    for right in range(n + 1):
        low, high = exact_share_interval(right, n, confidence=0.9)
        assert (low > 0.5) == (sign_test(right, n) < 0.05)
        assert low <= right / n <= high
    assert exact_share_interval(0, 8, confidence=0.9)[1] == pytest.approx(1 - 0.05 ** (1 / 8))

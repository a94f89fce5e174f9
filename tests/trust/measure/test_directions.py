"""The direction between two groups, with pairs whose components are known."""

import numpy as np
import pytest

from curation.trust.measure.prior import alignment, centred_rows, direction, principal

# Differences (4, 1), (4, -1), (4, 0): the mean is (4, 0), and what differs is the second axis.
SECOND = np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 2.0]])
FIRST = SECOND + np.array([[4.0, 1.0], [4.0, -1.0], [4.0, 0.0]])


def test_centring_pairs_finds_the_difference_and_centring_differences_removes_it() -> None:
    for centring in ("pairs", "uncentred"):
        assert direction(FIRST, SECOND, centring) == pytest.approx([1, 0])  # type: ignore[arg-type]
    assert np.abs(direction(FIRST, SECOND, "differences")) == pytest.approx([0, 1])
    assert alignment(FIRST, SECOND) == pytest.approx(1)
    assert alignment(FIRST, SECOND, "differences") == pytest.approx(0, abs=1e-12)


def test_rows_of_pairs_have_the_squares_of_words_minus_their_pairs_mean() -> None:
    # Each word is half a difference from its pair's mean: (2, .5), (-2, -.5) and so on.
    middle = (FIRST + SECOND) / 2
    words = np.concatenate([FIRST - middle, SECOND - middle])
    rows = centred_rows(FIRST, SECOND)
    np.testing.assert_allclose(rows.T @ rows, words.T @ words, atol=1e-12)


def test_a_direction_points_to_the_first_group() -> None:
    there, back = direction(FIRST, SECOND), direction(SECOND, FIRST)
    assert there == pytest.approx(-back)
    assert there @ (FIRST - SECOND).mean(axis=0) > 0


def test_one_pair_has_a_direction_but_no_centred_difference() -> None:
    assert direction(FIRST[:1], SECOND[:1]) == pytest.approx(np.array([4, 1]) / np.sqrt(17))
    assert np.isnan(direction(FIRST[:1], SECOND[:1], "differences")).all()
    assert alignment(FIRST[:1], SECOND[:1], "differences") is None
    assert np.isnan(direction(FIRST[:0], SECOND[:0])).all()
    assert np.isnan(direction(FIRST, FIRST)).all()


def test_there_are_no_more_components_than_the_rows_span() -> None:
    found = principal(np.array([[3.0, 0, 0], [0, 1, 0]]), 5)
    assert np.abs(found.axes) == pytest.approx(np.eye(3)[:2])
    assert found.shares == pytest.approx([0.9, 0.1])  # 9 and 1 of 10
    assert len(principal(np.zeros((2, 3)), 1).axes) == 0

"""Soft debiasing reaches the minimum of its objective, from the published form."""

import numpy as np
import pytest
from scipy.optimize import minimize

from curation.trust.measure.cosine import unit
from curation.trust.measure.debias import soft_map
from curation.trust.measure.framework import Floats

RNG = np.random.default_rng(1)
WORDS = unit(RNG.normal(size=(30, 4)) + np.array([0.8, 0, 0, 0]))
NEUTRAL = WORDS[:20]
AXES = unit(np.array([[1.0, 0.5, 0.0, 0.0]]))


def objective(change: Floats, weight: float) -> float:
    """As Bolukbasi et al. write it, with words as columns."""
    w, n, b = WORDS.T, NEUTRAL.T, AXES.T
    first = (change @ w).T @ (change @ w) - w.T @ w
    second = (change @ n).T @ (change @ b)
    return float((first**2).sum() + weight * (second**2).sum())


def solved(weight: float) -> Floats:
    found = soft_map(WORDS.T @ WORDS, NEUTRAL.T @ NEUTRAL, AXES, weight=weight)
    assert found.converged
    assert found.before == pytest.approx(objective(np.eye(4), weight))
    assert found.after == pytest.approx(objective(found.map, weight))
    return found.map


@pytest.mark.parametrize("weight", [0.2, 5, 200])
def test_no_other_map_has_a_lower_objective(weight: float) -> None:
    found = solved(weight)
    start = np.eye(4) + 0.1 * np.random.default_rng(2).normal(size=(4, 4))
    other = minimize(
        lambda flat: objective(flat.reshape(4, 4), weight), start.ravel(), options={"gtol": 1e-7}
    )
    assert objective(found, weight) == pytest.approx(other.fun, rel=1e-5)
    # The map itself is free up to a rotation, its products are not.
    change = other.x.reshape(4, 4)
    np.testing.assert_allclose(found.T @ found, change.T @ change, atol=2e-3)


def test_the_map_is_symmetric_and_a_weight_of_0_changes_nothing() -> None:
    found = solved(5)
    np.testing.assert_allclose(found, found.T)
    np.testing.assert_allclose(solved(0), np.eye(4), atol=1e-9)


def test_more_weight_leaves_less_bias() -> None:
    left = [
        np.abs(unit(NEUTRAL @ change) @ (change @ AXES[0])).mean()
        for change in map(solved, (0, 0.2, 5, 200))
    ]
    assert left == sorted(left, reverse=True)
    assert left[-1] < left[0] / 5


def test_dimensions_that_no_word_uses_stay_as_they_are() -> None:
    def wider(rows: Floats) -> Floats:
        return np.pad(rows, ((0, 0), (0, 2)))

    words, neutral, axes = wider(WORDS), wider(NEUTRAL), wider(AXES)
    found = soft_map(words.T @ words, neutral.T @ neutral, axes, weight=5)
    expected = np.eye(6)
    expected[:4, :4] = solved(5)
    np.testing.assert_allclose(found.map, expected, atol=1e-9)


def test_with_many_words_the_published_weight_changes_next_to_nothing() -> None:
    # The first part of the objective grows with the square of the number of words.
    few, many = (
        soft_map(n * WORDS.T @ WORDS, n * NEUTRAL.T @ NEUTRAL, AXES).map for n in (1, 1000)
    )
    assert np.abs(few - np.eye(4)).max() > 100 * np.abs(many - np.eye(4)).max()

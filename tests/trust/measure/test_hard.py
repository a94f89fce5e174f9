"""Hard debiasing, with vectors whose values can be computed by hand."""

from math import sqrt

import numpy as np
import pytest

from curation.trust.measure.cosine import unit
from curation.trust.measure.debias import equalise, neutralise, subspace, without
from curation.trust.measure.prior import bolukbasi

FIRST = np.array([[1.0, 0.0, 0.0]])  # a subspace: the first axis


def test_a_neutral_word_loses_its_part_and_keeps_length_1() -> None:
    rows = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    # A word wholly in the subspace has nothing left, so it has no direction.
    expected = [[0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(neutralise(rows, FIRST), expected, atol=1e-12)


def test_a_pair_becomes_equal_but_for_its_side() -> None:
    # The mean is (.1, .7, .1); without the first axis (0, .7, .1), of squared length .5. So each
    # word has √.5 on the first axis, on its own side of the mean.
    pair = np.array([[0.8, 0.6, 0.0], [-0.6, 0.8, 0.2]])
    side = sqrt(0.5)
    np.testing.assert_allclose(
        equalise(pair, FIRST), [[side, 0.7, 0.1], [-side, 0.7, 0.1]], atol=1e-12
    )


def test_a_set_in_which_a_word_has_no_side_is_not_equalised() -> None:
    assert equalise(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), FIRST) is None


def test_after_equalising_a_neutral_word_is_as_near_to_all_words_of_a_set() -> None:
    rng = np.random.default_rng(1)
    sets = unit(rng.normal(size=(4, 3, 6)))  # four sets of three words
    axes = subspace(sets, 2).axes
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)
    word = neutralise(unit(rng.normal(size=(1, 6))), axes)[0]
    for members in sets:
        changed = equalise(members, axes)
        np.testing.assert_allclose(np.linalg.norm(changed, axis=1), 1)
        np.testing.assert_allclose(changed @ word, np.mean(changed @ word))


def test_neutral_words_have_no_direct_bias() -> None:
    rng = np.random.default_rng(2)
    first, second, words = unit(rng.normal(size=(3, 5, 8)))
    axes = subspace(np.stack([first, second], axis=1), 1).axes
    left = neutralise(words, axes)
    np.testing.assert_allclose(bolukbasi(left, first, second), 0, atol=1e-12)
    assert np.abs(bolukbasi(words, first, second)).max() > 0.1


def test_two_dimensions_take_more_away_than_one() -> None:
    sets = unit(np.random.default_rng(3).normal(size=(4, 3, 6)))
    two = subspace(sets, 2)
    one = subspace(sets, 1)
    np.testing.assert_allclose(np.abs(one.axes @ two.axes[0]), 1)
    assert two.shares.sum() > one.shares.sum()
    word = unit(np.ones(6))
    assert np.linalg.norm(without(word, two.axes)) < np.linalg.norm(without(word, one.axes))
    assert unit(np.zeros(3)) == pytest.approx(np.zeros(3))

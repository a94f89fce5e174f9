"""Debiasing in blocks, and what is done with words that are kept, equalised or missing."""

import numpy as np
import pytest

from curation.files import CurationError
from curation.trust.debias.methods import (
    equalised,
    group_subspace,
    hard_blocks,
    mapped_blocks,
    soft_of_blocks,
)
from curation.trust.debias.subspace import unit
from curation.trust.groups import Groups
from curation.trust.vectors.reading import Vectors

RNG = np.random.default_rng(1)
NAMES = ["she", "he", "Aunt", "uncle", "baker", "lady", "nothing"]
ARRAY = RNG.normal(size=(7, 5)).astype(np.float32)
ARRAY[6] = 0
BLOCKS = [(NAMES[:4], ARRAY[:4]), (NAMES[4:], ARRAY[4:])]
# As read for the words she, aunt, he, uncle: the file has "Aunt".
VECTORS = Vectors(("she", "he", "aunt", "uncle"), ARRAY[:4], {"aunt": "Aunt"}, ("lass",))
GROUPS = Groups("gender", {"f": ("she", "aunt", "lass"), "m": ("he", "uncle", "lad")}, {})


def test_hard_debiasing_in_blocks() -> None:
    space, used = group_subspace(GROUPS, VECTORS, 1)
    assert used == 2
    made = equalised(VECTORS, [("she", "he"), ("aunt", "uncle"), ("lass", "lad")], space.axes)
    assert set(made.rows) == {"she", "he", "Aunt", "uncle"}
    assert made.missing == (("lass", "lad"),)
    done = list(hard_blocks(BLOCKS, space.axes, {"lady"}, made.rows))
    assert [words for words, _ in done] == [NAMES[:4], NAMES[4:]]
    rows = dict(zip(NAMES, np.concatenate([block for _, block in done]), strict=True))
    assert all(row.dtype == np.float32 for row in rows.values())
    np.testing.assert_allclose(rows["she"], made.rows["she"], rtol=1e-6)
    np.testing.assert_allclose(rows["lady"], unit(ARRAY[5]), rtol=1e-6)  # kept
    assert abs(space.axes[0] @ rows["baker"]) < 1e-6
    assert not rows["nothing"].any()
    for left, right in (("she", "he"), ("Aunt", "uncle")):
        assert rows["baker"] @ rows[left] == pytest.approx(rows["baker"] @ rows[right], abs=1e-6)


def test_soft_debiasing_in_blocks_does_not_depend_on_the_blocks() -> None:
    space, _ = group_subspace(GROUPS, VECTORS, 1)
    one = soft_of_blocks([(NAMES, ARRAY)], space.axes, {"she", "he"}, weight=5)
    two = soft_of_blocks(BLOCKS, space.axes, {"she", "he"}, weight=5)
    np.testing.assert_allclose(one.map, two.map, atol=1e-9)
    assert one.after < one.before
    (_, first), _ = mapped_blocks(BLOCKS, one.map)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=1e-6)


def test_a_subspace_that_the_words_do_not_span() -> None:
    with pytest.raises(CurationError, match=r"\[groups.gender\].*span 2 dimensions, not 3"):
        group_subspace(GROUPS, VECTORS, 3)
    lists = {"f": ("lass", "she"), "m": ("he", "lad")}
    with pytest.raises(CurationError, match="no words at the same place of all lists"):
        group_subspace(Groups("gender", lists, {}), VECTORS, 1)

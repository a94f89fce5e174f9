"""Debiasing in blocks, and what is done with words that are kept, equalised or missing."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from curation.formats.word_vectors import Vectors
from curation.trust.measure import debias
from curation.trust.measure.cosine import unit
from curation.trust.measure.framework import Policies
from curation.trust.measure.groups import Groups
from support.expected import fails

RNG = np.random.default_rng(1)
NAMES = ["she", "he", "Aunt", "uncle", "baker", "lady", "nothing"]
ARRAY = RNG.normal(size=(7, 5)).astype(np.float32)
ARRAY[6] = 0
BLOCKS = [(NAMES[:4], ARRAY[:4]), (NAMES[4:], ARRAY[4:])]
# As read for the words she, aunt, he, uncle: the file has "Aunt".
VECTORS = Vectors(("she", "he", "aunt", "uncle"), ARRAY[:4], {"aunt": "Aunt"}, ("lass",))
GROUPS = Groups("gender", {"f": ("she", "aunt", "lass"), "m": ("he", "uncle", "lad")}, {})


def test_hard_debiasing_in_blocks() -> None:
    space, sets = debias.group_subspace(GROUPS, VECTORS, 1)
    assert sets == [("she", "he"), ("aunt", "uncle")]
    made = debias.equalise_sets(
        VECTORS, [("she", "he"), ("aunt", "uncle"), ("lass", "lad")], space.axes
    )
    assert set(made.rows) == {"she", "he", "Aunt", "uncle"}
    assert made.missing == [("lass", "lad")]
    done = list(debias.hard_blocks(BLOCKS, space.axes, {"lady"}, made.rows))
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
    space, _ = debias.group_subspace(GROUPS, VECTORS, 1)
    one = debias.soft_of_blocks([(NAMES, ARRAY)], space.axes, {"she", "he"}, weight=5)
    two = debias.soft_of_blocks(BLOCKS, space.axes, {"she", "he"}, weight=5)
    np.testing.assert_allclose(one.map, two.map, atol=1e-9)
    assert one.after < one.before
    (_, first), _ = debias.mapped_blocks(BLOCKS, one.map)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=1e-6)


def test_words_that_were_fitted_are_held_out() -> None:
    words = ("rose", "She", "beetle", "he", "baker", "potter", "king", "smith")
    rows = np.array([[1, 0], [9, -1], [0, 1], [1, 9], [3, 4], [4, 3], [1, 5], [0, 2]], np.float32)
    before = Vectors(words, rows, {"She": "she"})
    changed = rows.copy()
    changed[[1, 3, 4, 6]] = [[1, 1], [1, 1], [2, 2], [1, 1]]  # she, he, baker, king
    after = Vectors(words[:-1], changed[:-1], {"She": "she"})
    lists = {"a": ("rose", "She"), "b": ("beetle", "he")}
    targets = {name: (name,) for name in ("baker", "potter", "king", "smith")}
    groups = Groups("judge", lists, targets)
    find = partial(debias.held_out, before, after, policies=Policies(), confidence=0.95)
    found = find(["he", "king", "she"], groups)
    # With rose and beetle only, L1 of baker is |.6 - .8| / 1.4 = 1/7 before and 0 after; potter's
    # stays 1/7. Smith has no vector after, and king was fitted.
    # The changes -1/7 and 0 have the mean -1/14 and the error 1/14; t with one degree of freedom.
    assert found.value == pytest.approx(-1 / 14)
    assert found.ci == pytest.approx((-1 / 14 - 12.7062 / 14, -1 / 14 + 12.7062 / 14), rel=1e-4)
    assert found.p == pytest.approx(0.5)
    assert (found.n, found.unit, found.check) == (2, "targets", "held_out")
    assert (
        "of 4 group words 2, and of 4 targets 2 have a vector and were not fitted" in found.detail
    )
    one = find(["he", "king", "she"], replace(groups, targets={"baker": ("baker",)}))
    assert (one.n, one.ci, one.p) == (1, None, None)
    none = find(["he", "beetle"], groups)
    assert (none.value, none.n) == (None, 0)
    assert "no word of «b» is left to judge with: the method was fitted on 2 words" in none.detail
    none = find(["he", "king"], replace(groups, targets={"king": ("king",)}))
    assert "no target is left to judge with" in none.detail
    two = {"smith": ("smith",), "potter": ("potter",)}
    none = find(["he"], replace(groups, targets=two, references={}))
    assert "no target has a result before and after" in none.detail


def test_a_subspace_that_the_words_do_not_span() -> None:
    with fails("[groups.gender]", "span 2 dimensions, not 3"):
        debias.group_subspace(GROUPS, VECTORS, 3)
    lists = {"f": ("lass", "she"), "m": ("he", "lad")}
    with fails("no words at the same place of all lists"):
        debias.group_subspace(Groups("gender", lists, {}), VECTORS, 1)

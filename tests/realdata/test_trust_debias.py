"""The values of docs/trust.md, Debiasing: 100 professions in 226 vectors of GoogleNews."""

from dataclasses import replace

import numpy as np
import pytest

from curation.formats.word_vectors import Vectors
from curation.trust.measure import debias
from curation.trust.measure.debias import Method, compare
from curation.trust.measure.framework import Policies
from curation.trust.measure.groups import Groups
from support import gnews

pytestmark = gnews.MARKS


def debiased(groups: Groups, method: Method, weight: float) -> Vectors:
    vectors = gnews.vectors()
    space, _ = debias.group_subspace(groups, vectors, len(groups.words) - 1)
    kept = vectors.spelled(word for own in groups.words.values() for word in own)
    whole = [(list(vectors.words), vectors.array)]
    if method == "soft":
        soft = debias.soft_of_blocks(whole, space.axes, kept, weight=weight)
        ((_, rows),) = debias.mapped_blocks(whole, soft.map)
    else:
        made = debias.equalise_sets(vectors, zip(*groups.words.values(), strict=False), space.axes)
        ((_, rows),) = debias.hard_blocks(whole, space.axes, kept, made.rows)
    return replace(vectors, array=rows)


@pytest.mark.parametrize(
    ("method", "weight", "race", "expected"),
    [
        ("hard", 0, False, (0.0797, 0, 0.171, 0)),
        ("soft", 0.2, False, (0.0797, 0.0733, 0.171, 0.159)),
        ("soft", 10, False, (0.0797, 0.0113, 0.171, 0.057)),
        ("multiclass", 0, True, (0.0486, 0.0474, 0.302, 0.059)),
        ("soft", 0.2, True, (0.0486, 0.0486, 0.302, 0.293)),
    ],
)
def test_the_table_of_debiasing(
    method: Method, weight: float, race: bool, expected: tuple[float, ...]
) -> None:
    words = gnews.paper_lists(*gnews.RACES) if race else gnews.CODE
    groups = gnews.groups(words, gnews.gender())
    after = debiased(groups, method, weight)
    changes = compare(groups, gnews.vectors(), after, Policies(), method=method)
    (targeted,) = [each for each in changes if each.targeted]
    ours = changes[-1]
    found = [targeted.before, targeted.after, ours.before, ours.after]
    assert found == pytest.approx(expected, abs=0.0006)


@pytest.mark.parametrize(("method", "direct", "l1"), [("hard", 0, 0.028), ("soft", 0.081, 0.127)])
def test_measured_with_other_words(method: Method, direct: float, l1: float) -> None:
    after = debiased(gnews.groups(gnews.CODE, gnews.gender()), method, 10)
    twenty = gnews.groups(gnews.paper_lists("female", "male"), gnews.gender())
    bolukbasi, _, ours = compare(twenty, gnews.vectors(), after, Policies(), method=method)
    found = [bolukbasi.before, bolukbasi.after, ours.before, ours.after]
    assert found == pytest.approx([0.082, direct, 0.180, l1], abs=0.0006)
    assert np.linalg.norm(after.rows(["nurse"])) == pytest.approx(1, abs=1e-5)

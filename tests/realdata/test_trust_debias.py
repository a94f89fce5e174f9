"""The values of docs/trust.md, Debiasing: 100 professions in 226 vectors of GoogleNews."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from curation.formats.word_vectors import Vectors, read_vectors
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.vectors.debias import (
    Method,
    compare,
    equalised,
    group_subspace,
    hard_blocks,
    mapped_blocks,
    soft_of_blocks,
)
from support.cats import REAL

DATA = REAL.parent / "divdist"
LISTS = Path(__file__).parents[2] / "data" / "groups"
pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"the data of DivDist is not at {DATA}"),
]
SEVEN = {
    "female": ("woman", "girl", "she", "mother", "daughter", "female", "herself"),
    "male": ("man", "boy", "he", "father", "son", "male", "himself"),
}


def of_paper(*names: str) -> dict[str, tuple[str, ...]]:
    lines = {name: (LISTS / f"{name}.txt").read_text("utf-8").splitlines() for name in names}
    return {name: tuple(x for x in own if not x.startswith("#")) for name, own in lines.items()}


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return read_vectors(DATA / "w2v_gnews_subset" / "w2v_gnews_subset.npz")


@pytest.fixture(scope="module")
def professions(vectors: Vectors) -> dict[str, tuple[str, ...]]:
    path = DATA / "garg2018" / "occupation_percentages_gender_occ1950.csv"
    with path.open(encoding="utf-8", newline="") as file:
        names = [r["Occupation"] for r in csv.DictReader(file) if r["Census year"] == "2010"]
    return {name: (name,) for name in vectors.known(names)}


def debiased(vectors: Vectors, groups: Groups, method: Method, weight: float = 0.2) -> Vectors:
    space, _ = group_subspace(groups, vectors, len(groups.words) - 1)
    kept = vectors.spelled(word for own in groups.words.values() for word in own)
    whole = [(list(vectors.words), vectors.array)]
    if method == "soft":
        soft = soft_of_blocks(whole, space.axes, kept, weight=weight)
        ((_, rows),) = mapped_blocks(whole, soft.map)
    else:
        made = equalised(vectors, zip(*groups.words.values(), strict=False), space.axes)
        ((_, rows),) = hard_blocks(whole, space.axes, kept, made.rows)
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
    vectors: Vectors,
    professions: dict[str, tuple[str, ...]],
    method: Method,
    weight: float,
    race: bool,
    expected: tuple[float, ...],
) -> None:
    words = of_paper("white", "hispanic", "asian") if race else SEVEN
    groups = Groups("groups", words, professions)
    after = debiased(vectors, groups, method, weight)
    changes = compare(groups, vectors, after, Policies(), method=method)
    (targeted,) = [each for each in changes if each.targeted]
    ours = changes[-1]
    found = [targeted.before, targeted.after, ours.before, ours.after]
    assert found == pytest.approx(expected, abs=0.0006)


@pytest.mark.parametrize(("method", "direct", "l1"), [("hard", 0, 0.028), ("soft", 0.081, 0.127)])
def test_measured_with_other_words(
    vectors: Vectors,
    professions: dict[str, tuple[str, ...]],
    method: Method,
    direct: float,
    l1: float,
) -> None:
    after = debiased(vectors, Groups("seven", SEVEN, professions), method, 10)
    twenty = Groups("twenty", of_paper("female", "male"), professions)
    changes = compare(twenty, vectors, after, Policies(), method=method)
    bolukbasi, _, ours = changes
    assert bolukbasi.before == pytest.approx(0.082, abs=0.0006)
    assert bolukbasi.after == pytest.approx(direct, abs=0.0006)
    assert ours.before == pytest.approx(0.180, abs=0.0006)
    assert ours.after == pytest.approx(l1, abs=0.0006)
    assert np.linalg.norm(after.rows(["nurse"])) == pytest.approx(1, abs=1e-5)

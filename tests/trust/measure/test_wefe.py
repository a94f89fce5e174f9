"""Measures and debiased vectors equal those of wefe, where it computes the same.

wefe needs an older numpy than ours: ``support/wefe_process.py`` runs in an environment of its own
and answers requests. The environment takes about 700 MB; ``$CURATION_WEFE`` names the python of
another that has wefe.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.trust.measure.cosine import unit
from curation.trust.measure.debias import equalise, neutralise, subspace
from curation.trust.measure.framework import Floats
from curation.trust.measure.prior import garg_cosine, garg_euclidean, mac, ripa, weat
from support import environments
from support.environments import Process

pytestmark = pytest.mark.environment
SCRIPT = Path(__file__).parents[2] / "support" / "wefe_process.py"
FIRST = ("she", "aunt", "niece", "queen", "actress")
SECOND = ("he", "uncle", "nephew", "king", "actor")
THIRD = ("they", "cousin", "sibling", "monarch", "performer")
X = ("rose", "tulip", "daisy", "lily", "iris", "violet")
Y = ("beetle", "moth", "wasp", "ant", "gnat", "flea")
RNG = np.random.default_rng(7)
# Directions between the groups, so that there is something to find.
SIDES = dict(zip((*FIRST, *SECOND, *THIRD, *X), [0] * 5 + [1] * 5 + [2] * 5 + [0] * 6, strict=True))
VECTORS = {
    word: (RNG.normal(size=12) + 1.5 * np.eye(12)[SIDES.get(word, 11)]).astype(np.float32)
    for word in (*FIRST, *SECOND, *THIRD, *X, *Y)
}
SENT = {word: vector.tolist() for word, vector in VECTORS.items()}


@pytest.fixture(scope="module")
def wefe() -> Iterator[Process]:
    python = environments.python("wefe", ("wefe==1.0.1",), named="CURATION_WEFE")
    with Process([python, "-P", SCRIPT], {"TQDM_DISABLE": "1"}) as process:
        yield process


def rows(words: tuple[str, ...]) -> Floats:
    return np.array([VECTORS[word] for word in words], float)


def theirs(
    wefe: Process, name: str, targets: list[Any], attributes: list[Any], **options: Any
) -> Any:
    request = {"name": name, "vectors": SENT, "targets": targets, "attributes": attributes}
    answer = wefe.ask({"do": "measure", **request, "options": options})
    assert "raised" not in answer, answer
    return answer


def test_weat(wefe: Process) -> None:
    found = theirs(wefe, "WEAT", [X, Y], [FIRST, SECOND])
    own = weat(rows(X), rows(Y), rows(FIRST), rows(SECOND), seed=1)
    assert own.statistic == pytest.approx(found["weat"], rel=1e-5)
    assert own.effect_size_population == pytest.approx(found["effect_size"], rel=1e-5)


def test_the_p_value_of_weat_is_near(wefe: Process) -> None:
    # wefe draws words with replacement, from no seed, and counts only larger statistics: its p is
    # near that of the permutation test, but not the same.
    options = {"calculate_p_value": True, "p_value_iterations": 400}
    p = theirs(wefe, "WEAT", [X, Y], [FIRST, SECOND], **options)["p_value"]
    own = weat(rows(X), rows(Y), rows(FIRST), rows(SECOND), seed=1)
    assert own.exact
    assert p == pytest.approx(own.p, abs=0.02 + 4 * np.sqrt(own.p / 400))


@pytest.mark.parametrize("normalised", [False, True])
def test_garg_is_rnd_with_the_other_sign(wefe: Process, normalised: bool) -> None:
    groups = [rows(FIRST), rows(SECOND), rows(X)]
    first, second, targets = map(unit, groups) if normalised else groups
    found = theirs(wefe, "RND", [FIRST, SECOND], [X], normalize=normalised)
    # The cosine is no distance, so it has our sign.
    cosine = theirs(wefe, "RND", [FIRST, SECOND], [X], normalize=normalised, distance="cos")
    for own, table, sign in ((garg_euclidean, found, -1), (garg_cosine, cosine, 1)):
        values = [sign * table["distance_by_word"][word] for word in X]
        assert own(targets, first, second) == pytest.approx(values, abs=1e-5)


def test_mac(wefe: Process) -> None:
    found = theirs(wefe, "MAC", [X], [FIRST, SECOND[:3]])
    groups = [rows(FIRST), rows(SECOND[:3])]
    assert mac(rows(X), *groups) == pytest.approx(found["mac"], rel=1e-5)


def test_ripa_of_single_pairs_has_wefes_mean(wefe: Process) -> None:
    found = theirs(wefe, "RIPA", [FIRST, SECOND], [X])
    pairs = zip(rows(FIRST), rows(SECOND), strict=True)
    own = np.mean([ripa(rows(X), first[None], second[None]) for first, second in pairs], axis=0)
    assert own == pytest.approx([found["word_values"][word]["mean"] for word in X], abs=1e-5)


def debiased(wefe: Process, name: str, fit: dict[str, Any], **options: Any) -> dict[str, Floats]:
    request = {"name": name, "vectors": SENT, "fit": fit, "options": options}
    answer = wefe.ask({"do": "debias", **request})
    assert "raised" not in answer, answer
    return {word: np.array(vector) for word, vector in answer.items()}


def test_hard_debiasing(wefe: Process) -> None:
    pairs = list(zip(FIRST, SECOND, strict=True))
    found = debiased(wefe, "HardDebias", {"definitional_pairs": pairs}, dimensions=1)
    sets = unit(np.stack([rows(FIRST), rows(SECOND)], axis=1))
    axes = subspace(sets, 1).axes
    for word, row in zip(X, neutralise(unit(rows(X)), axes), strict=True):
        np.testing.assert_allclose(row, found[word], atol=1e-5)
    for words, members in zip(pairs, sets, strict=True):
        changed = equalise(members, axes)
        for word, row in zip(words, changed, strict=True):
            # wefe divides by the length that a word had before it was equalised.
            np.testing.assert_allclose(row, unit(found[word]), atol=1e-5)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_multiclass_hard_debiasing(wefe: Process, dimensions: int) -> None:
    sets = list(zip(FIRST, SECOND, THIRD, strict=True))
    fit = {"definitional_sets": sets, "equalize_sets": sets}
    found = debiased(wefe, "MulticlassHardDebias", fit, dimensions=dimensions)
    members = unit(np.stack([rows(FIRST), rows(SECOND), rows(THIRD)], axis=1))
    axes = subspace(members, dimensions).axes
    for word, row in zip((*X, *Y), neutralise(unit(rows((*X, *Y))), axes), strict=True):
        np.testing.assert_allclose(row, found[word], atol=1e-5)
    for number, place in product(range(len(sets)), range(3)):
        changed = equalise(members[number], axes)
        np.testing.assert_allclose(changed[place], found[sets[number][place]], atol=1e-5)

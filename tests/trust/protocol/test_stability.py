"""Content, sensitivity and split half, from measures that are computed again."""

from dataclasses import replace
from typing import Any

import numpy as np

from curation.campaign.settings import TrustSettings
from curation.files import CurationError
from curation.records import Bias, Criterion, Evidence
from curation.trust.measure import again as evidenced
from curation.trust.measure.again import Again, stability
from curation.trust.measure.framework import DEFAULT, Policies
from curation.trust.measure.groups import Groups
from curation.trust.protocol.cases import MeasureRun
from curation.trust.protocol.table import measure_criteria
from support import biases
from support.biases import GENDER, TARGETS

COUNTS = {
    target: {"she": place + 1, "woman": 2 * place, "he": 9 - place, "man": 7, "boy": 1}
    for place, target in enumerate(TARGETS)
}


THREE = replace(GENDER, words={"one": ("she", "woman"), "two": ("he",), "three": ("man", "boy")})
VECTORS = biases.made_vectors(GENDER)
COSINES, COUNTED = biases.cosine_measure(VECTORS), biases.count_measure(COUNTS)


def evidence(again: Again, groups: Groups = GENDER) -> dict[str, Evidence]:
    found = stability(again, groups, DEFAULT, draws=20, seed=3)
    return {f"{each.criterion} {each.check}": each for each in found}


def results(
    again: Again, groups: Groups = GENDER, *, name: str = "vectors", known: bool = True, **how: Any
) -> dict[str, Criterion]:
    """The rows of a run, with its evidence or from its results alone, under some policies."""
    policies = Policies(**how)
    found = tuple(stability(again, groups, DEFAULT, draws=20, seed=3)) if known else ()
    own = tuple(again(groups, policies))
    run = MeasureRun(f"{name}/made", name, "gender", own, found, policies)
    rows = measure_criteria([run], {"gender": groups}, TrustSettings(), seed=1)
    return {f"{row.criterion} {row.check}": row for row in rows}


def statuses(again: Again, measure: str = "vectors") -> dict[str, str]:
    return {check: row.status for check, row in results(again, name=measure).items()}


def structure(again: Again, groups: Groups) -> set[float | None]:
    """The values of the checks of content."""
    found = evidence(again, groups)
    return {each.value for name, each in found.items() if name.startswith("content")}


def test_a_divdist_measure_has_the_structure_of_bias() -> None:
    found = evidence(COSINES)
    for check in ("swap", "simplex", "permutation", "zero", "reference", "groups"):
        assert (found[f"content {check}"].value, found[f"content {check}"].n) == (1.0, 8)
    own = statuses(COSINES)
    assert {status for name, status in own.items() if name.startswith("content")} == {"holds"}
    # The same for counts, references and three groups.
    shares = dict.fromkeys(TARGETS, (0.25, 0.75))
    assert structure(COUNTED, replace(GENDER, references=shares)) == {1.0}
    assert structure(COUNTED, THREE) == {1.0}


def test_adding_the_groups_fails_content() -> None:
    manzini, caliskan = (
        biases.prior_measure(VECTORS, value) for value in (biases.manzini, biases.caliskan)
    )
    assert evidence(manzini)["content swap"].value == -1.0
    own = statuses(manzini, "manzini")
    assert (own["content swap"], own["content distribution"]) == ("fail", "not_applicable")
    assert evidence(caliskan)["content swap"].value == 1.0
    assert statuses(caliskan, "caliskan")["content swap"] == "holds"


def test_a_measure_that_ignores_the_order_or_the_reference_fails() -> None:
    def sized(groups: Groups, policies: Policies) -> list[Bias]:
        """L1 in place of p, and a fixed reference."""
        fixed = replace(groups, references=None)
        sizes = [(b.l1 or 0.0, 1 - (b.l1 or 0.0)) for b in COUNTED(fixed)]
        return [
            b.model_copy(update={"p": own, "signed": (own[0], 0.0)})
            for b, own in zip(COUNTED(fixed), sizes, strict=True)
        ]

    own = statuses(sized, "text-automated")
    names = ("swap", "permutation", "zero", "reference")
    assert [own[f"content {name}"] for name in names] == ["fail"] * 4


def test_antisymmetry_by_hand() -> None:
    assert evidenced.antisymmetry([1, 2], [-1, -2]) == 1.0
    assert evidenced.antisymmetry([1, 0], [0, 1]) == 0.0
    assert evidenced.antisymmetry([0], [0]) is None


def test_words_that_are_not_used_are_found() -> None:
    words = {"female": ("she", "unknown", "woman"), "male": ("he", "man", "nothing")}
    used = evidenced.used_words(evidenced.Measure(COSINES, replace(GENDER, words=words), DEFAULT))
    assert used.words == {"female": ("she", "woman"), "male": ("he", "man")}
    assert (used.sets, used.why, len(used.without)) == (False, "", 4)


def test_pairs_of_words_are_drawn_together() -> None:
    used = evidenced.used_words(
        evidenced.Measure(biases.prior_measure(VECTORS, biases.ripa), GENDER, DEFAULT)
    )
    assert used.sets
    rng = np.random.default_rng(0)
    pairs = set(zip(*GENDER.words.values(), strict=True))
    for _ in range(5):
        assert set(zip(*used.divided(rng, 2)[0].values(), strict=True)) < pairs
        first, second = used.divided(rng)
        assert {*zip(*first.values(), strict=True), *zip(*second.values(), strict=True)} == pairs


def test_lists_are_cut_and_one_word_is_left_out() -> None:
    found = evidence(COSINES)
    cut = found["sensitivity words-3"]
    low, high = cut.ci or (0, 0)
    assert 0.5 < low <= (cut.value or 0) <= high <= 1
    assert (cut.facts["draws"], cut.facts["size"]) == (20, 3)
    five = found["sensitivity words-5"]
    why = "no list has more than 5 words that are used"
    assert (five.value, five.n, five.detail) == (None, 0, why)
    assert found["sensitivity one-word"].facts["words"] == 8
    own = statuses(COSINES)
    assert own["sensitivity words-5"] == own["sensitivity one-word"] == "not_applicable"
    # Lists of one word are not cut.
    alone = replace(GENDER, words={"female": ("she",), "male": ("he",)})
    one = evidence(COUNTED, alone)["sensitivity words-3"]
    assert (one.value, one.detail) == (None, "each list has one word")


def test_l2_says_nothing_for_two_groups_and_softmax_nothing_for_counts() -> None:
    found = results(COUNTED, known=False)
    assert (found["sensitivity l2"].value, found["sensitivity l2"].n) == (None, 0)
    softmax = found["sensitivity normalisation:of-counts"]
    assert "keeps little but which count is larger" in softmax.computed
    assert (softmax.status, softmax.value is not None) == ("not_applicable", True)
    own = statuses(COUNTED, "text-automated")
    assert own["sensitivity l2"] == own["sensitivity negative"] == "not_applicable"
    assert results(COUNTED, THREE, known=False)["sensitivity l2"].value


def test_softmax_has_the_ranks_of_the_difference_of_cosines() -> None:
    softmax = [b.signed[0] for b in COSINES(GENDER, Policies("softmax")) if b.signed]
    gaps = [(b.soa[0] or 0) - (b.soa[1] or 0) for b in COSINES(GENDER, DEFAULT)]
    assert np.argsort(softmax).tolist() == np.argsort(gaps).tolist()


def test_negative_strengths_are_compared_under_other_policies() -> None:
    again = biases.cosine_measure(VECTORS | {"pilot": -VECTORS["pilot"]})
    found = results(again, known=False, negative="shift")
    assert found["sensitivity negative:raw"].value is not None
    assert "1 of 8 targets have a negative strength" in found["sensitivity negative:clip"].computed
    same = results(again, known=False)["sensitivity negative:clip"]
    assert (same.status, same.value) == ("not_applicable", None)  # only that target changes


def test_halves_of_the_lists_give_a_reliability() -> None:
    half = evidence(COSINES)["split_half words"]
    low, high = half.ci or (0, 0)
    assert max(low, 0.9) <= (half.value or 0) <= high
    assert (half.n >= 7, (half.p or 1) < 0.05) == (True, True)
    noise = biases.cosine_measure(biases.made_vectors(GENDER, noise=20))
    assert statuses(noise)["split_half words"] != "pass"


def test_of_several_groups_the_one_with_the_least_alike_halves_counts() -> None:
    words = {
        "one": ("she", "woman", "her", "girl"),
        "two": ("he", "man", "him", "boy"),
        "three": ("oak", "elm", "ash", "fir"),
    }
    rng = np.random.default_rng(1)
    counts = {
        target: dict.fromkeys(words["one"], 9 + 3 * place)
        | dict.fromkeys(words["two"], 60 - 3 * place)
        | {word: int(rng.integers(1, 6)) for word in words["three"]}
        for place, target in enumerate(TARGETS)
    }
    again = biases.count_measure(counts)
    half = evidence(again, replace(GENDER, words=words))["split_half words"]
    assert half.facts["group"] == "three"
    low, high = half.ci or (0, 0)
    assert low <= (half.value or 0) <= high


def test_a_measure_of_labels_has_no_lists_to_cut() -> None:
    counts = {t: {"female": p + 1, "male": 9 - p} for p, t in enumerate(TARGETS)}

    def labelled(groups: Groups, policies: Policies) -> list[Bias]:
        if set(groups.names) != {"female", "male"}:
            raise CurationError("people's labels are about other groups", "keep the groups")
        return biases.count_measure(counts)(replace(groups, words={g: (g,) for g in groups.names}))

    own = statuses(labelled, "text-human")
    assert own["content swap"] == own["content permutation"] == own["content zero"] == "holds"
    assert own["content groups"] == "not_applicable"
    for name in ("sensitivity words-3", "sensitivity one-word", "split_half words"):
        assert own[name] == "not_applicable"


def test_a_measure_that_refuses_everything_is_not_applicable() -> None:
    def never(groups: Groups, policies: Policies) -> list[Bias]:
        raise CurationError("no vectors", "give some")

    found = stability(never, GENDER, DEFAULT, draws=5, seed=1)
    assert {(e.value, e.detail) for e in found} == {(None, "no vectors")}


def test_draws_without_a_result_count_as_the_lowest() -> None:
    assert evidenced.quantile([1.0, 0.5, None], 0.5) == 0.5
    assert evidenced.quantile([1.0, None, None], 0.5) is None
    assert evidenced.quantile([], 0.5) is None


def test_the_same_seed_gives_the_same_evidence() -> None:
    assert evidence(COSINES) == evidence(COSINES)

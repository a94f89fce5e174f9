"""Content, sensitivity and split half, from measures that are computed again."""

from dataclasses import replace

import numpy as np
import pytest

from curation.files import CurationError
from curation.records import Bias, Criterion, Evidence
from curation.settings import TrustSettings
from curation.trust.framework import DEFAULT, Policies
from curation.trust.groups import Groups
from curation.trust.protocol.again import (
    Again,
    Measure,
    NotPossibleError,
    antisymmetry,
    quantile,
    stability,
    used_words,
)
from curation.trust.protocol.measures import MeasureRun
from curation.trust.protocol.table import measure_criteria
from support.biases import (
    GENDER,
    TARGETS,
    caliskan,
    cosine_measure,
    count_measure,
    made_vectors,
    manzini,
    prior_measure,
    ripa,
)

COUNTS = {
    target: {"she": place + 1, "woman": 2 * place, "he": 9 - place, "man": 7, "boy": 1}
    for place, target in enumerate(TARGETS)
}


def evidence(again: Again, groups: Groups = GENDER, **options: object) -> dict[str, Evidence]:
    policies = Policies(**options)  # type: ignore[arg-type]
    found = stability(again, groups, policies, draws=20, seed=3)
    return {f"{each.criterion} {each.check}": each for each in found}


def statuses(again: Again, measure: str = "vectors", groups: Groups = GENDER) -> dict[str, str]:
    found = tuple(stability(again, groups, DEFAULT, draws=20, seed=3))
    run = MeasureRun(f"{measure}/made", measure, "gender", tuple(again(groups, DEFAULT)), found)
    return {name: row.status for name, row in rows_of(run, groups).items()}


def rows_of(run: MeasureRun, groups: Groups = GENDER) -> dict[str, Criterion]:
    rows = measure_criteria([run], {"gender": groups}, TrustSettings(), seed=1)
    return {f"{row.criterion} {row.check}": row for row in rows}


def results(again: Again, groups: Groups = GENDER, **options: object) -> dict[str, Criterion]:
    """The rows that follow from a run's results alone, without evidence."""
    policies = Policies(**options)  # type: ignore[arg-type]
    biases = tuple(again(groups, policies))
    run = MeasureRun("vectors/made", "vectors", "gender", biases, policies=policies)
    return rows_of(run, groups)


@pytest.fixture(scope="module")
def vectors() -> dict[str, np.ndarray]:
    return made_vectors(GENDER)


def test_a_divdist_measure_has_the_structure_of_bias(vectors: dict[str, np.ndarray]) -> None:
    found = evidence(cosine_measure(vectors))
    for check in ("swap", "simplex", "permutation", "zero", "reference", "groups"):
        assert (found[f"content {check}"].value, found[f"content {check}"].n) == (1.0, 8)
    own = statuses(cosine_measure(vectors))
    assert {status for name, status in own.items() if name.startswith("content")} == {"holds"}


def test_the_structure_holds_for_counts_references_and_three_groups() -> None:
    shares = dict.fromkeys(TARGETS, (0.25, 0.75))
    found = evidence(count_measure(COUNTS), replace(GENDER, references=shares))
    assert {e.value for n, e in found.items() if n.startswith("content")} == {1.0}
    words = {"one": ("she", "woman"), "two": ("he",), "three": ("man", "boy")}
    found = evidence(count_measure(COUNTS), replace(GENDER, words=words))
    assert {e.value for n, e in found.items() if n.startswith("content")} == {1.0}


def test_adding_the_groups_fails_content(vectors: dict[str, np.ndarray]) -> None:
    found = evidence(prior_measure(vectors, manzini))
    assert found["content swap"].value == -1.0
    own = statuses(prior_measure(vectors, manzini), "manzini")
    assert own["content swap"] == "fail"
    assert own["content distribution"] == "not_applicable"
    assert evidence(prior_measure(vectors, caliskan))["content swap"].value == 1.0
    assert statuses(prior_measure(vectors, caliskan), "caliskan")["content swap"] == "holds"


def test_a_measure_that_ignores_the_order_or_the_reference_fails() -> None:
    def sized(groups: Groups, policies: Policies) -> list[Bias]:
        """L1 in place of p − p0, and a fixed reference."""
        fixed = replace(groups, references=None)
        return [b.model_copy(update={"signed": (b.l1, 0.0)}) for b in count_measure(COUNTS)(fixed)]

    own = statuses(sized, "text-automated")
    names = ("swap", "permutation", "zero", "reference")
    assert [own[f"content {name}"] for name in names] == ["fail"] * 4


def test_antisymmetry_by_hand() -> None:
    assert antisymmetry([1, 2], [-1, -2]) == 1.0
    assert antisymmetry([1, 0], [0, 1]) == 0.0
    assert antisymmetry([0], [0]) is None


def test_words_that_are_not_used_are_found(vectors: dict[str, np.ndarray]) -> None:
    words = {"female": ("she", "unknown", "woman"), "male": ("he", "man", "nothing")}
    groups = replace(GENDER, words=words)
    again = cosine_measure(vectors)
    used = used_words(Measure(again, groups, DEFAULT))
    assert used.words == {"female": ("she", "woman"), "male": ("he", "man")}
    assert (used.sets, used.why, len(used.without)) == (False, "", 4)


def test_pairs_of_words_are_drawn_together(vectors: dict[str, np.ndarray]) -> None:
    again = prior_measure(vectors, ripa)
    used = used_words(Measure(again, GENDER, DEFAULT))
    assert used.sets
    rng = np.random.default_rng(0)
    pairs = set(zip(*GENDER.words.values(), strict=True))
    for _ in range(5):
        assert set(zip(*used.divided(rng, 2)[0].values(), strict=True)) < pairs
        first, second = used.divided(rng)
        assert {*zip(*first.values(), strict=True), *zip(*second.values(), strict=True)} == pairs


def test_lists_are_cut_and_one_word_is_left_out(vectors: dict[str, np.ndarray]) -> None:
    found = evidence(cosine_measure(vectors))
    cut = found["sensitivity words-3"]
    assert cut.value is not None
    assert cut.ci is not None
    assert 0.5 < cut.ci[0] <= cut.value <= cut.ci[1] <= 1
    assert (cut.facts["draws"], cut.facts["size"]) == (20, 3)
    five = found["sensitivity words-5"]
    assert (five.value, five.n, five.detail) == (
        None,
        0,
        "no list has more than 5 words that are used",
    )
    assert found["sensitivity one-word"].facts["words"] == 8
    own = statuses(cosine_measure(vectors))
    assert own["sensitivity words-5"] == "not_applicable"
    assert own["sensitivity one-word"] == "not_applicable"


def test_l2_says_nothing_for_two_groups_and_softmax_nothing_for_counts() -> None:
    found = results(count_measure(COUNTS))
    assert (found["sensitivity l2"].value, found["sensitivity l2"].n) == (None, 0)
    softmax = found["sensitivity normalisation:of-counts"]
    assert "keeps little but which count is larger" in softmax.computed
    assert (softmax.status, softmax.value is not None) == ("not_applicable", True)
    own = statuses(count_measure(COUNTS), "text-automated")
    assert own["sensitivity l2"] == "not_applicable"
    assert own["sensitivity negative"] == "not_applicable"
    words = {"one": ("she", "woman"), "two": ("he",), "three": ("man", "boy")}
    assert results(count_measure(COUNTS), replace(GENDER, words=words))["sensitivity l2"].value


def test_softmax_has_the_ranks_of_the_difference_of_cosines(vectors: dict[str, np.ndarray]) -> None:
    again = cosine_measure(vectors)
    softmax = [b.signed[0] for b in again(GENDER, Policies("softmax")) if b.signed]
    gaps = [(b.soa[0] or 0) - (b.soa[1] or 0) for b in again(GENDER, DEFAULT)]
    assert np.argsort(softmax).tolist() == np.argsort(gaps).tolist()


def test_negative_strengths_are_compared_under_other_policies() -> None:
    vectors = made_vectors(GENDER)
    vectors["pilot"] = -vectors["pilot"]
    found = results(cosine_measure(vectors), negative="shift")
    assert found["sensitivity negative:raw"].value is not None
    clip = found["sensitivity negative:clip"]
    assert "1 of 8 targets have a negative strength" in clip.computed
    same = results(cosine_measure(vectors))["sensitivity negative:clip"]
    assert (same.status, same.value) == ("not_applicable", None)  # only that target changes


def test_halves_of_the_lists_give_a_reliability(vectors: dict[str, np.ndarray]) -> None:
    half = evidence(cosine_measure(vectors))["split_half words"]
    assert half.value is not None
    assert half.ci is not None
    assert half.ci[0] <= half.value <= half.ci[1]
    assert (half.value > 0.9, half.n >= 7, (half.p or 1) < 0.05) == (True, True, True)
    noise = made_vectors(GENDER, noise=20)
    assert statuses(cosine_measure(noise))["split_half words"] != "pass"


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
    half = evidence(count_measure(counts), replace(GENDER, words=words))["split_half words"]
    assert half.facts["group"] == "three"
    assert half.value is not None
    assert half.ci is not None
    assert half.ci[0] <= half.value <= half.ci[1]


def test_a_measure_of_labels_has_no_lists_to_cut() -> None:
    counts = {t: {"female": p + 1, "male": 9 - p} for p, t in enumerate(TARGETS)}

    def labelled(groups: Groups, policies: Policies) -> list[Bias]:
        if set(groups.names) != {"female", "male"}:
            raise NotPossibleError("people's labels are about other groups")
        return count_measure(counts)(replace(groups, words={g: (g,) for g in groups.names}))

    own = statuses(labelled, "text-human")
    assert own["content swap"] == own["content permutation"] == own["content zero"] == "holds"
    assert own["content groups"] == "not_applicable"
    for name in ("sensitivity words-3", "sensitivity one-word", "split_half words"):
        assert own[name] == "not_applicable"


def test_lists_of_one_word_are_not_cut() -> None:
    alone = replace(GENDER, words={"female": ("she",), "male": ("he",)})
    found = evidence(count_measure(COUNTS), alone)["sensitivity words-3"]
    assert (found.value, found.detail) == (None, "each list has one word")


def test_a_measure_that_refuses_everything_is_not_applicable() -> None:
    def never(groups: Groups, policies: Policies) -> list[Bias]:
        raise CurationError("no vectors", "give some")

    found = stability(never, GENDER, DEFAULT, draws=5, seed=1)
    assert {(e.value, e.detail) for e in found} == {(None, "no vectors")}


def test_draws_without_a_result_count_as_the_lowest() -> None:
    assert quantile([1.0, 0.5, None], 0.5) == 0.5
    assert quantile([1.0, None, None], 0.5) is None
    assert quantile([], 0.5) is None


def test_the_same_seed_gives_the_same_evidence(vectors: dict[str, np.ndarray]) -> None:
    first, second = (evidence(cosine_measure(vectors)) for _ in range(2))
    assert first == second

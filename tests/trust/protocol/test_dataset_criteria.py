"""The criteria of a dataset and its scores, on numbers that can be checked by hand."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from curation.campaign.settings import TrustSettings
from curation.kinds import GOLDS
from curation.records import CRITERIA, Cat, Criterion, Status
from curation.stats.agreement import shuffled
from curation.stats.artefacts import Artefact, artefacts
from curation.stats.metrics import icat
from curation.trust.measure.groups import Groups
from curation.trust.measure.human import SHUFFLES
from curation.trust.protocol import cases
from curation.trust.protocol.cases import DatasetInput, PitfallCount, Retest, Scored
from curation.trust.protocol.content import judged
from curation.trust.protocol.reliability import correlation, halves, reliability_interval
from curation.trust.protocol.table import dataset_criteria, obey_controls
from support.judged import INTER, INTRA, by_term, cats, dataset, found, run

TEN = cats(10, 4)
FULL = [100.0] * 40


def rows_of(data: DatasetInput, **settings: object) -> list[Criterion]:
    return dataset_criteria(data, TrustSettings.model_validate({"samples": 20, **settings}), seed=1)


def row_of(data: DatasetInput, check: str, name: str = "", **settings: object) -> Criterion:
    """The row of a check «criterion check», of the subject of this name."""
    criterion, _, check = check.partition(" ")
    return found(rows_of(data, **settings), criterion, check, name)


def of_terms(value: Callable[[int], float]) -> list[float]:
    """A value for each CAT of ``TEN`` from the number of its term."""
    return by_term(10, 4, lambda t, _: value(t))


# --- face ---------------------------------------------------------------------------------------


def test_synthetic_scorers_check_the_software_and_say_so() -> None:
    row = row_of(dataset(TEN), "face synthetic")
    assert (row.subject, row.kind, row.status) == ("dataset", "software", "holds")
    assert (row.value, row.n) == (1.0, 4)


@pytest.mark.parametrize(("base", "status"), [(60, "pass"), (30, "fail"), (46, "inconclusive")])
def test_lms_is_above_chance_by_its_interval_over_terms(base: int, status: str) -> None:
    model = run("m", "r", of_terms(lambda t: base + t), [50.0] * 40)
    row = row_of(dataset(TEN, model), "face meaningful:m")
    assert (row.status, row.value, row.n, row.threshold) == (status, base + 4.5, 10, 50)


def test_known_directions_are_tested_by_signs() -> None:
    """Seven of eight right, four of each direction: p = 9 / 256."""
    ss = by_term(10, 4, lambda t, n: 100.0 if t < 3 or (n == 0 and t < 7) else 0.0)
    data = dataset(TEN, run("m", "r", FULL, ss))
    four = {f"t{t}": "stereotype" if t < 4 else "anti-stereotype" for t in range(8)}

    def known(data: DatasetInput, **others: str) -> Criterion:
        return row_of(replace(data, directions=four | others), "face known-directions")

    row = known(data)
    assert (row.status, row.value, row.n, row.p) == ("pass", 7 / 8, 8, pytest.approx(9 / 256))
    assert "exceptions: t3" in row.computed
    row = known(data, t2="anti-stereotype", t4="stereotype")
    assert (row.status, row.value) == ("inconclusive", 5 / 8)  # as for anchors of a measure
    assert row.change == "2 more right signs of these 8"
    none = row_of(replace(data, directions={}), "face known-directions")
    assert none.status == "not_run"
    unsure = run("m", "r", of_terms(lambda t: 46.0 + t), ss)  # lms may be at chance
    row = known(dataset(TEN, unsure))
    assert (row.status, row.value) == ("inconclusive", 7 / 8)


def test_a_model_that_always_prefers_stereotypes_does_not_pass_by_one_direction() -> None:
    always = run("m", "r", FULL, by_term(10, 4, lambda t, n: 100.0))
    directions = {f"t{t}": "stereotype" for t in range(10)}
    row = row_of(dataset(TEN, always, directions=directions), "face known-directions")
    assert (row.status, row.value, row.p, row.power) == ("inconclusive", 1.0, 1.0, 0.0)
    assert row.change == "4 more for «anti-stereotype»: 4 with a result in each direction"


# --- content ------------------------------------------------------------------------------------


def of_rule(of: Sequence[Cat], value: Callable[[int, int], float], **settings: object) -> Criterion:
    """The row of a rule that gives this score, from the place of a CAT and of its gold label."""
    scores = {
        a.id: float(value(place, GOLDS.index(a.gold)))
        for place, each in enumerate(of)
        for a in each.associations
    }
    data = dataset(of, artefacts=[Artefact("OddLM", "odd words are likelier", scores)])
    return row_of(data, "content artefact:OddLM:intersentence", **settings)


def test_a_rule_without_understanding_that_beats_chance_fails_content() -> None:
    """It prefers the stereotype in three of four CATs: ss 75; the unrelated never: lms 100."""
    row = of_rule(TEN, lambda place, gold: 3 - gold if place % 4 else (2, 3, 1)[gold])
    assert (row.status, row.value, row.n) == ("fail", 100.0, 10)  # lms is farther from chance
    assert row.threshold == 60
    assert "ss 75.0" in row.computed
    assert "odd words" in row.change


def test_a_mirrored_rule_far_below_chance_fails_at_its_own_limit() -> None:
    """The unrelated association is the longest, so that ShortestLM would have an lms of 100."""
    scores = {a.id: float(a.gold == GOLDS[2]) for each in TEN for a in each.associations}
    data = dataset(TEN, artefacts=[Artefact("LongestLM", "longer is likelier", scores)])
    row = row_of(data, "content artefact:LongestLM:intersentence")
    assert (row.status, row.value, row.threshold) == ("fail", 0.0, 40)
    assert "ShortestLM has 100 less these values" in row.computed


def test_an_ss_surely_within_the_margin_passes_also_if_it_is_not_50() -> None:
    def score(place: int, gold: int) -> float:
        likes = place % 60 < 33  # the stereotype, in 55 % of the CATs of each term
        return 3.0 * (place % 2) if gold == 2 else 1.0 + ((gold == 0) == likes)

    row = of_rule(cats(10, 60), score, margin=20)
    assert "ss 55.0 [50." in row.computed
    assert row.status == "pass"
    row = of_rule(cats(10, 60), score, margin=5)
    assert (row.status, row.threshold) == ("fail", 50)


def test_equal_lengths_pass_and_rules_that_cannot_be_used_are_not_run() -> None:
    longest = "content artefact:LongestLM:intersentence"
    row = row_of(dataset(TEN, artefacts=artefacts(TEN, language="xx")), longest, margin=20)
    assert (row.status, row.value) == ("inconclusive", 50.0)  # 40 CATs are few for lms
    many = cats(10, 60)
    data = dataset(many, artefacts=artefacts(many, language="xx"))
    assert row_of(data, longest).status == "pass"
    assert row_of(data, "content artefact:UnigramLM").status == "not_run"
    assert not any("ShortestLM" in row.check for row in rows_of(data))  # it mirrors LongestLM


@pytest.mark.parametrize(
    ("base", "step", "status"),
    [(60, 1, "pass"), (20, 1, "fail"), (46, 1, "inconclusive"), (50, 0, "fail")],
)
def test_a_model_must_be_above_the_best_blind_rule(base: int, step: int, status: str) -> None:
    """The rule's lms is 50 in each term, as all lengths are equal; the model's is 40 + t."""
    longest = [a for a in artefacts(TEN, language="xx") if a.name == "LongestLM"]
    model = run("m", "r", of_terms(lambda t: base + step * t), [50.0] * 40)
    own = replace(dataset(TEN, model), artefacts=longest)
    row = row_of(own, "content above-artefacts:m:intersentence")
    assert (row.status, row.value) == (status, pytest.approx(base + 4.5 * step - 50))


def test_a_rule_that_mirrors_another_is_not_judged() -> None:
    every = dataset(TEN, artefacts=artefacts(TEN, language="xx"))
    assert [rule.artefact.name for rule in judged(every)] == ["LongestLM", "FirstLM"]


@pytest.mark.parametrize(
    ("severity", "status"), [("block", "fail"), ("warn", "inconclusive"), ("note", "pass")]
)
def test_a_pitfall_that_stops_a_release_fails_content(severity: str, status: str) -> None:
    counts = [
        PitfallCount("odd", severity, "cat", 3, 40),
        PitfallCount("no", "block", "cat", 0, 40),
    ]
    row = row_of(dataset(TEN, pitfalls=counts), "content pitfalls")
    assert (row.status, row.n) == (status, 2)


# --- convergent and predictive ------------------------------------------------------------------

SLOPE = by_term(10, 4, lambda t, n: 100.0 * (n < t / 2.3))


@pytest.mark.parametrize(
    ("other", "status", "value", "kappa"),
    [(SLOPE, "pass", 1, "1.00"), (100 - np.array(SLOPE), "fail", -1, "-0.92")],
)
def test_rules_converge_by_rank_and_kappa(other: Any, status: str, value: int, kappa: str) -> None:
    models = [run("m", "ll-acl", FULL, SLOPE), run("m", "pll", FULL, other)]
    row = row_of(dataset(TEN, *models), "convergent rules:m:pll", "ll-acl")
    assert (row.status, row.value, row.n) == (status, pytest.approx(value), 10)
    assert f"kappa of their preferences in 40 CATs without a tie: {kappa}" in row.computed
    assert row.power is not None


def test_rules_are_never_mixed() -> None:
    """Each set of rules is a subject; the second points to the rows of the first."""
    data = dataset(TEN, *[run("m", rule, FULL, SLOPE) for rule in ("ll-acl", "pll")])
    rows = [row for row in rows_of(data) if row.subject == "scores"]
    assert {row.name for row in rows} == {"ll-acl", "pll"}
    assert found(rows, "convergent", "rules", "pll").status == "not_applicable"
    assert all(
        "pll" not in row.computed
        for row in rows
        if row.name == "ll-acl" and row.criterion in ("face", "split_half")
    )


def test_both_kinds_of_cat_must_rank_terms_alike() -> None:
    both = cats(10, 8, kinds=(INTRA, INTER))
    ss = by_term(10, 8, lambda t, n: 100.0 * (n // 2 < t / 2.3))
    row = row_of(dataset(both, run("m", "r", [100.0] * 80, ss)), "convergent kinds:m")
    assert (row.status, row.value) == ("pass", pytest.approx(1))
    one = dataset(TEN, run("m", "r", FULL, SLOPE))
    assert row_of(one, "convergent kinds").status == "not_applicable"


def test_ss_is_compared_with_bias_measures_and_outcomes_of_the_terms() -> None:
    shares = {f"T{t}": (0.5 + t / 20, 0.5 - t / 20) for t in range(10)}
    words = {"hill": ("hill",), "lake": ("lake",)}
    values = {f"t{t}": t / 10 for t in range(10)}
    measures = [cases.MeasureValues("vectors/people-small", values)]
    tables = {"people": Groups("people", words, {}, outcomes=shares)}
    data = dataset(TEN, run("m", "r", FULL, SLOPE), measures=measures, tables=tables)
    rows = rows_of(data)
    assert found(rows, "convergent", "measure:m:vectors").status == "pass"
    for check in ("unequal:m:people", "leading:m:people"):
        row = found(rows, "predictive", check)
        assert (row.status, row.n, row.power) == ("pass", 10, None)  # at a threshold of 0
        assert (row.value or 0) > 0.9


# --- hypothesis ---------------------------------------------------------------------------------


def preferring(model: str, of: int, lms: float = 90.0) -> Scored:
    """A run that prefers the stereotype in ``of`` of the four CATs of a term, once one more."""
    ss = by_term(10, 4, lambda t, n: 100.0 * (n < of + (t == 0)))
    return run(model, "r", of_terms(lambda t: lms + t / 10), ss)


def test_amplification_has_the_other_run_as_reference() -> None:
    """ss 77.5 and 52.5: the share of stereotypes is 25 points higher, and so is half of L1."""
    data = dataset(TEN, preferring("a", 3), preferring("b", 2))
    rows = rows_of(data, amplification=[["a/r", "b/r"], ["a/r", "gone/r"]])
    share = found(rows, "amplification", "share:a/r;b/r")
    assert (share.status, share.value) == ("moved", pytest.approx(25))
    assert share.verdict == "ss rose"
    assert "L1 = 0.500" in share.computed
    change = found(rows, "amplification", "distance:a/r;b/r")
    assert (change.status, change.verdict) == ("grew", "")
    assert change.value == pytest.approx(abs(2 * 77.5 - 100) - abs(2 * 52.5 - 100))
    assert found(rows, "amplification", "share:a/r;gone/r").status == "not_run"


def test_icat_is_lms_times_one_less_l1() -> None:
    """The bridge: within a term by counts, above it by means of the terms' shares."""
    data = dataset(TEN, preferring("a", 3))
    lms, ss = (data.means(values) for values in (data.runs[0].lms, data.runs[0].ss))
    assert icat(lms, ss) == pytest.approx(lms * (1 - np.abs(2 * ss / 100 - 1)))
    whole = icat(lms.mean(), ss.mean())
    assert whole == pytest.approx(lms.mean() * (1 - abs(2 * ss.mean() / 100 - 1)))


@pytest.mark.parametrize(
    ("of", "before", "lms", "status"),
    [
        (2, 4, 90, "fell"),
        (2, 4, 70, "fail"),  # lms falls
        (4, 4, 98, "not_shown"),  # icat gains by lms alone
        (4, 3, 90, "grew"),
        (4, 3, 70, "grew"),
    ],
)
def test_mitigation_needs_a_fairer_ss_and_the_same_lms(
    of: int, before: int, lms: float, status: str
) -> None:
    data = dataset(TEN, preferring("a", of, lms), preferring("b", before))
    row = row_of(data, "mitigation nearer:a/r;b/r", mitigation=[["a/r", "b/r"]])
    assert (row.status, row.verdict) == (status, "lms fell" if status == "fail" else "")


# --- agreement, retest --------------------------------------------------------------------------


def votes(*counts: tuple[int, int, int, int]) -> np.ndarray:  # type: ignore[type-arg]
    """The same counts for the three associations of each of the 40 CATs of ``TEN``."""
    return np.tile(np.array(counts), (40, 1))


def test_alpha_of_each_set_is_a_row_that_names_the_set() -> None:
    """Four of five votes for each gold label in one half of the CATs, three in the other.

    Of stereotypes and anti-stereotypes: 400 labels, 200 of each. Of an association's 20 ordered
    pairs 8 or 12 disagree, so that the observed disagreement is 40 · (8 + 12) / 4 = 200 of 400.
    The expected one is 2 · 200 · 200 / (400 · 399) = 200 / 399.
    """
    counts = votes((4, 1, 0, 0), (1, 4, 0, 0), (0, 0, 5, 0))
    counts[60:] = np.tile([(3, 2, 0, 0), (2, 3, 0, 0), (0, 0, 5, 0)], (20, 1))
    data = dataset(TEN, votes=counts)
    hard = row_of(data, "agreement stereotype-or-anti")
    assert hard.value == pytest.approx(1 - 0.5 / (200 / 399))
    assert (hard.status, hard.n, hard.unit) == ("fail", 40, "CATs")
    assert "gold stereotype or anti-stereotype" in hard.computed
    assert "d0 0.003" in hard.computed
    assert (row_of(data, "agreement all-labels").value or 0) > 0.3


ALIKE = votes((5, 0, 0, 0), (0, 5, 0, 0), (0, 0, 5, 0))


def test_agreement_passes_if_nobody_disagrees_and_is_not_run_without_labels() -> None:
    row = row_of(dataset(TEN, votes=ALIKE), "agreement all-labels")
    assert (row.status, row.value) == ("pass", 1.0)
    assert 0.8 < row.ci[0] < row.ci[1] == 1  # type: ignore[index]
    assert row_of(dataset(TEN), "agreement all-labels").status == "not_run"


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_labels_must_fail_agreement(seed: int) -> None:
    rows = dataset_criteria(dataset(TEN, votes=ALIKE), TrustSettings(samples=20), seed=seed)
    row = found(rows, "agreement", "shuffled")
    assert (row.kind, row.status, row.n) == ("control", "pass", SHUFFLES)
    assert row.value == pytest.approx(0, abs=0.05)
    mixed = shuffled(ALIKE, np.random.default_rng(seed))
    assert mixed.sum(axis=0).tolist() == [200, 200, 200, 0]
    assert set(mixed.sum(axis=1)) == {5}


def test_retest_compares_first_and_second_labels() -> None:
    labels = np.array([[0, 0], [1, 1], [2, 2], [0, 0]] * 10)
    data = dataset(TEN, retests=[Retest("the same annotator", np.arange(40), labels)])
    row = row_of(data, "retest labels:the-same-annotator")
    assert (row.status, row.value, row.n) == ("pass", 1.0, 40)
    labels[:, 1] = np.roll(labels[:, 1], 1)
    assert row_of(data, "retest labels:the-same-annotator").status == "fail"


# --- sensitivity --------------------------------------------------------------------------------


@pytest.mark.parametrize(("moved", "status"), [(0, "pass"), (1, "inconclusive"), (3, "fail")])
def test_a_change_of_ss_is_judged_by_a_fixed_margin(moved: int, status: str) -> None:
    """``moved`` CATs of four change in terms 1 to 9: 0, 22.5 (with terms that differ), 67.5."""
    plain = run("m", "ll-acl", FULL, [0.0] * 40)
    ss = by_term(10, 4, lambda t, n: 100.0 * (t > (8 if moved == 1 else 0) and n < moved))
    data = dataset(TEN, plain, run("m", "ll-code", FULL, ss))
    row = row_of(data, "sensitivity normalisation:m:ll-acl;ll-c")
    assert (row.status, row.threshold) == (status, 5.0)
    assert row_of(data, "sensitivity normalisation:", margin=100).status == "pass"


def test_lms_must_not_depend_on_normalisation_either() -> None:
    """A model whose lms is not above chance can fail by its lms, not by its ss."""
    runs = [
        run("m", rule, [lms + base for lms in of_terms(float)], [50.0] * 40)
        for rule, base in (("conditional", 30), ("conditional-chars", 40))
    ]
    rows = rows_of(dataset(TEN, *runs))
    row = found(rows, "sensitivity", "normalisation-lms:m:conditional;conditional-chars")
    assert (row.status, row.value, row.ci) == ("fail", 10.0, (10.0, 10.0))
    assert found(rows, "sensitivity", "normalisation:m:").status == "inconclusive"


def test_the_changes_are_told_apart() -> None:
    runs = [
        run("m", rule, FULL, SLOPE, variant=variant)
        for rule in ("ll-acl", "ratio")
        for variant in ("", "lower")
    ]
    checks = {
        row.check
        for row in rows_of(dataset(TEN, *runs))
        if row.criterion == "sensitivity" and ";" in row.check and "lms" not in row.check
    }
    assert checks == {
        "text:lower:m:ll-acl;ll-acl+lower",
        "rule:m:ll-acl;ratio",
        "text:lower:m:ratio;ratio+lower",
        "rule:m:ll-acl+lower;ratio+lower",
    }


def test_the_interval_over_terms_is_measured_against_the_margin() -> None:
    """Value and threshold of the row are the same thing: points on each side of ss."""
    row = row_of(dataset(TEN, run("m", "ll-acl", FULL, SLOPE)), "sensitivity terms:m")
    assert row.value > row.threshold  # type: ignore[operator]
    assert (row.status, row.ci) == ("inconclusive", None)
    assert f"and reaches {row.value:.1f}" in row.computed
    assert row.change.startswith("about ")
    within = run("m", "r", FULL, by_term(10, 4, lambda t, n: 100.0 * ((t + n) % 2)))
    row = row_of(dataset(TEN, within), "sensitivity terms:m", margin=20)
    assert (row.status, row.threshold) == ("pass", 20)
    assert 0 < (row.value or 0) < 20
    assert "ss is 50.0 [" in row.computed


def test_a_domain_that_is_left_out_moves_ss() -> None:
    """Domain d0 has ss 100, d1 has ss 0: without either, the mean of 50 moves by 50."""
    ss = of_terms(lambda t: 100.0 * (t % 2 == 0))
    row = row_of(dataset(cats(10, 4, domains=2), run("m", "r", FULL, ss)), "sensitivity domains:m")
    assert (row.status, abs(row.value or 0)) == ("fail", 50)
    one = dataset(TEN, run("m", "r", FULL, SLOPE))
    assert row_of(one, "sensitivity domains:m").status == "not_applicable"


def test_the_length_rule_must_fail_with_padding() -> None:
    """All sentences are equally long: ss 50 becomes 0 once each anti-stereotype is longer."""
    row = row_of(dataset(TEN), "sensitivity padding-LongestLM")
    assert (row.kind, row.status, row.value) == ("control", "pass", -50.0)


# --- split half ---------------------------------------------------------------------------------


def test_halves_of_a_term_have_its_cats_once() -> None:
    ss, codes = np.array([1.0, 2, 4, 8, 16, np.nan]), np.array([0, 0, 0, 1, 1, 2])
    first, second, terms = halves(ss, codes, draws=50, seed=1)
    assert terms.tolist() == [0, 1]  # the third term has no two CATs
    assert (2 * first[:, 0] + second[:, 0] == 7).all()
    assert (first[:, 1] + second[:, 1] == 24).all()
    assert set(second[:, 0]) == {1, 2, 4}
    assert correlation(first, second) is None  # of two terms


def test_split_half_is_corrected_by_spearman_brown() -> None:
    """Terms whose CATs are all alike have the same ss in both halves."""
    ss = of_terms(lambda t: 100.0 * (t % 2))
    row = row_of(dataset(TEN, run("m", "r", FULL, ss)), "split_half terms:m")
    assert (row.status, row.value, row.n) == ("pass", 1.0, 10)
    alike = run("m", "r", FULL, by_term(10, 4, lambda _, n: 100.0 * (n % 2)))
    row = row_of(dataset(TEN, alike), "split_half terms:m")
    assert row.status == "fail"
    assert "no sign of such differences" in row.change
    # A model without meaning decides nothing about ss.
    silent = run("m", "r", of_terms(lambda t: 46 + t), ss)
    row = row_of(dataset(TEN, silent), "split_half terms:m")
    assert row.status == "inconclusive"
    assert "would be pass" in row.computed


def test_the_interval_of_reliability_holds() -> None:
    """Terms whose probability of a stereotype has SD .2, with 10 CATs: reliability is known."""
    rng = np.random.default_rng(3)
    held, codes = 0, np.repeat(np.arange(20), 10)
    true = 0.04 / (0.04 + (0.25 - 0.04) / 10)
    for draw in range(60):
        p = np.where(rng.random(20) < 0.5, 0.3, 0.7)
        ss = 100.0 * (rng.random(200) < p[codes])
        ends = reliability_interval(*halves(ss, codes, draws=20, seed=draw)[:2], confidence=0.95)
        held += ends[0] <= true <= ends[1]  # type: ignore[index]
    assert held >= 54  # 57 expected


# --- all ----------------------------------------------------------------------------------------


def test_every_criterion_has_a_row_that_says_what_to_supply() -> None:
    for data in (dataset(TEN), dataset(TEN, run("m", "r", FULL, SLOPE))):
        rows = rows_of(data)
        assert {row.criterion for row in rows} == {*CRITERIA} - {"consequential"}
        assert all(row.computed and row.change for row in rows)
        assert all(row.statistic and row.value is not None for row in rows if row.kind == "control")
    assert dataset_criteria(DatasetInput("none", [], "en"), TrustSettings(), seed=1) == []


def test_the_same_input_gives_the_same_rows() -> None:
    data = dataset(TEN, run("m", "r", FULL, SLOPE), votes=ALIKE)
    assert rows_of(data) == rows_of(data)


def test_few_terms_decide_nothing() -> None:
    few = cats(4, 4)
    model = run("m", "r", [100.0] * 16, [0.0] * 16)
    rows = rows_of(dataset(few, model, artefacts=artefacts(few, language="xx")))
    assert not [row for row in rows if row.unit == "terms" and row.status in ("pass", "fail")]


@pytest.mark.parametrize("status", ["pass", "inconclusive"])
def test_a_control_that_passes_makes_its_criterion_fail(status: Status) -> None:
    own = {"subject": "dataset", "name": "d", "criterion": "agreement", "check": "all-labels"}
    row = Criterion(**own, status=status)
    failed = {"kind": "control", "check": "shuffled-labels", "status": "fail"}
    control = row.model_copy(update=failed)
    other = row.model_copy(update={"criterion": "retest"})
    assert [r.status for r in obey_controls([row, control, other])] == ["fail", "fail", status]
    works = control.model_copy(update={"status": "pass"})
    assert obey_controls([row, works]) == [row, works]

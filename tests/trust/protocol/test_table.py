"""The table of checks: each entry has its function, its judge and the facts that its texts name."""

from dataclasses import replace
from string import Formatter

import numpy as np
import pytest

from curation.campaign.settings import TrustSettings
from curation.records import CRITERIA, Criterion, Evidence
from curation.stats.artefacts import artefacts, unigram
from curation.trust.measure.again import stability
from curation.trust.measure.framework import DEFAULT, Policies
from curation.trust.measure.groups import Groups
from curation.trust.measure.human import agreement
from curation.trust.protocol import checks, table
from curation.trust.protocol.cases import MeasureRun, MeasureValues, PitfallCount, Retest
from curation.trust.protocol.checks import Case, Check, Found
from support import biases as made
from support.biases import GENDER, TABLE_3, TARGETS, run_of
from support.judged import INTER, INTRA, by_term, cats, dataset, run

CHECKS, NO_SCORES = table.table()
PAIRS = (("vectors/gender-w+hard", "vectors/gender-w"), ("a/ll-acl", "b/ll-acl"))
SETTINGS = TrustSettings(samples=20, amplification=PAIRS, mitigation=PAIRS)
YEARS = range(1900, 2000, 10)
SHARES = {job: (0.2 + 0.08 * n, 0.8 - 0.08 * n) for n, job in enumerate(TARGETS)}
OWN = replace(
    GENDER,
    outcomes=SHARES,
    frequencies={job: 100.0 + n for n, job in enumerate(TARGETS)},
    history={
        year: {job: (a - place / 100, b + place / 100) for job, (a, b) in SHARES.items()}
        for place, year in enumerate(YEARS)
    },
)


def measured() -> list[Criterion]:
    """Rows of every sort of measure, with evidence, pairs, a series and negative strengths."""
    long = {name: (*own, *(f"{word}s" for word in own)) for name, own in GENDER.words.items()}
    groups = replace(GENDER, words=long)
    vectors = made.made_vectors(groups)
    vectors["pilot"] = -vectors["pilot"]
    again = made.cosine_measure(vectors)
    policies = Policies(negative="clip")
    evidence = tuple(stability(again, groups, policies, draws=20, seed=1))
    biases = tuple(again(groups, policies))
    before = MeasureRun("vectors/gender-w", "vectors", "gender", biases, evidence, policies)
    after = before._replace(name="vectors/gender-w+hard")
    prior = made.prior_run(dict(zip(TARGETS, TABLE_3["glove"], strict=True)), "caliskan/gender-w")
    labels = agreement(np.array([[4, 1, 0], [1, 4, 0], [5, 0, 0], [0, 3, 2]] * 10), confidence=0.95)
    own = {"statistic": "alpha", "value": labels.alpha, "ci": labels.ci, "n": 40}
    own["facts"] = {"within": 0.5, "within_low": 0.4, "kappa": 0.5, "by_target": "none"}
    checks = ("agreement annotators", "agreement control-shuffled-labels", "retest annotators")
    people = [
        Evidence.model_validate(dict(zip(("criterion", "check"), each.split(), strict=True)) | own)
        for each in (*checks, "sensitivity label_shares")
    ]
    human = run_of(TABLE_3["text-human"], "text-human/gender-wiki", evidence=people)
    automated = run_of(TABLE_3["text-automated"], "text-automated/gender-wiki")
    window = automated._replace(name="text-automated/gender-wiki+window-1")
    years = [
        MeasureRun(
            f"vectors/gender-coha+{year}",
            *("vectors", "gender"),
            tuple(made.result(job, (year - 1950) / 200 * n) for n, job in enumerate(TARGETS)),
            year=year,
        )
        for year in YEARS
    ]
    runs = [before, after, prior, prior._replace(name="caliskan/gender-w+hard"), human]
    three = replace(GENDER, words={"a": ("she",), "b": ("he",), "c": ("boy",)})
    races = tuple(again(three, DEFAULT))
    runs += [automated, window, *years, MeasureRun("vectors/race-w", "vectors", "race", races)]
    return table.measure_criteria(runs, {"gender": OWN}, SETTINGS, seed=1)


def judged() -> list[Criterion]:
    """Rows of a dataset with labels, pitfalls and retests, and of models under several rules."""
    whole = cats(12, 8, kinds=(INTRA, INTER), domains=2)
    rng = np.random.default_rng(1)
    models = [
        run(
            model,
            rule,
            by_term(12, 8, lambda t, n: 60.0 + t + n),
            100.0 * (rng.random(96) < 0.5 + (model == "a") / 4),
            variant=variant,
        )
        for model, rule, variant in (
            *(("a", "ll-acl", ""), ("b", "ll-acl", ""), ("a", "ll-code", "")),
            *(("a", "ratio", ""), ("a", "ll-acl", "lower")),
        )
    ]
    values = {f"t{t}": t / 10 for t in range(12)}
    shares = {f"t{t}": (0.4 + t / 30, 0.6 - t / 30) for t in range(12)}
    some = [(4, 1, 0, 0), (1, 4, 0, 0), (0, 0, 5, 0)] * 2 + [(5, 0, 0, 0)] * 3
    data = dataset(
        whole,
        *models,
        votes=np.tile(np.array(some), (32, 1)),
        retests=[Retest("the same annotator", np.arange(40), np.tile([[0, 0], [1, 2]], (20, 1)))],
        artefacts=artefacts(whole, language="en"),
        unigram=unigram(whole, language="en", total=True),
        pitfalls=[PitfallCount("odd", "warn", "cat", 3, 40)],
        tables={"two": Groups("two", GENDER.words, {}, outcomes=shares)},
        measures=[MeasureValues("vectors/two-small", values)],
        directions={f"t{t}": "stereotype" for t in range(8)},
    )
    return table.dataset_criteria(data, SETTINGS, seed=1)


def test_every_entry_has_its_function_its_judge_and_a_source() -> None:
    assert {check.criterion for check in CHECKS} == {*CRITERIA} - {"consequential"}
    for check in CHECKS:
        for function in check.of.values():
            module, _, name = function.partition(".")
            assert function == table.EVIDENCE or hasattr(table.MODULES[module], name), function
        if check.judge:
            assert hasattr(checks, check.judge), check
        if check.judge not in ("", "nothing"):
            assert check.source, check
            assert check.computed, check
        for sort in check.of:
            same = [c for c in CHECKS if (c.criterion, c.name) == (check.criterion, check.name)]
            assert sum(sort in other.of for other in same) == 1, check


def test_a_key_that_is_not_known_is_an_error() -> None:
    with pytest.raises(ValueError, match="thresold"):
        Check.model_validate(CHECKS[0].model_dump() | {"thresold": 1})


def test_every_fact_that_a_text_names_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """All texts of a check, also those of other statuses, are compared with what was found."""
    seen, real = set[str](), table.row

    def row(check: Check, case: Case, found: Found) -> Criterion:
        texts = [check.statistic, check.source, check.computed]
        texts += [*check.says.values(), *check.advice.values()]
        if found.reason:
            reason = check.reasons[found.reason]
            texts = [reason.why, reason.advice]
        known = {*dict(case.settings), *found.facts}
        known |= {"value", "n", "p", "power", "threshold", "name", "unit"}
        if not found.status:
            named = {name for text in texts for _, name, *_ in Formatter().parse(text) if name}
            assert named <= known, (check.name, named - known)
            if not found.reason:
                seen.add(f"{check.criterion} {check.name}")
        return real(check, case, found)

    monkeypatch.setattr(table, "row", row)
    rows = [*measured(), *judged()]
    assert {f"{c.criterion} {c.name}" for c in CHECKS if c.judge} - seen == set()
    for each in rows:
        assert each.computed
        assert "{" not in each.computed + each.change + each.source
        if each.kind == "test" and each.status in (
            "pass",
            "fail",
        ):
            assert each.value is not None, each
            assert each.source, each
            assert each.change, each
            assert each.evidence or each.subject != "measure", each


def test_without_scores_the_report_says_what_to_supply() -> None:
    rows = table.dataset_criteria(dataset(cats(5, 2)), SETTINGS, seed=1)
    found = {(row.status, row.change) for row in rows if row.subject == "scores"}
    assert found == {("not_run", NO_SCORES.advice)}


def test_the_default_policy_is_that_of_the_settings() -> None:
    assert (DEFAULT.normalise, DEFAULT.negative) == (SETTINGS.normalise, SETTINGS.negative)

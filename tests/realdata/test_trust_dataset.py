"""The criteria on StereoSet's labelled development set, with the authors' published predictions."""

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from curation.campaign.settings import TrustSettings
from curation.campaign.source import gold_source
from curation.records import Criterion
from curation.stats.metrics import judge
from curation.trust.dataset import dataset_input
from curation.trust.protocol.cases import DatasetInput, RuleGroup
from curation.trust.protocol.table import dataset_criteria
from support.judged import found, run
from support.realdata import LABELLED, labelled, needs, predictions

pytestmark = needs(LABELLED)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DatasetInput:
    folder = tmp_path_factory.mktemp("labelled")
    source = gold_source([labelled(folder)], scores=folder / "none")
    return dataset_input(source, predictions=predictions(), pitfalls=False)


@pytest.fixture(scope="module")
def rows(data: DatasetInput) -> list[Criterion]:
    start = time.perf_counter()
    found_rows = dataset_criteria(data, TrustSettings(), seed=1)
    assert time.perf_counter() - start < 30
    return found_rows


def test_the_report_finds_the_length_artefact(rows: list[Criterion]) -> None:
    for kind, lms in (("intrasentence", "65.2"), ("intersentence", "74.3")):
        row = found(rows, "content", f"artefact:LongestLM:{kind}")
        assert row.status == "fail"
        assert f"lms {lms}" in row.computed
    assert "lms 91.2" in found(rows, "content", "artefact:OverlapLM").computed
    order = [found(rows, "content", f"artefact:FirstLM:{k}") for k in ("intra", "inter")]
    assert [row.status for row in order] == ["pass", "pass"]


def test_the_report_finds_the_dependence_on_normalisation(rows: list[Criterion]) -> None:
    """Word frequencies by their sum or their mean: the number of words moves lms by 15 points."""
    row = found(rows, "sensitivity", "normalisation-UnigramLM")
    assert (row.status, row.threshold, round(row.value or 0, 2)) == ("fail", 5.0, 14.75)
    assert "lms 41.0 becomes 55.8" in row.computed


def test_alpha_depends_on_the_set(rows: list[Criterion]) -> None:
    """.67 over all labels, .48 and .50 where the gold label is stereotype or anti-stereotype."""
    chosen = [row for row in rows if row.criterion == "agreement" and row.kind == "test"]
    alphas = {row.check: round(row.value or 0, 2) for row in chosen if row.subject == "dataset"}
    assert alphas == {
        "all-labels": 0.67,
        "all-labels:intrasentence": 0.67,
        "all-labels:intersentence": 0.67,
        "stereotype-or-anti": 0.49,
        "stereotype-or-anti:intrasentence": 0.5,
        "stereotype-or-anti:intersentence": 0.48,
    }
    hard = [row for row in chosen if row.check.startswith("stereotype-or-anti")]
    assert {row.status for row in hard} == {"fail"}


def test_controls_fail_as_they_must_and_nobody_is_asked_for_0_more(rows: list[Criterion]) -> None:
    assert not [row.change for row in rows if "about 0 " in row.change]
    controls = {row.check: row.status for row in rows if row.kind == "control"}
    assert controls == {"shuffled-labels": "pass", "padding-LongestLM": "pass"}


def test_published_predictions_are_judged_within_their_rules(rows: list[Criterion]) -> None:
    """They have scores of the intrasentence CATs of gender and religion: 13 terms."""
    scores = [row for row in rows if row.subject == "scores"]
    assert {row.name for row in scores} == {"arxiv", "sentiment/predictions"}
    lms = {
        row.check.partition(":")[2]: (row.status, row.n)
        for row in scores
        if row.criterion == "face" and row.check.startswith("meaningful")
    }
    assert lms == {
        **dict.fromkeys(("gpt2", "bert", "xlnet", "roberta"), ("pass", 13)),
        "sentiment": ("fail", 13),
    }
    above = {row.check: row.status for row in scores if row.check.startswith("above-artefacts")}
    assert above["above-artefacts:gpt2:intrasentence"] == "pass"
    assert above["above-artefacts:xlnet:intrasentence"] == "inconclusive"


def test_random_models_mostly_end_inconclusive(data: DatasetInput) -> None:
    """Twenty random scorers on all CATs, each under two sets of rules."""
    runs, groups = [], []
    for rule, first in (("ll-acl", 0), ("ll-code", 100)):
        groups.append(RuleGroup(rule, tuple(range(len(runs), len(runs) + 20))))
        for number in range(20):
            rng = np.random.default_rng(first + number)
            meaningful, stereotype, _ = judge(rng.random((len(data.cats), 3)))
            runs.append(run(f"r{number}", rule, 50 * meaningful, 100 * stereotype))
    random = replace(data, runs=runs, groups=groups, votes=None, retests=())
    rows = dataset_criteria(random, TrustSettings(samples=50), seed=1)
    tests = [row for row in rows if (row.subject, row.kind) == ("scores", "test")]
    tests = [row for row in tests if row.status in ("pass", "fail", "inconclusive")]
    counts = Counter(row.status for row in tests)
    failed = {row.check.partition(":")[0] for row in tests if row.status == "fail"}
    assert counts["inconclusive"] >= 0.7 * len(tests)
    assert counts["pass"] <= 0.05 * len(tests)
    page = " ".join((Path(__file__).parents[2] / "docs" / "trust.md").read_text("utf-8").split())
    assert f"have {len(tests)} verdicts, and {counts['inconclusive']} are inconclusive." in page
    # They fail where they must: rules without understanding have a higher lms than chance.
    assert [row.status for row in tests if row.check.startswith("above-artefacts")] == ["fail"] * 80
    assert failed <= {"above-artefacts", "kinds", "terms", "rules"}

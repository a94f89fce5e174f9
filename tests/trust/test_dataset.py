"""What the criteria of a dataset are given, from campaigns and from gold files."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from curation.campaign.settings import TrustSettings
from curation.campaign.source import campaign_source, gold_source
from curation.campaign.store import Campaign, open_campaign
from curation.files import read_json
from curation.kinds import CAT_KINDS
from curation.records import VALUES, Bias
from curation.trust.dataset import dataset_input, measure_values
from curation.trust.protocol.table import dataset_criteria
from curation.trust.runs.files import TrustRun
from curation.trust.steps import trust
from support.expected import fails
from support.heard import Heard
from support.judged import found
from support.scored import CATS, chance, likes, put, scored_campaign, write_gold


def test_a_campaign_gives_its_runs_by_sets_of_rules(campaign: Campaign) -> None:
    scored_campaign(campaign)
    rules = dict(zip(CAT_KINDS, ("ll-acl", "ratio"), strict=True))
    put(campaign.folder("scores"), "likes", "ll-acl_ratio+lower", likes, rules=rules)
    data = dataset_input(campaign_source(campaign))
    assert len(data.cats) == 20
    assert data.terms == [f"craft/term {n}" for n in (0, 2, 4)] + ["sport/term 1", "sport/term 3"]
    groups = {group.name: [data.runs[n].name for n in group.runs] for group in data.groups}
    assert groups == {
        "default": ["bakery/likes/default", "hates/default", "mixed/default"],
        "acl-pll+lower": ["likes/ll-acl_ratio+lower"],
    }
    first = data.runs[0]
    assert (set(first.lms), set(first.ss)) == ({100.0}, {100.0})
    assert data.votes is not None
    assert not data.votes.any()  # there are no labels
    assert data.pitfalls is None
    rows = dataset_criteria(data, TrustSettings(samples=20), seed=1)
    assert found(rows, "content", "pitfalls").status == "not_run"
    assert found(rows, "face", "meaningful:mixed").value == 100
    assert "3-decisions/cats.jsonl" in trust.state(campaign)["inputs"]


def test_alpha_is_that_of_the_report_of_agreement(finished: Path) -> None:
    """The report of agreement has the same sets of kept items, by another way."""
    campaign = open_campaign(finished)
    data = dataset_input(campaign_source(campaign))
    start = time.perf_counter()
    rows = dataset_criteria(data, campaign.settings.trust, seed=1)
    assert time.perf_counter() - start < 30  # 0.1 s on a quiet machine: it does not hang
    names = {"all": "all-labels", "stereo/anti": "stereotype-or-anti"}
    report = read_json(campaign.folder("decisions") / "agreement.json")
    expected = {
        names[row["classes"]] + (f":{row['group']}" if row["by"] == "kind" else ""): row
        for row in report["measures"]
        if row["by"] in ("overall", "kind") and (row["measure"], row["scope"]) == ("alpha", "kept")
    }
    own = {row.check: row for row in rows if row.criterion == "agreement" and row.unit == "CATs"}
    assert own.keys() == expected.keys()
    for check, row in own.items():
        assert row.value == pytest.approx(expected[check]["value"])
        assert row.ci == pytest.approx(tuple(expected[check]["ci"]))
        assert row.n == expected[check]["cats"]
    assert found(rows, "content", "pitfalls").status == "inconclusive"  # warnings only
    assert {retest.name for retest in data.retests} == {"the same annotator", "another round"}
    evidence = found(rows, "face", "meaningful:tiny-gpt").evidence
    assert evidence == ("3-decisions/cats.jsonl", "5-scores/tiny-gpt/ll-bos_conditional")


def test_directions_are_read_with_their_place(campaign: Campaign) -> None:
    scored_campaign(campaign)
    campaign.folder("trust").mkdir(exist_ok=True)
    path = campaign.folder("trust") / "directions.csv"
    path.write_text("target,prefers\nTerm 0,stereotype\n", "utf-8")
    assert dataset_input(campaign_source(campaign)).directions == {"term 0": "stereotype"}
    path.write_text("target,prefers\nterm 0,yes\n", "utf-8")
    with fails("directions.csv line 2"):
        dataset_input(campaign_source(campaign))
    path.write_text("target\nterm 0\n", "utf-8")
    with fails("no column «prefers»"):
        dataset_input(campaign_source(campaign))


def test_bias_measures_give_their_strength(tmp_path: Path) -> None:
    biases = (
        Bias(target="a", groups=("x", "y"), p=(0.75, 0.25), signed=(0.25, -0.25), l1=0.5, n=8),
        Bias(target="b", groups=("x", "y"), undefined="no_evidence"),
        Bias(target="c", groups=("x", "y"), value=-0.1),
    )
    runs = [
        TrustRun("vectors", "people-small", "people", given, (), {}, tmp_path)
        for given in (biases, biases[1:2])
    ]
    (values,) = measure_values(runs)
    assert values == ("vectors/people-small", {"a": 0.5})  # prior measures judge nothing


def test_gold_files_give_votes_second_labels_and_partial_predictions(tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "gold.json", CATS)
    content = json.loads(gold.read_text("utf-8"))
    sentence = content["data"][CAT_KINDS[0]][0]["sentences"][0]
    sentence["labels"] = [
        {"label": label, "human_id": person}
        for person, label in (("a", "stereotype"), ("b", "unrelated"), ("a", "unrelated"))
    ]
    gold.write_text(json.dumps(content), "utf-8")
    some = [a.id for cat in CATS[:6] for a in cat.associations]
    scores = [{"id": name, "score": float(n)} for n, name in enumerate(some)]
    (tmp_path / "p.json").write_text(json.dumps({CAT_KINDS[0]: scores, CAT_KINDS[1]: []}), "utf-8")
    heard = Heard()
    source = gold_source([gold], scores=tmp_path / "none")
    predictions = [f"p={tmp_path / 'p.json'}"]
    data = dataset_input(source, predictions=predictions, pitfalls=False, reporter=heard)
    assert data.name == "gold"
    assert data.votes is not None
    place = [cat.id for cat in data.cats].index(content["data"][CAT_KINDS[0]][0]["id"])
    assert data.votes[3 * place].tolist() == [1, 0, 2, 0]
    (again,) = data.retests
    assert (again.name, again.cats.tolist()) == ("the same annotator", [place])
    assert again.labels.tolist() == [[VALUES.index("stereotype"), VALUES.index("unrelated")]]
    assert "no times" in again.note
    assert [group.name for group in data.groups] == ["p/predictions"]
    assert int((~np.isnan(data.runs[0].ss)).sum()) == 6
    assert heard.notes + heard.warnings == [
        "6 of 20 CATs have scores of p/predictions; the rows of a run are about the CATs it has"
    ]


def test_runs_without_scores_of_these_cats_are_named(tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "gold.json", CATS[:4])
    put(tmp_path / "scores", "other", "default", chance(1), CATS[4:])
    heard = Heard()
    source = gold_source([gold], scores=tmp_path / "scores")
    data = dataset_input(source, pitfalls=False, reporter=heard)
    assert (data.runs, data.groups) == ([], [])
    assert heard.notes + heard.warnings == [
        "other/default is not in the trust report: it has no scores of these CATs"
    ]
    rows = dataset_criteria(data, TrustSettings(samples=20), seed=1)
    assert {row.status for row in rows if row.subject == "scores"} == {"not_run"}

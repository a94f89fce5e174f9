"""How far each term is stereotyped: by one model (ACL Table 8), by models on average."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.catsets.stereoset import read_entries
from curation.kinds import GOLDS
from curation.scores import terms as module
from curation.scores.compare import run_results
from curation.scores.terms import Agreement, by_term, domain_and_target, model_terms
from curation.stats.metrics import percent_interval
from support.boards import A, S, U, laid, run


def test_terms_are_means_over_models_with_cats_and_agreement() -> None:
    both = laid(run("m", p=S, q=A, r=S, t=U), run("n", p=S, q=S, r=A, t=A))
    found = by_term(both, [0, 1], agreement={"race/x": Agreement(80.0, 85.0)})
    # gender/x: t: m s > a (100), n 0; lms m 0, n 100. race/x: p 100 100, q 0 100: (100 + 50)/2.
    gender, x, y = found
    assert gender | {"domain": "gender", "term": "x", "ss": 50.0, "lms": 50.0} == gender
    # Two CATs, 100 and 50: p = 0.75, s² = 0.125, n = 0.1875 · 2 / 0.125 = 3, t = 12.706.
    ends = pytest.approx(percent_interval(np.array([100.0, 50.0]), observations=2))
    assert x | {"domain": "race", "term": "x", "ss": 75.0, "cats": 2, "ss_ci": ends,
                "agreement": 80.0, "votes": 85.0} == x  # fmt: skip
    assert y | {"ss": 50.0, "lms": 100.0, "cats": 1, "ss_ci": None, "agreement": None,
                "votes": None} == y  # fmt: skip


def test_a_cat_that_one_model_lacks_has_the_mean_of_the_others() -> None:
    both = laid(run("m", p=S, q=A), run("n", p=A, r=A))
    # p: 100 and 0; q: m alone 0; r: n alone 0; nobody has t.
    found = [(row["term"], row["ss"], row["cats"]) for row in by_term(both, [0, 1])]
    assert found == [("x", 25.0, 2), ("y", 0.0, 1)]


def test_most_is_the_highest_ss_and_least_the_nearest_to_50() -> None:
    def term(name: str, ss: float, cats: int = 1, domain: str = "d") -> dict[str, Any]:
        return {"domain": domain, "term": name, "ss": ss, "cats": cats}

    def ends(rows: list[dict[str, Any]], count: int) -> list[tuple[str, str]]:
        return [(row["term"], row["end"]) for row in module.most_and_least(rows, count=count)]

    # ACL Table 8, religion: Bible 66.0 is the most, Muslim 46.6 the least biased. A term far below
    # 50 is neither.
    rows = [term("Muslim", 46.6), term("Bible", 66.0), term("low", 20.0)]
    assert ends(rows, 1) == [("Bible", "most"), ("Muslim", "least")]
    rows = [term("a", 90), term("b", 60, 1), term("c", 40, 9), term("e", 52), term("f", 9, 1, "g")]
    # 52 is 2 from 50; of 60 and 40, as near, that with more CATs.
    assert ends(rows[:4], 1) == [("a", "most"), ("e", "least")]
    assert ends(rows[:3], 2) == [("a", "most"), ("b", "most"), ("c", "least")]
    assert ends([*rows[:1], term("z", 1), *rows[1:3], term("y", 10)], 2) == [
        ("a", "most"), ("b", "most"), ("c", "least"), ("y", "least"),
    ]  # fmt: skip
    # Each once, also with few terms; each domain for itself. An ss of 9 is not stereotyped most.
    assert ends(rows, 3) == [
        ("a", "most"), ("b", "most"), ("e", "least"), ("c", "least"), ("f", "least"),
    ]  # fmt: skip
    assert ends([term("few", 60, 1), term("many", 60, 2)], 1)[0] == ("many", "most")


def test_one_models_terms_are_those_of_table_8() -> None:
    m, n = run("m", p=S, q=A, r=S, t=U), run("n", p=S, q=S, r=A, t=A)
    both = laid(m, n)
    result = run_results(both, 0)
    means = by_term(both, [0, 1])
    rows = model_terms(result, count=1, means=means, agreement={"race/x": Agreement(80.0, 85.0)})
    assert [(row["domain"], row["end"], row["term"]) for row in rows] == [
        ("gender", "", ""), ("gender", "most", "x"),
        ("race", "", ""), ("race", "most", "y"), ("race", "least", "x"),
    ]  # fmt: skip
    domain, most, least = rows[2:]
    # Both kinds pooled. x: p and q, ss (100 + 0)/2; y: r, ss 100; the domain (50 + 100)/2.
    assert (least["ss"], least["lms"], least["icat"], least["cats"]) == (50.0, 100.0, 100.0, 2)
    assert (most["ss"], most["icat"], most["ss_ci"]) == (100.0, 0.0, None)
    assert (domain["ss"], domain["icat"], domain["terms"]) == (75.0, 50.0, 2)
    assert least["ss_ci"] == result["terms"]["race/x"]["ss_ci"] != None  # noqa: E711
    # Beside them the mean over models: n has 100 on x.
    assert (least["mean_ss"], least["agreement"]) == (75.0, 80.0)
    assert (domain["mean_ss"], domain["agreement"], most["agreement"]) == (None, None, None)
    assert model_terms(result)[1]["mean_ss"] is None
    # A domain may contain a slash.
    one = {"domains": {"a": {}, "a/b": {}}}
    assert domain_and_target("a/b/c", one) == ("a/b", "c")
    assert domain_and_target("a/c", one) == ("a", "c")


def test_agreement_of_a_gold_file_is_of_its_stereotypes(tmp_path: Path) -> None:
    def item(name: str, target: str, labels: list[str]) -> dict[str, Any]:
        sentences = [
            {"id": name + g, "sentence": g, "gold_label": g, "labels": [{"label": "unrelated"}]}
            for g in GOLDS
        ]
        sentences[0]["labels"] = [{"label": label, "human_id": "h"} for label in labels]
        return {"id": name, "target": target, "bias_type": "race", "context": "c",
                "sentences": sentences}  # fmt: skip

    four = ["stereotype", "stereotype", "anti-stereotype", "stereotype"]
    items = [
        item("1", "x", four),  # (3/4)² + (1/4)² = 62.5 %; 75 % of the votes
        item("2", "x", ["stereotype", "related"]),  # (1/2)² + (1/2)² = 50 %; 50 %
        item("3", "y", ["stereotype", "?"]),  # 100 %: the other is not a label
        item("4", "z", []),
    ]
    del items[3]["sentences"][0]["labels"]
    file = tmp_path / "gold.json"
    file.write_text(json.dumps({"data": {"intrasentence": items}}), "utf-8")
    found = module.published_agreement(read_entries(file))
    assert found == {"race/x": (56.25, 62.5), "race/y": (100.0, 100.0)}

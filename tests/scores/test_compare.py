"""Which run speaks for a model; terms, kinds, rules and variants beside one another."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError
from curation.records import GOLDS, Cat, CatAssociation, Kind
from curation.scores.compare import (
    Agreement,
    by_term,
    correlations,
    few,
    leading,
    most_and_least,
    published_agreement,
    run_results,
    shifts,
    single,
)
from curation.scores.metrics import comparisons, results
from curation.scores.runs import Board, Run, board
from curation.stereoset import read_entries

S, A, U = (3, 2, 1), (2, 3, 1), (2, 1, 3)  # s > a > u; a > s > u; u > s > a


def cat(name: str, target: str, domain: str = "race", kind: Kind = "intrasentence") -> Cat:
    a, b, c = (CatAssociation(id=f"{name}{g[0]}", sentence=g, gold=g) for g in GOLDS)
    return Cat(
        id=name, kind=kind, domain=domain, term=f"{domain}/{target}", target=target,
        family=target, split="test", context="-", associations=(a, b, c),
    )  # fmt: skip


def run(
    model: str, rule: str = "r", variant: str = "", **of: tuple[float, float, float]
) -> Run:  # fmt: skip
    scores = {f"{name}{g[0]}": float(value) for name, three in of.items()
              for g, value in zip(GOLDS, three, strict=True)}  # fmt: skip
    return Run(model, rule, variant, scores)


CATS = [
    cat("p", "x"), cat("q", "x", kind="intersentence"), cat("r", "y"), cat("t", "x", "gender"),
]  # fmt: skip


def spoken(*runs: Run, rule: str | None = None) -> list[str]:
    return [runs[number].name for number in leading(runs, rule=rule)]


def test_a_model_speaks_by_the_rule_that_most_have() -> None:
    runs = [run("m", "a"), run("m", "b"), run("n", "b"), run("o", "c"), run("n", "b", "lower")]
    assert spoken(*runs) == ["m/b", "n/b", "o/c"]
    assert spoken(run("m", "a"), run("m", "default")) == ["m/default"]  # as many: default first
    assert spoken(run("m", "b"), run("m", "a")) == ["m/a"]  # then by name
    assert spoken(run("m", "a", "lower"), run("m", "z")) == ["m/z"]  # no variant where possible
    assert spoken(run("m", "a", "lower")) == ["m/a+lower"]


def test_a_rule_that_is_asked_for_leaves_out_who_lacks_it() -> None:
    runs = [run("m", "a"), run("m", "b"), run("n", "b"), run("n", "a", "lower")]
    assert spoken(*runs, rule="a") == ["m/a"]
    assert spoken(*runs, rule="a+lower") == ["n/a+lower"]
    with pytest.raises(CurationError, match="no model has scores under «z»") as error:
        spoken(*runs, rule="z")
    assert error.value.mend == "take one of a, a+lower, b"


def laid(*runs: Run) -> Board:
    return board(CATS, list(runs))


def test_results_are_those_of_predictions_with_domains_over_both_kinds() -> None:
    m = run("m", p=S, q=A, r=S, t=U)
    found = run_results(laid(m), 0, resamples=200, seed=3)
    own = results(comparisons(CATS, m.scores), model="m", resamples=200, seed=3)
    assert (found["kinds"], found["overall"]) == (own["kinds"], own["overall"])
    race = found["domains"]["race"]
    # x: p and q pooled, ss 50; y 100. Intrasentence alone would be 100.
    assert (race["ss"], race["cats"], race["terms"]) == (75.0, 3, 2)
    assert (found["domains"]["gender"]["lms"], found["left_out"]) == (0.0, 0)
    assert few([found])


def test_left_out_counts_cats_of_the_kinds_that_the_run_has() -> None:
    found = run_results(laid(run("m", p=S, r=S)), 0)
    assert (found["left_out"], found["overall"]["cats"]) == (1, 2)  # t; q is of the other kind


def test_terms_are_means_over_models_with_cats_and_agreement() -> None:
    both = laid(run("m", p=S, q=A, r=S, t=U), run("n", p=S, q=S, r=A, t=A))
    found = by_term(both, [0, 1], agreement={"race/x": Agreement(80.0, 85.0)}, resamples=200)
    # gender/x: t: m s > a (100), n 0; lms m 0, n 100. race/x: p 100 100, q 0 100: (100 + 50)/2.
    gender, x, y = found
    assert (gender["domain"], gender["term"], gender["ss"], gender["lms"]) == (
        "gender", "x", 50.0, 50.0,
    )  # fmt: skip
    assert (x["domain"], x["term"], x["ss"], x["cats"]) == ("race", "x", 75.0, 2)
    assert (y["ss"], y["lms"], y["cats"], y["ss_ci"]) == (50.0, 100.0, 1, None)
    assert x["ss_ci"] == [50.0, 100.0]  # q twice, p twice
    assert (x["agreement"], x["votes"]) == (80.0, 85.0)
    assert (y["agreement"], y["votes"]) == (None, None)


def test_ensembles_do_not_count_where_models_are_taken_together() -> None:
    both = replace(run("e", p=S), about={"family": "ensemble"})
    assert single(laid(run("m", p=S), both, run("n", p=A)), [2, 1]) == [2]
    assert by_term(laid(both), single(laid(both), [0])) == []
    assert correlations([]) == [
        {"of": "lms", "with": "ss", "rho": None, "p": None, "models": 0, "exact": True}
    ]


def test_a_cat_that_one_model_lacks_has_the_mean_of_the_others() -> None:
    both = laid(run("m", p=S, q=A), run("n", p=A, r=A))
    # p: 100 and 0; q: m alone 0; r: n alone 0; nobody has t.
    found = by_term(both, [0, 1])
    assert [(row["term"], row["ss"], row["cats"]) for row in found] == [
        ("x", 25.0, 2),
        ("y", 0.0, 1),
    ]


def test_most_and_least_take_each_term_once_and_more_cats_first() -> None:
    def term(name: str, ss: float, cats: int, domain: str = "d") -> dict[str, Any]:
        return {"domain": domain, "term": name, "ss": ss, "cats": cats}

    rows = [term("a", 90, 1), term("b", 60, 1), term("c", 20, 9), term("e", 20, 1),
            term("f", 90, 1, "g")]  # fmt: skip
    found = most_and_least(rows, count=1)
    assert [(r["term"], r["end"]) for r in found] == [("a", "most"), ("c", "least"), ("f", "most")]
    found = most_and_least(rows, count=3)  # four terms: two each
    assert [r["term"] for r in found] == ["a", "b", "e", "c", "f"]
    assert [r["end"] for r in found] == ["most", "most", "least", "least", "most"]


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
    # x: (62.5 + 50) / 2 and (75 + 50) / 2.
    assert published_agreement(read_entries(file)) == {
        "race/x": (56.25, 62.5),
        "race/y": (100.0, 100.0),
    }


def figures(lms: float, ss: float, inter: tuple[float, float] | None = None) -> dict[str, Any]:
    kinds = {"intrasentence": {"overall": {"lms": lms, "ss": ss}}}
    if inter:
        kinds["intersentence"] = {"overall": dict(zip(("lms", "ss"), inter, strict=True))}
    return {"overall": {"lms": lms, "ss": ss}, "kinds": kinds}


def test_correlations_are_over_models_and_across_kinds_of_those_that_have_both() -> None:
    found = correlations(
        [figures(60, 50, (50, 1)), figures(70, 55, (60, 9)), figures(80, 60, (70, 5)),
         figures(90, 10)]
    )  # fmt: skip
    lms_ss, lms, ss = found
    # lms 1 2 3 4, ss 2 3 4 1: d² = 1 1 1 9, 1 − 6 · 12/60
    assert (lms_ss["rho"], lms_ss["models"]) == (pytest.approx(-0.2), 4)
    assert (lms["rho"], lms["p"], lms["models"]) == (pytest.approx(1.0), pytest.approx(2 / 6), 3)
    assert ss["rho"] == pytest.approx(0.5)  # 1 2 3 with 1 3 2: 1 − 6 · 2/24
    assert (lms["of"], lms["with"]) == ("lms, intrasentence", "lms, intersentence")
    assert len(correlations([figures(1, 2)])) == 1


def test_shifts_hold_rules_against_the_models_own_and_variants_against_their_rule() -> None:
    base = {"p": S, "q": S, "r": S, "t": S}
    runs = [
        run("m", "a", **base), run("m", "b", **base | {"t": A}),
        run("m", "b", "lower", **base | {"t": A, "r": A}), run("m", "z", "lower", **base),
        run("n", "a", **base), run("n", "a", "lower", **base),
    ]  # fmt: skip
    found = [row for row in shifts(laid(*runs), [0, 4], resamples=200) if row["figure"] == "ss"]
    told = [(row["what"], row["a"], row["b"], row["difference"]) for row in found]
    third = pytest.approx(-100 / 3)  # of three terms, one is turned
    assert told == [
        ("rule", "m/b", "m/a", third),
        ("variant", "m/b+lower", "m/b", third),
        ("variant", "m/z+lower", "m/a", 0.0),
        ("variant", "n/a+lower", "n/a", 0.0),
    ]
    assert found[3]["ci"] == [0.0, 0.0]
    assert shifts(laid(runs[0], runs[4]), [0, 1]) == []

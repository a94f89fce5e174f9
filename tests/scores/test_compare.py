"""A run's results, a group of models compared, rules and variants beside one another."""

from dataclasses import replace
from typing import Any

import pytest

from curation.files import CurationError
from curation.scores.compare import (
    compare_group,
    correlations,
    run_results,
    shifts,
    terms_of,
)
from curation.scores.groups import groups
from curation.scores.terms import Agreement
from curation.stats.metrics import comparisons, results
from support.boards import CATS, A, S, U, laid, run


def test_results_are_those_of_predictions_with_domains_over_both_kinds() -> None:
    m = run("m", p=S, q=A, r=S, t=U)
    found = run_results(laid(m), 0)
    own = results(comparisons(CATS, m.scores), model="m")
    assert (found["kinds"], found["overall"]) == (own["kinds"], own["overall"])
    race = found["domains"]["race"]
    # x: p and q pooled, ss 50; y 100. Intrasentence alone would be 100.
    assert (race["ss"], race["cats"], race["terms"]) == (75.0, 3, 2)
    assert (found["domains"]["gender"]["lms"], found["left_out"]) == (0.0, 0)
    assert found["overall"]["few_terms"]


def test_results_hold_what_tables_show_of_a_run() -> None:
    about = {"family": "masked", "rules": {"intersentence": "nsp"}, "own_head": True,
             "opened": {"parameters": 110}, "tokens": {"read": 9, "unknown": 5}}  # fmt: skip
    both = laid(replace(run("m", "nsp", q=S), about=about), replace(run("n", q=S), profile="arxiv"))
    m, n = (run_results(both, number, profiles=["x"]) for number in (0, 1))
    assert (m["run"], m["family"], m["rules"], m["own_head"], m["profiles"]) == (
        "m/nsp", "masked", {"intersentence": "nsp"}, True, ["x"],
    )  # fmt: skip
    assert (m["parameters"], m["corpus_gb"], m["flags"]) == (
        110,
        None,
        ["unknown_tokens", "own_head"],
    )
    assert (n["rules"], n["declared"], n["own_head"], n["flags"]) == ({}, "arxiv", False, [])
    given = run_results(both, 0, sizes={"m": {"corpus_gb": 16.0, "parameters": 7.0}})
    assert (given["parameters"], given["corpus_gb"]) == (7.0, 16.0)


def test_left_out_counts_cats_of_the_kinds_that_the_run_has() -> None:
    found = run_results(laid(run("m", p=S, r=S)), 0)
    assert (found["left_out"], found["overall"]["cats"]) == (1, 2)  # t; q is of the other kind


def test_a_group_is_compared_separately() -> None:
    runs = [
        run("m", "ll-bos", p=S, q=A, r=S, t=S),
        run("n", "ll-bos", p=A, q=A, r=A, t=A),
        run("o", "pll", p=S, q=S, r=S, t=S),
        run("o", "ll-bos", p=S, q=A, r=A, t=A),
    ]
    both = laid(*runs)
    every = [run_results(both, number) for number in range(4)]
    bos, pll = groups(both.runs)
    found = compare_group(both, bos, every, agreement={"race/x": Agreement(7.0, 8.0)}, power=3.0)
    # icat: m ss (50 + 100 + 100)/3, 100 · 16.7/50; o ss (50 + 0 + 0)/3, as far; n 0.
    assert (found.group, found.models) == ("ll-bos", ["m/ll-bos", "o/ll-bos", "n/ll-bos"])
    # Three pairs, though there are four runs.
    pairs = {(row.a, row.b) for row in found.differences}
    assert len(pairs) == 3
    assert not any("pll" in name for pair in pairs for name in pair)
    assert found.power
    assert found.power.figures
    # y: 100, 0 and 0; without o's pll.
    y = next(row for row in found.terms if row["term"] == "y")
    assert y["ss"] == pytest.approx(100 / 3)
    alone = compare_group(both, pll, every)
    assert (alone.models, alone.differences, alone.power) == (["o/pll"], [], None)


def test_ensembles_are_not_in_values_over_models() -> None:
    e = replace(run("e", p=S), about={"family": "ensemble", "members": ["m/ll-bos"]})
    both = laid(run("m", "ll-bos", p=A), e)
    every = [run_results(both, number) for number in (0, 1)]
    found = compare_group(both, groups(both.runs)[0], every)
    assert found.models == ["m/ll-bos", "e/r"]
    assert [row["ss"] for row in found.terms] == [0.0]
    assert found.correlations[0]["models"] == 1
    assert correlations([]) == [
        {"of": "lms", "with": "ss", "rho": None, "p": None, "models": 0, "exact": True}
    ]


def test_a_run_that_lacks_a_kind_is_in_nothing_of_both_kinds() -> None:
    both = laid(
        run("m", "ll-bos", p=S, q=A, r=S, t=S), run("n", "ll-bos", p=A, q=A, r=A, t=A),
        run("half", "ll-bos", p=S, r=S, t=S),  # q is the only intersentence CAT
    )  # fmt: skip
    every = [run_results(both, number) for number in range(3)]
    (group,) = groups(both.runs)
    found = compare_group(both, group, every)
    assert found.one_kind_only == ["half/ll-bos"]
    pairs = {(row.kind, row.a, row.b) for row in found.differences}
    assert not [pair for pair in pairs if pair[0] == "both" and "half/ll-bos" in pair]
    assert [pair for pair in pairs if pair[0] == "intrasentence" and "half/ll-bos" in pair]
    # y: m 100 and n 0, without half's 100.
    assert next(row for row in found.terms if row["term"] == "y")["ss"] == 50.0
    assert every[2]["rules"] == {"intrasentence": "ll-bos"}


def test_one_models_terms_are_beside_those_of_its_group() -> None:
    both = laid(run("m", "ll-bos", r=S), run("n", "ll-bos", r=A), run("m", "pll", r=S))
    every = [run_results(both, number) for number in range(3)]
    reports = [compare_group(both, g, every) for g in groups(both.runs)]
    found = terms_of("m", every, reports)
    # Under ll-bos m has 100 and n 0 on y; under pll m is alone.
    assert [(part.run, part.group, part.rows[1]["mean_ss"]) for part in found] == [
        ("m/ll-bos", "ll-bos", 50.0), ("m/pll", "pll", None),
    ]  # fmt: skip
    assert [part.run for part in terms_of("m/pll", every, reports)] == ["m/pll"]
    assert terms_of("", every, reports) == []
    with pytest.raises(CurationError, match="--terms-of z: no such model") as error:
        terms_of("z", every, reports)
    assert error.value.fix == "use one of: m/ll-bos, m/pll, n/ll-bos"


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


def test_shifts_compare_rules_with_the_main_run_and_variants_with_their_rule() -> None:
    base = {"p": S, "q": S, "r": S, "t": S}
    runs = [
        run("m", "ll-bos", **base), run("m", "ll-acl", **base | {"t": A}),
        run("m", "ll-acl", "lower", **base | {"t": A, "r": A}),
        run("m", "ll-code", "lower", **base), run("n", "ll-bos", **base),
        run("n", "ll-bos", "lower", **base), run("m", "predictions", **base),
    ]  # fmt: skip
    both = laid(*runs)
    every = shifts(both, groups(both.runs))
    found = [row for row in every if row.figure == "ss"]
    changes = [(row.what, row.a, row.b, row.difference) for row in found]
    third = pytest.approx(-100 / 3)  # of three terms, one is turned
    # The model's own is that of the group with more models; there is no row for predictions whose
    # rule is not known.
    assert changes == [
        ("rule", "m/ll-acl", "m/ll-bos", third),
        ("variant", "m/ll-acl+lower", "m/ll-acl", third),
        ("variant", "m/ll-code+lower", "m/ll-bos", 0.0),
        ("variant", "n/ll-bos+lower", "n/ll-bos", 0.0),
    ]
    assert found[3].ci is None  # alike on every term
    picked = shifts(both, groups(both.runs, rule="ll-acl"))
    assert {(row.a, row.b) for row in picked} == {
        ("m/ll-bos", "m/ll-acl"), ("m/ll-acl+lower", "m/ll-acl"), ("m/ll-code+lower", "m/ll-acl"),
    }  # fmt: skip
    plain = laid(runs[0], runs[4])
    assert shifts(plain, groups(plain.runs)) == []


def test_a_second_folder_of_the_same_rules_is_not_another_rule() -> None:
    rules = {"rules": {"intrasentence": "ll-bos", "intersentence": "ll-bos"}}
    old = replace(run("m", "default", p=A), about=rules)
    both = laid(run("m", "ll-bos", p=S), old)
    assert shifts(both, groups(both.runs)) == []

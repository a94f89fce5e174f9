"""A run's results, a group of models compared, rules, variants and ways of scoring, and power."""

import math
from dataclasses import replace
from typing import Any

import pytest

from curation.scores import compare
from curation.scores.boards import Board, board
from curation.scores.compare import pair_spread, power_report, run_results, shifts, terms_of
from curation.scores.groups import Group, groups
from curation.scores.published import choose
from curation.scores.runs import Run
from curation.scores.terms import Agreement
from curation.stats.metrics import METRICS, comparisons, results
from curation.stats.tests import CATS_A_TERM, detectable, needed_terms
from support.boards import CATS, A, S, Three, U, cat, laid, run
from support.expected import fails

INTRA, INTER = "intrasentence", "intersentence"


def compared(*runs: Run, **options: Any) -> tuple[list[dict[str, Any]], list[Any]]:
    """The results of the runs, and the report of each of their groups."""
    both = laid(*runs)
    every = [run_results(both, number) for number in range(len(runs))]
    return every, [
        compare.compare_group(both, group, every, **options) for group in groups(both.runs)
    ]


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
    # CATs of the kinds that the run has are left out: t; q is of the other kind.
    some = run_results(laid(run("m", p=S, r=S)), 0)
    assert (some["left_out"], some["overall"]["cats"]) == (1, 2)


def test_results_hold_what_tables_show_of_a_run() -> None:
    about = {"family": "masked", "rules": {"intersentence": "nsp"}, "own_head": True,
             "opened": {"parameters": 110}, "tokens": {"read": 9, "unknown": 5}}  # fmt: skip
    both = laid(replace(run("m", "nsp", q=S), about=about), replace(run("n", q=S), profile="arxiv"))
    m, n = (run_results(both, number, profiles=["x"]) for number in (0, 1))
    shown = {
        "run": "m/nsp", "family": "masked", "rules": {INTER: "nsp"}, "own_head": True,
        "profiles": ["x"], "parameters": 110, "corpus_gb": None,
        "flags": ["unknown_tokens", "own_head"],
    }  # fmt: skip
    assert m | shown == m
    assert n | {"rules": {}, "declared": "arxiv", "own_head": False, "flags": []} == n
    given = run_results(both, 0, sizes={"m": {"corpus_gb": 16.0, "parameters": 7.0}})
    assert (given["parameters"], given["corpus_gb"]) == (7.0, 16.0)


def test_a_group_is_compared_separately() -> None:
    _, (found, alone) = compared(
        run("m", "ll-bos", p=S, q=A, r=S, t=S), run("n", "ll-bos", p=A, q=A, r=A, t=A),
        run("o", "pll", p=S, q=S, r=S, t=S), run("o", "ll-bos", p=S, q=A, r=A, t=A),
        agreement={"race/x": Agreement(7.0, 8.0)}, power=3.0,
    )  # fmt: skip
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
    assert (alone.models, alone.differences) == (["o/pll"], [])


def test_ensembles_are_not_in_values_over_models() -> None:
    e = replace(run("e", p=S), about={"family": "ensemble", "members": ["m/ll-bos"]})
    _, (found, *_) = compared(run("m", "ll-bos", p=A), e)
    assert found.models == ["m/ll-bos", "e/r"]
    assert [row["ss"] for row in found.terms] == [0.0]
    assert found.correlations[0]["models"] == 1
    assert compare.correlations([]) == [
        {"of": "lms", "with": "ss", "rho": None, "p": None, "models": 0, "exact": True}
    ]


def test_a_run_that_lacks_a_kind_is_in_nothing_of_both_kinds() -> None:
    every, (found,) = compared(
        run("m", "ll-bos", p=S, q=A, r=S, t=S), run("n", "ll-bos", p=A, q=A, r=A, t=A),
        run("half", "ll-bos", p=S, r=S, t=S),  # q is the only intersentence CAT
    )  # fmt: skip
    assert found.one_kind_only == ["half/ll-bos"]
    assert {r.kind for r in found.differences if "half/ll-bos" in (r.a, r.b)} == {INTRA}
    # y: m 100 and n 0, without half's 100.
    assert next(row for row in found.terms if row["term"] == "y")["ss"] == 50.0
    assert every[2]["rules"] == {"intrasentence": "ll-bos"}


def test_one_models_terms_are_beside_those_of_its_group() -> None:
    every, reports = compared(
        run("m", "ll-bos", r=S), run("n", "ll-bos", r=A), run("m", "pll", r=S)
    )
    found = terms_of("m", every, reports)
    # Under ll-bos m has 100 and n 0 on y; under pll m is alone.
    assert [(part.run, part.group, part.rows[1]["mean_ss"]) for part in found] == [
        ("m/ll-bos", "ll-bos", 50.0), ("m/pll", "pll", None),
    ]  # fmt: skip
    assert [part.run for part in terms_of("m/pll", every, reports)] == ["m/pll"]
    assert terms_of("", every, reports) == []
    with fails("--terms-of z: no such model", fix="use one of: m/ll-bos, m/pll, n/ll-bos"):
        terms_of("z", every, reports)


def figures(lms: float, ss: float, inter: tuple[float, float] | None = None) -> dict[str, Any]:
    kinds = {"intrasentence": {"overall": {"lms": lms, "ss": ss}}}
    if inter:
        kinds["intersentence"] = {"overall": dict(zip(("lms", "ss"), inter, strict=True))}
    return {"overall": {"lms": lms, "ss": ss}, "kinds": kinds}


def test_correlations_are_over_models_and_across_kinds_of_those_that_have_both() -> None:
    found = compare.correlations(
        [figures(60, 50, (50, 1)), figures(70, 55, (60, 9)), figures(80, 60, (70, 5)),
         figures(90, 10)]
    )  # fmt: skip
    lms_ss, lms, ss = found
    # lms 1 2 3 4, ss 2 3 4 1: d² = 1 1 1 9, 1 − 6 · 12/60
    assert (lms_ss["rho"], lms_ss["models"]) == (pytest.approx(-0.2), 4)
    assert (lms["rho"], lms["p"], lms["models"]) == (pytest.approx(1.0), pytest.approx(2 / 6), 3)
    assert ss["rho"] == pytest.approx(0.5)  # 1 2 3 with 1 3 2: 1 − 6 · 2/24
    assert (lms["of"], lms["with"]) == ("lms, intrasentence", "lms, intersentence")
    assert len(compare.correlations([figures(1, 2)])) == 1


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
    # A second folder of the same rules is not another rule.
    old = replace(run("m", "default", p=A), about={"rules": {INTRA: "ll-bos", INTER: "ll-bos"}})
    for plain in (laid(runs[0], runs[4]), laid(run("m", "ll-bos", p=S), old)):
        assert shifts(plain, groups(plain.runs)) == []


# --- ways of scoring, as ACL §7 prints them -------------------------------------------------------


def printed(*tables: str) -> dict[str, list[Any]]:
    """lms on the test set by model: overall, intrasentence and intersentence."""
    found: dict[str, list[Any]] = {}
    for row in choose(tables):
        found.setdefault(row.model, []).append(row.lms)
    return {model: lms for model, lms in found.items() if len(lms) == 3}


# As printed: overall in ACL Table 4 (likelihood) and 5 (pseudo-likelihood), by kind in 6 and 7.
PRINTED = [printed("acl 4", "acl 6"), printed("acl 5", "acl 7")]
# ACL §6: GPT-2 has one way of scoring intrasentence CATs, and two intersentence ones.
RULES = {
    "masked": ({INTRA: "ll", INTER: "nsp"}, {INTRA: "pll", INTER: "pll"}),
    "causal": ({INTRA: "sentence", INTER: "nsp"}, {INTRA: "sentence", INTER: "ratio"}),
    "ensemble": ({INTRA: "mixed", INTER: "nsp"}, {INTRA: "mixed", INTER: "mixed"}),
}


def cell(lms: float, ss: float = 60.0) -> dict[str, Any]:
    return {"overall": {"lms": lms, "ss": ss, "icat": lms * min(ss, 100 - ss) / 50}}


def result(model: str, family: str, rules: dict[str, str], *lms: float) -> dict[str, Any]:
    both, *kinds = lms
    of_kinds = {kind: cell(value) for kind, value in zip(rules, kinds, strict=False)}
    return {"model": model, "family": family, "rules": rules, "kinds": of_kinds, **cell(both)}


def test_the_papers_means_come_out() -> None:
    # «avg lms ll = 79.88, avg lms pll = 79.68»; intrasentence 75.7 and 79.4; intersentence 78.82
    # and 75.98 (ACL §7). The ensemble is in none of them.
    found = []
    for model in PRINTED[0]:
        family = {"Ens": "ensemble", "GPT": "causal"}.get(model[:3], "masked")
        for rules, lms in zip(RULES[family], PRINTED, strict=True):
            found.append(result(model, family, rules, *lms[model]))
    pair = [
        Group("profile", name, "", tuple(range(first, len(found), 2)))
        for first, name in enumerate(("acl-ll", "acl-pll"))
    ]
    both, intra, inter = compare.mechanisms(found, pair)
    assert [round(value, 2) for value in both["lms"]] == [79.88, 79.68]
    assert [round(value, 1) for value in intra["lms"]] == [75.7, 79.4]
    assert [round(value, 2) for value in inter["lms"]] == [78.82, 75.98]
    assert (both["kind"], intra["kind"], inter["kind"]) == ("both", INTRA, INTER)
    assert (both["a"], both["b"]) == ("acl-ll", "acl-pll")
    # Nine models, but intrasentence the six whose rules differ.
    assert len(both["models"]) == len(inter["models"]) == 9
    assert intra["models"] == list(PRINTED[0])[:6]
    assert both["ss"] == pytest.approx([60.0, 60.0])
    assert both["icat"] == pytest.approx([0.8 * value for value in both["lms"]])


def test_only_models_that_have_both_count_and_two_at_least() -> None:
    a, b = {INTRA: "a", INTER: "a"}, {INTRA: "b"}
    found = [result("m", "masked", a, 50, 60, 40), result("n", "masked", a, 70, 80, 60),
             result("o", "masked", a, 0, 0, 0),
             result("m", "masked", b, 10, 10), result("n", "masked", b, 30, 30)]  # fmt: skip
    one, two = Group("rules", "a", "", (0, 1, 2)), Group("rules", "b", "", (3, 4))
    rows = compare.mechanisms(found, [one, two])
    # The second lacks intersentence CATs, so that only intrasentence can be compared.
    assert [(row["kind"], row["models"], row["lms"]) for row in rows] == [
        (INTRA, ["m", "n"], [70.0, 20.0]),
    ]
    # What declares a profile does not say its rules: they may be the same.
    found[4]["rules"] = {}
    for other in ({"runs": (3,)}, {}, {"name": "b+lower"}, {"sort": "alone"}):
        assert compare.mechanisms(found, [one, two._replace(**other)]) == []  # type: ignore[arg-type]


# --- power ----------------------------------------------------------------------------------------

Z2 = 2.8015852**2  # (1.9599640 + 0.8416212)²


def lay(**values: tuple[Three, ...]) -> Board:
    """Runs by name, of each the scores of CATs c0, c1, …, two a term."""
    cats = [cat(f"c{n}", f"t{n // 2}") for n in range(len(next(iter(values.values()))))]
    return board(cats, [
        run(name, **{f"c{n}": three for n, three in enumerate(of)}) for name, of in values.items()
    ])  # fmt: skip


W = (3, 1, 2)  # s > u > a


def test_spread_of_a_pair_and_of_one_model_against_fifty() -> None:
    laid = lay(m=(S, A, S, S), n=(A, A, S, W))
    # ss: m 100 0 100 100, n 0 0 100 100: differences 100 0 | 0 0, means 50 and 0.
    ss = pair_spread(laid, (0, 1), METRICS["ss"])
    # lms: only n's last CAT loses one of two: differences 0 0 | 0 50.
    lms = pair_spread(laid, (0, 1), METRICS["lms"])
    # m against 50: 50 −50 | 50 50, means 0 and 50.
    alone = pair_spread(laid, (0, None), METRICS["ss"])
    assert ss and lms and alone  # noqa: PT018
    assert (ss.mean, ss.of_means, ss.within) == (25.0, 1250.0, 2500.0)  # 2 · 50² over 4 − 2
    assert (lms.mean, lms.within) == (12.5, 625.0)
    assert (alone.mean, alone.of_means, alone.within) == (25.0, 1250.0, 2500.0)
    assert pair_spread(lay(m=(S, A)), (0, None), METRICS["ss"]) is None  # one term


def test_report_of_pairs_takes_the_median_and_the_hardest() -> None:
    laid = lay(m=(S, A, S, S), n=(A, A, S, W), o=(S, S, A, A))
    report = power_report(laid, [0, 1, 2], 5.0)
    assert [part.figure for part in report.figures] == ["lms", "ss"]
    ss = report.figures[1]
    spreads = [pair_spread(laid, pair, METRICS["ss"]) for pair in ((0, 1), (0, 2), (1, 2))]
    least = sorted(detectable(of) for of in spreads if of)
    assert (ss.pairs, ss.detectable, ss.detectable_hardest) == (3, least[1], least[2])
    for row, cats in zip(ss.needed, CATS_A_TERM, strict=True):
        found = sorted(needed_terms(of, 5.0, cats) or 0 for of in spreads if of)
        assert (row.terms, row.terms_hardest) == (found[1], found[2])
        assert row.cats == row.terms * cats


def test_report_of_one_model_and_of_models_that_never_differ() -> None:
    laid = lay(m=(S, A, S, S), n=(S, A, S, S))
    alone = power_report(laid, [0], 5.0)
    assert alone.against == "50"
    assert [part.figure for part in alone.figures] == ["ss"]
    # within 2500 and between 1250 − 2500/2 = 0: ⌈0.31396 · 2500⌉, and two more for Student's t
    needed = alone.figures[0].needed[0]
    assert needed.terms == math.ceil(Z2 / 25 * 2500) + 2
    assert 0.8 <= needed.power < 0.801
    same = power_report(laid, [0, 1], 5.0)
    assert {part.detectable for part in same.figures} == {None}
    assert {row.terms for part in same.figures for row in part.needed} == {None}
    assert power_report(lay(m=(S, A)), [0], 5.0).figures == []

"""The long table's rows and the LaTeX table, as they stand; which CATs they are about."""

import operator
import random
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import orjson
import pandas as pd
import pytest

from curation.catsets.stereoset import of_tier
from curation.files import dump_json
from curation.kinds import ITEMS
from curation.scores import tables as module
from curation.scores.boards import board
from curation.scores.compare import compare_group, run_results
from curation.scores.groups import Comparison, groups
from curation.scores.tables import compact, escape, latex, latex_terms, rule_text, tidy
from curation.scores.terms import Agreement, model_terms
from curation.stats.intervals import FEW
from curation.stats.metrics import METRICS
from curation.stats.tests import holm
from support.boards import A, S, cat, run
from support.expected import fails

STEREOSET = [kind for kind, item in ITEMS.items() if item.in_stereoset]
CATS = [cat("p", "x", "race"), cat("q", "y", "race", "intersentence"), cat("r", "z/w", "a_b & c")]
ABOUT = {
    "family": "masked", "rules": {"intrasentence": "pll", "intersentence": "nsp"},
    "own_head": True, "tokens": {"read": 9, "unknown": 6}, "opened": {"parameters": 110},
}  # fmt: skip
RUNS = [
    replace(run("one_1", "pll_nsp", "", p=S, q=A, r=S), about=ABOUT),
    run("two", "ll-bos", "lower", p=S, q=A),
]
LAID = board(CATS, RUNS)
SIZES = {"two": {"corpus_gb": 16.0}}
FOUND = [
    run_results(LAID, number, profiles=["x", "y"][number:], sizes=SIZES) for number in range(2)
]


def follows(table: dict[str, Any], models: list[str]) -> list[dict[str, Any]]:
    """The rows of all pairs, from a table of a comparison's JSON, as docs/formats.md says."""
    columns = pd.DataFrame(table)
    rows = []
    for metric in METRICS:
        adjusted = holm(table[f"{metric}_p"])
        for number, row in enumerate(columns.to_dict("records")):
            difference, margin = row[f"{metric}_a"] - row[f"{metric}_b"], row[f"{metric}_margin"]
            rows.append({
                "a": models[row["a"]], "b": models[row["b"]], "kind": row["kind"],
                "figure": metric, "a_value": row[f"{metric}_a"], "b_value": row[f"{metric}_b"],
                "difference": difference, "p": row[f"{metric}_p"], "p_holm": adjusted[number],
                "ci": None if pd.isna(margin) else [difference - margin, difference + margin],
                "unsure": bool(row[f"{metric}_unsure"]), "cats": row["cats"],
                "terms": row["terms"], "few_terms": row["terms"] < FEW,
            })  # fmt: skip
    return rows


def test_the_json_of_a_comparison_lacks_only_what_follows_from_it() -> None:
    cats = [cat(f"c{n}", f"t{n // 3}", "race", STEREOSET[n % 2]) for n in range(24)]
    draw = random.Random(1)
    runs = [
        run(name, "ll-bos", **{each.id: draw.choice((A, S)) for each in cats}) for name in "mno"
    ]
    runs.append(run("lacks", "ll-bos", **{each.id: S for each in cats[:20]}))
    both = board(cats, runs)
    every = [run_results(both, number) for number in range(4)]
    (group,) = groups(both.runs)
    whole = compare_group(both, group, every)
    report = Comparison("test", None, None, None, "half", 24, runs=every, groups=[whole])
    small = orjson.loads(dump_json(compact(report), indent=False))
    tables = small["groups"][0]["differences"]
    assert [table["kind"] for table in tables] == ["both", *STEREOSET]
    found = [row for table in tables for row in follows(table, small["groups"][0]["models"])]
    key = operator.itemgetter("kind", "figure", "a", "b")
    assert len(found) == 3 * 3 * 6  # kinds, scores, pairs of four runs
    for mine, full in zip(
        sorted(found, key=key),
        sorted((row._asdict() for row in whole.differences), key=key),
        strict=True,
    ):
        full.pop("what")
        ends = [mine.pop("ci"), full["ci"]]
        assert ends[0] == (ends[1] and pytest.approx(ends[1], abs=1e-3))
        assert mine == pytest.approx({k: v for k, v in full.items() if k != "ci"}, abs=1e-3)
    for mine, full in zip(small["runs"], every, strict=True):
        for part, cells in (
            (mine, full),
            *((mine["kinds"][k], full["kinds"][k]) for k in STEREOSET),
        ):
            rows = pd.DataFrame(part["terms"]).to_dict("records")
            assert [row.pop("term") for row in rows] == [*cells["terms"]]
            for row, cell in zip(rows, cells["terms"].values(), strict=True):
                row["icat"] = row["lms"] * min(row["ss"], 100 - row["ss"]) / 50
                assert cell["too_wide"] == ([*METRICS] if row["ss_ci"] else [])
                for name in ("lms", "ss", "icat", "cats", "ties"):
                    assert row[name] == pytest.approx(cell[name], abs=1e-3)
                for name in ("lms_ci", "ss_ci", "icat_ci"):
                    assert row[name] == (cell[name] and pytest.approx(cell[name], abs=1e-3))


def test_the_long_table_has_a_row_per_metric_of_each_cell() -> None:
    rows = [
        dict(zip(module.COLUMNS, row, strict=True)) for row in tidy(FOUND, split="test", tier=4)
    ]
    mine = [row for row in rows if row["model"] == "one_1"]
    # both kinds: all, two domains, three terms; intra: all, two domains, two terms; inter: all,
    # race, one term
    assert len(mine) == 3 * (6 + 5 + 3)
    at = {(r["kind"], r["domain"], r["term"], r["figure"]): r for r in mine}
    assert len(at) == len(mine)
    race = at["both", "race", "", "ss"]
    # x 100, y 0: two terms, p = 0.5, n = 1, t = 12.706: 50 ± 50 · t / √(1 + t²).
    ends = [race[name] for name in ("value", "low", "high")]
    assert ends == pytest.approx([50.0, 0.154, 99.846], abs=1e-3)
    assert at["both", "race", "y", "ss"]["value"] == 0.0
    term = at["intrasentence", "a_b & c", "z/w", "icat"]
    assert (term["value"], term["low"], term["cats"], term["terms"]) == (0.0, None, 1, 1)
    # The rule is that of the row's kind.
    rules = {kind: at[kind, "all", "", "ss"]["rule"] for kind in ("both", *STEREOSET)}
    assert rules == {
        "both": "pll, nsp (own head)", "intrasentence": "pll", "intersentence": "nsp (own head)",
    }  # fmt: skip
    assert {(r["run"], r["profiles"], r["own_head"], r["flags"]) for r in mine} == {
        ("one_1/pll_nsp", "x y", True, "unknown_tokens own_head")
    }
    assert (mine[0]["parameters"], mine[0]["corpus_gb"], mine[0]["tier"]) == (110, None, 4)
    other = next(row for row in rows if row["model"] == "two")
    assert other | {"rule": "ll-bos", "variant": "lower", "split": "test", "parameters": None,
                    "corpus_gb": 16.0, "flags": ""} == other  # fmt: skip


def test_rules_that_are_not_known_are_shown_as_such() -> None:
    one = {"rules": {}, "declared": "", "own_head": False}
    assert rule_text(one) == "not declared"
    assert rule_text(one | {"declared": "arxiv"}, "intrasentence") == "arxiv, as declared"
    # A trained head of BERT is in the rule.
    rules = {"intrasentence": "attribute-arxiv", "intersentence": "nsp"}
    trained = one | {"rules": rules, "flags": ["trained_head"]}
    assert rule_text(trained) == "attribute-arxiv, nsp (trained head)"


def test_latex_has_a_column_per_metric_and_the_best_icat_in_bold() -> None:
    text = latex(FOUND, caption="50 % of a_b")
    lines = text.splitlines()
    assert (
        r"\caption{50 \% of a\_b \textsuperscript{\ddag}: more than half of the tokens that the"
        r" model read are unknown tokens. \textsuperscript{\S}: nsp uses the model's own head;"
        r" ACL §6.1 trains one for every model. Bold: the highest icat."
        r" *: fewer than five terms.}"
    ) in lines
    assert r"\begin{tabular}{llrrrrrrrrrrr}" in lines
    assert lines[8] == (
        r" & & & & \multicolumn{3}{c}{a\_b \& c} & \multicolumn{3}{c}{race}"
        r" & \multicolumn{3}{c}{Overall} \\"
    )
    # one: a_b & c ss 100; race ss (100 + 0)/2; overall ss (100 + 0 + 100)/3: 100 · 33.33/50.
    # two has no CAT of a_b & c, and so is better overall.
    assert lines[12:14] == [
        r"one\_1\textsuperscript{\ddag}\textsuperscript{\S} & pll, nsp (own head) & 0.11K & --"
        r" & 100.00* & 100.00* & \textbf{0.00}* & 100.00* & 50.00* & \textbf{100.00}*"
        r" & 100.00* & 66.67* & 66.67* \\",
        r"two & ll-bos & -- & 16 & -- & -- & -- & 100.00* & 50.00* & \textbf{100.00}*"
        r" & 100.00* & 50.00* & \textbf{100.00}* \\",
    ]
    assert r"\textbf" not in latex(FOUND, caption="c", bold=False)
    # Baselines have no rules, and so no column of them.
    bare = [{k: v for k, v in one.items() if k in ("model", "domains", "overall")} for one in FOUND]
    assert r"one\_1 & 100.00* & " in latex(bare, caption="c")


def test_latex_of_terms_is_table_8() -> None:
    rows = model_terms(FOUND[0], agreement={"race/x": Agreement(81.25)})
    text = latex_terms(FOUND[0], rows, caption="c")
    lines = text.splitlines()
    assert r"\begin{tabular}{llrrrrrrrr}" in lines
    head = lines.index(r"\midrule")
    assert lines[head - 1] == (
        r"Domain & Term & lms & 95\,\% & ss & 95\,\% & icat & 95\,\% & CATs & agreement \\"
    )
    assert lines[head + 1 : head + 7] == [
        r"a\_b \& c & all terms & 100.00* & -- & 100.00* & -- & 0.00* & -- & 1 & -- \\",
        r" & \quad z/w (most) & 100.00 & -- & 100.00 & -- & 0.00 & -- & 1 & -- \\",
        r"\midrule",
        # lms 100 on both: Wilson with two CATs, 100 · 2 / (2 + t²).
        r"race & all terms & 100.00* & 1.2--100.0\textasciitilde{} & 50.00* & 0.2--99.8"
        r" & 100.00* & 0.1--100.0 & 2 & -- \\",
        r" & \quad x (most) & 100.00 & -- & 100.00 & -- & 0.00 & -- & 1 & 81.25 \\",
        r" & \quad y (least) & 100.00 & -- & 0.00 & -- & 0.00 & -- & 1 & -- \\",
    ]


def test_latex_prints_intervals_below_the_values_if_asked() -> None:
    plain = latex(FOUND, caption="c").splitlines()
    lines = latex(FOUND, caption="c", intervals=True).splitlines()
    assert len(lines) == len(plain) + 2
    # one: a_b & c has one term, so no interval; race has x 100 and y 0.
    # Model, rules and two sizes come first.
    assert lines[13].split(" & ")[7:9] == [
        r"{\scriptsize [1.2, 100.0]}\textasciitilde{}",
        r"{\scriptsize [0.2, 99.8]}",
    ]
    assert lines[15].split(" & ")[:7] == [""] * 7  # two has no CAT of the first domain
    same = [line for line in lines if "scriptsize" not in line and "caption" not in line]
    assert same == [line for line in plain if "caption" not in line]
    assert r"\textasciitilde{}: an interval that covers more" in "".join(lines)


def test_latex_is_balanced() -> None:
    text = latex(FOUND, caption=r"{ \ } ~ ^ # $ < > | and 100 %")
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    begun = re.findall(r"\\begin\{(\w+\*?)\}", text)
    assert begun == list(reversed(re.findall(r"\\end\{(\w+\*?)\}", text))) == ["table", "tabular"]
    body = text.split("\\toprule")[1].split("\\bottomrule")[0]
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [6, 12, 12, 12]
    assert not re.search(r"(?<!\\)[#$%_]", text.split("\n", 1)[1])
    assert escape("a\\b") == r"a\textbackslash{}b"
    assert escape("x^2 <y>") == r"x\textasciicircum{}2 \textless{}y\textgreater{}"


def test_cats_of_a_tier_or_above() -> None:
    cats: list[Any] = [SimpleNamespace(tier=tier) for tier in (3, 4, 5, None)]
    assert of_tier(cats, None) == (cats, 0)
    # Those whose votes are not known are counted.
    assert of_tier(cats, 3) == (cats[:3], 1)
    assert of_tier(cats, 4) == (cats[1:3], 1)
    assert of_tier(cats[:3], 5) == (cats[2:3], 0)
    with fails("no CAT of 4 has tier 6 or more; the votes of 1"):
        of_tier(cats, 6)

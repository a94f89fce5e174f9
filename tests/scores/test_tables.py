"""The long table's rows and the LaTeX table, as they stand."""

import re

from curation.records import GOLDS, Cat, CatAssociation, Kind
from curation.scores.compare import run_results
from curation.scores.runs import Run, board
from curation.scores.tables import COLUMNS, escape, latex, parted, tidy


def cat(name: str, target: str, domain: str, kind: Kind = "intrasentence") -> Cat:
    a, b, c = (CatAssociation(id=f"{name}{g[0]}", sentence=g, gold=g) for g in GOLDS)
    return Cat(
        id=name, kind=kind, domain=domain, term="t", target=target, family="f", split="test",
        context="-", associations=(a, b, c),
    )  # fmt: skip


def run(model: str, rule: str, variant: str, **of: tuple[float, float, float]) -> Run:
    scores = {f"{name}{g[0]}": float(value) for name, three in of.items()
              for g, value in zip(GOLDS, three, strict=True)}  # fmt: skip
    return Run(model, rule, variant, scores)


CATS = [cat("p", "x", "race"), cat("q", "y", "race", "intersentence"), cat("r", "z/w", "a_b & c")]
S, A = (3, 2, 1), (2, 3, 1)
RUNS = [run("one_1", "r", "", p=S, q=A, r=S), run("two", "r", "lower", p=S, q=A)]
LAID = board(CATS, RUNS)
FOUND = [run_results(LAID, number, resamples=200) for number in range(2)]


def test_the_long_table_has_a_row_a_figure_of_each_cell() -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in tidy(FOUND, split="test")]
    mine = [row for row in rows if row["model"] == "one_1"]
    # both kinds: all, two domains; intra: all, two domains, two terms; inter: all, race, one term
    assert len(mine) == 3 * (3 + 5 + 3)
    at = {(r["kind"], r["domain"], r["term"], r["figure"]): r for r in mine}
    assert len(at) == len(mine)
    assert at["both", "race", "", "ss"]["value"] == 50.0  # x 100, y 0
    assert at["both", "race", "", "ss"]["low"] == 0.0
    assert at["both", "race", "", "ss"]["high"] == 100.0
    term = at["intrasentence", "a_b & c", "z/w", "icat"]
    assert (term["value"], term["low"], term["cats"], term["terms"]) == (0.0, None, 1, 1)
    other = next(row for row in rows if row["model"] == "two")
    assert (other["rule"], other["variant"], other["split"]) == ("r", "lower", "test")


def test_a_domain_may_hold_a_slash() -> None:
    one = {"domains": {"a": {}, "a/b": {}}}
    assert parted("a/b/c", one) == ("a/b", "c")
    assert parted("a/c", one) == ("a", "c")


def test_latex_has_a_column_a_figure_and_the_best_icat_in_bold() -> None:
    text = latex(FOUND, caption="50 % of a_b", ways=True)
    lines = text.splitlines()
    assert r"\caption{50 \% of a\_b}" in lines
    assert r"\begin{tabular}{lrrrrrrrrr}" in lines
    assert lines[8] == (
        r" & \multicolumn{3}{c}{a\_b \& c} & \multicolumn{3}{c}{race}"
        r" & \multicolumn{3}{c}{Overall} \\"
    )
    # one: a_b & c ss 100; race ss (100 + 0)/2; overall ss (100 + 0 + 100)/3: 100 · 33.33/50.
    # two has no CAT of a_b & c, and so is better overall.
    assert lines[12:14] == [
        r"one\_1 (r) & 100.00 & 100.00 & \textbf{0.00} & 100.00 & 50.00 & \textbf{100.00}"
        r" & 100.00 & 66.67 & 66.67 \\",
        r"two (r+lower) & -- & -- & -- & 100.00 & 50.00 & \textbf{100.00}"
        r" & 100.00 & 50.00 & \textbf{100.00} \\",
    ]
    assert r"one\_1 & " in latex(FOUND, caption="c")


def test_latex_prints_intervals_below_the_values_where_asked() -> None:
    plain = latex(FOUND, caption="c").splitlines()
    lines = latex(FOUND, caption="c", intervals=True).splitlines()
    assert len(lines) == len(plain) + 2
    # one: a_b & c has one term, so no interval; race has x 100 and y 0, so ss from 0 to 100 and
    # lms 100 in every draw.
    low, high = FOUND[0]["domains"]["race"]["ss_ci"]
    assert (low, high) == (0.0, 100.0)
    assert lines[13].split(" & ")[4:6] == [
        r"{\scriptsize [100.0, 100.0]}",
        r"{\scriptsize [0.0, 100.0]}",
    ]
    assert lines[15].split(" & ")[:4] == [""] * 4  # two has no CAT of the first domain
    assert [line for line in lines if "scriptsize" not in line] == plain


def test_latex_without_bold() -> None:
    assert r"\textbf" in latex(FOUND, caption="c")
    assert r"\textbf" not in latex(FOUND, caption="c", bold=False)


def test_latex_is_balanced() -> None:
    text = latex(FOUND, caption=r"{ \ } ~ ^ # $ < > | and 100 %")
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    begun = re.findall(r"\\begin\{(\w+\*?)\}", text)
    assert begun == list(reversed(re.findall(r"\\end\{(\w+\*?)\}", text))) == ["table", "tabular"]
    body = text.split("\\toprule")[1].split("\\bottomrule")[0]
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [3, 9, 9, 9]
    assert not re.search(r"(?<!\\)[#$%_]", text.split("\n", 1)[1])


def test_escapes() -> None:
    assert escape("a\\b") == r"a\textbackslash{}b"
    assert escape("x^2 <y>") == r"x\textasciicircum{}2 \textless{}y\textgreater{}"

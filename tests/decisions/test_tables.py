"""The agreement report as one long table, and tables as LaTeX."""

from pathlib import Path

from curation.decisions.agreement import TIDY, latex, tidy
from curation.files import read_json


def test_one_long_table_has_a_row_per_value(example: Path) -> None:
    report = read_json(example / "3-decisions/agreement.json")
    rows = tidy(report, measures=["alpha"])
    assert all(tuple(row) == TIDY for row in rows)
    assert {row["by"] for row in rows} == {"overall", "domain/kind"}
    overall = next(r for r in report["measures"] if r["measure"] == "alpha")
    first = rows[0]
    assert [first["value"], first["low"], first["high"]] == [overall["value"], *overall["ci"]]
    more = tidy(report, measures=["alpha"], by=["term", "annotator"])
    assert sum(row["measure"] == "% with others" for row in more) == len(report["annotators"])
    assert sum(row["measure"] == "% agreement" for row in more) == 2 * len(report["terms"])


def test_a_latex_table_escapes_its_cells() -> None:
    text = latex("Kept", ["term_id", "%"], [["R&B", 1.5], ["a–b", None]], show=lambda c: f"{c}")
    assert text.splitlines() == [
        "% Kept",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"term\_id & \% \\",
        r"\midrule",
        r"R\&B & 1.5 \\",
        r"a--b & None \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]

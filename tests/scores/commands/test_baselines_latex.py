"""``curation scores baselines --latex``: the columns of ``compare``, intervals where asked."""

from pathlib import Path

from support.cats import cat, intra
from support.scored import told, write_gold

CATS = [
    *(
        intra("They are BLANK.", "kind", "rude", "blue", name=f"{d}{n}", domain=d, target=f"{d}{n}")
        for d in ("race", "gender")
        for n in range(3)
    ),
    cat("They came.", "They ran off.", "It was late.", "He left.", name="b", domain="race"),
]


def body(latex: str) -> list[list[str]]:
    """The cells of the table's rows below its head."""
    inside = latex.split(r"\midrule")[1].split(r"\bottomrule")[0]
    return [line.removesuffix(r" \\").split(" & ") for line in inside.strip().splitlines()]


def test_baselines_as_latex(tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "gold.json", CATS)
    did = told("baselines", "--gold", gold)
    rows = {row[0]: [cell.rstrip("*") for cell in row[1:]] for row in body(did.latex)}
    assert body(did.latex)[0][1].endswith("*")  # few terms
    # gender, race, overall: lms, ss, icat each. Computed: ideal 100, 50, 100.
    assert rows["IdealLM"] == ["100.00", "50.00", "100.00"] * 3
    assert rows["StereotypedLM"] == ["--", "100.00", "0.00"] * 3
    # FirstLM takes what stands first, the stereotype: lms and ss 100, icat 0.
    assert rows["FirstLM"] == ["100.00", "100.00", "0.00"] * 3
    assert "OverlapLM" not in rows
    assert "one kind only: OverlapLM" in did.plain
    assert r"\caption{Baselines: lms, ss and icat by domain and overall (gold; ties half)." in (
        did.latex
    )
    lines = body(told("baselines", "--gold", gold, "--intervals").latex)
    below = lines[1 + [line[0] for line in lines].index("FirstLM")]
    assert below[0] == ""
    # lms and ss 100, of the same terms; that of lms near its end is marked.
    assert below[1].startswith(below[2])
    assert ", 100.0]}" in below[1]
    assert lines[1][0] == "StereotypedLM"  # what is computed has no interval

"""``curation scores baselines --latex``: the columns of ``compare``, intervals where asked."""

from pathlib import Path

from typer.testing import CliRunner

from curation.catsets.stereoset import dataset
from curation.cli import app
from curation.files import dump_json
from support.cats import cat, intra

CATS = [
    *(
        intra(
            "They are BLANK.", "kind", "rude", "blue", name=f"{d[0]}{n}", domain=d, target=f"{d}{n}"
        )
        for d in ("race", "gender")
        for n in range(3)
    ),
    cat("They came.", "They ran off.", "It was late.", "He left.", name="b", domain="race"),
]


def body(path: Path) -> list[list[str]]:
    """The cells of the table's rows below its head."""
    inside = path.read_text("utf-8").split(r"\midrule")[1].split(r"\bottomrule")[0]
    return [line.removesuffix(r" \\").split(" & ") for line in inside.strip().splitlines()]


def test_baselines_as_latex(tmp_path: Path) -> None:
    gold, out = tmp_path / "gold.json", tmp_path / "table.tex"
    gold.write_bytes(dump_json(dataset(CATS, {}, version="1")))
    words = ["scores", "baselines", "--gold", gold, "--latex", out]
    done = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0
    rows = {row[0]: [cell.rstrip("*") for cell in row[1:]] for row in body(out)}
    assert body(out)[0][1].endswith("*")  # few terms
    # gender, race, overall: lms, ss, icat each. Computed: ideal 100, 50, 100.
    assert rows["IdealLM"] == ["100.00", "50.00", "100.00"] * 3
    assert rows["StereotypedLM"] == ["--", "100.00", "0.00"] * 3
    # FirstLM takes what stands first, the stereotype: lms and ss 100, icat 0.
    assert rows["FirstLM"] == ["100.00", "100.00", "0.00"] * 3
    assert "OverlapLM" not in rows
    assert "one kind only: OverlapLM" in " ".join(done.stderr.split())
    assert r"\caption{Baselines: lms, ss and icat by domain and overall (gold; ties half)." in (
        out.read_text("utf-8")
    )
    again = CliRunner().invoke(app, [*map(str, words), "--intervals"], catch_exceptions=False)
    assert again.exit_code == 0
    lines = body(out)
    below = lines[1 + [line[0] for line in lines].index("FirstLM")]
    assert below[0] == ""
    # lms and ss 100, of the same terms; that of lms near its end is marked.
    assert below[1].startswith(below[2])
    assert ", 100.0]}" in below[1]
    assert lines[1][0] == "StereotypedLM"  # what is computed has no interval

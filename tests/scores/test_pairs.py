"""Models and baselines side by side on pairs: tables, CSV, LaTeX and JSON."""

from pathlib import Path

import pytest

from curation.campaign.source import Source
from curation.files import CurationError
from curation.scores import comparing, tables
from curation.scores.commands.tables import show_comparison
from curation.scores.compare import paired
from curation.scores.groups import Comparison
from curation.scores.results import score_predictions
from support.boards import CATS, S, laid, run
from support.cats import cat
from support.pairs import pair, scores, write_scores

W, L = (2.0, 1.0), (1.0, 2.0)
PAIRS = [
    pair("p", "old / young", "Old men sing.", "Aged men sing."),  # longer, more frequent: no, yes
    pair("q", "old / elderly", "Old men read.", "Elderly men read.", direction="antistereo"),
    pair("r", "bold / timid", "Timid cooks sing.", "Bold cooks sing."),
]


@pytest.fixture
def compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comparison:
    monkeypatch.setattr(comparing, "read_agreement", lambda source: {})
    file = write_scores(tmp_path / "m.csv", scores(p=W, q=L, r=W))
    source = Source(PAIRS, "gold", "en", tmp_path / "none")
    return comparing.compare_runs(source, predictions=[f"m={file}"])


def test_baselines_are_beside_the_model(
    compared: Comparison, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [each["model"] for each in compared.baselines] == ["UnigramLM", "LongestLM"]
    _, longest = (each["kinds"]["pair"] for each in compared.baselines)
    assert longest["directions"]["antistereo"]["ss"] == 0.0  # «Elderly» is longer
    assert longest["directions"]["stereo"]["ss"] == 50.0  # «Timid» is longer, «Old» is not
    show_comparison(compared)
    out = capsys.readouterr().out
    assert "pairs" in out
    assert "clusters" in out
    assert "antistereo LongestLM" in out


def test_files_have_directions_and_baselines(compared: Comparison) -> None:
    runs = [*compared.runs, *tables.as_runs(compared.baselines)]
    names = tables.columns(runs)
    rows = [dict(zip(names, row, strict=True)) for row in tables.tidy(runs, split="gold")]
    value = {(r["model"], r["direction"]): r["value"] for r in rows if r["domain"] == "all"}
    assert (value["m", "stereo"], value["m", "antistereo"]) == (100.0, 0.0)
    assert value["m", ""] == pytest.approx(200 / 3)
    assert ("LongestLM", "stereo") in value
    assert "LongestLM & baseline" in tables.latex_report(compared, intervals=False)
    small = tables.compact(compared)
    assert [each["model"] for each in small["baselines"]] == ["UnigramLM", "LongestLM"]


def test_sets_without_pairs_have_none_of_this() -> None:
    report = Comparison("test", None, None, None, "half", 4)
    assert "baselines" not in tables.compact(report)
    assert tables.columns([]) == tables.COLUMNS
    board = laid(run("m", p=S, q=S, r=S, t=S))
    assert len(board.cats) == len(CATS)
    assert "direction" not in board.cats
    assert board.pooled.all()
    assert not paired(board, [])


def test_power_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "read_agreement", lambda source: {})
    file = write_scores(tmp_path / "m.csv", scores(p=W, q=L, r=W))
    source = Source(PAIRS, "gold", "en", tmp_path / "none")
    with pytest.raises(CurationError, match="share of all pairs"):
        comparing.compare_runs(source, predictions=[f"m={file}"], power=2.0)


def test_a_score_file_of_the_original_is_matched_by_its_sentences(tmp_path: Path) -> None:
    names = "sent_more,sent_less,sent_more_score,sent_less_score,score"
    rows = [
        f"{more}, {less} ,{scored}"
        for one, scored in zip(PAIRS, ("-1.5,-2,1", "-3,-2,0", "-1,-1,0"), strict=True)
        for more, less in [[a.sentence for a in one.associations]]
    ]
    path = tmp_path / "results.csv"
    path.write_text("\n".join([names, *rows, rows[0], "Some other.,Pair here.,-1,-2,1"]), "utf-8")
    source = Source(PAIRS, "gold", "en", tmp_path / "none")
    found = score_predictions(path, source, ties="official")
    assert found["overall"]["ss"] == pytest.approx(100 / 3)
    assert found["overall"]["ties"] == 1


def test_a_kind_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    triple = cat("The baker came.", "He sang.", "He was quiet.", "It rained.")
    source = Source([*PAIRS, triple], "gold", "en", tmp_path / "none")
    assert [one.kind for one in source.of_kind("pair").cats] == ["pair"] * 3
    with pytest.raises(
        CurationError, match="no intrasentence CAT, only intersentence and pair CATs"
    ):
        source.of_kind("intrasentence")

"""Parameters and corpora: from run.json and from a file; correlations with them."""

from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError
from curation.scores.sizes import read_sizes, size_correlations, sizes_of


def file(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_sizes_are_read_and_cells_may_be_empty(tmp_path: Path) -> None:
    text = "model, parameters,corpus_gb\na/b,110000000,16\nc,,40.5\nd,7e9,\n"
    assert read_sizes(file(tmp_path / "s.csv", text)) == {
        "a/b": {"parameters": 110e6, "corpus_gb": 16.0}, "c": {"corpus_gb": 40.5},
        "d": {"parameters": 7e9},
    }  # fmt: skip
    assert read_sizes(file(tmp_path / "s.csv", "corpus_gb,model\n1,a\n")) == {
        "a": {"corpus_gb": 1.0}
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,parameters\nm,1\n", "s.csv line 1: the columns are name, parameters"),
        ("model,size\nm,1\n", "line 1: the columns are model, size"),
        ("model,parameters\nm,1\nm,2\n", "line 3: the model «m» is there twice"),
        ("model,parameters\n,1\n", "line 2: no model"),
        ("model,parameters\nm,110M\n", "line 2: parameters is «110M», not a number above 0"),
        ("model,corpus_gb\nm,-1\n", "line 2: corpus_gb is «-1», not a number above 0"),
        ("model,corpus_gb\nm,inf\n", "not a number above 0"),
    ],
)
def test_errors_in_sizes_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CurationError, match=message):
        read_sizes(file(tmp_path / "s.csv", text))


def test_the_file_of_sizes_takes_precedence_and_completes() -> None:
    about = {"opened": {"parameters": 124}}
    assert sizes_of("m", about, {}) == {"parameters": 124, "corpus_gb": None}
    given = {"m": {"parameters": 100.0}, "n": {"corpus_gb": 9.0}}
    assert sizes_of("m", about, given) == {"parameters": 100.0, "corpus_gb": None}
    assert sizes_of("n", about, given) == {"parameters": 124, "corpus_gb": 9.0}
    assert sizes_of("o", {}, given) == {"parameters": None, "corpus_gb": None}


def test_correlations_are_over_three_models_or_more_whose_size_is_known() -> None:
    def model(lms: float, ss: float, parameters: float | None) -> dict[str, Any]:
        overall = {"lms": lms, "ss": ss}
        return {"overall": overall, "parameters": parameters, "corpus_gb": None}

    # ACL Table 4: lms and ss of GPT-2 in three sizes, all in order.
    three = [model(83.6, 56.4, 117e6), model(85.9, 58.2, 345e6), model(88.3, 60.0, 774e6)]
    found = size_correlations([*three, model(1, 99, None)])
    assert [(row["of"], row["with"], row["models"]) for row in found] == [
        ("lms", "parameters", 3), ("ss", "parameters", 3),
    ]  # fmt: skip
    # Two orders of six are as far from 0 as 1 2 3: 1 2 3 and 3 2 1.
    assert [(row["rho"], row["p"]) for row in found] == [
        (pytest.approx(1.0), pytest.approx(2 / 6))
    ] * 2
    assert size_correlations(three[:2]) == []


def test_correlations_with_the_papers_corpora() -> None:
    # ACL §7: BERT 16, RoBERTa 160, XLNet 158, GPT-2 40 GB. Table 4, base models' lms and ss:
    # ranks of GB 1 4 3 2; of lms 85.4 68.2 67.7 83.6: 4 2 1 3; d² = 9 4 4 1, 1 − 6 · 18/60.
    models: list[dict[str, Any]] = [
        {"overall": {"lms": lms, "ss": ss}, "parameters": None, "corpus_gb": gb}
        for lms, ss, gb in (
            (85.4, 58.3, 16),
            (68.2, 50.5, 160),
            (67.7, 54.1, 158),
            (83.6, 56.4, 40),
        )
    ]
    lms, ss = size_correlations(models)
    assert (lms["with"], lms["rho"]) == ("corpus, GB", pytest.approx(-0.8))
    # ss 58.3 50.5 54.1 56.4: 4 1 2 3; d² = 9 9 1 1, 1 − 6 · 20/60.
    assert ss["rho"] == pytest.approx(-1.0)

"""``curation measures count``: from files to a table of counted words, and errors with fixes."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from curation.measures.counting import read_counts
from support.commands import refused, well
from support.strike import strike, times


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("The kind baker.\nA kind smith.\n", "utf-8")
    return path


def test_a_corpus_is_counted(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "counts.tsv.gz"
    said = well("measures", "count", corpus, "--out", out, "--workers", 1).out
    assert said == f"6 words, 5 of them different, in 1 file (30 bytes, 2 lines): {out}\n"
    counts = read_counts(out, language="en")
    assert counts.counts == {"kind": 2, "a": 1, "baker": 1, "smith": 1, "the": 1}
    assert [one["file"] for one in counts.files] == ["corpus.txt"]
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"body": "Kind."}) + "\n", "utf-8")
    well("measures", "count", more, "--out", out, "--field", "body", "--language", "de")
    assert read_counts(out).language == "de"


@pytest.mark.long
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_count_that_is_killed_or_stopped_and_given_again(
    forked: Any, corpus: Path, tmp_path: Path, by: signal.Signals
) -> None:
    def command(folder: Path) -> tuple[Any, ...]:
        return ("measures", "count", corpus, "--out", folder / "counts.tsv.gz")

    whole = tmp_path / "whole"
    moments = times(forked, command(whole), whole)
    assert moments >= 4  # the folder, the file, its content, its name
    for moment in range(1, moments + 1):
        folder = tmp_path / f"ended-{moment}"
        died = forked(*command(folder), before=strike(folder, at=moment, by=by))
        assert died.code == (-by if by == signal.SIGKILL else 128 + by)
        left = {path.name for path in folder.glob("*")}
        hidden = {name for name in left if name.startswith(".")}
        assert left - hidden <= {"counts.tsv.gz"}
        assert by == signal.SIGKILL or not hidden
        well(*command(folder))
        (made,) = folder.iterdir()
        assert made.read_bytes() == (whole / "counts.tsv.gz").read_bytes()


def test_what_cannot_be_counted_says_so(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for more, what, fix in (
        (["--out", "counts.csv"], "counts.csv: not a name for a table", ".tsv.gz"),
        (
            ["--out", "c.tsv", "--language", "th"],
            "texts in «th» cannot be split", "cannot be counted",
        ),
        (["missing.txt", "--out", "c.tsv"], "missing.txt: no such file", "check the path"),
    ):  # fmt: skip
        error, fixes = refused("measures", "count", corpus, *more).strip().splitlines()
        assert what in error
        assert fix in fixes
    assert list(tmp_path.iterdir()) == [corpus]

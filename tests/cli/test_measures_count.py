"""``curation measures count``: from files to a table of counted words, and errors with fixes."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from curation.measures.counting import read_counts
from support.strike import strike, times


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("The kind baker.\nA kind smith.\n", "utf-8")
    return path


def test_a_corpus_is_counted(forked: Any, corpus: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"body": "Kind."}) + "\n", "utf-8")
    out = tmp_path / "new" / "counts.tsv.gz"
    done = forked("measures", "count", corpus, "--out", out, "--workers", 1)
    assert done.code == 0, done.err
    assert done.out == (f"6 words, 5 of them different, in 1 file (30 bytes, 2 lines): {out}\n")
    counts = read_counts(out, language="en")
    assert counts.counts == {"kind": 2, "a": 1, "baker": 1, "smith": 1, "the": 1}
    assert [one["file"] for one in counts.files] == ["corpus.txt"]
    done = forked("measures", "count", more, "--out", out, "--field", "body", "--language", "de")
    assert done.code == 0, done.err
    assert read_counts(out).language == "de"


@pytest.mark.long
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_count_that_is_killed_or_stopped_and_given_again(
    forked: Any, corpus: Path, tmp_path: Path, by: signal.Signals
) -> None:
    def command(folder: str) -> tuple[Any, ...]:
        return ("measures", "count", corpus, "--out", tmp_path / folder / "counts.tsv.gz")

    whole = tmp_path / "whole"
    moments = times(forked, command("whole"), whole)
    assert moments >= 4  # the folder, the file, its content, its name
    for moment in range(1, moments + 1):
        folder = tmp_path / f"ended-{moment}"
        died = forked(*command(folder.name), before=strike(folder, at=moment, by=by))
        assert died.code == (-by if by == signal.SIGKILL else 128 + by)
        left = [path.name for path in folder.glob("*")]
        assert {name for name in left if not name.startswith(".")} <= {"counts.tsv.gz"}
        assert by == signal.SIGKILL or not any(name.startswith(".") for name in left)
        assert forked(*command(folder.name)).code == 0
        (made,) = folder.iterdir()
        assert made.read_bytes() == (whole / "counts.tsv.gz").read_bytes()


@pytest.mark.parametrize(
    ("more", "what", "fix"),
    [
        (["--out", "counts.csv"], "counts.csv: not a name for a table", ".tsv.gz"),
        (
            ["--out", "c.tsv", "--language", "th"],
            "texts in «th» cannot be split",
            "cannot be counted",
        ),
        (["missing.txt", "--out", "c.tsv"], "missing.txt: no such file", "check the path"),
    ],
)
def test_what_cannot_be_counted_says_so(
    forked: Any, corpus: Path, tmp_path: Path, monkeypatch: Any,
    more: list[str], what: str, fix: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = forked("measures", "count", corpus, *more)
    assert done.code == 1
    error, fixes = done.err.strip().splitlines()
    assert error.startswith("error: ")
    assert what in error
    assert fix in fixes
    assert list(tmp_path.iterdir()) == [corpus]

"""``curation scores published``: the printed tables alone, and beside runs."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from curation.cli import app
from curation.files import CurationError, dump_json, dump_line
from curation.records import Score
from curation.scores.printed import targets
from curation.stereoset import dataset
from support.cats import intra

CATS = [
    intra("They are BLANK.", "a", "b", "c", name=f"g{n}", domain="gender", target=one.term)
    for n, one in enumerate(t for t in targets() if (t.domain, t.split) == ("gender", "dev"))
]


def published(*words: str | Path) -> Result:
    done = CliRunner().invoke(
        app, ["scores", "published", *map(str, words)], catch_exceptions=False
    )
    assert done.exit_code == 0
    return done


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.json"
    path.write_bytes(dump_json(dataset(CATS, {}, version="1")))
    return path


def test_without_runs_it_lists_the_tables(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    said = published("--table", "acl 4", "--table", "arxiv 7", "--split", "dev", "--json", out)
    assert "ACL 2021" not in said.stdout  # ACL Table 4 is on test
    assert "arXiv 2020, Table 7, profile arxiv" in said.stdout
    rows = json.loads(out.read_text("utf-8"))["rows"]
    assert len(rows) == 110
    assert (rows[1]["model"], rows[1]["lms"]) == ("SentimentLM", 36.45)


def test_runs_stand_beside_the_printed_rows(gold: Path, tmp_path: Path) -> None:
    folder = tmp_path / "scores" / "openai-community--gpt2" / "ll-bos"
    folder.mkdir(parents=True)
    lines = [
        dump_line(Score(model="openai-community/gpt2", rule="ll-bos", association=a.id, value=v))
        for one in CATS
        for a, v in zip(one.associations, (3.0, 2.0, 1.0), strict=True)
    ]
    (folder / "scores.jsonl").write_bytes(b"".join(lines))
    about = {"model": "openai-community/gpt2", "rules": {"intrasentence": "ll-bos"}}
    (folder / "run.json").write_bytes(dump_json(about))
    file = tmp_path / "p.json"
    scores = [
        {"id": a.id, "score": v}
        for one in CATS
        for a, v in zip(one.associations, (2.0, 3.0, 1.0), strict=True)
    ]
    file.write_bytes(dump_json({"intrasentence": scores}))
    out = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "latex")}
    done = published(
        *("--gold", gold, "--scores", tmp_path / "scores"),
        *("--predictions", f"roberta-base={file}", "--predictions", f"bakery={file}"),
        *(part for name, path in out.items() for part in (f"--{name}", path)),
    )
    rows = json.loads(out["json"].read_text("utf-8"))["rows"]
    assert [(row["model"], row["rule"], row["same_rule"]) for row in rows] == [
        ("GPT2", "ll-bos", False),
        ("RoBERTa-base", "predictions", None),
    ]
    # Printed ss of RoBERTa-base 54.21; here the anti-stereotype always wins.
    figure = rows[1]["figures"]["ss"]
    assert (figure["printed"], figure["value"]) == (54.21, 0.0)
    assert "other: ll-bos" in done.stdout
    assert "rule: the run was scored by another rule than the table" in done.stdout
    assert "Not among the printed models: bakery." in " ".join(done.stderr.split())
    with out["csv"].open(encoding="utf-8") as read:
        assert len(list(csv.DictReader(read))) == 6
    assert r"\begin{longtable}" in out["latex"].read_text("utf-8")


def test_nothing_to_stand_beside_is_a_warning(gold: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_bytes(dump_json({"intrasentence": [{"id": "x", "score": 1.0}]}))
    done = published("--gold", gold, "--predictions", f"gpt2={file}")
    assert "no scores for these 10 dev CATs" in " ".join(done.stderr.split())
    assert "no printed row has the model" in " ".join(done.stderr.split())


def test_runs_need_a_gold_file(tmp_path: Path) -> None:
    with pytest.raises(CurationError, match="runs without a gold file"):
        published("--scores", tmp_path)

"""``curation scores published``: the printed tables alone, and beside runs."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from curation.catsets.stereoset import dataset
from curation.cli import app, console
from curation.files import CurationError, dump_json, dump_line
from curation.records import Cat, Score
from curation.scores.published import tables, targets
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
    text = published("--table", "acl 4", "--table", "arxiv 7", "--split", "dev", "--json", out)
    assert "ACL 2021" not in text.stdout  # ACL Table 4 is on test
    assert "arXiv 2020, Table 7, profile arxiv" in text.stdout
    rows = json.loads(out.read_text("utf-8"))["rows"]
    assert len(rows) == 110
    assert (rows[1]["model"], rows[1]["lms"]) == ("SentimentLM", 36.45)
    bert = next(row for row in rows if row["model"] == "BERT-base")
    assert (bert["profile"], bert["numbers"], bert["basis"]) == ("arxiv", ["code"], "files")
    assert "numbers by" in text.stdout


def test_without_options_it_lists_the_tables(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    text = published("--json", out).stdout
    lines = [line.split() for line in text.splitlines()]
    # Source, name for --table, split, profile, rows.
    assert ["arXiv", "2020,", "Table", "7", "arxiv", "7", "dev", "arxiv", "110"] in lines
    assert ["ACL", "2021,", "Table", "8", "acl", "8", "dev", "acl-ll", "8"] in lines
    assert len(lines) < 25
    assert "RoBERTa" not in text
    assert 'Show one with «--table "acl 4"», or all with «--table all».' in text
    assert len(json.loads(out.read_text("utf-8"))["rows"]) == 360
    whole = published("--table", "all").stdout
    assert whole.count("RoBERTa-large") == sum(r.model == "RoBERTa-large" for r in tables())


def test_a_gold_file_without_runs_is_a_warning(gold: Path) -> None:
    done = published("--gold", gold)
    text = " ".join(done.stderr.split())
    assert "no runs are given: name them with --scores DIR or --predictions NAME=FILE" in text
    assert "Show one with" in done.stdout
    assert "RoBERTa" not in done.stdout


def write_predictions(file: Path, three: tuple[float, ...], cats: list[Cat] = CATS) -> Path:
    scores = [
        {"id": a.id, "score": v}
        for one in cats
        for a, v in zip(one.associations, three, strict=True)
    ]
    file.write_bytes(dump_json({"intrasentence": scores}))
    return file


def test_marks_are_in_the_table_and_in_the_files(tmp_path: Path) -> None:
    terms = [one.term for one in targets() if (one.domain, one.split) == ("religion", "dev")]
    cats = [
        intra("They are BLANK.", "a", "b", "c", name=f"r{n}", domain="religion", target=term)
        for n, term in enumerate(terms)
    ]
    gold = tmp_path / "gold.json"
    gold.write_bytes(dump_json(dataset(cats, {}, version="1")))
    file = write_predictions(tmp_path / "p.json", (1.0, 1.0, 1.0), cats)
    out = {name: tmp_path / f"out.{name}" for name in ("json", "csv")}
    done = published(
        *("--gold", gold, "--predictions", f"gpt2@arxiv={file}", "--intervals"),
        *(part for name, path in out.items() for part in (f"--{name}", path)),
    )
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("GPT2"))
    # All comparisons are ties, which are lost: lms 0, of three terms.
    assert row[:6] == ["GPT2†", "religion*", "arxiv", "lms", "88.46", "0.00"]
    assert row[6].endswith("~")
    for note in ("† more than half of the model's comp", "* fewer than five", "~ an interval that"):
        assert note in done.stdout
    assert "inside: the printed value, as rounded, is in the interval" in done.stdout
    (found,) = json.loads(out["json"].read_text("utf-8"))["rows"]
    assert (found["flags"], found["too_wide"], found["few_terms"]) == (["ties"], ["lms"], True)
    with out["csv"].open(encoding="utf-8") as read:
        lms, *_ = csv.DictReader(read)
    assert (lms["flags"], lms["too_wide"], lms["few_terms"]) == ("ties", "True", "True")


def test_predictions_without_a_record_of_their_head_are_marked(tmp_path: Path) -> None:
    cats = [one.model_copy(update={"kind": "intersentence"}) for one in CATS]
    gold, file = tmp_path / "gold.json", tmp_path / "p.json"
    gold.write_bytes(dump_json(dataset(cats, {}, version="1")))
    rows = [{"id": a.id, "score": float(n)} for c in cats for n, a in enumerate(c.associations)]
    file.write_bytes(dump_json({"intersentence": rows}))
    text = published("--gold", gold, "--predictions", f"gpt2@arxiv={file}").stdout
    assert "GPT2◊" in text
    assert "gpt2/arxiv: no record of how the next-sentence head was trained" in text


def test_a_tier_is_in_the_title_and_a_reason(tmp_path: Path) -> None:
    cats = [cat.model_copy(update={"tier": 3 + n % 2}) for n, cat in enumerate(CATS)]
    gold, out = tmp_path / "gold.json", tmp_path / "out.json"
    gold.write_bytes(dump_json(dataset(cats, {}, version="1")))
    file = write_predictions(tmp_path / "p.json", (3.0, 2.0, 1.0))
    for tier, cells in ((4, 5), (3, 10)):
        done = published(
            *("--gold", gold, "--predictions", f"gpt2@arxiv={file}"),
            *("--tier", str(tier), "--json", out),
        )
        title = f"arXiv 2020, Table 7, dev, intrasentence, CATs of tier {tier} or more"
        assert title in done.stdout
        report = json.loads(out.read_text("utf-8"))
        (row,) = report["rows"]
        assert (report["tier"], row["cats"], "part" in row["why"]) == (tier, cells, tier == 4)


def test_tables_fit_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_predictions(tmp_path / "p.json", (3.0, 2.0, 1.0))
    gold = tmp_path / "gold.json"
    gold.write_bytes(dump_json(dataset(CATS, {}, version="1")))
    monkeypatch.setattr(console.out, "width", 110)

    def shown(*runs: str) -> list[str]:
        named = (part for run in runs for part in ("--predictions", f"{run}={file}"))
        return published("--gold", gold, *named).stdout.splitlines()

    lines = shown("google-bert/bert-base-cased@pll_nsp", "gpt2@ll-bos_nsp", "roberta-large")
    assert max(len(line.rstrip()) for line in lines) <= 110
    # Model and rule tell all runs: a line a figure, without the run.
    (head,) = [line for line in lines if line.startswith("model")]
    assert "run" not in head.split()
    assert len([line for line in lines if line.startswith("BERT-base")]) == 3
    assert [line.split()[-1] for line in lines if line.startswith("BERT-base")] == ["casing"] * 3
    lines = shown("google-bert/bert-base-cased", "google-bert/bert-base-uncased")
    (head,) = [line for line in lines if line.startswith("model")]
    assert head.split()[:4] == ["model", "domain", "run", "rule"]
    names = [line.split()[2] for line in lines if line.startswith("BERT-base")]
    assert names == ["bert-base-cased"] * 3 + ["bert-base-uncased"] * 3


def test_help_names_the_rules_of_predictions() -> None:
    help_text = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["scores", "published", "--help"])
    assert "NAME[@RULES]=FILE" in help_text.stdout


def test_runs_are_beside_the_printed_rows(gold: Path, tmp_path: Path) -> None:
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
    assert "rule: the run was scored by another rule than the printed" in done.stdout
    assert "These models are not in the printed tables: bakery." in " ".join(done.stderr.split())
    with out["csv"].open(encoding="utf-8") as read:
        assert len(list(csv.DictReader(read))) == 6
    assert r"\begin{longtable}" in out["latex"].read_text("utf-8")


def test_no_matching_printed_row_is_a_warning(gold: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_bytes(dump_json({"intrasentence": [{"id": "x", "score": 1.0}]}))
    done = published("--gold", gold, "--predictions", f"gpt2={file}")
    assert "has no scores for the 10 dev CATs" in " ".join(done.stderr.split())
    assert "no printed row matches the model" in " ".join(done.stderr.split())


def test_runs_need_a_gold_file(tmp_path: Path) -> None:
    with pytest.raises(CurationError, match="your runs need a gold file"):
        published("--scores", tmp_path)

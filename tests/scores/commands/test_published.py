"""``curation scores published``: the printed tables alone, and beside runs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from curation.cli import app
from curation.records import Cat
from curation.scores.published import tables, targets
from curation.terminal import console
from support.cats import intra
from support.scored import Of, predicted, put, refused, told, write_gold


def of_domain(domain: str) -> list[Cat]:
    """A CAT for each of the papers' dev terms of a domain."""
    terms = [one.term for one in targets() if (one.domain, one.split) == (domain, "dev")]
    return [
        intra("They are BLANK.", "a", "b", "c", name=f"{domain[0]}{n}", domain=domain, target=term)
        for n, term in enumerate(terms)
    ]


CATS = of_domain("gender")


def fixed(**values: float) -> Of:
    """The same scores for each CAT, by gold label."""
    return lambda _, gold: values[gold[0]]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write_gold(tmp_path / "gold.json", CATS)


def test_without_runs_it_lists_the_tables() -> None:
    did = told("published", "--table", "acl 4", "--table", "arxiv 7", "--split", "dev")
    assert "ACL 2021" not in did.out  # ACL Table 4 is on test
    assert "arXiv 2020, Table 7, profile arxiv" in did.out
    assert "numbers by" in did.out
    rows = did.json["rows"]
    assert len(rows) == 110
    assert (rows[1]["model"], rows[1]["lms"]) == ("SentimentLM", 36.45)
    bert = next(row for row in rows if row["model"] == "BERT-base")
    assert (bert["profile"], bert["numbers"], bert["basis"]) == ("arxiv", ["code"], "files")
    did = told("published")
    lines = [line.split() for line in did.out.splitlines()]
    # Source, name for --table, split, profile, rows.
    assert ["arXiv", "2020,", "Table", "7", "arxiv", "7", "dev", "arxiv", "110"] in lines
    assert ["ACL", "2021,", "Table", "8", "acl", "8", "dev", "acl-ll", "8"] in lines
    assert len(lines) < 25
    assert "RoBERTa" not in did.out
    assert 'Show one with «--table "acl 4"», or all with «--table all».' in did.out
    assert len(did.json["rows"]) == 360
    whole = told("published", "--table", "all").out
    assert whole.count("RoBERTa-large") == sum(r.model == "RoBERTa-large" for r in tables())


def test_runs_that_are_missing_or_printed_nowhere_are_warnings(gold: Path, tmp_path: Path) -> None:
    did = told("published", "--gold", gold)
    says = "no runs are given: name them with --scores DIR or --predictions NAME=FILE"
    assert says in did.plain
    assert "Show one with" in did.out
    assert "RoBERTa" not in did.out
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"intrasentence": [{"id": "x", "score": 1.0}]}), "utf-8")
    plain = told("published", "--gold", gold, "--predictions", f"gpt2={file}").plain
    assert "has no scores for the 10 dev CATs" in plain
    assert "no printed row matches the model" in plain
    assert "your runs need a gold file" in refused("published", "--scores", tmp_path).what


def test_marks_are_in_the_table_and_in_the_files(tmp_path: Path) -> None:
    cats = of_domain("religion")
    gold = write_gold(tmp_path / "gold.json", cats)
    file = predicted(tmp_path / "p.json", lambda *_: 1.0, cats)
    did = told("published", "--gold", gold, "--predictions", f"gpt2@arxiv={file}", "--intervals")
    row = next(line.split() for line in did.out.splitlines() if line.startswith("GPT2"))
    # All comparisons are ties, which are lost: lms 0, of three terms.
    assert row[:6] == ["GPT2†", "religion*", "arxiv", "lms", "88.46", "0.00"]
    assert row[6].endswith("~")
    for note in (
        "† more than half of the model's comp", "* fewer than five", "~ an interval that",
        "inside: the printed value, as rounded, is in the interval",
    ):  # fmt: skip
        assert note in did.out
    (found,) = did.json["rows"]
    assert (found["flags"], found["too_wide"], found["few_terms"]) == (["ties"], ["lms"], True)
    lms, *_ = did.csv
    assert (lms["flags"], lms["too_wide"], lms["few_terms"]) == ("ties", "True", "True")


def test_predictions_without_a_record_of_their_head_are_marked(tmp_path: Path) -> None:
    cats = [one.model_copy(update={"kind": "intersentence"}) for one in CATS]
    gold = write_gold(tmp_path / "gold.json", cats)
    file = predicted(tmp_path / "p.json", fixed(s=0, a=1, u=2), cats)
    out = told("published", "--gold", gold, "--predictions", f"gpt2@arxiv={file}").out
    assert "GPT2◊" in out
    assert "gpt2/arxiv: no record of how the next-sentence head was trained" in out


def test_a_tier_is_in_the_title_and_a_reason(tmp_path: Path) -> None:
    cats = [cat.model_copy(update={"tier": 3 + n % 2}) for n, cat in enumerate(CATS)]
    gold = write_gold(tmp_path / "gold.json", cats)
    file = predicted(tmp_path / "p.json", fixed(s=3, a=2, u=1), cats)
    own = ("--gold", gold, "--predictions", f"gpt2@arxiv={file}")
    for tier, cells in ((4, 5), (3, 10)):
        did = told("published", *own, "--tier", tier)
        title = f"arXiv 2020, Table 7, dev, intrasentence, CATs of tier {tier} or more"
        assert title in did.out
        (row,) = did.json["rows"]
        assert (did.json["tier"], row["cats"], "part" in row["why"]) == (tier, cells, tier == 4)


def test_tables_fit_a_terminal(gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = predicted(tmp_path / "p.json", fixed(s=3, a=2, u=1), CATS)
    monkeypatch.setattr(console.out, "width", 110)

    def shown(*runs: str) -> tuple[list[str], list[list[str]]]:
        """The head of the table, and the rows of BERT."""
        named = (f"--predictions={run}={file}" for run in runs)
        lines = told("published", "--gold", gold, *named).out.splitlines()
        assert max(len(line.rstrip()) for line in lines) <= 110
        (head,) = [line.split() for line in lines if line.startswith("model")]
        return head, [line.split() for line in lines if line.startswith("BERT-base")]

    head, rows = shown("google-bert/bert-base-cased@pll_nsp", "gpt2@ll-bos_nsp", "roberta-large")
    # Model and rule tell all runs: a line a figure, without the run.
    assert "run" not in head
    assert [row[-1] for row in rows] == ["casing"] * 3
    head, rows = shown("google-bert/bert-base-cased", "google-bert/bert-base-uncased")
    assert head[:4] == ["model", "domain", "run", "rule"]
    assert [row[2] for row in rows] == ["bert-base-cased"] * 3 + ["bert-base-uncased"] * 3


def test_help_names_the_rules_of_predictions() -> None:
    help_text = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["scores", "published", "--help"])
    assert "NAME[@RULES]=FILE" in help_text.stdout


def test_runs_are_beside_the_printed_rows(gold: Path, tmp_path: Path) -> None:
    rules = {"intrasentence": "ll-bos"}
    put(tmp_path / "s", "openai-community/gpt2", "ll-bos", fixed(s=3, a=2, u=1), CATS, rules=rules)
    file = predicted(tmp_path / "p.json", fixed(s=2, a=3, u=1), CATS)
    named = (f"--predictions={name}={file}" for name in ("roberta-base", "bakery"))
    did = told("published", "--gold", gold, "--scores", tmp_path / "s", *named)
    # Printed ss of RoBERTa-base 54.21; here the anti-stereotype always wins.
    figure = did.json["rows"][1]["figures"]["ss"]
    assert (figure["printed"], figure["value"]) == (54.21, 0.0)
    assert "other: ll-bos" in did.out
    assert "rule: the run was scored by another rule than the printed" in did.out
    assert "These models are not in the printed tables: bakery." in did.plain
    assert len(did.csv) == 6
    assert r"\begin{longtable}" in did.latex

"""After the CATs have changed, status and every command that reads scores notices."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.files import dump_line
from curation.records import Cat
from curation.steps.status import OLDER_CATS, OLDER_SCORES, UNFINISHED, UP_TO_DATE
from support.commands import set_to
from support.scored import CATS, command, likes, put, refused

MEMBERS = ("bakery/likes/default", "hates/default")


def write_cats(root: Path, cats: list[Cat]) -> None:
    (root / "3-decisions" / "cats.jsonl").write_bytes(b"".join(map(dump_line, cats)))


def new(cat: Cat) -> Cat:
    """The same CAT under other ids: one that came later."""
    associations = tuple(a.model_copy(update={"id": f"n{a.id}"}) for a in cat.associations)
    return cat.model_copy(update={"id": f"n{cat.id}", "associations": associations})


def models(root: Path) -> dict[str, dict[str, Any]]:
    """What status says about each model."""
    runs = json.loads(command("status", "-c", root, "--json")[1])["scores"]
    return {run["model"]: run for run in runs}


def test_status_says_which_results_are_of_older_cats_and_how_to_score_again(scored: Path) -> None:
    fit = ("scores", "ensemble", *MEMBERS, "-c", scored)
    assert command(*fit)[0] == 0
    assert models(scored)["ensemble"]["state"] == UP_TO_DATE
    assert models(scored)["mixed"]["state"] == UNFINISHED  # it has no results.json
    moved = [c.model_copy(update={"split": "dev" if c.split == "test" else "test"}) for c in CATS]
    write_cats(scored, moved)
    run = models(scored)["ensemble"]
    assert run["state"] == OLDER_CATS
    again = "curation scores ensemble bakery/likes/default hates/default --name ensemble"
    assert run["again"].startswith(again)
    out = command("status", "-c", scored)[1]
    assert f"is of older CATs: {again}" in out
    assert command(*run["again"].split()[1:], "-c", scored)[0] == 0
    assert models(scored)["ensemble"]["state"] == UP_TO_DATE
    (scored / "5-scores" / "hates" / "default" / "scores.jsonl").write_bytes(
        (scored / "5-scores" / "mixed" / "default" / "scores.jsonl").read_bytes()
    )
    assert models(scored)["ensemble"]["state"] == OLDER_SCORES
    results = scored / "5-scores" / "ensemble" / "ll-bos_conditional" / "results.json"
    results.write_text("{}", "utf-8")
    assert models(scored)["ensemble"]["state"] == UNFINISHED


@pytest.mark.parametrize("name", ["run.json", "results.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", '{"rules": "nsp", "of": 5, "model": "hates"}'])
def test_status_shows_a_damaged_run_as_not_finished(scored: Path, name: str, content: str) -> None:
    folder = scored / "5-scores" / "hates" / "default"
    assert models(scored)["hates"]["again"] == "curation scores models hates"
    (folder / name).write_text(content, "utf-8")
    run = models(scored)["hates"]
    assert run["again"] == "curation scores models hates"
    assert run["state"] == UNFINISHED


def test_models_of_older_cats_are_compared_on_common_cats(scored: Path, tmp_path: Path) -> None:
    later = [new(CATS[0]), new(CATS[1])]
    write_cats(scored, [*CATS, *later])
    put(scored / "5-scores", "late", "default", likes, [*CATS, *later])
    out, table = tmp_path / "out.json", tmp_path / "out.tex"
    code, stdout, err = command(
        "scores", "compare", "-c", scored, "--json", out, "--latex", table
    )  # fmt: skip
    assert code == 0, err
    assert "hates/default has no scores of 2 of 14 CATs" in err
    assert "score it again: curation scores models hates\n" in err
    assert "the models are compared on 12 of 14 CATs" in err
    report = json.loads(out.read_bytes())
    assert (report["cats"], report["left_out"]) == (12, 2)
    assert {run["model"]: run["overall"]["cats"] for run in report["runs"]} == {
        "bakery/likes": 12, "hates": 12, "late": 12, "mixed": 12,
    }  # fmt: skip
    flags = {run["model"]: run["flags"] for run in report["runs"]}
    assert (flags["hates"], flags["late"]) == (["older_cats"], [])
    assert "hates¶" in stdout
    text = table.read_text("utf-8")
    assert r"hates\textsuperscript{\P}" in text
    assert "12 CATs, without 2 that a run lacks" in text


def test_an_ensemble_of_runs_of_older_cats_warns(scored: Path) -> None:
    write_cats(scored, [*CATS, new(CATS[0])])
    code, _, err = command("scores", "ensemble", *MEMBERS, "-c", scored)
    assert code == 0, err
    assert "hates/default has no scores of 1 of 21 CATs" in err
    assert "1 CAT is left out because a member lacks a score" in err


def test_scoring_that_has_hardly_begun_is_left_out(scored: Path) -> None:
    put(scored / "5-scores", "begun", "default", likes, CATS[:4])
    code, stdout, err = command("scores", "compare", "-c", scored)
    assert code == 0, err
    assert "begun/default is left out: it has scores of only 4 of 12 CATs" in err
    assert "compared on" not in err
    assert "begun" not in stdout


def test_cats_and_sentiment_that_are_out_of_date_are_noticed(
    scored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale: set[str] = set()
    monkeypatch.setattr(
        "curation.steps.scores.runs.is_up_to_date",
        lambda campaign, step: step.name not in stale,
    )
    monkeypatch.setattr(
        "curation.steps.scores.runs.is_up_to_date",
        lambda campaign, step: step.name not in stale,
    )
    quick = ("baselines", "--language", "tlh")  # without word frequencies
    assert "out of date" not in command("scores", "compare", "-c", scored)[2]
    stale.add("split")
    for words in (("compare",), quick, ("ensemble", *MEMBERS)):
        code, _, err = command("scores", *words, "-c", scored)
        assert code == 0
        assert "the CATs are out of date: run «curation run»" in err
    set_to(scored, 'sentiment = "vader"', 'sentiment = "some/model"')
    kept = scored / "4-measures" / "sentiment_scores.json"
    kept.parent.mkdir()
    rows = [{"id": a.id, "score": 0.5} for cat in CATS for a in cat.associations]
    kept.write_text(json.dumps({"intrasentence": rows}), "utf-8")
    stale.add("sentiment")
    assert (
        "the sentiment of the sentences is out of date" in refused("baselines", "-c", scored).what
    )

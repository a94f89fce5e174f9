"""After the CATs have changed, status and every command that reads scores notices."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from curation.records import Cat
from curation.status import OLDER_CATS, OLDER_SCORES, UNFINISHED, UP_TO_DATE
from support.commands import set_to
from support.scored import CATS, command, likes, predicted, put, refused, told, write_cats

MEMBERS = ("bakery/likes/default", "hates/default")


def new(cat: Cat) -> Cat:
    """The same CAT under other ids: one that came later."""
    associations = tuple(a.model_copy(update={"id": f"n{a.id}"}) for a in cat.associations)
    return cat.model_copy(update={"id": f"n{cat.id}", "associations": associations})


def status(root: Path, model: str) -> dict[str, Any]:
    """What status says about a model."""
    runs = json.loads(command("status", "-c", root, "--json")[1])["scores"]
    return next(run for run in runs if run["model"] == model)


def test_status_says_which_results_are_of_older_cats_and_how_to_score_again(scored: Path) -> None:
    told("ensemble", *MEMBERS, "-c", scored)
    assert status(scored, "ensemble")["state"] == UP_TO_DATE
    assert status(scored, "mixed")["state"] == UNFINISHED  # it has no results.json
    other = {"dev": "test", "test": "dev"}
    write_cats(scored, [c.model_copy(update={"split": other[c.split]}) for c in CATS])
    run = status(scored, "ensemble")
    assert run["state"] == OLDER_CATS
    again = "curation scores ensemble bakery/likes/default hates/default --name ensemble"
    assert run["again"].startswith(again)
    assert f"is of older CATs: {again}" in command("status", "-c", scored)[1]
    assert command(*run["again"].split()[1:], "-c", scored)[0] == 0
    assert status(scored, "ensemble")["state"] == UP_TO_DATE
    root = scored / "5-scores"
    shutil.copyfile(root / "mixed/default/scores.jsonl", root / "hates/default/scores.jsonl")
    assert status(scored, "ensemble")["state"] == OLDER_SCORES
    (root / "ensemble/ll-bos_conditional/results.json").write_text("{}", "utf-8")
    assert status(scored, "ensemble")["state"] == UNFINISHED


def test_status_shows_a_damaged_run_as_not_finished(scored: Path) -> None:
    folder = scored / "5-scores" / "hates" / "default"
    whole = (folder / "run.json").read_bytes()
    assert status(scored, "hates")["again"] == "curation scores models hates"
    for name in ("results.json", "run.json"):
        for content in ("", "{", "[]", '{"rules": "nsp", "of": 5, "model": "hates"}'):
            (folder / "run.json").write_bytes(whole)
            (folder / name).write_text(content, "utf-8")
            run = status(scored, "hates")
            assert (run["again"], run["state"]) == ("curation scores models hates", UNFINISHED)
        (folder / name).unlink()


def test_models_of_older_cats_are_compared_on_common_cats(scored: Path) -> None:
    cats = [*CATS, new(CATS[0]), new(CATS[1])]
    write_cats(scored, cats)
    put(scored / "5-scores", "late", "default", likes, cats)
    did = told("compare", "-c", scored)
    assert "hates/default has no scores of 2 of 14 CATs" in did.err
    assert "score it again: curation scores models hates\n" in did.err
    assert "the models are compared on 12 of 14 CATs" in did.err
    report = did.json
    assert (report["cats"], report["left_out"]) == (12, 2)
    assert {run["model"]: (run["overall"]["cats"], run["flags"]) for run in report["runs"]} == {
        "bakery/likes": (12, ["older_cats"]),
        "hates": (12, ["older_cats"]),
        "late": (12, []),
        "mixed": (12, ["older_cats"]),
    }
    assert "hates¶" in did.out
    assert r"hates\textsuperscript{\P}" in did.latex
    assert "12 CATs, without 2 that a run lacks" in did.latex
    write_cats(scored, [*CATS, new(CATS[0])])
    did = told("ensemble", *MEMBERS, "-c", scored)
    assert "hates/default has no scores of 1 of 21 CATs" in did.err
    assert "1 CAT is left out because a member lacks a score" in did.err


def test_scoring_that_has_hardly_begun_is_left_out(scored: Path) -> None:
    put(scored / "5-scores", "begun", "default", likes, CATS[:4])
    did = told("compare", "-c", scored)
    assert "begun/default is left out: it has scores of only 4 of 12 CATs" in did.err
    assert "compared on" not in did.err
    assert "begun" not in did.out


def test_what_is_out_of_date_is_noticed(scored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale: set[str] = set()
    monkeypatch.setattr(
        "curation.scores.results.is_up_to_date",
        lambda campaign, step: step.name not in stale,
    )
    assert "out of date" not in told("compare", "-c", scored).err
    stale.add("split")
    quick = ("baselines", "--language", "tlh")  # without word frequencies
    for words in (("compare",), quick, ("ensemble", *MEMBERS)):
        did = told(*words, "-c", scored)
        assert "the CATs are out of date: run «curation run»" in did.err
    set_to(scored, 'sentiment = "vader"', 'sentiment = "some/model"')
    (scored / "4-measures").mkdir()
    predicted(scored / "4-measures" / "sentiment_scores.json", lambda *_: 0.5)
    stale.add("sentiment")
    error = refused("baselines", "-c", scored)
    assert "the sentiment of the sentences is out of date" in error.what

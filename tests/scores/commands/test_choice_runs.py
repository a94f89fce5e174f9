"""Runs of chat models in the commands that read runs: compared, left out or refused, with words."""

import json
import shutil
from pathlib import Path

import pytest

from support.chosen import choice_run
from support.scored import CATS, Told, command, likes, mixed, put, refused, told, write_gold

A, B = {"prompts": "aa11bb22cc33"}, {"prompts": "dd44ee55ff66"}


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gold file; its folder has ``scores``: two models that can do both, and others."""
    root = tmp_path_factory.mktemp("choice")
    scores = root / "scores"
    put(scores, "likes", "default", likes)
    put(scores, "mixed", "default", mixed)
    choice_run(scores, "likes", lambda _: [1, 1, 1], CATS, **A)
    choice_run(scores, "mixed", lambda _: [1, 1, 0.5], CATS, **A)
    choice_run(scores, "likes", lambda _: [1, 1, 0], CATS, variant="lower", **A)
    choice_run(scores, "refuses", lambda _: [None] * 3, CATS, **A)
    return write_gold(root / "gold.json", CATS)


def compared(gold: Path, *options: object) -> Told:
    return told("compare", "--gold", gold, "--scores", gold.parent / "scores", *options)


def test_chat_models_are_ranked_by_themselves_and_beside_likelihoods(gold: Path) -> None:
    did = compared(gold)
    report = did.json
    assert [(group["title"], sorted(group["models"])) for group in report["groups"]] == [
        ("profile default", ["likes/default", "mixed/default"]),
        ("profile choice", ["likes/choice", "mixed/choice"]),
        ("profile choice, texts altered: lower", ["likes/choice+lower"]),
    ]
    shifts = {(row["a"], row["b"], row["what"]) for row in report["shifts"]}
    assert ("likes/choice", "likes/default", "rule") in shifts
    assert "Means over the models of both default and choice" in did.out
    assert "both, intrasentence, intersentence: likes, mixed" in did.out
    assert "refuses/choice: left out: has no results, because 60 of 60 questions" in did.err
    assert "asked in the same way" not in did.err


def test_official_ties_of_chat_models_get_a_warning(gold: Path) -> None:
    for ties, profile, warned in (
        ("official", "choice", 1),
        ("official", "default", 0),
        ("half", "choice", 0),
    ):
        err = compared(gold, "--profile", profile, "--ties", ties).err
        assert err.count("a chat model that answers at random has lms 25") == warned


def test_models_that_were_asked_in_other_ways_get_a_warning(gold: Path) -> None:
    folder = choice_run(gold.parent / "scores", "other", lambda _: [1, 1, 1], CATS, p=0.9, **B)
    err = compared(gold, "--profile", "choice").err
    shutil.rmtree(folder.parent)
    for text in (
        "profile choice: these models were not asked in the same way",
        "answers read from: text (likes/choice, mixed/choice), probabilities (other/choi",
        "sha256 of the prompts: aa11bb22 (likes/choice, mixed/choice), dd44ee55 (oth",
    ):
        assert text in err


def test_models_without_any_comparison_are_an_error(gold: Path, tmp_path: Path) -> None:
    answers = {"questions": 120, "answered": 120, "first": 120, "none": {}}
    choice_run(tmp_path, "always", lambda _: [None] * 3, CATS, answers=answers)
    own = ("--gold", gold)
    for words in (
        ("scores", "compare", *own),
        ("scores", "published", *own),
        ("release", "diff", gold, gold),
    ):
        code, _, err = command(*words, "--scores", tmp_path)
        assert code == 1
        assert "100 % of the model's answers name the first letter" in err
        assert "no run in this folder has results" in err


def test_a_chat_model_cannot_be_in_an_ensemble(gold: Path, tmp_path: Path) -> None:
    dev = [
        cat.model_copy(
            update={
                "id": f"d{cat.id}",
                "associations": [a.model_copy(update={"id": f"d{a.id}"}) for a in cat.associations],
            }
        )
        for cat in CATS
    ]
    where = ("--gold", gold, "--dev", write_gold(tmp_path / "dev.json", dev))
    where += ("--scores", gold.parent / "scores")
    error = refused("ensemble", "likes/default", "likes/choice", *where)
    assert "likes/choice cannot be in an ensemble" in error.what
    assert error.fix
    error = refused("ensemble", "likes/default", "no/such", *where)
    assert error.fix == "use two or more of: likes/default, mixed/default"


@pytest.mark.parametrize("name", ["comparisons.jsonl", "replies.jsonl"])
def test_files_of_chat_models_are_not_gold_files(gold: Path, tmp_path: Path, name: str) -> None:
    path = gold.parent / "scores/likes/choice/comparisons.jsonl"
    if name == "replies.jsonl":
        line = {"cat": "c", "pair": "a/b", "swapped": False, "prompt": "p", "sample": 0}
        path = tmp_path / name
        path.write_text(json.dumps(line | {"asked": "x", "status": 200, "body": {}}) + "\n")
    error = refused("compare", "--gold", path, "--scores", tmp_path)
    assert f"a chat model ({name})" in error.what


def test_the_trust_report_keeps_chat_models_apart(gold: Path, tmp_path: Path) -> None:
    where = ("--gold", gold, "--scores", gold.parent / "scores", "--out", tmp_path)
    code, _, err = command("trust", "report", *where)
    assert code == 0, err
    rows = json.loads((tmp_path / "report.json").read_text("utf-8"))["rows"]
    own = [row for row in rows if row["subject"] == "scores"]
    assert {row["name"] for row in own} >= {"choice", "choice+lower", "default"}
    status: dict[tuple[str, str], set[str]] = {}
    for row in own:
        if row["criterion"] == "sensitivity":
            status.setdefault((row["name"], row["check"]), set()).add(row["status"])
    for check in ("normalisation", "rule"):
        assert status["choice", check] == {"not_applicable"}
        assert status["default", check] == {"not_run"}  # no likelihood beside it
    for check in ("normalisation", "rule", "text"):  # the rows of choice compare them
        assert status["choice+lower", check] == {"not_applicable"}
    assert not any(check.startswith("rule:") for _, check in status)
    (retest,) = (r for r in own if (r["name"], r["criterion"]) == ("choice", "retest"))
    assert "--samples N" in retest["change"]
    assert any(row["check"] == "rules:likes:choice" for row in own)  # the two converge, or not

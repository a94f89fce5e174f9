"""Runs of chat models in the commands that read runs: compared, left out or refused, with words."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.chosen import choice_run
from support.scored import CATS, command, likes, mixed, put, refused, write_gold

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


def compared(gold: Path, *options: object) -> tuple[dict[str, Any], str, str]:
    out = gold.parent / "out.json"
    where = ("--gold", gold, "--scores", gold.parent / "scores")
    code, stdout, err = command("scores", "compare", *where, "--json", out, *options)
    assert code == 0, err
    return json.loads(out.read_text("utf-8")), stdout, err


def test_chat_models_are_ranked_by_themselves_and_beside_likelihoods(gold: Path) -> None:
    report, out, err = compared(gold)
    assert [(group["title"], sorted(group["models"])) for group in report["groups"]] == [
        ("profile default", ["likes/default", "mixed/default"]),
        ("profile choice", ["likes/choice", "mixed/choice"]),
        ("profile choice, texts altered: lower", ["likes/choice+lower"]),
    ]
    assert {(row["a"], row["b"], row["kind"]) for row in report["mechanisms"]} == {
        ("default", "choice", kind) for kind in ("both", "intrasentence", "intersentence")
    }
    shifts = {(row["a"], row["b"], row["what"]) for row in report["shifts"]}
    assert ("likes/choice", "likes/default", "rule") in shifts
    assert ("likes/choice+lower", "likes/choice", "variant") in shifts
    assert "Means over the models of both default and choice" in out
    assert "refuses/choice: left out: has no results, because 60 of 60 questions" in err
    assert "asked in the same way" not in err


def test_official_ties_of_chat_models_get_a_warning(gold: Path) -> None:
    for ties, profile, warned in (
        ("official", "choice", 1),
        ("official", "default", 0),
        ("half", "choice", 0),
    ):
        _, _, err = compared(gold, "--profile", profile, "--ties", ties)
        assert err.count("a chat model that answers at random has lms 25") == warned


def test_models_that_were_asked_in_other_ways_get_a_warning(gold: Path) -> None:
    folder = choice_run(gold.parent / "scores", "other", lambda _: [1, 1, 1], CATS, p=0.9, **B)
    try:
        _, _, err = compared(gold, "--profile", "choice")
    finally:
        shutil.rmtree(folder.parent)
    assert "profile choice: these models were not asked in the same way" in err
    assert "answers read from: text (likes/choice, mixed/choice), probabilities (other/choi" in err
    assert "sha256 of the prompts: aa11bb22 (likes/choice, mixed/choice), dd44ee55 (oth" in err


def test_models_without_any_comparison_are_an_error_that_says_why(
    gold: Path, tmp_path: Path
) -> None:
    answers = {"questions": 120, "answered": 120, "first": 120, "none": {}}
    choice_run(tmp_path, "always", lambda _: [None] * 3, CATS, answers=answers)
    code, _, err = command("scores", "compare", "--gold", gold, "--scores", tmp_path)
    assert code == 1
    assert "100 % of the model's answers name the first letter" in err
    assert "no run in this folder has results" in err
    where = ("--scores", tmp_path)
    for words in (("scores", "published", "--gold", gold), ("release", "diff", gold, gold)):
        code, _, err = command(*words, *where)
        assert code == 1
        assert "no run in this folder has results" in err


def test_a_chat_model_cannot_be_in_an_ensemble(gold: Path) -> None:
    other = gold.parent / "dev.json"
    dev = [
        cat.model_copy(
            update={
                "id": f"d{cat.id}",
                "associations": tuple(
                    a.model_copy(update={"id": f"d{a.id}"}) for a in cat.associations
                ),
            }
        )
        for cat in CATS
    ]
    write_gold(other, dev)
    where = ("--gold", gold, "--dev", other, "--scores", gold.parent / "scores")
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
    error = refused("compare", "--gold", str(path), "--scores", str(tmp_path))
    assert f"a chat model ({name})" in error.what


def test_the_trust_report_keeps_chat_models_apart(gold: Path, tmp_path: Path) -> None:
    where = ("--gold", gold, "--scores", gold.parent / "scores", "--out", tmp_path)
    code, _, err = command("trust", "report", *where)
    assert code == 0, err
    rows = json.loads((tmp_path / "report.json").read_text("utf-8"))["rows"]
    own = [row for row in rows if row["subject"] == "scores"]
    assert {row["name"] for row in own} >= {"choice", "choice+lower", "default"}

    def status(name: str, criterion: str, check: str) -> set[str]:
        return {
            row["status"]
            for row in own
            if (row["name"], row["criterion"], row["check"]) == (name, criterion, check)
        }

    for check in ("normalisation", "rule"):
        assert status("choice", "sensitivity", check) == {"not_applicable"}
        assert status("default", "sensitivity", check) == {"not_run"}  # no likelihood beside it
    for check in ("normalisation", "rule", "text"):  # the rows of choice compare them
        assert status("choice+lower", "sensitivity", check) == {"not_applicable"}
    assert not any(
        row["criterion"] == "sensitivity" and row["check"].startswith("rule:") for row in own
    )
    (retest,) = (r for r in own if (r["name"], r["criterion"]) == ("choice", "retest"))
    assert "--samples N" in retest["change"]
    assert any(row["check"] == "rules:likes:choice" for row in own)  # the two converge, or not

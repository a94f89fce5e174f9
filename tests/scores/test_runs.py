"""Scores read from folders and predictions; a board of what was won; what is wrong is named."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.files import read_records
from curation.kinds import CAT_KINDS
from curation.records import Score
from curation.scores.asking import questions
from curation.scores.boards import board
from curation.scores.results import read_runs
from curation.scores.runs import Run, drop_outdated, find_runs, read_predictions_run
from curation.stats.metrics import comparisons
from support.boards import cat
from support.expected import fails


def put(root: Path, folder: str, scores: dict[str, Any], about: object = None) -> Path:
    """A run's folder; its scores, as the text of their file."""
    place = root / folder
    place.mkdir(parents=True)
    lines = [
        json.dumps({"model": "m", "rule": "r", "association": name, "value": value}) + "\n"
        for name, value in scores.items()
    ]
    (place / "scores.jsonl").write_text("".join(lines), "utf-8")
    if about is not None:
        (place / "run.json").write_text(json.dumps(about), "utf-8")
    return place / "scores.jsonl"


def test_model_rule_and_variant_come_from_folder_and_run(tmp_path: Path) -> None:
    put(tmp_path, "bakery--small/ll-bos", {"a": 1.5})
    put(tmp_path, "bakery--small/ll-bos+lower+unpointed", {"a": 2.0})
    put(tmp_path, "home--two--dashes/default", {"b": -3.0}, {"model": "two--dashes", "dtype": "f"})
    put(tmp_path, "bakery--small/ll-bos/superseded/2026", {"a": 9.0})
    first, second, third = read_runs(tmp_path)
    assert (first.model, first.rule, first.variant) == ("bakery/small", "ll-bos", "")
    assert second.variant == "lower+unpointed"
    assert second.name == "bakery/small/ll-bos+lower+unpointed"
    assert (third.model, third.scores, third.about["dtype"]) == ("two--dashes", {"b": -3.0}, "f")


def test_the_same_score_twice_is_one_and_another_is_an_error(tmp_path: Path) -> None:
    path = put(tmp_path, "m/r", {"a": 1.0, "b": 2.0})
    text = path.read_text("utf-8")
    path.write_text(text + text, "utf-8")
    assert read_runs(tmp_path)[0].scores == {"a": 1.0, "b": 2.0}
    path.write_text(text + text.replace("2.0", "2.5"), "utf-8")
    with fails("scores.jsonl: two different ", " association b"):
        read_runs(tmp_path)


def test_folders_without_scores_are_skipped_with_a_message(tmp_path: Path) -> None:
    messages: list[str] = []
    with fails("no scores here"):
        read_runs(tmp_path / "none")
    put(tmp_path, "m/r", {"a": 1.0})
    empty = put(tmp_path, "n/r", {})
    about = empty.with_name("run.json")
    assert [run.name for run in find_runs(tmp_path, skipped=messages.append)] == ["m/r"]
    assert len(messages) == 1
    assert "n/r: has no scores" in messages[0]
    empty.unlink()
    assert len(read_runs(tmp_path)) == 1  # no run at all
    about.write_text("{}", "utf-8")
    assert len(find_runs(tmp_path, skipped=messages.append)) == 1
    assert len(messages) == 2
    about.write_text("[]", "utf-8")
    with fails("run.json: not a JSON object"):
        read_runs(tmp_path)


@pytest.mark.parametrize("value", ["1" + "0" * 400, "1e999", "NaN", "-Infinity", "[[1]]", '"1"'])
def test_a_score_that_is_not_a_finite_number_is_named(tmp_path: Path, value: str) -> None:
    path = put(tmp_path, "m/r", {"a": 1.0, "b": 2.5})
    path.write_text(path.read_text("utf-8").replace("2.5", value), "utf-8")
    for read in (lambda: read_runs(tmp_path), lambda: read_records(path, Score)):
        with fails("scores.jsonl line 2, field 'value': Input should"):
            read()


def test_a_half_line_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, "m/r", {"a": 1.0})
    path.write_text(path.read_text("utf-8") + '{"model": "m", "ru', "utf-8")
    with fails("scores.jsonl line 2: not a JSON record"):
        read_runs(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tokens", {"read": 9, "unknown": "many"}), ("tokens", [1]), ("rules", "ll-bos"),
        ("opened", 3), ("dev_cats", 7), ("dev_cats", [["a"]]), ("members", [1]),
        ("member_runs", {"m/r": 1}), ("members_sha256", [1]),
    ],
)  # fmt: skip
def test_a_bad_field_of_run_json_is_named(tmp_path: Path, field: str, value: object) -> None:
    put(tmp_path, "m/r", {"a": 1.0}, {field: value})
    with fails(f"run.json, field '{field}'"):
        read_runs(tmp_path)


def predictions(path: Path, *rows: tuple[str, Any]) -> Path:
    content = {"intrasentence": [{"id": name, "score": score} for name, score in rows]}
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_predictions_are_a_run_and_may_declare_their_rules(tmp_path: Path) -> None:
    file = predictions(tmp_path / "a=b.json", ("x", 1), ("y", 0.25))
    found = read_predictions_run(f"mine={file}")
    assert (found.name, found.scores) == ("mine/predictions", {"x": 1.0, "y": 0.25})
    profile = read_predictions_run(f"a/b@arxiv={file}")
    assert (profile.name, profile.profile, profile.rules) == ("a/b/arxiv", "arxiv", {})
    rule = read_predictions_run(f"m @ ll-acl_nsp = {file}")
    assert (rule.name, rule.profile) == ("m/ll-acl_nsp", "")
    assert rule.rules == {CAT_KINDS[0]: "ll-acl", CAT_KINDS[1]: "nsp"}
    with fails("there is no profile or rule «acl-l»", fix="acl-ll"):
        read_predictions_run(f"m@acl-l={file}")


def test_bad_predictions_are_named(tmp_path: Path) -> None:
    """What is a bad prediction is in ``tests/formats/test_predictions.py``."""
    for says, *rows in (
        ("id x is nan, not a finite number", ("x", float("nan"))),
        ("two predictions for id x", ("x", 1), ("x", 1)),
    ):
        with fails(says):
            read_predictions_run(f"mine={predictions(tmp_path / 'p.json', *rows)}")


@pytest.mark.parametrize(
    "named", ["file.json", "=file.json", "name=", "", "name@=file", "@arxiv=file"]
)
def test_predictions_need_a_name_and_a_file(named: str) -> None:
    with fails("not NAME=FILE"):
        read_predictions_run(named)


P = {"ps": 3.0, "pa": 1.0, "pu": 1.0}


def test_a_board_has_what_comparisons_has() -> None:
    inter = [cat(name, "t", kind="intersentence") for name in "rs"]
    cats = [cat("p", "t"), cat("q", "t"), *inter]
    whole = {**P, "qs": 1.0, "qa": 2.0, "qu": 3.0, "rs": 0.0}
    laid = board(cats, [Run("m", "r", "", whole)])
    # p: s > u, a = u, s > a; q: nothing but u. r lacks two scores, s all.
    assert laid.won[0][0, :2].tolist() == [1.5, 0.0]
    assert laid.won[1][0, :2].tolist() == [1.0, 0.0]
    assert np.isnan(laid.won[1][0, 2:]).all()
    assert laid.lacking(0) == (["intersentence"], 0)
    own = comparisons(cats[:2], whole)
    assert laid.table(0).reset_index(drop=True).equals(own)
    some = board(cats, [Run("m", "r", "", whole | {"ra": 1.0, "ru": 1.0})])
    assert some.lacking(0) == ([], 1)


def test_a_run_without_these_cats_is_left_out_with_a_message() -> None:
    messages: list[str] = []
    runs = [Run("z", "r", "", {"ps": 1.0}, where="here"), Run("m", "r", "", P)]
    laid = board([cat("p", "t")], runs, skipped=messages.append)
    assert [run.name for run in laid.runs] == ["m/r"]
    assert (laid.won[0].tolist(), laid.won[1].tolist()) == ([[1.5]], [[1.0]])
    assert messages == ["here: left out, since it has no scores for the benchmark's 1 CAT"]


def test_rules_are_those_of_the_run_or_else_of_the_folder() -> None:
    run = Run(
        "m",
        "default",
        "",
        {},
        {"family": "causal", "rules": {CAT_KINDS[1]: "b", CAT_KINDS[0]: "a"}},
    )
    assert (run.family, run.rules) == ("causal", {CAT_KINDS[0]: "a", CAT_KINDS[1]: "b"})
    one, two = {"intrasentence": "ll-acl"}, {"intersentence": "nsp"}
    for folder, rules in (("ll-acl", {**one, "intersentence": "ll-acl"}), ("nsp", two),
                          ("ll-acl_nsp", one | two)):  # fmt: skip
        assert Run("m", folder, "lower", {}).rules == rules
    for unknown in ("default", "predictions", "ll-acl_", "ll-acl_odd", "ll-acl_nsp_nsp"):
        assert Run("m", unknown, "", {}).rules == {}
    assert replace(run, about={"rules": "ll-bos"}).rules == {}


def test_scores_of_texts_that_have_changed_do_not_count() -> None:
    one = cat("t1", "t")
    digests = {question.association: question.digest for question in questions(one)}
    first = one.associations[0].id
    asked = {**digests, first: "of another text"}
    run = Run("m", "r", "", dict.fromkeys(digests, 1.0), asked=asked)
    found, lost = drop_outdated([run, replace(run, asked={}), replace(run, variant="odd")], [one])
    assert set(found[0].scores) == set(digests) - {first}
    assert lost == {"m/r": 1}
    assert found[1].scores == found[2].scores == run.scores  # what was asked is not known

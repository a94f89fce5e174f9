"""Files of predictions: the forms that are read, and what is wrong with a file or a score."""

import json
import math
from pathlib import Path

import pytest

from curation.formats.predictions import Scores, check_complete, read_predictions, scores_of
from support.boards import CATS, S, run
from support.expected import fails

PAIRS = list(run("m", p=S, q=S, r=S, t=S).scores.items())
ROWS = [{"id": "x", "score": 1}, {"id": "y", "score": -0.25}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", json.dumps({"intrasentence": ROWS})),
        ("p.json", json.dumps({"intrasentence": ROWS[:1], "intersentence": ROWS[1:]})),
        ("p.json", json.dumps(ROWS)),
        ("p.jsonl", "\n".join(map(json.dumps, ROWS)) + "\n\n"),
        ("p.CSV", "\ufeffkind,id,score\r\na, x ,1\r\nb,y,-0.25\r\n"),
    ],
)
def test_every_form_is_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert list(read_predictions(tmp_path / name)) == [("x", 1), ("y", -0.25)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.json", "{}", "not predictions: no «intrasentence» or «intersentence» list"),
        ("p.json", "[]", "not predictions"),
        ("p.json", '{"intersentence": 3}', "p.json: intersentence is not a list"),
        ("p.json", '[{"id": "x"}]', "p.json [0]: no «id» and «score»"),
        ("p.json", '{"intrasentence": [[]]}', "intrasentence[0]: no «id» and «score»"),
        ("p.jsonl", '{"id": "x", "score": 1}\n{"id": "y", "sc', "line 2 column"),
        ("p.jsonl", "3\n", "line 1: not a JSON object"),
        ("p.jsonl", '{"id": "\\ud800", "score": null}', "line 1 column 9: not JSON"),
        ("p.csv", "id,value\nx,1\n", "no column «score»"),
        ("p.csv", "id,score\nx\n", "line 2: no «id» and «score»"),
        ("p.csv", "", "is empty"),
    ],
)
def test_another_form_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with fails(message):
        list(read_predictions(tmp_path / name))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (PAIRS[1:], "no prediction for id ps (1 of 12 sentences missing"),
        ([*PAIRS, ("qa", 1.0)], "two predictions for id qa"),
        ([*PAIRS[:-1], ("tu", math.nan)], "the prediction for id tu is nan"),
        ([*PAIRS[:-1], ("tu", -math.inf)], "the prediction for id tu is -inf"),
        ([*PAIRS[:-1], ("tu", 10**400)], "the prediction for id tu is a huge number"),
        ([*PAIRS[:-1], ("tu", None)], "the prediction for id tu is None, not a finite number"),
        ([*PAIRS[:-1], ("tu", True)], "the prediction for id tu is True, not a finite number"),
        ([*PAIRS[:-1], ("tu", "1e999")], "id tu is '1e999', not a finite number"),
        ([*PAIRS[:-1], ("tu", [[1]])], "the prediction for id tu is [[1]], not a finite number"),
        ([*PAIRS[:-1], ("tu", -(10**400))], "the prediction for id tu is a huge number"),
    ],
)
def test_a_bad_prediction_is_named(pairs: list[tuple[str, object]], message: str) -> None:
    with fails(message):
        check_complete(CATS, scores_of(pairs, where="p.json"), where="p.json")


def test_unknown_ids_are_counted_and_scores_can_be_turned_around() -> None:
    pairs = [("x", 1), ("zz", None), ("zz", 2)]
    scores = scores_of(pairs, where="-", wanted={"x", "y"})
    assert scores == Scores({"x": 1.0}, frozenset(), 2)
    assert isinstance(scores.values["x"], float)
    bad: list[tuple[str, object]] = [("x", 3), ("y", math.nan), ("z", "4,5")]
    scores = scores_of(bad, where="-", lower_is_likelier=True, partial=True)
    assert scores == Scores({"x": -3.0}, frozenset({"y", "z"}), 0)
    with fails("two predictions for id y"):
        scores_of([*bad, ("y", 1)], where="-", partial=True)

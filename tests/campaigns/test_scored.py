"""The releases of the three campaigns are scored; a slow reference gives each score again."""

import math
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_json
from curation.models import tiny
from curation.models.rules import ScoringRequest
from support.desk import MEANT
from support.reference import intra, reference
from support.team import Team, one_space, read_jsonl

FAMILIES = ("causal", "masked")


@pytest.fixture(scope="session")
def models(campaigns: dict[str, Team], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A causal and a masked model that have seen a few words of the three languages."""
    folder = tmp_path_factory.mktemp("models")
    texts = [
        text
        for team in campaigns.values()
        for row in team.people("items")
        for text in (*team.texts(row), *row["context"].split("BLANK"))
    ]
    return {
        family: tiny.make(folder / family, texts, family=family, steps=2, vocabulary=900)  # type: ignore[arg-type]
        for family in FAMILIES
    }


def questions(team: Team) -> dict[str, ScoringRequest]:
    """By sentence what is asked of a model, made from ``items.csv`` alone."""
    asked = {}
    for row in team.people("items"):
        for sentence, name in zip(team.texts(row), MEANT, strict=True):
            if row["kind"] == "intrasentence":
                asked[sentence] = intra(one_space(row["context"]), row[name])
            else:
                asked[sentence] = ScoringRequest("intersentence", row["context"], sentence)
    return asked


def test_scores_of_a_release(team_of: Team, models: dict[str, Path], tmp_path: Path) -> None:
    folder = team_of.release
    files: list[Any] = [part for s in ("dev", "test") for part in ("--gold", folder / f"{s}.json")]
    sentences = {
        association["id"]: association["sentence"]
        for path in files[1::2]
        for rows in read_json(path)["data"].values()
        for row in rows
        for association in row["sentences"]
    }
    asked = questions(team_of)
    for family, model in models.items():
        done = team_of.forked("scores", "models", model, *files, "--scores", tmp_path)
        assert done.code == 0, done.err
        (run,) = tmp_path.glob(f"{family}/*/run.json")
        rules = read_json(run)["rules"]
        scores = {
            row["association"]: row["value"] for row in read_jsonl(run.with_name("scores.jsonl"))
        }
        assert scores.keys() == sentences.keys()
        for id, score in scores.items():
            question = asked[sentences[id]]
            slow = reference(model, rules[question.kind], question)
            assert slow is not None
            assert math.isclose(score, slow, rel_tol=1e-4, abs_tol=1e-4), sentences[id]

"""Who guesses in StereoSet's test sample: four people, and nobody else."""

import json

import numpy as np
import pandas as pd
import pytest

from curation.kinds import GOLDS
from curation.rounds.quality import PersonQuality, people_figures
from support.realdata import TEST, needs

pytestmark = needs(TEST)
GUESS = {"944b8b9a", "5a017dd8", "95f31b78", "e883a536"}


@pytest.fixture(scope="module")
def people() -> list[PersonQuality]:
    items = json.loads(TEST.read_text("utf-8"))["data"]["intrasentence"]
    rows = [
        (item["id"], sentence["id"], label["human_id"], label["label"])
        for item in items
        for sentence in item["sentences"]
        for label in sentence["labels"]
    ]
    labels = pd.DataFrame(rows, columns=["item", "association", "annotator", "value"])
    assert labels["value"].isin(GOLDS).sum() == 11_411
    return people_figures(labels.assign(round="r", source="stereoset", seconds=np.nan))


def test_four_people_guess_and_nobody_else(people: list[PersonQuality]) -> None:
    enough = [person for person in people if person.labels >= 15]
    assert (len(people), len(enough)) == (737, 180)
    low = {
        p.person[:8]: p.agreement for p in enough if p.agreement is not None and p.agreement < 0.35
    }
    assert set(low) == GUESS
    assert sorted(low.values())[0] == pytest.approx(0.302, abs=5e-4)  # 944b8b9a
    assert sorted(p.agreement or 0 for p in enough)[4] == pytest.approx(0.609, abs=5e-4)


def test_the_marks_are_these(people: list[PersonQuality]) -> None:
    marked = {
        person.person[:8]: [m.code for m in person.marks] for person in people if person.marks
    }
    assert marked == {person: ["random"] for person in GUESS}


def test_by_dawid_and_skene_they_are_right_by_chance(people: list[PersonQuality]) -> None:
    competence = {
        person.person[:8]: person.competence or 0 for person in people if person.labels >= 15
    }
    assert all(0.28 < competence[person] < 0.35 for person in GUESS)
    assert min(value for person, value in competence.items() if person not in GUESS) > 0.5

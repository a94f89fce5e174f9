"""Small campaigns with a hidden and a sealed release, for the tests of boards."""

from typing import Any

import pytest

from curation.steps import pipeline
from support.labelled import Desk, answer, written

TERMS = ("baker", "potter", "fiddler", "thatcher", "wheelwright")


@pytest.fixture(scope="package")
def labelled(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A campaign with labels, which is not released yet. Copy it before changing anything."""
    desk = written(forked, tmp_path_factory.mktemp("labelled") / "c", *TERMS)
    answer(desk, desk.export("v"))
    desk.done("decisions", "split")
    steps = ("agreement", "statistics", "sentiment", "keywords", "pitfalls")
    with desk.campaign.lock():
        pipeline.bring_up_to_date(desk.campaign, *steps)
    return desk


@pytest.fixture(scope="package")
def hidden(labelled: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The campaign with a hidden release, 0.1.0."""
    desk = labelled.copy(tmp_path_factory.mktemp("hidden") / "c")
    desk.build("--hide", "labels")
    return desk


@pytest.fixture(scope="package")
def sealed(labelled: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The campaign with a sealed release, 0.1.0."""
    desk = labelled.copy(tmp_path_factory.mktemp("sealed") / "c")
    desk.build("--hide", "all")
    return desk

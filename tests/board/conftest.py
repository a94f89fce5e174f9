"""Small campaigns with hidden and sealed releases, for the tests of boards."""

from pathlib import Path
from typing import Any

import pytest

from curation import pipeline
from curation.released import numbers
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


def _twice(labelled: Desk, root: Path, hide: str) -> Desk:
    """A campaign with two releases whose test CATs are different: each has half of each term's."""
    desk = labelled.copy(root)
    test = [cat.id for cat in sorted(desk.cats("test"), key=lambda cat: cat.target)]
    for version, left_out in (("0.1.0", test[::2]), ("0.2.0", test[1::2])):
        desk.set(version=version, leave_out=left_out)
        desk.build("--hide", hide)
    return desk


@pytest.fixture(scope="package")
def hidden(labelled: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The campaign with two releases with hidden labels, 0.1.0 and 0.2.0."""
    return _twice(labelled, tmp_path_factory.mktemp("hidden") / "c", "labels")


@pytest.fixture(scope="package")
def sealed(labelled: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The campaign with two sealed releases, 0.1.0 and 0.2.0."""
    return _twice(labelled, tmp_path_factory.mktemp("sealed") / "c", "all")


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each CAT counts as a thousand, so that small test sets have rows."""
    budget = numbers.budget

    def larger(cats: int, dev: int) -> int:
        return budget(cats * 1000, dev * 1000)

    monkeypatch.setattr(numbers, "budget", larger)
    monkeypatch.setattr(numbers, "ROW_GAIN", numbers.ROW_GAIN * 1000**0.5)
    monkeypatch.setattr("curation.release.hiding.ONE", 1)

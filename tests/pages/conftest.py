"""A small campaign for the report, before it has labels, and one that has them."""

from typing import Any

import pytest

from support.labelled import Desk, answer, written

TERMS = ("baker", "potter", "fiddler", "thatcher", "wheelwright")
Waiting = tuple[Desk, list[dict[str, Any]]]


@pytest.fixture(scope="package")
def waiting(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Waiting:
    """A campaign whose items wait for labels, and the tasks of its validators. Copy it."""
    desk = written(forked, tmp_path_factory.mktemp("waiting") / "c", *TERMS)
    tasks = desk.export("v")
    desk.set(match_intent=False)
    return desk, tasks


@pytest.fixture(scope="package")
def done(waiting: Waiting, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The campaign with labels, and every result but a release. Copy it."""
    desk, tasks = waiting
    desk = desk.copy(tmp_path_factory.mktemp("done") / "c")
    answer(desk, tasks)
    for words in (("decisions", "split"), ("decisions", "agreement"), ("measures", "statistics")):
        desk.done(*words)
    return desk

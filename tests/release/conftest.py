"""A small campaign with labelled items in dev and test, for the tests of releases."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from support.desk import Desk, label_row

PEOPLE = [f"val-{n}" for n in range(6)]


@pytest.fixture(scope="package")
def labelled(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign, not released yet. Copy it before changing anything."""
    root = tmp_path_factory.mktemp("labelled") / "c"
    terms = ["baker", "potter", "fiddler", "thatcher", "wheelwright"]
    desk = Desk.make(forked, root, terms, items=2, near=1.0)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    desk.open("validation", "v")
    golds = desk.golds()
    rows = [
        label_row(t, PEOPLE[(n + k) % 6], golds, n)
        for n, t in enumerate(desk.export("v"))
        for k in range(5)
    ]
    desk.bring("v", rows, "v.csv")
    assert desk.run("decisions", "split").code == 0
    return root


@pytest.fixture(scope="package")
def hidden(forked: Any, labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign with a hidden release, 0.1.0. Copy it before changing anything."""
    root = Path(shutil.copytree(labelled, tmp_path_factory.mktemp("hidden") / "c"))
    assert forked("release", "build", "--hide", "test", "-c", root).code == 0
    return root

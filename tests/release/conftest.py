"""A small campaign with labelled items in dev and test, for the tests of releases."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.desk import Desk
from support.labelled import label


@pytest.fixture(scope="package")
def unlabelled(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign before it has labels, with the tasks of its validators in ``tasks.json``."""
    root = tmp_path_factory.mktemp("labelled") / "c"
    terms = ["baker", "potter", "fiddler", "thatcher", "wheelwright"]
    desk = Desk.make(forked, root, terms, items=2, near=1.0)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    desk.open("validation", "v")
    (root / "tasks.json").write_text(json.dumps(desk.export("v")), "utf-8")
    return root


@pytest.fixture(scope="package")
def labelled(forked: Any, unlabelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign with labels, not released yet. Copy it before changing anything."""
    return label(forked, unlabelled, tmp_path_factory.mktemp("labelled") / "c").root


@pytest.fixture(scope="package")
def hidden(forked: Any, labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign with a hidden release, 0.1.0. Copy it before changing anything."""
    root = Path(shutil.copytree(labelled, tmp_path_factory.mktemp("hidden") / "c"))
    assert forked("release", "build", "--hide", "test", "-c", root).code == 0
    return root

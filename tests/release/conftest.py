"""A small campaign with labelled items in dev and test, for the tests of releases."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import builds
from support.desk import Desk
from support.hub import TOKEN, Hub, serving
from support.labelled import label


@pytest.fixture
def fake_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on this machine, which the real client takes for that of Hugging Face."""
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with serving() as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address)
        yield hub


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
    assert forked("release", "build", "--hide", "labels", "-c", root).code == 0
    return root


@pytest.fixture(scope="package")
def sealed(forked: Any, labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign with a sealed release, 0.1.0. Copy it before changing anything."""
    root = Path(shutil.copytree(labelled, tmp_path_factory.mktemp("sealed") / "c"))
    assert forked("release", "build", "--hide", "all", "-c", root).code == 0
    return root


@pytest.fixture(scope="session")
def example_release(example: Path) -> Path:
    """The release of the example campaign."""
    return example / "7-release" / "0.1.0"


@pytest.fixture(scope="session")
def example_hidden(forked: Any, example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's release with a hidden test split."""
    to = tmp_path_factory.mktemp("hidden") / "c"
    return builds.again(forked, example, to, "--hide", "labels")


@pytest.fixture(scope="session")
def example_sealed(forked: Any, example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's release with a sealed test split."""
    return builds.again(forked, example, tmp_path_factory.mktemp("sealed") / "c", "--hide", "all")


@pytest.fixture(scope="session")
def example_anonymous(forked: Any, example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's release for anonymous review."""
    return builds.again(forked, example, tmp_path_factory.mktemp("anonymous") / "c", "--anonymous")


@pytest.fixture(scope="session")
def arabic_release(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release in Arabic, intersentence only; half of its CATs have no votes."""
    return builds.published(forked, tmp_path_factory.mktemp("ar") / "c", "ar", builds.ARABIC)


@pytest.fixture(scope="session")
def japanese_release(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release in Japanese, intrasentence only, without a single annotation."""
    return builds.published(forked, tmp_path_factory.mktemp("ja") / "c", "ja", builds.JAPANESE)

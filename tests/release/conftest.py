"""A small campaign with labelled items in dev and test, for the tests of releases."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation import pipeline
from support import builds
from support.desk import Row
from support.hub import TOKEN, Hub, serving
from support.labelled import Desk, answer, written

Rows = list[Row]


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
def unlabelled(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Rows]:
    """A campaign before it has labels, and the tasks of its validators."""
    terms = ("baker", "potter", "fiddler", "thatcher", "wheelwright")
    desk = written(forked, tmp_path_factory.mktemp("unlabelled") / "c", *terms)
    return desk, desk.export("v")


# Copy the following campaigns before changing anything.


@pytest.fixture(scope="package")
def labelled(unlabelled: tuple[Desk, Rows], tmp_path_factory: Any) -> Desk:
    """The campaign with labels, not released yet."""
    desk, tasks = unlabelled
    desk = desk.copy(tmp_path_factory.mktemp("labelled") / "c")
    answer(desk, tasks)
    desk.done("decisions", "split")
    return desk


def bring_up_to_date(desk: Desk) -> None:
    with desk.campaign.lock():
        steps = ("agreement", "statistics", "sentiment", "keywords", "pitfalls")
        pipeline.bring_up_to_date(desk.campaign, *steps)


@pytest.fixture(scope="package")
def ready(labelled: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The campaign with everything that a release reads."""
    desk = labelled.copy(tmp_path_factory.mktemp("ready") / "c")
    bring_up_to_date(desk)
    return desk


@pytest.fixture(scope="package")
def hidden(ready: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The campaign with a hidden release, 0.1.0."""
    desk = ready.copy(tmp_path_factory.mktemp("hidden") / "c")
    desk.build("--hide", "labels")
    return desk


@pytest.fixture(scope="package")
def sealed(ready: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The campaign with a sealed release, 0.1.0."""
    desk = ready.copy(tmp_path_factory.mktemp("sealed") / "c")
    desk.build("--hide", "all")
    return desk


@pytest.fixture(scope="package")
def decided(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A campaign of three terms with labels, and with everything that a release reads."""
    desk = written(forked, tmp_path_factory.mktemp("decided") / "c", "baker", "potter", "fiddler")
    answer(desk, desk.export("v"))
    bring_up_to_date(desk)
    return desk


@pytest.fixture(scope="package")
def released(decided: Desk, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """That campaign with its release, 0.1.0."""
    desk = decided.copy(tmp_path_factory.mktemp("released") / "c")
    desk.build()
    return desk


@pytest.fixture(scope="session")
def example_release(example: Path) -> Path:
    """The release of the example campaign."""
    return example / "7-release" / "0.1.0"


@pytest.fixture(scope="session")
def again(forked: Any, example: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Build the example's first version again, with options; gives its folder."""

    def build(*options: str) -> Path:
        desk = Desk(forked, example).copy(tmp_path_factory.mktemp("again") / "c")
        shutil.rmtree(desk.releases)
        desk.build(*options)
        (folder,) = (path for path in desk.releases.iterdir() if path.is_dir())
        return folder

    return build


@pytest.fixture(scope="session")
def example_hidden(again: Any) -> Path:
    """The example's release with a hidden test split."""
    return Path(again("--hide", "labels"))


@pytest.fixture(scope="session")
def example_sealed(again: Any) -> Path:
    """The example's release with a sealed test split."""
    return Path(again("--hide", "all"))


@pytest.fixture(scope="session")
def example_anonymous(again: Any) -> Path:
    """The example's release for anonymous review."""
    return Path(again("--anonymous"))


@pytest.fixture(scope="session")
def arabic_release(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release in Arabic, intersentence only; half of its CATs have no votes."""
    return builds.published(forked, tmp_path_factory.mktemp("ar") / "c", "ar", builds.ARABIC)


@pytest.fixture(scope="session")
def japanese_release(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release in Japanese, intrasentence only, without a single annotation."""
    return builds.published(forked, tmp_path_factory.mktemp("ja") / "c", "ja", builds.JAPANESE)

"""Tiny models of every sort, each made once; no keys."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model; nobody may change it."""
    from support.models import MAKERS

    root = tmp_path_factory.mktemp("models")
    return cache(lambda name: MAKERS[name](root / name))


@pytest.fixture
def copy(made: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of it that may be harmed."""
    return lambda name: Path(shutil.copytree(made(name), tmp_path / name))


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of an endpoint is set on this machine."""
    from curation.models.connection import KEYS

    for name in KEYS:
        monkeypatch.delenv(name, raising=False)

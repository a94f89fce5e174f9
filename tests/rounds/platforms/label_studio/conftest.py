"""A real Label Studio that all tests of a run share, and people who answer on it."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs
import pytest
from filelock import FileLock

from curation.rounds.platforms.label_studio import local
from curation.rounds.platforms.label_studio.client import LabelStudio, connect
from curation.rounds.platforms.label_studio.local import Place
from support.label_studio import Annotator, free_port, new_person


class Server(NamedTuple):
    """The run's server, with the fields of an ``Instance`` that other workers can know."""

    url: str
    key: str
    email: str
    folder: str
    pid: int


@pytest.fixture(scope="session")
def label_studio_executable() -> Path:
    """Label Studio from ``$CURATION_LABEL_STUDIO``, or from an environment that is kept."""
    home = os.environ.get("CURATION_LABEL_STUDIO_HOME") or platformdirs.user_cache_dir("curation")
    return local.prepare(Path(home), print)


@pytest.fixture(scope="session")
def server(
    label_studio_executable: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Iterator[Server]:
    """A server that all workers of a run share: the first starts it, the last stops it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "label-studio"
    shared.mkdir(exist_ok=True)
    users, told = shared / "users", shared / "server.json"
    with FileLock(shared / "lock"):
        count = int(users.read_text("utf-8")) if users.exists() else 0
        if not count:
            place = Place("validators", shared / "validators", free_port())
            made = local.start(place, executable=label_studio_executable)
            there = Server(made.url, made.key, made.email, str(place.folder), made.process.pid)
            told.write_text(json.dumps(there), "utf-8")
        users.write_text(str(count + 1), "utf-8")
        there = Server(*json.loads(told.read_text("utf-8")))
    yield there
    with FileLock(shared / "lock"):
        count = int(users.read_text("utf-8")) - 1
        users.write_text(str(count), "utf-8")
        if not count:
            with suppress(ProcessLookupError):
                os.killpg(there.pid, signal.SIGKILL)  # nothing of it is kept


@pytest.fixture(scope="session")
def ls(server: Server) -> LabelStudio:
    """The run's server, asked by its owner."""
    return connect(server.url, server.key)


@pytest.fixture(scope="session")
def keyed(cli: Callable[..., Any], server: Server) -> Callable[..., Any]:
    """Runs a command that knows the run's server."""
    return partial(cli, LABEL_STUDIO_URL=server.url, LABEL_STUDIO_API_KEY=server.key)


@pytest.fixture(scope="session")
def sign_up(server: Server) -> Callable[..., Annotator]:
    """Makes an account with the invite link: ``sign_up(email)``; by default with a new address."""
    return lambda email=None: new_person(server.url, server.key, email)

"""What the tests share: keys in a folder of their own, the command line, campaigns."""

import gc
import hashlib
import json
import os
import re
import shutil
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

# Workers of tests share the cores: threads of torch in each would only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from filelock import FileLock
from hypothesis import settings

from curation import pipeline  # noqa: F401  (so that all steps are known)
from curation.campaign.settings import CampaignSettings, Settings, new_id
from curation.campaign.store import Campaign, create_campaign
from support import commands, selection
from support import consumers as outside
from support.environments import Process
from support.peers import Worker
from support.peers import peers as open_peers

if TYPE_CHECKING:
    from support.prolific import Played

# A slow machine is no reason to fail.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

ROOT = Path(__file__).parents[1]
SEGMENT = re.compile(rb"\d{8}T\d{12}(-[0-9a-f]{12}\.jsonl)")


Run = Callable[..., commands.Ran]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz", type=int, default=2_000, metavar="N", help="damaged files to try")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    selection.mark(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    gc.disable()
    ended = yield
    gc.freeze()  # modules stay: no garbage collection needs to look at them, no fork to copy them
    gc.enable()
    return ended


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return selection.left_out(collection_path, config.option.markexpr) or None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with selection.watched(item):
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Commands that tests start do not ignore Ctrl-C, also if the tests run in the background."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the keys: never the home folder, also not in subprocesses."""
    folder = tmp_path_factory.mktemp("keys")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURATION_KEYS", str(folder))
        for name in ("FORCE_COLOR", "CURATION_CAMPAIGN", "COLUMNS"):
            patch.delenv(name, raising=False)
        yield folder


@pytest.fixture(scope="session", autouse=True)
def no_power_cuts() -> Iterator[None]:
    """``fsync`` returns at once: what it does, a power cut alone would show.

    ``test_files.py`` holds that it is called, and when.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session")
def cli() -> Run:
    """``python -m curation ...`` in a process of its own."""
    return commands.in_a_new_process


@pytest.fixture(scope="session")
def forked() -> Run:
    """The same in this process, or in a fork of it: ``support.commands.run``."""
    return commands.run


@pytest.fixture(scope="session")
def peers() -> Iterator[Worker]:
    """A process that has lm-eval and minicons, in an environment of its own."""
    with open_peers() as worker:
        yield worker


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium, driven by Playwright."""
    from support.browsers import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, which finds what keeps people from using a page."""
    from support.browsers import AXE, node_package

    return (node_package(AXE) / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="session")
def consumers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A process that reads releases with other libraries, in an environment of its own."""
    with outside.readers(tmp_path_factory.mktemp("caches")) as process:
        yield process


@pytest.fixture(scope="session")
def citations() -> Iterator[Process]:
    """A process that reads CITATION.cff with cffconvert, in an environment of its own."""
    with outside.citations() as process:
        yield process


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Played]":
    """The API of Prolific, played, for all commands."""
    from support.prolific import playing

    with playing(monkeypatch) as made:
        yield made


def _fresh(folder: Path) -> Campaign:
    return create_campaign(folder, Settings(campaign=CampaignSettings(id=new_id())))


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """A fresh campaign, without answers."""
    return _fresh(tmp_path / "campaign")


@pytest.fixture(scope="module")
def one_canary() -> Iterator[None]:
    """Every first build of a version draws the same canary, in this process and its forks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=4))
        yield


@pytest.fixture(scope="session")
def example_data() -> Path:
    """The folder of the example's files."""
    return ROOT / "data" / "example"


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers of a run share. Write to it under a lock."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


class Demo(NamedTuple):
    """The folder in which ``curation demo`` ran, and how it ended."""

    folder: Path
    done: commands.Ran


@pytest.fixture(scope="session")
def demo(shared: Path, keys: Path) -> Demo:
    """``curation demo``, once for all workers, in a window of 120 columns."""
    said = _run_demo(shared)
    for key in (shared / "demo" / "keys").glob("*.key"):
        shutil.copy2(key, keys)
    return Demo(shared / "demo", commands.Ran(*json.loads(said.read_text("utf-8"))))


def _run_demo(shared: Path) -> Path:
    """Run the demo if no worker has; gives the file that says how it ended."""
    folder, said = shared / "demo", shared / "demo.json"
    with FileLock(shared / "demo.lock"):
        if not said.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            env = {"COLUMNS": "120", "CURATION_KEYS": str(folder / "keys")}
            ended = commands.in_a_new_process("demo", cwd=folder, **env)
            said.write_text(json.dumps(ended), "utf-8")
    return said


@pytest.fixture(scope="session", autouse=True)
def demo_begins(
    request: pytest.FixtureRequest, shared: Path, no_power_cuts: None
) -> Iterator[None]:
    """Begin the demo at once, so that later no worker waits for it."""
    needed = any("demo" in getattr(item, "fixturenames", ()) for item in request.session.items)
    begun = Thread(target=_run_demo, args=(shared,), daemon=True)
    if needed:
        begun.start()
    yield
    if needed:
        begun.join()


@pytest.fixture(scope="session")
def example(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example campaign, finished. Copy it before changing anything."""
    assert demo.done.code == 0, demo.done.err
    folder = tmp_path_factory.mktemp("example") / "campaign"
    return Path(shutil.copytree(demo.folder / "curation-demo", folder))


@pytest.fixture
def finished(example: Path, tmp_path: Path) -> Path:
    """A copy of the finished example campaign."""
    return Path(shutil.copytree(example, tmp_path / "finished"))


@pytest.fixture(scope="session")
def planted_model(shared: Path) -> Path:
    """The folder of ``chat_models.planted_chat_model``, trained once for all workers."""
    from support.chat_models import planted_chat_model

    folder, ready = shared / "planted-model", shared / "planted-model.ready"
    with FileLock(shared / "planted-model.lock"):
        if not ready.exists():
            planted_chat_model(folder)
            ready.touch()
    return folder


class Small(NamedTuple):
    """A cut-down example: quick, and yet some items become CATs."""

    writers: Path
    validators: Path
    published: Path


@pytest.fixture(scope="session")
def small(example_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Small:
    """The example's first writers' answers, their labels, and its published items."""
    folder = tmp_path_factory.mktemp("small")
    writers = (example_data / "writers.csv").read_text("utf-8").splitlines(keepends=True)
    written = {line.split(",")[0] for line in writers[1:21]}
    validators = (example_data / "validators.csv").read_text("utf-8-sig").splitlines(keepends=True)
    labels = [line for line in validators[1:] if line.split(";")[1] in written]
    (folder / "writers.csv").write_text("".join(writers[:21]), "utf-8")
    (folder / "validators.csv").write_text("".join([validators[0], *labels]), "utf-8")
    shutil.copyfile(example_data / "published.json", folder / "published.json")
    return Small(*(folder / name for name in ("writers.csv", "validators.csv", "published.json")))


Content = dict[str, Any]


@pytest.fixture(scope="session")
def content() -> Callable[..., Content]:
    """What a campaign folder holds, by file, without what may differ between two runs.

    That is the time stamps in names of segments, a manifest's times, locks. A manifest must be
    true to its files. Of a folder that is not ``whole``, manifests and half written files are
    left out.
    """

    def read(root: Path, *, whole: bool = True) -> Content:
        found: Content = {}
        for path in sorted(p for p in root.rglob("*") if p.is_file()):
            name = SEGMENT.sub(rb"\1", path.relative_to(root).as_posix().encode()).decode()
            if path.name.startswith(".lock"):
                continue
            if not whole and (path.name == "manifest.json" or ".tmp" in name):
                continue
            data = SEGMENT.sub(rb"\1", path.read_bytes())
            if path.name == "manifest.json":
                manifest = json.loads(data)
                for step in manifest["steps"].values():
                    del step["finished_at"]
                    for output, sha in step["outputs"].items():
                        if not (path.parent / output).parent.exists():
                            continue  # a version of the release that was deleted
                        assert _sha(path.parent / output) == sha, f"{output} is not as {path} says"
                    step["outputs"] = sorted(step["outputs"])
                    for given in step["inputs"]:
                        if given.endswith("/rejected.jsonl"):  # it names segments
                            step["inputs"][given] = ""
                found[name] = manifest
            elif path.name == "facts.json":
                told = json.loads(data)
                for how in told.values():
                    del how["finished_at"]
                found[name] = told
            else:
                found[name] = hashlib.sha256(data).hexdigest()
        return found

    return read


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def untouched() -> Callable[[Path], Mapping[str, tuple[int, int, int]]]:
    """Size, time and inode of every file of a folder but its lock: equal where nobody wrote."""

    def look(root: Path) -> Mapping[str, tuple[int, int, int]]:
        found = {}
        for path in sorted(root.rglob("*")):
            if not path.name.startswith(".lock") and path.is_file():
                stat = path.stat()
                found[str(path)] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
        return found

    return look


@pytest.fixture(scope="session")
def rejections() -> Callable[[Campaign, str], list[tuple[str, str]]]:
    """The (code, detail) pairs of a round's ``rejected.jsonl``."""

    def read(campaign: Campaign, round: str = "main") -> list[tuple[str, str]]:
        path = campaign.folder("rounds") / round / "rejected.jsonl"
        rows = map(json.loads, path.read_text("utf-8").splitlines())
        return [(row["code"], row["detail"]) for row in rows]

    return read

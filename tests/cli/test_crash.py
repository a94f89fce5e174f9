"""What can befall a command half-way: kill -9, a full disk, a closed folder, another command."""

import codecs
import json
import os
import pickle
import platform
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from curation.campaign import Campaign, create_campaign
from curation.decisions import agreement
from curation.settings import (
    CampaignSettings,
    Settings,
    TermSettings,
    new_id,
)
from curation.steps.release import scored
from support.strike import strike, times

pytestmark = pytest.mark.long

NOBODY = 65534
Command = tuple[str | Path, ...]
# A campaign's work, command by command; the last does in one what those behind the imports do.
NAMES = (
    *("scan", "select", "writers", "validators", "published", "filter", "agreement", "split"),
    *("statistics", "sentiment", "keywords", "pitfalls", "release", "run"),
)
IMPORTS = 5  # the commands that bring something in come first
WRITES = 5  # at which each command is killed
HARMED = [NAMES.index(name) for name in ("scan", "validators", "published", "run")]


@pytest.fixture(scope="module", autouse=True)
def computed_once() -> Iterator[None]:
    """Coefficients and baselines are computed once for the same input: every run here needs them.

    They touch no disk, so that a command can be killed at the same moments as ever.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement, "measured", once(agreement.measured))
        patch.setattr(scored, "baseline_results", once(scored.baseline_results))
        yield


@cache
def undisturbed(content: Any, root: Path) -> Any:
    """What a stage's folder holds, without manifests."""
    return content(root, whole=False)


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that keeps its results, by the content of its arguments; a fork knows them too."""
    kept: dict[bytes, bytes] = {}

    def call(*args: Any, **options: Any) -> Any:
        key = pickle.dumps((args, options))
        if key not in kept:
            kept[key] = pickle.dumps(function(*args, **options))
        return pickle.loads(kept[key])

    return call


class Stage(NamedTuple):
    """A command, and how an undisturbed campaign lay before and after it."""

    command: Command
    before: Path
    after: Path


@pytest.fixture(scope="module")
def stages(
    one_canary: None,
    small: Any,
    forked: Any,
    example_data: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Stage]:
    folder = tmp_path_factory.mktemp("stages")
    settings = Settings(campaign=CampaignSettings(id=new_id()), terms=TermSettings(least=1))
    lies = [create_campaign(folder / "0", settings).root]
    commands: list[Command] = [
        ("terms", "scan", example_data / "dump.json"),
        ("terms", "select"),
        ("import", "answers", small.writers),
        ("import", "answers", small.validators),
        ("import", "stereoset", small.published),
        ("decisions", "filter"),
        ("decisions", "agreement"),
        ("decisions", "split"),
        *(("measures", name) for name in NAMES[8:12]),
        ("release", "build"),
    ]
    for number, command in enumerate(commands, 1):
        lies.append(Path(shutil.copytree(lies[-1], folder / str(number))))
        done = forked(*command, "-c", lies[-1])
        assert done.code == 0, done.err
    steps = [Stage(c, lies[n], lies[n + 1]) for n, c in enumerate(commands)]
    return [*steps, Stage(("run",), lies[IMPORTS], lies[-1])]


def leftovers(folder: Path) -> list[Path]:
    return list(folder.rglob(".*.tmp"))


# --- kill -9 ----------------------------------------------------------------------------------


def check_after_death(
    forked: Any,
    content: Any,
    root: Path,
    stages: list[Stage],
    *,
    at: int,
    look_first: bool,
) -> None:
    """A folder whose ``at``-th command died must be whole, and come to the same end.

    That is the state after the command, from which all goes on as undisturbed. If people look
    first, and run what can be run, it is the end of all commands.
    """
    stage, commands, end = stages[at], [stages[at].command], stages[at].after
    check_nothing_is_half(content, root, stage)
    lost = set(undisturbed(content, stage.before)) - set(content(root, whole=False))
    assert not lost, "a result is gone"
    if look_first:
        looked = [forked(word, "-c", root) for word in ("status", "run")]
        assert looked[0].code == 0, looked[0].err
        assert "Traceback" not in looked[1].err
        # A version that was built too early is never rewritten.
        shutil.rmtree(root / "7-release" / "0.1.0", ignore_errors=True)
        commands, end = (
            [*(stage.command for stage in stages[at:IMPORTS]), ("run",)],
            stages[-1].after,
        )
    for command in commands:
        done = forked(*command, "-c", root)
        assert done.code == 0, done.err
    assert content(root) == content(end)
    assert leftovers(root) == []


def check_nothing_is_half(content: Any, root: Path, stage: Stage) -> None:
    """Every file is as before the command or as after it."""
    before, after = undisturbed(content, stage.before), undisturbed(content, stage.after)
    for name, sha in content(root, whole=False).items():
        assert sha in (before.get(name), after.get(name)), f"half of {name} is there"


@pytest.mark.parametrize("at", range(len(NAMES)), ids=NAMES)
def test_killed_anywhere_and_run_again(
    forked: Any, content: Any, stages: list[Stage], tmp_path: Path, at: int
) -> None:
    counted = Path(shutil.copytree(stages[at].before, tmp_path / "counted"))
    writes = times(forked, (*stages[at].command, "-c", counted), counted, seen=True)
    assert writes >= 4  # at the least: lock, holder, one result, the manifest
    drawn = sorted(random.Random(at).sample(range(1, writes + 1), min(writes, WRITES)))
    for write in drawn:
        root = Path(shutil.copytree(stages[at].before, tmp_path / f"killed-{write}"))
        died = forked(*stages[at].command, "-c", root, before=strike(root, at=write, seen=True))
        assert died.code == -signal.SIGKILL
        look_first = write == drawn[len(drawn) // 2]
        check_after_death(forked, content, root, stages, at=at, look_first=look_first)


@pytest.mark.parametrize("at", HARMED, ids=[NAMES[n] for n in HARMED])
def test_killed_by_the_clock_and_run_again(
    forked: Any, content: Any, stages: list[Stage], tmp_path: Path, at: int
) -> None:
    whole = Path(shutil.copytree(stages[at].before, tmp_path / "timed"))
    began = time.monotonic()
    assert forked(*stages[at].command, "-c", whole).code == 0
    took = time.monotonic() - began
    draw = random.Random(at)
    for number in range(4):
        root = Path(shutil.copytree(stages[at].before, tmp_path / f"killed-{number}"))
        forked(*stages[at].command, "-c", root, seconds=draw.uniform(0, took))
        check_after_death(forked, content, root, stages, at=at, look_first=number == 1)


STOPS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("at", range(len(NAMES)), ids=NAMES)
def test_stopped_anywhere_says_one_line_and_leaves_nothing(
    forked: Any, content: Any, stages: list[Stage], tmp_path: Path, at: int
) -> None:
    root = Path(shutil.copytree(stages[at].before, tmp_path / "campaign"))
    draw = random.Random(at)
    for by, code in STOPS.items():
        # The lock and its holder come first; what is stopped later has begun its work.
        moment = draw.randint(8, 14)
        done = forked(*stages[at].command, "-c", root, before=strike(root, at=moment, by=by))
        if done.code == 0:  # a command that touches the disk less often
            continue
        assert done.code == code, done.err
        assert done.err.splitlines()[-1] == (
            f"stopped by {by.name}: you can run the same command again"
        )
        assert "Traceback" not in done.err
        assert leftovers(root) == []
        assert not (root / ".lock-holder").exists()
        check_nothing_is_half(content, root, stages[at])
    again = forked(*stages[at].command, "-c", root)
    assert again.code == 0, again.err


def test_a_campaign_whose_making_was_killed_can_be_made(forked: Any, tmp_path: Path) -> None:
    making = ("init", tmp_path / "c", "--yes")
    for write in range(1, times(forked, making, tmp_path, seen=True) + 1):
        folder = tmp_path / f"killed-{write}"
        died = forked("init", folder, "--yes", before=strike(folder, at=write, seen=True))
        assert died.code == -signal.SIGKILL
        again = forked("init", folder, "--yes")
        # Killed when all was written, it is there; else it can be made.
        assert again.code == 0 or "is a campaign already" in again.err
        assert forked("status", "-c", folder).code == 0


def test_a_killed_import_leaves_no_half_key(
    forked: Any, small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, folder = tmp_path / "campaign", tmp_path / "keys"
    monkeypatch.setenv("CURATION_KEYS", str(folder))
    # fsync twice for the lock's holder; make the folder, open, fsync, link, remove; fsync again.
    for moment in range(1, 9):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(root, ignore_errors=True)
        assert forked("init", root, "--yes").code == 0
        command = ("import", "answers", small.writers, "-c", root)
        assert forked(*command, before=strike(folder, at=moment)).code == -signal.SIGKILL
        done = forked(*command)
        assert done.code == 0, done.err
        keys = [p for p in folder.iterdir() if p.suffix == ".key"]
        assert [p.stat().st_size for p in keys] == [32]
        assert leftovers(folder) == [], f"killed at moment {moment}"


# --- a full disk ------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path | None]:
    """A small disk of its own (2 MB), or None where none may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "curation-test", str(place)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield place if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """Fill a disk but for so many bytes; returns the file that does it."""
    filler = disk / "filler"
    room = os.statvfs(disk)
    with filler.open("wb") as file:
        file.write(bytes(room.f_bavail * room.f_frsize - leave))
    return filler


def limit(size: int) -> Callable[[], None]:
    """Prepare a process so that no file of its can grow larger: as on a full disk, EFBIG."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


# 4 kB steps: dies in the lock's holder, the archive, the terms, the fold, the decisions, ...
ROOMS = (0, 4, 8, 12, 24, 40, 80, 160, 240)


@pytest.mark.parametrize("at", HARMED, ids=[NAMES[n] for n in HARMED])
@pytest.mark.parametrize("how", ["disk", "limit"])
def test_a_full_disk(
    forked: Any,
    content: Any,
    stages: list[Stage],
    tmp_path: Path,
    disk: Path | None,
    at: int,
    how: str,
) -> None:
    failed = 0
    for room in ROOMS:
        home = disk if disk and how == "disk" else tmp_path
        root = Path(shutil.copytree(stages[at].before, home / f"room-{room}"))
        if home is disk:
            filler = fill(disk, room * 1024)
            done = forked(*stages[at].command, "-c", root)
            filler.unlink()
        else:
            done = forked(*stages[at].command, "-c", root, before=limit(max(room, 1) * 1024))
        assert done.code in (0, 1), done.err
        if done.code == 1:
            failed += 1
            assert "the disk is full" in done.err
            assert "fix:   free some space, then run the same command again" in done.err
            assert "Traceback" not in done.err
            assert leftovers(root) == []
        check_after_death(forked, content, root, stages, at=at, look_first=room == 8)
        shutil.rmtree(root)
        if done.code == 0:  # it has room enough, and more would change nothing
            break
    assert failed >= 3


def test_a_full_disk_for_the_key(
    forked: Any, small: Any, campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "keys"
    monkeypatch.setenv("CURATION_KEYS", str(folder))
    command = ("import", "answers", small.writers, "-c", campaign.root)
    # 16 bytes: half a key. The lock's holder needs more and comes before it, so it is spared.
    done = forked(*command, before=lambda: _half_a_key(folder))
    assert done.code == 1
    assert "the disk is full" in done.err
    assert list(folder.iterdir()) == []
    assert forked(*command).code == 0
    assert [p.stat().st_size for p in folder.iterdir()] == [32]


def _half_a_key(folder: Path) -> None:
    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and str(args[0]).startswith(str(folder)):
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    sys.addaudithook(hook)


def test_a_full_disk_for_a_new_campaign(forked: Any, tmp_path: Path) -> None:
    done = forked("init", tmp_path / "new", "--yes", before=limit(100))
    assert done.code == 1
    assert "the disk is full" in done.err
    assert leftovers(tmp_path) == []
    assert forked("init", tmp_path / "new", "--yes").code == 0


# --- a folder that cannot be written -------------------------------------------------------------


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody can enter; pytest's own are its owner's alone."""
    folder = Path(tempfile.mkdtemp(prefix="curation-test-"))
    folder.chmod(0o755)
    yield folder
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def close(*paths: Path) -> None:
    """Take the right to write from everybody."""
    for path in paths:
        for each in (path, *path.rglob("*")):
            each.chmod(0o555 if each.is_dir() else 0o444)


def drop_rights() -> None:
    """Become nobody: root may write everywhere."""
    codecs.lookup("utf-8-sig")  # is loaded late, and nobody may not read where Python lies
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def check_refused(done: Any, path: Path) -> None:
    assert done.code == 1, done.err
    lines = done.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: ")
    assert str(path) in lines[0]
    assert lines[1].startswith("fix:   ")
    assert done.out == ""


@pytest.mark.parametrize("at", range(len(NAMES)), ids=NAMES)
def test_a_closed_campaign(
    forked: Any, untouched: Any, stages: list[Stage], public: Path, at: int
) -> None:
    root = Path(shutil.copytree(stages[at].before, public / "campaign"))
    command = [
        shutil.copy(part, public) if isinstance(part, Path) else part for part in stages[at].command
    ]
    close(root)
    before = untouched(root)
    done = forked(*command, "-c", root, before=drop_rights)
    check_refused(done, root)
    assert "no write permission" in done.err
    assert untouched(root) == before


def test_a_closed_results_folder(
    forked: Any,
    untouched: Any,
    content: Any,
    stages: list[Stage],
    public: Path,
    keys: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = Path(shutil.copytree(stages[-1].before, public / "campaign"))
    shutil.copytree(keys, public / "keys")
    monkeypatch.setenv("CURATION_KEYS", str(public / "keys"))
    decisions = root / "3-decisions"
    decisions.mkdir(exist_ok=True)
    for path in (public, *public.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    close(decisions)
    before = untouched(root)
    done = forked("run", "-c", root, before=drop_rights)
    assert done.code == 1
    assert f"{decisions}" in done.err
    assert "no write permission" in done.err
    assert "fix:   get write permission, or use another folder" in done.err
    assert untouched(root) == before
    decisions.chmod(0o755)
    assert forked("run", "-c", root, before=drop_rights).code == 0
    assert content(root) == content(stages[-1].after)


@pytest.mark.parametrize("command", ["init", "demo"])
def test_no_campaign_in_a_closed_folder(forked: Any, public: Path, command: str) -> None:
    closed = public / "closed"
    closed.mkdir()
    close(closed)
    yes = ["--yes"] if command == "init" else []
    done = forked(command, closed / "new", *yes, before=drop_rights)
    check_refused(done, closed / "new")
    assert "choose a folder that you can write to" in done.err
    assert list(closed.iterdir()) == []


def test_a_file_that_may_not_be_read(
    forked: Any, small: Any, public: Path, campaign: Campaign, untouched: Any
) -> None:
    root = Path(shutil.copytree(campaign.root, public / "campaign"))
    secret = Path(shutil.copy(small.writers, public / "secret.csv"))
    secret.chmod(0o000)
    done = forked("import", "answers", secret, "-c", root, before=drop_rights)
    check_refused(done, secret)
    assert "may not be read" in done.err
    assert not (root / "2-rounds").exists()


def test_a_folder_that_may_not_be_entered(forked: Any, small: Any, public: Path) -> None:
    closed = public / "closed"
    closed.mkdir()
    gold = Path(shutil.copy(small.published, public / "dev.json"))
    gold.chmod(0o644)
    closed.chmod(0o000)
    export = ("release", "export", "lm-eval", "--gold", gold, "--to", closed / "new")
    done = forked(*export, before=drop_rights)
    closed.chmod(0o755)
    check_refused(done, closed)
    assert "may not be read" in done.err


def test_a_result_that_may_not_be_read(forked: Any, stages: list[Stage], public: Path) -> None:
    root = Path(shutil.copytree(stages[-1].after, public / "campaign"))
    items = sorted(root.glob("2-rounds/*/items.jsonl"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in items} == {0o600}
    done = forked("status", "-c", root, before=drop_rights)  # as a colleague on the same machine
    check_refused(done, items[0])
    assert "may not be read" in done.err


def test_results_into_a_closed_folder(forked: Any, stages: list[Stage], public: Path) -> None:
    gold = Path(shutil.copy(stages[-1].after / "7-release" / "0.1.0" / "test.json", public))
    folder = public / "closed"
    folder.mkdir()
    close(folder)
    ids = [
        sentence["id"]
        for items in json.loads(gold.read_text("utf-8"))["data"].values()
        for item in items
        for sentence in item["sentences"]
    ]
    scores = public / "predictions_m.json"
    rows = [{"id": name, "score": place} for place, name in enumerate(ids)]
    scores.write_text(json.dumps({"intrasentence": rows}), "utf-8")
    words = ("scores", "predictions", "--gold", gold, "--predictions", scores, "--json")
    assert forked(*words, public / "out.json").code == 0
    done = forked(*words, folder / "out.json", before=drop_rights)
    check_refused(done, folder)
    assert "no write permission" in done.err
    assert list(folder.iterdir()) == []


# --- two commands at once -----------------------------------------------------------------------

HOLD = """
import sys, time
from pathlib import Path
from curation.campaign import open_campaign
sys.argv = ["curation", "import", "answers", "huge.csv"]
with open_campaign(Path(sys.stdin.readline().strip())).lock():
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_commands_at_once(
    forked: Any, content: Any, untouched: Any, stages: list[Stage], tmp_path: Path
) -> None:
    root = Path(shutil.copytree(stages[-1].before, tmp_path / "campaign"))
    before = untouched(root)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", HOLD], **pipes) as holder:
        try:
            assert holder.stdin is not None
            assert holder.stdout is not None
            holder.stdin.write(f"{root}\n")
            holder.stdin.flush()
            assert holder.stdout.readline() == "held\n"
            second = forked("run", "-c", root)
            check_refused(second, root)
            assert "in use by «curation import answers»" in second.err
            assert f"(process {holder.pid} on {platform.node()}, since 20" in second.err
            assert "wait until it has ended" in second.err
            assert untouched(root) == before
            assert forked("status", "-c", root).code == 0  # who only looks need not wait
        finally:
            os.kill(holder.pid, signal.SIGKILL)
    after = forked("run", "-c", root)
    assert after.code == 0, after.err
    assert content(root) == content(stages[-1].after)


def test_imports_that_start_together_lose_nothing(
    forked: Any,
    content: Any,
    small: Any,
    stages: list[Stage],
    tmp_path: Path,
) -> None:
    root = Path(shutil.copytree(stages[3].before, tmp_path / "campaign"))
    words = [str(word) for word in (*stages[3].command, "-c", root)]
    together = [
        subprocess.Popen(
            [sys.executable, "-m", "curation", *words], stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    ends = [(process.communicate()[1], process.returncode) for process in together]
    assert any(code == 0 for _, code in ends)
    for err, code in ends:
        assert code == 0 or "in use by" in err
    assert forked(*stages[4].command, "-c", root).code == 0
    assert forked("run", "-c", root).code == 0
    assert content(root) == content(stages[-1].after)


def test_the_key_is_its_owners_alone(stages: list[Stage], keys: Path) -> None:
    modes = [stat.S_IMODE(path.stat().st_mode) for path in keys.glob("*.key")]
    assert modes
    assert set(modes) == {0o600}

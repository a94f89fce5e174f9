"""What can befall a command half-way: kill -9, a full disk, a closed folder, another command."""

import codecs
import os
import platform
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.settings import CampaignSettings, Settings, TermSettings, new_id
from curation.campaign.store import Campaign, create_campaign
from support.desk import Desk, Stage
from support.strike import strike, times

pytestmark = pytest.mark.long

NOBODY = 65534
# A campaign's work, command by command; the last does in one what those behind the imports do.
NAMES = (
    *("scan", "select", "writers", "validators", "published", "filter", "agreement", "split"),
    *("statistics", "sentiment", "keywords", "pitfalls", "release", "pages", "run"),
)
IMPORTS = 5  # the commands that bring something in come first
WRITES = 3  # at which each command is killed
HARMED = ("scan", "validators", "published", "run")
Stages = dict[str, Stage]


@cache
def undisturbed(content: Any, root: Path) -> Any:
    """What a stage's folder holds, without manifests."""
    return content(root, whole=False)


@pytest.fixture(scope="module")
def stages(
    one_canary: None,
    small: Any,
    forked: Any,
    example_data: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Stages:
    folder = tmp_path_factory.mktemp("stages")
    settings = Settings(campaign=CampaignSettings(id=new_id()), terms=TermSettings(least=1))
    desk = Desk(forked, create_campaign(folder / "0", settings).root)
    commands: list[tuple[str | Path, ...]] = [
        ("terms", "scan", example_data / "dump.json"),
        ("terms", "select"),
        ("import", "answers", small.writers),
        ("import", "answers", small.validators),
        ("import", "stereoset", small.published),
        *(("decisions", name) for name in NAMES[5:8]),
        *(("measures", name) for name in NAMES[8:12]),
        ("release", "build"),
        ("pages", "build"),
    ]
    found: Stages = {}
    for name, command in zip(NAMES, commands, strict=False):
        before, desk = desk, desk.copy(folder / name)
        desk.does(*command)
        found[name] = Stage(command, before, desk)
    return {**found, "run": Stage(("run",), found[NAMES[IMPORTS]].before, desk)}


def leftovers(folder: Path) -> list[Path]:
    return list(folder.rglob(".*.tmp"))


# --- kill -9 ----------------------------------------------------------------------------------


def check_after_death(
    content: Any, desk: Desk, stages: Stages, name: str, *, look_first: bool
) -> None:
    """A folder whose command died must be whole, and come to the same end.

    That is the state after the command, from which all goes on as undisturbed. If people look
    first, and run what can be run, it is the end of all commands.
    """
    stage, commands, end = stages[name], [stages[name].command], stages[name].after
    check_nothing_is_half(content, desk, stage)
    lost = set(undisturbed(content, stage.before.root)) - set(content(desk.root, whole=False))
    assert not lost, "a result is gone"
    if look_first:
        desk.does("status")
        assert "Traceback" not in desk.run("run").err
        # A version that was built too early is never rewritten.
        shutil.rmtree(desk.root / "7-release" / "0.1.0", ignore_errors=True)
        left = NAMES[NAMES.index(name) : IMPORTS]
        commands, end = [*(stages[each].command for each in left), ("run",)], stages["run"].after
    for command in commands:
        desk.does(*command)
    assert content(desk.root) == content(end.root)
    assert leftovers(desk.root) == []


def check_nothing_is_half(content: Any, desk: Desk, stage: Stage) -> None:
    """Every file is as before the command or as after it."""
    before, after = (undisturbed(content, each.root) for each in (stage.before, stage.after))
    for name, sha in content(desk.root, whole=False).items():
        assert sha in (before.get(name), after.get(name)), f"half of {name} is there"


@pytest.mark.parametrize("name", NAMES)
def test_killed_anywhere_and_run_again(
    content: Any, stages: Stages, tmp_path: Path, name: str
) -> None:
    def draw(writes: Sequence[int]) -> list[int]:
        assert len(writes) >= 4  # at the least: lock, holder, one result, the manifest
        return sorted(random.Random(name).sample(writes, min(len(writes), WRITES)))

    killed = stages[name].before.killed(stages[name].command, tmp_path, draw)[1]
    for number, desk in enumerate(killed):
        check_after_death(content, desk, stages, name, look_first=number == WRITES // 2)


STOPS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("name", HARMED)
def test_stopped_anywhere_says_one_line_and_leaves_nothing(
    content: Any, stages: Stages, tmp_path: Path, name: str
) -> None:
    command, desk = stages[name].command, stages[name].before.copy(tmp_path / "campaign")
    draw = random.Random(name)
    for by, code in STOPS.items():
        # The lock and its holder come first; what is stopped later has begun its work.
        done = desk.run(*command, before=strike(desk.root, at=draw.randint(8, 14), by=by))
        if done.code == 0:  # a command that touches the disk less often
            continue
        assert done.code == code, done.err
        says = f"stopped by {by.name}: you can run the same command again"
        assert done.err.splitlines()[-1] == says
        assert "Traceback" not in done.err
        assert leftovers(desk.root) == []
        assert not (desk.root / ".lock-holder").exists()
        check_nothing_is_half(content, desk, stages[name])
    desk.does(*command)


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
    """A small disk of its own (8 MB), or None where none may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "curation-test", str(place)]
    there = shutil.which("mount") is not None
    mounted = there and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    yield place if mounted else None
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


@pytest.mark.parametrize("name", HARMED)
@pytest.mark.parametrize("how", ["disk", "limit"])
def test_a_full_disk(
    content: Any, stages: Stages, tmp_path: Path, disk: Path | None, name: str, how: str
) -> None:
    failed, command = 0, stages[name].command
    home = disk if disk and how == "disk" else tmp_path
    for room in ROOMS:
        desk = stages[name].before.copy(home / f"room-{room}")
        if home is disk:
            filler = fill(disk, room * 1024)
            done = desk.run(*command)
            filler.unlink()
        else:
            done = desk.run(*command, before=limit(max(room, 1) * 1024))
        assert done.code in (0, 1), done.err
        if done.code == 1:
            failed += 1
            assert "the disk is full" in done.err
            assert "fix:   free some space, then run the same command again" in done.err
            assert "Traceback" not in done.err
            assert leftovers(desk.root) == []
        check_after_death(content, desk, stages, name, look_first=room == 8)
        shutil.rmtree(desk.root)
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


@pytest.mark.parametrize("name", HARMED)
def test_a_closed_campaign(untouched: Any, stages: Stages, public: Path, name: str) -> None:
    desk = stages[name].before.copy(public / "campaign")
    command = [
        shutil.copy(part, public) if isinstance(part, Path) else part
        for part in stages[name].command
    ]
    close(desk.root)
    before = untouched(desk.root)
    done = desk.run(*command, before=drop_rights)
    check_refused(done, desk.root)
    assert "no write permission" in done.err
    assert untouched(desk.root) == before


def test_a_closed_results_folder(
    untouched: Any,
    content: Any,
    stages: Stages,
    public: Path,
    keys: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = stages["run"].before.copy(public / "campaign")
    shutil.copytree(keys, public / "keys")
    monkeypatch.setenv("CURATION_KEYS", str(public / "keys"))
    decisions = desk.root / "3-decisions"
    decisions.mkdir(exist_ok=True)
    for path in (public, *public.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    close(decisions)
    before = untouched(desk.root)
    done = desk.run("run", before=drop_rights)
    assert done.code == 1
    assert f"{decisions}" in done.err
    assert "no write permission" in done.err
    assert "fix:   get write permission, or use another folder" in done.err
    assert untouched(desk.root) == before
    decisions.chmod(0o755)
    assert desk.run("run", before=drop_rights).code == 0
    assert content(desk.root) == content(stages["run"].after.root)


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


def test_a_result_that_may_not_be_read(stages: Stages, public: Path) -> None:
    desk = stages["run"].after.copy(public / "campaign")
    items = sorted(desk.rounds.glob("*/items.jsonl"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in items} == {0o600}
    done = desk.run("status", before=drop_rights)  # as a colleague on the same machine
    check_refused(done, items[0])
    assert "may not be read" in done.err


# --- two commands at once -----------------------------------------------------------------------

HOLD = """
import sys, time
from pathlib import Path
from curation.campaign.store import open_campaign
root = Path(sys.argv[1])
sys.argv = ["curation", "import", "answers", "huge.csv"]
with open_campaign(root).lock():
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_commands_at_once(content: Any, untouched: Any, stages: Stages, tmp_path: Path) -> None:
    desk = stages["run"].before.copy(tmp_path / "campaign")
    before = untouched(desk.root)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, desk.root], stdout=subprocess.PIPE, text=True
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            second = desk.run("run")
            check_refused(second, desk.root)
            assert "in use by «curation import answers»" in second.err
            assert f"(process {holder.pid} on {platform.node()}, since 20" in second.err
            assert "wait until it has ended" in second.err
            assert untouched(desk.root) == before
            desk.does("status")  # who only looks need not wait
        finally:
            os.kill(holder.pid, signal.SIGKILL)
    desk.does("run")
    assert content(desk.root) == content(stages["run"].after.root)


def test_imports_that_start_together_lose_nothing(
    content: Any, stages: Stages, tmp_path: Path
) -> None:
    desk = stages["validators"].before.copy(tmp_path / "campaign")
    words = [sys.executable, "-m", "curation", *stages["validators"].command, "-c", desk.root]
    together = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    ends = [(process.communicate()[1], process.returncode) for process in together]
    assert any(code == 0 for _, code in ends)
    for err, code in ends:
        assert code == 0 or "in use by" in err
    desk.does(*stages["published"].command)
    desk.does("run")
    assert content(desk.root) == content(stages["run"].after.root)

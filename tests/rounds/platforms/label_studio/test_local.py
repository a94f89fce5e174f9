"""A campaign's own server is made, started, killed, started again and stopped."""

import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from curation.rounds.platforms.label_studio import local
from curation.rounds.platforms.label_studio.client import LabelStudio
from curation.rounds.platforms.label_studio.connection import Connection, taken
from curation.rounds.platforms.label_studio.local import Place
from support.expected import fails
from support.label_studio import CONFIG, data, free_port, private_session, send_sign_up


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def status(link: str, name: str) -> int:
    """The status with which the server answers a sign-up."""
    with private_session() as session:
        email = f"{name}@example.invalid"
        return send_sign_up(session, link, email, allow_redirects=False).status_code


def answering(server: local.Instance) -> LabelStudio:
    return LabelStudio(Connection(server.url, server.key, tell=str, timeout=30, waits=()))


def script(folder: Path, text: str) -> Path:
    """An executable in the place of Label Studio's."""
    path = folder / "label-studio"
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


def test_a_server_lives_dies_and_lives_again(
    tmp_path: Path, label_studio_executable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOST", "PORT", "USERNAME", "PASSWORD", "DATABASE_NAME"):
        monkeypatch.setenv(name, "from-the-shell")  # Label Studio would take them for its own
    place = Place("writers", tmp_path / "writers", free_port())
    told: list[str] = []
    first = local.start(place, executable=label_studio_executable, tell=told.append)
    try:
        assert told
        assert first.url == f"http://127.0.0.1:{place.port}"
        assert mode(place.folder) == 0o700
        assert mode(place.folder / "owner.json") == mode(place.log) == 0o600
        assert not [path for path in place.folder.rglob("*") if mode(path) & 0o077]
        heard = listening(first.process.pid)
        assert heard in (None, {f"127.0.0.1:{place.port}"})
        command = Path(f"/proc/{first.process.pid}/cmdline")
        assert not command.exists() or first.password not in command.read_text("utf-8")

        here = f"port {place.port} of 127.0.0.1 is in use"
        with fails(here, f"process {first.process.pid}"):
            local.start(place, executable=label_studio_executable)

        ls = answering(first)
        old = ls.invite()
        bare = old.split("?")[0]
        links = (bare, f"{bare}?token=made-up", old)
        assert [status(link, "a") for link in links] == [403, 403, 302]
        new = ls.invite(reset=True)
        assert new == ls.invite() != old
        assert [status(link, "b") for link in (old, new)] == [403, 302]
        people = ["a@example.invalid", "b@example.invalid", first.email]
        assert sorted(ls.people().values()) == people

        project = ls.make_project("killed", config=CONFIG, instruction="", answers=2)
        ids = [f"t{number}" for number in range(600)]
        tasks = data(*ids)
        ls.put_tasks(project, tasks[:300])
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(10)
        with fails("no connection"):
            ls.put_tasks(project, tasks)
    finally:
        first.stop()
    assert not taken("127.0.0.1", place.port)

    second = local.start(place, executable=label_studio_executable, tell=told.append)
    try:
        assert len(told) == 1
        assert (second.key, second.password) == (first.key, first.password)
        ls = answering(second)
        assert len(ls.put_tasks(project, tasks)) == 600
        # Quick answers: passed on in the name of person 2.
        ls.bar(project, ((server, 2) for server in list(ls.tasks(project).values())[:20]))
        more = [f"u{number}" for number in range(600)]
        ls.put_tasks(project, data(*more), bars={id: [2] for id in more})
        pulled = ls.pull(project, None, {})
        came = next(pulled.batches)
        more_came = next(pulled.batches)
        second.process.kill()
        second.process.wait(10)
        with fails("no connection", fix="nothing is lost"):
            list(pulled.batches)
        assert pulled.since is None
    finally:
        second.stop()
    came += more_came
    known: dict[str, dict[int, str]] = {}
    for one in came:
        known.setdefault(one["task"], {})[one["annotation"]["id"]] = one["annotation"]["updated_at"]

    third = local.start(place, executable=label_studio_executable)
    try:
        pulled = answering(third).pull(project, None, known)
        rest = [one for batch in pulled.batches for one in batch]
        assert pulled.same == len(came)
        assert len({one["annotation"]["id"] for one in came + rest}) == len(came + rest) == 620
        assert pulled.since is not None
    finally:
        third.stop()
        third.stop()
    assert not (place.folder / "server.pid").exists()


def listening(pid: int) -> set[str] | None:
    """Where a process listens; None if that is not known."""
    try:
        said = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return {line.split()[3] for line in said.splitlines() if f"pid={pid}," in line}


def test_a_server_that_ends_says_why(tmp_path: Path) -> None:
    broken = script(tmp_path, "echo no such thing >&2\nexit 3")
    place = Place("writers", tmp_path / "writers", free_port())
    with fails("ended with code 3:\nno such thing", fix=str(place.log)):
        local.start(place, executable=broken)


def test_a_server_that_never_answers_is_ended(tmp_path: Path) -> None:
    slow = script(tmp_path, "echo $$ > pid\nsleep 100 &\nwait")
    place = Place("writers", tmp_path / "writers", free_port())
    with fails("does not answer"):
        local.start(place, executable=slow, patience=1)
    pid = int((place.folder / "pid").read_text("utf-8"))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_owner_that_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    place = Place("writers", tmp_path, free_port())
    (tmp_path / "owner.json").write_text('{"email": "x"}', "utf-8")
    with fails("does not hold the owner's account"):
        local.start(place, executable=tmp_path / "nothing")


# --- the environment


def test_a_named_executable_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "label-studio"
    monkeypatch.setenv(local.EXECUTABLE, str(path))
    with fails("is not an executable"):
        local.prepare(tmp_path / "home", str)
    script(tmp_path, "")
    assert local.prepare(tmp_path / "home", str) == path
    assert not (tmp_path / "home").exists()


def fake_python(folder: Path, *, then: str) -> Path:
    """A fake interpreter that makes an environment whose pip runs ``then``."""
    path = folder / "python"
    text = Path(__file__).with_name("fake_python.sh").read_text("utf-8")
    path.write_text(text.replace("FOLDER", str(folder)).replace("THEN", then), "utf-8")
    path.chmod(0o755)
    return path


def test_making_an_environment_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(local.EXECUTABLE, raising=False)
    home, told = tmp_path / "home", list[str]()
    python = fake_python(tmp_path, then="echo 'ERROR: no space left'; exit 1")
    monkeypatch.setattr(local.sys, "executable", str(python))
    with fails("could not be installed: ERROR: no space left"):
        local.prepare(home, told.append)
    assert told[1:] == ["10 packages so far", "unpacking 12 packages"]
    made = home / f"label-studio-{local.VERSION}" / "bin"
    fake_python(tmp_path, then=f"touch {made}/label-studio; exit 0")
    (tmp_path / "python").replace(made / "python")
    for _ in range(2):
        assert local.prepare(home, told.append) == made / "label-studio"
    log = (tmp_path / "log").read_text("utf-8").splitlines()
    assert [line.split()[0] for line in log] == ["venv", "-m", "-m"]
    assert f"label-studio=={local.VERSION}" in log[-1]


def test_an_environment_needs_label_studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(local.EXECUTABLE, raising=False)
    monkeypatch.setattr(local.sys, "executable", str(fake_python(tmp_path, then="exit 0")))
    with fails("was not installed"):
        local.prepare(tmp_path / "home", str)

"""Ctrl-C and SIGTERM in real processes: one line, the documented exit status, nothing left."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from curation.models.completions import Endpoint
from curation.work.interrupts import Stopped, stoppable

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
BOTH = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@contextmanager
def running(
    *words: str | Path, path: Path = ROOT, **pipes: Any
) -> Iterator["subprocess.Popen[str]"]:
    """``curation ...`` in a group of processes of its own, as a shell starts it."""
    with subprocess.Popen(
        [sys.executable, "-m", "curation", *map(str, words)],
        env={**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}"},
        start_new_session=True, text=True, **{"stderr": subprocess.PIPE, **pipes},
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for(there: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not there():
        assert time.monotonic() < until
        time.sleep(0.01)


def check_stopped(process: "subprocess.Popen[str]", by: signal.Signals, code: int) -> None:
    _, err = process.communicate(timeout=20)
    assert err == f"stopped by {by.name}: you can run the same command again\n"
    assert process.returncode == code


@pytest.mark.parametrize(("by", "code"), BOTH)
def test_while_modules_are_loaded(tmp_path: Path, by: signal.Signals, code: int) -> None:
    slow = "import time\nprint('loading', flush=True)\ntime.sleep(60)\n"
    (tmp_path / "typer.py").write_text(slow, "utf-8")
    with running("status", path=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.send_signal(by)
        check_stopped(process, by, code)


def test_at_a_prompt(tmp_path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running("init", tmp_path / "campaign", **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.read(1)  # the question
        process.send_signal(signal.SIGINT)
        check_stopped(process, signal.SIGINT, 130)
    assert not (tmp_path / "campaign").exists()


# --- worker processes


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for path in tasks for child in path.read_text().split()]


def workers(process: int) -> list[int]:
    """The processes of the engine; the first child is Python's tracker of resources."""
    return children(process)[1:]


def runs(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files that take seconds to count."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = "".join(f"The {n}th baker bakes bread no {n * 7}.\n" for n in range(400_000))
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(lines, "utf-8")
    return sorted(folder.iterdir())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_with_worker_processes(corpus: list[Path], tmp_path: Path, by: signal.Signals) -> None:
    out = tmp_path / "counts.tsv"
    with running("measures", "count", *corpus, "--out", out, "--workers", "2") as process:
        wait_for(lambda: len(workers(process.pid)) == 2)
        started = workers(process.pid)
        if by == signal.SIGINT:  # Ctrl-C reaches the workers, too
            os.killpg(process.pid, by)
        else:
            process.send_signal(by)
        if by == signal.SIGKILL:
            assert process.wait(20) == -by
        else:
            check_stopped(process, by, 128 + by)
        wait_for(lambda: not any(map(runs, started)))
    assert list(tmp_path.iterdir()) == []


# --- threads


def test_with_requests_under_way() -> None:
    ended = threading.Event()
    endpoint = Endpoint.__new__(Endpoint)
    endpoint._threads, endpoint._batch, endpoint._form = 2, 1, SimpleNamespace(many=True)  # type: ignore[assignment]
    endpoint._server = SimpleNamespace(stopped=threading.Event())  # type: ignore[assignment]

    def fetch(texts: list[str]) -> None:
        if texts == ["a"]:
            raise Stopped(signal.SIGINT)
        ended.wait(30)

    endpoint._fetch = fetch  # type: ignore[method-assign]
    began = time.monotonic()
    with pytest.raises(Stopped):
        endpoint._fetch_all(["a", "b", "c"])
    assert time.monotonic() - began < 5  # it does not wait for the answers
    assert endpoint._server.stopped.is_set()
    ended.set()


# --- handlers


def test_a_second_signal_does_not_disturb_the_cleaning() -> None:
    cleaned = []

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            cleaned.append("all")

    with pytest.raises(Stopped) as stopped, stoppable():
        work()
    assert cleaned == ["all"]
    assert (str(stopped.value), stopped.value.status) == ("SIGTERM", 143)


def test_handlers_of_before_come_back_and_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as nohup does
    try:
        with stoppable():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
            assert callable(signal.getsignal(signal.SIGTERM))
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)


# --- a reader that goes away


@pytest.mark.parametrize("words", [("scores", "rules"), ("scores", "published"), ("--help",)])
def test_nobody_reads_the_output(words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with running(*words, stdout=writer) as process:
        os.close(writer)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "")

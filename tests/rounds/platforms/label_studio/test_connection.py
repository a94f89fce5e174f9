"""What can go wrong between us and a server, and the errors for it."""

import gzip
import json
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from curation import http
from curation.rounds.platforms.label_studio.client import LabelStudio, connect, projects
from curation.rounds.platforms.label_studio.connection import Connection, healthy, taken
from support.expected import fails
from support.label_studio import Meddler, Serving, SilentHandler, in_turn

GOOD = {"release": "1.23.2"}


def opened(url: str, key: str = "0" * 40, **options: Any) -> Connection:
    given = {"tell": lambda _: None, "timeout": 5, "pause": lambda _: None, **options}
    return Connection(url, key, **given)


def saying(answer: Callable[[str], tuple[int, str]]) -> Serving:
    """A server with a fixed answer for each path."""

    class Handler(SilentHandler):
        def do_GET(self) -> None:  # noqa: N802
            status, body = answer(self.path)
            self.send_response(status)
            if status in {301, 302}:
                self.send_header("Location", body)
            self.end_headers()
            self.wfile.write(body.encode())

    return Serving(Handler)


def replying(head: bytes, *parts: bytes, pause: float = 0) -> Serving:
    """A server that answers every request with the same parts, one after the other."""

    class Handler(SilentHandler):
        def do_GET(self) -> None:  # noqa: N802
            with suppress(OSError):  # until the client closes the connection
                self.wfile.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n")
                for part in parts:
                    self.wfile.write(part)
                    time.sleep(pause)

    return Serving(Handler)


# --- the size of replies


def test_a_reply_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST", 1 << 20)
    body = b" " * (3 << 20)
    for head, sent in ((b"Content-Encoding: gzip\r\n", gzip.compress(body)), (b"", body)):
        with replying(head, sent) as there, fails(f"{there.url}: the answer is larger than 1 MiB"):
            opened(there.url)


def test_a_packed_reply_is_read() -> None:
    version = gzip.compress(json.dumps({"release": "1.22.0"}).encode())
    head = b"Content-Encoding: gzip\r\n"
    with replying(head, version) as there, fails("is Label Studio 1.22.0"):
        opened(there.url)


def test_a_reply_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PATIENCE", 0.02)
    trickle = replying(b"", *[b" "] * 200, pause=0.05)
    with trickle as there, fails("the answer did not end within 0.1 s"):
        opened(there.url, waits=())


def test_a_list_of_projects_that_never_ends_is_an_error() -> None:
    def answer(path: str) -> tuple[int, str]:
        if "projects" in path:
            project = {"id": 4, "title": "t", "task_number": 0}
            return 200, json.dumps({"count": 1, "next": "http://x/?page=2", "results": [project]})
        return 200, json.dumps({**GOOD, "id": 1, "email": "a@example.invalid"})

    with saying(answer) as there:
        to = opened(there.url)
        with fails(f"{there.url}: the server sends the same projects"):
            projects(to, "t")


# --- the address


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://example.org", "http://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with fails("is not an address"):
        opened(url)


def test_nobody_there_is_told_and_tried_again() -> None:
    told, waited = list[str](), list[float]()
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))  # bound, but nobody listens
        port = end.getsockname()[1]
        assert not taken("127.0.0.1", port)
        with fails("no connection", fix="check that the server runs"):
            opened(f"http://127.0.0.1:{port}", tell=told.append, pause=waited.append)
    assert waited == [1, 4, 15]
    assert [one.split("; ")[-1] for one in told] == [f"trying again in {n} s" for n in (1, 4, 15)]


def test_a_server_that_never_answers_is_given_up() -> None:
    told: list[str] = []
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        end.listen()
        url = f"http://127.0.0.1:{end.getsockname()[1]}"
        assert taken("127.0.0.1", end.getsockname()[1])
        with fails("no answer within 0.2 s", fix="run this again"):
            opened(url, tell=told.append, timeout=0.2, waits=(0.1, 0.2))
    assert len(told) == 2


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (200, "<!doctype html><title>Hello</title>", "the answer is not from Label Studio"),
        (200, json.dumps({"version": "3.2"}), "is not Label Studio"),
        (200, json.dumps(["1.23"]), "is not Label Studio"),
        (200, json.dumps({"release": "soon"}), "is not Label Studio"),
        (200, "[" * 100_000, "the answer is not from Label Studio"),
        (200, f'{{"release": {"[" * 999}{"]" * 999}}}', "is not Label Studio"),
        (404, "<h1>Not Found</h1>", "or is not Label Studio"),
        (200, json.dumps({"release": "1.12.1"}), "is Label Studio 1.12.1"),
        (302, "https://example.org/login", "answered 302"),
        (418, "teapot", "answered 418: teapot"),
    ],
)
def test_what_is_no_label_studio_of_ours_is_named(status: int, body: str, says: str) -> None:
    # Where one is sent to is told and not followed.
    fix = body if status == 302 else ""
    with saying(lambda _: (status, body)) as there, fails(says, fix=fix):
        opened(there.url)


@pytest.mark.parametrize("nested", ["[" * 100_000, "[" * 999 + "]" * 999])
def test_a_deeply_nested_reply_to_the_sdk_is_not_of_label_studio(nested: str) -> None:
    def answer(path: str) -> tuple[int, str]:
        return 200, json.dumps(GOOD) if "version" in path else nested

    with saying(answer) as there, fails("the answer is not from Label Studio"):
        opened(there.url)
    with saying(lambda _: (500, nested)) as there, fails("answered 500: ["):
        opened(there.url, waits=())


def test_a_busy_server_is_asked_again() -> None:
    answers = iter([(503, "busy"), (429, "slowly"), (500, "oh"), (200, json.dumps(GOOD))])

    def answer(path: str) -> tuple[int, str]:
        return next(answers) if "version" in path else (200, json.dumps({"id": 1, "email": "o@x"}))

    told: list[str] = []
    with saying(answer) as there:
        opened(there.url, tell=told.append)
    said = [one.split(": ", 1)[1].split(";")[0] for one in told]
    assert said == ["answered 503: busy", "answered 429: slowly", "answered 500: oh"]


def test_a_line_that_is_cut_is_tried_again(server: Any) -> None:
    told: list[str] = []
    with Meddler(server.url, in_turn(lambda *_: True, "before", "after")) as proxy:
        opened(proxy.url, server.key, tell=told.append)
    assert len(told) == 2


# --- the key


def test_a_wrong_key_is_refused_at_once(server: Any) -> None:
    told: list[str] = []
    with fails("does not accept the key", fix="Access Token") as error:
        opened(server.url, "f" * 40, tell=told.append)
    assert not told
    assert "f" * 40 not in str(error.value)


@pytest.mark.parametrize("key", ["", " ", "schlüssel"])
def test_what_cannot_be_a_key_is_refused(key: str) -> None:
    with fails("no key"):
        opened("http://127.0.0.1:1", key)


def test_a_personal_access_token_serves_as_well(server: Any) -> None:
    token = opened(server.url, server.key).ask("POST", "token/")["token"]
    assert token.count(".") == 2
    assert LabelStudio(opened(server.url, token)).people()[1] == server.email
    for wrong in (token[:-4] + "AAAA", token.rpartition(".")[0]):  # only a part of it was copied
        with fails("does not accept the key"):
            opened(server.url, wrong)


def test_without_the_sdk_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "label_studio_sdk", None)
    with fails("needs label-studio-sdk", fix="pip install 'curation[label-studio]'"):
        connect("http://127.0.0.1:1", "0" * 40)


def test_what_is_there_is_healthy(server: Any) -> None:
    assert healthy(server.url)
    assert not healthy("http://127.0.0.1:1")
    with saying(lambda _: (404, "")) as there:
        assert not healthy(there.url)

"""One question that a server cannot answer does not stop the others, and is not asked for ever."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from curation import http
from curation.files import dump_json
from curation.http import TooLargeError, read_body
from curation.models.chat.client import FORMS, IN_A_ROW, PROBE, ChatEndpoint
from curation.models.endpoint import connection
from support.chat_client import SPEC, TEXTS, ask, opened
from support.chats import MODEL, Chats
from support.expected import Patch, fails
from support.servers import HALF, RESET, Fault, error

LOGPROBS = error(400, "Unsupported parameter: 'logprobs' is not supported")


def refuse(server: Chats, fault: Fault, when: Callable[[str], object]) -> None:
    """Questions that fulfil a condition get a fault, each time."""
    answer = server.answer_to
    server.answer_to = lambda body: fault if when(str(body)) else answer(body)  # type: ignore[method-assign]


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("bad", [0, 5, 59])
def test_a_question_that_always_fails_is_a_reply(bad: int, concurrency: int) -> None:
    with opened(concurrency=concurrency) as (endpoint, server):
        refuse(server, Fault(500, "oh"), lambda body: re.search(rf"baker {bad} ", body))
        replies = ask(endpoint)
        assert replies[bad] == (500, {"text": "oh"})
        assert len(replies) == 60
        assert sum(status == 200 for status, _ in replies.values()) == 59
        # The same question alone, as in a command that is run again.
    with opened() as (endpoint, server):
        refuse(server, Fault(500, "oh"), lambda body: re.search(rf"baker {bad} ", body))
        assert ask(endpoint, [TEXTS[bad]]) == {0: (500, {"text": "oh"})}


@pytest.mark.parametrize("fault", [Fault(RESET), Fault(HALF), Fault(200, '{"choices": [{"mess')])
def test_a_question_whose_connection_always_breaks_is_a_reply(fault: Fault) -> None:
    with opened(concurrency=2) as (endpoint, server):
        refuse(server, fault, lambda body: "baker 5 " in body)
        replies = ask(endpoint, TEXTS[:9])
        assert replies[5][0] == 0
        assert replies[5][1]["error"]["message"].startswith(server.url)
        assert len(replies) == 9


@pytest.mark.parametrize("begin", [0, 10])
def test_many_neighbours_that_are_refused_do_not_end_the_command(begin: int) -> None:
    """CATs about one term follow each other, and a server may refuse them all."""
    odd = error(400, "we do not speak of some bakers", "odd")
    with opened(concurrency=1) as (endpoint, server):
        bad = range(begin, begin + IN_A_ROW + 5)
        refuse(server, odd, lambda body: any(f"baker {n} " in body for n in bad))
        replies = ask(endpoint)
        assert {index for index, (status, _) in replies.items() if status == 400} == set(bad)
        assert len(replies) == 60
        assert PROBE in server.texts


def test_a_server_that_fails_for_all_ends_the_command() -> None:
    with opened(concurrency=4) as (endpoint, server):
        ask(endpoint, TEXTS[:9])
        refuse(server, Fault(500, "oh"), lambda body: True)
        with fails("answered 500: oh") as failed:
            ask(endpoint)
        assert failed.value.replies == {}


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("rate", [1, 2])
def test_a_server_that_changes_what_it_accepts(rate: int, concurrency: int) -> None:
    """Later, or in every second request, as a relay with two servers behind it."""
    heard: list[str] = []
    with opened(concurrency=concurrency, notice=heard.append) as (endpoint, server):
        ask(endpoint, TEXTS[:2])
        refuse(server, LOGPROBS, lambda b: "top_logprobs" in b and server.requests % rate == 0)
        replies = ask(endpoint)
        assert [status for status, _ in replies.values()] == [200] * 60
        assert endpoint.about()["form"] == FORMS[2]._asdict()
    (said,) = heard
    assert "accepted before" in said


def test_a_key_in_the_address_is_not_in_a_reply() -> None:
    with opened(end="?api-key=s3cret&api-version=v1") as (endpoint, server):
        body = {"choices": [], "request": "POST with s3cret", "version": "v1"}
        server.faults = [Fault(200, json.dumps(body))]
        assert ask(endpoint, TEXTS[:1]) == {0: (200, {**body, "request": "POST with …"})}


def test_a_huge_number_can_be_stored() -> None:
    with opened() as (endpoint, server):
        number = "1" + "0" * 400
        server.faults = [Fault(200, f'{{"choices": [], "usage": {{"total_tokens": {number}}}}}')]
        _, body = ask(endpoint, TEXTS[:1])[0]
        assert json.loads(dump_json(body))["usage"] == {"total_tokens": None}


# --- bodies


def test_a_body_is_read_up_to_a_size() -> None:
    parts = iter([b"x" * 1000] * 5000)
    with pytest.raises(TooLargeError, match="larger than 1 MiB"):
        read_body(lambda _: next(parts), seconds=60, largest=1 << 20)
    assert len(list(parts)) > 3000, "the rest is not read"


def test_a_reply_that_is_too_large_is_reported(monkeypatch: Patch) -> None:
    monkeypatch.setattr(http, "LARGEST", 9)
    with opened() as (endpoint, _), fails("is larger than"):
        ask(endpoint, TEXTS[:2])


def test_a_reply_that_trickles_is_read_up_to_a_time(monkeypatch: Patch) -> None:
    """The server sends a blank before each pause, so no single wait is long."""
    monkeypatch.setattr(connection, "PATIENCE", 0.001)
    with trickling(pause=0.02) as url:
        begin = time.monotonic()
        with ChatEndpoint(url, MODEL, spec=SPEC, waits=()) as endpoint, fails("not end within"):
            ask(endpoint, TEXTS[:1])
        assert time.monotonic() - begin < 5


@contextmanager
def trickling(pause: float) -> Iterator[str]:
    """A server that sends a blank after each pause."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def serve() -> None:
            for _ in range(2):
                client, _ = server.accept()
                with client, suppress(OSError):  # until the client closes the connection
                    client.recv(1 << 16)
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n")
                    for _ in range(200):
                        client.sendall(b" ")
                        time.sleep(pause)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join()

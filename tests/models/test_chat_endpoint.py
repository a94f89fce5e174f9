"""The client of chat endpoints, with a server that has the quirks of real ones."""

import json
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from curation import http
from curation.files import CurationError, dump_json
from curation.models import connection
from curation.models.chat import ChatSpec
from curation.models.chat_endpoint import FORMS, IN_A_ROW, PROBE, ChatEndpoint, Form
from curation.work.interrupts import Stopped
from support.chat_answers import SORRY, Said, prefers
from support.chats import MODEL, Chats, Quirks, chatting
from support.expected import Patch, fails
from support.servers import HALF, RESET, TRICKLE, Fault, error

QUESTION = "Which is more natural?\n\nA: The {} is kind.\nB: The {} is a lamp.\n\nAnswer A or B."
WORDS = [f"baker {number}" for number in range(60)]
TEXTS = [QUESTION.format(word, word) for word in WORDS]
SPEC = ChatSpec(Path("unused"))
Replies = dict[int, tuple[int, Any]]


@contextmanager
def opened(
    quirks: Quirks | None = None, *, model: str = MODEL, end: str = "", **settings: Any
) -> Iterator[tuple[ChatEndpoint, Chats]]:
    """A client, and its server; ``end`` stands behind its address."""
    fields = {name: settings.pop(name) for name in list(settings) if name in vars(SPEC)}
    settings = {"pause": lambda _: None, "spec": ChatSpec(Path("unused"), **fields)} | settings
    with (
        chatting(prefers("kind"), quirks) as server,
        ChatEndpoint(server.url + end, model, **settings) as endpoint,
    ):
        yield endpoint, server


def ask(endpoint: ChatEndpoint, texts: list[str] = TEXTS) -> Replies:
    """The replies by question; an error leaves those that came before in ``error.replies``."""
    replies: Replies = {}

    def answered(index: int, status: int, body: dict[str, Any]) -> None:
        assert index not in replies
        replies[index] = status, body

    try:
        endpoint.ask([(text,) for text in texts], answered)
    except BaseException as error:
        error.replies = replies  # type: ignore[attr-defined]
        raise
    return replies


def content(reply: tuple[int, dict[str, Any]]) -> Any:
    return reply[1]["choices"][0]["message"]["content"]


# --- the form of requests


def test_each_question_is_asked_once_and_answered_as_it_came() -> None:
    with opened() as (endpoint, server):
        assert ask(endpoint, []) == {}
        assert server.requests == 0
        replies = ask(endpoint)
        assert sorted(replies) == list(range(60))
        assert Counter(server.texts) == Counter(TEXTS)
        assert {content(reply) for reply in replies.values()} == {"A"}
        assert replies[7][1]["system_fingerprint"] == "fp-1"
        assert replies[7][1]["choices"][0]["logprobs"]["content"][0]["token"] == "A"
    assert server.bodies[0] == {
        "model": MODEL, "messages": [{"role": "user", "content": TEXTS[0]}],
        "max_tokens": 256, "temperature": 0.0, "logprobs": True, "top_logprobs": 20,
    }  # fmt: skip
    assert set(server.paths) == {"/v1/chat/completions"}


OTHER = ["max_completion_tokens"]


@pytest.mark.parametrize(
    ("quirks", "form"),
    [
        (Quirks(), Form("max_tokens", True, 20)),
        (Quirks(tops=5), Form("max_tokens", True, 5)),
        (Quirks(tops=0), Form("max_tokens", True, 0)),
        (Quirks(tops=0, refusal=422), Form("max_tokens", True, 0)),
        (Quirks(tops=0, refusal=500), Form("max_tokens", True, 0)),
        (Quirks(limits=OTHER), Form(*OTHER, True, 20)),
        (Quirks(takes_temperature=False), Form("max_tokens", False, 20)),
        (Quirks(limits=OTHER, takes_temperature=False, tops=0), Form(*OTHER, False, 0)),
    ],
)
def test_the_form_is_found_with_the_first_question(quirks: Quirks, form: Form) -> None:
    with opened(quirks) as (endpoint, server):
        assert len(ask(endpoint)) == 60
        assert Counter(server.texts) == Counter(TEXTS), "nothing is asked twice"
        repeated = 2 if quirks.refusal == 500 else 1
        assert server.requests == 60 + repeated * FORMS.index(form)
        assert endpoint.about()["form"] == form._asdict()
        for body in server.bodies:
            assert (form.limit in body, "temperature" in body) == (True, form.temperature)
            assert body.get("top_logprobs", 0) == form.top_logprobs
        before = server.requests
        assert len(ask(endpoint, TEXTS[:3])) == 3
        assert server.requests == before + 3, "the form is known"


def test_a_second_question_is_in_the_same_conversation() -> None:
    with opened() as (endpoint, server):
        endpoint.ask([("A or B?", "Both.", "Only one!")], lambda *_: None)
        assert server.bodies[0]["messages"] == [
            {"role": "user", "content": "A or B?"},
            {"role": "assistant", "content": "Both."},
            {"role": "user", "content": "Only one!"},
        ]


def test_a_passing_failure_does_not_change_the_form() -> None:
    with opened() as (endpoint, server):
        server.faults = [Fault(500, "oh")]
        ask(endpoint, TEXTS[:2])
        assert endpoint.about()["form"] == FORMS[0]._asdict()


@pytest.mark.parametrize(("samples", "advice"), [(1, True), (5, False)])
def test_a_model_without_temperature_is_reported_once(samples: int, *, advice: bool) -> None:
    heard: list[str] = []
    quirks = Quirks(takes_temperature=False)
    with opened(quirks, notice=heard.append, samples=samples) as (endpoint, _):
        ask(endpoint, TEXTS[:9])
        ask(endpoint, TEXTS[:9])
    (said,) = heard
    assert "does not take the temperature 0" in said
    assert ("--samples" in said) is advice


def test_temperature_and_limit_are_those_of_the_spec() -> None:
    with opened(temperature=0.7, max_tokens=512) as (endpoint, server):
        ask(endpoint, TEXTS[:2])
        assert {(body["temperature"], body["max_tokens"]) for body in server.bodies} == {(0.7, 512)}


def test_about_says_where_and_what() -> None:
    with chatting() as server:
        url = server.url.replace("//", "//ada:s3cret@") + "/chat/completions?api-version=s3cret"
        with ChatEndpoint(url, MODEL, spec=SPEC) as endpoint:
            assert endpoint.about()["form"] is None
            ask(endpoint, TEXTS[:2])
            assert endpoint.about() == {
                "url": server.url,
                "model": MODEL,
                "served": {"id": MODEL, "owned_by": "nobody", "max_model_len": 100_000},
                "named": [f"{MODEL}-2026"],
                "system_fingerprint": ["fp-1"],
                "form": {"limit": "max_tokens", "temperature": True, "top_logprobs": 20},
            }


# --- several at a time


def test_as_many_are_under_way_as_the_spec_says() -> None:
    for concurrency, pause in ((1, 0.01), (8, 0.2)):  # long enough for a busy machine
        with opened(Quirks(pause=pause), concurrency=concurrency) as (endpoint, server):
            ask(endpoint, TEXTS[:20])
            assert server.most_at_once == concurrency


def test_a_signal_loses_no_reply_and_does_not_wait() -> None:
    with opened(Quirks(pause=0.02), concurrency=4) as (endpoint, server):
        seen: list[int] = []

        def answered(index: int, status: int, body: dict[str, Any]) -> None:
            seen.append(index)
            if len(seen) == 9:
                time.sleep(0.1)  # more replies come in the meantime
                server.quirks.pause = 5
                raise Stopped(signal.SIGINT)

        began = time.monotonic()
        with pytest.raises(Stopped):
            endpoint.ask([(text,) for text in TEXTS], answered)
        assert time.monotonic() - began < 3
        assert len(seen) == len(set(seen)) > 9, "replies that had come are handed over"
        assert len(seen) + 8 >= len(server.bodies), "only those under way are lost"


def test_an_error_hands_over_the_replies_under_way() -> None:
    with opened(Quirks(pause=0.02), concurrency=4, waits=()) as (endpoint, server):
        server.quirks.every = {30: Fault(401, "no")}
        with fails("does not accept the key") as failed:
            ask(endpoint)
        assert len(failed.value.replies) == len(server.bodies)
        assert Counter(server.texts).most_common(1)[0][1] == 1


# --- failures that pass


@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, "slow down", {"Retry-After": "1"}),
        Fault(503, "busy"),
        Fault(RESET),
        Fault(200, ""),
        Fault(200, '{"error": {"code": 502, "message": "the provider failed"}}'),
        Fault(200, '{"choices": [{"error": {"code": 429, "message": "slow down"}}]}'),
    ],
)
def test_what_fails_for_now_is_asked_again(fault: Fault) -> None:
    heard: list[str] = []
    with opened(Quirks(every={7: fault}), notice=heard.append) as (endpoint, server):
        replies = ask(endpoint)
        assert {status for status, _ in replies.values()} == {200}
        assert Counter(server.texts) == Counter(TEXTS), "nothing is answered twice"
        assert endpoint.about()["form"] == FORMS[0]._asdict()
    assert heard
    assert all("trying again in" in line for line in heard)


def test_a_slow_rate_limit_does_not_end_a_long_run() -> None:
    """Two requests of three are limited, never more than three in a row."""
    quirks = Quirks(every={2: Fault(429), 3: Fault(429)})
    with opened(quirks, concurrency=16, waits=(0.01,) * 6, pause=None) as (endpoint, server):
        assert len(ask(endpoint)) == 60
        assert server.requests > 120


def test_a_burst_of_rate_limits_is_reported_once() -> None:
    heard: list[str] = []
    settings = {"concurrency": 32, "notice": heard.append, "pause": None, "waits": (0.01,) * 4}
    with opened(Quirks(pause=0.01), **settings) as (endpoint, server):
        ask(endpoint, TEXTS[:2])
        server.faults = [Fault(429, "slow down", {"retry-after-ms": "50"})] * 32
        assert len(ask(endpoint)) == 60
    assert heard == [f"{server.url}: answered 429: slow down; trying again in 1 s"]


# --- replies that are errors


FILTERS = ["azure", "openai", "gemini"]


@pytest.mark.parametrize("form", FILTERS)
def test_a_content_filter_is_a_reply(form: str) -> None:
    with opened(Quirks(filters="baker 3", filter_form=form)) as (endpoint, server):
        replies = ask(endpoint)
        refused = {index for index, (status, _) in replies.items() if status == 400}
        assert refused == {index for index, word in enumerate(WORDS) if "baker 3" in word}
        assert replies[3][1]["error"]
        assert len(server.bodies) == 60


@pytest.mark.parametrize("form", [*FILTERS, "reply"])
def test_a_filter_that_refuses_everything_does_not_end_the_run(form: str) -> None:
    with opened(Quirks(filters="baker", filter_form=form)) as (endpoint, server):
        assert len(ask(endpoint)) == 60
        assert server.requests == 60


FLAGGED = {"error": {"message": "Your model requires moderation and your input was flagged"}}


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        (Fault(403, json.dumps(FLAGGED)), FLAGGED),  # not a wrong key
        (Fault(413, "Payload Too Large"), {"text": "Payload Too Large"}),
    ],
)
def test_a_refusal_with_another_status_is_a_reply(fault: Fault, body: dict[str, Any]) -> None:
    with opened() as (endpoint, server):
        server.faults = [fault]
        assert ask(endpoint, TEXTS[:2])[0] == (fault.status, body)


def test_an_error_that_comes_as_success_does_not_set_the_form() -> None:
    flagged = {"error": {"code": 403, "message": "your input was flagged"}}
    with opened(Quirks(tops=0)) as (endpoint, server):
        server.faults = [Fault(200, json.dumps(flagged))]
        assert ask(endpoint)[0] == (200, flagged)
        assert endpoint.about()["form"] == FORMS[2]._asdict()
        assert len(server.bodies) == 59


@pytest.mark.parametrize("first", [0, 5])  # also as the first one
def test_a_question_that_is_too_long_is_a_reply(first: int) -> None:
    texts = [*TEXTS[first:5], TEXTS[5] * 30, *TEXTS[6:8]]
    with opened(Quirks(window=100)) as (endpoint, server):
        replies = ask(endpoint, texts)
        assert [status for status, _ in replies.values()].count(400) == 1
        status, body = replies[5 - first]
        assert status == 400
        assert "maximum context length" in body["error"]["message"]
        assert len(server.bodies) == len(texts)


ODD = error(400, "we do not speak of lamps", "odd")


def test_another_refusal_of_a_question_is_a_reply() -> None:
    with opened(concurrency=1) as (endpoint, server):
        ask(endpoint, TEXTS[:1])
        server.faults = [ODD] * (IN_A_ROW - 1)
        replies = ask(endpoint)
        assert [status for status, _ in replies.values()].count(400) == IN_A_ROW - 1
        assert replies[0] == (400, json.loads(ODD.body))
        server.faults = [ODD] * 3
        assert {status for status, _ in ask(endpoint, TEXTS[:3]).values()} == {400}


def test_many_refusals_in_a_row_end_the_command_and_are_not_kept() -> None:
    with opened(concurrency=1) as (endpoint, server):
        ask(endpoint, TEXTS[:1])
        server.faults = [error(400, "we changed our minds")] * 60
        with fails("we changed our minds", fix="run the command again") as failed:
            ask(endpoint)
        assert failed.value.replies == {}


def test_one_odd_question_at_the_beginning_does_not_hide_the_form() -> None:
    with opened() as (endpoint, server):
        server.faults = [ODD] * len(FORMS)
        replies = ask(endpoint)
        assert replies[0] == (400, json.loads(ODD.body))
        assert [status for status, _ in replies.values()].count(200) == 59


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ("no choices", lambda body: body["choices"] == []),
        ("null", lambda body: content((200, body)) is None),
        ("sse", lambda body: body["sse"].startswith("data: ")),
        ("list", lambda body: body["id"] == "chatcmpl-1"),
        ("parts", lambda body: content((200, body)) == [{"type": "text", "text": "A"}]),
    ],
)
def test_odd_shapes_are_kept_as_they_came(shape: str, found: Any) -> None:
    with opened(Quirks(shape=shape)) as (endpoint, _):
        status, body = ask(endpoint, TEXTS[:1])[0]
    assert status == 200
    assert found(body), body


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ('"A"', {"list": "A"}),
        ("null", {"list": None}),
        ('{"a": "b\n\x00"}', {"a": "b\n\x00"}),
        ('{"a": [NaN, Infinity, -Infinity]}', {"a": [None, None, -9999.0]}),
        ('{"a": "\\ud83d", "\\udc00": 1}', {"a": "?", "?": 1}),
        ("[" * 500 + "]" * 500, {"text": "[" * 500 + "]" * 500}),
    ],
)
def test_every_body_can_be_stored(text: str, body: dict[str, Any]) -> None:
    with opened() as (endpoint, server):
        server.faults = [Fault(200, text)]
        found = ask(endpoint, TEXTS[:1])[0]
        assert found == (200, body)
        json.dumps(found).encode()


# --- thinking models


@pytest.mark.parametrize("thinks", ["tags", "field", "reasoning"])
def test_a_model_that_only_thinks_ends_the_command(thinks: str) -> None:
    quirks = Quirks(thinks=thinks)
    with opened(quirks, max_tokens=10) as (endpoint, server):
        with fails("limit of 10 tokens", fix="--max-tokens") as failed:
            ask(endpoint)
        assert "reasoning model" in failed.value.fix
        assert len(failed.value.replies) == len(server.bodies) >= IN_A_ROW
    for max_tokens, asked in ((10, IN_A_ROW - 1), (100, 60)):
        with opened(quirks, max_tokens=max_tokens) as (endpoint, _):
            assert len(ask(endpoint, TEXTS[:asked])) == asked


# --- errors that stay


def ends(
    what: str, fix: str, quirks: Quirks | None = None, *faults: Fault, pause: Any = pytest.fail
) -> None:
    """The questions end in an error of the server that says no key."""
    with opened(quirks, pause=pause) as (endpoint, server):
        server.faults = list(faults)
        with fails(fix=fix) as failed:
            ask(endpoint)
        assert what in f"{failed.value.what}\n"
        assert failed.value.what.startswith(server.url)
        assert "s3cret" not in failed.value.what + failed.value.fix


CLOSED = error(400, "we are closed")
LARGE = "max_tokens is too large: 64. This model supports at most 9"
NO_CHAT = "or leave out chat: before the name"
OTHER_LARGE = "'max_tokens' is too large: 64. The maximum context length is 9."


@pytest.mark.parametrize(
    ("case", "what", "fix"),
    [
        (Fault(405, "no"), "answered 405: no", "/chat/completions is added"),
        (Fault(402, "Insufficient Balance"), "402", "account is used up"),
        (Fault(429, "", {"Retry-After": "9" * 30}), "asks to wait", "try again later"),
        (error(404, "This is not a chat model"), "not a chat model", "leave out chat:"),
        (error(400, "it does not support chat"), "not support chat", "leave out chat:"),
        (error(400, "define a chat template"), "chat template", "--chat-template"),
        (error(400, "chatty is not a valid model ID"), "valid model", "that it has: chatty"),
        (error(400, "Model Not Exist"), "Not Exist", "that it has: chatty"),
        (error(400, LARGE), "too large", "smaller --max-tokens"),
        (error(400, OTHER_LARGE), "too large", "smaller --max-tokens"),
        (Quirks(model="small"), "`chatty` does not exist", "name a model that it has: small"),
        (Quirks(model="small", lists=False), "`chatty`", "check the name of the model"),
        (Quirks(chat=False), "lists models, but it has no /chat/completions", NO_CHAT),
        (Quirks(chat=False, lists=False), "404", "ends in /v1"),
        (Quirks(key="right"), "not accept the key (none is set)", "CURATION_ENDPOINT_KEY"),
    ],
)
def test_what_no_new_try_fixes(case: Fault | Quirks, what: str, fix: str) -> None:
    ends(what, fix, *([None, case] if isinstance(case, Fault) else [case]))


def test_a_server_that_refuses_every_form() -> None:
    ends("answered 400: we are closed\n", "--max-tokens", None, *[CLOSED] * 100)
    faults = [Fault(500, "oh")] * 100
    ends("answered 500: oh\n", "try again later", None, *faults, pause=lambda _: None)
    with opened() as (endpoint, server):  # fewer questions than are tried
        server.faults = [CLOSED._replace(status=422)] * 100
        with fails("422: we are closed") as failed:
            ask(endpoint, TEXTS[:1])
        assert failed.value.replies == {}
        assert len(server.faults) == 100 - 2 * len(FORMS), "a plain question is tried, too"


@pytest.mark.parametrize("end", ["/completions", "/chat/completions/", "/"])
def test_either_address_of_a_service_is_understood(end: str) -> None:
    with opened(end=end) as (endpoint, _):
        assert content(ask(endpoint, TEXTS[:1])[0]) == "A"


def test_keys(monkeypatch: Patch) -> None:
    monkeypatch.setenv("CURATION_ENDPOINT_KEY", "s3cret")
    ends("does not accept the key: answered 401", "", Quirks(key="right"))
    with opened(Quirks(key="s3cret")) as (endpoint, _):
        assert len(ask(endpoint)) == 60


def test_the_error_says_that_a_key_is_not_sent_in_the_open(monkeypatch: Patch) -> None:
    monkeypatch.setattr(connection, "LOCAL", set())
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    monkeypatch.setenv("no_proxy", "*")
    not_sent = "OPENAI_API_KEY is not sent unencrypted to another machine"
    ends("(none is set)", not_sent, Quirks(key="s3cret"))


def test_no_body_has_the_key(monkeypatch: Patch) -> None:
    monkeypatch.setenv("CURATION_ENDPOINT_KEY", "s3cret/key")
    sent = {"error": {"message": "filtered for s3cret/key", "code": "content_filter"}}
    said = {"choices": [{"message": {"content": "s3cret/key, see https://a.example/?q=1"}}]}
    slashed = json.dumps(said).replace("/", "\\/")
    with opened(concurrency=1) as (endpoint, server):
        server.faults = [Fault(400, json.dumps(sent)), Fault(200, slashed)]
        replies = ask(endpoint, TEXTS[:2])
    assert replies[0][1]["error"]["message"] == "filtered for …"
    assert content(replies[1]) == "…, see https://a.example/?q=1", "addresses in answers stay"


@pytest.mark.parametrize("name", ["a" * 70 + ".example", "a..example", "[::1", "ä\u2028b"])
def test_hosts_that_cannot_exist(name: str) -> None:
    with (
        pytest.raises(CurationError, match=r"is not an address|no connection"),
        ChatEndpoint(f"http://{name}/v1", MODEL, spec=SPEC, pause=lambda _: None) as endpoint,
    ):
        ask(endpoint, TEXTS[:1])


@pytest.mark.parametrize(("max_tokens", "timeout"), [(64, 120), (4096, 409.6)])
def test_a_long_answer_gets_more_time(max_tokens: int, timeout: float) -> None:
    with opened(max_tokens=max_tokens) as (endpoint, _):
        assert endpoint._server.timeout == timeout


def test_refusals_of_the_model_are_replies_like_others() -> None:
    with opened() as (endpoint, server):
        server.answer = lambda _: Said(SORRY)
        assert {content(reply) for reply in ask(endpoint).values()} == {SORRY}


# --- one question that a server cannot answer -----------------------------------------------------


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
        assert PROBE[0] in server.texts


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


def test_a_reply_that_is_too_large_is_reported(monkeypatch: Patch) -> None:
    monkeypatch.setattr(http, "LARGEST", 9)
    with opened() as (endpoint, _), fails("is larger than"):
        ask(endpoint, TEXTS[:2])


def test_a_reply_that_trickles_is_read_up_to_a_time(monkeypatch: Patch) -> None:
    """The server sends a blank before each pause, so no single wait is long."""
    monkeypatch.setattr(http, "PATIENCE", 0.001)
    with opened(waits=()) as (endpoint, server):
        server.faults = [Fault(TRICKLE)] * 9
        began = time.monotonic()
        with fails("did not end within"):
            ask(endpoint, TEXTS[:1])
        assert time.monotonic() - began < 5

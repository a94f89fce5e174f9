"""Scores from a real model behind a real server, with every quirk that servers have."""

import json
import math
import socket
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from curation.files import CurationError
from curation.models.endpoint import connection
from curation.models.endpoint.client import ECHO, NO_ECHO, Endpoint, open_endpoint
from curation.models.endpoint.connection import KEYS, host
from curation.models.rules import RULES, Refusal, ScoringRequest
from support.completions import (
    BOS,
    HALF,
    RESET,
    SLOW,
    Completions,
    Fault,
    Quirks,
    Tiny,
    plainly,
    serving,
    tiny,
)

INTRA = ScoringRequest("intrasentence", "The BLANK baker sings.", "The old baker sings.", 4, 7)
INTER = ScoringRequest("intersentence", "A cat sat on the mat.", "It is kind.")
CAFE = ScoringRequest("intrasentence", "The BLANK is open.", "The café 🌍 is open.", 4, 10)
EMOJI = ScoringRequest("intersentence", "The roses grow 🌍", "🙂 北京 rain, naïve cat 🌍.")
BOTH = [rule for rule, known in RULES.items() if "endpoint" in known.families]
ANY_KIND = [rule for rule in BOTH if len(RULES[rule].kinds) == 2]
ALL = [(rule, ask) for rule in ANY_KIND for ask in (INTRA, CAFE, INTER, EMOJI)] + [
    (rule, ask) for rule in BOTH if rule not in ANY_KIND for ask in (INTER, EMOJI)
]


@pytest.fixture(scope="module")
def model() -> Tiny:
    return tiny()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@contextmanager
def opened(
    model: Tiny, quirks: Quirks | None = None, *, bos: str = BOS, **settings: Any
) -> Iterator[tuple[Endpoint, Completions]]:
    with (
        serving(model, quirks) as server,
        Endpoint(server.url, "tiny", bos=bos, pause=lambda _: None, **settings) as found,
    ):
        server.bodies.clear()
        yield found, server


def by_hand(model: Tiny, rule: str, ask: ScoringRequest, *, own_bos: bool = False) -> float:
    """The contract's sums, one run of the model a token."""

    def after(ids: list[int], first: int, before: list[int]) -> float:
        return sum(plainly(model, before + ids[:n], ids[n]) for n in range(first, len(ids)))

    ids, lead = model.ids(ask.text), [0] if own_bos else []
    if rule == "ll-bos":
        return after(ids, 0, [0])
    if rule == "ll-arxiv":
        return after(ids, 1, lead) / (len(ids) - 1)
    if rule in {"ll-acl", "ll-code"}:
        total = plainly(model, [0], ids[0]) + after(ids, 1, lead)
        return total / len(ids) if rule == "ll-code" else total
    # The tokenizer never joins what stands before a space to what stands behind it.
    conditional = after(ids, len(model.ids(ask.context)), lead)
    if rule == "conditional":
        return conditional
    if rule == "conditional-chars":
        return conditional / len(ask.sentence)
    assert rule == "ratio"
    return conditional - after(model.ids(ask.sentence), 0, [0])


def close(found: object, wanted: float) -> bool:
    return isinstance(found, float) and math.isclose(found, wanted, rel_tol=1e-5)


# --- scores


@pytest.mark.parametrize(("rule", "ask"), ALL)
def test_scores_are_those_of_the_model(model: Tiny, rule: str, ask: ScoringRequest) -> None:
    with opened(model) as (found, _):
        assert close(found.score(rule, [ask])[0], by_hand(model, rule, ask))


def test_the_tokenizer_of_these_tests_parts_characters(model: Tiny) -> None:
    raw = [model.raw(token) for token in model.ids(EMOJI.text)]
    assert b" \xf0\x9f" in raw, "a space and a part of a character in one token"
    assert " 🙂".encode() in raw
    assert b"\xc3" in raw


@pytest.mark.parametrize("offsets", ["written", "true", "none", "minus"])
@pytest.mark.parametrize("writes", ["vllm", "bytes", "late", "gone", "bare", "raw", "▁"])
def test_however_tokens_are_written(model: Tiny, writes: str, offsets: str) -> None:
    with opened(model, Quirks(writes=writes, offsets=offsets)) as (found, _):
        for rule in ("conditional", "ll-acl"):
            for ask in (EMOJI, INTER):
                assert close(found.score(rule, [ask])[0], by_hand(model, rule, ask)), ask


def test_offsets_serve_where_tokens_are_not_the_text(model: Tiny) -> None:
    with opened(model, Quirks(writes="shouts", offsets="true")) as (found, _):
        assert close(found.score("conditional", [INTER])[0], by_hand(model, "conditional", INTER))


@pytest.mark.parametrize(
    ("quirks", "way"),
    [
        (Quirks(takes_zero=False), (True, 1, 1)),
        (Quirks(takes_zero=False, refusal=500), (True, 1, 1)),
        (Quirks(takes_zero=False, refusal=422, usage=False), (True, 1, 1)),
        (Quirks(zero_is_many=True), (True, 1, 1)),
        (Quirks(takes_tops=False), (True, 0, 0)),
        (Quirks(takes_tops=False, takes_zero=False), (True, 0, 1)),
        (Quirks(takes_lists=False), (False, 1, 0)),
        (Quirks(one_choice=True), (False, 1, 0)),
        (Quirks(takes_lists=False, takes_zero=False, takes_tops=False), (False, 0, 1)),
        (Quirks(backwards=True), (True, 1, 0)),
        (Quirks(takes_zero=False, writes="gone", offsets="none"), (True, 1, 1)),
    ],
)
def test_a_server_is_asked_as_it_wants(
    model: Tiny, quirks: Quirks, way: tuple[bool, int, int]
) -> None:
    with opened(model, quirks) as (found, server):
        for rule in ("ll-code", "ratio"):
            asks = [INTER, EMOJI]
            wanted = [by_hand(model, rule, ask) for ask in asks]
            assert all(map(close, found.score(rule, asks), wanted))
        for body in server.bodies:
            assert (isinstance(body["prompt"], list), body["logprobs"], body["max_tokens"]) == way


@pytest.mark.parametrize("own_bos", ["shown", "nothing", "unsaid"])
@pytest.mark.parametrize(("rule", "ask"), [(rule, EMOJI) for rule in BOTH])
def test_a_server_with_a_bos_of_its_own(
    model: Tiny, own_bos: str, rule: str, ask: ScoringRequest
) -> None:
    """Nothing is put before texts that have one, and the rules stay what they are."""
    for bos in ("", BOS):
        with opened(model, Quirks(own_bos=own_bos), bos=bos) as (found, server):
            wanted = by_hand(model, rule, ask, own_bos=True)
            assert close(found.score(rule, [ask])[0], wanted)
            assert found.about()["own_bos"] is True
            assert not any(BOS in prompt for prompt in server.prompts)


def test_a_hidden_bos_leaves_the_first_token_without_a_score(model: Tiny) -> None:
    with opened(model, Quirks(own_bos="hidden")) as (found, _):
        for rule in ("ll-arxiv", "conditional"):
            wanted = by_hand(model, rule, INTER, own_bos=True)
            assert close(found.score(rule, [INTER])[0], wanted)
        with pytest.raises(CurationError) as error:
            found.score("ll-bos", [INTER])
        assert error.value.what == f"the server does not show the BOS {BOS!r} as a token"
        assert "ll-arxiv" in error.value.fix


def test_accents_may_be_composed_first(model: Tiny) -> None:
    """The server reads NFC, the text is not; its context is longer than what the server reads."""
    loose = unicodedata.normalize("NFD", "The café is open, the café is closed.")
    ask = ScoringRequest("intersentence", loose, "It is kind.")
    tidy = ScoringRequest("intersentence", unicodedata.normalize("NFC", loose), "It is kind.")
    with opened(model, Quirks(composes=True)) as (found, _):
        assert close(found.score("conditional", [ask])[0], by_hand(model, "conditional", tidy))


# --- what has no score


def test_only_the_text_that_is_too_long_is_refused(model: Tiny) -> None:
    long = INTRA._replace(sentence="The old baker sings. " * 30)
    for quirks in (Quirks(), Quirks(takes_lists=False)):
        with opened(model, quirks) as (found, _):
            first, second, third = found.score("ll-arxiv", [INTRA, long, CAFE])
            assert close(first, by_hand(model, "ll-arxiv", INTRA))
            assert close(third, by_hand(model, "ll-arxiv", CAFE))
            assert isinstance(second, Refusal)
            assert second.code == "too_long"
            assert "maximum context length is 96 tokens" in second.detail
    with opened(model) as (found, _):  # of two texts, one is too long
        both = found.score("ratio", [INTER._replace(context=long.sentence)])[0]
        assert isinstance(both, Refusal)
        assert both.code == "too_long"
        assert close(found.score("ratio", [INTER])[0], by_hand(model, "ratio", INTER))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "The decoder prompt (length 99) is longer than the maximum model length of 96."),
        (400, "The input (99 tokens) is longer than the model's context length (96 tokens)."),
        (400, "Requested tokens (99) exceed context window of 96"),
        (400, "the request exceeds the available context size (96 tokens), try increasing it"),
        (500, "Prompt is too long"),
        (422, "context_length_exceeded"),
    ],
)
def test_servers_say_in_many_words_that_a_text_is_too_long(
    model: Tiny, status: int, said: str
) -> None:
    with opened(model) as (found, server):
        server.faults = [Fault(status, json.dumps({"error": {"message": said}}))]
        assert found.score("ll-arxiv", [INTRA]) == [
            Refusal("too_long", f"the server answered {status}: {said}")
        ]


def test_a_body_that_is_too_large_is_a_text_that_is_too_long(model: Tiny) -> None:
    with opened(model) as (found, server):
        server.faults = [Fault(413, "Payload Too Large")]
        done = found.score("ll-arxiv", [INTRA])[0]
        assert isinstance(done, Refusal)
        assert done.code == "too_long"


@pytest.mark.parametrize("value", ["nan", "-inf", "inf", "-9999.0"])
def test_a_score_that_is_not_finite_is_refused(model: Tiny, value: str) -> None:
    with opened(model, Quirks(poisoned={" baker": value})) as (found, _):
        bad, good = found.score("ll-arxiv", [INTRA, INTER])
        assert bad == Refusal("not_finite", "' baker' has no finite log-probability")
        assert close(good, by_hand(model, "ll-arxiv", INTER))


def test_without_tokens_there_is_nothing_to_score(model: Tiny) -> None:
    one = ScoringRequest("intrasentence", "BLANK", "The", 0, 3)
    none = ScoringRequest("intrasentence", "BLANK", "", 0, 0)
    with opened(model) as (found, server):
        alone = found.score("ll-arxiv", [one, none])
        assert [done.code for done in alone if isinstance(done, Refusal)] == [
            "nothing_to_score",
            "nothing_to_score",
        ]
        assert close(found.score("ll-acl", [one])[0], plainly(model, [0], model.ids("The")[0]))
        assert found.score("ll-bos", [none])[0] == Refusal("nothing_to_score", "there is no text")
        empty = found.score("ratio", [INTER._replace(sentence="")])[0]
        assert isinstance(empty, Refusal)
        assert "" not in server.prompts


def test_no_context_gives_the_first_token_no_condition(model: Tiny) -> None:
    alone = ScoringRequest("intersentence", "", "the baker sings.")
    for quirks in (Quirks(), Quirks(poisoned={" the": 0.0})):  # some write 0 for «not known»
        with opened(model, quirks) as (found, _):
            assert found.score("conditional", [alone]) == [
                Refusal("not_finite", "' the' has no finite log-probability")
            ]


# --- what is sent


def test_equal_texts_are_sent_once(model: Tiny) -> None:
    with opened(model) as (found, server):
        told: list[int] = []
        first = found.score("ll-bos", [INTER, INTRA, INTER], tell=told.append)
        assert first[0] == first[2]
        found.score("ll-acl", [INTER, INTRA])  # needs these, and the texts without BOS
        assert sorted(server.prompts) == sorted(
            [BOS + INTER.text, BOS + INTRA.text, INTER.text, INTRA.text]
        )
        assert sum(told) == 2
        assert found.score("ll-arxiv", []) == []


def test_requests_go_in_batches_and_a_few_at_once(model: Tiny) -> None:
    asks = [ScoringRequest("intrasentence", "", f"The baker sings {n} songs.") for n in range(50)]
    with opened(model, threads=3, batch=4) as (found, server):
        server.pause = 0.02
        told: list[int] = []
        assert all(
            isinstance(score, float) for score in found.score("ll-arxiv", asks, tell=told.append)
        )
        # 50 texts are 12 batches of 4 and one of 2
        assert sorted(len(body["prompt"]) for body in server.bodies) == [2] + [4] * 12
        assert sorted(told) == [2] + [4] * 12
        assert 1 < server.most_at_once <= 3


def test_what_came_before_an_error_is_not_asked_again(model: Tiny) -> None:
    with opened(model, threads=1, batch=1, waits=()) as (found, server):
        found.score("ll-arxiv", [INTRA])
        server.faults = [Fault(503, "busy")]
        with pytest.raises(CurationError, match="503"):
            found.score("ll-arxiv", [INTRA, CAFE, INTER])
        done = found.score("ll-arxiv", [INTRA, CAFE, INTER])
        assert all(isinstance(score, float) for score in done)
        assert server.prompts.count(INTRA.text) == 1


def test_about_says_where_and_what(model: Tiny) -> None:
    with serving(model) as server:
        url = server.url.replace("//", "//ada:s3cret@") + "/completions?api-version=s3cret"
        with Endpoint(url, "tiny", bos=BOS) as found:
            assert found.about() == {
                "url": server.url,
                "model": "tiny",
                "served": {"id": "tiny", "owned_by": "vllm", "max_model_len": 96},
                "system_fingerprint": ["tiny-1"],
                "bos": BOS,
                "own_bos": False,
            }
            assert found.family == "endpoint"
        assert server.paths == ["/v1/completions?api-version=s3cret"]
        assert server.headers[0]["Authorization"].startswith("Basic ")


# --- keys


def test_the_key_is_sent_and_not_told(model: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(model, Quirks(key="s3cret")) as server:
        with Endpoint(server.url, "tiny", key="s3cret") as found:
            assert "s3cret" not in json.dumps(found.about())
        monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
        open_endpoint(server.url, "tiny")
        monkeypatch.setenv("CURATION_ENDPOINT_KEY", "wr0ng")
        with pytest.raises(CurationError) as error:
            open_endpoint(server.url, "tiny")
        assert "does not accept the key" in error.value.what
        assert "wr0ng" not in str(error.value) + error.value.fix
        assert "CURATION_ENDPOINT_KEY" in error.value.fix
        with pytest.raises(CurationError, match="characters that a key cannot have"):
            open_endpoint(server.url, "tiny", key="schlüssel")


def test_the_address_is_told_without_credentials() -> None:
    url = "https://ada:s3cret@models.example:8443/deep/v1/completions/?key=s3cret"
    assert host(url) == "https://models.example:8443/deep/v1"
    assert host("http://localhost:8000/v1/") == "http://localhost:8000/v1"


def test_a_key_for_openai_is_not_sent_in_the_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    keys = {
        url: connection.find_key(None, connection._address(url))
        for url in ("https://models.example/v1", "http://models.example/v1", "http://localhost/v1")
    }
    assert list(keys.values()) == ["s3cret", "", "s3cret"]
    monkeypatch.setenv("CURATION_ENDPOINT_KEY", "for this one")
    assert (
        connection.find_key(None, connection._address("http://models.example/v1")) == "for this one"
    )


# --- errors that stay


@pytest.mark.parametrize(
    "quirks",
    [
        Quirks(gives="null"),
        Quirks(gives="zeros"),
        Quirks(gives="generated"),
        Quirks(gives="nothing"),
        Quirks(writes="ids"),
    ],
    ids=lambda quirks: quirks.gives,
)
def test_a_server_without_log_probabilities_of_prompts(model: Tiny, quirks: Quirks) -> None:
    with serving(model, quirks) as server, pytest.raises(CurationError) as error:
        open_endpoint(server.url, "tiny")
    assert NO_ECHO in error.value.what
    assert error.value.fix == ECHO
    assert "vLLM" in error.value.fix


def test_a_server_that_refuses_echo_is_quoted(model: Tiny) -> None:
    said = "Setting 'echo' and 'logprobs' at the same time is not supported for this model."
    with serving(model) as server:
        server.faults = [Fault(400, json.dumps({"error": {"message": said}}))] * 8
        with pytest.raises(CurationError) as error:
            open_endpoint(server.url, "tiny")
    assert error.value.what.endswith(f"{NO_ECHO}; it answered 400: {said}")
    assert error.value.fix == ECHO


def test_an_error_that_comes_as_success(model: Tiny) -> None:
    with serving(model) as server:
        server.faults = [Fault(200, '{"error": "Only no echo is supported"}')] * 8
        with pytest.raises(CurationError, match="Only no echo is supported"):
            open_endpoint(server.url, "tiny")


@pytest.mark.parametrize(
    ("fault", "what", "fix"),
    [
        (Fault(401, "no"), "does not accept the key", "CURATION_ENDPOINT_KEY"),
        (Fault(403, "no"), "does not accept the key", "CURATION_ENDPOINT_KEY"),
        (Fault(405, "no"), "answered 405: no", "/completions is added"),
        (Fault(200, "<html>Log in to CoffeeNet"), "a web page instead of results", "browser"),
        (Fault(308, "", {"Location": "https://models.example/v1"}), "308", "models.example"),
        (Fault(429, '{"error": {"code": "insufficient_quota"}}'), "429", "account is used up"),
        (Fault(429, "", {"Retry-After": "7200"}), "asks to wait 2:00:00 h", "try again later"),
    ],
)
def test_what_no_new_try_mends(model: Tiny, fault: Fault, what: str, fix: str) -> None:
    with serving(model) as server:
        server.faults = [fault]
        with pytest.raises(CurationError) as error:
            Endpoint(server.url, "tiny", pause=pytest.fail)
        assert not server.faults
    assert server.url in error.value.what
    assert what in error.value.what
    assert fix in error.value.fix


def test_a_wrong_address_and_a_wrong_model(model: Tiny) -> None:
    with serving(model) as server:
        with pytest.raises(CurationError, match="404") as error:
            open_endpoint(server.url.removesuffix("/v1"), "tiny")
        assert "ends in /v1" in error.value.fix
        with pytest.raises(CurationError, match="`huge` does not exist") as error:
            open_endpoint(server.url, "huge")
        assert error.value.fix == "name a model that it has: tiny"
    for url in ("models.example/v1", "ftp://models.example", "http://", "http://a:port/v1"):
        with pytest.raises(CurationError, match="is not an address"):
            open_endpoint(url, "tiny")
    with pytest.raises(CurationError) as error:
        open_endpoint("ada:s3cret@models.example", "tiny")
    assert "s3cret" not in error.value.what


def test_a_text_that_the_server_refuses_is_named(model: Tiny) -> None:
    with opened(model) as (found, server):
        server.faults = [Fault(400, "we do not speak of cats")] * 2
        with pytest.raises(CurationError, match="we do not speak of cats") as error:
            found.score("ll-arxiv", [INTER, INTRA])
        assert repr(INTER.text) in error.value.fix


def test_rules_that_do_not_fit(model: Tiny) -> None:
    with opened(model, bos="") as (found, server):
        for rule in ("ll-bos", "ll-acl", "ll-code", "ratio"):
            with pytest.raises(CurationError, match="BOS token") as error:
                found.score(rule, [INTER])
            assert "--bos" in error.value.fix
        with pytest.raises(CurationError, match="not for endpoint models") as error:
            found.score("pll", [INTER])
        assert "ll-arxiv" in error.value.fix
        with pytest.raises(CurationError, match="not for intrasentence CATs") as error:
            found.score("conditional", [INTRA])
        assert "ll-arxiv" in error.value.fix
        assert not server.bodies


def test_a_bos_that_is_none(model: Tiny) -> None:
    with opened(model, bos="<s>") as (found, _):
        with pytest.raises(CurationError) as error:
            found.score("ll-bos", [INTRA])
        # the tokenizer has no such token: "<", "s", ">"
        assert error.value.what == "the server reads the BOS '<s>' as 3 tokens instead of one"
        assert "--bos" in error.value.fix


def test_a_first_token_without_log_probability(model: Tiny) -> None:
    with opened(model, Quirks(poisoned={"The": "nan"})) as (found, server):
        assert isinstance(found.score("ll-bos", [INTRA])[0], Refusal)
        answered = server.answer

        def hiding(body: Any) -> tuple[int, dict[str, Any]]:
            status, answer = answered(body)
            for choice in answer["choices"]:
                choice["logprobs"]["token_logprobs"][1] = None
            return status, answer

        server.answer = hiding  # type: ignore[method-assign]
        with pytest.raises(CurationError, match="no log-probability for the first token"):
            found.score("ll-bos", [CAFE])


@pytest.mark.parametrize("log", [10**400, -(10**400)], ids=["high", "low"])
def test_a_log_probability_that_is_no_float(model: Tiny, log: int) -> None:
    with opened(model, Quirks(poisoned={"The": log})) as (found, _):
        assert isinstance(found.score("ll-bos", [INTRA])[0], Refusal)


@pytest.mark.parametrize("status", [200, 400, 503])
def test_an_answer_of_many_brackets(model: Tiny, status: int) -> None:
    nested = '{"error": ' + "[" * 500 + "]" * 500 + "}"
    with opened(model, waits=()) as (found, server):
        server.faults = [Fault(status, nested)] * 5
        with pytest.raises(CurationError, match=r"^http://127\.0\.0\.1.*\[\[\[|log-prob"):
            found.score("ll-bos", [INTRA])


def test_text_that_is_read_otherwise_after_bos(model: Tiny) -> None:
    with opened(model) as (found, server):
        answered = server.answer

        def other(body: Any) -> tuple[int, dict[str, Any]]:
            status, answer = answered(body)
            for prompt, choice in zip(body["prompt"], answer["choices"], strict=True):
                if prompt.startswith(BOS):
                    said = choice["logprobs"]
                    said["tokens"][1:2] = ["T", "he"]
                    said["token_logprobs"][1:2] = [-1.0, -1.0]
                    said["text_offset"][1:2] = [1, 2]
            return status, answer

        server.answer = other  # type: ignore[method-assign]
        with pytest.raises(CurationError, match="into other tokens if") as error:
            found.score("ll-acl", [INTRA])
        assert "ll-arxiv" in error.value.fix


def test_tokens_that_are_no_text_are_shown(model: Tiny) -> None:
    with opened(model) as (found, server):
        server.quirks.writes = "ids"
        with pytest.raises(CurationError, match=r"do not make up .*token_id:") as error:
            found.score("ll-arxiv", [INTRA])
        assert "--return-tokens-as-token-ids" in error.value.fix


# --- errors that pass


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(429, "slow down"), "answered 429: slow down"),
        (Fault(503, '{"message": "loading"}'), "answered 503: loading"),
        (Fault(500, "oh"), "answered 500: oh"),
        (Fault(408), "answered 408"),
        (Fault(RESET), "no connection"),
        (Fault(HALF), "no connection"),
        (Fault(200, '{"choices": [{"te'), "the answer was cut off"),
        (Fault(SLOW), "no answer within 0.5 s"),
    ],
)
def test_what_fails_for_now_is_asked_again(model: Tiny, fault: Fault, said: str) -> None:
    heard: list[str] = []
    timeout = 0.5 if fault.status == SLOW else 30
    with opened(model, notice=heard.append, timeout=timeout, waits=(0.5, 2)) as (found, server):
        server.faults = [fault, fault]
        assert close(found.score("ll-arxiv", [INTRA])[0], by_hand(model, "ll-arxiv", INTRA))
    assert len(heard) == 2
    assert said in heard[0]
    assert [line.rpartition("; ")[2] for line in heard] == [
        "trying again in 1 s",
        "trying again in 2 s",
    ]


def test_it_is_not_asked_for_ever(model: Tiny) -> None:
    waited: list[float] = []
    with opened(model, waits=(1, 4)) as (found, server):
        found._server.gate.pause = waited.append
        server.faults = [Fault(502, "bad gateway")] * 3
        with pytest.raises(CurationError, match="502: bad gateway") as error:
            found.score("ll-arxiv", [INTRA])
    assert waited == [1, 4]
    assert "continues from there" in error.value.fix


def test_a_server_that_says_how_long_to_wait_is_heeded(model: Tiny) -> None:
    waited: list[float] = []
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    with opened(model, waits=(1, 1, 1, 1)) as (found, server):
        found._server.gate.pause = waited.append
        server.faults = [
            Fault(429, headers={"Retry-After": asked}) for asked in ("12", "0", later, "soon")
        ]
        assert isinstance(found.score("ll-arxiv", [INTRA])[0], float)
    assert waited[0] == 12
    assert waited[1] == 1
    assert 25 < waited[2] <= 30
    assert waited[3] == 1


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    heard: list[str] = []
    pause: Callable[[float], None] = lambda _: None  # noqa: E731
    with pytest.raises(CurationError, match=r"no connection .*refused") as error:
        Endpoint(f"http://127.0.0.1:{port}/v1", "tiny", notice=heard.append, pause=pause)
    assert len(heard) == 4
    assert "check that the server runs" in error.value.fix


def test_no_encryption_there(model: Tiny) -> None:
    with serving(model) as server:
        url = server.url.replace("http:", "https:")
        with pytest.raises(CurationError, match=r"no connection .*SSL") as error:
            Endpoint(url, "tiny", pause=pytest.fail)
    assert "check the address of the endpoint" in error.value.fix


def test_one_failure_ends_the_waiting_of_the_others(model: Tiny) -> None:
    """One request waits a minute, another fails for good: nobody waits, or asks much, any more."""
    waits = (60,) * 30
    with serving(model) as server, Endpoint(server.url, "tiny", batch=1, waits=waits) as found:
        server.faults = [Fault(503, "busy"), Fault(401, "no"), *[Fault(503, "busy")] * 30]
        started = datetime.now(UTC)
        with pytest.raises(CurationError, match=r"503|key"):
            found.score("ll-arxiv", [INTRA, INTER, CAFE])
        assert datetime.now(UTC) - started < timedelta(seconds=20)
        assert len(server.faults) > 20


def test_no_proxy_stands_before_this_machine(model: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with opened(model) as (found, _):
        assert isinstance(found.score("ll-arxiv", [INTRA])[0], float)

"""Scores from a real model behind a real server, with every quirk that servers have."""

import json
import math
import socket
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from curation.files import CurationError
from curation.models import connection
from curation.models.completions import ECHO, NO_ECHO, Endpoint
from curation.models.connection import host
from curation.models.rules import RULES, Refusal, ScoringRequest
from support.completions import BOS, Completions, Quirks, plainly, serving, tiny
from support.expected import Patch, fails
from support.servers import HALF, RESET, SLOW, Fault, error
from support.written import beside

TABLES = beside(__file__)

INTRA = ScoringRequest("intrasentence", "The BLANK baker sings.", "The old baker sings.", 4, 7)
INTER = ScoringRequest("intersentence", "A cat sat on the mat.", "It is kind.")
CAFE = ScoringRequest("intrasentence", "The BLANK is open.", "The café 🌍 is open.", 4, 10)
EMOJI = ScoringRequest("intersentence", "The roses grow 🌍", "🙂 北京 rain, naïve cat 🌍.")
ENDPOINTS = [rule for rule, known in RULES.items() if "endpoint" in known.families]


@contextmanager
def opened(
    quirks: Quirks | None = None, *faults: Fault, bos: str = BOS, **settings: Any
) -> Iterator[tuple[Endpoint, Completions]]:
    """An endpoint, and its server, which sends faults once the endpoint is open."""
    settings = {"pause": lambda _: None} | settings
    with (
        serving(tiny(), quirks) as server,
        Endpoint(server.url, "tiny", bos=bos, **settings) as found,
    ):
        server.bodies.clear()
        server.faults = list(faults)
        yield found, server


def failure(quirks: Quirks | None = None, *faults: Fault, model: str = "tiny") -> CurationError:
    """The error with which an endpoint cannot be opened."""
    with serving(tiny(), quirks) as server:
        server.faults = list(faults)
        with pytest.raises(CurationError) as found:
            Endpoint(server.url, model, pause=pytest.fail)
        assert server.url in found.value.what
        return found.value


@cache
def by_hand(rule: str, ask: ScoringRequest, *, own_bos: bool = False) -> float:
    """The contract's sums, one run of the model a token."""

    def after(ids: list[int], first: int, before: list[int]) -> float:
        return sum(plainly(tiny(), before + ids[:n], ids[n]) for n in range(first, len(ids)))

    ids, lead = tiny().ids(ask.text), [0] if own_bos else []
    if rule == "ll-bos":
        return after(ids, 0, [0])
    if rule == "ll-arxiv":
        return after(ids, 1, lead) / (len(ids) - 1)
    if rule in {"ll-acl", "ll-code"}:
        total = plainly(tiny(), [0], ids[0]) + after(ids, 1, lead)
        return total / len(ids) if rule == "ll-code" else total
    # The tokenizer never joins what stands before a space to what stands behind it.
    conditional = after(ids, len(tiny().ids(ask.context)), lead)
    if rule == "conditional":
        return conditional
    if rule == "conditional-chars":
        return conditional / len(ask.sentence)
    assert rule == "ratio"
    return conditional - after(tiny().ids(ask.sentence), 0, [0])


def near(rule: str, *asks: ScoringRequest, own_bos: bool = False) -> Any:
    """What equals the scores of the model."""
    return pytest.approx([by_hand(rule, ask, own_bos=own_bos) for ask in asks], rel=1e-5)


# --- scores


@pytest.mark.parametrize("rule", ENDPOINTS)
def test_scores_are_those_of_the_model(rule: str) -> None:
    asks = [ask for ask in (INTRA, CAFE, INTER, EMOJI) if ask.kind in RULES[rule].kinds]
    with opened() as (found, _):
        assert found.score(rule, asks) == near(rule, *asks)


def test_the_tokenizer_of_these_tests_cuts_characters() -> None:
    raw = [tiny().raw(token) for token in tiny().ids(EMOJI.text)]
    assert b" \xf0\x9f" in raw, "a space and a part of a character in one token"
    assert {" 🙂".encode(), b"\xc3"} <= set(raw)


@pytest.mark.parametrize("offsets", ["written", "true", "none", "minus"])
@pytest.mark.parametrize("writes", ["vllm", "bytes", "late", "gone", "bare", "raw", "▁"])
def test_however_tokens_are_written(writes: str, offsets: str) -> None:
    with opened(Quirks(writes=writes, offsets=offsets)) as (found, _):
        for rule in ("conditional", "ll-acl"):
            assert found.score(rule, [EMOJI, INTER]) == near(rule, EMOJI, INTER)


def test_offsets_serve_where_tokens_are_not_the_text() -> None:
    with opened(Quirks(writes="shouts", offsets="true")) as (found, _):
        assert found.score("conditional", [INTER]) == near("conditional", INTER)


@pytest.mark.parametrize(
    ("quirks", "form"),
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
def test_a_server_is_asked_as_it_wants(quirks: Quirks, form: tuple[bool, int, int]) -> None:
    with opened(quirks) as (found, server):
        for rule in ("ll-code", "ratio"):
            assert found.score(rule, [INTER, EMOJI]) == near(rule, INTER, EMOJI)
        for body in server.bodies:
            assert (isinstance(body["prompt"], list), body["logprobs"], body["max_tokens"]) == form


@pytest.mark.parametrize("bos", ["", BOS])
@pytest.mark.parametrize("own_bos", ["shown", "nothing", "unsaid"])
def test_a_server_with_a_bos_of_its_own(own_bos: str, bos: str) -> None:
    """Nothing is put before texts that have one, and the rules stay what they are."""
    with opened(Quirks(own_bos=own_bos), bos=bos) as (found, server):
        for rule in ENDPOINTS:
            assert found.score(rule, [EMOJI]) == near(rule, EMOJI, own_bos=True)
        assert found.about()["own_bos"] is True
        assert not any(BOS in prompt for prompt in server.prompts)


def test_a_hidden_bos_leaves_the_first_token_without_a_score() -> None:
    with opened(Quirks(own_bos="hidden")) as (found, _):
        for rule in ("ll-arxiv", "conditional"):
            assert found.score(rule, [INTER]) == near(rule, INTER, own_bos=True)
        with fails("the server does not show the BOS '<|endoftext|>' as a token", fix="ll-arxiv"):
            found.score("ll-bos", [INTER])


def test_accents_may_be_composed_first() -> None:
    """The server reads NFC, the text is not; its context is longer than what the server reads."""
    tidy = ScoringRequest("intersentence", "The café is open, the café is closed.", "It is kind.")
    loose = tidy._replace(context=unicodedata.normalize("NFD", tidy.context))
    with opened(Quirks(composes=True)) as (found, _):
        assert found.score("conditional", [loose]) == near("conditional", tidy)


# --- what has no score


def test_only_the_text_that_is_too_long_is_refused() -> None:
    long = INTRA._replace(sentence="The old baker sings. " * 30)
    for quirks in (Quirks(), Quirks(takes_lists=False)):
        with opened(quirks) as (found, _):
            first, refused, third = found.score("ll-arxiv", [INTRA, long, CAFE])
            assert [first, third] == near("ll-arxiv", INTRA, CAFE)
            assert refused[0] == "too_long"
            assert "maximum context length is 96 tokens" in refused[1]
            # Of two texts, one is too long.
            both, other = found.score("ratio", [INTER._replace(context=long.sentence), INTER])
            assert both[0] == "too_long"
            assert [other] == near("ratio", INTER)


@pytest.mark.parametrize(
    ("status", "said"), TABLES["servers_say_in_many_words_that_a_text_is_too_long"]
)
def test_servers_say_in_many_words_that_a_text_is_too_long(status: int, said: str) -> None:
    large = Fault(413, "Payload Too Large")
    with opened(None, large if status == 413 else error(status, said)) as (found, _):
        refusal = Refusal("too_long", f"the server answered {status}: {said}")
        assert found.score("ll-arxiv", [INTRA]) == [refusal]


@pytest.mark.parametrize(
    "value", [math.nan, -math.inf, math.inf, -9999.0, 10**400, -(10**400)], ids=range(6)
)
def test_a_score_that_is_not_finite_is_refused(value: Any) -> None:
    with opened(Quirks(poisoned={" baker": value})) as (found, _):
        bad, good = found.score("ll-arxiv", [INTRA, INTER])
        assert bad == Refusal("not_finite", "' baker' has no finite log-probability")
        assert [good] == near("ll-arxiv", INTER)


def test_without_tokens_there_is_nothing_to_score() -> None:
    one = ScoringRequest("intrasentence", "BLANK", "The", 0, 3)
    none = ScoringRequest("intrasentence", "BLANK", "", 0, 0)
    with opened() as (found, server):
        alone = found.score("ll-arxiv", [one, none])
        assert [refusal[0] for refusal in alone] == ["nothing_to_score"] * 2
        first = plainly(tiny(), [0], tiny().ids("The")[0])
        assert found.score("ll-acl", [one]) == pytest.approx([first], rel=1e-5)
        assert found.score("ll-bos", [none])[0] == Refusal("nothing_to_score", "there is no text")
        assert isinstance(found.score("ratio", [INTER._replace(sentence="")])[0], Refusal)
        assert "" not in server.prompts


def test_no_context_gives_the_first_token_no_condition() -> None:
    alone = ScoringRequest("intersentence", "", "the baker sings.")
    for quirks in (Quirks(), Quirks(poisoned={" the": 0.0})):  # some write 0 for «not known»
        with opened(quirks) as (found, _):
            refusal = Refusal("not_finite", "' the' has no finite log-probability")
            assert found.score("conditional", [alone]) == [refusal]


# --- what is sent


def test_equal_texts_are_sent_once() -> None:
    with opened() as (found, server):
        first = found.score("ll-bos", [INTER, INTRA, INTER])
        assert first[0] == first[2]
        assert len(server.prompts) == 2
        found.score("ll-acl", [INTER, INTRA])  # needs these, and the texts without BOS
        texts = {INTER.text, INTRA.text}
        assert sorted(server.prompts) == sorted(texts | {BOS + text for text in texts})
        assert found.score("ll-arxiv", []) == []


def test_requests_go_in_batches_and_a_few_at_once() -> None:
    asks = [ScoringRequest("intrasentence", "", f"The baker sings {n} songs.") for n in range(50)]
    with opened(Quirks(pause=0.02), threads=3, batch=4) as (found, server):
        scores = found.score("ll-arxiv", asks)
        assert all(isinstance(score, float) for score in scores)
        # 50 texts are 12 batches of 4 and one of 2
        assert sorted(len(body["prompt"]) for body in server.bodies) == [2] + [4] * 12
        assert 1 < server.most_at_once <= 3


def test_what_came_before_an_error_is_not_asked_again() -> None:
    with opened(threads=1, batch=1, waits=()) as (found, server):
        found.score("ll-arxiv", [INTRA])
        server.faults = [Fault(503, "busy")]
        with pytest.raises(CurationError, match="503"):
            found.score("ll-arxiv", [INTRA, CAFE, INTER])
        assert found.score("ll-arxiv", [INTRA, CAFE, INTER]) == near("ll-arxiv", INTRA, CAFE, INTER)
        assert server.prompts.count(INTRA.text) == 1


def test_about_says_where_and_what() -> None:
    with serving(tiny()) as server:
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
        assert server.paths == ["/v1/completions?api-version=s3cret"]
        assert server.headers[0]["authorization"].startswith("Basic ")


# --- keys


def test_the_key_is_sent_and_not_told(monkeypatch: Patch) -> None:
    with serving(tiny(), Quirks(key="s3cret")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
        with Endpoint(server.url, "tiny") as found:
            assert "s3cret" not in json.dumps(found.about())
        monkeypatch.setenv("CURATION_ENDPOINT_KEY", "wr0ng")
        with fails("does not accept the key", fix="CURATION_ENDPOINT_KEY") as failed:
            Endpoint(server.url, "tiny")
        assert "wr0ng" not in failed.value.what + failed.value.fix
        monkeypatch.setenv("CURATION_ENDPOINT_KEY", "schlüssel")
        with pytest.raises(CurationError, match="characters that a key cannot have"):
            Endpoint(server.url, "tiny")


def test_the_address_is_told_without_credentials() -> None:
    url = "https://ada:s3cret@models.example:8443/deep/v1/completions/?key=s3cret"
    assert host(url) == "https://models.example:8443/deep/v1"
    assert host("http://localhost:8000/v1/") == "http://localhost:8000/v1"


def test_a_key_for_openai_is_not_sent_in_the_open(monkeypatch: Patch) -> None:
    def key(place: str) -> str:
        return connection.find_key(connection._address(f"{place}/v1"))

    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    places = ("https://models.example", "http://models.example", "http://localhost")
    assert list(map(key, places)) == ["s3cret", "", "s3cret"]
    monkeypatch.setenv("CURATION_ENDPOINT_KEY", "for this one")
    assert key("http://models.example") == "for this one"


# --- errors that stay


ONLY = "Setting 'echo' and 'logprobs' at the same time is not supported for this model."


@pytest.mark.parametrize(
    ("quirks", "faults", "said"),
    [
        *[(Quirks(gives=gives), [], "") for gives in ("null", "zeros", "generated", "nothing")],
        (Quirks(writes="ids"), [], ""),
        (None, [error(400, ONLY)] * 8, f"; it answered 400: {ONLY}"),
        (
            None,
            [Fault(200, '{"error": "Only no echo is supported"}')] * 8,
            "Only no echo is supported",
        ),
    ],
)
def test_a_server_without_log_probabilities_of_prompts(
    quirks: Quirks | None, faults: list[Fault], said: str
) -> None:
    found = failure(quirks, *faults)
    assert NO_ECHO in found.what
    assert found.what.endswith(said)
    assert found.fix == ECHO
    assert "vLLM" in ECHO


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
def test_what_no_new_try_fixes(fault: Fault, what: str, fix: str) -> None:
    found = failure(None, fault)  # the one fault is enough
    assert what in found.what
    assert fix in found.fix


def test_a_wrong_address_and_a_wrong_model() -> None:
    with serving(tiny()) as server, fails("404", fix="ends in /v1"):
        Endpoint(server.url.removesuffix("/v1"), "tiny")
    found = failure(model="huge")
    assert "`huge` does not exist" in found.what
    assert found.fix == "name a model that it has: tiny"
    for url in ("models.example/v1", "ftp://models.example", "http://", "http://a:port/v1"):
        with pytest.raises(CurationError, match="is not an address"):
            Endpoint(url, "tiny")
    with pytest.raises(CurationError) as caught:
        Endpoint("ada:s3cret@models.example", "tiny")
    assert "s3cret" not in caught.value.what


def test_a_text_that_the_server_refuses_is_named() -> None:
    shy = opened(None, *[Fault(400, "we do not speak of cats")] * 2)
    with shy as (found, _), fails("we do not speak of cats", fix=repr(INTER.text)):
        found.score("ll-arxiv", [INTER, INTRA])


def test_rules_that_do_not_fit() -> None:
    with opened(bos="") as (found, server):
        for rule in ("ll-bos", "ll-acl", "ll-code", "ratio"):
            with fails("BOS token", fix="--bos"):
                found.score(rule, [INTER])
        with fails("not for endpoint models", fix="ll-arxiv"):
            found.score("pll", [INTER])
        with fails("not for intrasentence CATs", fix="ll-arxiv"):
            found.score("conditional", [INTRA])
        assert not server.bodies
    # The tokenizer has no such token: "<", "s", ">".
    says = "the server reads the BOS '<s>' as 3 tokens instead of one"
    with opened(bos="<s>") as (found, _), fails(says, fix="--bos"):
        found.score("ll-bos", [INTRA])


def test_a_first_token_without_log_probability() -> None:
    def hide(_: str, answer: dict[str, Any]) -> None:
        answer["token_logprobs"][1] = None

    with opened(Quirks(poisoned={"The": math.nan})) as (found, server):
        assert isinstance(found.score("ll-bos", [INTRA])[0], Refusal)
        server.quirks.changes = hide
        with pytest.raises(CurationError, match="no log-probability for the first token"):
            found.score("ll-bos", [CAFE])


@pytest.mark.parametrize("status", [200, 400, 503])
def test_an_answer_of_many_brackets(status: int) -> None:
    nested = Fault(status, '{"error": ' + "[" * 500 + "]" * 500 + "}")
    odd = opened(None, *[nested] * 5, waits=())
    with (
        odd as (found, _),
        pytest.raises(CurationError, match=r"^http://127\.0\.0\.1.*\[\[\[|log-prob"),
    ):
        found.score("ll-bos", [INTRA])


def test_text_that_is_read_otherwise_after_bos() -> None:
    def split(prompt: str, answer: dict[str, Any]) -> None:
        if prompt.startswith(BOS):
            answer["tokens"][1:2] = ["T", "he"]
            answer["token_logprobs"][1:2] = [-1.0, -1.0]
            answer["text_offset"][1:2] = [1, 2]

    with opened(Quirks(changes=split)) as (found, _), fails("into other tokens if", fix="ll-arxiv"):
        found.score("ll-acl", [INTRA])


def test_tokens_that_are_no_text_are_shown() -> None:
    with opened() as (found, server):
        server.quirks.writes = "ids"
        with fails("do not make up ", "token_id:", fix="--return-tokens-as-token-ids"):
            found.score("ll-arxiv", [INTRA])


# --- errors that pass


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(429, "slow down"), "answered 429: slow down"),
        (Fault(503, '{"message": "loading"}'), "answered 503: loading"),
        (Fault(500, "oh"), "answered 500: oh"),
        (Fault(408), "answered 408"),
        (Fault(RESET), "the connection failed"),
        (Fault(HALF), "the connection failed"),
        (Fault(200, '{"choices": [{"te'), "the answer was cut off"),
        (Fault(SLOW), "no answer within 0.5 s"),
    ],
)
def test_what_fails_for_now_is_asked_again(fault: Fault, said: str) -> None:
    heard: list[str] = []
    settings = {"timeout": 0.5 if fault.status == SLOW else 30, "waits": (0.5, 2)}
    with opened(None, fault, fault, notice=heard.append, **settings) as (found, _):
        assert found.score("ll-arxiv", [INTRA]) == near("ll-arxiv", INTRA)
    assert said in heard[0]
    waits = [line.rpartition("; ")[2] for line in heard]
    assert waits == ["trying again in 1 s", "trying again in 2 s"]


def test_it_is_not_asked_for_ever() -> None:
    waited: list[float] = []
    bad = opened(None, *[Fault(502, "bad gateway")] * 3, waits=(1, 4), pause=waited.append)
    with bad as (found, _), fails("502: bad gateway", fix="continues from there"):
        found.score("ll-arxiv", [INTRA])
    assert waited == [1, 4]


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    heard: list[str] = []
    with fails("no connection ", "refused", fix="check that the server runs"):
        Endpoint(url, "tiny", notice=heard.append, pause=lambda _: None)
    assert len(heard) == 4


def test_no_encryption_there() -> None:
    check = "check the address of the endpoint"
    with serving(tiny()) as server, fails("no connection ", "SSL", fix=check):
        Endpoint(server.url.replace("http:", "https:"), "tiny", pause=pytest.fail)


def test_one_failure_ends_the_waiting_of_the_others() -> None:
    """One request waits a minute, another fails for good: nobody waits, or asks much, any more."""
    faults = [Fault(503, "busy"), Fault(401, "no"), *[Fault(503, "busy")] * 30]
    with opened(None, *faults, batch=1, waits=(60,) * 30, pause=None) as (found, server):
        started = datetime.now(UTC)
        with pytest.raises(CurationError, match=r"503|key"):
            found.score("ll-arxiv", [INTRA, INTER, CAFE])
        assert datetime.now(UTC) - started < timedelta(seconds=20)
        assert len(server.faults) > 20


def test_no_proxy_stands_before_this_machine(monkeypatch: Patch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with opened() as (found, _):
        assert found.score("ll-arxiv", [INTRA]) == near("ll-arxiv", INTRA)

"""What replies of chat models say: the set in ``replies/``, any JSON, huge replies."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.models.chat.prompts import Prompts, read_prompts
from curation.models.chat.reading import NO_ANSWER, Reading, read_answer
from support.written import beside

ROOT = Path(__file__).parents[3]
REPLIES = Path(__file__).parent / "replies"
PROMPTS = read_prompts(ROOT / "data" / "prompts" / "en.toml")


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (REPLIES / name).read_text("utf-8").splitlines()]


def read(text: Any, end: str | None = "stop", prompts: Prompts = PROMPTS, **rest: Any) -> Reading:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": end}
    return read_answer(200, {"choices": [{**choice, **rest}]}, prompts)


def result(reading: Reading) -> str:
    return reading.letter or reading.code


def differs(reply: Mapping[str, Any], reading: Reading) -> bool:
    """Whether a reading is not what the set expects of a reply."""
    if (reading.letter, reading.code) != (reply["letter"], reply["code"]):
        return True
    if reply["code"]:
        return reading.first is not None or not reading.detail
    p = reply.get("p", 1.0 if reply["letter"] == "first" else 0.0)
    close = reading.first is not None and abs(reading.first - p) < 2e-6
    return not close or reading.sure == ("p" in reply) or reading.detail != ""


@pytest.mark.parametrize("name", ["seen.jsonl", "held.jsonl"])
def test_set_of_replies(name: str) -> None:
    replies = lines(name)
    assert len(replies) == 458
    wrong = [
        (reply["id"], reply["letter"] or reply["code"], reply.get("p"), reading)
        for reply in replies
        if differs(reply, reading := read_answer(reply["status"], reply["body"], PROMPTS))
    ]
    assert wrong == []


def test_other_wordings() -> None:
    wrong = [
        (each["text"], each["end"], each["expected"], result(reading))
        for each in lines("wordings.jsonl")
        if result(reading := read(each["text"], each["end"])) != each["expected"]
    ]
    assert wrong == []


CODES = beside(__file__, "../errors.toml")["codes"]


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("code", CODES)
def test_errors(code: str, status: int) -> None:
    for text in CODES[code]:
        plain = {"message": text}
        for error in (
            {"error": plain},
            {"error": text},
            plain | {"object": "error"},
            {"detail": text},
        ):
            reading = read_answer(status, error, PROMPTS)
            assert reading.code == code, error
            assert text[:20] in reading.detail
    # A local model says it without words.
    assert read_answer(0, {"too_long": 5000}, PROMPTS).code == "answer_too_long"


def test_other_letters() -> None:
    other = replace(PROMPTS, letters=("X", "Y"))
    found = [result(read(text, prompts=other)) for text in ("I choose Y.", "Answer: X", "A")]
    assert found == ["second", "first", "answer_off_format"]


def test_words_of_a_prompts_file() -> None:
    own = replace(
        PROMPTS, choosing=("Vastaukseni olisi",), refusals=("En halua",), undecided=("Molemmat",)
    )
    assert read("Vastaukseni olisi B").code == "answer_off_format"
    texts = ("Vastaukseni olisi B", "En halua valita.", "Molemmat käyvät.")
    found = [result(read(text, prompts=own)) for text in texts]
    assert found == ["second", "answer_refused", "answer_undecided"]


def test_the_prompt_is_repeated() -> None:
    prompt = PROMPTS.by_kind["intrasentence"][0].text
    asked = prompt.replace("{first}", "The cook sang.").replace("{second}", "The cook ran.")
    texts = (asked, f"{asked}\n\nB", f"B\n\n{asked}\n\nA")
    assert [read(text).letter for text in texts] == ["", "second", "second"]


def test_the_token_of_the_choice() -> None:
    listed = [{"token": "A", "logprob": -1.0}, {"token": "B", "logprob": -1.0}]
    tokens = [
        {"token": "A", "logprob": 0.0, "top_logprobs": [{"token": "A", "logprob": 0.0}]},
        {"token": " is odd. ", "logprob": 0.0, "top_logprobs": []},
        {"token": "B", "logprob": -1.0, "top_logprobs": listed},
    ]
    reading = read("A is odd. B", logprobs={"content": tokens})
    assert (reading.letter, reading.first, reading.sure) == ("second", 0.5, False)
    chosen = [{"token": "B", "logprob": -1.0, "top_logprobs": [{"token": "A", "logprob": -1.0}]}]
    assert read("B", logprobs={"content": chosen}).first == 0.5  # its own token is not listed


@pytest.mark.parametrize("log", [None, "x", True, float("nan"), float("-inf"), 10**400, [1]])
def test_unusable_log_probabilities(log: Any) -> None:
    token = {"token": "A", "logprob": log, "top_logprobs": [{"token": "A", "logprob": log}]}
    assert read("A", logprobs={"content": [token]}).first == 1.0


def test_details() -> None:
    reading = read("The cook\x07 sang " * 40)
    assert reading.code == "answer_off_format"
    assert reading.detail.startswith('the answer does not name a letter: "The cook\\x07 sang')
    assert len(reading.detail) < 140
    assert reading.detail.isprintable()


KEYS = [
    *("choices", "message", "content", "text", "type", "finish_reason", "logprobs", "token"),
    *("top_logprobs", "logprob", "error", "sse", "refusal", "delta", "index", "reasoning"),
    *("tool_calls", "promptFeedback", "detail"),
]
ATOMS = [None, True, False, 0, -1, 10**400, 0.5, float("nan")]
TEXTS = ["A", "B", "length", "<think>", '{"answer": "A"}', "[[", 'data: {"a"']
NAMES = st.sampled_from(KEYS) | st.text(max_size=2)
JSON = st.recursive(
    st.sampled_from([*ATOMS, *TEXTS]) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from([0, 200, 400, 413, 500]), JSON)
def test_any_body(status: int, anything: Any) -> None:
    reading = read_answer(status, anything, PROMPTS)
    assert bool(reading.code) == (reading.first is None) == (reading.letter == "")
    assert reading.code in ("", *NO_ANSWER)


PIECES = [
    *("A", "B", "a", "b", "not ", "is ", "better ", "than ", "I choose ", "think>", "</", "and "),
    *("or ", "\\boxed{", "是", "\ud800", "\n", *',.:;()[]{}<>"*_`~|$&=-?!'),
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    tokens = [{"token": each, "logprob": -1, "top_logprobs": [{"token": "A"}]} for each in text]
    reading = read(text, logprobs={"content": tokens})
    assert bool(reading.code) == (reading.first is None) == (reading.letter == "")


@pytest.mark.parametrize("unit", ["A ", "A or ", "<think>", "[[A]] ", '{"a":', "选B", "i ", "<x1>"])
def test_huge_replies_take_little_time(unit: str) -> None:
    begun = time.process_time()
    read((unit * 100_000)[:100_000], "length")
    assert time.process_time() - begun < 2  # only a quadratic reading takes longer

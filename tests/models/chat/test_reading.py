"""What replies of chat models say: the set in ``replies/``, any JSON, huge replies."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.models.chat.prompts import read_prompts
from curation.models.chat.reading import NO_ANSWER, Reading, read_answer

ROOT = Path(__file__).parents[3]
REPLIES = Path(__file__).parent / "replies"
PROMPTS = read_prompts(ROOT / "data" / "prompts" / "en.toml")


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (REPLIES / name).read_text("utf-8").splitlines()]


def body(text: Any, end: str | None = "stop", **rest: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": end, **rest}]}


def read(text: Any, end: str | None = "stop", **rest: Any) -> Reading:
    return read_answer(200, body(text, end, **rest), PROMPTS)


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


TOO_LONG = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
    "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens",
    "The decoder prompt (length 3000) is longer than the maximum model length of 2048.",
    "Input is too long for requested model.",
    "Payload Too Large",
]
FILTERED = [
    "Output blocked by guardrails policy",
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
    "Content Exists Risk",
    "The request was rejected because it was considered high risk",
]
OTHER = ["Internal server error", "The model `x` does not exist", "Rate limit reached"]


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize(
    ("message", "code"),
    [(each, "answer_too_long") for each in TOO_LONG]
    + [(each, "answer_refused") for each in FILTERED]
    + [(each, "answer_empty") for each in OTHER],
)
def test_errors(message: str, code: str, status: int) -> None:
    for error in (
        {"error": {"message": message}},
        {"error": message},
        {"object": "error", "message": message},
        {"detail": message},
    ):
        reading = read_answer(status, error, PROMPTS)
        assert reading.code == code
        assert message[:20] in reading.detail


def test_a_local_model() -> None:
    assert read_answer(0, {"too_long": 5000}, PROMPTS).code == "answer_too_long"


def test_other_letters() -> None:
    from dataclasses import replace

    other = replace(PROMPTS, letters=("X", "Y"))
    assert read_answer(200, body("I choose Y."), other).letter == "second"
    assert read_answer(200, body("Answer: X"), other).letter == "first"
    assert read_answer(200, body("A"), other).code == "answer_off_format"


def test_words_of_a_prompts_file() -> None:
    from dataclasses import replace

    own = replace(
        PROMPTS, choosing=("Vastaukseni olisi",), refusals=("En halua",), undecided=("Molemmat",)
    )
    assert read("Vastaukseni olisi B").code == "answer_off_format"
    for text, expected in (
        ("Vastaukseni olisi B", "second"),
        ("En halua valita.", "answer_refused"),
        ("Molemmat käyvät.", "answer_undecided"),
    ):
        assert result(read_answer(200, body(text), own)) == expected


def test_the_prompt_is_repeated() -> None:
    prompt = PROMPTS.by_kind["intrasentence"][0].text
    asked = prompt.replace("{first}", "The cook sang.").replace("{second}", "The cook ran.")
    assert read(asked).letter == ""
    assert read(f"{asked}\n\nB").letter == "second"
    assert read(f"B\n\n{asked}\n\nA").letter == "second"


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


KEYS = ["choices", "message", "content", "text", "type", "finish_reason", "logprobs", "token"]
KEYS += ["top_logprobs", "logprob", "error", "sse", "refusal", "delta", "index", "reasoning"]
KEYS += ["tool_calls", "promptFeedback", "detail"]
ATOMS = st.sampled_from([None, True, False, 0, -1, 10**400, 0.5, float("nan")]) | st.text(
    max_size=9
)
TEXTS = st.sampled_from(["A", "B", "length", "<think>", '{"answer": "A"}', "[[", 'data: {"a"'])
JSON = st.recursive(
    ATOMS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=2), inner, max_size=5)
    ),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from([0, 200, 400, 413, 500]), JSON)
def test_any_body(status: int, anything: Any) -> None:
    reading = read_answer(status, anything, PROMPTS)
    assert bool(reading.code) == (reading.first is None) == (reading.letter == "")
    assert reading.code in ("", *NO_ANSWER)


PIECES = [
    "A",
    "B",
    "a",
    "b",
    "not ",
    "is ",
    "better ",
    "than ",
    "I choose ",
    "think>",
    "</",
    "and ",
]
PIECES += ["or ", "\\boxed{", "是", "\ud800", "\n"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, *',.:;()[]{}<>"*_`~|$&=-?!']), max_size=40))
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

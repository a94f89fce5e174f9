"""What replies of chat models say: the set in ``replies/``, any JSON, huge replies."""

import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.models.chat import Prompts, read_prompts
from curation.models.chat_reading import NO_ANSWER, Reading, read_answer
from support.written import beside, lines

ROOT = Path(__file__).parents[2]
REPLIES = Path(__file__).parent / "replies"
PROMPTS = read_prompts(ROOT / "data" / "prompts" / "en.toml")
SAYS = beside(__file__)
OPTIONS = ("The cook is kind.", "The cook is (a bit) odd!")


def read(text: Any, end: str | None = "stop", prompts: Prompts = PROMPTS, **rest: Any) -> Reading:
    return read_answer(200, body(text, end, **rest), prompts, OPTIONS)


def body(text: Any, end: str | None = "stop", **rest: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": end}
    return {"choices": [{**choice, **rest}]}


def result(reading: Reading) -> str:
    """The letter or the code of a reading; "again" if a second question is asked."""
    return reading.letter or ("again" if reading.said else reading.code)


def read_all(replies: Sequence[Mapping[str, Any]]) -> tuple[Counter[str], list[object]]:
    """What becomes of replies with the expected letter, and what must not.

    A letter that is read is the expected one, and so is its probability. Of the others, those of
    the server and cut ones have the expected code, and the rest is asked again or refused.
    """
    counts, wrong = Counter[str](), list[object]()
    for reply in replies:
        reading = read_answer(reply["status"], reply["body"], PROMPTS, reply.get("options"))
        found, expected = result(reading), reply["letter"] or reply["code"] or "none"
        kind = reply.get("kind") or ("letter" if reply["letter"] else expected)
        counts[f"{kind}: {'read' if reading.letter else found}"] += 1
        fits = {expected}
        if reply["letter"]:
            fits |= {"again", "answer_cut", "answer_refused"}
        elif expected in ("answer_off_format", "answer_undecided"):
            fits |= {"again", "answer_empty"}
        elif expected == "answer_refused":
            fits |= {"again", "answer_cut"}
        elif expected == "none":
            fits = {"again", *NO_ANSWER}
        if found not in fits or (reading.letter and not _has_probability(reply, reading)):
            wrong.append((reply.get("id"), expected, found, reading))
    return counts, wrong


def _has_probability(reply: Mapping[str, Any], reading: Reading) -> bool:
    p = reply.get("p", 1.0 if reply["letter"] == "first" else 0.0)
    assert reading.first is not None
    return abs(reading.first - p) < 2e-6 and reading.sure == ("p" not in reply)


def texts(name: str) -> list[dict[str, Any]]:
    """The replies of a file that has only their texts."""
    path = REPLIES / name
    each = lines(path) if name.endswith("l") else json.loads(path.read_text("utf-8"))
    return [
        {
            **reply, "id": reply["text"], "status": 200,
            "body": body(reply["text"], reply.get("end", "stop")),
            "letter": reply["expected"] if reply["expected"] in ("first", "second") else "",
            "code": reply["expected"] if reply["expected"].startswith("answer") else "",
        }
        for reply in each
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(path.name for path in REPLIES.glob("*.json*")))
def test_no_letter_is_read_wrongly(name: str) -> None:
    replies = texts(name) if name in ("wordings.jsonl", "fresh.json") else lines(REPLIES / name)
    counts, wrong = read_all(replies)
    assert wrong == []
    assert counts == SAYS["counts"].get(name)


def test_the_docs_have_the_counts() -> None:
    counts = Counter[str]()
    for name in ("seen.jsonl", "held.jsonl", "wordings.jsonl"):
        counts.update(SAYS["counts"][name])
    letters = sum(n for kind, n in counts.items() if kind.startswith("letter: "))
    page = " ".join((ROOT / "docs" / "chat.md").read_text("utf-8").split())
    assert f"has {counts.total():,} replies" in page
    assert f"Of {letters:,} that name a letter, {counts['letter: read']} are read at once" in page
    assert f"and {counts['letter: again']:,} need a second question" in page
    fresh = SAYS["counts"]["fresh.json"]
    read, again = (sum(n for k, n in fresh.items() if k.endswith(e)) for e in (": read", ": again"))
    assert f"{read} are read at once, all" in page
    assert f"and {again} need a second question: |" in page
    for kind, name in {"JSON": "json", "one sentence": "sentence", "terse": "terse"}.items():
        row = [sum(n for k, n in fresh.items() if k.startswith(f"{name}: "))]
        row += [fresh.get(f"{name}: {end}", 0) for end in ("read", "again")]
        assert f"| {kind} | {' | '.join(map(str, row))} |" in page


CODES = beside(__file__, "errors.toml")["codes"]


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


@pytest.mark.parametrize("expected", ["first", "second", "again", "answer_refused", "answer_cut"])
def test_what_is_read_and_what_is_asked_again(expected: str) -> None:
    end = "length" if expected == "answer_cut" else "stop"
    found = {text: result(read(text, end)) for text in SAYS[expected]}
    assert found == dict.fromkeys(SAYS[expected], expected)


def test_a_cut_reply_counts_only_as_a_letter() -> None:
    assert [result(read(text, "length")) for text in ("A", "**B**")] == ["first", "second"]


def test_the_text_that_is_sent_again_has_no_thinking() -> None:
    reading = read("<think>A or B?</think>\n\nBoth are fine.<|im_end|>\n")
    assert (reading.said, reading.code) == ("Both are fine.", "answer_off_format")


def test_other_letters() -> None:
    other = replace(PROMPTS, letters=("X", "Y"))
    found = [result(read(text, prompts=other)) for text in ("I choose Y.", "Answer: X", "A")]
    assert found == ["second", "first", "again"]
    russian = replace(PROMPTS, letters=("А", "Б"), answers=("Мой ответ {letter}", "{letter}번"))
    found = [result(read(text, prompts=russian)) for text in ("Мой ответ: Б", "А", "Б번", "ответ")]
    assert found == ["second", "first", "second", "again"]


def test_refusals_are_those_of_the_prompts_file() -> None:
    own = replace(PROMPTS, refusals=("En halua",))
    texts = ("En halua valita.", "I must decline.")
    assert [result(read(text, prompts=own)) for text in texts] == ["answer_refused", "again"]


def test_the_prompt_is_repeated() -> None:
    prompt = PROMPTS.by_kind["intrasentence"][0].text
    asked = prompt.replace("{first}", OPTIONS[0]).replace("{second}", OPTIONS[1])
    texts = (asked, f"{asked}\n\nB", f"B\n\n{asked}\n\nA")
    assert [result(read(text)) for text in texts] == ["again", "second", "again"]


def test_options_that_are_alike() -> None:
    def letter(text: str, *options: str) -> str:
        return read_answer(200, body(text), PROMPTS, (options[0], options[1])).letter

    assert letter("He is kind.", "kind.", "He is kind.") == "second"
    assert letter("kind", "kind.", "He is kind.") == "first"
    assert letter("A: kind", "kind.", "He is kind.") == "first"
    assert letter("B: kind", "kind.", "He is kind.") == ""
    assert letter("He is kind.", "He is kind.", "He is kind.") == ""
    assert letter("!", "!", "He is kind.") == ""


def logs(token: str, **top: float) -> dict[str, Any]:
    listed = [{"token": name, "logprob": math.log(p)} for name, p in top.items()]
    return {"token": token, "logprob": 0.0, "top_logprobs": listed}


def test_probabilities_are_those_at_the_letter() -> None:
    tokens = [logs("A", A=1.0), logs(" is odd.\n\n"), logs("B", A=0.4, B=0.4)]
    reading = read("A is odd.\n\nB", logprobs={"content": tokens})
    assert (reading.letter, reading.first, reading.sure) == ("second", 0.5, False)
    thought = [logs("B", B=1.0), *tokens]
    assert read("A is odd.\n\nB", logprobs={"content": thought}).first == 0.5
    chosen = [{"token": "B", "logprob": -1.0, "top_logprobs": [{"token": "A", "logprob": -1.0}]}]
    assert read("B", logprobs={"content": chosen}).first == 0.5  # its own token is not listed
    keys = [logs('{"answer": "'), logs("B", A=0.2, B=0.6), logs('", "why": "A is odd"}')]
    text = '{"answer": "B", "why": "A is odd"}'
    assert read(text, logprobs={"content": keys}).first == pytest.approx(0.25)


@pytest.mark.parametrize(("share", "first"), [(0.25, 0.4), (0.24, 0.0)])
def test_probabilities_count_if_the_letters_have_half(share: float, first: float) -> None:
    tokens = [logs("B", A=share * 0.8, B=share * 1.2, The=1 - 2 * share)]
    reading = read("B", logprobs={"content": tokens})
    assert (reading.first, reading.sure) == (pytest.approx(first), first == 0.0)


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

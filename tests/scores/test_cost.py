"""Plans of requests: their number, tokens and cost."""

from typing import Any

import pytest

from curation.models.chat import Prices, price
from curation.models.chat_reading import Reading
from curation.records import PAIRS, Reply
from curation.scores.asking import (
    Answered,
    ChatQuestion,
    Place,
    Plan,
    Replies,
    Usage,
    estimate,
    plan,
    usage,
)
from curation.scores.commands.models import show_used
from support.expected import fails


def reply(asked: str, used: Any) -> Reply:
    return Reply(
        cat="c", pair="stereotype/unrelated", swapped=False, prompt="p", sample=0, asked=asked,
        at="2026-01-01T00:00:00.000Z", status=200, body={} if used is None else {"usage": used},
    )  # fmt: skip


def question(digest: str, text: str) -> ChatQuestion:
    return ChatQuestion(Place("c", PAIRS[0], False, "p", 0), (text,), digest, ("", ""))


def test_without_replies_the_rule_holds() -> None:
    # 12 bytes are 3 tokens, and 13 bytes 4; each message adds 10
    assert [estimate("x" * 12), estimate("x" * 13), estimate("")] == [13, 14, 10]
    assert estimate("ääää") == 12  # 8 bytes
    assert estimate("\ud800") == 11  # cannot be written in UTF-8
    assert estimate("x" * 12, "", "x" * 13) == 13 + 10 + 14
    to_ask = [("x" * 12,), ("x" * 13,), ("x" * 12, "", "x")]
    made = plan("m", cats=1, questions=6, to_ask=to_ask, used=Usage(), max_tokens=64, again="x" * 8)
    # 13 + 14 + 34 tokens in. If both first replies are as long as they may be, and need a second
    # question: 27, and twice 64 and 10 for the reply and 12 for the question.
    assert made == Plan("m", 1, 6, 3, 3, (0, 2), (61, 61 + 27 + 2 * (64 + 10 + 12)), (3, 5 * 64), 0)
    # 61 to 260 at 1 a million; 3 to 320 at 10 a million
    assert made.cost(Prices(1.0, 10.0)) == pytest.approx((91e-6, 3460e-6))


def test_replies_correct_the_estimate() -> None:
    questions = [question("a", "x" * 40), question("b", "x" * 80)]  # 20 and 30 tokens by the rule
    good = [("a", 40, 3), ("b", 60, 4), ("old", 1000, 1000)]
    bad = [("a", 0, 0), *(("a", tokens, 1) for tokens in ("40", True, -1, 10**15, 40.0))]
    rows = [
        reply(name, {"prompt_tokens": tokens_in, "completion_tokens": out})
        for name, tokens_in, out in [*good, *bad]
    ]
    rows += [reply("a", used) for used in (None, "many", {"prompt_tokens": 40})]
    used = usage(rows, questions)
    assert used == Usage(2, 100, 7, 50)
    # 3 questions of 20 tokens by the rule, and the server counts twice as many; 3 x 3.5 out
    to_ask = [("x" * 40,)] * 3
    made = plan(
        "m", cats=2, questions=12, to_ask=to_ask, used=used._replace(first=4), max_tokens=64
    )
    assert (made.tokens_in, made.tokens_out, made.measured) == ((120, 120), (11, 11), 2)
    assert made.again == (0, 0)


def test_second_questions_are_planned_as_many_as_there_were() -> None:
    first = question("a", "x" * 40)
    second = first._replace(digest="b", turns=("x" * 40, "x" * 8, "x" * 4))  # 20 + 12 + 11
    reading = Reading(1.0, "first")
    answered = {first.place._replace(sample=n): Answered(reading, 64) for n in range(4)}
    replies = Replies(answered, {first.place: second}, set(), {})
    rows = [
        reply(name, {"prompt_tokens": tokens_in, "completion_tokens": out})
        for name, tokens_in, out in [*[("a", 20, 6)] * 4, ("b", 43, 1)]
    ]
    used = usage(rows, [first], replies)
    assert used == Usage(5, 123, 25, 123, 4, 1, 43)
    made = plan("m", cats=2, questions=9, to_ask=[first.turns] * 8, used=used, max_tokens=64)
    # 8 questions of 20 tokens, and 2 second ones of 43; 10 replies of 5 tokens
    assert (made.again, made.tokens_in, made.tokens_out) == ((2, 2), (246, 246), (50, 50))


def test_nothing_to_ask_takes_nothing() -> None:
    made = plan("m", cats=1, questions=6, to_ask=[], used=Usage(), max_tokens=64)
    assert made == Plan("m", 1, 6, 6, 0, (0, 0), (0, 0), (0, 0), 0)
    assert made.cost(Prices(1.0, 1.0)) == (0.0, 0.0)
    local = plan("m", cats=1, questions=6, to_ask=[("",)] * 6, used=Usage(), max_tokens=None)
    assert (local.again, local.tokens_out) == ((0, 0), (6, 6))


def test_prices_must_be_numbers() -> None:
    assert [price(text) for text in ("0", "2", " 0.15 ", "1e-2")] == [0.0, 2.0, 0.15, 0.01]
    for what, texts in {
        "is not a price": ("a lot", "$3", "0,15", ""),
        "is not a finite number": ("nan", "inf", "1e999"),
        "is negative": ("-0.1",),
    }.items():
        for text in texts:
            with fails(f"{text!r} {what}", fix="million tokens"):
                price(text)


def test_a_model_on_this_machine_takes_no_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    show_used({"answers": {"tokens": None}}, None)
    show_used({}, Prices(1, 1))
    assert capsys.readouterr() == ("", "")

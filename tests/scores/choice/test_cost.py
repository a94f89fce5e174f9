"""Plans of requests: their number, tokens and cost."""

from typing import Any

import pytest

from curation.cli.scoring import show_used
from curation.records import Reply
from curation.scores.choice.asking import Plan, Prices, Usage, estimate, plan, price, usage
from support.expected import fails


def reply(asked: str, used: Any) -> Reply:
    return Reply(
        cat="c", pair="stereotype/unrelated", swapped=False, prompt="p", sample=0, asked=asked,
        at="2026-01-01T00:00:00.000Z", status=200, body={} if used is None else {"usage": used},
    )  # fmt: skip


def test_without_replies_the_rule_holds() -> None:
    # 12 bytes are 3 tokens, and 13 bytes 4; each message adds 10
    assert [estimate("x" * 12), estimate("x" * 13), estimate("")] == [13, 14, 10]
    assert estimate("ääää") == 12  # 8 bytes
    assert estimate("\ud800") == 11  # cannot be written in UTF-8
    made = plan("m", cats=1, questions=6, to_ask=["x" * 12, "x" * 13], used=Usage(), max_tokens=64)
    assert made == Plan("m", 1, 6, 4, 2, 27, (2, 128), 0)
    # 27 at 1 a million; 2 to 128 at 10 a million
    assert made.cost(Prices(1.0, 10.0)) == pytest.approx((47e-6, 1307e-6))


def test_replies_correct_the_estimate() -> None:
    texts = {"a": "x" * 40, "b": "x" * 80}  # 20 and 30 tokens by the rule
    good = [("a", 40, 3), ("b", 60, 4), ("old", 1000, 1000)]
    bad = [("a", 0, 0), *(("a", tokens, 1) for tokens in ("40", True, -1, 10**15, 40.0))]
    rows = [
        reply(name, {"prompt_tokens": tokens_in, "completion_tokens": out})
        for name, tokens_in, out in [*good, *bad]
    ]
    rows += [reply("a", used) for used in (None, "many", {"prompt_tokens": 40})]
    used = usage(rows, texts)
    assert used == Usage(2, 100, 7, 50)
    made = plan("m", cats=2, questions=12, to_ask=["x" * 40] * 3, used=used, max_tokens=64)
    # 3 questions of 20 tokens by the rule, and the server counts twice as many; 3 x 3.5 out
    assert (made.tokens_in, made.tokens_out, made.measured) == (120, (11, 11), 2)


def test_nothing_to_ask_takes_nothing() -> None:
    made = plan("m", cats=1, questions=6, to_ask=[], used=Usage(), max_tokens=64)
    assert made == Plan("m", 1, 6, 6, 0, 0, (0, 0), 0)
    assert made.cost(Prices(1.0, 1.0)) == (0.0, 0.0)
    local = plan("m", cats=1, questions=6, to_ask=[""] * 6, used=Usage(), max_tokens=None)
    assert local.tokens_out == (6, 6)


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

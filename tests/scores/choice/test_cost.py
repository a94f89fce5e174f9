"""Plans of requests: their number, tokens and cost."""

from typing import Any

import pytest

from curation.cli.scoring import show_used
from curation.files import CurationError
from curation.records import Reply
from curation.scores.choice.asking import Plan, Prices, Usage, estimate, plan, price, usage


def reply(asked: str, used: Any) -> Reply:
    return Reply(
        cat="c",
        pair="stereotype/unrelated",
        swapped=False,
        prompt="p",
        sample=0,
        asked=asked,
        at="2026-01-01T00:00:00.000Z",
        status=200,
        body={} if used is None else {"usage": used},
    )


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
    rows = [
        reply("a", {"prompt_tokens": 40, "completion_tokens": 3}),
        reply("b", {"prompt_tokens": 60, "completion_tokens": 4}),
        reply("old", {"prompt_tokens": 1000, "completion_tokens": 1000}),
        reply("a", None),
        reply("a", "many"),
        reply("a", {"prompt_tokens": 40}),
        reply("a", {"prompt_tokens": "40", "completion_tokens": 1}),
        reply("a", {"prompt_tokens": True, "completion_tokens": 1}),
        reply("a", {"prompt_tokens": -1, "completion_tokens": 1}),
        reply("a", {"prompt_tokens": 0, "completion_tokens": 0}),
        reply("a", {"prompt_tokens": 10**15, "completion_tokens": 1}),
        reply("a", {"prompt_tokens": 40.0, "completion_tokens": 1}),
    ]
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


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a lot", "'a lot' is not a price"),
        ("$3", "is not a price"),
        ("0,15", "is not a price"),
        ("", "is not a price"),
        ("nan", "is not a finite number"),
        ("inf", "is not a finite number"),
        ("1e999", "is not a finite number"),
        ("-0.1", "is negative"),
    ],
)
def test_prices_must_be_numbers(text: str, what: str) -> None:
    with pytest.raises(CurationError) as caught:
        price(text)
    assert what in caught.value.what
    assert "million tokens" in caught.value.fix


def test_prices() -> None:
    assert [price(text) for text in ("0", "2", " 0.15 ", "1e-2")] == [0.0, 2.0, 0.15, 0.01]


def test_a_model_on_this_machine_takes_no_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    show_used({"answers": {"tokens": None}}, None)
    show_used({}, Prices(1, 1))
    assert capsys.readouterr() == ("", "")

"""Rows of tables are parsed: fill words and sentences, and columns."""

from typing import Any

import pytest

from curation.rounds.answers.parsed import Refused, Written
from curation.rounds.answers.rows import column, missing_columns
from support import answers


def parsed(**changes: Any) -> Any:
    ((_, what),) = answers.say([answers.written(**changes)])
    return what


def sentence(context: str, target: str, text: str) -> str:
    what = parsed(target=target, context=context, stereotype=text)
    assert isinstance(what, Written)
    return what.options[0].sentence


@pytest.mark.parametrize("value", ["#REF!", "#NAME? ", "#N/A"])
def test_an_error_of_a_spreadsheet_program_is_not_a_text(value: str) -> None:
    what = parsed(stereotype=value)
    assert isinstance(what, Refused)
    assert what.code == "bad_value"
    assert value.strip() in what.detail
    assert sentence("The baker is BLANK.", "baker", "#1") == "The baker is #1."


@pytest.mark.parametrize(
    ("context", "target", "text", "becomes"),
    [
        ("The baker is BLANK.", "baker", "kind", "The baker is kind."),
        # A sentence that does not fit is not put into the blank.
        ("Bakers BLANK.", "bakers", *["Bakers cook well!"] * 2),
        ("The nurse BLANK.", "nurse", *["Nurses are kind."] * 2),
        ("パン屋はBLANKです。", "パン屋", *["パン屋さんは親切です。"] * 2),
        ("The baker on the corner is BLANK.", "baker", *["a man on the corner is kind"] * 2),
        ("The baker is BLANK.", "baker", "the baker is kind.", "the baker is kind."),
        ("BLANK bakers rise early.", "bakers", "kind", "Kind bakers rise early."),
        ("パン屋はBLANKです。", "パン屋", "親切", "パン屋は親切です。"),
        ("Tukang roti itu BLANK.", "tukang roti", "rajin", "Tukang roti itu rajin."),
    ],
)
def test_words_fill_the_blank(context: str, target: str, text: str, becomes: str) -> None:
    assert sentence(context, target, text) == becomes


def test_columns_by_many_names_and_what_is_missing() -> None:
    assert column(" PROLIFIC PID ") == column("Worker-ID") == "annotator"
    assert missing_columns({"item_id": 0, "annotator": 0, "association": 0, "label": 0}) == []
    assert missing_columns({"item_id": 0, "label_2": 0, "association_2": 0}) == ["annotator"]
    assert missing_columns({"context": 0, "target": 0}) == [
        "domain", "stereotype", "anti_stereotype", "unrelated",
    ]  # fmt: skip

"""The form of one item: its BLANK, its target, and the code of each flaw."""

import time

import pytest

from curation.text.item_form import BLANK, around, check_item, fill, filler, names_target


def test_the_first_flaw_of_an_item_or_none() -> None:
    """Each flaw's code is in ``tests/checks/test_surface.py``."""
    for context, sentences, code in (
        ("The baker came in.", ["He sang.", "he  sang.", "c"], "same_text_twice"),
        ("A woman came in.", ["a", " ", "a"], "empty_text"),
        (" ", ["a", "b", "c"], "empty_text"),
        ("Two bakers came.", ["a", "b", "c"], None),
    ):
        flaw = check_item("intersentence", "baker", context, sentences)
        assert (flaw.code if flaw else None) == code
    sentences = ["The baker is kind.", "the baker is  gruff.", "The Baker is octal ."]
    assert check_item("intrasentence", "Baker", "The baker is BLANK.", sentences) is None


def test_what_fills_a_blank() -> None:
    assert filler("BLANK comes from (the) sea.", "Salt  comes from (the) sea.") == "salt"
    assert filler("The sea is BLANK", "The sea is") is None
    assert filler("No gap", "No gap") is None
    assert filler("Ein BLANK Bäcker", "ein früher bäcker") == "früher"
    assert filler("a BLANK a", "a a") is None  # head and tail must not share a letter


def test_a_long_word_beside_a_gap_is_read_once() -> None:
    """Read again from each of its letters, 50,000 of them took a minute."""
    long, begin = "x" * 50_000, time.process_time()
    text = f"{long} {BLANK}ly, a_{BLANK}b{BLANK}c d{BLANK} {long}"
    assert around(text) == f"{long}  , a_    {long}"
    assert time.process_time() - begin < 1


def test_blank_may_touch_letters_where_words_are_not_split_by_spaces() -> None:
    assert check_item("intrasentence", "パン屋", "パン屋はBLANKです。", ["a", "b", "c"]) is not None
    sentences = ["パン屋は親切です。", "パン屋は意地悪です。", "パン屋は八進です。"]
    assert check_item("intrasentence", "パン屋", "パン屋はBLANKです。", sentences) is None
    assert filler("빵집 주인은 BLANK이다.", "빵집 주인은 천사이다.") == "천사"
    assert fill("الخباز BLANK", "لطيف") == "الخباز لطيف"


@pytest.mark.parametrize("context", ["جاء الخبـــاز.", "جاء الخَبّاز.", "قالوا للخباز."])
def test_an_arabic_target_is_named_with_clitics_points_and_a_tatweel(context: str) -> None:
    assert names_target(context, "خباز")

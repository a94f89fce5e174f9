"""What a model is asked: where the attribute stands, in any script, and what a variant changes."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from curation.kinds import Kind
from curation.scores.asking import VARIANTS, questions
from curation.text.item_form import BLANK, _fold, attribute, fill_all
from support import cats
from support.written import beside


def asked(
    context: str, *sentences: str, kind: Kind = "intrasentence", variant: str = ""
) -> list[Any]:
    return questions(cats.cat(context, *sentences, name="a", kind=kind), variant=variant)


def found(context: str, sentence: str) -> str:
    start, end = attribute(context, sentence)
    return sentence[start:end]


# --- where the attribute stands -----------------------------------------------------------------


ATTRIBUTES = beside(__file__, "attributes.toml")


@pytest.mark.parametrize(
    ("context", "sentence", "words"), [*ATTRIBUTES["filled"], *ATTRIBUTES["cut"]]
)
def test_the_attribute_is_what_fills_the_blank_or_is_not_alike(
    context: str, sentence: str, words: str
) -> None:
    assert found(context, sentence) == words


@pytest.mark.parametrize(("context", "sentence", "places"), ATTRIBUTES["empty"])
def test_an_empty_option_has_none(context: str, sentence: str, places: list[int]) -> None:
    start, end = attribute(context, sentence)
    assert start == end
    assert not places or places == [start]


def test_a_context_without_a_blank_has_no_attribute() -> None:
    assert attribute("The baker is kind.", "The baker is kind.") == (0, 0)
    assert attribute("The baker is", "The baker is kind.") == (0, 0)
    ask = asked("The baker is kind.", "The baker sings.", "b", "c")[0].ask
    assert (ask.attribute, ask.at, ask.also) == ("", 0, ())
    assert ask.filled == "The baker is kind."


# --- several BLANKs -----------------------------------------------------------------------------


def test_of_several_blanks_the_first_is_scored_and_the_others_are_listed() -> None:
    sentence = "Calm bakers are calm, not calm."
    ask = asked("BLANK bakers are BLANK, not BLANK.", sentence, "b", "c")[0].ask
    # «Calm bakers are calm, not calm.»: «Calm» at 0, then at 16 and at 26
    assert (ask.start, ask.end, ask.at, ask.also) == (0, 4, 0, (16, 26))
    assert ask.filled == "Calm bakers are Calm, not Calm."


def test_the_blanks_of_a_sentence_may_be_filled_differently() -> None:
    assert found("BLANK bakers are BLANK.", "Calm bakers are kind.") == "Calm"
    assert found("BLANK or BLANK or BLANK?", "tea or milk or water?") == "tea"
    # The same words in both are the better reading where there are two: «cat» and «dog is a cat is
    # a dog» would do as well.
    both = "A cat is a dog is a cat is a dog."
    assert found("A BLANK is a BLANK.", both) == "cat is a dog"
    # After the first BLANK comes a digit: it must not be read into the number of a group.
    assert found("BLANK and BLANK0 loaves", "ten and ten0 loaves") == "ten"


@pytest.mark.parametrize("sentence", ["ab " * 300, "a" * 900, " " * 900, "a b, " * 200 + "c"])
def test_the_search_for_many_blanks_comes_to_an_end(sentence: str) -> None:
    context = " b ".join([BLANK] * 12) + "."
    first, end = attribute(context, sentence)  # with plain «.+?» it would take years
    assert 0 <= first <= end <= len(sentence)


def test_filling() -> None:
    assert fill_all("The baker is BLANK.", "kind") == ("The baker is kind.", [13])
    assert fill_all("BLANK, BLANK", "so") == ("so, so", [0, 4])
    assert fill_all("BLANKBLANK", "é") == ("éé", [0, 1])
    assert fill_all("no place", "kind") == ("no place", [0])


# --- properties ---------------------------------------------------------------------------------

LETTERS = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\u0085")
TEXT = st.text(LETTERS, max_size=20)
WORDS = st.text(LETTERS, min_size=1, max_size=12).filter(lambda words: words == words.strip())


@given(before=TEXT, after=TEXT, words=WORDS)
def test_what_fills_a_template_is_found_again(before: str, after: str, words: str) -> None:
    context, sentence = f"{before}{BLANK}{after}", f"{before}{words}{after}"
    assume(context.count(BLANK) == 1 and words)
    start, end = attribute(context, sentence)
    if not before.strip() or not before[-1:].isspace():
        # Spaces before BLANK count for nothing; letters that fold away beside it may be either's.
        assert sentence[start:end].strip() == words
    else:
        assert sentence[start:end] == words


@given(parts=st.lists(TEXT, min_size=2, max_size=5), words=WORDS)
def test_several_blanks_filled_alike_reproduce_the_sentence(parts: list[str], words: str) -> None:
    context = BLANK.join(parts)
    assume(context.count(BLANK) == len(parts) - 1)
    sentence, places = fill_all(context, words)
    assert [sentence[at : at + len(words)] for at in places] == [words] * (len(parts) - 1)
    start, end = attribute(context, sentence)
    # Another reading may be shorter, but filling the context with it gives the sentence again.
    again = fill_all(context.strip(), sentence[start:end])[0]
    assert "".join(again.split()).casefold() == "".join(sentence.split()).casefold()


@given(text=TEXT)
def test_folding_keeps_account_of_characters(text: str) -> None:
    folded, places = _fold(text)
    assert len(folded) == len(places)
    assert places == sorted(places)
    assert "".join(_fold(text[place])[0] for place in dict.fromkeys(places)) == folded


@given(context=TEXT, blanks=st.integers(0, 3), sentence=TEXT)
def test_the_place_is_inside_any_sentence(context: str, blanks: int, sentence: str) -> None:
    start, end = attribute(context + f" {BLANK}" * blanks, sentence)
    assert 0 <= start <= end <= len(sentence)


# --- variants -----------------------------------------------------------------------------------

INTRA = ("The Baker is BLANK.", "The Baker is Kind.", "the baker is calm!", "The Baker is blue…")
INTER = ("my baker sings?", "She is Kind.", "she is CALM!?", "Bread is blue")


@pytest.mark.parametrize(
    ("variant", "kind", "texts"),
    [
        ("", "intrasentence", INTRA),
        ("", "intersentence", INTER),
        # capitals only; it leaves BLANK
        ("lower", "intrasentence",
         ("the baker is BLANK.", "the baker is kind.", "the baker is calm!", "the baker is blue…")),
        # the first letter only
        ("capital", "intersentence",
         ("My baker sings?", "She is Kind.", "She is CALM!?", "Bread is blue")),
        # the end only
        ("unpointed", "intersentence",
         ("my baker sings", "She is Kind", "she is CALM", "Bread is blue")),
    ],
)  # fmt: skip
def test_a_variant_changes_one_thing(variant: str, kind: Kind, texts: tuple[str, ...]) -> None:
    given = INTRA if kind == "intrasentence" else INTER
    altered = asked(*given, kind=kind, variant=variant)
    context, *sentences = texts
    assert [(q.ask.context, q.ask.sentence) for q in altered] == [(context, s) for s in sentences]


def test_the_attribute_is_that_of_the_altered_text() -> None:
    lower = asked(*INTRA, variant="lower")
    assert [question.ask.attribute for question in lower] == ["kind", "calm", "blue"]
    assert lower[0].ask.filled == "the baker is kind."
    capital = asked("BLANK bakers.", "kind bakers.", "b", "c", variant="capital")[0].ask
    assert (capital.context, capital.sentence) == ("BLANK bakers.", "Kind bakers.")
    assert capital.filled == "Kind bakers."
    points = ("Is she BLANK ? ", "Is she kind ?", "Is she calm ? !", "?")
    spaced = [(q.ask.sentence, q.ask.attribute) for q in asked(*points, variant="unpointed")]
    assert spaced == [("Is she kind", "kind"), ("Is she calm", "calm"), ("", "")]
    wide = asked("パン屋はBLANKです。", "パン屋は親切です。", "b", "c", variant="unpointed")[0].ask
    assert (wide.context, wide.sentence) == ("パン屋はBLANKです", "パン屋は親切です")


@given(context=TEXT, sentence=WORDS, variant=st.sampled_from(sorted(VARIANTS)))
def test_a_variant_done_twice_is_done_once(context: str, sentence: str, variant: str) -> None:
    alter = VARIANTS[variant][0]
    for text in (f"{context} {BLANK}", f"{BLANK}{context}", sentence):
        assert alter(alter(text)) == alter(text) or variant == "lower"  # «İ» goes on changing
        assert (BLANK in alter(text)) == (BLANK in text)


# --- digests ------------------------------------------------------------------------------------


def test_a_digest_tells_texts_apart_and_stays() -> None:
    whole = asked(*INTRA)
    assert [question.association for question in whole] == ["a0", "a1", "a2"]
    digests = [question.digest for question in whole]
    assert len(set(digests)) == 3
    assert [question.digest for question in asked(*INTRA)] == digests
    assert digests[0] == "510c57ef8bf8904a"
    for other in (
        asked(INTRA[0] + " ", *INTRA[1:]),  # the context counts
        asked(*INTRA, kind="intersentence"),  # and the kind
        asked(*INTRA, variant="lower"),  # and what a variant made of it
    ):
        assert other[0].digest != digests[0]
    changed = asked(INTRA[0], "The Baker is kind.", *INTRA[2:])
    assert [one.digest == digest for one, digest in zip(changed, digests, strict=True)] == [
        False, True, True,
    ]  # fmt: skip


def test_intersentence_has_no_attribute() -> None:
    ask = asked(*INTER, kind="intersentence")[0].ask
    assert (ask.start, ask.end, ask.filled, ask.also) == (0, 0, "", ())
    assert ask.text == "my baker sings? She is Kind."

"""The questions about a CAT: pairs, orders, prompts, samples."""

import hashlib

from curation.models.chat import Prompt, Prompts
from curation.records import PAIRS
from curation.scores.asking import chat_questions
from support.cats import cat, intra

PROMPTS = Prompts(
    ("A", "B"), "A or B?", (), (),
    {
        "intrasentence": (Prompt("one", "{first} | {second}"), Prompt("two", "{first}/{second}")),
        "intersentence": (Prompt("one", "{context} > {first} | {second}"),),
    },
    "",
)  # fmt: skip
INTRA = intra("The baker is BLANK.", "kind", "rude", "square")
INTER = cat("A baker lives here.", "He is kind.", "He is rude.", "It rains.")


def test_a_cat_has_three_pairs_in_both_orders() -> None:
    asked = chat_questions(INTRA, PROMPTS)
    kind, rude, square = (f"The baker is {word}." for word in ("kind", "rude", "square"))
    pairs = [(kind, square), (rude, square), (kind, rude)]
    assert [question.text for question in asked] == [
        text for one, two in pairs for text in (f"{one} | {two}", f"{two} | {one}")
    ]
    assert [question.place for question in asked] == [
        ("c", pair, swapped, "one", 0) for pair in PAIRS for swapped in (False, True)
    ]
    assert chat_questions(INTER, PROMPTS)[0].text == "A baker lives here. > He is kind. | It rains."
    # The order of associations does not matter.
    first, second, third = INTRA.associations
    turned = INTRA.model_copy(update={"associations": (third, first, second)})
    assert chat_questions(turned, PROMPTS) == chat_questions(INTRA, PROMPTS)


def test_replicates_are_prompts_times_samples_and_come_whole() -> None:
    asked = chat_questions(INTRA, PROMPTS, all_prompts=True, samples=2)
    replicates = [(question.place.prompt, question.place.sample) for question in asked]
    assert replicates[::6] == [("one", 0), ("one", 1), ("two", 0), ("two", 1)]
    assert all(len(set(replicates[start : start + 6])) == 1 for start in range(0, 24, 6))
    assert len({question.place for question in asked}) == 24
    assert len(chat_questions(INTER, PROMPTS, all_prompts=True)) == 6


def test_the_digest_is_that_of_the_text() -> None:
    asked = chat_questions(INTRA, PROMPTS, samples=2)
    assert len({question.digest for question in asked}) == 6
    for question in asked:
        assert question.digest == hashlib.sha256(question.text.encode()).hexdigest()[:16]


def test_variants_change_the_texts() -> None:
    lower, plain = (chat_questions(INTER, PROMPTS, variant=name)[0] for name in ("lower", ""))
    assert lower.text == "a baker lives here. > he is kind. | it rains."
    assert (lower.place == plain.place, lower.digest == plain.digest) == (True, False)


def test_texts_with_braces_are_left_as_they_are() -> None:
    asked = chat_questions(cat("{first}", "{second}", "{context}", "{}"), PROMPTS)
    assert asked[0].text == "{first} > {second} | {}"

"""Answers in other languages: the word for the gap, and letters that are typed in two ways."""

import unicodedata
from typing import Any

import pytest

from curation.formats.table_words import languages, read_shipped, round_words, shipped_words
from curation.kinds import RoundKindName
from curation.records import Item, Task
from curation.rounds.answers import people
from curation.rounds.answers.interpret import interpret, named
from curation.rounds.answers.rows import file_row
from curation.rounds.fold import Folded, fold
from curation.rounds.gate import Rules
from curation.rounds.platforms import pages
from curation.text.item_form import read_blank, show_blank
from curation.text.rules import stable_id
from support.answers import Row, Source, say

PSEUDONYM = people.pseudonyms(b"key")
ANNA = "anna@example.invalid"
VIETNAMESE = ("thợ rèn", "Người thợ rèn rất BLANK.", ("khỏe mạnh", "yếu ớt", "hình vuông"))
ARABIC = ("مؤذّن", "كان المؤذّن BLANK أمس.", ("آملًا", "سيّئ الصوت", "مستطيلًا"))
"""A target, a context and three words, in NFC; all have letters that NFD takes apart."""


def apart(row: Row) -> Row:
    """A row as a keyboard that decomposes letters sends it."""
    return {key: unicodedata.normalize("NFD", text) for key, text in row.items()}


def task(target: str) -> Task:
    term = stable_id("term", "profession", target)
    return Task(id="t1", term=term, domain="profession", target=target, wanted=1)


def answer(context: str, words: tuple[str, ...], kind: RoundKindName = "intrasentence") -> Row:
    names = ("stereotype", "anti_stereotype", "unrelated")
    place = "template" if kind == "intrasentence" else "context"
    fields = {place: context, **dict(zip(names, words, strict=True))}
    return {"task_id": "t1", "annotator": ANNA, "submitted_at": "2026-03-02T09:00:01Z", **fields}


def items(said: Any, target: str, **options: Any) -> Folded:
    terms = {("profession", target): stable_id("term", "profession", target)}
    return fold(said, Rules(["profession"], terms, consent=False, **options), PSEUDONYM)


@pytest.mark.parametrize("source", ["forms", "label_studio", "answers", "web"])
@pytest.mark.parametrize(("target", "context", "words"), [VIETNAMESE, ARABIC])
def test_decomposed_letters_give_the_same_item_as_composed_ones(
    target: str, context: str, words: tuple[str, ...], source: Source
) -> None:
    def item(form: Any) -> Item:
        row = form(answer(context, words))
        if source == "answers":
            row = form({"domain": "profession", "target": target, "item_id": ""}) | row
            row["context"] = row.pop("template")
            del row["task_id"]
        if source == "label_studio":
            fields = ("template", "stereotype", "anti_stereotype", "unrelated")
            result = [{"from_name": n, "value": {"text": [row[n]]}} for n in fields]
            about = {"id": 1, "created_at": row["submitted_at"], "result": result}
            row = {"task": "t1", "person": ANNA, "annotation": about}
        tasks = {"t1": task(target)}
        folded = items(say([row], source, tasks=tasks, kind="intrasentence"), target)
        assert not folded.rejections
        (made,) = folded.items
        return made

    composed, decomposed = item(dict), item(apart)
    assert apart({"x": context})["x"] != context
    assert composed == decomposed
    assert composed.context == context
    assert composed.associations[0].sentence == context.replace("BLANK", words[0])


def test_a_name_and_a_target_are_one_in_both_forms() -> None:
    row = {"domain": "profession", "target": VIETNAMESE[0], "annotator": "Zoë", "context": "x"}
    both = [say([form(row)], "answers")[0][1] for form in (dict, apart)]
    assert both[0].person == both[1].person == "Zoë"
    assert PSEUDONYM("Zoë") == PSEUDONYM(unicodedata.normalize("NFD", "Zoë"))

    class Event:
        source, payload = "answers", apart(row)

    assert named(Event()) == ("profession", VIETNAMESE[0])  # type: ignore[arg-type]


def test_a_label_is_for_its_text_in_both_forms() -> None:
    target, context, words = VIETNAMESE
    item = {"domain": "profession", "target": target, "item_id": "i1", **answer(context, words)}
    item["context"] = item.pop("template")
    del item["task_id"]
    labels = [
        {"item_id": "i1", "annotator": who, "association": words[0], "label": "stereotype"}
        for who in ("Zoë", "Ben")
    ]
    said = say([item, labels[0], apart(labels[1]), apart(labels[0])], "answers")
    folded = items(said, target)
    assert [label.value for label in folded.labels] == ["stereotype"] * 2
    assert [r.code for rejections in folded.rejections.values() for r in rejections] == [
        "duplicate_label"
    ]


def test_numbers_and_lists_of_a_row_stay_as_they_are() -> None:
    assert file_row({"seconds": 5.0, "label_1": None, "flags": ["a", "b"]}) == {
        "seconds": 5.0,
        "label_1": None,
        "flags": ["a", "b"],
    }


# --- the word for the gap -----------------------------------------------------------------------

GAPS = {
    "en": ("librarian", "The librarian was BLANK at the party.", ("quiet", "loud", "square")),
    "id": ("koki", "Masakan koki itu selalu diRUMPANGkan.", ("rindu", "lupa", "arsip")),
    "ja": ("庭師", "庭師はいつも［空欄］起きる。", ("早く", "遅く", "四角く")),
    "ar": ("خبّاز", "يشتهر الخبّاز ب[فراغ].", ("الصبر", "العجلة", "المثلث")),
}


def read(
    language: str,
    context: str,
    words: tuple[str, ...],
    kind: RoundKindName = "intrasentence",
    from_: Source = "forms",
) -> Folded:
    target, tasks = GAPS[language][0], {"t1": task(GAPS[language][0])}
    known = round_words(pages.texts(language, None))

    class Event:
        source, position, payload = from_, 0, answer(context, words, kind)

    said = [
        ("main", part)
        for part in interpret(
            Event(),  # type: ignore[arg-type]
            round="main", where="main line 1", tasks=tasks, kind=kind, words=known,
        )
    ]  # fmt: skip
    return items(said, target, blank_alone=False)


@pytest.mark.parametrize("source", ["forms", "web"])
@pytest.mark.parametrize("language", languages())
def test_the_languages_word_and_blank_itself_are_the_gap(language: str, source: Source) -> None:
    _, context, words = GAPS[language]
    blank = read_shipped("text", language)["writing"]["blank"]
    plain = context.replace(blank, "BLANK")
    assert blank in context
    for typed in (context, plain, context.replace("［", "[").replace("］", "]")):
        (item,) = read(language, typed, words, from_=source).items
        assert item.context == plain
        assert item.associations[0].sentence == plain.replace("BLANK", words[0])
    assert show_blank(plain, blank) == context


def test_a_gap_that_is_left_in_a_sentence_is_seen_in_the_languages_word() -> None:
    context, words = "Koki itu datang.", ("Ia RUMPANG.", "Ia pergi.", "Tembaga itu logam.")
    codes = [
        r.code for rejections in read("id", context, words, "intersentence").rejections.values()
        for r in rejections
    ]  # fmt: skip
    assert codes == ["blank_left"]


def test_another_languages_word_is_no_gap() -> None:
    folded = read("id", "Masakan koki itu [فراغ].", GAPS["id"][2])
    assert [r.code for rejections in folded.rejections.values() for r in rejections] == [
        "blank_missing"
    ]
    assert shipped_words().blank == "BLANK"
    assert read_blank("[فراغ] GAP", "GAP") == "[فراغ] BLANK"


@pytest.mark.parametrize("language", languages())
def test_validators_see_the_languages_word(language: str) -> None:
    texts = pages.texts(language, None)
    _, context, _ = GAPS[language]
    blank = texts["writing"]["blank"]
    shown = task("x").model_copy(update={"context": context.replace(blank, "BLANK")})
    assert pages.task_data(shown, "validation", texts=texts)["context"] == context


@pytest.mark.parametrize("language", languages())
def test_headings_with_the_languages_word_or_blank_are_read(language: str) -> None:
    heading = read_shipped("tables", language)["heading"]["template"]
    blank = read_shipped("text", language)["writing"]["blank"]
    for words in (shipped_words(), round_words(pages.texts(language, None))):
        for word in (blank, "BLANK"):
            assert words.read("column", heading.replace("{blank}", word)) == "template"

"""The words of tables: every shipped language has them all, and no word means two things."""

from collections import defaultdict

import pytest

from curation.formats import table_words
from curation.formats.table_words import aliases, key, read_label, shipped_texts, shipped_words
from curation.kinds import GOLDS
from curation.records import FLAGS, VALUES
from curation.rounds.answers import forms, rows
from curation.rounds.platforms import pages

LANGUAGES = table_words.languages()
ENGLISH = shipped_texts("en")
WORDS = [(lang, *word) for lang in LANGUAGES for word in aliases(shipped_texts(lang))]


LABELS = ("stereotype", "anti_stereotype", "unrelated")


def own(section: str, **words: object) -> table_words.Sections:
    """The English texts with words of a campaign's own."""
    return ENGLISH | {section: ENGLISH[section] | words}


def test_four_languages_are_shipped() -> None:
    assert LANGUAGES == ["ar", "en", "id", "ja"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_keys_and_no_empty_text(language: str) -> None:
    texts = shipped_texts(language)
    kinds = {s: {k: type(v) for k, v in keys.items()} for s, keys in texts.items()}
    assert kinds == {s: {k: type(v) for k, v in keys.items()} for s, keys in ENGLISH.items()}
    for keys in texts.values():
        for value in keys.values():
            assert all(part.strip() for part in ([value] if isinstance(value, str) else value))
    if language != "en":  # what people read is translated, all of it
        for section in ("sheet", "heading", "hint"):
            same = [k for k, v in texts[section].items() if v == ENGLISH[section][k]]
            assert not same, (section, same)


def test_no_word_means_two_things_in_any_two_languages() -> None:
    meanings: dict[tuple[table_words.Space, str], set[str]] = defaultdict(set)
    for _, space, word, name in WORDS:
        meanings[space, key(word)].add(rows.NAMES.get(name, name) if space == "column" else name)
    assert {word: names for word, names in meanings.items() if len(names) > 1} == {}
    assert all(word for _, word in meanings), "a word is nothing when it is normalised"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_is_read(language: str) -> None:
    for _, space, word, name in (each for each in WORDS if each[0] == language):
        for written in (word, f" {word.upper()} ", word.replace(" ", "_")):
            if space == "column":
                meant = rows.column(written)
                assert meant == rows.NAMES.get(name, name), written
                assert rows.column(written) == meant
            else:
                assert shipped_words().read(space, written) == name, written
    for name, words in shipped_texts(language)["label_words"].items():
        assert {read_label(word) for word in words} <= {name.replace("_", "-")}


def test_the_spaces_have_the_names_that_records_have() -> None:
    names = {space: {n for _, s, _, n in WORDS if s == space} for space in table_words.SPACES}
    assert names["label"] == set(VALUES)
    assert names["decision"] == set(forms.ACTIONS)
    assert names["flag"] == set(FLAGS)
    assert names["column"] - rows.COLUMNS - set(rows.NAMES) == {
        *("answers_needed", "what_to_change", "info", "text_1", "text_2", "text_3"),
        *(f"flags.{flag}" for flag in FLAGS),
        *(f"reasons.{reason}" for reason in names["reason"]),
    }


def test_a_rounds_own_words_are_read_and_come_before_others() -> None:
    texts = {
        **shipped_texts("sw"),  # not shipped: English
        "validation": dict(zip(LABELS, ("Dhana", "Kinyume", "Tidak"), strict=True)),
        "heading": ENGLISH["heading"] | {"annotator": "Jina lako"},
    }
    words = table_words.round_words(texts)
    labels = [read_label(word, words) for word in ("dhana", "tidak", "無関係")]
    assert labels == ["stereotype", "unrelated", "unrelated"]
    assert read_label("Dhana") is None
    assert rows.column("JINA LAKO", words) == "annotator"
    assert words.read("answer", "tidak") == "no"


def test_a_word_that_would_name_two_things_is_not_shown() -> None:
    texts = {
        **own("heading", label_1="Label 2", text_1="label_1"),
        "validation": dict(zip(LABELS, ("Typical", "typical.", "None of it"), strict=True)),
    }
    shown = table_words.offered_words(texts)
    assert shown["label"] == dict(zip(GOLDS, (*GOLDS[:2], "None of it"), strict=True))
    for column in ("label_1", "label_2", "text_1"):
        assert shown["column"][column] == column
    assert read_label("typical", table_words.round_words(texts)) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_headings_of_a_language_are_shown(language: str) -> None:
    shown = table_words.offered_words(pages.texts("en", None) | shipped_texts(language))
    assert shown["column"] == shipped_texts(language)["heading"]


@pytest.mark.parametrize("word", ["task_id", "Task ID", "answer_id", "seconds", "as sent"])
def test_a_heading_that_is_the_name_of_another_column_is_not_shown(word: str) -> None:
    texts = own("heading", stereotype=word)
    assert table_words.offered_words(texts)["column"]["stereotype"] == "stereotype"
    read = table_words.round_words(texts)
    assert rows.column(word, read) == rows.column(word)


def test_a_word_of_ones_own_gives_an_empty_cell_no_meaning() -> None:
    words = table_words.round_words(own("answer_words", yes=["-", "sure"]))
    assert words.read("answer", "sure") == "yes"
    assert (words.read("answer", ""), words.read("answer", "-")) == (None, None)
    assert rows.file_row({"flags.objective": "", "annotator": "p"}, words) == {"annotator": "p"}


@pytest.mark.parametrize("name", ["reasons.insult", "answers_needed", "merge into"])
def test_a_canonical_name_is_read_as_what_it_names(name: str) -> None:
    plain = rows.file_row({name: "yes", "rename": "", "decision": "drop"})
    for texts in (own("heading", rename=name), own("column_words", rename=[name])):
        words = table_words.round_words(texts)
        assert rows.file_row({name: "yes", "rename": "", "decision": "drop"}, words) == plain


def test_a_word_that_is_too_long_to_be_read_is_not_shown() -> None:
    for length, shown in ((200, True), (201, False)):
        texts = own("heading", label_1="x" * length)
        assert (table_words.offered_words(texts)["column"]["label_1"] != "label_1") is shown


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("stereotype", ["sterotype", "stereotif", "صوره نمطيه", "固定概念", "ｽﾃﾚｵﾀｲﾌﾟ"]),
        ("anti-stereotype",
         ["Anti stereotype", "ANTISTEREOTYPE", "anti-stereotypical", "anti stereotip",
          "ضد الصورة النمطية", "アンチ・ステレオタイプ"]),
        ("unrelated",
         ["nonsense", "un-related", "tdk terkait", "tidak nyambung", "لا علاقه له", "غير مرتبطه",
          "関係無し"]),
        # A text that is not a stereotype may be an anti-stereotype or unrelated.
        (None,
         ["neutral", "none", "other", "non-stereotype", "bukan stereotip", "netral", "中立",
          "محايد"]),
    ],
)  # fmt: skip
def test_words_for_labels_are_read_if_they_are_clear(label: str | None, words: list[str]) -> None:
    assert [read_label(word) for word in words] == [label] * len(words)


def test_a_word_for_a_mistake_is_not_a_no_and_the_version_that_a_table_shows_not_consent() -> None:
    # Under the heading that asks for mistakes in grammar, this word may as well be a yes.
    assert shipped_words().read("answer", "خطأ") is None
    # Exported tables have this column filled in: people who send it back have not agreed to it.
    for word in ("consent_version", "versi persetujuan", "نسخة الموافقة", "同意文の版"):
        assert shipped_words().read("column", word) is None

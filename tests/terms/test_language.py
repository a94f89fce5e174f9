"""Facts about languages: head words, plurals, scripts, and labels that look vandalised."""

import pytest

from curation.terms.candidates import (
    COMPOUNDS,
    HEADS,
    LONGEST,
    head_of,
    is_head,
    odd,
    plurals,
    script,
    usual_script,
)


@pytest.mark.parametrize(
    ("language", "setting", "head"),
    [
        ("en", "auto", "last"),
        ("en-GB", "auto", "last"),
        ("de", "auto", "last"),
        ("id", "auto", "first"),
        ("pt-BR", "auto", "first"),
        ("ru", "auto", "none"),  # the adjective before, the genitive after: neither
        ("xx", "auto", "none"),
        ("ru", "last", "last"),
        ("en", "none", "none"),
        ("id", "last", "last"),
    ],
)
def test_where_the_head_word_stands(language: str, setting: str, head: str) -> None:
    assert head_of(language, setting) == head


def test_only_languages_with_a_known_head_write_compounds() -> None:
    # is_head looks at compounds only where it knows the position of the head.
    assert COMPOUNDS - {"xx"} <= set(HEADS)


@pytest.mark.parametrize(
    ("parent", "child", "head", "language", "expected"),
    [
        ("producer", "film producer", "last", "en", True),
        ("film producer", "assistant film producer", "last", "en", True),
        ("Film  Producer", "assistant film producer", "last", "en", True),
        ("producer", "producer of films", "last", "en", False),
        ("producer", "producer", "last", "en", False),
        ("film producer", "producer", "last", "en", False),
        ("actor", "factor", "last", "en", False),  # no compounds in English
        ("", "actor", "last", "en", False),
        ("aktor", "aktor film", "first", "id", True),
        ("aktor", "film aktor", "first", "id", False),
        ("aktor", "aktorat", "first", "id", False),
        ("Schauspieler", "Filmschauspieler", "last", "de", True),
        ("Schauspieler", "Filmschauspieler", "last", "de-AT", True),
        ("Mechaniker", "Kfz-Mechaniker", "last", "de", True),
        ("Film", "Filmschauspieler", "last", "de", False),
        ("Arzt", "Zahnarzt", "last", "de", True),
        ("Rat", "Stadtrat", "last", "de", False),  # three letters end too many words
        ("俳優", "映画俳優", "last", "ja", True),
        ("師", "医師", "last", "ja", False),  # one sign is part of a word
        ("นักแสดง", "นักแสดงภาพยนตร์", "first", "th", True),
        ("producer", "film producer", "none", "en", False),
        ("актёр", "актёр кино", "none", "ru", False),
    ],
)
def test_whether_a_label_is_the_head_of_another(
    parent: str, child: str, head: str, language: str, expected: bool
) -> None:
    assert is_head(parent, child, head=head, language=language) is expected  # type: ignore[arg-type]


def test_plurals_are_those_of_english() -> None:
    assert {"bakers", "bakeres"} == plurals("baker")
    assert "ladies" in plurals("lady")
    assert "gentlemen" in plurals("gentleman")
    assert "boxes" in plurals("box")


def test_the_usual_script_is_that_of_four_in_five_labels() -> None:
    latin, cyrillic = ["baker", "cook"], ["пекарь"]
    assert script("пекарь 12") == "CYRILLIC"
    assert usual_script(latin * 2 + cyrillic) == "LATIN"  # 4 of 5
    assert usual_script([*latin, "smith", *cyrillic]) == ""  # 3 of 4
    assert usual_script([]) == ""
    assert usual_script(["12"]) == ""


ODD_CHARACTER = "it contains a web address or a character that is not text"


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ("1234 ?", "it has no letters"),
        ("x" + " yz" * 20, "it is longer than 60 characters"),
        ("baker https://example.org", ODD_CHARACTER),
        ("baker 😀", ODD_CHARACTER),
        ("ba\x07ker", ODD_CHARACTER),
        ("noooope", "it repeats itself"),
        ("Hahaha", "it repeats itself"),
        ("asdasdasd", "it repeats itself"),
        ("пекарь", "the other labels are in Latin letters"),
        ("goalkeeper", "not similar to its article «Baker» or to its aliases"),
    ],
)
def test_a_label_that_looks_vandalised(label: str, why: str) -> None:
    assert odd(label, title="Baker", aliases=["bread maker"], usual="LATIN") == why


@pytest.mark.parametrize(
    ("label", "title", "aliases"),
    [
        ("y" + " yz" * 19 + " z", None, []),  # 60 characters
        ("Schifffahrtskapitän", None, []),  # three f are a word's
        ("cancan dancer", None, []),
        ("haha", None, []),
        ("DJ", "DJ", ["disc jockey"]),
        ("IT-специалист", None, []),  # one letter of the usual script is enough
        ("bread maker", "Baker", ["bread baker"]),  # like one alias
        ("baker", "Bakery owner", ["cook"]),  # like its article
        ("goalkeeper", "Baker", []),  # one witness is too few
        ("goalkeeper", None, ["baker"]),
        ("医師", "医者", ["ドクター"]),  # without spaces one common letter makes names akin
    ],
)
def test_a_label_that_is_not_odd(label: str, title: str | None, aliases: list[str]) -> None:
    usual = script(label) if label != "IT-специалист" else "CYRILLIC"
    assert len(label) <= LONGEST
    assert odd(label, title=title, aliases=aliases, usual=usual) is None


def test_japanese_is_written_in_three_scripts() -> None:
    # Nine in kanji: that a pilot is written in kana is no vandalism.
    assert odd("パイロット", title=None, aliases=[], usual=usual_script(["俳優"] * 9)) is None
    assert odd("医師", title="宗教", aliases=["信仰"]) is not None

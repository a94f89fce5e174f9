"""Facts about languages: head words, plurals, scripts, and labels that look vandalised."""

import pytest

from curation.terms.candidates import (
    COMPOUNDS,
    HEADS,
    LONGEST,
    head_of,
    is_head,
    odd,
    script,
    usual_script,
)
from support.written import beside

CASES = beside(__file__)


@pytest.mark.parametrize(("language", "setting", "head"), CASES["head_of"])
def test_where_the_head_word_stands(language: str, setting: str, head: str) -> None:
    assert head_of(language, setting) == head


def test_only_languages_with_a_known_head_write_compounds() -> None:
    # is_head looks at compounds only where it knows the position of the head.
    assert COMPOUNDS - {"xx"} <= set(HEADS)


@pytest.mark.parametrize(("parent", "child", "head", "language", "expected"), CASES["is_head"])
def test_whether_a_label_is_the_head_of_another(
    parent: str, child: str, head: str, language: str, expected: bool
) -> None:
    assert is_head(parent, child, head=head, language=language) is expected  # type: ignore[arg-type]


def test_the_usual_script_is_that_of_four_in_five_labels() -> None:
    latin, cyrillic = ["baker", "cook"], ["пекарь"]
    assert script("пекарь 12") == "CYRILLIC"
    assert usual_script(latin * 2 + cyrillic) == "LATIN"  # 4 of 5
    assert usual_script([*latin, "smith", *cyrillic]) == ""  # 3 of 4
    assert usual_script([]) == ""
    assert usual_script(["12"]) == ""


@pytest.mark.parametrize(("label", "why"), CASES["odd"])
def test_a_label_that_looks_vandalised(label: str, why: str) -> None:
    assert odd(label, title="Baker", aliases=["bread maker"], usual="LATIN") == why


@pytest.mark.parametrize(("label", "title", "aliases"), CASES["not_odd"])
def test_a_label_that_is_not_odd(label: str, title: str, aliases: list[str]) -> None:
    usual = script(label) if label != "IT-специалист" else "CYRILLIC"
    assert len(label) <= LONGEST
    assert odd(label, title=title or None, aliases=aliases, usual=usual) is None


def test_japanese_is_written_in_three_scripts() -> None:
    # Nine in kanji: that a pilot is written in kana is no vandalism.
    assert odd("パイロット", title=None, aliases=[], usual=usual_script(["俳優"] * 9)) is None
    assert odd("医師", title="宗教", aliases=["信仰"]) is not None

"""Each check of words has a hit and a near miss; missing packages are named."""

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from curation.checks import lexical
from curation.checks.lexical import Lexicon, check, check_targets, lexicon
from curation.checks.lists import Lists, lists
from curation.checks.surface import ItemTexts, read
from curation.kinds import GOLDS
from support.written import beside

CASES = beside(__file__)

CONTEXT = "The baker is BLANK."
WORDS = lists("en")
ENGLISH = lexicon(WORDS, [("profession", "baker")])[0]


def fills(*words: str, context: str = CONTEXT) -> ItemTexts:
    a, b, c = (context.replace("BLANK", word) for word in (*words, *["kind"] * (3 - len(words))))
    return ItemTexts("intrasentence", "profession", "baker", context, (a, b, c), GOLDS)


def says(text: str, context: str = "The baker came.") -> ItemTexts:
    return ItemTexts(
        "intersentence", "profession", "baker", context, (text, "It is.", "So."), GOLDS
    )


def item_of(case: dict[str, Any]) -> ItemTexts:
    return says(case["says"]) if "says" in case else fills(*case["fills"])


def found(item: ItemTexts, words: Lists = WORDS, of: Lexicon = ENGLISH) -> set[tuple[str, str]]:
    return {(one.code, one.detail) for one in check(read(item, words), of)}


def codes(item: ItemTexts, words: Lists = WORDS, of: Lexicon = ENGLISH) -> set[str]:
    return {code for code, _ in found(item, words, of)}


def test_english_is_checked_whole() -> None:
    assert lexicon(WORDS, [])[1] == {}


@pytest.mark.parametrize("case", CASES["hits"])
def test_a_hit(case: dict[str, Any]) -> None:
    hits = found(item_of(case))
    assert any(c == case["code"] and d.startswith(case["detail"]) for c, d in hits), hits


@pytest.mark.parametrize("case", CASES["near_misses"])
def test_a_near_miss(case: dict[str, Any]) -> None:
    assert case["code"] not in codes(item_of(case))


def test_what_is_very_long_is_no_word() -> None:
    assert "fused_words" not in codes(fills("x" * 5000))
    assert "misspelt_word" not in codes(says("He is " + "x" * 5000))


def test_targets_are_looked_at_once_and_not_in_each_text() -> None:
    targets = [("race", "Norweigan"), ("race", "Eritrean"), ("profession", "software developer")]
    english = lexicon(WORDS, targets)[0]
    reported = [(target, code) for _, target, code, _ in check_targets(targets, english)]
    assert reported == [("Norweigan", "misspelt_target"), ("Norweigan", "rare_target")]
    item = says("He is a norweigan.")
    assert "misspelt_word" in codes(item)
    assert "misspelt_word" not in codes(item, of=english)


def test_a_word_of_the_context_is_reported_once() -> None:
    item = fills("kind", "gruff", "octal", context="The talanted baker is BLANK.")
    spelt = [one for one in check(read(item, WORDS), ENGLISH) if one.code == "misspelt_word"]
    assert [(one.at, one.detail) for one in spelt] == [(None, "'talanted' for 'talented'?")]


# --- other languages, and packages that are not there -------------------------------------------


def test_german_has_frequencies_and_nothing_else() -> None:
    why = lexicon(lists("de"), [("profession", "Bäcker")])[1]
    assert set(why) == {*lexical.ENGLISH, "violent_word", "public_figure"}
    assert why["misspelt_word"] == "English words only"


def test_a_language_without_anything_is_not_checked_at_all() -> None:
    made, why = lexicon(lists("tlh"), [("profession", "vutwI'")])
    assert set(why) == {*lexical.ENGLISH, *lexical.FREQUENCIES, *lexical.LISTED}
    assert "«tlh»" in why["rare_target"]
    assert check(read(says("Qapla'"), lists("tlh")), made) == []
    assert list(check_targets([("profession", "vutwI'")], made)) == []


@pytest.mark.parametrize(
    ("text", "language", "foreign"),
    [
        # Each word has a clitic or a suffix, so that no form of it is frequent.
        ("امتلأت ساحته بالورد سريعا.", "ar", False),
        ("Clouds drift over the mountains and it is late.", "ar", True),
        ("Penjahit itu dikenal karena kesabarannya.", "id", False),
    ],
)
def test_joined_words_are_no_other_language(text: str, language: str, foreign: bool) -> None:
    words = lists(language)
    found = codes(says(text), words, lexicon(words, [])[0])
    assert ("other_language" in found) is foreign


@pytest.mark.parametrize("language", ["ja", "zh", "th"])
def test_without_a_splitter_there_is_no_rare_target(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MeCab", "jieba"):
        monkeypatch.setitem(sys.modules, name, None)
    lexicon_of, why = lexicon(lists(language), [("職業", "パン屋")])
    assert {"rare_target", "other_language"} <= why.keys()
    assert list(check_targets([("職業", "パン屋")], lexicon_of)) == []


def test_own_lists_serve_a_language_without_spaces(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("language,list,word\nja,violence,爆弾\nja,public_figure,信長\n", "utf-8")
    words = lists("ja", own)
    made, why = lexicon(words, [])
    assert not {"violent_word", "public_figure"} & set(why)
    item = ItemTexts("intersentence", "d", "人", "人。", ("爆弾だ。", "信長だ。", "猫だ。"), GOLDS)
    reported = [(o.code, o.at) for o in check(read(item, words), made) if o.code in lexical.LISTED]
    assert reported == [("violent_word", 0), ("public_figure", 1)]


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes packages as if they were not installed."""
    real = builtins.__import__

    def without(*names: str) -> None:
        for module in [m for m in sys.modules if m.split(".")[0] in names]:
            monkeypatch.delitem(sys.modules, module)

        def refuse(name: str, *rest: Any, **options: Any) -> Any:
            if name.split(".")[0] in names:
                raise ImportError(name)
            return real(name, *rest, **options)

        monkeypatch.setattr(builtins, "__import__", refuse)
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return without


@pytest.mark.parametrize(
    ("package", "pip", "unchecked"),
    [
        ("better_profanity", "better-profanity", lexical.PROFANE),
        ("faker", "Faker", lexical.NAMES),
        ("lemminflect", "lemminflect", (*lexical.SPELLING, *lexical.CLASSES, *lexical.NAMES)),
        ("wordfreq", "wordfreq", (*lexical.SPELLING, *lexical.FREQUENCIES)),
    ],
)
def test_a_package_that_is_missing_is_named(
    missing: Any, monkeypatch: pytest.MonkeyPatch, package: str, pip: str, unchecked: Any
) -> None:
    missing(package)
    from curation.text import words

    monkeypatch.setattr(lexical, "frequencies", words.frequencies.__wrapped__)
    made, why = lexicon(lists("en"), [("profession", "baker")])
    assert set(why) == set(unchecked)
    assert all(pip in reason and "pip install" in reason for reason in why.values())
    for item in (says("He is talanted bullshit, Sarah."), fills("extremelyrich", "liar")):
        assert not codes(item, lists("en"), made) & set(why)


def test_names_of_figures_may_be_parts_of_words(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("language,list,word\ntlh,public_figure,ann lee*\ntlh,public_figure,*boro\n")
    words = lists("tlh", own)
    texts: dict[str, set[str]] = {
        "Marlboro's Ann Leeson": {"'ann leeson'", "'marlboro'"}, "Boros met Ann and Lee.": set(),
    }  # fmt: skip
    for text, figures in texts.items():
        hits = found(says(text), words, lexicon(words, [])[0])
        assert {detail for code, detail in hits if code == "public_figure"} == figures

"""Each check of an item's form has a hit and a near miss, in several scripts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.checks.content import meta_patterns
from curation.checks.lists import NAMES, lists, unchecked
from curation.checks.surface import ItemTexts, check, read
from curation.kinds import GOLDS
from support.expected import fails
from support.written import beside

CASES = beside(__file__)

INTRA = ("The baker is kind.", "The baker is gruff.", "The baker is octal.")
INTER = ("He was up early.", "He got up late.", "Tin melts very quickly.")


def intra(*sentences: str, context: str = "The baker is BLANK.", **changes: Any) -> ItemTexts:
    a, b, c = (*sentences, *INTRA[len(sentences) :])
    whole = ItemTexts("intrasentence", "profession", "baker", context, (a, b, c), GOLDS)
    return whole._replace(**changes)


def inter(*sentences: str, context: str = "The baker came.", **changes: Any) -> ItemTexts:
    three = (*sentences, *INTER[len(sentences) :])
    return intra(*three, context=context, **{"kind": "intersentence"} | changes)


def built(kind: str, sentences: Sequence[str] = (), **changes: str) -> ItemTexts:
    return (intra if kind == "intra" else inter)(*sentences, **changes)


def codes(
    item: ItemTexts, language: str = "en", own: Path | None = None, **options: Any
) -> list[tuple[str, int | None]]:
    return [(one.code, one.at) for one in check(read(item, lists(language, own)), **options)]


def test_sound_items_have_no_finding() -> None:
    assert codes(intra()) == codes(inter()) == []


@pytest.mark.parametrize("case", CASES["hits"])
def test_a_hit(case: dict[str, Any]) -> None:
    assert (case["code"], case.get("at")) in codes(built(**case["item"]))


@pytest.mark.parametrize("case", CASES["near_misses"])
def test_a_near_miss(case: dict[str, Any]) -> None:
    assert case["code"] not in dict(codes(built(**case["item"])))


def test_what_a_sentence_has_from_its_context_is_reported_once() -> None:
    doubled = [s.replace("The baker", "The the baker") for s in INTRA]
    assert codes(intra(*doubled, context="The the baker is BLANK.")) == [("word_doubled", None)]


def test_the_gold_of_each_association_counts_and_not_its_place() -> None:
    item = inter("Tin melts.", "He was not early.", golds=("unrelated", "stereotype", None))
    assert "negation_one_sided" not in dict(codes(item))  # no anti-stereotype to compare with
    assert ("unrelated_shortest", None) in codes(item)
    shuffled = inter("Tin melts.", "He was not early.", "He got up late.",
                     golds=("unrelated", "stereotype", "anti-stereotype"))  # fmt: skip
    assert ("negation_one_sided", None) in codes(shuffled)


def test_what_a_campaign_allows_is_no_finding() -> None:
    glued, nameless = intra(context="The baker is BLANKish."), inter(context="She came.")
    assert "blank_glued" not in dict(codes(glued, blank_alone=False))
    assert "target_missing" not in dict(codes(nameless, name_target=False))


@pytest.mark.parametrize(
    ("language", "target", "context"),
    [
        ("tr", "ırgat", "Irgat geldi."),
        ("tr", "imam", "İmam geldi."),
        ("tr", "ışıkçı", "IŞIKÇI GELDİ."),
        ("fr", "joueur d'échecs", "Le joueur d’échecs vint."),
        ("he", "אופה", "\u200fהָאוֹפֶה בא."),
        ("fa", "نان‌وا", "نانوا آمد."),
        ("ar", "أستاذ", "جاء الاستاذ."),
        ("de", "Arzt", "Die A\u0308rzte kamen."),
        ("ja", "ＣＥＯ", "そのCEOが来た。"),
        ("hi", "नर्स", "नर्सें आईं।"),
        ("ko", "의사", "의사가 왔다."),
        ("th", "หมอ", "คุณหมอมาแล้ว"),
        ("en", "C++ (all) [programmer]?", "The C++ (all) [programmer]? came."),
    ],
)
def test_a_target_is_found_however_it_is_written(language: str, target: str, context: str) -> None:
    item = inter(context=context, target=target)
    assert "target_missing" not in dict(codes(item, language))


def test_a_blank_is_left_in_scripts_without_capitals_too() -> None:
    for text in ("そのBLANKは", "جاء BLANK اليوم", "वह BLANK है", "BLANK"):
        assert ("blank_left", 0) in codes(inter(text), "ja")


def test_text_about_the_task_is_found_where_patterns_are_given() -> None:
    item = inter("These HITs are ok.")
    assert codes(item, meta=meta_patterns("en")) == [("meta_text", 0)]
    assert codes(item) == []
    # An emoji or a test may fill a BLANK.
    for word in ("🎂", "❤", "a test", "a hard task", "a great hit"):
        item = intra(*(s.replace("octal", word) for s in INTRA))
        assert "meta_text" not in dict(codes(item, meta=meta_patterns("en"))), word


# --- other languages ------------------------------------------------------------------------

ARABIC = inter(
    "استيقظ مبكرا؟", "نام حتى الظهر。", "القطة سوداء", context="جاء الخباز.", target="خباز"
)
JAPANESE = intra(
    "そのパン屋は親切です。", "そのパン屋は無愛想です。", "そのパン屋は青いです。",
    context="そのパン屋はBLANKです。", target="パン屋",
)  # fmt: skip
TURKISH = intra(
    "Fırıncılar iyi olur.", "fırıncılar kötü olur.", "Fırıncılar mavi olur",
    context="Fırıncılar BLANK olur.", target="fırıncı",
)  # fmt: skip
GERMAN = inter(
    "Er hatte keine Zeit.", "Er hatte viel Zeit.", "Zinn schmilzt sehr leicht.",
    context="Der Bäcker kam.", target="Bäcker",
)  # fmt: skip


def test_arabic_needs_no_capitals_and_joins_its_article() -> None:
    found = [("punctuation_missing", 2), ("punctuation_mixed", None), ("words_differ", None)]
    assert codes(ARABIC, "ar") == found
    why = unchecked(lists("ar"))
    assert "articles or particles" in why["target_inflected"]
    assert "no list 'negation'" in why["negation_one_sided"]
    assert why["capitals_lost"] == why["blank_glued"] == "«ar» has no capital letters"
    assert "capitals_lost" not in unchecked(lists("ka"))


def test_japanese_is_measured_in_characters() -> None:
    assert codes(JAPANESE, "ja") == []
    narrow = tuple(text.replace("。", "｡") for text in JAPANESE.sentences)
    assert codes(JAPANESE._replace(context="そのパン屋はBLANKです｡", sentences=narrow), "ja") == []
    long = JAPANESE.sentences[0].replace("親切", "とても親切でいつもやさしい人")
    longer = JAPANESE._replace(sentences=(long, *JAPANESE.sentences[1:]))
    assert ("lengths_differ", None) in codes(longer, "ja")
    why = unchecked(lists("ja"))
    assert {"words_differ", "word_doubled", "other_target", "target_inflected"} <= set(why)
    assert "punctuation_missing" not in why


def test_turkish_letters_are_read_and_german_has_its_own_negation_and_lacks_pronouns() -> None:
    found = {("capitals_lost", 1), ("punctuation_missing", 2), ("target_inflected", None)}
    assert found <= set(codes(TURKISH, "tr"))
    assert ("negation_one_sided", None) in codes(GERMAN, "de-AT")
    assert {"pronouns_opposite", "article_wrong"} <= set(unchecked(lists("de-AT")))


def test_english_lacks_nothing_and_thai_ends_without_a_mark() -> None:
    assert unchecked(lists("en")) == {"blank_hyphen": "«en» is not known to join affixes to words"}
    assert "punctuation_missing" in unchecked(lists("th"))
    assert "punctuation_missing" not in dict(codes(inter("He rose"), "th"))


INDONESIAN = intra(
    *(f"Guru itu sering di-{word}-kan." for word in ("puji", "abai", "goreng")),
    context="Guru itu sering di-BLANK-kan.",
    target="guru",
)


def test_a_hyphen_that_joins_an_affix_to_the_blank_is_found() -> None:
    (finding,) = check(read(INDONESIAN, lists("id")))
    assert (finding.code, finding.at) == ("blank_hyphen", None)
    assert finding.detail == "'di-BLANK-kan' in 'Guru itu sering di-BLANK-kan.'"
    assert "blank_hyphen" not in unchecked(lists("id-ID"))
    assert "blank_hyphen" not in dict(codes(INDONESIAN, "en"))  # well-BLANK may be right
    for context in ("Guru itu - BLANK - datang.", "Guru itu diBLANKkan.", "«BLANK»-guru, -BLANK."):
        assert "blank_hyphen" not in dict(codes(INDONESIAN._replace(context=context), "id"))
    for context in ("BLANK-nya guru itu.", "Guru itu ke\u2010BLANK."):
        assert "blank_hyphen" in dict(codes(INDONESIAN._replace(context=context), "tr-TR"))


@pytest.mark.parametrize("control", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_characters_that_change_the_writing_direction_are_found(control: str) -> None:
    for language, item in (("ar", ARABIC), ("en", inter()), ("ja", JAPANESE)):
        a, b, c = item.sentences
        marked = item._replace(sentences=(a, control + b, c))
        assert ("bidi_control", 1) in codes(marked, language)
        context = item._replace(context=item.context.replace("B", f"{control}B") + control)
        assert ("bidi_control", None) in codes(context, language)
        target = item._replace(target=f"{item.target}{control}")
        (finding,) = [f for f in check(read(target, lists(language))) if f.code == "bidi_control"]
        assert f"U+{ord(control):04X}" in finding.detail
        assert finding.detail.isprintable()  # what is found must not change the report


def test_marks_and_joiners_that_a_script_needs_are_no_pitfall() -> None:
    persian = ("او می\u200cرود.", "کتاب\u200cها خوب\u200cاند.", "\u200fاو آمد\u200e (3).")
    hindi = ("वह क्\u200dष है।", "श्री\u200cमान आए।", "नर्स आई।")
    hebrew = ("הוא בא\u200f!", "הוא הלך\u200e.", "\u061cהוא ישן.")
    for language, sentences in (("fa", persian), ("hi", hindi), ("he", hebrew)):
        item = ItemTexts("intersentence", "d", "x", "x", sentences, GOLDS)  # type: ignore[arg-type]
        assert "bidi_control" not in dict(codes(item, language))
    for mark in "\u200e\u200f\u061c":  # without letters from right to left they have no use
        assert ("bidi_control", 0) in codes(inter(f"He was up early{mark}."))


# --- a team's own lists ---------------------------------------------------------------------


def test_own_lists_add_to_those_that_are_shipped(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("language,list,word\ntr,negation,değil\ntr,negation,*siz\nen,negation,nope\n")
    turkish = lists("tr", own)
    assert "negation_one_sided" not in unchecked(turkish)
    item = TURKISH._replace(sentences=("Evsiz olur.", "Evli olur.", "Mavi olur."))
    assert "negation_one_sided" in dict(codes(item, "tr", own))
    assert lists("en", own).get("negation").holds("nope")
    assert lists("en", own).get("negation").holds("not")


def test_own_words_are_found_in_any_form(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    rows = "pt,negation,na\u0303oo\ntr,negation,DEĞİL\nja,negation,*ない\nhi,negation,नहीं\n"
    own.write_text(f"language,list,word\n{rows}", "utf-8")
    for language, text in (
        ("pt", "Isso nãoo."), ("tr", "İyi değil."), ("ja", "来ないよ。"), ("hi", "वह नहीं आया।"),
    ):  # fmt: skip
        found = {one.code for one in check(read(inter(text), lists(language, own)))}
        assert "negation_one_sided" in found, language


def test_every_list_that_is_shipped_may_be_written(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "measures.md").read_text("utf-8")
    assert set(lists("en").words) <= NAMES
    assert all(f"`{name}`" in page for name in NAMES)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("language,word\nen,not\n", "missing column: list"),
        ("language,list,word\nen,negation,\n", "line 2"),
        ("language,list,word\nen,negation,*\n", "line 2"),
        ("language,list,word\nen,negation,n*t\n", "line 2"),
        ("language,list,word\nen,negation,no,way\n", "line 2"),
        ("language,list,word\nen,negations,no\n", "no list is called 'negations'"),
        ("language,list,word\nTurkish,negation,yok\n", "'Turkish' is not a language code"),
    ],
)
def test_a_wrong_list_is_named(tmp_path: Path, text: str, wrong: str) -> None:
    own = tmp_path / "own.csv"
    own.write_text(text)
    with fails(wrong):
        lists("en", own)


ODD = st.text(st.sampled_from("İiıIßſ\u0307 .BLANK’'a\u200f"))


@given(st.tuples(*[st.text() | ODD] * 4), st.sampled_from(["en", "ja", "ar", "tr"]))
def test_any_text_can_be_checked(texts: tuple[str, ...], language: str) -> None:
    context, *sentences = texts
    for make in (intra, inter):
        item = make(*sentences, context=context + "BLANK")
        found = codes(item, language, meta=meta_patterns(language))
        assert {at for _, at in found} <= {None, 0, 1, 2}

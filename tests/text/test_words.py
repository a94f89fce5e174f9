"""Words in many languages: scripts with vowel signs, and words as wordfreq lists them."""

import pytest

from curation.text.words import UNSPACED, base, frequencies, words


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("hi", "वह हिन्दी में है।", ["वह", "हिन्दी", "में", "है"]),
        ("ta", "தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("ar", "كِتَابٌ جَدِيد", ["كِتَابٌ", "جَدِيد"]),
        ("fa", "می\u200cشود\u200c.", ["می\u200cشود"]),
        ("he", 'צה"ל אמר "שלום"', ['צה"ל', "אמר", "שלום"]),
        ("ca", "El col·legi · nou", ["el", "col·legi", "nou"]),
        ("tr", "İZMİR'in ışığı, IŞIK", ["izmir'in", "ışığı", "ışık"]),
        ("en", "co\u00adoperate, IT", ["cooperate", "it"]),
        ("yo", "ọ\u0301ba Ẹ̀kọ́", ["ọ\u0301ba", "ẹ̀kọ́"]),
    ],
)
def test_words_by_hand(language: str, text: str, wanted: list[str]) -> None:
    assert words(text, language) == wanted


@pytest.mark.long
def test_words_of_wordfreq_are_words_here() -> None:
    lists = pytest.importorskip("wordfreq")
    for language in sorted(lists.available_languages("best")):
        if base(language) in UNSPACED:
            continue
        common = lists.top_n_list(language, 1000)
        whole = sum(words(word, language) == [word] for word in common)
        assert whole >= 0.99 * len(common), language


@pytest.mark.long
def test_a_listed_word_is_found_in_its_own_spelling_and_in_the_texts() -> None:
    pytest.importorskip("wordfreq")
    shares = frequencies("de")
    assert shares["gruss"] == shares["gruß"] == shares.get("gruß", 0) > 0
    assert "gruß" in shares
    assert "xqzzy" not in shares
    assert shares.get("xqzzy", 0) == 0
    assert len(shares) == len(list(shares)) == len(shares.items()) == len(shares.values())

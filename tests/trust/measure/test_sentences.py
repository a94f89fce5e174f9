"""Where sentences end."""

import pytest

from curation.trust.measure.matching import Lexicon
from curation.trust.measure.scanning import Scanner


def split(text: str, language: str) -> list[str]:
    return [text[start:end] for start, end in Scanner(Lexicon(["x"], language)).locate(text).spans]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["It rained.", "Did it?", "Yes!", "We stayed… Nobody came."]),
        ("en", ["Dr. Lee met Mr. J. R. Wood at 3.15 p.m. in the U.S. Senate.", "Then he left."]),
        ("en", ["She said: “Go.”", "(He went.)", "Then (why?) she slept.", "So do I.", "Good."]),
        ("en", ["“Stop!” he cried.", "See fig. 3 and no. 5, i.e. the last."]),
        ("en", ["It ended in 1990.", "25 people came."]),
        ("en", ["A heading", "A text. and more of it", "Another"]),
        ("en", ["tokens are apart .", "The next one ( of two ) follows .", "Good !"]),
        ("de", ["Am 3. Oktober kam z. B. Frau Dr. Lang.", "Es war 1990.", "Sie ging."]),
        ("ru", ["Он жил в г. Перми.", "Потом уехал.", "— Куда?", "Никто не знал."]),
        ("hi", ["नर्स आई।", "बारिश हुई।", "क्यों?"]),
        ("ar", ["هل نزل المطر؟", "نعم.", "انتهى."]),
        ("ur", ["بارش ہوئی۔", "سب گئے۔"]),
        ("ka", ["ის მოვიდა.", "წვიმდა."]),
        ("el", ["Έβρεξε;", "Ναι."]),
    ],
)
def test_sentences(language: str, sentences: list[str]) -> None:
    wanted = [part for sentence in sentences for part in sentence.split("… ", 1)]
    if any("…" in sentence for sentence in sentences):
        wanted = [part + "…" if part == "We stayed" else part for part in wanted]
    text = " ".join(sentences).replace("A heading A text", "A heading\n\nA text")
    text = text.replace(" Another", "\n \nAnother").replace("Then he", "Then\nhe")
    assert [part.replace("\n", " ") for part in split(text, language)] == wanted


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("ja", ["雨だった。", "「本当？」", "はい！", "終わり"]),
        ("zh", ["下雨了。", "真的吗？！", "是3.5度。", "完"]),
        ("my", ["မိုးရွာသည်။", "ပြီးပြီ။"]),
        ("th", ["ฝนตก", "จบแล้ว"]),
    ],
)
def test_sentences_of_languages_without_spaces(language: str, sentences: list[str]) -> None:
    between = " " if language == "th" else ""
    assert split(between.join(sentences), language) == sentences


def test_an_ellipsis_ends_a_sentence_before_a_capital() -> None:
    assert split("Wait... what? Wait... What?", "en") == ["Wait... what?", "Wait...", "What?"]
    assert split(" \n\n . — \n", "en") == []

"""The words of a text, their lemmas and their frequencies, by language.

If a language lacks what is needed, ``NotCheckedError`` says so; no value is made up.
"""

import math
import re
import unicodedata
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cache, lru_cache
from typing import Any, NamedTuple

INSTALL = "pip install 'curation[language]'"


def _marks() -> str:
    """Accents, vowel signs and other marks as part of a character class; ``re`` has none."""
    ranges: list[list[int]] = []
    for code in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)):  # other planes have no marks
        if unicodedata.category(chr(code)) in {"Mn", "Mc", "Me"}:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


MARKS = _marks()
"""Accents, vowel signs and other marks, for a character class of ``re``."""
# Letters and digits with their marks, and joiners (Persian, Hindi) between them.
_RUN = rf"[^\W_]+(?:(?:[{MARKS}]|[\u200c\u200d]+(?=[^\W_]))+[^\W_]*)*"
# Inside words: apostrophes, the Catalan point, and the quotation marks of Hebrew abbreviations.
WORD = re.compile(rf"""{_RUN}(?:(?:['’·]|(?<=[א-ת])["״](?=[א-ת])){_RUN})*""")
_ASCII = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*")  # the same words in ASCII, found faster
LISTED_AS = {"bs": "sh", "hr": "sh", "no": "nb", "sr": "sh", "tl": "fil"}
"""Languages that wordfreq lists under another code."""
UNSPACED = {"bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh"}
"""Languages without spaces between words."""
AFFIXING = {"et", "fi", "fil", "hu", "id", "jv", "ms", "su", "sw", "tl", "tr"}
"""Languages that join affixes to a word without a hyphen, so that letters may touch a BLANK."""
_DOTLESS = {"az", "tr"}  # languages in which I is the capital of ı, and İ of i


class NotCheckedError(Exception):
    """A measure cannot be computed: the ``reason``, and the ``fix`` if there is one.

    ``str`` gives both.
    """

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(f"{reason}: {fix}" if fix else reason)
        self.reason = reason
        self.fix = fix

    def __reduce__(self) -> tuple[type["NotCheckedError"], tuple[str, str]]:
        return type(self), (self.reason, self.fix)


@lru_cache(maxsize=256)
def base(language: str) -> str:
    """A language code without its region or script.

    >>> base("pt-BR"), base("pt_BR")
    ('pt', 'pt')
    """
    return re.split("[-_]", language.lower(), maxsplit=1)[0]


def split(text: str) -> list[str]:
    """The words of a text in a language with spaces between words, as they are written.

    >>> split("It isn't «le café».")
    ['It', "isn't", 'le', 'café']
    """
    return (_ASCII if text.isascii() else WORD).findall(text)


def words(text: str, language: str) -> list[str]:
    """The words of a text, in order, in lower case and in one Unicode form (NFC).

    A word is letters and digits with their marks, and apostrophes inside. A hyphen separates words.

    Raises:
        NotCheckedError: the language has no spaces between words, and no splitter is installed.

    >>> words("The film-maker's café isn't open.", "en")
    ['the', 'film', "maker's", 'café', "isn't", 'open']
    >>> words("हिन्दी में", "hi"), words("Işık, İzmir", "tr")
    (['हिन्दी', 'में'], ['ışık', 'izmir'])
    """
    compared = plain(text, language)
    if base(language) in UNSPACED:
        return _split(compared, base(language))
    return split(compared)


def words_of_each(chunks: Sequence[str], language: str) -> Iterator[list[str]]:
    """The words of each text, as from ``words``, but faster.

    Args:
        chunks: texts without line breaks.
        language: a language with spaces between words.

    Raises:
        ValueError: the language has no spaces between words.

    >>> list(words_of_each(["Café!", "isn’t", "—"], "en"))
    [['café'], ["isn't"], []]
    """
    if base(language) in UNSPACED:
        raise ValueError(f"{language} has no spaces between words")
    # No rule of normalisation looks past a line break, so all texts are normalised at once.
    for text in plain("\n".join(chunks), language).split("\n") if chunks else ():
        yield [text] if text.isalnum() else split(text)


def plain(text: str, language: str) -> str:
    """The text in lower case and NFC, with one kind of apostrophe and without soft hyphens.

    This is the form in which words are compared.
    """
    text = unicodedata.normalize("NFC", text).replace("’", "'").replace("\xad", "")
    if base(language) in _DOTLESS:
        text = text.replace("I", "ı").replace("İ", "i")
    return text.lower()


def _split(text: str, language: str) -> list[str]:
    """The words of a text without spaces, as wordfreq splits it."""
    if language not in {"ja", "zh"}:
        raise NotCheckedError(f"texts in «{language}» cannot be split into words")
    try:
        from wordfreq.tokens import tokenize

        return list(tokenize(text, language))
    # Chinese needs jieba. Japanese needs MeCab, which fails with runtime errors.
    except (ImportError, OSError, RuntimeError) as error:
        raise NotCheckedError(
            f"wordfreq cannot split «{language}» into words ({str(error).strip() or 'no reason'})",
            f"{INSTALL} 'wordfreq[cjk]'",
        ) from None


def lemma(word: str, language: str) -> str:
    """A word's lemma in lower case; the word itself if simplemma lacks the language.

    An English word first loses its possessive 's, and a name of people its plural s.

    >>> lemma("bakers", "en"), lemma("baker's", "en"), lemma("norwegians", "en")
    ('baker', 'baker', 'norwegian')
    """
    return _lemma(word, base(language))


@lru_cache(maxsize=1 << 20)
def _lemma(word: str, language: str) -> str:
    if language == "en" and "'" in word:
        word = re.sub(r"'s?$", "", word) or word
    look = _lemmatizer(language)
    if look is None:
        return word
    result = look(word, language).lower()
    if language == "en" and result == word and word.endswith("s"):
        # simplemma knows the plural of "Norwegian" only with its capital letter.
        single = look(word.capitalize(), language).lower()
        return single if f"{single}s" == word else word
    return result


@cache
def _lemmatizer(language: str) -> Callable[[str, str], str] | None:
    """Simplemma's function that looks lemmas up, or None if it lacks the language."""
    try:
        from simplemma import lemmatize

        lemmatize("a", language)
    except (ImportError, ValueError):
        return None
    return lemmatize


def has_lemmas(language: str) -> bool:
    """Whether simplemma is installed and knows this language."""
    return _lemmatizer(base(language)) is not None


def listed(language: str) -> str:
    """The code under which wordfreq lists a language.

    Raises:
        NotCheckedError: wordfreq is not installed, or does not list this language.
    """
    try:
        from wordfreq import available_languages
    except ImportError:
        raise NotCheckedError("the package wordfreq is not installed", INSTALL) from None
    # By default wordfreq takes the nearest language that it has, for example Dutch for Afrikaans.
    code = LISTED_AS.get(base(language), base(language))
    if code not in available_languages("best"):
        raise NotCheckedError(f"wordfreq has no list of word frequencies for «{language}»")
    return code


class Shares(Mapping[str, float]):
    """Each word's share of all words; words are found in the spelling of texts too.

    wordfreq writes ß as ss, Serbian in Latin letters, Arabic without vowel signs and Chinese
    simplified. Without a conversion, such words of a text would not be found.
    """

    def __init__(self, shares: Mapping[str, float], spelt: Callable[[str], str]) -> None:
        self._shares, self.spelt = shares, spelt

    def __getitem__(self, word: str) -> float:
        share = self._shares.get(word)
        return self._shares[self.spelt(word)] if share is None else share

    def __iter__(self) -> Iterator[str]:
        return iter(self._shares)

    def __len__(self) -> int:
        return len(self._shares)

    def items(self) -> ItemsView[str, float]:
        """The words in wordfreq's spelling, with their shares."""
        return self._shares.items()  # faster than Mapping's own, which looks each word up

    def values(self) -> ValuesView[float]:
        """The shares."""
        return self._shares.values()

    @property
    def listed(self) -> Mapping[str, float]:
        """The shares of words in the spelling of the list; quicker if a language has only one."""
        return self._shares


@lru_cache(maxsize=2)  # a list takes 100 MB; a campaign needs that of its language
def frequencies(language: str) -> Shares:
    """The share of all words, for every word that wordfreq lists.

    Raises:
        NotCheckedError: wordfreq is not installed, or does not list this language.

    >>> frequencies("de")["straße"] == frequencies("de")["strasse"] > 0
    True
    """
    code = listed(language)
    from wordfreq import get_frequency_dict, get_frequency_list

    shares = get_frequency_dict(code, wordlist="best")
    for kept in (get_frequency_dict, get_frequency_list):
        kept.cache_clear()  # the package would keep each list for ever, a second time
    restored = _RESTORED.get(code, str)
    return Shares({restored(word): share for word, share in shares.items()}, _spelling(code))


def _spelling(code: Any) -> Callable[[str], str]:
    """A function that converts a word to wordfreq's spelling, with ``_RESTORED`` applied."""
    from wordfreq.preprocess import preprocess_text

    restored = _RESTORED.get(code, str)
    if code == "zh":
        try:
            from wordfreq.chinese import simplify_chinese
        except ImportError:  # without jieba, texts are not split into words either
            return str
        return lambda word: str(simplify_chinese(preprocess_text(word, code)))
    return lambda word: restored(preprocess_text(word, code))


def _final(word: str) -> str:
    """A Greek word with the final form of sigma at its end."""
    return f"{word[:-1]}ς" if word.endswith("σ") else word


def _sharp(word: str) -> str:
    """A German word with ß for ss, if simplemma knows this spelling."""
    if "ss" in word and _lemmatizer("de"):
        from simplemma import is_known

        sharp = word.replace("ss", "ß")
        return sharp if is_known(sharp, "de") else word
    return word


# wordfreq folds case like capitals do, so simplemma finds no lemma of Greek and many German words.
_RESTORED: dict[str, Callable[[str], str]] = {"de": _sharp, "el": _final}


def zipf(share: float) -> float:
    """A word's share of all words on the Zipf scale: log10 of its count per billion words.

    >>> round(zipf(1e-6), 6)
    3.0
    """
    return math.log10(share) + 9 if share > 0 else 0.0


CLEAR = 0.05  # scores at least this far from 0 are positive or negative, as VADER's authors advise


class Sentiment(NamedTuple):
    """The sentiment of each association by its id, higher being more positive, and who gave it.

    ``by`` is the name of the classifier, or of the file if no classifier is known.
    """

    by: str
    scores: Mapping[str, float]


def vader(texts: Iterable[str], *, language: str) -> list[float]:
    """VADER's compound score of each text (Hutto & Gilbert 2014).

    Args:
        texts: the texts.
        language: the language code of the texts.

    Returns:
        Scores from −1 (most negative) to 1; 0 for a text without words of the lexicon.

    Raises:
        NotCheckedError: the language is not English, or vaderSentiment is not installed.
    """
    if base(language) != "en":
        raise NotCheckedError(
            f"VADER's lexicon is English, but the texts are in «{language}»: "
            "use the scores of a classifier"
        )
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError:
        raise NotCheckedError("the package vaderSentiment is not installed", INSTALL) from None
    reader: Any = SentimentIntensityAnalyzer()
    return [float(reader.polarity_scores(text)["compound"]) for text in texts]

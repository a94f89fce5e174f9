"""Words of a text, their lemmas and how frequent they are, by language.

What a language needs and has not says so (``NotCheckedError``): no figure is ever made up for it.
"""

import math
import re
import unicodedata
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from functools import cache, lru_cache
from typing import Any

INSTALL = "pip install 'curation[language]'"


def _marks() -> str:
    """Accents, vowel signs and the like as part of a class; regular expressions name none."""
    found: list[list[int]] = []
    for code in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)):  # no other plane has any
        if unicodedata.category(chr(code)) in {"Mn", "Mc", "Me"}:
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in found)


# Letters and digits with their marks; joiners (Persian, Hindi) between them.
_RUN = rf"[^\W_]+(?:(?:[{_marks()}]|[\u200c\u200d]+(?=[^\W_]))+[^\W_]*)*"
# Inside words: apostrophes, the Catalan point, and the quotation marks of Hebrew short forms.
WORD = re.compile(rf"""{_RUN}(?:(?:['’·]|(?<=[א-ת])["״](?=[א-ת])){_RUN})*""")
LISTED_AS = {"bs": "sh", "hr": "sh", "no": "nb", "sr": "sh", "tl": "fil"}
"""Languages that wordfreq lists under another code."""
UNSPACED = {"bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh"}
"""Languages whose words no space parts."""
_DOTLESS = {"az", "tr"}  # I is the capital of ı, and İ of i


class NotCheckedError(Exception):
    """A measure cannot be taken here; the message says why, and what would help."""


def base(language: str) -> str:
    """A language code without its region or script.

    >>> base("pt-BR"), base("pt_BR")
    ('pt', 'pt')
    """
    return re.split("[-_]", language.lower(), maxsplit=1)[0]


def words(text: str, language: str) -> list[str]:
    """The words of a text, in small letters and their usual form, in order.

    A word is letters and digits with their marks, and apostrophes inside; a hyphen parts words.

    Raises:
        NotCheckedError: no space parts this language's words, and what parts them is not there.

    >>> words("The film-maker's café isn't open.", "en")
    ['the', 'film', "maker's", 'café', "isn't", 'open']
    >>> words("हिन्दी में", "hi"), words("Işık, İzmir", "tr")
    (['हिन्दी', 'में'], ['ışık', 'izmir'])
    """
    plain = _plain(text, language)
    if base(language) in UNSPACED:
        return _parted(plain, base(language))
    return WORD.findall(plain)


def words_of_each(chunks: Sequence[str], language: str) -> Iterator[list[str]]:
    """The words of each of many texts, as ``words`` has them, but faster.

    Args:
        chunks: texts without line breaks.
        language: one that spaces part.

    >>> list(words_of_each(["Café!", "isn’t", "—"], "en"))
    [['café'], ["isn't"], []]
    """
    if base(language) in UNSPACED:
        raise ValueError(f"no space parts {language}")
    # No rule of these forms looks past a line break, so all are brought to theirs in one go.
    for plain in _plain("\n".join(chunks), language).split("\n") if chunks else ():
        yield [plain] if plain.isalnum() else WORD.findall(plain)


def _plain(text: str, language: str) -> str:
    """Small letters, one form of each character, one apostrophe, no soft hyphens."""
    text = unicodedata.normalize("NFC", text).replace("’", "'").replace("\xad", "")
    if base(language) in _DOTLESS:
        text = text.replace("I", "ı").replace("İ", "i")
    return text.lower()


def _parted(text: str, language: str) -> list[str]:
    """Words of a language without spaces, as wordfreq parts them."""
    if language not in {"ja", "zh"}:
        raise NotCheckedError(f"nothing here parts «{language}» into words")
    try:
        from wordfreq.tokens import tokenize

        return list(tokenize(text, language))
    # Chinese needs jieba, Japanese MeCab; its failures are runtime errors.
    except (ImportError, OSError, RuntimeError) as error:
        raise NotCheckedError(
            f"wordfreq cannot part «{language}» into words ({str(error).strip() or 'no reason'}): "
            f"{INSTALL} 'wordfreq[cjk]'"
        ) from None


def lemma(word: str, language: str) -> str:
    """A word's dictionary form, in small letters; of a language that simplemma lacks, the word.

    An English word loses its possessive 's first, and a name of people its plural s.

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
    found = look(word, language).lower()
    if language == "en" and found == word and word.endswith("s"):
        # simplemma knows Norwegians, and norwegians only as a form of nothing.
        single = look(word.capitalize(), language).lower()
        return single if f"{single}s" == word else word
    return found


@cache
def _lemmatizer(language: str) -> Callable[[str, str], str] | None:
    """What looks lemmas up: simplemma, if it is installed and knows the language."""
    try:
        from simplemma import lemmatize

        lemmatize("a", language)
    except (ImportError, ValueError):
        return None
    return lemmatize


def has_lemmas(language: str) -> bool:
    """Whether lemmas of this language are known, and simplemma is installed."""
    return _lemmatizer(base(language)) is not None


def listed(language: str) -> str:
    """The code under which wordfreq lists a language.

    Raises:
        NotCheckedError: wordfreq is not installed, or has no list of it.
    """
    try:
        from wordfreq import available_languages
    except ImportError:
        raise NotCheckedError(f"the package wordfreq is not installed: {INSTALL}") from None
    # Left to itself wordfreq takes the nearest language that it has, and so Dutch for Afrikaans.
    code = LISTED_AS.get(base(language), base(language))
    if code not in available_languages("best"):
        raise NotCheckedError(f"wordfreq has no list of word frequencies for «{language}»")
    return code


class Shares(Mapping[str, float]):
    """Of words their share of all words; a word is found however it is spelt.

    wordfreq writes ß as ss, Serbian in Latin letters, Arabic without vowel signs and Chinese
    simplified: looked up as they stand in a text, such words would seem never to be written.
    """

    def __init__(self, shares: Mapping[str, float], spelt: Callable[[str], str]) -> None:
        self._shares, self.spelt = shares, spelt

    def __getitem__(self, word: str) -> float:
        found = self._shares.get(word)
        return self._shares[self.spelt(word)] if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._shares)

    def __len__(self) -> int:
        return len(self._shares)

    def items(self) -> ItemsView[str, float]:
        """Words as they are listed, and their shares."""
        return self._shares.items()  # many at once, without a look at each

    def values(self) -> ValuesView[float]:
        """The shares alone."""
        return self._shares.values()

    @property
    def listed(self) -> Mapping[str, float]:
        """The shares of words in the spelling of the list; quicker if a language has only one."""
        return self._shares


@cache
def frequencies(language: str) -> Shares:
    """Of every word that wordfreq lists, its share of all words.

    Raises:
        NotCheckedError: as ``listed``.

    >>> frequencies("de")["straße"] == frequencies("de")["strasse"] > 0
    True
    """
    code = listed(language)
    from wordfreq import get_frequency_dict

    shares = get_frequency_dict(code, wordlist="best")
    restored = _RESTORED.get(code, str)
    return Shares({restored(word): share for word, share in shares.items()}, _spelling(code))


def _spelling(code: Any) -> Callable[[str], str]:
    """How wordfreq writes words of a language, but for what is restored for the lemmas."""
    from wordfreq.preprocess import preprocess_text

    restored = _RESTORED.get(code, str)
    if code == "zh":
        try:
            from wordfreq.chinese import simplify_chinese
        except ImportError:  # without jieba no text is parted into words either
            return str
        return lambda word: str(simplify_chinese(preprocess_text(word, code)))
    return lambda word: restored(preprocess_text(word, code))


def _final(word: str) -> str:
    """A Greek word with the sigma that ends words."""
    return f"{word[:-1]}ς" if word.endswith("σ") else word


def _sharp(word: str) -> str:
    """A German word with ß for ss, where simplemma knows a word that is written so."""
    if "ss" in word and _lemmatizer("de"):
        from simplemma import is_known

        sharp = word.replace("ss", "ß")
        return sharp if is_known(sharp, "de") else word
    return word


# wordfreq writes words as if in capitals; no lemma is found of the Greek ones and many German ones.
_RESTORED: dict[str, Callable[[str], str]] = {"de": _sharp, "el": _final}


def zipf(share: float) -> float:
    """A share of all words on the Zipf scale: the logarithm to base 10 of a share of a billion.

    >>> round(zipf(1e-6), 6)
    3.0
    """
    return math.log10(share) + 9 if share > 0 else 0.0

"""Words of a text, their lemmas and how frequent they are, by language.

What a language needs and has not says so (``NotCheckedError``): no figure is ever made up for it.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

INSTALL = "pip install 'curation[language]'"
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
LISTED_AS = {"bs": "sh", "hr": "sh", "no": "nb", "sr": "sh", "tl": "fil"}
"""Languages that wordfreq lists under another code."""
UNSPACED = {"bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh"}
"""Languages whose words no space parts."""


class NotCheckedError(Exception):
    """A measure cannot be taken here; the message says why, and what would help."""


def base(language: str) -> str:
    """A language code without its region or script.

    >>> base("pt-BR")
    'pt'
    """
    return language.lower().partition("-")[0]


def words(text: str, language: str) -> list[str]:
    """The words of a text, in small letters and their usual form, in order.

    A word is letters and digits, with apostrophes inside; a hyphen parts words.

    Raises:
        NotCheckedError: no space parts this language's words, and what parts them is not there.

    >>> words("The film-maker's café isn't open.", "en")
    ['the', 'film', "maker's", 'café', "isn't", 'open']
    """
    plain = _plain(text)
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
    for plain in _plain("\n".join(chunks)).split("\n") if chunks else ():
        yield [plain] if plain.isalnum() else WORD.findall(plain)


def _plain(text: str) -> str:
    """Small letters, one form of each character, one apostrophe."""
    return unicodedata.normalize("NFC", text).replace("’", "'").lower()


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


@cache
def frequencies(language: str) -> Mapping[str, float]:
    """Of every word that wordfreq lists, its share of all words.

    Raises:
        NotCheckedError: as ``listed``.
    """
    code = listed(language)
    from wordfreq import get_frequency_dict

    return dict(get_frequency_dict(code, wordlist="best"))


def zipf(share: float) -> float:
    """A share of all words on the Zipf scale: the logarithm to base 10 of a share of a billion.

    >>> round(zipf(1e-6), 6)
    3.0
    """
    return math.log10(share) + 9 if share > 0 else 0.0

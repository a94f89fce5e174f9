"""Word lists by language, and the languages in which checks cannot run."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from curation.checks.codes import CASED, JOINED, PITFALLS
from curation.files import CurationError, read_text, shipped
from curation.formats.tables import read_csv
from curation.text.words import AFFIXING, UNSPACED, WORD, base

COLUMNS = ("language", "list", "word")
NAMES = {
    "negation",
    "pronoun_female",
    "pronoun_male",
    "gender_domain",
    "doubled_right",
    "function_word",
    "a_before",
    "an_before",
    "an_either",
    "violence",
    "public_figure",
    "profane_not",
    "name_not",
    "affix",
}
_CODE = re.compile(r"\*|[a-z]{2,3}(?:-\w+)*", re.ASCII)


class Words(NamedTuple):
    """One list: whole words, and beginnings and ends of words (``kein*``, ``*n't``)."""

    whole: frozenset[str]
    begins: tuple[str, ...]
    ends: tuple[str, ...]

    @property
    def anywhere(self) -> Iterable[str]:
        """All entries, for texts without spaces between words."""
        return sorted({*self.whole, *self.begins, *self.ends})

    def holds(self, word: str) -> bool:
        """Whether a word in lower case is on the list."""
        return word in self.whole or word.endswith(self.ends) or word.startswith(self.begins)

    def may_hold(self, tokens: Sequence[str]) -> bool:
        """Whether a word, or several in a row, may be on the list; if not, none is."""
        text = " ".join(tokens)
        parts = (*self.begins, *self.ends)
        return not _firsts(self.whole).isdisjoint(tokens) or any(part in text for part in parts)


@cache
def _firsts(entries: frozenset[str]) -> frozenset[str]:
    """The first word of each entry."""
    return frozenset(entry.partition(" ")[0] for entry in entries)


class Lists(NamedTuple):
    """All lists of a language, by name."""

    language: str
    words: Mapping[str, Words]

    def __contains__(self, name: object) -> bool:
        return name in self.words

    def get(self, name: str) -> Words:
        """A list; empty if the language does not have it."""
        return self.words.get(name, Words(frozenset(), (), ()))

    def first(self, name: str, tokens: Iterable[str], text: str) -> str | None:
        """The first word of a text that is on a list, or None.

        Args:
            name: the list's name.
            tokens: the words of the text.
            text: the text in lower case; it is searched if the language has no spaces between
                words.
        """
        entries = self.words.get(name)
        if entries is None:
            return None
        if base(self.language) in UNSPACED:
            return next((word for word in entries.anywhere if word in text), None)
        if not (entries.begins or entries.ends) and entries.whole.isdisjoint(tokens):
            return None
        return next((token for token in tokens if entries.holds(token)), None)


def in_small(text: str) -> str:
    """A text in lower case and in one Unicode form, ready for a search of words."""
    # The lower case of İ is two characters; the second would split the word.
    plain = unicodedata.normalize("NFC", text).replace("’", "'").replace("İ", "i")
    return plain.lower()


def lists(language: str, own: Path | None = None) -> Lists:
    """The word lists of a language: its rows in ``data/words/pitfalls.csv`` and those for all (*).

    Args:
        language: a language code; for ``pt-BR`` the rows of ``pt`` are included too.
        own: a file with the same columns, whose words are added.

    Raises:
        CurationError: a column is missing or a row is not valid; the message names the line.

    >>> lists("en-GB").get("negation").holds("isn't")
    True
    >>> "negation" in lists("tlh")
    False
    """
    codes = {"*", language.lower(), base(language)}
    by_name: dict[str, set[str]] = defaultdict(set)
    for code, name, word in [*_shipped(), *(_rows(own) if own else ())]:
        if code in codes:
            by_name[name].add(word)
    return Lists(language, {name: _words(words) for name, words in by_name.items()})


def _words(words: set[str]) -> Words:
    return Words(
        frozenset(word for word in words if "*" not in word),
        tuple(sorted(word[:-1] for word in words if word.endswith("*"))),
        tuple(sorted(word[1:] for word in words if word.startswith("*"))),
    )


@cache
def _shipped() -> list[tuple[str, str, str]]:
    return _rows(shipped("data", "words", "pitfalls.csv"))


def _rows(path: Path) -> list[tuple[str, str, str]]:
    columns, rows = read_csv(read_text(path), path)
    if missing := [name for name in COLUMNS if name not in columns]:
        raise CurationError(
            f"{path}: missing column: {', '.join(missing)}",
            f"the file needs the columns {', '.join(COLUMNS)}",
        )
    entries = []
    for number, row in rows:
        place = f"{path} line {number}"
        code, name, word = (" ".join(row.get(column, "").split()) for column in COLUMNS)
        if not (code and name and word.strip("*")) or "*" in word[1:-1] or "" in row:
            raise CurationError(
                f"{place}: the row must have a language, a list and a word, and nothing else",
                "fill in the three cells; * is allowed only before or after a word",
            )
        if name not in NAMES:
            raise CurationError(
                f"{place}: no list is called {name!r}", f"use one of {', '.join(sorted(NAMES))}"
            )
        if not _CODE.fullmatch(code.lower()):
            raise CurationError(
                f"{place}: {code!r} is not a language code",
                "write a code such as de or pt-BR, or *",
            )
        entries.append((code.lower(), name, in_small(word)))
    return entries


UNMARKED = {"lo", "th"}
"""Languages whose sentences end without a punctuation mark."""
JOINING = UNSPACED | {"ar", "fa", "he", "ko", "ku", "ps", "sd", "ug", "ur"}
"""Languages that join articles or particles to a word: a target inside a longer word is normal."""
UNCASED = {
    "am", "ar", "as", "bn", "bo", "ckb", "dv", "dz", "fa", "gu", "he", "hi", "ja", "km", "kn",
    "ko", "lo", "ml", "mr", "my", "ne", "or", "pa", "ps", "sd", "si", "ta", "te", "th", "ti",
    "ug", "ur", "yi", "yue", "zh",
}  # fmt: skip
"""Languages without capital letters."""

ENGLISH = 0.15
"""Share of function words: about 0.45 in English CATs, at most 0.05 in their translations."""
ENOUGH = 100  # words that show the language


def is_not_english(texts: Iterable[str]) -> bool:
    """Whether texts plainly are not English: few of their words are English function words.

    >>> is_not_english(["El panadero de la esquina trabaja por las noches."] * 20)
    True
    >>> is_not_english(["The baker at the corner works in the night."] * 20)
    False
    """
    english = lists("en").get("function_word")
    tokens = [word for text in texts for word in WORD.findall(in_small(text))]
    return len(tokens) >= ENOUGH and sum(map(english.holds, tokens)) < ENGLISH * len(tokens)


def unchecked(lists: Lists) -> dict[str, str]:
    """The codes of ``surface`` that cannot be checked in a language, with the reason."""
    language = base(lists.language)
    why = {}
    for code, needed in NEEDS.items():
        if lacking := [repr(name) for name in needed if name not in lists]:
            what, them = ("lists", "them") if len(lacking) > 1 else ("list", "one")
            why[code] = (
                f"no {what} {' and '.join(lacking)} for «{lists.language}»: "
                f"add {them} to your own word lists"
            )
    if language in UNMARKED:
        reason = f"sentences in «{lists.language}» end without a punctuation mark"
        why |= dict.fromkeys(("punctuation_missing", "punctuation_mixed"), reason)
    if language in UNSPACED:
        reason = f"«{lists.language}» has no spaces between words"
        why |= dict.fromkeys(("words_differ", "other_target", "word_doubled"), reason)
    if language in UNCASED:
        reason = f"«{lists.language}» has no capital letters"
        codes = (code for code, about in PITFALLS.items() if about.languages == CASED)
        why |= dict.fromkeys(codes, reason)
    if language in JOINING:
        why["target_inflected"] = f"«{lists.language}» joins articles or particles to words"
    if language not in AFFIXING:
        codes = (code for code, about in PITFALLS.items() if about.languages == JOINED)
        why |= dict.fromkeys(codes, f"«{lists.language}» is not known to join affixes to words")
    if language != "en":
        why["article_wrong"] = "English articles only"
    return why


NEEDS: Mapping[str, tuple[str, ...]] = {
    "negation_one_sided": ("negation",),
    "pronouns_opposite": ("pronoun_female", "pronoun_male"),
    "word_doubled": ("doubled_right",),
    "function_word": ("function_word",),
}
"""The word lists that a check needs."""

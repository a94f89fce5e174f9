"""Word lists by language: those that are shipped, and a team's own."""

import csv
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from curation.files import CurationError, read_text, shipped
from curation.words import UNSPACED, base

COLUMNS = ("language", "list", "word")
NAMES = {
    *("negation", "pronoun_female", "pronoun_male", "gender_domain", "doubled_right"),
    *("a_before", "an_before", "an_either", "violence", "public_figure"),
    *("profane_not", "name_not", "affix"),
}
_CODE = re.compile(r"\*|[a-z]{2,3}(?:-\w+)*", re.ASCII)


class Words(NamedTuple):
    """One list: words as they stand, and beginnings and ends of words (``kein*``, ``*n't``)."""

    whole: frozenset[str]
    begins: tuple[str, ...]
    ends: tuple[str, ...]

    @property
    def anywhere(self) -> Iterable[str]:
        """All of them, for texts whose words no space parts."""
        return sorted({*self.whole, *self.begins, *self.ends})

    def holds(self, word: str) -> bool:
        """Whether a word in small letters is on the list."""
        return word in self.whole or word.endswith(self.ends) or word.startswith(self.begins)


class Lists(NamedTuple):
    """All lists that serve a language, by name."""

    language: str
    words: Mapping[str, Words]

    def __contains__(self, name: object) -> bool:
        return name in self.words

    def get(self, name: str) -> Words:
        """A list; empty where the language has none."""
        return self.words.get(name, Words(frozenset(), (), ()))

    def first(self, name: str, tokens: Iterable[str], text: str) -> str | None:
        """The first word of a text that is on a list, or None.

        Args:
            name: the list's name.
            tokens: the words of the text.
            text: the text in small letters; looked through where no space parts words.
        """
        found = self.words.get(name)
        if found is None:
            return None
        if base(self.language) in UNSPACED:
            return next((word for word in found.anywhere if word in text), None)
        return next((token for token in tokens if found.holds(token)), None)


def in_small(text: str) -> str:
    """A text in small letters and one form of each, as words are looked for in it."""
    # The small form of İ is two characters, of which the second would part the word.
    plain = unicodedata.normalize("NFC", text).replace("’", "'").replace("İ", "i")
    return plain.lower()


def lists(language: str, own: Path | None = None) -> Lists:
    """The lists for a language: the rows of ``data/words/pitfalls.csv`` for it and for all (*).

    Args:
        language: a language code; of ``pt-BR`` the rows of ``pt`` hold as well.
        own: a file of the same columns, whose words are added.

    Raises:
        CurationError: a file lacks a column or a row a cell; names the line.

    >>> lists("en-GB").get("negation").holds("isn't")
    True
    >>> "negation" in lists("tlh")
    False
    """
    codes = {"*", language.lower(), base(language)}
    found: dict[str, set[str]] = defaultdict(set)
    for code, name, word in [*_shipped(), *(_rows(own) if own else ())]:
        if code in codes:
            found[name].add(word)
    return Lists(language, {name: _words(words) for name, words in found.items()})


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
    rows = csv.DictReader(StringIO(read_text(path), newline=""))
    if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
        raise CurationError(
            f"{path}: no column {', '.join(missing)}", f"the columns are {', '.join(COLUMNS)}"
        )
    found = []
    for row in rows:
        code, name, word = (" ".join((row[column] or "").split()) for column in COLUMNS)
        place = f"{path} line {rows.line_num}"
        if not (code and name and word.strip("*")) or "*" in word[1:-1] or None in row:
            raise CurationError(
                f"{place}: no language, list or word, or more than these",
                "fill the three cells; * stands only before or after a word",
            )
        if name not in NAMES:
            raise CurationError(
                f"{place}: no list {name!r}", f"they are {', '.join(sorted(NAMES))}"
            )
        if not _CODE.fullmatch(code.lower()):
            raise CurationError(f"{place}: {code!r} is no language code", "write de, pt-BR or *")
        found.append((code.lower(), name, in_small(word)))
    return found

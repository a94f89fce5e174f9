"""Listed words in texts: whole words, sequences of words, and strings in unspaced languages.

At each place the longest listed word counts, and places do not overlap: «head nurse» is not also a
mention of «nurse» if both are listed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from curation.files import CurationError
from curation.text.words import MARKS, UNSPACED, base, plain, words
from curation.trust.measure.groups import Groups

Form = tuple[str, ...]
"""A listed word as texts are compared with it: its words, or one string (unspaced languages)."""


class Place(NamedTuple):
    """A listed word: its number, and the first and one after the last token (or character)."""

    number: int
    start: int
    end: int


def form(word: str, language: str) -> Form:
    """A listed word in the form in which texts are compared with it; empty without letters.

    >>> form("Film-Maker’s", "en"), form("看護師", "ja")
    (('film', "maker's"), ('看護師',))
    """
    if base(language) in UNSPACED:
        text = " ".join(plain(word, language).split())
        return (text,) if any(character.isalnum() for character in text) else ()
    return tuple(words(word, language))


class Lexicon:
    """Words to look for.

    Attributes:
        language: of the words and of the texts.
        names: the words as the lists have them; a word that several lists have is there once.
    """

    def __init__(self, listed: Iterable[str], language: str) -> None:
        """Prepare words.

        Raises:
            CurationError: a word has no letters and no digits.
        """
        self.language = language
        self.numbers: dict[Form, int] = {}
        names = list[str]()
        for word in listed:
            key = form(word, language)
            if not key:
                raise CurationError(f"{word!r}: has no letters", "correct the list of words")
            if self.numbers.setdefault(key, len(names)) == len(names):
                names.append(word)
        self.names: Sequence[str] = tuple(names)

    @property
    def unspaced(self) -> bool:
        """Whether texts are searched for strings of characters."""
        return base(self.language) in UNSPACED

    def of(self, words: Iterable[str]) -> list[int]:
        """The numbers of words; those that are not listed are left out."""
        forms = (form(word, self.language) for word in words)
        return [self.numbers[key] for key in forms if key in self.numbers]

    @cached_property
    def tokens(self) -> frozenset[str]:
        """All words that listed words consist of."""
        return frozenset(token for key in self.numbers for token in key)

    @cached_property
    def longest(self) -> int:
        """The number of tokens of the longest listed word."""
        return max(map(len, self.numbers), default=1)

    def places(self, tokens: Sequence[str]) -> tuple[Place, ...]:
        """The listed words in a sequence of tokens, from left to right, the longest first.

        >>> Lexicon(["nurse", "head nurse"], "en").places(["head", "nurse", "and", "nurse"])
        (Place(number=1, start=0, end=2), Place(number=0, start=3, end=4))
        """
        found, at = list[Place](), 0
        while at < len(tokens):
            for end in range(min(at + self.longest, len(tokens)), at, -1):
                number = self.numbers.get(tuple(tokens[at:end]))
                if number is not None:
                    found.append(Place(number, at, end))
                    at = end
                    break
            else:
                at += 1
        return tuple(found)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The listed strings, the longest first. A mark after a string changes its last letter."""
        strings = sorted((key[0] for key in self.numbers), key=len, reverse=True)
        return re.compile(f"(?:{'|'.join(map(_string, strings))})(?![{MARKS}])")

    def strings(self, text: str) -> Iterator[Place]:
        """The listed strings in a text from ``plain``, the longest first.

        >>> [place.number for place in Lexicon(["看護", "看護師"], "ja").strings("看護師は看護を")]
        [1, 0]
        """
        for match in self._pattern.finditer(text):
            yield Place(self.numbers[(" ".join(match[0].split()),)], *match.span())


def _string(text: str) -> str:
    """A pattern of a string; Latin letters and digits at its ends do not cut a word."""
    pattern = r"\s+".join(map(re.escape, text.split()))
    before = r"(?<![a-z0-9])" if text[0].isascii() and text[0].isalnum() else ""
    after = r"(?![a-z0-9])" if text[-1].isascii() and text[-1].isalnum() else ""
    return before + pattern + after


class Lists(NamedTuple):
    """The words of groups and targets, prepared.

    Attributes:
        groups: the groups and targets.
        lexicon: all words.
        targets: the numbers of the targets that have a word, by the word's number.
        owners: the number of the group of a word, by the word's number.
    """

    groups: Groups
    lexicon: Lexicon
    targets: Mapping[int, tuple[int, ...]]
    owners: Mapping[int, int]

    def one_group(self, words: Iterable[int]) -> int | None:
        """The number of the only group that words belong to; None if there is none, or several."""
        owners = {self.owners[word] for word in words}
        return owners.pop() if len(owners) == 1 else None


def lists(groups: Groups, language: str) -> Lists:
    """The words of groups and targets.

    Raises:
        CurationError: a word has no letters, or words that differ only in spelling belong to two
            groups, or to a group and a target.
    """
    where = f"[groups.{groups.name}]"
    listed = [*groups.words.values(), *groups.targets.values()]
    try:
        lexicon = Lexicon([word for each in listed for word in each], language)
    except CurationError as error:
        raise CurationError(f"{where}: {error.what}", error.fix) from None
    owners, targets = dict[int, int](), dict[int, tuple[int, ...]]()
    fix = "a word can belong to one group only: remove it from one of the lists"
    for kind, every in (("group", groups.words), ("target", groups.targets)):
        for place, (name, members) in enumerate(every.items()):
            for word, number in zip(members, lexicon.of(members), strict=True):
                owner = owners.setdefault(number, place) if kind == "group" else owners.get(number)
                if owner is not None and (kind == "target" or owner != place):
                    raise CurationError(
                        f"{where}: «{word}» of the {kind} «{name}» is the same word in texts as "
                        f"«{lexicon.names[number]}» of the group «{groups.names[owner]}»",
                        fix,
                    )
                if kind == "target" and place not in targets.get(number, ()):
                    targets[number] = (*targets.get(number, ()), place)
        fix = "remove it from the targets or from the group's list"
    return Lists(groups, lexicon, targets, owners)

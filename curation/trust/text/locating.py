"""The positions of sentences and listed words in one document."""

import re
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from curation.trust.text.chunks import Codes
from curation.trust.text.matching import Place
from curation.trust.text.scanning import (
    ENDING,
    Held,
    Scanner,
    listed_runs,
    mark_blank_lines,
    sentences_of,
)
from curation.words import MARKS, WORD, plain

_CHUNK = re.compile(r"\S+")
_CLUSTER = re.compile(rf"[^{MARKS}][{MARKS}\xad]*|[{MARKS}\xad]+")


class Located(NamedTuple):
    """The sentences of a document, and the listed words in them in order.

    Attributes:
        spans: the first and the one after the last character of each sentence.
        places: the listed words.
    """

    spans: list[tuple[int, int]]
    places: list["LocatedWord"]


class LocatedWord(NamedTuple):
    """A listed word: its sentence, its number, and its characters in the document."""

    sentence: int
    word: int
    start: int
    end: int


def locate(scanner: Scanner, text: str) -> Located:
    """Sentences and listed words of a document, the same as ``scanner.scan`` finds."""
    return _strings(scanner, text) if scanner.lexicon.unspaced else _words(scanner, text)


def _words(scanner: Scanner, text: str) -> Located:
    marked = mark_blank_lines(text)
    chunks = [match.span() for match in _CHUNK.finditer(marked)]
    table = scanner.chunks
    table.limit()
    codes = np.array([table[marked[start:end].encode()] for start, end in chunks], np.int32)
    held = sentences_of(codes)
    if not len(held.place):
        return Located([], [])
    spans = [
        _trimmed(text, chunks[first][0], chunks[last][1])
        for first, last in _first_and_last(held, codes)
    ]
    places = []
    for sentence, run in listed_runs(held):
        tokens, at = list[str](), list[tuple[int, int]]()
        for start, end in (chunks[held.place[number]] for number in run):
            chunk = text[start:end].rstrip()
            compared = plain(chunk, table.language)
            begins, ends = offsets(chunk, table.language)
            for match in WORD.finditer(compared):
                tokens.append(match[0])
                at.append((start + begins[match.start()], start + ends[match.end() - 1]))
        places += [
            LocatedWord(sentence, number, at[first][0], at[last - 1][1])
            for number, first, last in scanner.lexicon.places(tokens)
        ]
    return Located(spans, places)


def _first_and_last(held: Held, codes: Codes) -> list[tuple[int, int]]:
    """The first and last chunk of each sentence: all up to the first with an end."""
    new = np.flatnonzero(np.diff(held.sentence, prepend=0))
    ends = np.flatnonzero(codes & ENDING)
    # The first chunk with an end at or after the last word of each sentence.
    lasts = ends[np.searchsorted(ends, held.place[new - 1])].tolist()
    return list(zip([0, *(last + 1 for last in lasts)], [*lasts, len(codes) - 1], strict=True))


def _strings(scanner: Scanner, text: str) -> Located:
    compared = plain(text, scanner.lexicon.language)
    begins, ends = offsets(text, scanner.lexicon.language)
    spans = scanner.spans(compared)
    if not spans:
        return Located([], [])
    limits = [end for _, end in spans]

    def located(place: Place) -> LocatedWord:
        sentence = min(bisect_right(limits, place.start), len(spans) - 1)
        return LocatedWord(sentence, place.number, begins[place.start], ends[place.end - 1])

    places = [located(place) for place in scanner.lexicon.strings(compared)]
    return Located([_trimmed(text, begins[start], ends[end - 1]) for start, end in spans], places)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def offsets(text: str, language: str) -> tuple[list[int], list[int]]:
    r"""Where in a text each character of ``plain(text)`` begins and ends.

    >>> offsets("Éte\u0301", "fr")
    ([0, 1, 2], [1, 2, 4])
    """
    compared = plain(text, language)
    if text.isascii():
        return list(range(len(text))), list(range(1, len(text) + 1))
    begins, ends = list[int](), list[int]()
    for match in _CLUSTER.finditer(text):
        length = len(plain(match[0], language))
        begins += [match.start()] * length
        ends += [match.end()] * length
    if len(begins) != len(compared):  # letters that are composed of letters (Hangul)
        return [0] * len(compared), [len(text)] * len(compared)
    return begins, ends

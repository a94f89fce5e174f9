"""Sentences and listed words of many documents at once.

A text is cut at white space. ``chunks`` says of each chunk whether it has words, which of them are
listed, and whether a sentence may end after it. The rest is arithmetic on arrays of numbers. The
results are those of splitting and comparing everything, because no rule of words looks past white
space.

Languages without spaces between words are searched for strings of characters, document by document.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.trust.text.chunks import (
    BITS,
    BLANK_LINE,
    DOCUMENT,
    END,
    LISTED,
    MARK,
    SMALL,
    WANTED,
    WORDS,
    Chunks,
    Codes,
)
from curation.trust.text.matching import Lexicon
from curation.trust.text.sentences import unspaced_ends
from curation.words import plain

Ints = NDArray[np.int64]
BATCH = 1 << 16  # characters to scan at once: more would not fit into the processor's cache
ENDING = END | BLANK_LINE
_BLANK = re.compile(r"\n[^\S\n]*(?=\n)")


class Hit(NamedTuple):
    """A listed word: the document's position in the list, the sentence in it, the word's number."""

    document: int
    sentence: int
    word: int


class Scan(NamedTuple):
    """What was found in a list of documents.

    Attributes:
        lengths: shape (documents,), the number of sentences of each document.
        hits: in the order of the documents and sentences.
    """

    lengths: Ints
    hits: list[Hit]


def batches(documents: Sequence[str]) -> Iterator[Sequence[str]]:
    """Documents in lists that the processor's cache holds with all their chunks."""
    start = size = 0
    for place, document in enumerate(documents, 1):
        size += len(document)
        if size > BATCH:
            yield documents[start:place]
            start, size = place, 0
    if start < len(documents):
        yield documents[start:]


def mark_blank_lines(text: str) -> str:
    r"""A text of the same length in which blank lines are NUL characters before white space.

    >>> mark_blank_lines("a\n\nb\n \nc\nd")
    'a\x00\nb\x00 \nc\nd'
    """
    if "\n" not in text:
        return text
    text = text.replace("\n\n", "\0\n")
    return _BLANK.sub(_as_nul, text) if _BLANK.search(text) else text


def _as_nul(match: re.Match[str]) -> str:
    return "\0" + " " * (len(match[0]) - 1)


@lru_cache(maxsize=1)
def scanner(
    words: tuple[str, ...], language: str, *, wanted: frozenset[int] | None, window: int
) -> "Scanner":
    """A scanner of this process: what it knows of chunks serves all shards of a corpus."""
    return Scanner(Lexicon(words, language), wanted=wanted, window=window)


class Scanner:
    """Finds sentences and listed words in documents.

    Args of ``__init__``:
        lexicon: the words to find.
        wanted: the numbers of the words near which others are found; by default all.
        window: how many sentences a context has; other words are only found in contexts of wanted
            words.
    """

    def __init__(
        self, lexicon: Lexicon, *, wanted: Collection[int] | None = None, window: int = 1
    ) -> None:
        """See the class."""
        self.lexicon, self.window = lexicon, window
        self.wanted = None if wanted is None else frozenset(wanted)
        self.chunks = Chunks(lexicon, self.wanted)
        self.ends = unspaced_ends(lexicon.language) if lexicon.unspaced else None

    def scan(self, documents: Sequence[str]) -> Scan:
        """The sentences and the listed words of documents without NUL characters."""
        return self._strings(documents) if self.lexicon.unspaced else self._words(documents)

    # --- languages with spaces between words ------------------------------------------------

    def _words(self, documents: Sequence[str]) -> Scan:
        self.chunks.limit()
        held = sentences_of(self.chunks.codes(mark_blank_lines(f" {MARK} ".join(documents))))
        lengths = np.zeros(len(documents), np.int64)
        if not len(held.sentence):
            return Scan(lengths, [])
        first = np.flatnonzero(np.diff(held.document, prepend=-1))
        starts = held.sentence[first]
        lengths[held.document[first]] = np.diff(starts, append=held.sentence[-1] + 1)
        firsts = dict(zip(held.document[first].tolist(), starts.tolist(), strict=True))
        near = self._near(held)
        hits = list[Hit]()
        for sentence, run in listed_runs(held, near):
            document = held.document.item(run[0])
            key = tuple([held.codes.item(place) >> BITS for place in run])
            at = sentence - firsts[document]
            hits += [Hit(document, at, number) for number in self.chunks.listed(key)]
        return Scan(lengths, hits)

    def _near(self, held: "Held") -> NDArray[np.bool_]:
        """Which sentences are less than a window away from a wanted word."""
        near = np.zeros(int(held.sentence[-1]) + 1, bool)
        near[held.sentence[held.codes & WANTED > 0]] = True
        spread = near.copy()
        for distance in range(1, self.window):
            spread[distance:] |= near[:-distance]
            spread[:-distance] |= near[distance:]
        return spread

    # --- languages without spaces between words ---------------------------------------------

    def _strings(self, documents: Sequence[str]) -> Scan:
        lengths, hits = [], list[Hit]()
        for position, document in enumerate(documents):
            text = plain(document, self.lexicon.language)
            ends = [end for _, end in self.spans(text)]
            lengths.append(len(ends))
            found = [
                Hit(position, min(bisect_right(ends, place.start), len(ends) - 1), place.number)
                for place in (self.lexicon.strings(text) if ends else ())
            ]
            if self.wanted is None or any(hit.word in self.wanted for hit in found):
                hits += found
        return Scan(np.array(lengths, np.int64), hits)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The sentences of a text of an unspaced language; each has a letter or a digit."""
        assert self.ends is not None
        spans, start = list[tuple[int, int]](), 0
        for end in (*(match.end() for match in self.ends.finditer(text)), len(text)):
            if any(map(str.isalnum, text[start:end])):
                spans.append((start, end))
                start = end
        if spans:
            spans[-1] = (spans[-1][0], len(text))
        return spans


class Held(NamedTuple):
    """The chunks with words.

    Attributes:
        place: the position of each among all chunks.
        codes: what is known of each.
        sentence: the number of its sentence, from 0 over all documents.
        document: the position of its document.
    """

    place: Ints
    codes: Codes
    sentence: Ints
    document: Ints


def sentences_of(codes: Codes) -> Held:
    """The sentences of chunks: a new one begins after an end, unless the next word is small.

    Args:
        codes: shape (chunks,), from ``Chunks``.
    """
    place: Ints = np.flatnonzero(codes & WORDS > 0)
    held = codes[place]
    signs = np.flatnonzero(codes & (END | BLANK_LINE | DOCUMENT) > 0)
    following = np.searchsorted(place, signs, "right")
    signs, following = signs[following < len(place)], following[following < len(place)]
    ends = codes[signs] & (BLANK_LINE | DOCUMENT) | ~held[following] & SMALL
    new = np.zeros(len(place), bool)
    new[following[ends > 0]] = True
    sentence: Ints = np.cumsum(new) - new[:1].sum()
    of_documents = np.searchsorted(place, np.flatnonzero(codes & DOCUMENT > 0))
    sizes = np.diff(of_documents, prepend=0, append=len(place))
    return Held(place, held, sentence, np.repeat(np.arange(len(sizes)), sizes))


def listed_runs(
    held: Held, near: NDArray[np.bool_] | None = None
) -> Iterator[tuple[int, list[int]]]:
    """Chunks with listed words; those side by side in a sentence are together.

    Args:
        held: from ``sentences_of``.
        near: shape (sentences,), which sentences to look at; by default all.

    Yields:
        The number of the sentence, and the positions in ``held``.
    """
    listed = np.flatnonzero(held.codes & LISTED > 0)
    if near is not None:
        listed = listed[near[held.sentence[listed]]]
    run: list[int] = []
    last = -1
    for place, sentence in zip(listed.tolist(), held.sentence[listed].tolist(), strict=True):
        if run and sentence == last and place == run[-1] + 1:
            run.append(place)
            continue
        if run:
            yield last, run
        run, last = [place], sentence
    if run:
        yield last, run

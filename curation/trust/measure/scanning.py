"""Sentences and listed words of texts: of many documents at once, or with their characters in one.

A text is cut at white space. ``Chunks`` says of each chunk whether it has words, which of them are
listed, and whether a sentence may end after it. The rest is arithmetic on arrays of numbers. The
results are those of splitting and comparing everything, because no rule of words looks past white
space.

Most chunks are ASCII, begin with a letter or digit, and have no sign that can end a sentence. What
must be known of these can be read from their bytes, for many at once. Every other chunk, and each
that may have a listed word, is examined in full, once for each distinct chunk.

Languages without spaces between words are searched for strings of characters, document by document.

A sentence ends at white space if the text before it ends with a sign such as . ! ? … । or ؟ (and
closing quotation marks or brackets), and the next word does not begin with a small letter. A full
stop does not end a sentence after a listed abbreviation, an initial (J. Smith), letters with points
between them (U.S., e.g.), and, in languages that write ordinals so, a number of one or two digits.
A blank line ends a sentence, a single line break does not. Languages without spaces between words
end sentences at their own signs. Thai and Lao have none, so white space ends a sentence there.
``data/trust/sentences.toml`` has the signs and abbreviations.
"""

import os
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from curation.files import CurationError, shipped
from curation.formats.toml_files import read_toml
from curation.text.words import MARKS, WORD, base, plain
from curation.trust.measure.matching import Lexicon, Place
from curation.work.engine import Engine, each_shard
from curation.work.shards import Shard, documents, shards

T = TypeVar("T")
Batches = Iterator[Sequence[str]]
Hit = tuple[int, int]
Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
BATCH = 1 << 18  # characters to scan at once: more would not fit into the processor's cache
DISTINCT = 1 << 19  # chunks to remember, about 100 bytes each
WORDS, SMALL, END, BLANK_LINE, DOCUMENT, LISTED, WANTED, SPACE = (1 << bit for bit in range(8))
"""Bits of a code: the chunk has words, begins with a small letter, may end a sentence, is before a
blank line, is between documents, has listed words, has wanted words, has white space in it."""
BITS = 8
MARK = "\0\1\0"  # between documents: no text has NUL characters
_ASCII_SPACE = b" \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f"
_LETTER, _OTHER, _SPECIAL = 1, 2, 3
_PREFIX = 4  # characters of a word
_KINDS = 28  # of characters in prefixes: no letter or digit, a digit, and 26 letters
_CHARACTERS = bytes(
    0 if not chr(n).isascii() or not chr(n).isalnum() else 1 if chr(n).isdigit() else n % 32 + 1
    for n in range(256)
)
"""The kind of each byte: A and a are 2, because they are 65 and 97."""
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_BLANK = re.compile(r"\n[^\S\n]*(?=\n)")
_CHUNK = re.compile(r"\S+")
_JOINED = rf"[{MARKS}\xad\u1160-\u11ff]"  # also vowels and ends of Korean syllables
_CLUSTER = re.compile(rf"[^{MARKS}]{_JOINED}*|{_JOINED}+")


@dataclass(frozen=True)
class Texts:
    """A corpus, and how it is read.

    Attributes:
        paths: ``.txt`` files with a document on each line, ``.jsonl`` files with one in each
            record, both also as ``.gz``, or ``.parquet`` files with one in each row.
        language: of the texts; words are those of ``curation.text.words``.
        window: sentences of a context.
        field: the field of a JSON record, or the column of a Parquet file, that has the text.
        engine: "local" or "ray". On Ray every machine must see the files under the same path.
        workers: how many run at once; by default one per processor.
    """

    paths: Sequence[Path]
    language: str = "en"
    window: int = 3
    field: str = "text"
    engine: Engine = "local"
    workers: int | None = None

    def shards(self, pieces: int) -> list[Shard]:
        """The files, cut for a number of workers.

        Raises:
            CurationError: there is no file, or a file is missing, empty or of an unknown type.
        """
        if not self.paths:
            raise CurationError("no file to measure", "name at least one file")
        return shards(
            self.paths, language=self.language, field=self.field, workers=pieces, documents=True
        )

    def read(
        self,
        work: Callable[[Batches], T],
        *,
        tell: Callable[[int], None] | None = None,
        pieces: int | None = None,
    ) -> Iterator[tuple[int, T]]:
        """Apply ``work`` to every part of the corpus: the position of the file and a result.

        Args:
            work: takes lists of documents; it and its results must be picklable.
            tell: called with the number of bytes read since the last call.
            pieces: the number of workers to cut for; by default as many as there are.

        Raises:
            CurationError: a file cannot be read.
        """
        parts = self.shards(pieces or self.workers or os.cpu_count() or 1)
        own = partial(_of_shard, work)
        with closing(each_shard(own, parts, engine=self.engine, workers=self.workers)) as each:
            for index, result in each:
                yield parts[index].file, result
                if tell:
                    tell(parts[index].size)


class Scan(NamedTuple):
    """What was found in a list of documents.

    Attributes:
        lengths: shape (documents,), the number of sentences of each document.
        hits: the sentence and number of each listed word, in order, by the document's position.
    """

    lengths: Ints
    hits: dict[int, list[Hit]]


class LocatedWord(NamedTuple):
    """A listed word: its sentence, its number, and its characters in the document."""

    sentence: int
    word: int
    start: int
    end: int


class Located(NamedTuple):
    """The sentences of a document, and the listed words in them in order.

    Attributes:
        spans: the first and the one after the last character of each sentence.
        places: the listed words.
    """

    spans: list[tuple[int, int]]
    places: list[LocatedWord]


def _of_shard(work: Callable[[Batches], T], shard: Shard) -> T:
    return work(_batches(shard))


def _batches(shard: Shard) -> Batches:
    """A shard's documents in lists that the processor's cache holds with all their chunks."""
    for texts in documents(shard):
        start = size = 0
        for place, document in enumerate(texts, 1):
            size += len(document)
            if size > BATCH or place == len(texts):
                yield texts[start:place]
                start, size = place, 0


@lru_cache(maxsize=1)
def scanner(
    words: tuple[str, ...], language: str, *, wanted: frozenset[int] | None, window: int
) -> "Scanner":
    """A scanner of this process: what it knows of chunks serves all shards of a corpus."""
    return Scanner(Lexicon(words, language), wanted=wanted, window=window)


class Scanner:
    """Finds sentences and listed words in documents without NUL characters.

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
        self.wanted = frozenset(range(len(lexicon.names)) if wanted is None else wanted)
        self.chunks = Chunks(lexicon, self.wanted)
        self.ends = unspaced_ends(lexicon.language) if lexicon.unspaced else None

    def scan(self, documents: Sequence[str]) -> Scan:
        """The sentences of documents, and the listed words near wanted ones."""
        if self.ends:
            return self._scan_strings(documents)
        held = self._held(mark_blank_lines(f" {MARK} ".join(documents)))
        lengths, before = np.zeros((2, len(documents)), np.int64)
        first = np.flatnonzero(np.diff(held.document, prepend=-1))
        of, starts = held.document[first], held.sentence[first]
        lengths[of] = np.diff(starts, append=held.sentence[-1:] + 1)
        before[of] = starts
        numbers, hits = held.codes >> BITS, defaultdict[int, list[Hit]](list)
        for start, end in self._runs(held):
            document = held.document.item(start)
            at = held.sentence.item(start) - before.item(document)
            for word in self.chunks.listed(tuple(numbers[start:end].tolist())):
                hits[document].append((at, word))
        return Scan(lengths, hits)

    def locate(self, text: str) -> Located:
        """Sentences and listed words of a document, the same as ``scan`` finds."""
        if self.ends:
            return self._locate_strings(text)
        marked = mark_blank_lines(text)
        held = self._held(marked)
        if not len(held.place):
            return Located([], [])
        chunks = [match.span() for match in _CHUNK.finditer(marked)]
        # A sentence has all up to the first chunk with an end at or after its last word.
        words = held.place[np.flatnonzero(np.diff(held.sentence))]
        lasts = held.ends[np.searchsorted(held.ends, words)].tolist()
        spans = [
            _trimmed(text, chunks[first][0], chunks[last][1])
            for first, last in zip([0, *(last + 1 for last in lasts)], [*lasts, -1], strict=True)
        ]
        places = list[LocatedWord]()
        for start, end in self._runs(held):
            at, sentence = chunks[held.place[start]][0], held.sentence.item(start)
            part = text[at : chunks[held.place[end - 1]][1]]
            begins, ends = offsets(part, self.lexicon.language)
            tokens = list(WORD.finditer(plain(part, self.lexicon.language)))
            for number, first, last in self.lexicon.places([token[0] for token in tokens]):
                begin, final = tokens[first].start(), tokens[last - 1].end() - 1
                places.append(LocatedWord(sentence, number, at + begins[begin], at + ends[final]))
        return Located(spans, places)

    # --- languages with spaces between words ------------------------------------------------

    def _held(self, marked: str) -> "Held":
        """The chunks with words. A sentence begins after an end, unless a small word follows."""
        self.chunks.limit()
        codes = self.chunks.codes(marked)
        place: Ints = np.flatnonzero(codes & WORDS > 0)
        held = codes[place]
        ends = np.flatnonzero(codes & (END | BLANK_LINE | DOCUMENT) > 0)
        following = np.searchsorted(place, ends, "right")
        signs, following = ends[following < len(place)], following[following < len(place)]
        is_end = codes[signs] & (BLANK_LINE | DOCUMENT) | ~held[following] & SMALL
        new = np.zeros(len(place), bool)
        new[following[is_end > 0]] = True
        sentence: Ints = np.cumsum(new) - new[:1].sum()
        of_documents = np.searchsorted(place, np.flatnonzero(codes & DOCUMENT > 0))
        sizes = np.diff(of_documents, prepend=0, append=len(place))
        return Held(place, held, sentence, np.repeat(np.arange(len(sizes)), sizes), ends)

    def _runs(self, held: "Held") -> list[tuple[int, int]]:
        """The first and the one after the last of listed chunks side by side in a sentence.

        Only sentences less than a window away from a wanted word are looked at.
        """
        near = np.zeros(int(held.sentence[-1:].sum()) + 1, bool)
        near[held.sentence[held.codes & WANTED > 0]] = True
        spread = near.copy()
        for distance in range(1, self.window):
            spread[distance:] |= near[:-distance]
            spread[:-distance] |= near[distance:]
        listed = np.flatnonzero(held.codes & LISTED > 0)
        listed = listed[spread[held.sentence[listed]]]
        new = np.diff(listed, prepend=-2) > 1
        new |= np.diff(held.sentence[listed], prepend=-1) > 0
        starts = listed[new].tolist()
        return list(zip(starts, (listed[np.roll(new, -1)] + 1).tolist(), strict=True))

    # --- languages without spaces between words ---------------------------------------------

    def _strings(self, compared: str) -> tuple[list[tuple[int, int]], list[tuple[int, Place]]]:
        """The sentences, which have a letter or digit, and the words with their sentence."""
        assert self.ends
        spans, start = list[tuple[int, int]](), 0
        for end in (*(match.end() for match in self.ends.finditer(compared)), len(compared)):
            if any(map(str.isalnum, compared[start:end])):
                spans.append((start, end))
                start = end
        if not spans:
            return [], []
        spans[-1] = (spans[-1][0], len(compared))
        ends = [end for _, end in spans[:-1]]
        return spans, [(bisect_right(ends, p.start), p) for p in self.lexicon.strings(compared)]

    def _scan_strings(self, documents: Sequence[str]) -> Scan:
        lengths, hits = [], dict[int, list[Hit]]()
        for position, document in enumerate(documents):
            spans, places = self._strings(plain(document, self.lexicon.language))
            lengths.append(len(spans))
            if any(place.number in self.wanted for _, place in places):
                hits[position] = [(sentence, place.number) for sentence, place in places]
        return Scan(np.array(lengths, np.int64), hits)

    def _locate_strings(self, text: str) -> Located:
        begins, ends = offsets(text, self.lexicon.language)
        spans, places = self._strings(plain(text, self.lexicon.language))
        words = [
            LocatedWord(sentence, number, begins[start], ends[end - 1])
            for sentence, (number, start, end) in places
        ]
        return Located([_trimmed(text, begins[a], ends[b - 1]) for a, b in spans], words)


class Held(NamedTuple):
    """The chunks with words.

    Attributes:
        place: the position of each among all chunks.
        codes: what is known of each.
        sentence: the number of its sentence, from 0 over all documents.
        document: the position of its document.
        ends: the positions of all chunks after which a sentence may end.
    """

    place: Ints
    codes: Codes
    sentence: Ints
    document: Ints
    ends: Ints


# --- chunks -------------------------------------------------------------------------------------


class Chunks(dict[bytes, int]):
    """What is known of each distinct chunk, as bits; listed words have a number above the bits."""

    def __init__(self, lexicon: Lexicon, wanted: Collection[int]) -> None:
        """Prepare a table.

        Args:
            lexicon: the listed words.
            wanted: the numbers of the words near which others count.
        """
        super().__init__()
        self.lexicon, self.language = lexicon, lexicon.language
        self.ends = ends_sentence(self.language)
        self.small = continues_sentence(self.language)
        self.wanted = {token for key, n in lexicon.numbers.items() if n in wanted for token in key}
        self.tokens: list[tuple[str, ...]] = []  # of chunks with listed words
        self._runs: dict[tuple[int, ...], list[int]] = {}
        self._classes, self._first = bytearray([_SPECIAL]) * 256, np.zeros(256, np.int32)
        for byte in range(1, 128):
            character = chr(byte)
            if byte in _ASCII_SPACE:
                self._classes[byte] = 0
            elif not character.isalnum() and character not in ".!?;":
                self._classes[byte] = _OTHER
            elif character.isalnum() and plain(character, self.language).isascii():
                self._classes[byte] = _LETTER
                self._first[byte] = WORDS | (SMALL if self.small(character) else 0)
        self._lengths = np.zeros((_KINDS,) * _PREFIX, np.uint16)  # bits, by prefix
        for token in lexicon.tokens:
            if token.isascii():
                kinds = (token.encode() + b" ").translate(_CHARACTERS)
                length = kinds.index(0)
                # What comes after a character that is not a letter or digit does not matter.
                self._lengths[tuple(kinds[: min(length + 1, _PREFIX)])] |= 1 << min(length, 15)
        self._lengths = self._lengths.ravel()

    def __missing__(self, chunk: bytes) -> int:
        whole = chunk.decode()
        if whole == MARK:
            return self.setdefault(chunk, DOCUMENT)
        text = whole.rstrip("\0")
        code = 0 if text == whole else BLANK_LINE
        compared = plain(text, self.language)
        found = [compared] if compared.isalnum() else WORD.findall(compared)
        if found:
            code |= WORDS | (SMALL if self.small(text) else 0)
        if self.ends(text):
            code |= END
        if not self.lexicon.tokens.isdisjoint(found):
            wanted = 0 if self.wanted.isdisjoint(found) else WANTED
            code |= LISTED | wanted | len(self.tokens) << BITS
            self.tokens.append(tuple(found))
        if len(text.split()) > 1 or text != text.strip():
            code |= SPACE
        self[chunk] = code
        return code

    def limit(self) -> None:
        """Forget everything if there are too many chunks."""
        if len(self) > DISTINCT:
            self.clear()
            self.tokens.clear()
            self._runs.clear()

    def listed(self, run: tuple[int, ...]) -> list[int]:
        """The listed words in chunks side by side, given as the numbers of their tokens."""
        if run not in self._runs:
            tokens = [token for number in run for token in self.tokens[number]]
            self._runs[run] = [place.number for place in self.lexicon.places(tokens)]
        return self._runs[run]

    def codes(self, text: str) -> Codes:
        """The codes of all chunks of a text, shape (chunks,)."""
        codes = self._codes(text.replace("\xa0", " "))
        if (codes & SPACE).any():
            codes = self._codes(" ".join(text.split()))
        return codes

    def _codes(self, text: str) -> Codes:
        raw = f" {text}{' ' * _PREFIX}".encode()
        classes, starts, ends = _cut(raw, self._classes)
        if not len(starts):
            return np.zeros(0, np.int32)
        codes = self._first[np.frombuffer(raw, np.uint8)[starts]]
        special = (classes[starts] != _LETTER) & (ends - starts > 1)
        signs, listed = np.flatnonzero(classes == _SPECIAL), self._maybe_listed(raw)
        for found in (signs, listed):
            special[np.searchsorted(starts, found, "right") - 1] = True
        places = np.flatnonzero(special)
        codes[places] = [
            self[raw[start:end]]
            for start, end in zip(starts[places].tolist(), ends[places].tolist(), strict=True)
        ]
        return codes

    def _maybe_listed(self, raw: bytes) -> NDArray[np.int64]:
        """Where words begin that have the first letters and the length of a listed word."""
        kinds, starts, ends = _cut(raw, _CHARACTERS)
        prefixes = kinds[starts].astype(np.int32)
        for place in range(1, _PREFIX):
            prefixes *= _KINDS
            prefixes += kinds[starts + place]
        found = self._lengths[prefixes] >> np.minimum(ends - starts, 15) & 1
        return starts[np.flatnonzero(found > 0)]


def _cut(raw: bytes, table: bytes | bytearray) -> tuple[NDArray[np.uint8], Ints, Ints]:
    """Bytes by a table, and where runs of those that are not 0 there begin and end."""
    found = np.frombuffer(raw.translate(table), np.uint8)
    edges = np.flatnonzero(np.diff(found != 0)) + 1
    return found, edges[::2], edges[1::2]


# --- where sentences end ------------------------------------------------------------------------


@cache
def _rules() -> Any:
    return read_toml(shipped("data", "trust", "sentences.toml"), fix="see scanning.py for its keys")


def ends_sentence(language: str) -> Callable[[str], bool]:
    """A function that says whether a sentence may end after a chunk without white space."""
    code, rules = base(language), _rules()
    own = rules["abbreviations"].get(code)
    abbreviations = {*own.split(), *rules["titles"].split()} if own else set[str]()
    signs = {*rules["ends"], *(";" if code == "el" else "")}  # the Greek question mark

    def ends(chunk: str) -> bool:
        core = chunk.rstrip(rules["closing"])
        if not core or core[-1] not in signs:
            return False
        if core[-1] != "." or core.endswith(".."):
            return True
        word = core[:-1].lstrip(rules["opening"])
        if len(word) == 1 and word.isupper():
            return word == "I" and code == "en"
        if word.lower() in abbreviations or _DOTTED.fullmatch(word):
            return False
        return not (code in rules["ordinals"] and word.isdecimal() and len(word) <= 2)

    return ends


def continues_sentence(language: str) -> Callable[[str], bool]:
    """A function that says whether a chunk begins with a small letter."""
    rules = _rules()
    if base(language) in rules["one_case"]:
        return lambda chunk: False
    return lambda chunk: chunk.lstrip(rules["opening"])[:1].islower()


def unspaced_ends(language: str) -> re.Pattern[str]:
    """A pattern of the ends of sentences in a text of a language without spaces between words."""
    rules, point = _rules(), ".．"
    signs = re.escape("".join(sign for sign in rules["ends"] if sign not in point)) + "།༎"
    close = f"[{re.escape(rules['closing'])}]*"
    pattern = rf"[{signs}]+{close}|[{point}]+{close}(?=\s|$)|\n[^\S\n]*(?=\n)"
    return re.compile(rf"{pattern}|\s+" if base(language) in rules["spaced"] else pattern)


# --- characters ---------------------------------------------------------------------------------


def mark_blank_lines(text: str) -> str:
    r"""A text of the same length in which blank lines are NUL characters before white space.

    >>> mark_blank_lines("a\n\nb\n \nc\nd")
    'a\x00\nb\x00 \nc\nd'
    """
    text = text.replace("\n\n", "\0\n")
    return _BLANK.sub(lambda match: "\0" + " " * (len(match[0]) - 1), text)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def offsets(text: str, language: str) -> tuple[list[int], list[int]]:
    r"""Where in a text each character of ``plain(text)`` begins and ends.

    >>> offsets("Éte\u0301", "fr")
    ([0, 1, 2], [1, 2, 4])
    """
    if text.isascii():
        return list(range(len(text))), list(range(1, len(text) + 1))
    begins, ends = list[int](), list[int]()
    for match in _CLUSTER.finditer(text):
        length = len(plain(match[0], language))
        begins += [match.start()] * length
        ends += [match.end()] * length
    return begins, ends

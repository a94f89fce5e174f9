"""What a scanner must know of each chunk of a text: the characters between white space.

Most chunks are ASCII, begin with a letter or digit, and have no sign that can end a sentence. What
must be known of these can be read from their bytes, for many at once. Every other chunk, and each
that may have a listed word, is examined in full, once for each distinct chunk.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from curation.trust.text.matching import Lexicon
from curation.trust.text.sentences import continues_sentence, ends_sentence
from curation.words import WORD, plain

Codes = NDArray[np.int32]
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


class Chunks(dict[bytes, int]):
    """What is known of each distinct chunk, as bits; listed words have a number above the bits."""

    def __init__(self, lexicon: Lexicon, wanted: Collection[int] | None) -> None:
        """Prepare a table.

        Args:
            lexicon: the listed words.
            wanted: the numbers of the words near which others count; by default all.
        """
        super().__init__()
        self.lexicon, self.language = lexicon, lexicon.language
        self.ends = ends_sentence(self.language)
        self.small = continues_sentence(self.language)
        numbers = range(len(lexicon.names)) if wanted is None else wanted
        self.wanted = {
            token for key, number in lexicon.numbers.items() if number in numbers for token in key
        }
        self.tokens: list[tuple[str, ...]] = []  # of chunks with listed words
        self._runs: dict[tuple[int, ...], list[int]] = {}
        self._classes = _classes(self.language)
        first = [
            (WORDS | (SMALL if self.small(chr(byte)) else 0)) if class_ == _LETTER else 0
            for byte, class_ in enumerate(self._classes)
        ]
        self._first = np.array(first, np.int32)
        self._kinds = _kinds()
        self._lengths = np.zeros((_KINDS,) * _PREFIX, np.uint16)  # bits, by prefix
        for token in lexicon.tokens:
            if token.isascii():
                kinds = (token.encode() + b" ").translate(self._kinds)
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
        classes = np.frombuffer(raw.translate(self._classes), np.uint8)
        edges = np.flatnonzero(np.diff(classes != 0)) + 1
        starts, ends = edges[::2], edges[1::2]
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
        kinds = np.frombuffer(raw.translate(self._kinds), np.uint8)
        edges = np.flatnonzero(np.diff(kinds != 0)) + 1
        starts, ends = edges[::2], edges[1::2]
        prefixes = kinds[starts].astype(np.int32)
        for place in range(1, _PREFIX):
            prefixes *= _KINDS
            prefixes += kinds[starts + place]
        found = self._lengths[prefixes] >> np.minimum(ends - starts, 15) & 1
        return starts[np.flatnonzero(found > 0)]


def _classes(language: str) -> bytes:
    """The class of each byte, 0 for white space."""
    classes = bytearray([_SPECIAL]) * 256
    for byte in range(1, 128):
        character = chr(byte)
        if byte in _ASCII_SPACE:
            classes[byte] = 0
        elif not character.isalnum() and character not in ".!?;":
            classes[byte] = _OTHER
        elif character.isalnum() and plain(character, language).isascii():
            classes[byte] = _LETTER
    return bytes(classes)


def _kinds() -> bytes:
    """For each byte the kind of character in prefixes; 0 if it is not an ASCII letter or digit."""
    kinds = bytearray(256)
    for byte in range(128):
        character = chr(byte).lower()
        if character.isalnum():
            kinds[byte] = 1 if character.isdigit() else ord(character) - ord("a") + 2
    return bytes(kinds)

"""Read word vectors from files of word2vec, GloVe and numpy, which may be larger than the memory.

Files are read in blocks, and only the words that are asked for are kept. Nothing is unpickled: a
pickle can run any code.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from curation.files import CurationError
from curation.trust.vectors.forms import Advance, Row, SingleArray, rows

Singles = NDArray[np.float32]
Block = tuple[list[str], Singles]
BLOCK = 4096  # words of a block


@dataclass(frozen=True)
class Vectors:
    """Words and their vectors.

    Attributes:
        words: the words that have a vector, as they were asked for.
        array: their vectors as in the file, shape (words, dimensions).
        spellings: the words that have another spelling in the file: "john" -> "John".
        missing: the words that were asked for and have no vector, or one of zeros only.
        repeated: spellings that are in the file more than once; the first vector is used.
    """

    words: tuple[str, ...]
    array: Singles
    spellings: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each word in ``array``."""
        return {word: place for place, word in enumerate(self.words)}

    def __contains__(self, word: str) -> bool:
        return word in self.places

    def known(self, words: Sequence[str]) -> tuple[str, ...]:
        """Those of the words that have a vector, in the same order."""
        return tuple(word for word in words if word in self.places)

    def rows(self, words: Sequence[str]) -> Singles:
        """The vectors of words, shape (words, dimensions).

        Raises:
            KeyError: a word has no vector.
        """
        return self.array[[self.places[word] for word in words]]


def spellings(word: str) -> tuple[str, ...]:
    """The spellings in which a word is looked for, in this order.

    These are the word itself, in lower case, and capitalised. Each is also tried with underscores
    for spaces, as word2vec writes words of several parts, and the other way around.

    >>> spellings("John"), spellings("mary")
    (('John', 'john'), ('mary', 'Mary'))
    >>> spellings("New york")[:4]
    ('New york', 'New_york', 'new york', 'new_york')
    """
    word = unicodedata.normalize("NFC", word)
    small = word.lower()
    parts = small.replace("_", " ").split(" ")
    large = " ".join(part[:1].upper() + part[1:] for part in parts)
    forms = [
        form
        for each in (word, small, large)
        for form in (each, each.replace(" ", "_"), each.replace("_", " "))
    ]
    return tuple(dict.fromkeys(forms))


def read_vectors(
    path: Path, wanted: Collection[str] | None = None, *, advance: Advance = lambda n: None
) -> Vectors:
    """The vectors of some words, or of all; only these are kept in memory.

    Args:
        path: word2vec (.bin, .txt, .vec) or GloVe (.txt), also with .gz; or .npz with the arrays
            ``words`` and ``vectors``.
        wanted: the words; see ``spellings``. None for all, in their spelling in the file.
        advance: is called with the number of bytes that were read.

    Raises:
        CurationError: the file is missing, damaged or cut short, or a vector that is kept has an
            entry that is not a finite number; the message names the line or the byte.
    """
    forms = None if wanted is None else {word: spellings(word) for word in wanted}
    keys = None if forms is None else {form.encode() for each in forms.values() for form in each}
    kept: dict[bytes, SingleArray] = {}
    repeated: dict[bytes, None] = {}
    dimensions = 0
    for row in rows(path, advance):
        dimensions = row.dimensions
        if keys is not None and row.word not in keys:
            continue
        if row.word in kept:
            repeated[row.word] = None
            continue
        vector = _finite(row)
        if vector.any() or keys is None:
            kept[row.word] = vector
    again = tuple(map(_text, repeated))
    if forms is None:
        words = tuple(map(_text, kept))
        return Vectors(words, _stacked(list(kept.values()), dimensions), repeated=again)
    used: dict[str, str] = {}
    for word, each in forms.items():
        if found := next((form for form in each if form.encode() in kept), None):
            used[word] = found
    return Vectors(
        tuple(used),
        _stacked([kept[form.encode()] for form in used.values()], dimensions),
        {word: form for word, form in used.items() if form != word},
        tuple(word for word in forms if word not in used),
        again,
    )


def blocks(path: Path, *, advance: Advance = lambda n: None) -> Iterator[Block]:
    """All words and vectors in blocks of limited size, in the file's order.

    Words that are in the file more than once are in the blocks more than once. Bytes of words that
    are not UTF-8 become surrogates, and ``write_vectors`` writes the same bytes.

    Raises:
        CurationError: as ``read_vectors``.
    """
    words, vectors = list[str](), list[SingleArray]()
    for row in rows(path, advance):
        words.append(_text(row.word))
        vectors.append(_finite(row))
        if len(words) == BLOCK:
            yield words, np.stack(vectors)
            words, vectors = [], []
    if words:
        yield words, np.stack(vectors)


def _text(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")


def _stacked(vectors: list[SingleArray], dimensions: int) -> Singles:
    return np.stack(vectors) if vectors else np.empty((0, dimensions), np.float32)


def _finite(row: Row) -> SingleArray:
    vector = row.vector()
    if not np.isfinite(vector).all():
        raise CurationError(
            f"{row.place}: the vector of «{_text(row.word)}» has an entry that is NaN or infinite",
            "remove the word from the file, or train the vectors again",
        )
    return vector

"""Read word vectors from files of many forms."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]
Block = tuple[list[str], Singles]
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Vectors:
    """Words and their vectors.

    Attributes:
        words: the words that were found, as they were asked for.
        array: their vectors as in the file, shape (words, dimensions).
        spellings: the words whose spelling in the file is another one: "john" -> "John".
        missing: the words that were asked for and have no vector, or only zeros.
        repeated: how many words are in the file more than once; the first vector counts.
    """

    words: tuple[str, ...]
    array: Singles
    spellings: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    repeated: int = 0

    def __contains__(self, word: str) -> bool:
        raise NotImplementedError

    def known(self, words: Sequence[str]) -> tuple[str, ...]:
        """Those of the words that have a vector, in the same order."""
        raise NotImplementedError

    def rows(self, words: Sequence[str]) -> Singles:
        """The vectors of words, shape (words, dimensions); KeyError if a word has none."""
        raise NotImplementedError


def read_vectors(
    path: Path, wanted: Collection[str] | None = None, *, advance: Advance = lambda n: None
) -> Vectors:
    """The vectors of some words, or of all; only these are kept in memory.

    Args:
        path: word2vec (.bin, .txt, .vec), GloVe (.txt), each also .gz, or .npz.
        wanted: the words; None for all, in their spelling in the file.
        advance: is called with the number of bytes that were read.
    """
    raise NotImplementedError


def blocks(path: Path, *, advance: Advance = lambda n: None) -> Iterator[Block]:
    """All words and vectors in blocks of limited size, in the file's order."""
    raise NotImplementedError

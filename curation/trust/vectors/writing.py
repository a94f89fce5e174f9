"""Write word vectors to files that word2vec, GloVe and numpy can read."""

from collections.abc import Iterable
from pathlib import Path

from curation.trust.vectors.reading import Block


def write_vectors(path: Path, several: Iterable[Block]) -> int:
    """Write blocks of words and vectors; the name says the form: .bin, .txt, .vec or .npz.

    The file appears when it is complete. Returns the number of words.
    """
    raise NotImplementedError

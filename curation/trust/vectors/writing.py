"""Write word vectors to files that word2vec, GloVe and numpy can read."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from curation.files import CurationError, writing
from curation.trust.vectors.reading import Block, Singles

_DIGITS = 12  # room for the number of words, which is known at the end


def write_vectors(path: Path, several: Iterable[Block]) -> int:
    """Write blocks of words and vectors; the file appears when it is complete.

    Args:
        path: the name says the form: .bin (word2vec, binary), .vec (word2vec, text), .txt (GloVe:
            no line with counts) or .npz, which needs all vectors in memory.
        several: blocks with vectors of the same dimensions.

    Returns:
        The number of words.

    Raises:
        CurationError: the form is not known, there are no words, a word cannot be written in this
            form, or an entry is not finite.
    """
    form = check_form(path)
    checked = _checked(path, several)
    with writing(path) as file:
        count = _arrays(file, checked) if form == ".npz" else _words(file, path, form, checked)
        if not count:
            raise CurationError(f"{path}: there are no words to write", "check the vectors")
    return count


def check_form(path: Path) -> str:
    """The form that a file's name says.

    Raises:
        CurationError: it says none.
    """
    form = path.suffix.lower()
    if form not in (".bin", ".vec", ".txt", ".npz"):
        raise CurationError(
            f"{path}: cannot tell the form from the name", "end the name in .bin, .vec, .txt, .npz"
        )
    return form


def _words(file: Any, path: Path, form: str, several: Iterable[Block]) -> int:
    count = width = 0
    for words, vectors in several:
        if not count:
            width = vectors.shape[1]
            file.write(_header(form, 0, width))
        file.writelines(_rows(path, form, words, vectors))
        count += len(words)
    file.seek(0)
    file.write(_header(form, count, width))
    return count


def _header(form: str, count: int, width: int) -> bytes:
    return b"" if form == ".txt" else f"{count:0{_DIGITS}d} {width}\n".encode()


def _rows(path: Path, form: str, words: list[str], vectors: Singles) -> Iterator[bytes]:
    for word, vector in zip(words, vectors, strict=True):
        key = word.encode("utf-8", "surrogateescape")
        if form == ".bin":
            if b" " in key or b"\n" in key:
                raise CurationError(
                    f"{path}: the word «{word}» has a space, and a binary file cannot hold it",
                    "write a .txt file instead",
                )
            yield key + b" " + vector.astype("<f4").tobytes() + b"\n"
        else:
            # The shortest digits that give the same float32, many times faster than str.
            numbers = orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY)
            yield key + b" " + numbers[1:-1].replace(b",", b" ") + b"\n"


def _checked(path: Path, several: Iterable[Block]) -> Iterator[Block]:
    for words, vectors in several:
        array = np.ascontiguousarray(vectors, np.float32)
        finite = np.isfinite(array).all(axis=1)
        if not finite.all():
            word = words[int(finite.argmin())]
            raise CurationError(
                f"{path}: the new vector of «{word}» has an entry that is NaN or infinite",
                "check the words and settings of the method that made it",
            )
        yield words, array


def _arrays(file: Any, several: Iterable[Block]) -> int:
    blocks = list(several)
    words = [word for each, _ in blocks for word in each]
    if words:
        vectors = np.concatenate([array for _, array in blocks])
        np.savez(file, words=np.array(words, dtype=str), vectors=vectors)
    return len(words)

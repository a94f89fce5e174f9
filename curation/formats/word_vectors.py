"""Read and write word vectors of word2vec, GloVe and numpy; files may be larger than the memory.

Files are read in blocks, and only the words that are asked for are kept. Nothing is unpickled: a
pickle can run any code.
"""

import errno
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from isal import igzip, isal_zlib
from numpy.typing import NDArray

from curation.files import CurationError, open_input, writing
from curation.text.wording import amount

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Advance = Callable[[int], None]
Block = tuple[list[str], Singles]
BLOCK = 4096  # words of a block

_NAMES = ".bin, .txt, .vec (each also with .gz) or .npz"
_BLOCK = 4 << 20  # bytes to read at once
_LINE = 16 << 20  # bytes of a line at most
_WORD = 10_000  # bytes of a word in a binary file at most
_MOST = 100_000  # dimensions at most
_CUT = "it was probably cut short: fetch the file again"
_COUNT = "correct the number of words in line 1, or fetch the file again"
_DIGITS = 12  # room for the number of words of a file that is written, known at its end
_SAVE = "write it with numpy.savez(FILE, words=numpy.array(words, dtype=str), vectors=vectors)"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, MemoryError, RuntimeError, struct.error)
"""What zipfile and numpy raise if an archive is damaged."""


@dataclass(frozen=True)
class Vectors:
    """Words and their vectors.

    Attributes:
        words: the words that have a vector, as they were asked for.
        array: their vectors, shape (words, dimensions).
        spellings: the words that have another spelling in the file: "john" -> "John".
        missing: the words that were asked for and have no vector, or one of zeros only.
        repeated: spellings that are in the file more than once; the first vector is used.
    """

    words: tuple[str, ...]
    array: Singles | Floats
    spellings: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each word in ``array``."""
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def _means(self) -> dict[tuple[str, ...], Floats]:
        return {}

    def __contains__(self, word: str) -> bool:
        return word in self.places

    def known(self, words: Iterable[str]) -> tuple[str, ...]:
        """Those of the words that have a vector, in the same order."""
        return tuple(word for word in words if word in self.places)

    def spelled(self, words: Iterable[str]) -> list[str]:
        """Words as the file spells them; the others stay as they are."""
        return [self.spellings.get(word, word) for word in words]

    def rows(self, words: Iterable[str]) -> Floats:
        """The vectors of those of the words that have one, shape (known words, dimensions)."""
        return self.array[[self.places[word] for word in words if word in self.places]].astype(
            float
        )

    def mean(self, words: tuple[str, ...]) -> Floats:
        """The mean of these rows, shape (dimensions,); NaN if there is none.

        It is kept, since a measure is computed hundreds of times for the same targets.
        """
        if words not in self._means:
            rows = self.rows(words)
            self._means[words] = rows.mean(axis=0) if len(rows) else np.full(rows.shape[1], np.nan)
        return self._means[words]


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
    three = ((w, w.replace(" ", "_"), w.replace("_", " ")) for w in (word, small, large))
    return tuple(dict.fromkeys(form for forms in three for form in forms))


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
    forms = {word: spellings(word) for word in wanted or ()}
    keys = {form.encode() for each in forms.values() for form in each}
    kept, repeated = dict[str, Singles](), dict[str, None]()
    dimensions = 0
    for row in rows(path, advance):
        dimensions = row.dimensions
        if wanted is not None and row.word not in keys:
            continue
        if row.text in kept:
            repeated[row.text] = None
            continue
        vector = row.vector()
        if vector.any() or wanted is None:
            kept[row.text] = vector
    if wanted is None:
        forms = {word: (word,) for word in kept}
    found = {word: [form for form in each if form in kept] for word, each in forms.items()}
    used = {word: own[0] for word, own in found.items() if own}
    array = np.array([kept[form] for form in used.values()], np.float32)
    return Vectors(
        tuple(used),
        array.reshape(len(used), dimensions),
        {word: form for word, form in used.items() if form != word},
        tuple(word for word in forms if word not in used),
        tuple(repeated),
    )


def blocks(path: Path, *, advance: Advance = lambda n: None) -> Iterator[Block]:
    """All words and vectors in blocks of limited size, in the file's order.

    Words that are in the file more than once are in the blocks more than once. Bytes of words that
    are not UTF-8 become surrogates, and ``write_vectors`` writes the same bytes.

    Raises:
        CurationError: as ``read_vectors``.
    """
    words, vectors = list[str](), list[Singles]()
    for row in rows(path, advance):
        words.append(row.text)
        vectors.append(row.vector())
        if len(words) == BLOCK:
            yield words, np.stack(vectors)
            words, vectors = [], []
    if words:
        yield words, np.stack(vectors)


# --- the words of a file ------------------------------------------------------------------------


class Row(NamedTuple):
    """A word of a file, its place, and its numbers: bytes of floats, an array, or a line's text."""

    word: bytes
    place: str
    dimensions: int
    numbers: memoryview | bytes | NDArray[Any]

    @property
    def text(self) -> str:
        """The word; bytes that are not UTF-8 become surrogates."""
        return self.word.decode("utf-8", "surrogateescape")

    def vector(self) -> Singles:
        """The vector, shape (dimensions,).

        Raises:
            CurationError: an entry is not a finite number.
        """
        if isinstance(self.numbers, memoryview):
            vector = np.frombuffer(self.numbers, "<f4").astype(np.float32)
        else:
            numbers: Any = self.numbers
            if isinstance(numbers, bytes):
                numbers = _parsed(numbers.split(b" "), self.place)
            with np.errstate(over="ignore"):
                vector = np.array(numbers, np.float32)
        if not np.isfinite(vector).all():
            raise CurationError(
                f"{self.place}: the vector of «{self.text}» has an entry that is NaN or infinite",
                "remove the word from the file, or train the vectors again",
            )
        return vector


def rows(path: Path, advance: Advance) -> Iterator[Row]:
    """The words of a file, in its order.

    Raises:
        CurationError: the file is missing, empty, damaged, cut short or of another form than its
            name says.
    """
    name = path.name.lower()
    packed, bare = name.endswith(".gz"), name.removesuffix(".gz")
    with _opened(path) as file:
        start = file.read(8)
    if not start:
        raise CurationError(f"{path}: is empty", _CUT)
    if bare.endswith((".kv", ".model", ".pkl", ".pickle", ".npy")) or (
        start[0] == 0x80 and start[1:2] in b"\2\3\4\5"
    ):
        raise CurationError(
            f"{path}: pickles and files of gensim are not read, since a pickle can run any code",
            "convert it where you trust it: gensim.models.KeyedVectors.load(FILE)"
            '.save_word2vec_format("FILE.bin", binary=True); of a .model, save its .wv',
        )
    if start.startswith(b"\xba\x16\x4f\x2f"):
        raise CurationError(
            f"{path}: is a model of fastText, not vectors of word2vec",
            "use the .vec file that fastText writes beside it",
        )
    if bare.endswith(".npz") and not packed:
        yield from _npz(path, advance)
    elif bare.endswith(".bin"):
        yield from _binary(path, packed, advance)
    elif bare.endswith((".txt", ".vec")):
        yield from _lines(path, packed, advance)
    else:
        raise CurationError(
            f"{path}: cannot tell the form of the vectors from the name",
            f"rename it so that it ends in {_NAMES}; unpack a .zip or .tar first",
        )


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with open_input(path) as file:
            yield file
    except (igzip.BadGzipFile, isal_zlib.error, EOFError, zlib.error) as error:  # type: ignore[misc]
        raise CurationError(
            f"{path}: is damaged; it cannot be decompressed: {error}", _CUT
        ) from None


def _pieces(path: Path, packed: bool, advance: Advance) -> Iterator[bytes]:
    """The content in blocks; reports the bytes of the file itself, which may be compressed."""
    with _opened(path) as plain:
        file = igzip.open(plain) if packed else plain  # type: ignore[no-untyped-call]
        before = 0
        while block := file.read(_BLOCK):
            advance(plain.tell() - before)
            before = plain.tell()
            yield block


def _header(line: bytes) -> tuple[int, int] | None:
    """The number of words and of dimensions that a first line names, if it is a header."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) < 19 for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def _check_dimensions(dimensions: int, where: str) -> None:
    if not 0 < dimensions <= _MOST:
        raise CurationError(
            f"{where}: vectors cannot have {dimensions:,} dimensions",
            "the file is damaged, or it is not a file of word vectors",
        )


# --- word2vec, binary ---------------------------------------------------------------------------


def _binary(path: Path, packed: bool, advance: Advance) -> Iterator[Row]:
    """A line with the numbers of words and dimensions; then a word, a space, and its floats."""
    block, pieces = b"", _pieces(path, packed, advance)
    while b"\n" not in block and len(block) < 100 and (more := next(pieces, b"")):
        block += more
    end = block.find(b"\n", 0, 100)
    header = _header(block[: max(end, 0)])
    if header is None:
        raise CurationError(
            f"{path} line 1: does not have the numbers of words and dimensions",
            "name it .txt if it is text; a .bin file must have the form of word2vec",
        )
    count, dimensions = header
    _check_dimensions(dimensions, f"{path} line 1")
    size, at, base = 4 * dimensions, end + 1, 0  # base: the byte of the file that block begins at
    for number in range(1, count + 1):
        while (space := block.find(b" ", at, at + _WORD)) < 0 or space + 1 + size > len(block):
            if space < 0 and len(block) - at >= _WORD:
                raise CurationError(
                    f"{path} byte {base + at}: word {number:,} has no end",
                    "the file is damaged, or it is not a binary file of word2vec",
                )
            more = next(pieces, b"")
            if not more:
                place = "in a vector" if space >= 0 else "in a word"
                if not block[at:].strip(b"\n"):
                    place = f"after {amount(number - 1, 'word')}"
                raise CurationError(
                    f"{path} byte {base + len(block)} (word {number:,}): the file ends {place}; "
                    f"line 1 names {amount(count, 'word')}",
                    _CUT,
                )
            block, base, at = block[at:] + more, base + at, 0
        word = block[at:space].lstrip(b"\n")
        place = f"{path} byte {base + at} (word {number:,})"
        if not word or b"\n" in word:
            raise CurationError(
                f"{place}: there is no word",
                f"vectors may not have {dimensions} dimensions: {_CUT}",
            )
        at = space + 1 + size
        yield Row(word, place, dimensions, memoryview(block)[space + 1 : at])
    if block[at:].strip(b"\n") or next(pieces, b"").strip(b"\n"):
        raise CurationError(
            f"{path} byte {base + at}: there is more after the {amount(count, 'word')} of line 1",
            _COUNT,
        )


# --- text ---------------------------------------------------------------------------------------


def _lines(path: Path, packed: bool, advance: Advance) -> Iterator[Row]:
    """A word and its numbers on each line; word2vec has a line with the counts before these."""
    header: tuple[int, int] | None = None
    dimensions = number = words = 0
    for number, line in enumerate(_cut_lines(path, _pieces(path, packed, advance)), 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
            if b"\0" in line or line.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise CurationError(
                    f"{path} line 1: is not UTF-8 text",
                    "name it .bin if it is a binary file of word2vec; save a text file as UTF-8",
                )
            if header := _header(line):
                dimensions = header[1]
                _check_dimensions(dimensions, f"{path} line 1")
                continue
        line = line.replace(b"\t", b" ").rstrip(b" \r")
        if not line:
            continue
        place = f"{path} line {number}"
        if not dimensions:
            dimensions = len(line.split()) - 1
            _check_dimensions(dimensions, place)
        words += 1
        yield _row(line, place, dimensions)
    if header and words != header[0]:
        raise CurationError(
            f"{path} line {number}: the file ends after {amount(words, 'word')}; "
            f"line 1 names {header[0]:,}",
            _CUT if words < header[0] else _COUNT,
        )
    if not words:
        raise CurationError(f"{path}: has no words", _CUT)


def _cut_lines(path: Path, pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest, number = b"", 0
    for piece in pieces:
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        number += len(lines)
        if len(rest) > _LINE:
            raise CurationError(
                f"{path} line {number + 1}: is longer than {_LINE >> 20} MB",
                "name it .bin if it is a binary file; a text file has one word on each line",
            )
        yield from lines
    if rest:
        yield rest


def _row(line: bytes, place: str, dimensions: int) -> Row:
    """A line with a word, which may have spaces in it, and as many numbers as dimensions."""
    if line.count(b" ") == dimensions:
        word, _, numbers = line.partition(b" ")
        return Row(word, place, dimensions, numbers)
    parts = line.split()
    found = len(parts) - 1
    if found > dimensions and not _is_number(parts[-dimensions - 1]):
        found = dimensions  # GloVe has words such as «. . .»
    if found != dimensions:
        raise CurationError(
            f"{place}: has {amount(found, 'number')} after the word, not {dimensions}",
            f"every line needs as many numbers as line 1 says; if this is the last line, {_CUT}",
        )
    word, numbers = (b" ".join(some) for some in (parts[:-dimensions], parts[-dimensions:]))
    return Row(word, place, dimensions, numbers)


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _parsed(parts: Sequence[bytes], place: str) -> list[float]:
    try:
        return [float(part) for part in parts]
    except ValueError:
        wrong = next(part for part in parts if not _is_number(part))
        text = wrong[:40].decode("utf-8", "backslashreplace")
        raise CurationError(
            f"{place}: «{text}» is not a number", "correct the line, or fetch the file again"
        ) from None


# --- numpy --------------------------------------------------------------------------------------


def _npz(path: Path, advance: Advance) -> Iterator[Row]:
    """The arrays ``words`` and ``vectors``; of the vectors, some rows are read at a time."""
    try:
        with open_input(path) as packed, zipfile.ZipFile(packed) as archive:
            names = archive.namelist()
            for name in ("words", "vectors"):
                if f"{name}.npy" not in names:
                    raise CurationError(f"{path}: has no array «{name}»", _SAVE)
            with archive.open("words.npy") as file:
                words = _words(path, file)
            with archive.open("vectors.npy") as file:
                shape, columns, dtype = _array_header(file)
                if len(shape) != 2 or dtype.kind != "f" or columns:
                    raise CurationError(
                        f"{path}: «vectors» must be a table of floats in rows (C order), not of "
                        f"{len(shape)} dimensions and type {dtype}",
                        _SAVE,
                    )
                if shape[0] != len(words):
                    raise CurationError(
                        f"{path}: has {len(words):,} words and {shape[0]:,} vectors",
                        "write both arrays again, in the same order",
                    )
                _check_dimensions(shape[1], f"{path}, vectors")
                yield from _npz_rows(path, file, words, dtype, shape[1], advance)
    except (*_DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        # EINVAL: the archive names a place that is not in the file.
        raise CurationError(f"{path}: is not .npz data: {error}", _CUT) from None


def _words(path: Path, file: Any) -> list[bytes]:
    try:
        array = np.lib.format.read_array(file, allow_pickle=False)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise CurationError(
            f"{path}: «words» cannot be read: {error}; an array of Python objects is not read, "
            "since it can run any code",
            f"{_SAVE}; if it was fetched, {_CUT}",
        ) from None
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise CurationError(
            f"{path}: «words» must be one row of texts, not {array.ndim} dimensions of type "
            f"{array.dtype}",
            _SAVE,
        )
    if not len(array):
        raise CurationError(f"{path}: has no words", _SAVE)
    words: list[Any] = array.tolist()
    return [w if isinstance(w, bytes) else w.encode("utf-8", "surrogateescape") for w in words]


def _array_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type of an array in a .npy file."""
    numpy: Any = np.lib.format
    try:
        old = numpy.read_magic(file) == (1, 0)
        read = numpy.read_array_header_1_0 if old else numpy.read_array_header_2_0
        shape, columns, dtype = read(file)
    except ValueError as error:
        raise EOFError(str(error)) from None
    return shape, columns, dtype


def _npz_rows(
    path: Path, file: Any, words: list[bytes], dtype: np.dtype[Any], width: int, advance: Advance
) -> Iterator[Row]:
    size = dtype.itemsize * width
    share = path.stat().st_size / len(words)
    step = max(1, _BLOCK // size)
    for start in range(0, len(words), step):
        few = words[start : start + step]
        block = file.read(size * len(few))
        if len(block) < size * len(few):
            raise EOFError(f"the vectors end at word {start + len(block) // size + 1:,}")
        array = np.frombuffer(block, dtype).reshape(len(few), width)
        advance(round(share * (start + len(few))) - round(share * start))
        for place, (word, vector) in enumerate(zip(few, array, strict=True), start + 1):
            yield Row(word, f"{path} word {place:,}", width, vector)


# --- writing --------------------------------------------------------------------------------------


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
        count = _arrays(file, checked) if form == ".npz" else _written(file, path, form, checked)
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


def _written(file: Any, path: Path, form: str, several: Iterable[Block]) -> int:
    count = width = 0
    for words, vectors in several:
        if not count:
            width = vectors.shape[1]
            file.write(_counts(form, 0, width))
        file.writelines(_lines_of(path, form, words, vectors))
        count += len(words)
    file.seek(0)
    file.write(_counts(form, count, width))
    return count


def _counts(form: str, count: int, width: int) -> bytes:
    return b"" if form == ".txt" else f"{count:0{_DIGITS}d} {width}\n".encode()


def _lines_of(path: Path, form: str, words: list[str], vectors: Singles) -> Iterator[bytes]:
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

"""Files of word vectors: every form is read and written; damage is reported with its place."""

import gzip
import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from curation.files import CurationError
from curation.formats import word_vectors
from curation.formats.word_vectors import blocks, read_vectors, spellings, write_vectors
from support.expected import fails

WORDS = ["baker", "Anna", "new_york", "naïve", "面包师", "nothing"]
VECTORS = np.array(
    [[0.1, -2, 3e-8], [1, 2, 3], [4, 5, 6], [7, 8, 9], [1e20, 0, 1], [0, 0, 0]], np.float32
)
FORMS = ["a.bin", "a.vec", "a.txt", "a.npz", "a.bin.gz", "a.vec.gz", "a.txt.gz"]


def made(folder: Path, name: str) -> Path:
    path = folder / name
    plain = folder / name.removesuffix(".gz")
    write_vectors(plain, [(WORDS[:2], VECTORS[:2]), (WORDS[2:], VECTORS[2:])])
    if path != plain:
        path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


def refusal(path: Path, content: str | bytes | None = None) -> str:
    """What is said of a file, of one with this content if it is given."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(CurationError) as error:
        read_vectors(path)
    assert str(path) in error.value.what
    assert error.value.fix
    return error.value.what.removeprefix(str(path)).lstrip(": ") + " | " + error.value.fix


@pytest.mark.parametrize("name", FORMS)
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    path, steps = made(tmp_path, name), list[int]()
    found = read_vectors(path, advance=steps.append)
    assert found.words == tuple(WORDS)
    assert (found.array == VECTORS).all()
    assert found.array.dtype == np.float32
    assert 0 < sum(steps) <= path.stat().st_size
    words, arrays = zip(*blocks(path), strict=True)
    assert [word for few in words for word in few] == WORDS
    assert (np.concatenate(arrays) == VECTORS).all()


@pytest.mark.parametrize("name", FORMS)
def test_only_the_wanted_words_are_kept(tmp_path: Path, name: str) -> None:
    wanted = ["anna", "BAKER", "New York", "naïve", "miller", "nothing"]
    found = read_vectors(made(tmp_path, name), wanted)
    assert found.words == ("anna", "BAKER", "New York", "naïve")
    assert found.spellings == {"anna": "Anna", "BAKER": "baker", "New York": "new_york"}
    assert found.missing == ("miller", "nothing")  # a vector of zeros has no direction
    assert (found.rows(["naïve", "anna"]) == VECTORS[[3, 1]]).all()
    assert found.known(["miller", "anna"]) == ("anna",)
    assert "anna" in found
    assert "Anna" not in found


def test_the_given_spelling_and_the_first_vector_are_used(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("us 1 2\nUs 3 4\nUS 5 6\n")
    assert read_vectors(path, ["US"]).array.tolist() == [[5, 6]]
    assert read_vectors(path, ["uS"]).array.tolist() == [[1, 2]]
    found = read_vectors(path, ["miller"])
    assert (found.words, found.array.shape) == ((), (0, 2))
    assert spellings("van gogh") == ("van gogh", "van_gogh", "Van Gogh", "Van_Gogh")
    path.write_text("a 1 2\nb 3 4\na 5 6\na 7 8\n")
    for wanted in (None, ["a", "b"]):
        found = read_vectors(path, wanted)
        assert found.array.tolist() == [[1, 2], [3, 4]]
        assert found.repeated == ("a",)


def test_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "_BLOCK", 7)
    monkeypatch.setattr(word_vectors, "BLOCK", 2)
    for name in FORMS:
        path = made(tmp_path, name)
        assert (read_vectors(path).array == VECTORS).all()
        assert [len(words) for words, _ in blocks(path)] == [2, 2, 2]


def test_text_as_others_write_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    # A byte order mark, spaces at the ends of lines, Windows line ends, tabs, words with spaces.
    path.write_bytes(b"\xef\xbb\xbf3 2\r\na 1 2 \r\n. . . 3 4\r\nb\t5\t6\r\n\r\n")
    found = read_vectors(path)
    assert found.words == ("a", ". . .", "b")
    assert found.array.tolist() == [[1, 2], [3, 4], [5, 6]]
    path.write_bytes(b"a 1 2\nb 3 4")  # no last line break
    assert read_vectors(path).array.tolist() == [[1, 2], [3, 4]]


def test_words_that_are_not_utf8_keep_their_bytes(tmp_path: Path) -> None:
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_bytes(b"caf\xe9 1.0 2.0\nb 3.0 4.0\n")
    write_vectors(other, blocks(path))
    assert other.read_bytes() == path.read_bytes()


# --- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [".vec", ".txt", ".bin", ".npz"])
def test_no_cut_is_a_traceback(tmp_path: Path, form: str) -> None:
    whole = made(tmp_path, f"whole{form}").read_bytes()
    path = tmp_path / f"cut{form}"
    for size in range(0, len(whole) - 1, 7 if form == ".npz" else 2):
        path.write_bytes(whole[:size])
        try:
            found = read_vectors(path)
        except CurationError as error:
            assert str(path) in error.what  # noqa: PT017
            assert error.fix  # noqa: PT017
        else:
            # GloVe has no count: a file that ends after a number looks complete.
            assert form == ".txt" or found.words == tuple(WORDS)


@pytest.mark.parametrize("name", ["a.vec.gz", "a.bin.gz"])
def test_compressed_files_that_are_cut_short(tmp_path: Path, name: str) -> None:
    path = made(tmp_path, name)
    whole = path.read_bytes()
    for size in range(1, len(whole), 5):
        assert "cut short" in refusal(path, whole[:size])
    assert "cannot be decompressed" in refusal(path, "word 1 2\n")


def test_where_a_binary_file_is_cut(tmp_path: Path) -> None:
    whole = made(tmp_path, "a.bin").read_bytes()
    head = whole.index(b"\n") + 1
    for content, says in (
        (whole[: head - 4], "does not have the numbers of words and dimensions"),
        (whole[: head + 3], f"byte {head + 3} (word 1): the file ends in a word"),
        (whole[: head + 10],
         f"byte {head + 10} (word 1): the file ends in a vector; line 1 names 6"),
        (whole[: whole.index(b"Anna")], "the file ends after 1 word"),
        (whole + b"more", f"byte {len(whole) - 1}: there is more after the 6 words"),
    ):  # fmt: skip
        assert says in refusal(tmp_path / "a.bin", content)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.vec", "3 2\na 1 2\nb 3", "line 3: has 1 number after the word, not 2"),
        ("a.vec", "3 2\na 1 2\nb 3 4\n",
         "line 3: the file ends after 2 words; line 1 names 3"),
        ("a.vec", "1 2\na 1 2\nb 3 4\n", "correct the number of words in line 1"),
        ("a.vec", "3 2", "after 0 words"),
        ("a.txt", "a 1 2\nb 3 4 5\n", "line 2: has 3 numbers after the word, not 2"),
        ("a.txt", "a 1 2\nb 3 x4\n", "line 2: «x4» is not a number"),
        *(("a.txt", f"a 1 2\nb 3 {value}\n",
           "line 2: the vector of «b» has an entry that is NaN or inf")
          for value in ("nan", "inf", "-Infinity", "1e99")),
        ("a.txt", "alone\n", "line 1: vectors cannot have 0 dimensions"),
        ("a.txt", "a 1 2\n".encode("utf-16"), "line 1: is not UTF-8 text"),
        ("a.txt", "\n\n", "has no words"),
        ("a.txt", "", "is empty"),
        ("a.bin", b"2 2\na " + np.array([1, np.nan], "<f4").tobytes() + b"b " + b"\0" * 8,
         "byte 4 (word 1): the vector of «a» has an entry that is NaN"),
        ("a.bin", "1 999999999\na 1234", "vectors cannot have 999,999,999 dimensions"),
        ("a.bin", "9 1\n" + "x" * 20_000, "byte 4: word 1 has no end"),
        ("a.bin", b"\xba\x16\x4f\x2f" + b"\0" * 100, "fastText"),
        # text with the name of a binary file
        ("a.bin", "2 2\na 1 2\nb 3 4\n", "(word 2): the file ends in a word"),
        *((name, "a 1 2\n", "cannot tell the form")
          for name in ("a.zip", "a.csv", "a", "a.npz.gz")),
    ],
)  # fmt: skip
def test_where_a_file_is_wrong(tmp_path: Path, name: str, content: str | bytes, says: str) -> None:
    assert says in refusal(tmp_path / name, content)


def test_other_vectors_than_those_that_are_wanted_are_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a 1 2\nb 3 x4\n")
    assert read_vectors(tmp_path / "a.txt", ["a"]).words == ("a",)


@pytest.mark.parametrize("name", ["a.kv", "a.model", "a.pkl", "a.txt", "a.bin", "a.npz"])
def test_pickles_are_refused(tmp_path: Path, name: str) -> None:
    found = refusal(tmp_path / name, pickle.dumps({"a": [1.0]}))
    assert "can run any code" in found
    assert "save_word2vec_format" in found


def _saved(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


TWO = np.array(["a", "b"])
ROWS = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda: _saved(words=TWO), "no array «vectors»"),
        (lambda: _saved(words=np.array(["a", 1], object), vectors=ROWS), "Python objects"),
        (lambda: _saved(words=np.arange(2), vectors=ROWS), "must be one row of texts"),
        (lambda: _saved(words=np.array([], str), vectors=ROWS[:0]), "has no words"),
        (lambda: _saved(words=TWO, vectors=ROWS[:1]), "2 words and 1 vectors"),
        (lambda: _saved(words=TWO, vectors=np.ones(2)), "must be a table of floats"),
        (lambda: _saved(words=TWO, vectors=np.ones((2, 3), int)), "must be a table of floats"),
        (lambda: _saved(words=TWO, vectors=np.asfortranarray(np.ones((2, 3)))), "C order"),
        (lambda: _saved(words=TWO, vectors=np.full((2, 3), np.nan)), "word 1: the vector of «a»"),
        (lambda: b"PK but no archive", "is not .npz data"),
    ],
)
def test_arrays_that_are_wrong(tmp_path: Path, content: Callable[[], bytes], message: str) -> None:
    assert message in refusal(tmp_path / "a.npz", content())


def test_an_array_that_claims_to_be_huge(tmp_path: Path) -> None:
    path, header = tmp_path / "a.npz", io.BytesIO()
    np.lib.format.write_array_header_1_0(  # type: ignore[no-untyped-call]
        header, {"descr": "<U8", "fortran_order": False, "shape": (10**15,)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("words.npy", header.getvalue())
        archive.writestr("vectors.npy", b"")
    assert "cut short" in refusal(path)


# --- writing ------------------------------------------------------------------------------------


def test_what_cannot_be_written(tmp_path: Path) -> None:
    row = np.ones((1, 2), np.float32)
    for name, words, message in (
        ("a.kv", ["a"], "cannot tell the form"),
        ("a.txt", [], "no words to write"),
        ("a.bin", ["a b"], "has a space"),
    ):
        with fails(message):
            write_vectors(tmp_path / name, [(words, row)] if words else [])
    row = np.array([[1, 2], [np.nan, 1]], np.float32)
    for name in ("a.txt", "a.bin", "a.npz"):
        with fails("new vector of «b» has an entry that is NaN"):
            write_vectors(tmp_path / name, [(["a", "b"], row)])
    assert list(tmp_path.iterdir()) == []


def test_numbers_are_written_exactly(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 4_000, dtype=np.uint32).view(np.float32)
    rows = bits[np.isfinite(bits)][:3_000].reshape(1_000, 3)
    words = [f"w{place}" for place in range(1_000)]
    for name in ("a.txt", "a.vec", "a.bin", "a.npz"):
        write_vectors(tmp_path / name, [(words, rows)])
        assert (read_vectors(tmp_path / name).array == rows).all()


def test_binary_files_are_as_gensim_writes_and_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    head, _, rest = made(tmp_path, "b.bin").read_bytes().partition(b"\n")
    # gensim splits the first line at spaces and reads two integers.
    assert [int(part) for part in head.split()] == [6, 3]
    width, parts = 12, list[bytes]()
    while rest:
        end = rest.index(b" ") + 1 + width
        parts, rest = [*parts, rest[:end]], rest[end + 1 :]
    path.write_bytes(head + b"\n" + b"".join(parts))
    assert read_vectors(path).words == tuple(WORDS)
    assert (read_vectors(path).array == VECTORS).all()

"""Articles and their sentences, and pairs of sentences that a next-sentence head learns from.

A corpus is read once. Its sentences go to a nameless file among the system's temporary ones (the
variable TMPDIR moves it), as large as the text; memory holds 8 bytes a sentence, 24 an article and
about 60 a pair of an epoch. Pairs are drawn anew for every epoch, and everything from seeds.
"""

import gzip
import hashlib
import mmap
import re
import tempfile
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from curation.files import CurationError, digest

Numbers = NDArray[np.int64]
# What ends a sentence: with a space after it in most scripts, without one in Chinese and Japanese.
_END = re.compile(r"(?:[.!?…؟۔։།]+|[।॥።။។]+)[\"'»”’)\]]*(?=\s)|[。！？｡]+[\"'»”’）」』】]*|\n+")
_WORD = re.compile(r"[^\W_]")
_FORMS = ".txt, .jsonl, .txt.gz or .jsonl.gz"


@dataclass(frozen=True)
class Texts:
    """Texts in a nameless file, by number.

    Attributes:
        ends: of each text, where it ends in bytes; it begins where the one before ends.
    """

    ends: Numbers
    _text: mmap.mmap

    def text(self, number: int) -> str:
        """A text."""
        start = int(self.ends[number - 1]) if number else 0
        return self._text[start : int(self.ends[number])].decode("utf-8")

    def sizes(self, numbers: Numbers) -> Numbers:
        """How long texts are, in bytes."""
        starts = np.where(numbers > 0, self.ends[numbers - 1], 0)
        return np.asarray(self.ends[numbers] - starts)


@dataclass(frozen=True)
class Corpus(Texts):
    """Sentences of articles, by number.

    Attributes:
        first: of each article, the number of its first sentence.
        after: of each article, the number after its last.
        files: name, sha256 and size in bytes of each file.
        single: articles that were left out because they have one sentence.
        repeated: articles that were left out because they stand in the corpus already.
        identity: tells these sentences in these articles from others, however they were read.
    """

    first: Numbers
    after: Numbers
    files: list[dict[str, Any]]
    single: int
    repeated: int
    identity: str

    @property
    def articles(self) -> int:
        """How many there are."""
        return len(self.first)

    @property
    def sentences(self) -> int:
        """How many there are."""
        return int((self.after - self.first).sum())

    def sentence(self, number: int) -> str:
        """A sentence's text."""
        return self.text(number)


class Pairs(NamedTuple):
    """First and second sentences by number, and whether the second comes next (1) or not (0)."""

    first: Numbers
    second: Numbers
    label: NDArray[np.int8]


# --- reading ------------------------------------------------------------------------------------


def read_corpus(paths: Sequence[Path], *, running: bool = False) -> Corpus:
    """Read articles from text files.

    Args:
        paths: ``.txt`` (a sentence a line, an empty line between articles) or ``.jsonl`` (an
            article a line: ``{"sentences": […]}``, or ``{"text": "…"}``, which is split), either
            packed by gzip.
        running: lines of ``.txt`` files are running text, and are split, too.

    Raises:
        CurationError: a file is none of these, empty, or no text; names file and line.
    """
    ends, firsts, keys = array("q"), array("q", [0]), array("Q")
    single = 0
    with tempfile.TemporaryFile() as store:
        for path in paths:
            before = len(ends)
            for article in _articles(path, running):
                if len(article) < 2:
                    single += 1
                    continue
                key = hashlib.blake2b(digest_size=8)
                for sentence in article:
                    data = sentence.encode("utf-8")
                    key.update(data + b"\n")
                    store.write(data)
                    ends.append((ends[-1] if ends else 0) + len(data))
                firsts.append(len(ends))
                keys.append(int.from_bytes(key.digest()))
            if len(ends) == before:
                raise CurationError(
                    f"{path}: no article of two sentences or more",
                    "write a sentence a line and an empty line between articles, or name a file "
                    "of running text with --running-text",
                )
        store.flush()
        text = mmap.mmap(store.fileno(), 0, access=mmap.ACCESS_READ)
    files = [
        {"file": path.name, "sha256": digest(path), "bytes": path.stat().st_size} for path in paths
    ]
    # An article that stands there twice could be on both sides: each once, in order.
    once = np.sort(np.unique(np.frombuffer(keys, np.uint64), return_index=True)[1])
    bounds = np.frombuffer(firsts, np.int64)
    return Corpus(
        ends=np.frombuffer(ends, np.int64),
        first=bounds[:-1][once],
        after=bounds[1:][once],
        files=files,
        single=single,
        repeated=len(keys) - len(once),
        identity=hashlib.sha256(np.frombuffer(keys, np.uint64)[once].tobytes()).hexdigest(),
        _text=text,
    )


def _articles(path: Path, running: bool) -> Iterator[list[str]]:
    kind = path.name.lower().removesuffix(".gz")
    if not kind.endswith((".txt", ".jsonl")):
        raise CurationError(f"{path}: neither text nor JSON lines by its name", f"name it {_FORMS}")
    numbered = lines(path)
    return _from_json(path, numbered) if kind.endswith(".jsonl") else _from_text(numbered, running)


def _from_text(lines: Iterator[tuple[int, str]], running: bool) -> Iterator[list[str]]:
    article: list[str] = []
    for _, line in lines:
        if line.strip():
            article += split(line) if running else [plain(line)]
        elif article:
            yield article
            article = []
    if article:
        yield article


def _from_json(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[list[str]]:
    for number, line in lines:
        if not line.strip():
            continue
        where, mend = f"{path} line {number}", 'write {"text": "…"} or {"sentences": ["…", "…"]}'
        try:
            content = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise CurationError(f"{where}: not JSON", mend) from None
        if isinstance(content, dict) and isinstance(text := content.get("text"), str):
            yield split(text)
            continue
        sentences = content.get("sentences") if isinstance(content, dict) else None
        if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
            raise CurationError(f"{where}: neither a text nor a list of sentences", mend)
        yield [kept for sentence in sentences if (kept := plain(sentence))]


def lines(path: Path, *, forms: str = _FORMS) -> Iterator[tuple[int, str]]:
    """Numbered lines of a file that may be packed by gzip.

    Args:
        path: the file.
        forms: what it may be, for whoever named something else.

    Raises:
        CurationError: it is not there, empty, no text, not UTF-8, or cannot be unpacked.
    """
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, 1):
                if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise CurationError(f"{path}: is UTF-16", "save the file as UTF-8")
                if b"\0" in line:
                    raise CurationError(f"{path} line {number}: no text", f"name {forms} in UTF-8")
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise CurationError(
            f"{path} line {number}: byte 0x{error.object[error.start]:02x} is not UTF-8",
            "save the file as UTF-8, or convert it with iconv",
        ) from None
    except FileNotFoundError:
        raise CurationError(f"{path}: no such file", "check the path") from None
    except IsADirectoryError:
        raise CurationError(f"{path}: is a folder, not a file", "name the files in it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CurationError(
            f"{path}: cannot be unpacked: {error}", "fetch the file again"
        ) from None
    if number == 0:
        raise CurationError(f"{path}: is empty", "it may have been cut off; fetch it again")


def _opened(path: Path) -> Any:
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")


def plain(sentence: str) -> str:
    """A sentence on one line, each white space one space."""
    return " ".join(sentence.split())


def split(text: str) -> list[str]:
    """Running text as sentences, by a simple rule.

    A sentence ends at a line break; at 。！？; and at . ! ? … and their like in Arabic, Urdu,
    Devanagari, Armenian, Tibetan, Ethiopic, Burmese and Khmer where a space follows, but not where
    the next word begins with a small letter, nor behind a single letter (an initial). The rule does
    not know abbreviations («Dr. Varga» is split), and leaves scripts without such marks, Thai for
    one, whole up to a line break: split such text beforehand.

    >>> split('The baker, J. Varga, sang. "Loudly!" Nobody minded… or so it seems.')
    ['The baker, J. Varga, sang.', '"Loudly!"', 'Nobody minded… or so it seems.']
    >>> split("今日は晴れ。散歩に行こう！")
    ['今日は晴れ。', '散歩に行こう！']
    """
    found, start = [], 0
    for end in _END.finditer(text):
        follows = _WORD.search(text, end.end())
        before = f" {text[max(end.start() - 2, 0) : end.start()]}"[-2:]
        initial = end[0].startswith(".") and before[0].isspace() and before[1].isalpha()
        goes_on = follows is not None and follows[0].islower()
        if (goes_on or initial) and "\n" not in end[0]:
            continue
        found.append(text[start : end.end()])
        start = end.end()
    found.append(text[start:])
    return [kept for sentence in found if (kept := plain(sentence))]


# --- pairs --------------------------------------------------------------------------------------


def divide(corpus: Corpus, *, share: float, seed: int) -> tuple[Numbers, Numbers]:
    """Articles to learn from, and articles held out: whole ones, at least two on either side.

    Args:
        corpus: the articles.
        share: of the articles, held out; rounded.
        seed: of the draw.

    Raises:
        CurationError: fewer than four articles: «not next» takes a sentence of another article.
    """
    count = corpus.articles
    if count < 4:
        raise CurationError(
            f"the corpus has {count} different articles of two sentences or more",
            "at least four are needed: two to learn from and two held out",
        )
    held = min(max(round(count * share), 2), count - 2)
    drawn = np.random.default_rng([seed, 0]).permutation(count)
    return np.sort(drawn[held:]), np.sort(drawn[:held])


def pairs(
    corpus: Corpus, articles: Numbers, *, seed: Sequence[int], limit: int | None = None
) -> Pairs:
    """Half of them sentences that follow each other, half with one of another article.

    Each sentence but an article's last begins a pair. Which of them become «next» is drawn so that
    the halves are equal («next» has one more of an odd number); the others get a sentence drawn
    evenly from all other of these articles. ``limit`` sentences are chosen by the seed's first
    number alone, so that every epoch has the same.

    Args:
        corpus: the sentences.
        articles: by number; at least two.
        seed: first that of the whole, then what tells one draw from another.
        limit: the most pairs.
    """
    first, after = corpus.first[articles], corpus.after[articles]
    sizes = after - first
    before = np.concatenate(
        [[0], np.cumsum(sizes)]
    )  # of these articles' sentences, strung together
    strung = np.arange(before[-1]) + np.repeat(first - before[:-1], sizes)
    home = np.repeat(np.arange(len(articles)), sizes)
    begins = np.delete(np.arange(before[-1]), before[1:] - 1)
    if limit is not None and limit < len(begins):
        begins = np.sort(np.random.default_rng([seed[0], 1]).permutation(begins)[:limit])
    draw = np.random.default_rng([*seed, 2])
    label = np.zeros(len(begins), np.int8)
    label[draw.permutation(len(begins))[: (len(begins) + 1) // 2]] = 1
    own = home[begins]
    other = draw.integers(before[-1] - sizes[own])
    other += np.where(other >= before[own], sizes[own], 0)  # past the own article
    second = np.where(label == 1, begins + 1, other)
    return Pairs(strung[begins], strung[second], label)

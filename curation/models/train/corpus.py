"""A corpus of articles, and the pairs of sentences that a next-sentence head learns from.

A corpus is read once. Its sentences are kept in an unnamed temporary file of the same size (set
TMPDIR to move it). Memory use is 8 bytes per sentence, 24 per article and about 60 per pair of an
epoch. Every epoch draws its own pairs; all draws depend on seeds.
"""

import hashlib
import html
import mmap
import re
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from curation.files import CurationError, digest, printable
from curation.formats.packed import read_lines
from curation.formats.parquet import TextColumns
from curation.records import Fields
from curation.text.wording import amount

_PACKINGS = (".gz", ".bz2")


def bare_name(path: Path) -> str:
    """A file's name in lower case, without the ending of a compressed file.

    >>> bare_name(Path("corpus/A.TXT.gz")), bare_name(Path("AA/wiki_00.bz2"))
    ('a.txt', 'wiki_00')
    """
    name = path.name.lower()
    return name.removesuffix(path.suffix.lower()) if path.suffix.lower() in _PACKINGS else name


def lines(path: Path, *, forms: str) -> Iterator[tuple[int, str]]:
    """The lines of a file, with their numbers from 1.

    Args:
        path: the file; it may be compressed by gzip (``.gz``) or bzip2 (``.bz2``).
        forms: the file types that the caller reads, for errors.

    Raises:
        CurationError: the file does not exist, is empty, is not UTF-8 text, cannot be decompressed,
            or has a line that is too long.
    """
    packing = path.suffix.lower() if path.suffix.lower() in _PACKINGS else ""
    number = 0
    for number, line in enumerate(read_lines(path, packing=packing), 1):
        if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise CurationError(f"{path}: is UTF-16", "save the file as UTF-8")
        if b"\0" in line:
            raise CurationError(
                f"{path} line {number}: has a zero byte, so the file is not text",
                f"use {forms} in UTF-8",
            )
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise CurationError(
                f"{path} line {number}: byte 0x{line[error.start]:02x} is not UTF-8",
                "save the file as UTF-8, or convert it with iconv",
            ) from None
    if number == 0:
        raise CurationError(f"{path}: is empty", "it may have been cut off; download it again")


def plain(sentence: str) -> str:
    """A sentence on one line, with single spaces."""
    return " ".join(sentence.split())


def described(path: Path, files: Sequence[Path]) -> Fields:
    """The description of a file or folder in reports: its name, sha256 and size in bytes.

    The sha256 of a folder is that of the lines that ``sha256sum`` prints for its files, with paths
    relative to the folder and in the order of ``files``. A folder also has ``files``, their number.
    """
    size = sum(file.stat().st_size for file in files)
    if not path.is_dir():
        return {"file": printable(path.name), "sha256": digest(path), "bytes": size}
    listed = hashlib.sha256()
    for file in files:
        listed.update(f"{digest(file)}  {file.relative_to(path).as_posix()}\n".encode())
    name = printable(path.resolve().name)
    return {"file": name, "sha256": listed.hexdigest(), "bytes": size, "files": len(files)}


FORMS = ".txt, .jsonl (either also .gz or .bz2), .parquet, or wiki_00 as WikiExtractor names it"
_LARGEST = 256 << 20  # characters of an article at most, where each piece counts as 64 more
_WIKI = re.compile(r"wiki_\d+")
# The title is the last attribute of the tag, and may contain quotes.
_DOC = re.compile(r'<doc\b(?:.*?\btitle="(?P<title>.*)"|.*)[^"]*>\s*')
# The end of a sentence: followed by a space in most scripts, but not in Chinese and Japanese.
_END = re.compile(r"(?:[.!?…؟۔։།]+|[।॥።။។]+)[\"'»”’)\]]*(?=\s)|[。！？｡]+[\"'»”’）」』】]*|\n+")
_WORD = re.compile(r"[^\W_]")


def article_files(path: Path) -> list[Path]:
    """The files of a corpus: the file itself, or the files of a folder, sorted by path.

    A folder is searched with its subfolders. Hidden files and files of other types are skipped.

    Raises:
        CurationError: the path does not exist, or a folder has no file that can be read.
    """
    if not path.exists():
        raise CurationError(f"{path}: no such file or folder", "check the path")
    if not path.is_dir():
        return [path]
    inside = sorted(
        file
        for file in path.rglob("*")
        if _form(file) and not any(part[0] == "." for part in file.relative_to(path).parts)
    )
    files = [file for file in inside if file.is_file()]
    if not files:
        raise CurationError(f"{path}: there is no file of articles in this folder", f"use {FORMS}")
    return files


def _form(path: Path) -> str:
    """The format of a file by its name: txt, jsonl, parquet, wiki, or ""."""
    name = bare_name(path)
    if _WIKI.fullmatch(name):
        return "wiki"
    ending = name.rpartition(".")[2] if "." in name else ""
    packed = name != path.name.lower()
    return ending if ending in {"txt", "jsonl"} or (ending == "parquet" and not packed) else ""


def articles(path: Path, *, running: bool = False, field: str = "text") -> Iterator[list[str]]:
    """The articles of a file, each as a list of sentences.

    The name of the file gives its format:

    * ``.txt``: a sentence per line, and an empty line between articles.
    * ``.jsonl``: an article per line: ``{"sentences": […]}``, or ``{"text": "…"}``, which is split.
    * ``.parquet``: an article per row; its text is split.
    * ``wiki_00`` …: a file of WikiExtractor with ``<doc …>`` blocks or, with its option ``--json``,
      an object per line.

    All formats except Parquet may be compressed by gzip or bzip2. A first line that only repeats
    the article's title (``title``) is left out.

    Args:
        path: the file.
        running: lines of ``.txt`` files are running text, and are split into sentences.
        field: the name of the text in JSON lines, and of its column in Parquet.

    Raises:
        CurationError: the file has another format, or is empty, damaged or not text; the error
            names file and line.
    """
    form = _form(path)
    if form == "txt":
        return _from_text(path, lines(path, forms=FORMS), running)
    if form == "jsonl":
        return _from_json(path, lines(path, forms=FORMS), field)
    if form == "wiki":
        return _from_wiki(path, lines(path, forms=FORMS), field)
    if form == "parquet":
        return _from_parquet(path, field)
    if bare_name(path).endswith(".xml"):
        raise CurationError(
            f"{path}: is a dump of a wiki, not its text",
            "extract the text with WikiExtractor, and name the folder that it writes",
        )
    raise CurationError(
        f"{path}: the name is not that of text, JSON lines or Parquet", f"use {FORMS}"
    )


def _from_text(path: Path, lines: Iterator[tuple[int, str]], running: bool) -> Iterator[list[str]]:
    article: list[str] = []
    size = 0
    for number, line in lines:
        if line.strip():
            sentences = split(line) if running else [plain(line)]
            size = _grown(size, sentences, f"{path} line {number}")
            article += sentences
        elif article:
            yield article
            article, size = [], 0
    if article:
        yield article


def _grown(size: int, pieces: Sequence[str], where: str) -> int:
    """The size of an article with more pieces.

    Raises:
        CurationError: it is too large to be one article.
    """
    size += sum(map(len, pieces)) + 64 * len(pieces)
    if size > _LARGEST:
        raise CurationError(
            f"{where}: an article does not end after {_LARGEST >> 20} MiB",
            "separate the articles: by an empty line in .txt files, by </doc> in WikiExtractor's",
        )
    return size


def _from_json(
    path: Path, lines: Iterator[tuple[int, str]], field: str, *, escaped: bool = False
) -> Iterator[list[str]]:
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{path} line {number}"
        fix = f'write {{"{field}": "…"}} or {{"sentences": ["…", "…"]}}'
        try:
            content = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise CurationError(f"{where}: is not JSON", fix) from None
        if isinstance(content, dict) and isinstance(text := content.get(field), str):
            yield _from_running(text, content.get("title"), escaped=escaped)
            continue
        sentences = content.get("sentences") if isinstance(content, dict) else None
        if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
            raise CurationError(f"{where}: has neither a text nor a list of sentences", fix)
        yield [kept for sentence in sentences if (kept := plain(sentence))]


def _from_running(text: str, title: Any, *, escaped: bool = False) -> list[str]:
    """The sentences of an article's text, without a first line that repeats the title."""
    title = title if isinstance(title, str) else ""
    if escaped:
        text, title = html.unescape(text), html.unescape(title)
    first, _, rest = text.lstrip().partition("\n")
    return split(rest if title and plain(first) == plain(title) else text)


# --- WikiExtractor ------------------------------------------------------------------------------


def _from_wiki(path: Path, lines: Iterator[tuple[int, str]], field: str) -> Iterator[list[str]]:
    before: list[tuple[int, str]] = []
    for numbered in lines:
        before.append(numbered)
        if numbered[1].strip():
            break
    whole = chain(before, lines)
    # WikiExtractor writes & < > of the text as entities, in either form.
    if before and before[-1][1].lstrip().startswith("{"):
        return _from_json(path, whole, field, escaped=True)
    return _from_blocks(path, whole)


def _from_blocks(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[list[str]]:
    cut_off = "the file may be cut off; extract the text again"
    opened, title, text, size = 0, "", list[str](), 0
    for number, line in lines:
        if head := _DOC.fullmatch(line):
            if opened:
                raise CurationError(f"{path} line {opened}: <doc> without </doc>", cut_off)
            opened, title, text, size = number, head["title"] or "", [], 0
        elif not opened and line.strip():
            raise CurationError(
                f"{path} line {number}: text outside <doc …> and </doc>",
                "name files that WikiExtractor wrote, or rename a text file to .txt",
            )
        elif line.strip() == "</doc>":
            yield _from_running("".join(text), title, escaped=True)
            opened = 0
        else:
            size = _grown(size, [line], f"{path} line {number}")
            text.append(line)
    if opened:
        raise CurationError(f"{path} line {opened}: <doc> without </doc>", cut_off)


# --- Parquet ------------------------------------------------------------------------------------


def _from_parquet(path: Path, field: str) -> Iterator[list[str]]:
    with TextColumns(path, field) as file:
        titled = file.has("title") and field != "title"
        for text, *title in file.rows([field, "title"] if titled else [field]):
            yield _from_running(text or "", title[0] if title else None)


# --- sentences ----------------------------------------------------------------------------------


def split(text: str) -> list[str]:
    """Split running text into sentences by a simple rule.

    A sentence ends

    * at a line break;
    * at 。！？;
    * at . ! ? … and the corresponding marks of Arabic, Urdu, Devanagari, Armenian, Tibetan,
      Ethiopic, Burmese and Khmer if a space follows; but not if the next word begins with a
      lower-case letter, and not after a single letter (an initial).

    The rule does not know abbreviations («Dr. Varga» is split). Scripts without such marks, such as
    Thai, are split at line breaks only: split such text beforehand.

    >>> split('The baker, J. Varga, sang. "Loudly!" Nobody minded… or so it seems.')
    ['The baker, J. Varga, sang.', '"Loudly!"', 'Nobody minded… or so it seems.']
    >>> split("今日は晴れ。散歩に行こう！")
    ['今日は晴れ。', '散歩に行こう！']
    >>> split("... and then it rained.")
    ['... and then it rained.']
    """
    sentences, start = [], 0
    for end in _END.finditer(text):
        follows = _WORD.search(text, end.end())
        before = text[max(end.start() - 2, 0) : end.start()].rjust(2)
        initial = end[0].startswith(".") and before[0].isspace() and before[1].isalpha()
        continues = follows is not None and follows[0].islower()
        if (continues or initial) and "\n" not in end[0]:
            continue
        sentences.append(text[start : end.end()])
        start = end.end()
    sentences.append(text[start:])
    return [kept for sentence in sentences if (kept := plain(sentence))]


Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """Texts in an unnamed file, by number.

    Attributes:
        ends: the byte at which each text ends; it begins where the previous text ends.
    """

    ends: Numbers
    _text: mmap.mmap

    def text(self, number: int) -> str:
        """The text with this number."""
        start = int(self.ends[number - 1]) if number else 0
        return self._text[start : int(self.ends[number])].decode("utf-8")

    def sizes(self, numbers: Numbers) -> Numbers:
        """The lengths of texts in bytes."""
        starts = np.where(numbers > 0, self.ends[numbers - 1], 0)
        return np.asarray(self.ends[numbers] - starts)


@dataclass(frozen=True)
class Corpus(Texts):
    """Sentences of articles, by number.

    Attributes:
        first: the number of the first sentence of each article.
        after: the number after the last sentence of each article.
        files: name, sha256 and size in bytes of each file or folder.
        single: articles left out because they have fewer than two sentences.
        repeated: articles left out because an equal article came before.
        identity: a sha256 that is the same for equal sentences in equal articles, in any file
            format.
    """

    first: Numbers
    after: Numbers
    files: list[Fields]
    single: int
    repeated: int
    identity: str

    @property
    def articles(self) -> int:
        """The number of articles."""
        return len(self.first)

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return int((self.after - self.first).sum())


class Pairs(NamedTuple):
    """First and second sentences by number; the label is 1 if the second comes next, else 0."""

    first: Numbers
    second: Numbers
    label: NDArray[np.int8]


# --- reading ------------------------------------------------------------------------------------


def read_corpus(
    paths: Sequence[Path],
    *,
    running: bool = False,
    field: str = "text",
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Corpus:
    """Read articles from files and folders.

    Args:
        paths: files that ``articles`` reads, and folders of such files, which are read with their
            subfolders in sorted order.
        running: lines of ``.txt`` files are running text, and are split into sentences.
        field: the name of the text in JSON lines, and of its column in Parquet.
        tell: called after each file with the bytes read so far, and with the bytes of all files.

    Raises:
        CurationError: a file cannot be read, or a path has no article of at least two sentences;
            the error names file and line.
    """
    ends, firsts, keys = array("q"), array("q", [0]), array("Q")
    single = 0
    inside = [article_files(path) for path in paths]
    sizes = [[file.stat().st_size for file in files] for files in inside]
    done, total = 0, sum(map(sum, sizes))
    with tempfile.TemporaryFile() as store:
        for path, files, bytes_of in zip(paths, inside, sizes, strict=True):
            before = len(ends)
            for file, size in zip(files, bytes_of, strict=True):
                for article in articles(file, running=running, field=field):
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
                done += size
                tell(done, total)
            if len(ends) == before:
                raise CurationError(
                    f"{path}: there is no article of at least two sentences",
                    "write one sentence per line and an empty line between articles; if .txt files "
                    "contain running text, give --running-text",
                )
        store.flush()
        text = mmap.mmap(store.fileno(), 0, access=mmap.ACCESS_READ)
    # A repeated article could be both in training and held out, so only the first is kept.
    once = np.sort(np.unique(np.frombuffer(keys, np.uint64), return_index=True)[1])
    bounds = np.frombuffer(firsts, np.int64)
    return Corpus(
        ends=np.frombuffer(ends, np.int64),
        first=bounds[:-1][once],
        after=bounds[1:][once],
        files=[described(path, files) for path, files in zip(paths, inside, strict=True)],
        single=single,
        repeated=len(keys) - len(once),
        identity=hashlib.sha256(np.frombuffer(keys, np.uint64)[once].tobytes()).hexdigest(),
        _text=text,
    )


# --- pairs --------------------------------------------------------------------------------------


def divide(
    corpus: Corpus, *, share: float, seed: int, held_pairs: int | None = None
) -> tuple[Numbers, Numbers]:
    """Split the articles into those to learn from and those held out, at least two on either side.

    Args:
        corpus: the articles.
        share: the share of the articles that is held out, rounded.
        seed: the seed of the draw.
        held_pairs: how many pairs the held-out articles must have. If given, ``share`` has no
            effect, and articles are held out in random order until they have this many pairs.

    Returns:
        The numbers of the articles to learn from, and of those held out, each in order.

    Raises:
        CurationError: there are fewer than four articles (a pair with the label «not next» needs a
            sentence of another article), or too few for this number of held-out pairs and two
            articles to learn from.
    """
    count = corpus.articles
    if count < 4:
        raise CurationError(
            f"the corpus has {amount(count, 'different article')} of at least two sentences",
            "add articles: at least four are needed, two to learn from and two held out",
        )
    drawn = np.random.default_rng([seed, 0]).permutation(count)
    if held_pairs is None:
        held = min(max(round(count * share), 2), count - 2)
    else:
        enough = np.cumsum(corpus.after[drawn] - corpus.first[drawn] - 1)
        held = max(int(np.searchsorted(enough, held_pairs)) + 1, 2)
        if held > count - 2:
            raise CurationError(
                f"{held_pairs} test pairs are too many: the corpus has {enough[-1]} pairs in "
                f"{count} articles, and at least two articles are needed to learn from",
                "lower --test-pairs, or name more files with --corpus",
            )
    return np.sort(drawn[held:]), np.sort(drawn[:held])


def pairs(
    corpus: Corpus, articles: Numbers, *, seed: Sequence[int], limit: int | None = None
) -> Pairs:
    """Pairs of sentences. In half of them the second comes next, in half it is not of the article.

    Each sentence except the last of an article is the first one of a pair. A random half of the
    pairs gets the label «next» (of an odd number, one more than half). The second sentence of the
    others is drawn from all other articles, each sentence with equal probability. With ``limit``,
    the first sentences are chosen by the first number of the seed only, so every epoch has the
    same.

    Args:
        corpus: the sentences.
        articles: the numbers of at least two articles.
        seed: the seed of the training, then a number that differs from draw to draw.
        limit: the largest number of pairs.
    """
    first, after = corpus.first[articles], corpus.after[articles]
    sizes = after - first
    # The sentences of these articles are numbered from 0 on, one article after the other.
    before = np.concatenate([[0], np.cumsum(sizes)])
    numbers = np.arange(before[-1]) + np.repeat(first - before[:-1], sizes)
    home = np.repeat(np.arange(len(articles)), sizes)
    begins = np.delete(np.arange(before[-1]), before[1:] - 1)
    if limit is not None and limit < len(begins):
        begins = np.sort(np.random.default_rng([seed[0], 1]).permutation(begins)[:limit])
    rng = np.random.default_rng([*seed, 2])
    label = np.zeros(len(begins), np.int8)
    label[rng.permutation(len(begins))[: (len(begins) + 1) // 2]] = 1
    own = home[begins]
    other = rng.integers(before[-1] - sizes[own])
    other += np.where(other >= before[own], sizes[own], 0)  # skips the article itself
    second = np.where(label == 1, begins + 1, other)
    return Pairs(numbers[begins], numbers[second], label)

"""The number of times that each word occurs in a corpus of the user's own.

The strings between white space are counted first, as bytes, because that is fast. Only the distinct
ones are split into words. The counts are the same, because no rule of words looks past white space.
Texts of a language without spaces between words are split line by line, which is slow.
"""

import gzip
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from curation.files import CurationError, digest, printable, sweep_beside, writing
from curation.formats.packed import packing_of, read_lines
from curation.text.words import UNSPACED, base, words, words_of_each
from curation.work.engine import Engine, each_shard
from curation.work.shards import Shard, blocks, fault, shards

_Keys = NDArray[np.uint64]
_Counts = NDArray[np.int64]
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(9)], np.uint64)
_LAST = 0x20  # bytes up to this one are white space or control characters, and separate words
_PENDING = 1 << 22  # how many numbers may wait to be merged: 24 bytes each


class _Numbers(NamedTuple):
    """Distinct chunks as their first and next eight bytes, and how often each occurred."""

    low: _Keys
    high: _Keys
    counts: _Counts


class Tally:
    """Counts of chunks: the bytes of a text between white space or control characters."""

    def __init__(self) -> None:
        self._numbers: list[_Numbers] = []
        self._pending = 0
        self._longer: Counter[bytes] = Counter()

    def add(self, block: bytes) -> None:
        """Count the chunks of a text. The text must not contain NUL, and must end a chunk."""
        text = block + bytes([_LAST]) * 16  # so that sixteen bytes can be read at any position
        ends = np.flatnonzero(np.frombuffer(text, np.uint8, len(block) + 1) <= _LAST)
        starts = np.empty_like(ends)
        starts[0] = 0
        starts[1:] = ends[:-1] + 1
        sizes = ends - starts
        at_every_byte: _Keys = np.ndarray((len(block) + 9,), "<u8", text, 0, (1,))

        tiny = np.flatnonzero((sizes > 0) & (sizes <= 4))
        four: _Keys = np.ndarray((len(block) + 9,), "<u4", text, 0, (1,))
        # Half of all words are this short, and numbers of half the length sort in half the time.
        self._keep_low(four[starts[tiny]] & _MASKS.astype(np.uint32)[sizes[tiny]])
        short = np.flatnonzero((sizes > 4) & (sizes <= 8))
        self._keep_low(at_every_byte[starts[short]] & _MASKS[sizes[short]])

        middle = np.flatnonzero((sizes > 8) & (sizes <= 16))
        places = starts[middle]
        high = at_every_byte[places + 8] & _MASKS[sizes[middle] - 8]
        self._keep(_grouped(at_every_byte[places], high, np.ones(len(middle), np.int64)))

        longer = np.flatnonzero(sizes > 16)
        pairs = zip(starts[longer].tolist(), ends[longer].tolist(), strict=True)
        self._longer.update([block[start:end] for start, end in pairs])

    def _keep_low(self, low: _Keys) -> None:
        low.sort()
        first = np.flatnonzero(np.concatenate([[True], low[1:] != low[:-1]])[: len(low)])
        counts = np.diff(first, append=len(low))
        self._keep(_Numbers(low[first].astype(np.uint64), np.zeros(len(first), np.uint64), counts))

    def _keep(self, numbers: _Numbers) -> None:
        self._numbers.append(numbers)
        self._pending += len(numbers.counts)
        if self._pending > _PENDING:
            self._join()

    def _join(self) -> None:
        """Merge the counts of several blocks."""
        if self._numbers:
            parts = zip(*self._numbers, strict=True)
            self._numbers = [_grouped(*(np.concatenate(part) for part in parts))]
            self._pending = len(self._numbers[0].counts)

    def __len__(self) -> int:
        """An upper bound of the number of distinct chunks."""
        return self._pending + len(self._longer)

    def drain(self) -> dict[bytes, int]:
        """Each chunk and how often it occurred; afterwards the tally is empty."""
        self._join()
        totals = dict(self._longer)
        for low, high, counts in self._numbers:
            both = np.empty((len(low), 2), "<u8")
            both[:, 0], both[:, 1] = low, high
            # numpy's byte strings drop the NULs that pad them.
            chunks = both.view("S16").ravel().tolist()
            totals.update(zip(chunks, counts.tolist(), strict=True))
        self.__init__()  # type: ignore[misc]
        return totals


def _grouped(low: _Keys, high: _Keys, counts: _Counts) -> _Numbers:
    """Merge equal pairs of numbers."""
    with np.errstate(over="ignore"):
        mixed = low * np.uint64(0x9E3779B97F4A7C15) ^ high * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed)
    mixed, low, high, counts = mixed[order], low[order], high[order], counts[order]
    alike = mixed[1:] == mixed[:-1]
    same = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    if not np.array_equal(alike, same):  # two pairs have one hash: sort by the pairs themselves
        order = np.lexsort((high, low))
        low, high, counts = low[order], high[order], counts[order]
    return _runs(low, high, counts)


def _runs(low: _Keys, high: _Keys, counts: _Counts) -> _Numbers:
    """Merge equal neighbours."""
    if not len(low):
        return _Numbers(low, high, counts)
    changes = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    first = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return _Numbers(low[first], high[first], np.add.reduceat(counts, first))


ALGORITHM = 2
DISTINCT = 2 << 20  # how many chunks may wait to be split into words; about 200 bytes each
_DIGITS = 18  # of a count at most
_AGAIN = "count the corpus again: curation measures count"


@dataclass(frozen=True)
class Counts:
    """The words of a corpus with their counts.

    Attributes:
        language: the language of the texts.
        counts: each word's count, by descending count, then by the alphabet.
        tokens: the number of all words.
        lines: the number of lines of text files, and of records or rows of other files.
        files: the name, sha256, size in bytes and lines of each file.
        versions: the versions of the software that splits texts into words.
    """

    language: str
    counts: dict[str, int]
    tokens: int
    lines: int
    files: list[dict[str, Any]]
    versions: dict[str, str | int]


def count(
    paths: Sequence[Path],
    *,
    language: str,
    engine: Engine = "local",
    workers: int | None = None,
    field: str = "text",
    tell: Callable[[int], None] | None = None,
) -> Counts:
    """Count the words of files.

    Memory grows with the number of distinct words, not with the text: about 150 bytes each.

    Args:
        paths: ``.txt`` or ``.jsonl`` files, also compressed as ``.gz``, or ``.parquet`` files.
        language: the language of the texts; words are those of ``curation.text.words``.
        engine: "local" or "ray". On Ray every machine must see the files under the same path.
        workers: how many run at once; by default one per processor.
        field: the field of a JSON record, or the column of a Parquet file, that has the text.
        tell: called with the number of bytes read since the last call.

    Raises:
        CurationError: a file cannot be read, or has no text; the message names file and line.
        NotCheckedError: the language's texts cannot be split into words.
    """
    words("a", language)  # fails now, and not in every worker
    if workers is not None and workers < 1:
        raise CurationError(f"{workers} workers: there must be at least one", "use 1 or more")
    if not paths:
        raise CurationError("no file to count", "name at least one file")
    parts = shards(paths, language=language, field=field, workers=workers or os.cpu_count() or 1)
    totals: Counter[str] = Counter()
    lines, tokens = [0] * len(paths), [0] * len(paths)
    pool = ThreadPoolExecutor(1)  # not in the workers: they never read a whole file
    try:
        digests = pool.map(digest, paths)
        with closing(each_shard(_count_shard, parts, engine=engine, workers=workers)) as each:
            for index, (counted, number) in each:
                totals.update(counted)
                lines[parts[index].file] += number
                tokens[parts[index].file] += counted.total()
                if tell:
                    tell(parts[index].size)
        files = [
            {
                "file": printable(path.name),
                "sha256": sha256,
                "bytes": path.stat().st_size,
                "lines": number,
            }
            for path, sha256, number in zip(paths, digests, lines, strict=True)
        ]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    for path, total in zip(paths, tokens, strict=True):
        if not total:
            raise CurationError(
                f"{path}: contains no words", "leave the file out, or fetch it again"
            )
    order = sorted(sorted(totals), key=totals.__getitem__, reverse=True)
    counts = {word: totals[word] for word in order}
    return Counts(base(language), counts, sum(tokens), sum(lines), files, _versions(language))


def _count_shard(shard: Shard) -> tuple[Counter[str], int]:
    """The words and the number of lines of a shard."""
    counts: Counter[str] = Counter()
    total = 0
    if base(shard.language) in UNSPACED:
        for block, lines in blocks(shard):
            total += lines
            for line in _decoded(block, shard).split("\n"):
                counts.update(words(line, shard.language))
        return counts, total
    tally = Tally()
    for block, lines in blocks(shard):
        total += lines
        tally.add(block)
        if len(tally) > DISTINCT:
            _fold(tally, counts, shard)
    _fold(tally, counts, shard)
    return counts, total


def _fold(tally: Tally, counts: Counter[str], shard: Shard) -> None:
    """Split the waiting chunks into words and add them to the counts."""
    chunks = tally.drain()
    texts = _decoded(b"\n".join(chunks), shard).split("\n")
    get = counts.get
    for in_chunk, number in zip(
        words_of_each(texts, shard.language), chunks.values(), strict=False
    ):
        for word in in_chunk:
            counts[word] = get(word, 0) + number


def _decoded(data: bytes, shard: Shard) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        fault(shard)


def _versions(language: str) -> dict[str, str | int]:
    """The versions of the software that splits texts into words."""
    versions: dict[str, str | int] = {"counting": ALGORITHM, "unicode": unicodedata.unidata_version}
    if base(language) in UNSPACED:
        for package in ("wordfreq", "jieba" if base(language) == "zh" else "mecab-python3"):
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                continue
    return versions


# --- the file -----------------------------------------------------------------------------------


def write_counts(path: Path, counts: Counts) -> None:
    """Write counts as a table, compressed if the name ends in ``.gz``.

    The same counts give the same bytes.
    """
    head = {
        "language": counts.language,
        "tokens": counts.tokens,
        "words": len(counts.counts),
        "lines": counts.lines,
        "files": counts.files,
        "versions": counts.versions,
    }
    rows = "".join(f"{word}\t{number}\n" for word, number in counts.counts.items())
    data = b"# " + orjson.dumps(head) + b"\n" + rows.encode("utf-8")
    sweep_beside(path)
    with writing(path) as file:
        file.write(gzip.compress(data, 6, mtime=0) if path.name.endswith(".gz") else data)


def read_counts(path: Path, *, language: str | None = None) -> Counts:
    """Read a table that ``write_counts`` wrote.

    Args:
        path: the table, compressed or not.
        language: the language that it must have.

    Raises:
        CurationError: the file is not such a table, is damaged, is of another language, or comes
            from a version of this tool that counts differently; the message names the line.
    """
    lines = read_lines(path, packing=packing_of(path))
    try:
        head = orjson.loads(next(lines, b"").removeprefix(b"# "))
        counts = Counts(
            head["language"], {}, head["tokens"], head["lines"], head["files"], head["versions"]
        )
        listed, rules = head["words"], counts.versions.get("counting")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CurationError(
            f"{path}: not a table of counted words, or the table is damaged", _AGAIN
        ) from None
    if rules != ALGORITHM:
        raise CurationError(
            f"{path}: written by another version of this tool, which counts differently", _AGAIN
        )
    if language is not None and base(language) != counts.language:
        raise CurationError(
            f"{path}: has counts of «{counts.language}», not of «{base(language)}»",
            "count a corpus in the language of the texts",
        )
    for number, line in enumerate(lines, 2):
        if not line.endswith(b"\n"):
            break  # cut off
        try:
            word, _, times = line[:-1].decode().partition("\t")
        except UnicodeDecodeError:
            word = times = ""
        new = word and word not in counts.counts
        if not new or not times.isdecimal() or times == "0" or len(times) > _DIGITS:
            raise CurationError(f"{path} line {number}: not a new word with its count", _AGAIN)
        counts.counts[word] = int(times)
    expected = (listed, counts.tokens)
    if (actual := (len(counts.counts), sum(counts.counts.values()))) != expected or not listed:
        raise CurationError(
            f"{path}: cut off or changed: line 1 announces {expected[0]} words with a total of "
            f"{expected[1]}, but there are {actual[0]} with a total of {actual[1]}",
            _AGAIN,
        )
    return counts

"""How often each word stands in a corpus of the user's own.

What stands between white space is counted first, as bytes, since that is quick; words are made of
what is distinct only. That gives the same counts because no rule of what a word is looks past white
space. Texts of a language that is not parted by spaces are parted one after another, slowly.
"""

import gzip
import os
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from curation.engine import Engine, each_shard
from curation.files import CurationError, digest, read_bytes, writing
from curation.measures.reading import Shard, blocks, fault, shards
from curation.measures.tallying import Tally
from curation.words import UNSPACED, base, words, words_of_each

ALGORITHM = 2
DISTINCT = 2 << 20  # chunks that may wait to be made words; about 200 bytes each
_AGAIN = "count the corpus again: curation measures count"


@dataclass(frozen=True)
class Counts:
    """Words of a corpus and how often each stands there.

    Attributes:
        language: of the texts.
        counts: of each word, by falling count, then by the alphabet.
        tokens: all words, each as often as it stands there.
        lines: of text files their lines, of others their records or rows.
        files: name, sha256, size in bytes and lines of each.
        versions: of what decided what a word is.
    """

    language: str
    counts: dict[str, int]
    tokens: int
    lines: int
    files: list[dict[str, Any]]
    versions: dict[str, str | int]


class _Found(NamedTuple):
    """What one shard has."""

    counts: Counter[str]
    lines: int


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
        paths: ``.txt``, ``.jsonl``, either packed by gzip as ``.gz``, or ``.parquet``.
        language: of the texts; words are those of ``curation.words``.
        engine: «local» or «ray», where every machine must see the files under the same path.
        workers: how many at once; as many as there are processors if not given.
        field: where the text of a JSON record or a row of Parquet stands.
        tell: told how many bytes of the files were read since it was last told.

    Raises:
        CurationError: a file cannot be read, or holds no text; names file and line.
        NotCheckedError: nothing here parts this language into words.
    """
    words("a", language)  # fails now, and not in every worker
    if workers is not None and workers < 1:
        raise CurationError(f"{workers} workers can do nothing", "take 1 or more")
    if not paths:
        raise CurationError("no file to count", "name one or more")
    parts = shards(paths, language=language, field=field, workers=workers or os.cpu_count() or 1)
    found: Counter[str] = Counter()
    lines, tokens = [0] * len(paths), [0] * len(paths)
    with ThreadPoolExecutor(1) as pool:  # beside the workers: they never see a whole file
        digests = pool.map(digest, paths)
        for index, part in each_shard(_count_shard, parts, engine=engine, workers=workers):
            found.update(part.counts)
            lines[parts[index].file] += part.lines
            tokens[parts[index].file] += part.counts.total()
            if tell:
                tell(parts[index].size)
        files = [
            {"file": path.name, "sha256": hexed, "bytes": path.stat().st_size, "lines": many}
            for path, hexed, many in zip(paths, digests, lines, strict=True)
        ]
    for path, total in zip(paths, tokens, strict=True):
        if not total:
            raise CurationError(f"{path}: holds no word", "leave the file out, or fetch it again")
    order = sorted(sorted(found), key=found.__getitem__, reverse=True)
    counts = {word: found[word] for word in order}
    return Counts(base(language), counts, sum(tokens), sum(lines), files, _versions(language))


def _count_shard(shard: Shard) -> _Found:
    """The words of a shard."""
    counts: Counter[str] = Counter()
    total = 0
    if base(shard.language) in UNSPACED:
        for block, lines in blocks(shard):
            total += lines
            for line in _decoded(block, shard).split("\n"):
                counts.update(words(line, shard.language))
        return _Found(counts, total)
    tally = Tally()
    for block, lines in blocks(shard):
        total += lines
        tally.add(block)
        if len(tally) > DISTINCT:
            _fold(tally, counts, shard)
    _fold(tally, counts, shard)
    return _Found(counts, total)


def _fold(tally: Tally, counts: Counter[str], shard: Shard) -> None:
    """Make words of the chunks that wait."""
    chunks = tally.drain()
    texts = _decoded(b"\n".join(chunks), shard).split("\n")
    get = counts.get
    for found, many in zip(words_of_each(texts, shard.language), chunks.values(), strict=False):
        for word in found:
            counts[word] = get(word, 0) + many


def _decoded(data: bytes, shard: Shard) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        fault(shard)


def _versions(language: str) -> dict[str, str | int]:
    """What decides what a word is."""
    found: dict[str, str | int] = {"counting": ALGORITHM, "unicode": unicodedata.unidata_version}
    if base(language) in UNSPACED:
        for package in ("wordfreq", "jieba" if base(language) == "zh" else "mecab-python3"):
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                continue
    return found


# --- the file -----------------------------------------------------------------------------------


def write_counts(path: Path, counts: Counts) -> None:
    """Write counts as a table, packed by gzip where the name ends in ``.gz``.

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
    rows = "".join(f"{word}\t{many}\n" for word, many in counts.counts.items())
    data = b"# " + orjson.dumps(head) + b"\n" + rows.encode("utf-8")
    with writing(path) as file:
        file.write(gzip.compress(data, 6, mtime=0) if path.name.endswith(".gz") else data)


def read_counts(path: Path, *, language: str | None = None) -> Counts:
    """Read what ``write_counts`` wrote.

    Args:
        path: the table, packed or not.
        language: that it must be of.

    Raises:
        CurationError: it is no such table, damaged, of another language, or of an older version
            of this tool that counted otherwise; names the line.
    """
    data = read_bytes(path)
    try:
        lines = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode().split("\n")
        head = orjson.loads(lines[0].removeprefix("# "))
        counts = Counts(
            head["language"], {}, head["tokens"], head["lines"], head["files"], head["versions"]
        )
        listed, rules = head["words"], counts.versions.get("counting")
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zlib.error):
        raise CurationError(f"{path}: is no table of counted words, or damaged", _AGAIN) from None
    if rules != ALGORITHM:
        raise CurationError(f"{path}: was counted by another version of this tool", _AGAIN)
    if language is not None and base(language) != counts.language:
        raise CurationError(
            f"{path}: counts words of «{counts.language}», not of «{base(language)}»",
            "count a corpus in the language of the texts",
        )
    for number, line in enumerate(lines[1:-1], 2):
        word, _, many = line.partition("\t")
        if not word or not many.isdecimal() or many == "0" or word in counts.counts:
            raise CurationError(f"{path} line {number}: no word and its count", _AGAIN)
        counts.counts[word] = int(many)
    told = (listed, counts.tokens)
    if (have := (len(counts.counts), sum(counts.counts.values()))) != told or not listed:
        raise CurationError(
            f"{path}: line 1 tells of {told[0]} words, {told[1]} in all; there are {have[0]}, "
            f"{have[1]} in all: it was cut off or changed",
            _AGAIN,
        )
    return counts

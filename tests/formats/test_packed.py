"""Small files that unpack to very much are refused, within a limited memory and at once.

Each reader of compressed files reads its bomb in a process of its own, which may not take more than
400 MiB beyond what it has before.
"""

import bz2
import gzip
import json
import os
import resource
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from curation.catsets.reading import read_dataset
from curation.files import CurationError
from curation.formats import packed
from curation.formats.packed import packing_of, read_lines
from curation.formats.parquet import TextColumns
from curation.measures.counting import count, read_counts
from curation.models.train import corpus as train_articles
from curation.models.train.corpus import articles, read_corpus
from curation.models.train.reviews import read_reviews
from curation.terms.dump import Lines
from curation.work import shards as reading
from support.expected import fails

MARGIN = 400 << 20  # bytes that a reader may take
MIB = 1 << 20


ONE_LINE = (b"", b"a" * MIB, 600)
HEAD = b'# {"language":"en","tokens":9,"words":9,"lines":1,"files":[],"versions":{"counting":2}}\n'
CELLS = (b"text,label\n", (b'"' + b"a" * 1000 + b'\n",') * 1024, 450)
OBJECT = (b'{"text": "', b"a" * MIB, 600)


def counted(path: Path) -> object:
    return count([path], language="en", workers=1)


Packed = tuple[bytes, bytes, int]
BOMBS: dict[str, tuple[str, Packed, Callable[[Path], Any], str]] = {
    "corpus, one line": ("a.txt.gz", ONE_LINE, lambda p: read_corpus([p]), "line 1: more than"),
    "corpus, JSON": ("a.jsonl.gz", OBJECT, lambda p: read_corpus([p]), "line 1: more than"),
    "WikiExtractor, one line": (
        "wiki_00.gz", (b'<doc id="1" title="t">\n', b"a" * MIB, 600), lambda p: list(articles(p)),
        "line 2: more than"),
    "reviews, one line": ("a.jsonl.gz", OBJECT, lambda p: read_reviews([p]), "line 1: more than"),
    "reviews, one cell": (
        "a.csv.gz", (b'text,label\n"', (b"a" * 1000 + b"\n") * 1024, 450),
        lambda p: read_reviews([p]), "line 2: is not a row of a table: field larger"),
    "reviews, many cells": ("a.csv.gz", CELLS, lambda p: read_reviews([p]), "line 2: a row has"),
    "counts, one line": ("c.tsv.gz", ONE_LINE, read_counts, "line 1: more than"),
    "counts, one long word": (
        "c.tsv.gz", (HEAD, b"a" * MIB, 600), read_counts, "line 2: more than"),
    "corpus to count": ("a.txt.gz", ONE_LINE, counted, "more than 64 MiB without a line break"),
    "dump": ("d.json.gz", ONE_LINE, lambda p: list(Lines(p)), "a line has over"),
}  # fmt: skip


def confined(read: Callable[[], object]) -> str:
    """What a reader says in a process with little memory."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = b"nothing"
        try:
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + MARGIN, size + MARGIN))
            read()
        except CurationError as error:
            said = f"{error.what}\n{error.fix}".encode()
        except BaseException:
            said = traceback.format_exc().encode()
        finally:
            os.write(writer, said[:4000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize(("name", "content", "read", "says"), BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_refused_with_its_place(
    tmp_path: Path, name: str, content: Packed, read: Callable[[Path], Any], says: str
) -> None:
    path = tmp_path / name
    head, part, times = content
    path.write_bytes(gzip.compress(head) + gzip.compress(part, 6) * times)
    assert path.stat().st_size < 3 * MIB
    said = confined(lambda: read(path))
    what, _, fix = said.partition("\n")
    assert what.startswith(str(path)), said
    assert says in what, said
    assert fix


def test_unpacked_data_may_not_outgrow_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "FREE", 4 * MIB)
    path = tmp_path / "a.txt.gz"
    words = b"".join(b"w%d" % number + b"a" * MIB + b"\t1\n" for number in range(8))
    path.write_bytes(gzip.compress(HEAD + words))
    with pytest.raises(CurationError, match=r"a\.txt\.gz: unpacks to more than [45] MiB"):
        read_counts(path)
    path.write_bytes(gzip.compress((b"a" * 4000 + b"\n\n") * 2048))
    with pytest.raises(CurationError, match=r"a\.txt\.gz: unpacks to more than [45] MiB"):
        read_corpus([path])


@pytest.mark.parametrize(("name", "head"), [("a.txt.gz", ""), ("wiki_00.gz", "<doc>\n")])
def test_an_article_has_a_largest_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, head: str
) -> None:
    monkeypatch.setattr(train_articles, "_LARGEST", MIB)
    path = tmp_path / name
    path.write_bytes(gzip.compress(head.encode() + b"a b\n" * (MIB // 64)))
    # A line has 3 characters (in WikiExtractor's files 4, with its end) and counts 64 more:
    # 1 MiB / 67 = 15650.4, and 1 MiB / 68 = 15420.2; <doc> is a line, too.
    line = 15422 if head else 15651
    with fails(f"line {line}: an article does not end after 1 MiB"):
        list(articles(path))


@pytest.mark.parametrize("dictionary", [True, False])
def test_parquet_unpacks_by_pieces_or_not_at_all(tmp_path: Path, dictionary: bool) -> None:
    path = tmp_path / "a.parquet"
    texts = arrow.array(["a" * MIB]).dictionary_encode()
    column = arrow.DictionaryArray.from_arrays(arrow.array([0] * 450, "int32"), texts.dictionary)
    table = arrow.table({"text": column})
    if not dictionary:
        table = arrow.table({"text": column.slice(0, 140).cast(arrow.string())})
    parquet.write_table(table, path, compression="zstd", use_dictionary=dictionary)
    assert path.stat().st_size < MIB
    for read in (lambda p: sum(1 for _ in TextColumns(p, "text").rows(["text"])), counted):
        said = confined(lambda read=read: read(path))  # type: ignore[misc]
        assert said == "nothing" if dictionary else "unpacks to more than" in said, said


def long_texts(form: str) -> arrow.Array:
    """270 texts of 6 MiB that take little in a file."""
    indices, texts = arrow.array([0] * 270, "int32"), arrow.array(["a" * 6 * MIB])
    if form == "flat":
        return arrow.DictionaryArray.from_arrays(indices, texts)
    if form == "in lists":
        whole = arrow.DictionaryArray.from_arrays(indices, texts)
        return arrow.ListArray.from_arrays(arrow.array([0, 135, 270], "int32"), whole)
    kind = arrow.string() if form == "prefixes" else arrow.binary(6 * MIB)
    return arrow.array(["a" * 6 * MIB] * 25, kind)


@pytest.mark.parametrize("form", ["flat", "in lists", "prefixes", "of one width"])
def test_texts_that_parquet_repeats_are_refused_at_once(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a.parquet"
    prefixes: dict[str, Any] = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
    more = prefixes if form == "prefixes" else {}
    table = arrow.table({"context": long_texts(form)})
    parquet.write_table(table, path, compression="zstd", **more)
    assert path.stat().st_size < 4096
    assert confined(lambda: read_dataset(path)).startswith(f"{path}: unpacks to more than")


def test_a_text_that_is_too_long_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"text": ["Rain.", "a" * (17 * MIB)]}), path)
    with fails("a.parquet row 2: a text has over 16 MiB"):
        list(articles(path))


def test_lines_and_compression(tmp_path: Path) -> None:
    content = b"a\r\nb\n\nlast"
    packed = gzip.compress(content)
    for name, data in (
        ("plain", content), ("a.gz", packed), ("b.bz2", bz2.compress(content)), ("c", packed),
    ):  # fmt: skip
        path = tmp_path / name
        path.write_bytes(data)
        lines = list(read_lines(path, packing=packing_of(path)))
        assert lines == [b"a\r\n", b"b\n", b"\n", b"last"]
    with fails("line 1: more than"):
        list(read_lines(path, longest=2))
    path.write_bytes(gzip.compress(content)[:-4])
    with fails("cannot be decompressed"):
        list(read_lines(path, packing=".gz"))


def test_a_compressed_corpus_of_many_articles_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    rows = (json.dumps({"sentences": [f"a {n}", f"b {n}"]}) for n in range(3000))
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    assert len(list(articles(path))) == 3000


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (b"\0", "line 2: not text"),
        (b"\xe9 ", "line 2: byte 0xe9 is not UTF-8"),
        ("é".encode()[:1], "line 2: byte 0xc3 is not UTF-8"),
    ],
)
def test_damage_in_a_long_line_is_looked_for_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, says: str
) -> None:
    monkeypatch.setattr(reading, "BLOCK", 1001)  # pieces end within characters
    content = b"a\n" + "é €🍞 ".encode() * 500 + end
    for name, data in (("a.txt", content), ("a.txt.gz", gzip.compress(content))):
        path = tmp_path / name
        path.write_bytes(data)
        with fails(says):
            counted(path)

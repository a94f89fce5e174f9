"""Words of a corpus are counted alike in any form, by any number of workers, and words are those
of CATs; what is no text says so, with its line."""

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.files import CurationError
from curation.measures import counting
from curation.measures.counting import Counts, Tally, _grouped, count, read_counts, write_counts
from curation.text.words import NotCheckedError, words, words_of_each
from curation.work import shards as reading
from curation.work.engine import Engine
from support.expected import fails

RAY = pytest.mark.ray
TEXTS = [
    "The baker’s café isn't open.",
    "THE Baker starts early; the baker sleeps\tlate.",
    "",
    "Unpronounceability, Straßenbahnhaltestelle and ΟΔΥΣΣΕΥΣ'",
    "one\u2028two\u00a0three\u0085four\x1ffive e\u0301 É",
]
WANTED = Counter(word for text in TEXTS for word in words(text, "en"))
LINES = "".join(f"{text}\n" for text in TEXTS)


def write(folder: Path, name: str, *, lines: str = LINES, texts: list[str] = TEXTS) -> Path:
    """A corpus in the form that the name says."""
    path = folder / name
    data = lines.encode()
    if ".jsonl" in name:
        data = "".join(json.dumps({"id": 1, "text": text}) + "\n" for text in texts).encode()
    if name.endswith(".parquet"):
        pq.write_table(pa.table({"id": [1] * len(texts), "text": texts}), path, row_group_size=2)
        return path
    path.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
    return path


@pytest.fixture
def finely_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a few bytes were many."""
    monkeypatch.setattr(reading, "BLOCK", 16)
    monkeypatch.setattr(reading, "LEAST", 8)
    monkeypatch.setattr(reading, "LARGEST", 64)
    monkeypatch.setattr(counting, "DISTINCT", 3)


# --- words and chunks ---------------------------------------------------------------------------


SIGNS = "Σσς'’.\u0301Éé \t\n\r\x0b\x0c\x1f\u00ad·aİI1_ह\u093fअ\u200c\u200dצ\""


@given(st.text() | st.text(alphabet=SIGNS))
@pytest.mark.parametrize("language", ["en", "tr"])
def test_no_word_looks_past_white_space(language: str, text: str) -> None:
    chunks = [chunk.decode() for chunk in text.encode("utf-8", "replace").split()]
    text = text.encode("utf-8", "replace").decode()
    whole = words(text, language)
    assert [word for chunk in chunks for word in words(chunk, language)] == whole
    assert [word for found in words_of_each(chunks, language) for word in found] == whole
    tally = Tally()
    tally.add(text.replace("\0", " ").encode())
    counts = Counter[str]()
    for chunk, many in tally.drain().items():
        for word in words(chunk.decode(), language):
            counts[word] += many
    assert counts == Counter(whole)


@given(st.lists(st.lists(st.binary(min_size=1, max_size=20), max_size=30), max_size=4))
def test_a_tally_counts_as_a_counter(blocks: list[list[bytes]]) -> None:
    tally, wanted = Tally(), Counter[bytes]()
    for block in blocks:
        chunks = [bytes(byte for byte in chunk if byte > 32) for chunk in block]
        tally.add(b" ".join(chunks))
        wanted.update(chunk for chunk in chunks if chunk)
    assert len(tally) >= len(wanted)
    assert tally.drain() == dict(wanted)
    assert tally.drain() == {}


def test_two_pairs_of_numbers_that_mix_to_the_same_are_two() -> None:
    # The mix is linear before its last step: low·a ^ high·b is 0 for (0, 0) and for a pair whose
    # two products are equal, as of (b, a).
    a, b = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
    low, high = np.array([0, b, 0, b], np.uint64), np.array([0, a, 0, a], np.uint64)
    found = _grouped(low, high, np.ones(4, np.int64))
    assert sorted(zip(*(part.tolist() for part in found), strict=True)) == [(0, 0, 2), (b, a, 2)]


def test_a_tally_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curation.measures.counting._PENDING", 5)
    tally = Tally()
    for _ in range(50):
        tally.add(b"one three abcdefghij a-word-of-more-than-sixteen")
    assert len(tally) <= 9
    assert set(tally.drain().values()) == {50}


# --- forms and shares ---------------------------------------------------------------------------

FORMS = ["a.txt", "A.TXT.GZ", "a.jsonl", "a.jsonl.gz", "a.parquet"]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.usefixtures("finely_cut")
def test_all_forms_give_the_same_however_they_are_cut(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name)
    progress: list[int] = []
    found = count([path], language="en", workers=1, tell=progress.append)
    assert list(found.counts.items()) == sorted(WANTED.items(), key=lambda one: (-one[1], one[0]))
    assert (found.tokens, found.lines) == (WANTED.total(), len(TEXTS))
    assert sum(progress) == path.stat().st_size
    (file,) = found.files
    assert (file["file"], file["bytes"], file["lines"]) == (name, path.stat().st_size, 5)
    assert len(file["sha256"]) == 64


@given(st.text(alphabet="aé 、\n.", min_size=1).filter(lambda t: any(c.isalpha() for c in t)))
def test_ranges_are_the_whole(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "ranges.txt"
    path.write_bytes(text.encode())
    whole = count([path], language="en", workers=1)
    with pytest.MonkeyPatch.context() as patch:
        for setting, value in (("BLOCK", 4), ("LEAST", 3), ("LARGEST", 3)):
            patch.setattr(reading, setting, value)
        parts = reading.shards([path], language="en", field="", workers=9)
        assert [part.end for part in parts[:-1]] == [part.start for part in parts[1:]]
        cut = count([path], language="en", workers=1)
    assert whole.counts == cut.counts == dict(Counter(words(text, "en")))


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=RAY)])
def test_workers_share_files_and_find_the_same(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LEAST", 64)
    many = "".join(f"{text} {n}\n" for n in range(500) for text in TEXTS)
    paths = [write(tmp_path, "a.txt", lines=many), write(tmp_path, "b.txt.gz", lines=many)]
    paths += [write(tmp_path, name) for name in ("c.jsonl", "d.parquet")]
    assert len(reading.shards(paths, language="en", field="text", workers=2)) > 4
    alone = count(paths, language="en", workers=1)
    assert count(paths, language="en", engine=engine, workers=2) == alone


def test_what_some_programs_begin_files_with_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "one"}\r\n{"text": "two"}')
    assert count([path], language="en", workers=1).counts == {"one": 1, "two": 1}


def test_a_text_in_one_line_is_cut_at_spaces(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(reading, "LEAST", 1000)
    monkeypatch.setattr(reading, "BLOCK", 100)
    monkeypatch.setattr(reading, "LONGEST", 500)
    path = write(tmp_path, "a.txt", lines="kind bakers " * 1000)
    assert len(reading.shards([path], language="en", field="", workers=4)) == 4
    assert count([path], language="en", workers=1).counts == {"bakers": 1000, "kind": 1000}
    path.write_text("kind" * 1000)
    with fails("without a line break"):
        count([path], language="en", workers=1)


def test_unspaced_text_is_split_by_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.txt", lines="今日は晴れ。\n今日 日\n")
    with pytest.raises(NotCheckedError, match="into words"):  # nothing splits Thai
        count([path], language="th")
    monkeypatch.setattr(counting, "words", lambda text, _: [c for c in text if c.isalnum()])
    found = count([path], language="ja", workers=1)
    assert found.counts == {"日": 3, "今": 2, "は": 1, "れ": 1, "晴": 1}
    assert found.lines == 2


# --- bad input ----------------------------------------------------------------------------------

BAD = {
    "a.txt": [
        (b"one\ntwo \xff three\n", r"a\.txt line 2: byte 0xff is not UTF-8", "iconv"),
        (b"one\ntwo\n\0\n", r"a\.txt line 3: not text", "name"),
        (b"", "is empty", "fetch"),
        (b"...\n\n", "contains no words", "leave the file out"),
    ],
    "a.jsonl": [
        (b'{"text": "a"}\n{"text": "b"\n', "line 2: not JSON", "one record per line"),
        (b'\xef\xbb\xbf{"text": "one"}\n{"text": 2}\n', "line 2: no text in the field", "--field"),
        (b'\n{"words": "a"}\n', "line 2: no text in the field 'text': .*missing", "--field"),
        (b'{"text": null}\n', "line 1: no text in the field 'text': .*null", "--field"),
        (b'["text"]\n', "line 1: no text in the field 'text'", "--field"),
        (b'{"text": "\xff"}\n', "line 1: byte 0xff is not UTF-8", "iconv"),
        (b'{"text": "a"}\n{"text": "\\ud800"}\n', "line 2: not JSON", "one record per line"),
    ],
    "a.txt.gz": [
        (b"no gzip", "cannot be decompressed", "fetch"),
        (gzip.compress(LINES.encode() * 99, mtime=0)[:-30], "cannot be decompressed", "fetch"),
        (gzip.compress(b"", mtime=0), "contains no words", "leave the file out"),
        (gzip.compress(b"one\n\xe9\n", mtime=0), "line 2: byte 0xe9", "iconv"),
    ],
    "a.parquet": [(b"PAR1 none", "cannot be read as Parquet", "fetch")],
    "a.csv": [(b"text", "cannot tell the type of the file from its name", ".parquet")],
    "a.parquet.gz": [(b"text", "cannot tell the type of the file from its name", ".parquet")],
}


@pytest.mark.parametrize(
    ("name", "data", "what", "fix"), [(name, *one) for name, ones in BAD.items() for one in ones]
)
def test_what_is_no_text(tmp_path: Path, name: str, data: bytes, what: str, fix: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(CurationError, match=what) as caught:
        count([path], language="en", workers=1)
    assert str(path) in caught.value.what
    assert fix in caught.value.fix


def test_a_range_of_bytes_names_the_right_line(tmp_path: Path, finely_cut: None) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a line of text\n" * 40 + b"caf\xe9\n" + b"a line of text\n" * 40)
    with fails("line 41: byte 0xe9"):
        count([path], language="en", workers=1)


def test_columns_of_parquet_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.parquet")
    with fails("column 'body' does not exist", fix="id, text"):
        count([path], language="en", field="body")
    with fails("column 'id' is int64, not text"):
        count([path], language="en", field="id")
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # type: ignore[arg-type]
    with fails("pyarrow", fix="pip install 'curation[parquet]'"):
        count([path], language="en")


def test_texts_of_parquet_may_be_missing_large_or_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for kind in (pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        texts = pa.array(["a b", None, "a"], pa.string()).cast(kind)
        pq.write_table(pa.table({"text": texts}), path)
        found = count([path], language="en")
        assert (found.counts, found.lines) == ({"a": 2, "b": 1}, 3)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt")
    for paths, what in (
        ([tmp_path / "b.txt"], "no such file"),
        ([tmp_path], "is a folder"),
        ([path, path], "is given twice"),
        ([], "no file"),
    ):
        with fails(what):
            count(paths, language="en")
    with fails("0 workers"):
        count([path], language="en", workers=0)
    (shard,) = reading.shards([path], language="en", field="", workers=1)
    path.unlink()
    with fails("no such file", fix="every machine"):
        list(reading.blocks(shard))


# --- the file of counts -------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path: Path) -> Counts:
    return count([write(tmp_path, "a.txt")], language="en-GB", workers=1)


def test_counts_come_back(tmp_path: Path, made: Counts) -> None:
    for name in ("counts.tsv.gz", "counts.tsv"):
        path = tmp_path / name
        write_counts(path, made)
        assert read_counts(path, language="en") == made
        data = path.read_bytes()
        write_counts(path, made)
        assert path.read_bytes() == data
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
        assert text.startswith('# {"language":"en","tokens":')
        assert text.splitlines()[1] == "the\t3"


def test_counts_that_are_not_what_was_written(tmp_path: Path, made: Counts) -> None:
    path = tmp_path / "counts.tsv"
    write_counts(path, made)
    whole = path.read_text("utf-8")
    lines = whole.split("\n")
    no_count = "line 2: not a new word with its count"
    for text, what in (
        (whole[: whole.index("\n", -20)], "not a new word with its count|cut off"),
        ("\n".join([*lines[:3], *lines[4:]]), "cut off"),
        (whole.replace("\t3", "\t4", 1), "changed"),
        (whole.replace("\t3", " 3", 1), no_count),
        (whole.replace("\t3", "\t-3", 1), no_count),
        (whole.replace('"counting":2', '"counting":1'), "another version"),
        (f"# {json.dumps(json.loads(lines[0][2:]) | {'versions': []})}\n", "not a table"),
        (whole.replace("\t3", "\t0", 1), no_count),
        (whole.split("\n")[0].replace('"words":', '"words":0,"was":') + "\n", "announces 0 words"),
        (whole.replace('"tokens"', '"token"'), "not a table of counted words"),
        ("the\t3\n", "not a table of counted words"),
        ("# []\n", "not a table of counted words"),
    ):
        path.write_text(text, "utf-8")
        with pytest.raises(CurationError, match=what) as caught:
            read_counts(path)
        assert "curation measures count" in caught.value.fix
    path.write_bytes(gzip.compress(whole.encode())[:-20])
    with fails("cannot be decompressed"):
        read_counts(path)
    path.write_text(whole, "utf-8")
    with fails("has counts of «en», not of «de»"):
        read_counts(path, language="de")

"""Articles are read from files of every form and from folders, and pairs are drawn from them."""

import bz2
import gzip
import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from curation.models.train import corpus as corpora
from curation.models.train.corpus import Corpus, articles, divide, pairs, read_corpus
from support.expected import Patch, fails
from support.written import beside

Read = Callable[..., Corpus]


@pytest.fixture
def corpus(tmp_path: Path) -> Read:
    """What is read from a file with this content."""

    def read(content: str | bytes, name: str = "a.txt", **how: Any) -> Corpus:
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        return read_corpus([tmp_path / name], **how)

    return read


@pytest.fixture
def lettered(corpus: Read) -> Read:
    """A corpus of articles of these sizes; article A has the sentences A0, A1, …"""

    def read(*sizes: int) -> Corpus:
        articles = [[f"{chr(65 + n)}{k}" for k in range(size)] for n, size in enumerate(sizes)]
        return corpus("\n\n".join("\n".join(article) for article in articles))

    return read


def all_articles(corpus: Corpus) -> list[list[str]]:
    """The articles, as they come out again."""
    return [
        [corpus.text(n) for n in range(first, after)]
        for first, after in zip(corpus.first, corpus.after, strict=True)
    ]


# --- sentences ----------------------------------------------------------------------------------


SPLIT = beside(__file__)["split"]


@pytest.mark.parametrize(("text", "sentences"), SPLIT)
def test_running_text_is_split_into_sentences(text: str, sentences: list[str]) -> None:
    assert corpora.split(text) == sentences


def test_a_long_text_is_split_in_little_time() -> None:
    # Twice the text must not take four times as long: 400,000 sentences would then take minutes.
    assert len(corpora.split("He sang. " * 200_000)) == 200_000


# --- files --------------------------------------------------------------------------------------


def test_a_text_file_has_a_sentence_a_line_and_empty_lines_between_articles(corpus: Read) -> None:
    found = corpus("\ufeffDr. Lind sings.\r\nHe  hums. Loudly.\r\n\r\n \n\nRain.\nSun.\n")
    assert all_articles(found) == [["Dr. Lind sings.", "He hums. Loudly."], ["Rain.", "Sun."]]
    assert (found.articles, found.sentences, found.single, found.repeated) == (2, 4, 0, 0)


def test_lines_of_running_text_are_split_where_that_is_asked_for(corpus: Read) -> None:
    found = corpus("He hums. She sings.\nIt rains.\n\nSun. Wind.", running=True)
    assert all_articles(found) == [["He hums.", "She sings.", "It rains."], ["Sun.", "Wind."]]


def test_json_lines_have_texts_or_sentences(corpus: Read) -> None:
    lines = [
        {"text": "He hums. She sings.", "title": "left alone"},
        {"sentences": ["Dr. Lind came.", " ", "He\nleft."]},
    ]
    found = corpus("\n\n".join(map(json.dumps, lines)), "a.jsonl")
    assert all_articles(found) == [["He hums.", "She sings."], ["Dr. Lind came.", "He left."]]


def test_several_files_and_packed_ones_make_one_corpus(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "b.jsonl.gz"
    plain.write_text("Ö1\nÖ2", "utf-8")
    packed.write_bytes(gzip.compress(json.dumps({"sentences": ["雨", "日"]}).encode()))
    found = read_corpus([plain, packed])
    assert all_articles(found) == [["Ö1", "Ö2"], ["雨", "日"]]
    # Ö has two bytes, a Chinese character three.
    assert found.sizes(np.array([0, 1, 2])).tolist() == [3, 3, 3]
    assert [file["file"] for file in found.files] == ["a.txt", "b.jsonl.gz"]
    assert found.files[0]["bytes"] == 7
    assert len(found.files[1]["sha256"]) == 64


def test_short_articles_and_repeated_ones_are_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("A0\nA1\n\nalone\n\nB0\nB1\n\nA0\nA1\n\nC0\nC1", "utf-8")
    found = read_corpus([path, path])  # so everything comes twice
    assert all_articles(found) == [["A0", "A1"], ["B0", "B1"], ["C0", "C1"]]
    # Of 8 articles three are new.
    assert (found.single, found.repeated, found.sentences) == (2, 5, 6)


def test_articles_are_told_apart_by_where_their_sentences_end(corpus: Read) -> None:
    assert corpus("ab\nc\n\na\nbc").repeated == 0


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", b"", "a.txt: is empty"),
        ("a.txt", b"\n \n", "no article of at least two sentences"),
        ("a.txt", b"one\n\nalone", "no article of at least two sentences"),
        ("a.txt", b"good\nb\x00d\n", "line 2: has a zero byte"),
        ("a.txt", b"good\nb\xffd\n", "line 2: byte 0xff is not UTF-8"),
        ("a.pdf", b"text", "the name is not that of text"),
        ("a.jsonl", b'{"text": "Rain. Sun."}\n{"text": ', "line 2: is not JSON"),
        ("a.jsonl", b'{"title": "A"}', "line 1: has neither a text nor a list"),
        ("a.jsonl", b'["A", "B"]', "line 1: has neither a text nor a list"),
        ("a.jsonl", b'{"sentences": ["A", 2]}', "line 1: has neither a text nor a list"),
        ("a.txt.gz", b"no gzip", "cannot be decompressed"),
        ("a.txt.gz", gzip.compress(b"A\nB\n" * 99, mtime=0)[:-9], "cannot be decompressed"),
    ],
)
def test_what_is_no_corpus_is_an_error(corpus: Read, name: str, content: bytes, says: str) -> None:
    with fails(says) as failed:
        corpus(content, name)
    assert name in failed.value.what


# --- sides and pairs ----------------------------------------------------------------------------


def test_whole_articles_are_held_out(lettered: Read) -> None:
    corpus = lettered(*[3] * 20)
    learnt, held = divide(corpus, share=0.25, seed=1)
    assert (len(learnt), len(held)) == (15, 5)  # 20 · 0.25
    assert sorted([*learnt, *held]) == list(range(20))
    assert divide(corpus, share=0.25, seed=1)[1].tolist() == held.tolist()
    assert divide(corpus, share=0.25, seed=2)[1].tolist() != held.tolist()


def test_either_side_has_at_least_two_articles(lettered: Read) -> None:
    for share in (0.0, 0.9):
        assert [len(side) for side in divide(lettered(2, 2, 2, 2), share=share, seed=1)] == [2, 2]
    with fails("has 3 different articles"):
        divide(lettered(2, 2, 2), share=0.5, seed=1)


def test_articles_are_held_out_until_they_have_so_many_pairs(lettered: Read) -> None:
    # Twenty articles of 3 sentences have 2 pairs each: 7 pairs take four articles, 8 also four,
    # 9 five. The pairs themselves are then limited to the number that was asked for.
    corpus = lettered(*[3] * 20)
    for wanted, taken in ((7, 4), (8, 4), (9, 5), (1, 2), (36, 18)):
        learnt, held = divide(corpus, share=0.9, seed=1, held_pairs=wanted)
        assert (len(learnt), len(held)) == (20 - taken, taken)
        assert not set(learnt) & set(held)
        assert len(pairs(corpus, held, seed=[1, 5], limit=wanted).first) == wanted
    # The same articles come first as where a share of them is held out.
    by_share = divide(corpus, share=0.2, seed=1)[1]
    assert by_share.tolist() == divide(corpus, share=0.0, seed=1, held_pairs=8)[1].tolist()


@pytest.mark.parametrize("wanted", [37, 40, 41, 10**9])
def test_a_corpus_too_small_for_the_test_pairs_is_an_error(lettered: Read, wanted: int) -> None:
    # 40 pairs; 37 take 19 of the 20 articles, and two must be left.
    with fails(f"{wanted} test pairs are too many: ", "40 pairs", fix="--test-pairs"):
        divide(lettered(*[3] * 20), share=0.1, seed=1, held_pairs=wanted)


def test_half_of_the_pairs_follow_each_other_and_half_are_of_two_articles(lettered: Read) -> None:
    corpus = lettered(4, 2, 7, 3, 5)
    found = pairs(corpus, np.array([0, 2, 3]), seed=[1, 0])
    # All but each article's last sentence begin a pair: 3 + 6 + 2 = 11, and 6 of 11 are «next».
    first = [corpus.text(n) for n in found.first]
    assert first == [*("A0", "A1", "A2"), *("C0", "C1", "C2", "C3", "C4", "C5"), "D0", "D1"]
    assert found.label.sum() == 6
    for one, second, label in zip(first, found.second, found.label, strict=True):
        other = corpus.text(second)
        if label:
            assert (other[0], int(other[1])) == (one[0], int(one[1]) + 1)
        else:
            assert other[0] in "ACD".replace(one[0], "")  # never of an article of the other side


def test_any_sentence_of_another_article_may_come_and_all_do_evenly(lettered: Read) -> None:
    corpus = lettered(2, 3, 1, 4)  # C is left out: one sentence
    drawn = [pairs(corpus, np.array([0, 1, 2]), seed=[1, n]) for n in range(3000)]
    instead = [corpus.text(found.second[0]) for found in drawn if not found.label[0]]  # of A1
    names, counts = np.unique(instead, return_counts=True)
    assert names.tolist() == ["B0", "B1", "B2", "D0", "D1", "D2", "D3"]
    # 6 begins, 3 of them «next»: about 1500 draws among 7, so 214 each with a deviation of 14.
    assert 150 < counts.min() <= counts.max() < 280


def test_pairs_come_from_their_seed_and_differ_from_epoch_to_epoch(lettered: Read) -> None:
    corpus, every = lettered(9, 9, 9, 9), np.arange(4)
    once, again, later = (pairs(corpus, every, seed=[1, n]) for n in (0, 0, 1))
    assert once.second.tolist() == again.second.tolist()
    assert once.second.tolist() != later.second.tolist()
    assert once.label.tolist() != later.label.tolist()


def test_a_limit_takes_the_same_beginnings_in_every_epoch(lettered: Read) -> None:
    corpus, every = lettered(9, 9, 9, 9), np.arange(4)
    once, later = (pairs(corpus, every, seed=[1, n], limit=7) for n in (0, 1))
    assert once.first.tolist() == later.first.tolist()
    assert (len(once.first), once.label.sum()) == (7, 4)
    assert len(set(once.first // 9)) > 1  # not the first article's alone
    assert len(pairs(corpus, every, seed=[1, 0], limit=1000).first) == 32


def test_a_corpus_is_known_by_its_sentences(corpus: Read, tmp_path: Path) -> None:
    text = "One. Two.\nThree.\n\nRain.\nSun."
    plain, running = corpus(text), corpus(text, running=True)
    assert plain.identity != running.identity  # the same file, other sentences
    lines = corpus('{"text": "One. Two. Three."}\n{"text": "Rain. Sun."}\n', "a.jsonl")
    assert lines.identity == running.identity
    both = read_corpus([tmp_path / "a.jsonl", tmp_path / "a.txt"], running=True)
    assert both.identity == running.identity


# --- WikiExtractor --------------------------------------------------------------------------------


BAKERS = "The bakers\n\nThey bake bread. They sell rolls.\nTea & cake < 3 coins.\n"
RIVER = "River\n\nIt runs fast. It bends twice."
READ = [
    ["They bake bread.", "They sell rolls.", "Tea & cake < 3 coins."],
    ["It runs fast.", "It bends twice."],
]


def block(title: str, text: str, *, number: int = 1) -> str:
    """An article as WikiExtractor writes it."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    url = f"https://example.org/wiki?curid={number}"
    return f'<doc id="{number}" url="{url}" title="{title}">\n{escaped}\n\n</doc>\n'


def as_json(title: str, text: str) -> str:
    """An article as WikiExtractor writes it with its option --json."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return json.dumps({"id": "1", "revid": "2", "url": "…", "title": title, "text": escaped}) + "\n"


BLOCKS = block("The bakers", BAKERS) + block("River", RIVER, number=2)
OBJECTS = as_json("The bakers", BAKERS) + as_json("River", RIVER)


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(bz2.compress(data) if path.suffix == ".bz2" else data)
    return path


# --- WikiExtractor ------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [BLOCKS, OBJECTS, f"\n\n{BLOCKS}", f"\n{OBJECTS}"])
@pytest.mark.parametrize("name", ["wiki_00", "wiki_07.bz2"])
def test_wikiextractors_files_are_read(tmp_path: Path, name: str, content: str) -> None:
    # The title's line is no sentence; &amp; and &lt; are & and <.
    assert list(articles(write(tmp_path / name, content))) == READ


def test_only_a_first_line_that_is_the_title_is_left_out(tmp_path: Path) -> None:
    texts = [
        ("&quot;Rain&quot; (song)", '"Rain" (song)\n\nA song. A tune.'),
        ('"Sun" (song)', '"Sun" (song)\n\nA song. A tune.'),
        ("Rain", "Rain is water. Rain falls.\nRain"),
        ("Snow", "It is cold. It falls."),  # WikiExtractor 3 repeats no title in JSON
        ("Empty", "Empty\n"),
    ]
    content = "".join(block(title, text) for title, text in texts)
    assert list(articles(write(tmp_path / "wiki_00", content))) == [
        ["A song.", "A tune."],
        ["A song.", "A tune."],
        ["Rain is water.", "Rain falls.", "Rain"],
        ["It is cold.", "It falls."],
        [],
    ]
    untitled = write(tmp_path / "wiki_01", '<doc id="1" url="u">\nA song. A tune.\n</doc>\n')
    assert list(articles(untitled)) == [["A song.", "A tune."]]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("wiki_00", BLOCKS + "loose\n", "wiki_00 line 15: text outside <doc …> and </doc>"),
        ("wiki_00", "just a text\n", "wiki_00 line 1: text outside"),
        ("wiki_00", BLOCKS[: BLOCKS.rindex("</doc>")], "wiki_00 line 9: <doc> without </doc>"),
        ("wiki_00", BLOCKS.replace("</doc>", "", 1), "wiki_00 line 1: <doc> without </doc>"),
        ("wiki_00", OBJECTS + '{"id": ', "wiki_00 line 3: is not JSON"),
        ("wiki_00", "", "wiki_00: is empty"),
        ("dump.xml.bz2", "<mediawiki>", "dump.xml.bz2: is a dump of a wiki"),
        ("wiki_0x", BLOCKS, "wiki_0x: the name is not that of text"),
    ],
)
def test_damaged_files_say_where(tmp_path: Path, name: str, content: str, says: str) -> None:
    with fails(says):
        list(articles(write(tmp_path / name, content)))


def test_a_packed_file_that_breaks_off_is_an_error(tmp_path: Path) -> None:
    for data in (b"not packed", bz2.compress(BLOCKS.encode() * 99)[:-9]):
        (tmp_path / "wiki_00.bz2").write_bytes(data)
        with fails() as failed:
            list(articles(tmp_path / "wiki_00.bz2"))
        assert re.search(r"wiki_00\.bz2 line \d+: cannot be decompressed", failed.value.what)


# --- folders ------------------------------------------------------------------------------------


def test_a_folder_is_read_in_sorted_order_and_other_files_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    write(folder / "AB" / "wiki_00", block("B", "B0. B1."))
    write(folder / "AA" / "wiki_01.bz2", block("A2", "C0. C1."))
    write(folder / "AA" / "wiki_00", block("A", "A0. A1.") + block("Short", "Short\n\nOne."))
    write(folder / "README.md", "no article")
    write(folder / ".cache" / "wiki_00", "broken")
    named = [file.relative_to(folder).as_posix() for file in corpora.article_files(folder)]
    assert named == ["AA/wiki_00", "AA/wiki_01.bz2", "AB/wiki_00"]
    told = list[tuple[int, int]]()
    corpus = read_corpus([folder], tell=lambda done, total: told.append((done, total)))
    assert [corpus.text(n) for n in range(6)] == ["A0.", "A1.", "C0.", "C1.", "B0.", "B1."]
    assert (corpus.articles, corpus.single) == (3, 1)

    # The folder's sha256 is that of what «sha256sum AA/wiki_00 AA/wiki_01.bz2 AB/wiki_00» prints.
    data = [(folder / name).read_bytes() for name in named]
    sums = [hashlib.sha256(content).hexdigest() for content in data]
    lines = "".join(f"{sha}  {name}\n" for sha, name in zip(sums, named, strict=True))
    first, size = len(data[0]), sum(map(len, data))
    sha = hashlib.sha256(lines.encode()).hexdigest()
    assert corpus.files == [{"file": "text", "sha256": sha, "bytes": size, "files": 3}]
    assert told == [(first, size), (first + len(data[1]), size), (size, size)]


def test_a_file_without_articles_is_no_error_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "text" / "wiki_00", block("Short", "One."))
    with fails("text: there is no article of at least two sentences"):
        read_corpus([tmp_path / "text"])
    write(tmp_path / "text" / "wiki_01", block("Long", "One. Two."))
    assert read_corpus([tmp_path / "text"]).articles == 1


def test_missing_paths_and_folders_without_articles_are_errors(tmp_path: Path) -> None:
    with fails("text: no such file or folder"):
        corpora.article_files(tmp_path / "text")
    write(tmp_path / "text" / "notes.md", "no article")
    with fails("text: there is no file of articles in this folder", fix="wiki_00"):
        corpora.article_files(tmp_path / "text")


# --- Parquet ------------------------------------------------------------------------------------


def table(path: Path, columns: dict[str, Any], *, rows: int = 1) -> Path:
    parquet.write_table(arrow.table(columns), path, row_group_size=rows)
    return path


WIKIPEDIA = {
    "id": ["1", "2", "3"],
    "url": ["u", "v", "w"],
    "title": ["The bakers", "River", None],
    "text": [BAKERS, RIVER.removeprefix("River\n\n"), None],
}


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_parquet_has_an_article_a_row(tmp_path: Path, kind: str) -> None:
    text = arrow.array(WIKIPEDIA["text"])
    text = text.dictionary_encode() if kind == "dictionary" else text.cast(kind)
    path = table(tmp_path / "a.parquet", {**WIKIPEDIA, "text": text})
    assert parquet.ParquetFile(path).num_row_groups == 3
    assert list(articles(path)) == [*READ, []]  # a row without a text has no sentence


def test_the_column_of_the_text_can_be_named(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", {"body": ["Rain. Sun."], "n": [1]})
    assert list(articles(path, field="body")) == [["Rain.", "Sun."]]
    lines = write(tmp_path / "a.jsonl", '{"body": "Rain. Sun.", "text": "no"}\n')
    assert list(articles(lines, field="body")) == [["Rain.", "Sun."]]
    with fails("the column 'text' does not exist", fix="--field; the columns are body, n"):
        list(articles(path))
    with fails("the column 'n' is int64, not text"):
        list(articles(path, field="n"))


def test_damaged_parquet_is_an_error(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", WIKIPEDIA)
    path.write_bytes(path.read_bytes()[:-20])
    with fails("a.parquet: cannot be read as Parquet"):
        list(articles(path))


def test_without_pyarrow_an_error_says_what_to_install(tmp_path: Path, monkeypatch: Patch) -> None:
    path = table(tmp_path / "a.parquet", WIKIPEDIA)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with fails("pyarrow, which is not installed", fix="curation[parquet]"):
        list(articles(path))


def test_equal_articles_are_one_corpus_whatever_their_form(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "text" / "AA" / "wiki_00", BLOCKS).parents[1],
        write(tmp_path / "json" / "wiki_00.bz2", OBJECTS),
        table(tmp_path / "a.parquet", WIKIPEDIA),
        write(tmp_path / "a.jsonl", "\n".join(json.dumps({"sentences": one}) for one in READ)),
    ]
    found = [read_corpus([path]) for path in paths]
    assert len({corpus.identity for corpus in found}) == 1
    assert [corpus.single for corpus in found] == [0, 0, 1, 0]  # the row without a text
    assert read_corpus(paths).repeated == 6

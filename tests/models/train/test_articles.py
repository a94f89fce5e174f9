"""Articles are read from WikiExtractor's output, Parquet and folders; faults say where they are."""

import bz2
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from curation.models.train.corpus import article_files, articles, read_corpus
from support.expected import Patch, fails

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
        ("wiki_00", BLOCKS + "loose\n", r"wiki_00 line 15: text outside <doc …> and </doc>"),
        ("wiki_00", "just a text\n", r"wiki_00 line 1: text outside"),
        ("wiki_00", BLOCKS[: BLOCKS.rindex("</doc>")], r"wiki_00 line 9: <doc> without </doc>"),
        ("wiki_00", BLOCKS.replace("</doc>", "", 1), r"wiki_00 line 1: <doc> without </doc>"),
        ("wiki_00", OBJECTS + '{"id": ', r"wiki_00 line 3: is not JSON"),
        ("wiki_00", "", r"wiki_00: is empty"),
        ("dump.xml.bz2", "<mediawiki>", r"dump\.xml\.bz2: is a dump of a wiki"),
        ("wiki_0x", BLOCKS, r"wiki_0x: the name is not that of text"),
    ],
)
def test_damaged_files_say_where(tmp_path: Path, name: str, content: str, says: str) -> None:
    with fails(says):
        list(articles(write(tmp_path / name, content)))


def test_a_packed_file_that_breaks_off_is_an_error(tmp_path: Path) -> None:
    for data in (b"not packed", bz2.compress(BLOCKS.encode() * 99)[:-9]):
        (tmp_path / "wiki_00.bz2").write_bytes(data)
        with fails(r"wiki_00\.bz2 line \d+: cannot be decompressed"):
            list(articles(tmp_path / "wiki_00.bz2"))


# --- folders ------------------------------------------------------------------------------------


def test_a_folder_is_read_in_sorted_order_and_other_files_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    write(folder / "AB" / "wiki_00", block("B", "B0. B1."))
    write(folder / "AA" / "wiki_01.bz2", block("A2", "C0. C1."))
    write(folder / "AA" / "wiki_00", block("A", "A0. A1.") + block("Short", "Short\n\nOne."))
    write(folder / "README.md", "no article")
    write(folder / ".cache" / "wiki_00", "broken")
    named = [file.relative_to(folder).as_posix() for file in article_files(folder)]
    assert named == ["AA/wiki_00", "AA/wiki_01.bz2", "AB/wiki_00"]
    told = list[tuple[int, int]]()
    corpus = read_corpus([folder], tell=lambda done, total: told.append((done, total)))
    assert [corpus.sentence(n) for n in range(6)] == ["A0.", "A1.", "C0.", "C1.", "B0.", "B1."]
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
        article_files(tmp_path / "text")
    write(tmp_path / "text" / "notes.md", "no article")
    with fails("text: there is no file of articles in this folder", "wiki_00"):
        article_files(tmp_path / "text")


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
    with fails("the column 'text' does not exist", "--field; the columns are body, n"):
        list(articles(path))
    with fails("the column 'n' is int64, not text"):
        list(articles(path, field="n"))


def test_damaged_parquet_is_an_error(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", WIKIPEDIA)
    path.write_bytes(path.read_bytes()[:-20])
    with fails(r"a\.parquet: cannot be read as Parquet"):
        list(articles(path))


def test_without_pyarrow_an_error_says_what_to_install(tmp_path: Path, monkeypatch: Patch) -> None:
    path = table(tmp_path / "a.parquet", WIKIPEDIA)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with fails("pyarrow, which is not installed", "curation[parquet]"):
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

"""Tables in text: what all their readers have in common."""

import gzip
import math
from pathlib import Path

import pytest

from curation.catsets.reading import read_dataset
from curation.checks.lists import lists
from curation.formats.predictions import read_predictions
from curation.formats.rows import read_rows
from curation.formats.tables import find_header, read_csv, read_json_lines
from curation.scores.comparing import read_sizes
from support import catsets
from support.expected import fails

PATH = Path("t.csv")


def test_a_row_has_the_number_of_its_first_line() -> None:
    text = 'sep=;\r\n\r\na;b\r\n"1\r\n2";3\r\n;\r\n4;5;6\r\n7'
    columns, rows = read_csv(text, PATH)
    assert columns == ["a", "b"]
    assert list(rows) == [
        (4, {"a": "1\r\n2", "b": "3"}),
        (7, {"a": "4", "b": "5", "": ["6"]}),
        (8, {"a": "7"}),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_header_is_found_whatever_ends_a_line(end: str) -> None:
    text = end.join(["", "SEP=|", "a|b|c,", "1|2"])
    header = find_header(text, PATH)
    assert (text[header.start :][:5], header.lines, header.delimiter) == ("a|b|c", 2, "|")
    assert list(read_csv(text, PATH)[1]) == [(4, {"a": "1", "b": "2"})]


def test_json_lines_may_have_nan_and_huge_numbers() -> None:
    rows = dict(read_json_lines('{"a": NaN}\n\n{"a": -Infinity}\r\n', PATH))
    assert math.isnan(rows[1]["a"])
    assert rows[3] == {"a": -math.inf}


def test_every_reader_takes_semicolons_and_a_first_line_with_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"

    def write(text: str) -> Path:
        path.write_text(f"sep=;\n{text}", "utf-8-sig")
        return path

    assert read_sizes(write("model;parameters\nm;7\n")) == {"m": {"parameters": 7.0}}
    assert list(read_predictions(write("id;score\nx;-1\n"))) == [("x", -1.0)]
    assert lists("tlh", write("language;list;word\ntlh;negation;be'\n")).get("negation").whole
    assert list(read_rows(write("a;b\n1;2\n"))) == [(3, {"a": "1", "b": "2"})]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_packed_files_have_the_same_encodings_as_others(tmp_path: Path, encoding: str) -> None:
    path = catsets.LAYOUTS["hf.jsonl"](tmp_path / "a.jsonl")
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_text("utf-8").encode(encoding)))
    items = [[entry.item for entry in read_dataset(p).entries] for p in (path, packed)]
    assert items[0] == items[1]


def test_a_table_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for text in ("sep=;\n\n", '"\u2028"', '"\u2028"\n" "\n', ","):
        path.write_text(text, "utf-8")
        for read in (read_sizes, read_dataset, lambda p: list(read_rows(p))):
            with fails("t.csv: no header and no rows"):
                read(path)
    with fails("t.csv: is not a table"):
        read_dataset(catsets.mapping(tmp_path, 'files = "t.csv"\n'))


X, ONES = "x" * 200_000, "1" * 200_000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"language,list,word\nen,filler,{X}\n", "t.csv line 2: is not a row"),
        (f'language,list,word\nen,filler,"{X}\n', "t.csv line 2: is not a row"),  # it stays open
        (f"language,list,word,{X}\nen,filler,x\n", "t.csv line 1: is not a row"),
        (f"model,parameters\nm,{ONES}\n", "t.csv line 2: is not a row"),
        (f"model,parameters\nm,{ONES[:5000]}\n", "t.csv line 2: parameters is"),
    ],
    ids=["a cell", "an open cell", "a column", "a size", "a number"],
)
def test_a_huge_cell_is_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, "utf-8")
    with fails(says) as caught:
        read_sizes(path) if text.startswith("model") else lists("en", path)
    assert caught.value.fix

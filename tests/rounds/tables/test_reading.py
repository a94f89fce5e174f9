"""Tables as spreadsheets and platforms write them."""

from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError
from curation.rounds.tables.reading import read_rows

ROWS = [{"item_id": "i1", "label": "unrelated"}, {"item_id": "i2", "label": "stereotype"}]
PLAIN = "item_id,label\ni1,unrelated\ni2,stereotype\n"


def rows(tmp_path: Path, data: bytes | str, name: str = "a.csv") -> list[tuple[int, Any]]:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(read_rows(path))


def wrong(tmp_path: Path, data: bytes | str, name: str = "a.csv") -> CurationError:
    with pytest.raises(CurationError) as caught:
        rows(tmp_path, data, name)
    assert str(tmp_path / name) in caught.value.what
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (PLAIN, (2, 3)),
        (PLAIN.encode("utf-8-sig"), (2, 3)),
        (PLAIN.encode("utf-16"), (2, 3)),
        (b"\xfe\xff" + PLAIN.encode("utf-16-be"), (2, 3)),
        (PLAIN.replace(",", ";"), (2, 3)),
        (PLAIN.replace(",", "\t"), (2, 3)),
        (PLAIN.replace(",", "|"), (2, 3)),
        ("sep=;\n" + PLAIN.replace(",", ";"), (3, 4)),
        (("SEP=;\r\n" + PLAIN.replace(",", ";")).encode("utf-8-sig"), (3, 4)),
        (PLAIN.replace("\n", "\r\n"), (2, 3)),
        (PLAIN.replace("\n", "\r\n").encode("utf-16"), (2, 3)),
        (PLAIN.removesuffix("\n"), (2, 3)),
        (PLAIN.replace("i2", "\n,\n \ni2"), (2, 6)),
        ("\n\r\n" + PLAIN, (4, 5)),
        (PLAIN.replace("item_id,label", ' item_id ,"label "'), (2, 3)),
        (PLAIN.replace("item_id,label", "item_id,label,").replace("ed\n", "ed,\n"), (2, 3)),
    ],
    ids=[
        "plain",
        "bom",
        "utf-16-le",
        "utf-16-be",
        "semicolon",
        "tab",
        "bar",
        "sep",
        "sep-bom-crlf",
        "crlf",
        "utf-16-crlf",
        "no-last-newline",
        "blank-lines",
        "blank-lines-first",
        "spaces-in-header",
        "column-without-name",
    ],
)
def test_every_habit_gives_the_same_rows(
    tmp_path: Path, data: bytes | str, lines: tuple[int, int]
) -> None:
    assert rows(tmp_path, data) == list(zip(lines, ROWS, strict=True))


def test_quoted_cells_keep_newlines_delimiters_and_marks(tmp_path: Path) -> None:
    found = rows(tmp_path, 'a;b\n"one\ntwo";"x;""y"""\r\n"p\r\nq";z\n')
    assert [row for _, row in found] == [
        {"a": "one\ntwo", "b": 'x;"y"'},
        {"a": "p\r\nq", "b": "z"},
    ]


def test_too_many_cells_are_kept_to_be_refused(tmp_path: Path) -> None:
    found = rows(tmp_path, "a,b\n1,2,3,4\n1,2,,\n")
    assert found == [(2, {"a": "1", "b": "2", "": ["3", "4"]}), (3, {"a": "1", "b": "2"})]


def test_too_few_cells_leave_the_fields_out(tmp_path: Path) -> None:
    assert rows(tmp_path, "a,b,c\n1,2\n") == [(2, {"a": "1", "b": "2"})]


def test_a_doubled_column(tmp_path: Path) -> None:
    error = wrong(tmp_path, "sep=;\na;b; a\n1;2;3\n")
    assert "line 2: the column 'a' is there twice" in error.what
    assert error.fix == "rename one of them"


def test_an_open_quotation_mark_names_where_it_opens(tmp_path: Path) -> None:
    error = wrong(tmp_path, 'a,b\n1,2\n3,"4\n5,6\n7,8\n')
    assert "line 3" in error.what  # where to look; the end of the file would help nobody
    assert "a quotation mark is open" in error.fix


def test_text_after_a_closed_quotation_mark(tmp_path: Path) -> None:
    error = wrong(tmp_path, 'a,b\n1,2\n"3"x,4\n')
    assert "line 3" in error.what
    assert "quotation mark" in error.fix


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_jsonl(tmp_path: Path, bom: bytes) -> None:
    data = bom + b'{"a": 1, "b": "x"}\n\n{"a": null}\r\n'
    assert rows(tmp_path, data) == [(1, {"a": 1, "b": "x"}), (3, {"a": None})]


def test_jsonl_may_hold_unicode_line_separators(tmp_path: Path) -> None:
    assert rows(tmp_path, '{"a": "x\u2028y\x85z"}\n') == [(1, {"a": "x\u2028y\x85z"})]


def test_jsonl_cut_off_in_its_last_line(tmp_path: Path) -> None:
    error = wrong(tmp_path, '{"a": 1}\n{"a": 2}\n{"a": "thr', "a.jsonl")
    assert "line 3 column" in error.what
    assert "may have been cut off" in error.fix


def test_jsonl_with_a_line_that_is_no_object(tmp_path: Path) -> None:
    assert "line 2: not a JSON object" in wrong(tmp_path, '{"a": 1}\n[2]\n').what


def test_latin_1_names_line_and_byte(tmp_path: Path) -> None:
    error = wrong(tmp_path, "a,b\n1,2\n3,caf\xe9\n".encode("latin-1"))
    assert "line 3: byte 0xe9 is not UTF-8" in error.what
    assert "save the file as UTF-8" in error.fix


@pytest.mark.parametrize(
    "data",
    [b"", b"\n \r\n", b"\xef\xbb\xbf", b"\xff\xfe", "\n".encode("utf-16")],
    ids=["nothing", "blank", "bom", "utf-16-bom", "utf-16-blank"],
)
def test_an_empty_file(tmp_path: Path, data: bytes) -> None:
    error = wrong(tmp_path, data)
    assert "is empty" in error.what
    assert "cut off" in error.fix


@pytest.mark.parametrize("data", ["sep=;", "sep=;\n"])
def test_nothing_but_the_separator(tmp_path: Path, data: str) -> None:
    wrong(tmp_path, data)


def test_utf_16_cut_off_in_a_character(tmp_path: Path) -> None:
    assert "UTF-16" in wrong(tmp_path, PLAIN.encode("utf-16")[:-1]).what


def test_a_header_only(tmp_path: Path) -> None:
    assert rows(tmp_path, "a,b\n") == []


def test_no_such_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(CurationError, match="no such file"):
        list(read_rows(tmp_path / "none.csv"))
    with pytest.raises(CurationError, match="is a folder, not a file"):
        list(read_rows(tmp_path))

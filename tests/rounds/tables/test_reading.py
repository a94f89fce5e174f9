"""Tables as spreadsheets and platforms write them."""

from pathlib import Path
from typing import Any

import pytest

from curation.rounds.tables.reading import read_rows
from support.expected import fails

ROWS = [{"item_id": "i1", "label": "unrelated"}, {"item_id": "i2", "label": "stereotype"}]
PLAIN = "item_id,label\ni1,unrelated\ni2,stereotype\n"


def rows(tmp_path: Path, data: bytes | str, name: str = "a.csv") -> list[tuple[int, Any]]:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(read_rows(path))


def check_wrong(
    tmp_path: Path, data: bytes | str, *what: str, fix: str = "", name: str = "a.csv"
) -> None:
    with fails(str(tmp_path / name), *what, fix=fix):
        rows(tmp_path, data, name)


HABITS: dict[str, tuple[bytes | str, int, int]] = {
    "plain": (PLAIN, 2, 3),
    "bom": (PLAIN.encode("utf-8-sig"), 2, 3),
    "utf-16-le": (PLAIN.encode("utf-16"), 2, 3),
    "utf-16-be": (b"\xfe\xff" + PLAIN.encode("utf-16-be"), 2, 3),
    "semicolon": (PLAIN.replace(",", ";"), 2, 3),
    "tab": (PLAIN.replace(",", "\t"), 2, 3),
    "bar": (PLAIN.replace(",", "|"), 2, 3),
    "sep": ("sep=;\n" + PLAIN.replace(",", ";"), 3, 4),
    "sep-bom-crlf": (("SEP=;\r\n" + PLAIN.replace(",", ";")).encode("utf-8-sig"), 3, 4),
    "crlf": (PLAIN.replace("\n", "\r\n"), 2, 3),
    "utf-16-crlf": (PLAIN.replace("\n", "\r\n").encode("utf-16"), 2, 3),
    "no-last-newline": (PLAIN.removesuffix("\n"), 2, 3),
    "blank-lines": (PLAIN.replace("i2", "\n,\n \ni2"), 2, 6),
    "blank-lines-first": ("\n\r\n" + PLAIN, 4, 5),
    "spaces-in-header": (PLAIN.replace("item_id,label", ' item_id ,"label "'), 2, 3),
    "column-without-name": (PLAIN.replace("l\n", "l,\n").replace("ed\n", "ed,\n"), 2, 3),
}


@pytest.mark.parametrize("habit", HABITS)
def test_every_habit_gives_the_same_rows(tmp_path: Path, habit: str) -> None:
    data, *lines = HABITS[habit]
    assert rows(tmp_path, data) == list(zip(lines, ROWS, strict=True))


def test_quoted_cells_keep_newlines_delimiters_and_marks(tmp_path: Path) -> None:
    found = rows(tmp_path, 'a;b\n"one\ntwo";"x;""y"""\r\n"p\r\nq";z\n')
    wanted = [{"a": "one\ntwo", "b": 'x;"y"'}, {"a": "p\r\nq", "b": "z"}]
    assert [row for _, row in found] == wanted


def test_too_many_cells_are_kept_to_be_refused(tmp_path: Path) -> None:
    found = rows(tmp_path, "a,b\n1,2,3,4\n1,2,,\n")
    assert found == [(2, {"a": "1", "b": "2", "": ["3", "4"]}), (3, {"a": "1", "b": "2"})]


def test_too_few_cells_leave_the_fields_out(tmp_path: Path) -> None:
    assert rows(tmp_path, "a,b,c\n1,2\n") == [(2, {"a": "1", "b": "2"})]


def test_a_doubled_column(tmp_path: Path) -> None:
    says = "line 2: the column 'a' is there twice"
    check_wrong(tmp_path, "sep=;\na;b; a\n1;2;3\n", says, fix="rename one of them")


def test_an_open_quotation_mark_names_where_it_opens(tmp_path: Path) -> None:
    # where to look; the end of the file would help nobody
    check_wrong(tmp_path, 'a,b\n1,2\n3,"4\n5,6\n7,8\n', "line 3", fix="a quotation mark is open")


def test_text_after_a_closed_quotation_mark(tmp_path: Path) -> None:
    check_wrong(tmp_path, 'a,b\n1,2\n"3"x,4\n', "line 3", fix="quotation mark")


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_jsonl(tmp_path: Path, bom: bytes) -> None:
    data = bom + b'{"a": 1, "b": "x"}\n\n{"a": null}\r\n'
    assert rows(tmp_path, data) == [(1, {"a": 1, "b": "x"}), (3, {"a": None})]


def test_jsonl_may_hold_unicode_line_separators(tmp_path: Path) -> None:
    assert rows(tmp_path, '{"a": "x\u2028y\x85z"}\n') == [(1, {"a": "x\u2028y\x85z"})]


def test_jsonl_cut_off_in_its_last_line(tmp_path: Path) -> None:
    data, fix = '{"a": 1}\n{"a": 2}\n{"a": "thr', "may have been cut off"
    check_wrong(tmp_path, data, "line 3 column", fix=fix, name="a.jsonl")


def test_jsonl_with_a_line_that_is_no_object(tmp_path: Path) -> None:
    check_wrong(tmp_path, '{"a": 1}\n[2]\n', "line 2: not a JSON object")


def test_latin_1_names_line_and_byte(tmp_path: Path) -> None:
    data = "a,b\n1,2\n3,caf\xe9\n".encode("latin-1")
    check_wrong(tmp_path, data, "line 3: byte 0xe9 is not UTF-8", fix="save the file as UTF-8")


@pytest.mark.parametrize(
    "data",
    [b"", b"\n \r\n", b"\xef\xbb\xbf", b"\xff\xfe", "\n".encode("utf-16")],
    ids=["nothing", "blank", "bom", "utf-16-bom", "utf-16-blank"],
)
def test_an_empty_file(tmp_path: Path, data: bytes) -> None:
    check_wrong(tmp_path, data, "is empty", fix="cut off")


@pytest.mark.parametrize("data", ["sep=;", "sep=;\n"])
def test_nothing_but_the_separator(tmp_path: Path, data: str) -> None:
    check_wrong(tmp_path, data)


def test_utf_16_cut_off_in_a_character(tmp_path: Path) -> None:
    check_wrong(tmp_path, PLAIN.encode("utf-16")[:-1], "UTF-16")


def test_a_header_only(tmp_path: Path) -> None:
    assert rows(tmp_path, "a,b\n") == []


def test_no_such_file_and_a_folder(tmp_path: Path) -> None:
    with fails("no such file"):
        list(read_rows(tmp_path / "none.csv"))
    with fails("is a folder, not a file"):
        list(read_rows(tmp_path))

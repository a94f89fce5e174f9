"""Tables as spreadsheets and platforms write them."""

from pathlib import Path
from typing import Any

import pytest

from curation.formats.rows import read_rows
from support.expected import fails

ROWS = [{"item_id": "i1", "label": "unrelated"}, {"item_id": "i2", "label": "stereotype"}]
PLAIN = "item_id,label\ni1,unrelated\ni2,stereotype\n"


def rows(tmp_path: Path, data: bytes | str) -> list[tuple[int, Any]]:
    path = tmp_path / "a.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(read_rows(path))


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


@pytest.mark.parametrize(
    ("data", "found"),
    [
        # Newlines, separators and marks in quoted cells.
        ('a;b\n"one\ntwo";"x;""y"""\r\n"p\r\nq";z\n',
         {2: {"a": "one\ntwo", "b": 'x;"y"'}, 4: {"a": "p\r\nq", "b": "z"}}),
        # Too many cells are kept to be refused; too few leave the fields out.
        ("a,b\n1,2,3,4\n1,2,,\n",
         {2: {"a": "1", "b": "2", "": ["3", "4"]}, 3: {"a": "1", "b": "2"}}),
        ("a,b,c\n1,2\n", {2: {"a": "1", "b": "2"}}),
        ("a,b\n", {}),
        *((bom + b'{"a": 1, "b": "x"}\n\n{"a": null}\r\n', {1: {"a": 1, "b": "x"}, 3: {"a": None}})
          for bom in (b"", b"\xef\xbb\xbf")),
        ('{"a": "x\u2028y\x85z"}\n', {1: {"a": "x\u2028y\x85z"}}),
    ],
)  # fmt: skip
def test_rows_by_their_lines(tmp_path: Path, data: bytes | str, found: dict[int, Any]) -> None:
    assert dict(rows(tmp_path, data)) == found


@pytest.mark.parametrize(
    ("data", "what", "fix"),
    [
        ("sep=;\na;b; a\n1;2;3\n", "line 2: the column 'a' is there twice", "rename one of them"),
        # Where a quotation mark opens; the end of the file would help nobody.
        ('a,b\n1,2\n3,"4\n5,6\n7,8\n', "line 3", "a quotation mark is open"),
        ('a,b\n1,2\n"3"x,4\n', "line 3", "quotation mark"),
        ('{"a": 1}\n{"a": 2}\n{"a": "thr', "line 3 column", "may have been cut off"),
        ('{"a": 1}\n[2]\n', "line 2: not a JSON object", ""),
        (b"a,b\n1,2\n3,caf\xe9\n", "line 3: byte 0xe9 is not UTF-8", "save the file as UTF-8"),
        (PLAIN.encode("utf-16")[:-1], "UTF-16", ""),
        *((data, "is empty", "cut off")
          for data in (b"", b"\n \r\n", b"\xef\xbb\xbf", b"\xff\xfe", "\n".encode("utf-16"))),
        *((data, "", "") for data in ("sep=;", "sep=;\n")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, data: bytes | str, what: str, fix: str) -> None:
    with fails(str(tmp_path / "a.csv"), what, fix=fix):
        rows(tmp_path, data)

"""Workbooks as people and programs save them: what is read, and what is refused."""

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterable
from datetime import datetime, time
from pathlib import Path
from typing import Any

import pytest
from openpyxl.comments import Comment
from openpyxl.styles import Font
from openpyxl.utils.datetime import MAC_EPOCH

from curation.files import CurationError
from curation.formats.rows import read_rows, read_table
from curation.formats.tables import TablePlace
from curation.rounds.answers.rows import columns_of
from support.books import book as saved
from support.expected import fails

HEAD = ("task_id", "annotator", "label_1", "label_2", "label_3", "submitted_at", "seconds")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
ANSWER = ("t-1", "v1", *LABELS, "2026-03-14T10:22:05Z", "31")
OTHER = ("t-2", "v1", *LABELS, "", "")
ROW = dict(zip(HEAD, ANSWER, strict=True))
UNREAD = "cells in columns without a heading are not read:"
Change = Callable[[Any], object]
SHEET = """<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<x:dimension ref="A1:XFD1048576"/><x:sheetData>{}</x:sheetData></x:worksheet>"""
STRINGS = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</sst>'
SHARED = b"""<Override PartName="/xl/sharedStrings.xml" ContentType="application/
vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>""".replace(b"\n", b"")


def parts(path: Path, **changed: str | bytes | None) -> Path:
    """A workbook with other content of its parts: by the name of their file without its ending."""
    with zipfile.ZipFile(path) as archive:
        files = {"xl/sharedStrings.xml": STRINGS.encode()}
        files |= {name: archive.read(name) for name in archive.namelist()}
    types = files["[Content_Types].xml"]
    if b"sharedStrings" not in types and changed.get("sharedStrings", True):
        files["[Content_Types].xml"] = types.replace(b"</Types>", SHARED)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            new = changed.get(Path(name).stem, content)
            if new is not None:
                archive.writestr(name, new)
    return path


def shared(path: Path, *rows: Iterable[str], change: tuple[str, str] = ("", "")) -> Path:
    """A workbook whose texts are in a part of their own, as Excel saves it."""
    texts = dict.fromkeys(cell for row in rows for cell in row)
    strings = "".join(f"<si><t>{text}</t></si>" for text in texts).replace(*change)
    numbers = {text: n for n, text in enumerate(texts)}
    cells = (
        "".join(f'<x:c t="s"><x:v>{numbers[cell]}</x:v></x:c>' for cell in row) for row in rows
    )
    sheet = SHEET.format("".join(f"<x:row>{row}</x:row>" for row in cells))
    return parts(path, sheet1=sheet, sharedStrings=STRINGS.format(strings))


def read(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """The rows, and what is said about them."""
    warnings: list[str] = []
    return list(read_rows(path, warnings.append, columns_of)), warnings


def refused(path: Path, *words: str, fix: str = "") -> CurationError:
    with fails(str(path), *words, fix=fix) as caught:
        read(path)
    return caught.value


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.xlsx"


# --- what is read -------------------------------------------------------------------------------


def test_a_workbook_gives_the_rows_of_its_csv(file: Path, tmp_path: Path) -> None:
    rows = (HEAD, ANSWER, OTHER)
    text = "".join(",".join(row) + "\n" for row in rows)
    (tmp_path / "a.csv").write_text(text, "utf-8")
    assert read(saved(file, *rows)) == (list(read_rows(tmp_path / "a.csv")), [])
    cells = {name: f"{column}1" for name, column in zip(HEAD, "ABCDEFG", strict=True)}
    assert read_table(file).place == TablePlace(f"{file} sheet 'Tasks'", [2, 3], cells)


def test_the_content_says_what_a_file_is(tmp_path: Path) -> None:
    assert len(read(saved(tmp_path / "a.csv", HEAD, ANSWER))[0]) == 1
    (tmp_path / "b.xlsx").write_text("a,b\n1,2\n", "utf-8")
    assert read(tmp_path / "b.xlsx")[0] == [(2, {"a": "1", "b": "2"})]


def test_numbers_truth_values_and_dates_are_texts(file: Path) -> None:
    moment = datetime(2026, 3, 14, 10, 22, 5)
    rows = [
        ("t-1", 17, True, 0.5, 40.299999999999997, moment, 31.0),
        ("t-2", -3, False, "=1+1", "'=1+1", 46095.43, time(0, 1, 30)),
        ("t-3", "a\nb ", "  ", "é", None, "14.03.2026 10:22", 0.25),
        ("t-4", "x", "", "", "", 1773483725, "31"),
    ]

    saved(file, HEAD, *rows, change=lambda book: setattr(book.active["D3"], "data_type", "s"))
    found = [tuple(row.values()) for _, row in read(file)[0]]
    assert found == [
        ("t-1", "17", "true", "0.5", "40.3", "2026-03-14T10:22:05", "31"),
        ("t-2", "-3", "false", "=1+1", "=1+1", "2026-03-14T10:19:12", "90"),
        ("t-3", "a\nb ", "  ", "é", "", "14.03.2026 10:22", "0.25"),
        ("t-4", "x", "", "", "", "1773483725", "31"),
    ]


def test_dates_since_1904(file: Path) -> None:
    def since_1904(book: Any) -> None:
        book.epoch = MAC_EPOCH
        book.active["F2"], book.active["F3"] = datetime(2026, 3, 14, 10, 22, 5), 46095.43 - 1462

    rows, _ = read(saved(file, HEAD, ANSWER, OTHER, change=since_1904))
    times = [row["submitted_at"] for _, row in rows]
    assert times == ["2026-03-14T10:22:05", "2026-03-14T10:19:12"]


@pytest.mark.parametrize("number", [30, 57])
def test_dates_of_east_asian_programs(file: Path, number: int) -> None:
    saved(file, HEAD, (*ANSWER[:5], datetime(2026, 3, 14), ""))
    styles = zipfile.ZipFile(file).read("xl/styles.xml")
    parts(file, styles=re.sub(rb'numFmtId="(?!0")\d+"', b'numFmtId="%d"' % number, styles))
    assert read(file)[0][0][1]["submitted_at"] == "2026-03-14T00:00:00"


def test_rows_and_columns_that_people_leave_empty(file: Path) -> None:
    def spread(book: Any) -> None:
        sheet = book.active
        sheet.insert_rows(1, 2)
        sheet.insert_cols(3)
        sheet.append([" ", "\n"])
        sheet.append(["t-9", *[""] * 7])
        sheet["A500"].font = Font(b=True)
        sheet["A4"].comment = Comment("why?", "v1")
        sheet["A4"].hyperlink = "http://example.invalid"
        sheet["J4"] = "note"

    rows, warnings = read(saved(file, HEAD, ANSWER, change=spread))
    assert [number for number, _ in rows] == [4, 6]
    assert rows[0][1] == ROW
    assert warnings == [f"{file} sheet 'Tasks': {UNREAD} J4"]


def test_a_title_above_the_header(file: Path) -> None:
    rows, warnings = read(saved(file, ("Round 3",), (), HEAD, ANSWER))
    assert [(number, row["task_id"]) for number, row in rows] == [(4, "t-1")]
    assert warnings == [f"{file} sheet 'Tasks': the header is row 3; what is above it is not read"]


def test_hidden_rows_are_read_and_named(file: Path) -> None:
    def hide(book: Any) -> None:
        book.active.row_dimensions[2].hidden = True
        book.active.auto_filter.ref = "A1:G3"

    rows, warnings = read(saved(file, HEAD, ANSWER, OTHER, change=hide))
    assert len(rows) == 2
    assert warnings == [f"{file} sheet 'Tasks': hidden rows are read, too: 2"]


INLINE = '<x:c t="inlineStr"><x:is><x:r><x:t>{}</x:t></x:r><x:r><x:t>{}</x:t></x:r></x:is></x:c>'
INLINED = SHEET.format(
    "".join(
        f"<x:row>{''.join(INLINE.format(cell[:1], cell[1:]) for cell in row)}</x:row>"
        for row in (HEAD, ANSWER)
    )
)


def test_a_workbook_of_a_plain_writer(file: Path) -> None:
    """No styles, no shared texts, no references of cells, prefixes, a false size."""
    parts(saved(file, HEAD), sheet1=INLINED, styles=None, sharedStrings=None)
    assert read(file)[0] == [(2, ROW)]


def test_a_strict_workbook(file: Path) -> None:
    main = "schemas.openxmlformats.org/spreadsheetml/2006/main"
    strict = INLINED.replace(main, "purl.oclc.org/ooxml/spreadsheetml/main")
    parts(saved(file, HEAD), sheet1=strict)
    assert read(file)[0] == [(2, ROW)]
    parts(file, sheet1=INLINED.replace(main, "example.invalid"))
    refused(file, "this is not the XML of a sheet")


def test_what_openpyxl_does_not_know_is_passed_over(file: Path) -> None:
    """Odd fonts, filters and page sizes; ranges that would be millions of cells."""
    saved(file, HEAD, ANSWER)
    styles = zipfile.ZipFile(file).read("xl/styles.xml")
    odd = INLINED.replace(
        "</x:sheetData>",
        "</x:sheetData><x:autoFilter ref='?'/>"
        "<x:mergeCells><x:mergeCell ref='I1:XFD1048576'/></x:mergeCells>"
        "<x:hyperlinks><x:hyperlink ref='A:XFD'/></x:hyperlinks><x:pageSetup scale='x'/>",
    )
    parts(file, sheet1=odd, styles=styles.replace(b'family val="2"', b'family val="99"'))
    assert read(file)[0] == [(2, ROW)]


def test_a_date_that_is_none_is_an_error_value(file: Path, recwarn: Any) -> None:
    def change(book: Any) -> None:
        book.active["C2"] = 1e12
        book.active["C2"].number_format = "yyyy-mm-dd"

    refused(saved(file, HEAD, ANSWER, change=change), "cell C2 with an error value")
    assert not recwarn.list


def test_a_cell_far_away_takes_no_memory(file: Path) -> None:
    def add(book: Any) -> None:
        book.active["XFD1048576"] = "x"

    rows, warnings = read(saved(file, HEAD, ANSWER, change=add))
    assert len(rows) == 1
    assert warnings == [f"{file} sheet 'Tasks': {UNREAD} XFD1048576"]


def test_readings_of_japanese_texts_and_escapes_are_not_part_of_a_text(file: Path) -> None:
    new = "<r><t>学</t></r><r><t>生_x000D_</t></r><rPh sb='0' eb='1'><t>がく</t></rPh>"
    new += "<phoneticPr fontId='1'/>"
    shared(saved(file, HEAD, ANSWER), HEAD, ANSWER, change=("<t>unrelated</t>", new))
    assert read(file)[0][0][1] == ROW | {"label_3": "学生\r"}


# --- which sheet --------------------------------------------------------------------------------


def with_sheet(name: str, *rows: Iterable[Any], state: str = "visible", at: int = 0) -> Change:
    def add(book: Any) -> None:
        sheet = book.create_sheet(name, at)
        for row in rows:
            sheet.append(list(row))
        sheet.sheet_state = state

    return add


HELP = with_sheet("Help", ("Column", "Write"), *([name, "text"] for name in HEAD))


def test_sheets_of_the_tool_and_empty_ones_are_passed_over(file: Path) -> None:
    def add(book: Any) -> None:
        with_sheet("Lists", LABELS, ("x", "y"), state="hidden")(book)
        HELP(book)
        with_sheet("Sheet3")(book)
        book.create_chartsheet("Chart")
        with_sheet("Empty form", HEAD)(book)

    rows, warnings = read(saved(file, HEAD, ANSWER, change=add))
    assert len(rows) == 1
    assert warnings == [f"{file}: only sheet 'Tasks' is read; 'Empty form' has data, too"]


def test_a_table_of_which_only_the_tasks_have_their_heading_is_read(file: Path) -> None:
    renamed = ("task_id", "who", "first", "second", "third", "when", "how long")
    (row,), warnings = read(saved(file, renamed, ANSWER, change=HELP))
    assert (row, warnings) == ((2, dict(zip(renamed, ANSWER, strict=True))), [])


def test_another_sheet_with_data_is_named(file: Path) -> None:
    saved(file, HEAD, ANSWER, change=with_sheet("Notes", ("who", "what"), (1, 2)))
    assert read(file)[1] == [f"{file}: only sheet 'Tasks' is read; 'Notes' has data, too"]
    with fails("the sheets 'Notes', 'Tasks' have data"):
        [*read_rows(file, None, columns_of)]


def test_two_sheets_of_answers(file: Path) -> None:
    saved(file, HEAD, ANSWER, change=with_sheet("Ana (2)", HEAD, OTHER, at=1))
    says = "the sheets 'Tasks', 'Ana (2)' look like tables of answers"
    refused(file, says, fix="delete the others")


@pytest.mark.parametrize("state", ["hidden", "veryHidden"])
def test_hidden_answers(file: Path, state: str) -> None:
    saved(file, HEAD, ANSWER, change=with_sheet("Ana", HEAD, OTHER, state=state))
    refused(file, "sheet 'Ana': has answers and is hidden")


def test_a_workbook_without_a_table(file: Path) -> None:
    refused(saved(file), "no sheet has a table")


# --- what is refused ----------------------------------------------------------------------------


def test_a_column_twice_names_both_cells(file: Path) -> None:
    refused(saved(file, (*HEAD, " label_1"), ANSWER), "sheet 'Tasks' cells C1 and H1: the column")


def test_merged_answers(file: Path) -> None:
    def merge(book: Any) -> None:
        book.active.merge_cells("A1:G1")  # the title
        book.active.merge_cells("C3:C4")
        book.active.merge_cells("H3:H4")  # a column that is not read

    saved(file, ("Round",), HEAD, (*ANSWER, "note"), OTHER, change=merge)
    refused(file, "sheet 'Tasks': cells C3:C4 are merged", fix="unmerge")


def test_changed_cells_are_named_in_one_error(file: Path) -> None:
    row = ("t-2", "=A1", datetime(2026, 2, 1), "#N/A", "x", time(10, 22), datetime(2026, 2, 1))

    def style(book: Any) -> None:
        for n in range(4, 12):
            book.active[f"E{n}"] = 0.5
            book.active[f"E{n}"].number_format = "0%"
        book.active["B4"] = 1234567890123456789

    error = refused(saved(file, HEAD, ANSWER, row, change=style))
    assert error.what == (
        f"{file} sheet 'Tasks': cell B3 with a formula; cell C3 with a date, which the spreadsheet "
        "program made of what was typed; cell D3 with an error value such as #N/A; cell F3 with "
        "something else than a date; cell G3 with something else than seconds; cell B4 with a "
        "number of over 15 digits, which the program cuts off; cells E4, E5, E6, E7, E8 and 3 more "
        "with a percentage, an amount or the like instead of what was typed"
    )
    assert "paste it as values" in error.fix
    assert error.fix.count("format the column as Text") == 1


def test_columns_that_are_not_read_may_have_anything(file: Path) -> None:
    row = (*ANSWER, "=LEN(C2)", datetime(2026, 2, 1), "#N/A", 0.5)
    saved(file, (*HEAD, "length", "day", "wrong", "share"), row)
    found = read(file)[0][0][1]
    assert [found[name] for name in ("day", "wrong")] == ["2026-02-01T00:00:00", "#N/A"]


def test_minutes_or_seconds(file: Path) -> None:
    rows = [(*ANSWER[:6], time(0, 45)), (*OTHER[:6], time(0, 1, 30))]
    assert [row["seconds"] for _, row in read(saved(file, HEAD, *rows))[0]] == ["2700", "90"]
    refused(saved(file, HEAD, rows[0]), "cell G2", fix="write the number of seconds")


# --- files that are not workbooks ----------------------------------------------------------------


def zipped(**files: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in files.items():
            # without a time: every worker makes the same bytes, and the same names of tests
            part = zipfile.ZipInfo(name.replace("__", "/").replace("_DOT_", "."))
            archive.writestr(part, data)
    return content.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
ODS = b"application/vnd.oasis.opendocument.spreadsheet"


@pytest.mark.parametrize(
    ("data", "what", "fix"),
    [
        (zipped(mimetype=ODS), ".ods", "save it as .xlsx"),
        (b'<?xml version="1.0"?>\n<office:document xmlns', ".fods", "save it as .xlsx"),
        (OLE, ".xls", "save it as .xlsx"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "a password", "without a password"),
        (zipped(xl__workbook_DOT_bin=b""), ".xlsb", "save it as .xlsx"),
        (zipped(xl__workbook_DOT_xml=b"", xl__vbaProject_DOT_bin=b""), ".xlsm", "without macros"),
        (zipped(word__document_DOT_xml=b""), "a Word document", "save it as .xlsx"),
        (zipped(Index__Document_DOT_iwa=b""), "a Numbers file", "export it to Excel"),
        (zipped(a=b""), "a zip archive", "unpack it"),
        (b'{"url": "https://docs.google.com/open?id=1", "doc_id": "1"}', "Google", "download it"),
        (b"\xef\xbb\xbf<html><table>", "a web page", "save it as .xlsx"),
        (b"<?xml version='1.0'?><?mso-application progid='Excel.Sheet'?>", "2003", ".xlsx"),
        (b"%PDF-1.7", "a PDF", ".xlsx"),
        (b"PAR1 PAR1", "a Parquet file", ".xlsx or CSV"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"),
    ],
)
def test_other_kinds_are_named(file: Path, data: bytes, what: str, fix: str) -> None:
    file.write_bytes(data)
    refused(file, what, fix=fix)


@pytest.mark.parametrize("size", [4, 500, -100, -10])
def test_a_workbook_that_is_cut_off(file: Path, size: int) -> None:
    saved(file, HEAD, ANSWER)
    file.write_bytes(file.read_bytes()[:size])
    refused(file, "damaged or unusual")


def one_cell(cell: str) -> dict[str, str]:
    """A sheet of one cell."""
    return {"sheet1": SHEET.format(f'<x:row r="1">{cell}</x:row>')}


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><worksheet>&b;</worksheet>'


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sheet1": "<worksheet><sheetData>"}, "part xl/worksheets/sheet1.xml"),
        ({"sheet1": LAUGHS}, "no DTD"),
        ({"sheet1": None}, "part xl/worksheets/sheet1.xml"),
        (one_cell('<x:c t="s"><x:v>99</x:v></x:c>'), "cell A1"),
        (one_cell('<x:c t="x"><x:v>99</x:v></x:c>'), "cell A1"),
        (one_cell("<x:c><x:v>nan</x:v></x:c>"), "cell A1"),
        (one_cell("<x:c><x:v>1e999</x:v></x:c>"), "cell A1"),
        (one_cell('<x:c r="A2"><x:v>1</x:v></x:c>'), "row 1"),
        ({"sheet1": SHEET.format('<x:row r="x"/>')}, "sheet1.xml"),
        ({"sheet1": SHEET.format('<x:row><x:c r="ABCD1"/></x:row>')}, "sheet1.xml"),
        ({"workbook": b"\xff\xff"}, "part xl/workbook.xml"),
        ({"sharedStrings": "<sst>"}, "part xl/sharedStrings.xml"),
    ],
)
def test_damaged_parts_are_named(file: Path, change: dict[str, Any], word: str) -> None:
    refused(parts(saved(file, HEAD, ANSWER), **change), word, "damaged or unusual")


def test_bombs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(file, HEAD, ANSWER)
    monkeypatch.setattr("curation.formats.sheets.UNPACKED", 1 << 20)
    parts(file, sheet1=SHEET.format("<x:c/>" * 200_000))
    refused(file, "more than 1 MiB when it is unpacked")
    monkeypatch.setattr("curation.formats.sheets.MOST_ELEMENTS", 2500)
    parts(file, sheet1=SHEET.format("<x:c/>" * 2501))
    refused(file, "more than 2,500 XML elements")
    parts(file, sharedStrings=STRINGS.format("<si/>" * 2501))
    refused(file, "more than 2,500 XML elements")


@pytest.mark.parametrize(
    "content", ["<a>" * 200_000, SHEET.format(f"<x:row>{'<x:c/>' * 300_000}</x:row>")]
)
def test_xml_that_would_take_much_memory(file: Path, content: str) -> None:
    refused(parts(saved(file, HEAD), sheet1=content), "this is not the XML of a workbook")


def test_a_sheet_of_very_many_columns(file: Path) -> None:
    saved(file, [f"c{n}" for n in range(2001)], ["x"])
    refused(file, "sheet 'Tasks' row 1: it has 2,001 columns")


@pytest.mark.parametrize("name", ["~$w.xlsx", ".~lock.w.xlsx#"])
def test_the_note_of_a_program_that_has_the_table_open(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x03Ann".ljust(55) + b"\x03\0A\0n\0n\0")
    refused(tmp_path / name, "is a note of a spreadsheet program", fix="name the table")


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.csv")
    with fails("w.csv: is a device or a pipe, not a file"):
        read_table(tmp_path / "w.csv")

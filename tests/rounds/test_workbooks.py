"""Workbooks that people fill in: lists, locks, languages, and texts of any kind."""

import io
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.worksheet import Worksheet

from curation.formats.rows import read_rows
from curation.formats.table_words import key, round_words, shipped_texts
from curation.kinds import ACTIONS, ROUND_KINDS, ROUNDS, RoundKindName
from curation.records import FLAGS, Shown, Task
from curation.rounds.answers.rows import columns_of, file_row
from curation.rounds.platforms import pages
from curation.rounds.workbooks import (
    LONGEST,
    Column,
    Row,
    column_table,
    columns,
    round_workbook,
    task_row,
    workbook,
)
from support.expected import fails
from support.team import CAMPAIGNS

OWN = {"en": None, "id": "indonesian", "ar": "arabic", "ja": "japanese"}
YES = {"en": "yes", "id": "ya", "ar": "نعم", "ja": "はい"}
VERSION = "1-abcdef"
ID = Column("task_id", "task_id", "h")
SHEET = shipped_texts("en")["sheet"]
BOTH = pytest.mark.parametrize(
    ("language", "kind"), [(lang, kind) for lang in OWN for kind in ROUND_KINDS]
)


@cache
def texts_of(language: str) -> pages.Texts:
    folder = OWN[language]
    own = pages.read_own(language, CAMPAIGNS / folder / "text.toml") if folder else None
    return pages.texts(language, own)


def task(n: int, kind: RoundKindName) -> Task:
    shown = tuple(Shown(id=f"s{k}", text=f"Text {n}, {k}.", association=f"a{k}") for k in (1, 2, 3))
    return Task(
        id=f"t-{n}", term="term-1", domain="profession", target="baker", wanted=5, context="Hm.",
        shown=shown if kind in ("validation", "neutral") else (),
    )  # fmt: skip


def rows_of(kind: RoundKindName, texts: pages.Texts, **how: Any) -> list[Row]:
    offers = {1: [("term-2", "potter, or $5"), ("term-3", "=1+1")], 2: [("term-4", "fiddler")]}
    about: dict[str, Any] = {"texts": texts, "info": "bakes"}
    return [
        task_row(pages.task_data(task(n, kind), kind, choices=offers[n], **about), needed=5, **how)
        for n in (1, 2)
    ]


@cache
def made(kind: RoundKindName, language: str, *, who: str = "") -> tuple[list[Column], bytes]:
    texts = texts_of(language)
    chosen = columns(kind, texts, consent=VERSION, personal=bool(who))
    return chosen, round_workbook(kind, texts, chosen, rows_of(kind, texts, annotator=who))


@cache
def opened(content: bytes) -> Workbook:
    return load_workbook(io.BytesIO(content))


def plain_book(told: list[Column], *rows: dict[str, Any], sheet: Any = SHEET) -> Workbook:
    return opened(workbook(told, [Row(row) for row in rows], about=(), sheet=sheet))


def listed(book: Workbook, rule: DataValidation) -> list[Any]:
    """The values that a rule's list has."""
    sheet, _, place = str(rule.formula1).partition("!")
    cells = book[sheet][place.replace("$", "")]
    return [line[0].value for line in (cells if isinstance(cells, tuple) else ((cells,),))]


def lists(book: Workbook, table: Worksheet) -> dict[str, list[Any]]:
    """The values of the list of each cell that has one."""
    found = {}
    for rule in table.data_validations.dataValidation:
        places = [place for area in rule.sqref.ranges for place in area.cells]
        for line, column in places if rule.type == "list" else ():
            cell = f"{get_column_letter(column)}{line}"
            assert cell not in found
            assert not rule.hide_drop_down
            assert rule.showErrorMessage
            found[cell] = listed(book, rule)
    return found


def words_of(texts: pages.Texts, column: Column, language: str, line: int) -> list[str] | None:
    """What a list must have, from the form's texts and not from the code that makes it."""
    form, review = texts["validation"], texts["review"]
    if column.name.startswith("label_"):
        return [form["stereotype"], form["anti_stereotype"], form["unrelated"]]
    if column.name == "decision":
        return [review[name] for name in ACTIONS]
    if column.name == "merge_into":
        offers = ["potter, or $5", "=1+1"] if line == 2 else ["fiddler"]
        return [*offers, review["into_other"]]
    if column.name.startswith(("flags.", "reasons.")):
        return [YES[language]]
    return [VERSION] if column.name == "consent" else None


@BOTH
def test_answer_cells_are_empty_free_and_have_lists(language: str, kind: RoundKindName) -> None:
    chosen, content = made(kind, language)
    texts, book = texts_of(language), opened(content)
    table, guide, hidden = book.worksheets
    assert (table.title, guide.title) == (texts["sheet"]["tasks"], texts["sheet"]["instructions"])
    assert [sheet.sheet_state for sheet in book] == ["visible", "visible", "hidden"]
    assert hidden.title == "lists"
    assert all(sheet.protection.sheet and not sheet.protection.password for sheet in book)
    assert {sheet.sheet_view.rightToLeft for sheet in book} == {language == "ar"}
    assert table.freeze_panes == "A2"
    assert table.max_row == 3
    rules, wanted = lists(book, table), {}
    for number, column in enumerate(chosen, 1):
        assert table.cell(1, number).value == column.heading
        assert table.cell(1, number).protection.locked
        for line in (2, 3):
            cell = table.cell(line, number)
            assert (cell.value is None) == column.fill, column
            assert cell.protection.locked != column.fill
            assert (cell.number_format == "@") == column.fill
            assert bool(cell.alignment.wrap_text) == (column.name != "task_id")
            assert (cell.alignment.readingOrder == 2) == (language == "ar")
            assert cell.border.left.style == cell.border.bottom.style == "thin"
            if column.fill and (values := words_of(texts, column, language, line)) is not None:
                wanted[cell.coordinate] = values
    assert rules == wanted
    assert len({c.heading for c in chosen}) == len(chosen)
    colours = {table.cell(2, n).fill.fgColor.rgb for n, c in enumerate(chosen, 1) if c.fill}
    assert colours == {"FFFFF2CC"}


@BOTH
def test_the_columns_to_fill_are_those_that_are_read(language: str, kind: RoundKindName) -> None:
    """No column looks like one to fill in and is not, and none is missing."""
    chosen, content = made(kind, language)
    texts = texts_of(language)
    words, table = round_words(texts), opened(content).worksheets[0]
    fields = {c.name.partition(".")[0] for c in chosen if c.fill}
    assert fields == {*ROUNDS[kind].fields, "annotator", "consent"}
    given = [c.name for c in chosen if not c.fill]
    assert given == {
        "review": ["task_id", "term", "domain", "info", "answers_needed"],
        "validation": ["task_id", "target", "domain", "context", "answers_needed",
                       "text_1", "text_2", "text_3"],
        "neutral": ["task_id", "target", "domain", "context", "text_1", "text_2", "text_3",
                    "answers_needed"],
    }.get(kind, ["task_id", "target", "domain", "answers_needed"])  # fmt: skip
    # Somebody chooses the last value of each list, and writes a word where there is none.
    filled = {}
    for column, head in zip(chosen, next(table.iter_rows(max_row=1)), strict=True):
        filled[str(head.value)] = (column.values or ("kata 言葉",))[-1] if column.fill else "x"
    for read in (file_row(filled, words), file_row(filled)):
        assert read.keys() >= {"task_id", *fields}
        assert read["annotator"] == "kata 言葉"
        assert read["consent"] == VERSION
        if kind == "validation":
            assert set(read["flags"].split("|")) == set(FLAGS)
            label = words.read("label", read["label_3"])
            assert label == "unrelated"
        if kind == "review":
            assert words.read("decision", read["decision"]) == "drop"
            assert read["reasons"].count("|") == 5


@BOTH
def test_the_instructions_name_every_column_with_its_values(
    language: str, kind: RoundKindName
) -> None:
    chosen, content = made(kind, language)
    texts, guide = texts_of(language), opened(content).worksheets[1]
    lines = [tuple(str(c.value or "") for c in line) for line in guide.iter_rows()]
    assert lines[-len(chosen) - 1 :] == column_table(chosen, texts["sheet"])
    assert all(hint and values for _, hint, values in lines[-len(chosen) :])
    said = "\n".join(first for first, *_ in lines)
    assert "**" not in said
    for text in (*texts["consent"]["lines"], *texts["sheet"]["how"], *texts[kind]["rules"]):
        assert text.replace("*", "") in said
    if language != "en":
        shown = "\n".join("\t".join(line) for line in lines)
        for text in (*SHEET["how"], SHEET["given"], SHEET["any"]):
            assert text.replace("*", "") not in shown


def test_rows_are_as_high_as_their_texts_and_may_grow() -> None:
    texts, long = texts_of("en"), "A baker who sings. " * 12
    chosen = columns("validation", texts, consent=VERSION, personal=True)
    data = pages.task_data(task(1, "validation"), "validation", texts=texts) | {"context": long}
    content = round_workbook("validation", texts, chosen, [task_row(data, needed=1)])
    heights = [opened(content).worksheets[0].row_dimensions[line].height for line in (1, 2)]
    assert heights == [30, 90]
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        assert b"customHeight" not in parts.read("xl/worksheets/sheet1.xml")


def test_a_table_of_one_person_names_them_and_is_for_nobody_else() -> None:
    chosen, content = made("validation", "en", who="=ann@x.invalid")
    table = opened(content).worksheets[0]
    names = [column.name for column in chosen]
    assert "answers_needed" not in names
    cell = table.cell(2, names.index("annotator") + 1)
    assert (cell.value, cell.data_type) == ("=ann@x.invalid", "s")
    assert cell.protection.locked


def test_the_same_input_gives_the_same_bytes() -> None:
    _, first = made("review", "ja")
    assert made.__wrapped__("review", "ja")[1] == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        properties = archive.read("docProps/core.xml")
    assert properties.count(b">2000-01-01T00:00:00Z</dcterms:") == 2


STAYS = [
    *("=1+1", "+1", "-1", "@SUM(A1)", "3/4", "0012", "#N/A", "TRUE", "'tis", "two\nlines"),
    *("  spaces  ", "🙂 <b>&amp;", "x" * LONGEST),
]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *((text, text) for text in STAYS),
        ("'=1+1", "''=1+1"),  # reading removes an apostrophe
        ("a\x00b\x0bc\x1f\ufffe", "a\ufffdb\ufffdc\ufffd\ufffd"),
        ("lone \ud800", "lone \ufffd"),
    ],
)
def test_a_text_stays_a_text(text: str, shown: str) -> None:
    told = [ID, Column("text_1", "Text", "h", long=True)]
    cell = plain_book(told, {"task_id": "t", "text_1": text}).worksheets[0]["B2"]
    assert (cell.value, cell.data_type) == (shown, "s")


def test_texts_that_begin_like_formulas_are_read_as_they_were_written(tmp_path: Path) -> None:
    texts = ["=1+1", "'=1+1", "''=1+1", "+1", "'-2", "@a", "'tis", "'", "a_x0041_b"]
    chosen = [Column(name, name, "h") for name in ("task_id", "annotator", "stereotype")]
    tasks = [
        Row({"task_id": f"t-{n}", "annotator": t, "stereotype": t}) for n, t in enumerate(texts)
    ]
    file = tmp_path / "a.xlsx"
    file.write_bytes(workbook(chosen, tasks, about=(), sheet=SHEET))
    rows = [row for _, row in read_rows(file, None, columns_of)]
    assert [row["stereotype"] for row in rows] == [row["annotator"] for row in rows] == texts


def test_a_text_that_no_cell_can_hold_is_refused_with_its_place() -> None:
    told = [ID, Column("text_1", "Text", "h")]
    with fails("task t-7, text_1: has 32,768 characters", fix="--format csv"):
        plain_book(told, {"task_id": "t-7", "text_1": "x" * (LONGEST + 1)})


@pytest.mark.parametrize("title", ["a/b:c?", "x" * 60, "lists", "", "'"])
def test_any_word_can_be_the_title_of_a_sheet(title: str) -> None:
    told = [Column("task_id", "task_id", "h" * 400, ("a",), fill=True)]
    words = SHEET | {"tasks": title, "instructions": title, "wrong": "w" * 400}
    book = plain_book(told, {"task_id": None}, sheet=words)
    assert len({sheet.title.casefold() for sheet in book}) == 3
    assert lists(book, book.worksheets[0]) == {"A2": ["a"]}


def test_a_table_without_tasks_and_lists_with_commas_and_many_values() -> None:
    told = [ID, Column("label_1", "L", "h", ("a, b",) * 90, fill=True)]
    assert plain_book(told).worksheets[0].max_row == 1
    book = plain_book(told, {"task_id": "t"})
    assert lists(book, book.worksheets[0]) == {"B2": ["a, b"] * 90}


def test_a_term_that_is_offered_twice_is_shown_with_its_id() -> None:
    texts = pages.texts("en", None)
    choices = [("term-1", "nurse"), ("term-2", "nurse"), ("term-3", "$5 reader")]
    data = pages.task_data(task(1, "review"), "review", texts=texts, choices=choices)
    offers = task_row(data, needed=1).lists["merge_into"]
    other = texts["review"]["into_other"]
    assert list(offers) == ["term-1: nurse", "term-2: nurse", "$5 reader", other]


@pytest.mark.parametrize("kind", ROUND_KINDS)
def test_tables_for_programs_have_canonical_names(kind: RoundKindName) -> None:
    texts = texts_of("ja")
    chosen = columns(kind, texts, consent="", personal=False, plain=True)
    assert all(column.heading == column.name for column in chosen)
    assert "consent" not in {column.name for column in chosen}
    values = {column.name: column.values for column in chosen if column.fill and column.values}
    if kind == "validation":
        assert values["label_2"] == ("stereotype", "anti-stereotype", "unrelated")
        assert values["flags.objective"] == ("yes",)
        assert {"id_1", "id_2", "id_3"} <= {column.name for column in chosen}
    if kind == "review":
        assert values["decision"] == ACTIONS
        (first, _) = rows_of(kind, texts, plain=True)
        assert first.cells["merge_choices"] == (
            "term-2: potter, or $5 | term-3: =1+1 | other: " + texts["review"]["into_other"]
        )
    assert all(key(c.heading) for c in chosen)


def test_the_page_has_the_columns_of_the_table_beside_it() -> None:
    texts = texts_of("ar")
    chosen = columns("validation", texts, consent=VERSION, personal=False, plain=True)
    guide = column_table(chosen, texts["sheet"])
    page = pages.page("validation", texts, language="ar", columns=guide)
    assert "<td>label_1</td>" in page
    assert "<td>stereotype<br>anti-stereotype<br>unrelated</td>" in page
    assert page.count("<tr>") == len(chosen) + 1
    assert page.count('<div dir="rtl">') == 2
    assert page.endswith("</html>\n")
    how = texts["sheet"]["how_title"]
    assert how not in page
    assert how in pages.page("validation", texts, language="ar", columns=guide, fill=True)

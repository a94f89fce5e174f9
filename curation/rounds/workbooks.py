"""Workbooks (.xlsx) that people fill in: tasks, instructions, and lists to choose from.

The first sheet has the table. Cells to fill in are coloured; all others are locked. The second
sheet has the instructions. A hidden sheet has the lists, because a list inside a cell's rule can
neither hold commas nor more than 255 characters. The same input gives the same bytes.
"""

import io
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.files import CurationError
from curation.formats.table_words import (
    FORM,
    OTHER,
    SEVERAL,
    SPACE_OF,
    YES,
    Sections,
    offered_words,
)
from curation.formats.tables import restore_cell
from curation.kinds import LABELS, NUMBERS, ROUNDS, RoundKindName
from curation.rounds.platforms import pages

if TYPE_CHECKING:
    from openpyxl.worksheet.dimensions import RowDimension
    from openpyxl.worksheet.worksheet import Worksheet


TASK = "task_id"
_LISTED = "merge_into"  # its values differ between tasks


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: its canonical name.
        heading: the name that the table shows.
        hint: what it is, or what to write in it.
        values: the values that are allowed, as the table shows them; empty if any text is.
        fill: whether people fill it in.
        listed: whether each row has allowed values of its own.
        long: whether its cells have long texts.
    """

    name: str
    heading: str
    hint: str
    values: tuple[str, ...] = ()
    fill: bool = False
    listed: bool = False
    long: bool = False


class Row(NamedTuple):
    """A row of a table: its cells by canonical name, and the values of columns that are listed."""

    cells: Mapping[str, Any]
    lists: Mapping[str, Sequence[str]] = {}


def columns(
    kind: RoundKindName,
    texts: Sections,
    shown: int = len(NUMBERS),
    *,
    consent: str,
    personal: bool,
    plain: bool = False,
) -> list[Column]:
    """The columns of a table of tasks, in order.

    Args:
        kind: the kind of the round.
        texts: the texts of the round, with those of tables.
        shown: how many texts its tasks show, if they show any.
        consent: the version of the consent text, the only value of the column ``consent``; empty
            if people agree elsewhere, and the table has no such column.
        personal: whether the table is for one person. It then names that person, and does not say
            how many answers each task needs.
        plain: canonical names instead of words, for a table that programs read. Such a table also
            has the ids of the texts, and the terms to merge into.
    """
    own, offered = ROUNDS[kind], offered_words(texts)
    yes = YES if plain else offered["answer"][YES]
    has_sentences = own.work == "write" and not (own.writes and own.writes.has_gap)

    def column(name: str, *, fill: bool = False) -> Column:
        base = re.sub(r"_\d$", "", name)
        words = offered[SPACE_OF[name]] if name in SPACE_OF else {}
        values = tuple(words) if plain else tuple(words.values())
        if name.partition(".")[0] in SEVERAL:
            values = (yes,)
        elif name == "consent":
            values = (consent,)
        return Column(
            name=name,
            heading=name if plain else offered["column"].get(name, name),
            hint=_hint(name, base, kind if fill else None, texts),
            values=values,
            fill=fill,
            listed=name == _LISTED and not plain,
            long=base in ("context", "text", "template", "info")
            or (has_sentences and fill and not values),
        )

    given = [TASK, *own.tells]
    if own.shows_items:
        given.append("context")
    if own.shows_items and own.work == "write":
        given += [f"text_{number}" for number in NUMBERS[:shown]]
    if not personal:
        given.append("answers_needed")
    if plain and "merge_into" in own.fields:
        given.append("merge_choices")
    every = [column(name) for name in given]
    for field in own.fields:
        if field in LABELS[shown:]:
            continue
        if field in LABELS:
            before = ("id", "text") if plain else ("text",)
            every += [column(field.replace("label", name)) for name in before]
        values = FORM[SPACE_OF[field]] if field in SEVERAL else ()
        names = [f"{field}.{value}" for value in values] or [field]
        every += [column(name, fill=True) for name in names]
    every.append(column("annotator", fill=not personal))
    return every + ([column("consent", fill=True)] if consent else [])


def _hint(name: str, base: str, kind: RoundKindName | None, texts: Sections) -> str:
    """What a column is, or what to write; ``kind`` if people fill it in."""
    hints = texts["hint"]
    if kind and f"{name}_hint" in texts[kind]:
        return str(texts[kind][f"{name}_hint"])
    field, _, value = base.partition(".")
    if field == "flags":
        return f"{texts['validation'][f'{value}_hint']}\n{hints['flag']}"
    return str(hints["reason" if field == "reasons" else base])


def task_row(
    data: Mapping[str, Any], *, needed: int, annotator: str = "", plain: bool = False
) -> Row:
    """The row of a task.

    Args:
        data: what people may see of the task, as ``pages.task_data`` gives it.
        needed: how many answers the task still needs.
        annotator: the person whose table it is; empty for a table for anybody.
        plain: as for ``columns()``.
    """
    cells = {name: value for name, value in data.items() if not isinstance(value, list)}
    cells |= {"answers_needed": needed, "annotator": annotator}
    offers = [(o["alias"], o["value"].replace("$\u2060", "$")) for o in data.get("choices", ())]
    if plain:
        cells["merge_choices"] = " | ".join(f"{term}: {text}" for term, text in offers)
        return Row(cells)
    times = Counter(text for _, text in offers)
    texts = [text if times[text] == 1 or id == OTHER else f"{id}: {text}" for id, text in offers]
    return Row(cells, {_LISTED: texts} if offers else {})


Parts = Sequence[tuple[str, Sequence[str]]]
"""Instructions: headings, and the lines under each."""

LONGEST = 32_767  # characters that a cell can hold
WIDE, NARROW, MACHINE = 44, 20, 12  # widths of columns, in characters
GUIDE = (30, 60, 36)  # widths of the columns of the instructions
LINE, HIGHEST = 15.0, 409.0  # heights of a line, and of a row at most, in points
LISTS = "lists"
ANSWER, FIXED, HEAD, EDGE = "FFFFF2CC", "FFEDEDED", "FFD9D9D9", "FFBFBFBF"  # colours
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # such a file means a character by this
_NO_TITLE = re.compile(r"[\\/*?:\[\]\x00-\x1f]")
_CHANGED = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip archive can hold


def round_workbook(
    kind: RoundKindName, texts: Sections, columns: Sequence[Column], rows: Sequence[Row]
) -> bytes:
    """A workbook of a round's tasks, with the instructions of the round.

    Args:
        kind: the kind of the round.
        texts: the texts of the round, with those of tables.
        columns: as ``columns()`` gives them. There may be more.
        rows: as ``task_row`` gives them.

    Raises:
        CurationError: a text is longer than a cell can hold.
    """
    return workbook(
        columns,
        rows,
        about=[pages.how_to_fill(texts), *pages.plain_parts(kind, texts)],
        sheet=texts["sheet"],
        right_to_left=texts["page"]["direction"] == "rtl",
    )


def workbook(
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    about: Parts,
    sheet: Mapping[str, Any],
    right_to_left: bool = False,
) -> bytes:
    """A workbook to fill in.

    Args:
        columns: the columns of the table. The reader finds a task by the column ``task_id``.
        rows: its rows. A cell that is to be filled in may have a value already.
        about: the instructions, above the list of columns.
        sheet: the words of the workbook itself, the section ``[sheet]`` of the texts.
        right_to_left: whether its columns run from right to left.

    Returns:
        The content of an .xlsx file. Characters that such a file cannot hold become U+FFFD.

    Raises:
        CurationError: a text is longer than a cell can hold.
    """
    from openpyxl import Workbook

    book = Workbook()
    table = book.active
    assert table is not None
    taken = {LISTS}
    table.title = _title(sheet["tasks"], "tasks", taken)
    guide = book.create_sheet(_title(sheet["instructions"], "instructions", taken))
    lists = book.create_sheet(LISTS)
    lists.sheet_state = "hidden"
    _fill_table(table, columns, rows, right_to_left=right_to_left)
    _add_lists(table, lists, columns, rows, str(sheet["wrong"]))
    _fill_guide(guide, columns, about, sheet, right_to_left=right_to_left)
    for each in (table, guide):
        _fit_for_print(each)
    for each in (table, guide, lists):
        each.sheet_view.rightToLeft = right_to_left
        each.protection.sheet = True  # without a password: against mistakes, not against people
        each.protection.formatColumns = each.protection.formatRows = False  # these are allowed
    return _reproducible(book)


def column_table(columns: Iterable[Column], sheet: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The instructions on columns: heading, what to write, and the allowed values."""
    lines = [(sheet["column"], sheet["what"], sheet["values"])]
    for column in columns:
        values = "\n".join(column.values) or sheet["any"]
        if column.listed:
            values = sheet["wrong"]
        lines.append((column.heading, column.hint, values if column.fill else sheet["given"]))
    return lines


def _fill_table(
    table: "Worksheet", columns: Sequence[Column], rows: Sequence[Row], *, right_to_left: bool
) -> None:
    from openpyxl.styles import Border, PatternFill, Protection, Side

    wrapped, cut = _alignment(right_to_left), _alignment(right_to_left, wrap=False)
    fills = {True: PatternFill("solid", fgColor=ANSWER), False: PatternFill("solid", fgColor=FIXED)}
    free, bold, dark = Protection(locked=False), _bold(), PatternFill("solid", fgColor=HEAD)
    side = Side("thin", color=EDGE)
    border = Border(side, side, side, side)  # a coloured cell hides the lines of the grid
    lines = [1] * (len(rows) + 2)
    for number, column in enumerate(columns, 1):
        head = _put(table, 1, number, column.heading, column.heading)
        head.font, head.fill, head.alignment = bold, fills[True] if column.fill else dark, wrapped
        head.border = border
        width = MACHINE if column.name == TASK else WIDE if column.long else NARROW
        table.column_dimensions[head.column_letter].width = width
        lines[1] = max(lines[1], _lines(column.heading, width * 0.9))  # bold letters are wider
        for line, row in enumerate(rows, 2):
            value = row.cells.get(column.name)
            place = f"task {row.cells.get(TASK)}, {column.name}"
            cell = _put(table, line, number, value if value != "" else None, place)
            cell.alignment = cut if column.name == TASK else wrapped
            cell.fill, cell.border = fills[column.fill], border
            if column.fill:
                cell.protection = free
                cell.number_format = "@"  # a text stays a text: no date, number or formula
            if column.name != TASK and isinstance(value, str):
                lines[line] = max(lines[line], _lines(value, width))
    for line, height in enumerate(lines[1:], 1):
        _set_height(table, line, height)
    table.freeze_panes = "A2"
    table.print_title_rows = "1:1"
    table.page_setup.orientation = "landscape"


def _alignment(right_to_left: bool, *, wrap: bool = True) -> Any:
    """Text at the top of its cell; its direction is that of the sheet, whatever it begins with."""
    from openpyxl.styles import Alignment

    return Alignment(wrap_text=wrap, vertical="top", readingOrder=2 if right_to_left else 0)


def _bold() -> Any:
    """The usual font, bold."""
    from openpyxl.styles import DEFAULT_FONT, Font

    return Font(name=DEFAULT_FONT.name, sz=DEFAULT_FONT.sz, bold=True)


def _fit_for_print(sheet: "Worksheet") -> None:
    """All columns on one page in print."""
    from openpyxl.worksheet.properties import PageSetupProperties

    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)


def _lines(text: str, width: float) -> int:
    """How many lines a text takes in a column of a width in characters."""
    return sum(1 + int(_width(part) // width) for part in text.split("\n"))


def _set_height(sheet: "Worksheet", line: int, lines: int, *, merged: bool = False) -> None:
    """Set the height with which a row is first shown; not all programs compute it.

    If people write more into the row, it grows, unless its cells are ``merged``.
    """
    from openpyxl.worksheet.dimensions import RowDimension

    kind = RowDimension if merged else _growing_row()
    sheet.row_dimensions[line] = kind(sheet, index=line, ht=min(lines * LINE, HIGHEST))


@cache
def _growing_row() -> "type[RowDimension]":
    """A row whose height programs may change; openpyxl itself calls every height fixed."""
    from openpyxl.worksheet.dimensions import RowDimension

    class Growing(RowDimension):
        customHeight = False  # noqa: N815

    return Growing


def _put(sheet: "Worksheet", line: int, number: int, value: Any, place: str) -> Any:
    """Write a cell. A text is always a text: openpyxl would make =1+1 a formula."""
    cell: Any = sheet.cell(line, number)
    if isinstance(value, str):
        value = f"'{value}" if restore_cell(value) != value else value  # reading removes one
        if len(value) > LONGEST:
            raise CurationError(
                f"{place}: has {len(value):,} characters, and a cell of a workbook can hold "
                f"{LONGEST:,}",
                "shorten the text, or use --format csv",
            )
        cell.value = _ESCAPED.sub(r"_x005F_x\1_", _NO_XML.sub("\ufffd", value))
        cell.data_type = "s"
    else:
        cell.value = value
    return cell


def _add_lists(
    table: "Worksheet",
    lists: "Worksheet",
    columns: Sequence[Column],
    rows: Sequence[Row],
    wrong: str,
) -> None:
    """Give cells to fill in their lists and their hints."""
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    places: dict[tuple[str, ...], str] = {}  # where a list is, by its values
    used = 0  # rows of the sheet of lists

    def rule(column: Column, values: tuple[str, ...]) -> DataValidation:
        if values and values not in places:  # below the others: a sheet has few columns
            nonlocal used
            for line, value in enumerate(values, used + 1):
                _put(lists, line, 1, value, column.name)
            places[values] = f"{LISTS}!$A${used + 1}:$A${used + len(values)}"
            used += len(values)
        # Programs limit these texts.
        return DataValidation(
            type="list" if values else None,
            formula1=places[values] if values else None,
            allow_blank=True,
            showErrorMessage=bool(values),
            error=_NO_XML.sub("", wrong)[:225] if values else None,
            showInputMessage=True,
            promptTitle=_NO_XML.sub("", column.heading)[:32],
            prompt=_NO_XML.sub("", column.hint)[:255],
        )

    last = len(rows) + 1
    for number, column in enumerate(columns, 1):
        letter = get_column_letter(number)
        if not column.fill or not rows:
            continue
        if not column.listed:
            validation = rule(column, column.values)
            validation.add(f"{letter}2:{letter}{last}")
            table.add_data_validation(validation)
            continue
        by_values: dict[tuple[str, ...], DataValidation] = {}
        for line, row in enumerate(rows, 2):
            values = tuple(row.lists.get(column.name, ()))
            if values not in by_values:
                by_values[values] = rule(column, values)
                table.add_data_validation(by_values[values])
            by_values[values].add(f"{letter}{line}")


def _fill_guide(
    guide: "Worksheet",
    columns: Sequence[Column],
    about: Parts,
    sheet: Mapping[str, Any],
    *,
    right_to_left: bool,
) -> None:
    top, bold = _alignment(right_to_left), _bold()
    line = 0
    for heading, texts in (*about, (sheet["columns_title"], ())):
        for text in (heading, *texts):
            if text:
                line += 1
                cell = _put(guide, line, 1, text, sheet["instructions"])
                guide.merge_cells(start_row=line, end_row=line, start_column=1, end_column=3)
                cell.alignment = top
                if text is heading:
                    cell.font = bold
                _set_height(guide, line, _lines(text, sum(GUIDE)), merged=True)
        line += heading != sheet["columns_title"]
    for first, cells in enumerate(column_table(columns, sheet)):
        line += 1
        for number, text in enumerate(cells, 1):
            cell = _put(guide, line, number, text, sheet["instructions"])
            cell.alignment = top
            if not first or number == 1:
                cell.font = bold
        widths = (GUIDE[0] * 0.9, *GUIDE[1:])
        _set_height(guide, line, max(map(_lines, cells, widths)))
    for letter, width in zip("ABC", GUIDE, strict=True):
        guide.column_dimensions[letter].width = width


def _width(text: str) -> int:
    """How many columns of a line a text takes: East Asian characters take two."""
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _title(text: str, name: str, taken: set[str]) -> str:
    """A title that a sheet can have; ``name`` if the text cannot be one."""
    title = _NO_XML.sub("", _NO_TITLE.sub(" ", text)).strip(" '")[:31].strip(" '")
    title = title if title and title.casefold() not in taken else name
    taken.add(title.casefold())
    return title


def _reproducible(book: Any) -> bytes:
    """The content of a workbook's file, without the times at which it was written."""
    written, result = io.BytesIO(), io.BytesIO()
    book.save(written)
    with (
        zipfile.ZipFile(written) as parts,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in parts.namelist():
            data = parts.read(name)
            if name == "docProps/core.xml":
                data = _CHANGED.sub(rb"\g<1>2000-01-01T00:00:00Z", data)
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return result.getvalue()

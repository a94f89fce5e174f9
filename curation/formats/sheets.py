"""Reads .xlsx workbooks: cells as texts as somebody wrote them, within bounds of size."""

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from io import BytesIO
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import IO, Any, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format, is_timedelta_format
from openpyxl.styles.numbers import BUILTIN_FORMATS_MAX_SIZE as OWN_FORMATS
from openpyxl.styles.stylesheet import Stylesheet
from openpyxl.utils import get_column_letter
from openpyxl.utils.datetime import from_excel
from openpyxl.utils.escape import unescape
from openpyxl.worksheet._reader import FORMULA_TAG, MERGE_TAG, ROW_TAG, WorkSheetParser
from openpyxl.worksheet.cell_range import CellRange
from openpyxl.xml.constants import ARC_STYLE, REL_NS, SHEET_MAIN_NS
from openpyxl.xml.functions import fromstring

from curation.files import CurationError, open_input
from curation.formats.packed import DAMAGE
from curation.formats.tables import (
    Columns,
    Table,
    TablePlace,
    check_width,
    damaged,
    doubled_column,
    no_columns,
    restore_cell,
    without_headings,
)
from curation.text.times import is_plausible
from curation.text.wording import some

UNPACKED = 64 << 20  # bytes of XML to read from one workbook at most,
FREE = 8 << 20  # and from a small one: these,
RATIO = 100  # and this number for each of its bytes; tables give 5 to 40
MOST_ELEMENTS = 3_000_000  # XML elements at most; a cell with its text is two to four
MOST_SHEETS = 500
DIGITS = 15  # digits of a number that spreadsheet programs keep
DEEPEST = 100  # elements within elements
ROW_DEPTH = 3  # a row in the data of a worksheet
WIDEST = 1 << 18  # elements in a row; it has up to 16,384 cells
EAST_ASIAN_DATES = {*range(27, 37), *range(50, 59)}  # builtin formats that openpyxl does not list
STRICT = {
    b"http://purl.oclc.org/ooxml/spreadsheetml/main": SHEET_MAIN_NS.encode(),
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": REL_NS.encode(),
}
"""The namespaces of «Strict Open XML», and those that openpyxl reads."""
KINDS = ("n", "s", "str", "inlineStr", "b", "d", "e")
UNREADABLE = (*DAMAGE, TypeError, SyntaxError, expat.ExpatError)
"""What openpyxl and the modules below it raise for damaged or unusual workbooks."""
Value = str | int | float | datetime | date | time | timedelta | None


class Sheet(NamedTuple):
    """A sheet: its name, whether people see it, and its file in the archive."""

    name: str
    visible: bool
    part: str


class Cell(NamedTuple):
    """The content of a cell.

    Attributes:
        value: its value; that of a formula is what the program computed last.
        format: the number format.
        error: the value is an error such as #N/A.
        formula: a formula computes it.
    """

    value: Value
    format: str = "General"
    error: bool = False
    formula: bool = False

    @property
    def text(self) -> str:
        """The value as people write it; empty if there is no value."""
        return as_text(self.value)


class Row(NamedTuple):
    """A row of a sheet: its cells with content by the number of their column, from 1."""

    number: int
    hidden: bool
    cells: dict[int, Cell]


def as_text(value: Value) -> str:
    """A value as people write it.

    >>> as_text(3.0), as_text(40.299999999999997), as_text(1e20), as_text(True), as_text(None)
    ('3', '40.3', '1e+20', 'true', '')
    """
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 10**DIGITS:
            return str(int(value))
        case datetime():
            return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")
        case _:
            return str(value)


class Workbook:
    """An open workbook; close it, or use it in a ``with`` statement.

    Attributes:
        sheets: its sheets, in order.
    """

    def __init__(self, path: Path) -> None:
        """Open a workbook.

        Raises:
            CurationError: it is damaged or too large, or has far too many sheets.
        """
        self._path = path
        try:
            self._archive = _Archive(path)
        except UNREADABLE as error:
            raise damaged(path, error) from None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._read_index()
        except UNREADABLE as error:
            self._archive.close()
            raise damaged(path, error, self._archive.part) from None
        except BaseException:
            self._archive.close()
            raise

    def __enter__(self) -> "Workbook":
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def moment(self, number: float) -> datetime | None:
        """The moment that a number means as a date in this workbook; None if it cannot be one."""
        try:
            moment = from_excel(number, self._epoch)
        except (OverflowError, ValueError):
            return None
        return moment if isinstance(moment, datetime) else None

    # python-calamine 0.9 cannot replace openpyxl's parser of rows. It gives error values as "", and
    # says nothing of formulas, number formats and hidden rows. It reserves memory for a sheet's
    # whole area: with a cell XFD1048576, Python is aborted.
    def rows(self, sheet: Sheet, merged: list[CellRange] | None = None) -> Iterator[Row]:
        """The rows of a sheet that have cells with content, one at a time.

        Args:
            sheet: the sheet.
            merged: gets the ranges of merged cells; complete at the end.

        Raises:
            CurationError: the sheet is damaged or too large.
        """
        try:
            source = self._archive.open(sheet.part)
            if self._archive.roots[sheet.part] != f"{SHEET_MAIN_NS} worksheet":
                raise ValueError("this is not the XML of a sheet")
            parser = WorkSheetParser(
                source, self._texts, True, self._epoch, self._dates, self._durations
            )
            for _, element in ElementTree.iterparse(source):  # noqa: S314 -- no DTD
                if element.tag == ROW_TAG:
                    if (row := self._row(sheet, parser, element)).cells:
                        yield row
                    element.clear()
                elif element.tag == MERGE_TAG and merged is not None:
                    merged += [CellRange(merge.get("ref", "")) for merge in element]
        except UNREADABLE as error:
            raise damaged(self._path, error, sheet.part) from None

    def _row(self, sheet: Sheet, parser: WorkSheetParser, element: ElementTree.Element) -> Row:
        cells: dict[int, Cell] = {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                number, contents = parser.parse_row(element)  # type: ignore[arg-type]
            for content, node in zip(contents, element, strict=True):
                formula = node.find(FORMULA_TAG) is not None
                column = parser.col_counter = int(content["column"])
                if content["row"] != number:
                    raise ValueError(f"it is in row {number}")
                if content["value"] is not None or formula:
                    cells[column] = self._cell(content, formula, node.get("t") == "s")
        except UNREADABLE as error:
            place = f"{get_column_letter(parser.col_counter or 1)}{parser.row_counter}"
            raise damaged(self._path, error, f"{sheet.part} cell {place}") from None
        return Row(number, element.get("hidden") in ("1", "true"), cells)

    def _cell(self, content: dict[str, Any], formula: bool, shared: bool) -> Cell:
        value, kind = content["value"], content["data_type"]
        if kind not in KINDS:
            raise ValueError(f"there is no type of cells {kind[:20]!r}")
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{value} is not a number")
        if isinstance(value, str) and not shared:
            value = _unescaped(value)
        format = self._formats.get(content["style_id"] or 0, "General")
        return Cell(value, format, kind == "e", formula)

    def _read_index(self) -> None:
        """Read the texts, the names of the sheets, the first day of dates, and the formats."""
        with open_input(self._path) as file:
            reader = ExcelReader(file, keep_links=False)
        reader.archive = self._archive
        reader.read_manifest()
        reader.read_strings()
        reader.read_workbook()
        self._texts = [_unescaped(text) for text in reader.shared_strings]
        self._epoch = reader.wb.epoch
        if len(reader.parser.sheets) > MOST_SHEETS:
            raise self._archive.too_large(f"{MOST_SHEETS} sheets")
        self.sheets = [
            Sheet(sheet.name, sheet.state not in ("hidden", "veryHidden"), relation.target)
            for sheet, relation in reader.parser.find_sheets()
            if relation.Type.endswith("/worksheet")
        ]
        self._read_formats()

    def _read_formats(self) -> None:
        """Read the number format of each style of cells, and which of them show dates or times."""
        styles = Stylesheet()
        if ARC_STYLE in self._archive.namelist():
            tree = fromstring(self._archive.read(ARC_STYLE))
            for part in list(tree):  # openpyxl refuses the fonts and colours of some programs
                if not str(part.tag).endswith(("}numFmts", "}cellXfs")):
                    tree.remove(part)
            styles = Stylesheet.from_tree(tree)  # type: ignore[arg-type]
        own = styles.number_formats
        ids = [style.numFmtId for style in styles.cell_styles]
        self._formats = {
            n: BUILTIN_FORMATS.get(id, "General") if id < OWN_FORMATS else own[id - OWN_FORMATS]
            for n, id in enumerate(ids)
        }
        formats = self._formats.items()
        self._durations = {n for n, format in formats if is_timedelta_format(format)}
        self._dates = {n for n, format in formats if is_date_format(format)}
        self._dates |= {n for n, id in enumerate(ids) if id in EAST_ASIAN_DATES}


def _unescaped(text: str) -> str:
    r"""A text without the escapes that Excel writes for control characters.

    >>> _unescaped("a_x000D_b"), _unescaped("_xD83D__xDE00_"), _unescaped("_xD800_")
    ('a\rb', '😀', '�')
    """
    if "_x" not in text:
        return text
    return unescape(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Archive(ZipFile):
    """An archive of XML files that checks each of them before it is read.

    Attributes:
        part: the file that was opened last.
        roots: for each file that was opened the namespace and name of its outermost element.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path = path
        self._most = self._left = min(UNPACKED, FREE + RATIO * path.stat().st_size)
        self._elements = 0
        self.part = ""
        self.roots: dict[str, str] = {}

    def open(self, name: str | ZipInfo, *_: Any, **__: Any) -> IO[bytes]:
        """The content of a file, with the namespaces that openpyxl reads.

        Raises:
            CurationError: the workbook is larger than the bounds.
            ValueError: the file is not such XML as workbooks have.
        """
        info = name if isinstance(name, ZipInfo) else self.getinfo(name)
        self.part = info.filename
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError("its packing is not that of a workbook")
        with super().open(info) as file:
            content = file.read(self._most + 1)
        for strict, namespace in STRICT.items():
            content = content.replace(strict, namespace)
        if self.part not in self.roots:
            self._check(content)
        return BytesIO(content)

    def _check(self, content: bytes) -> None:
        self._left -= len(content)
        if self._left < 0:
            raise self.too_large(f"{self._most >> 20} MiB when it is unpacked")
        depth = width = 0

        def start(name: str, attributes: object) -> None:
            nonlocal depth, width
            self.roots.setdefault(self.part, name)
            depth += 1
            width = width + 1 if depth > ROW_DEPTH else 0
            self._elements += 1
            if depth > DEEPEST or width > WIDEST:
                raise ValueError("this is not the XML of a workbook")
            if self._elements > MOST_ELEMENTS:
                raise self.too_large(f"{MOST_ELEMENTS:,} XML elements")

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1

        def refuse(*_: object) -> None:
            raise ValueError("a workbook has no DTD and no entities")

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.StartDoctypeDeclHandler = refuse
        parser.Parse(content, True)

    def too_large(self, limit: str) -> CurationError:
        """The error of a workbook that is larger than a bound."""
        return CurationError(
            f"{self._path}: the workbook has more than {limit}",
            "check that this is the right file; split the table, or save it as CSV",
        )


PEEK = 500  # rows with content that tell what a sheet is
TITLES = 10  # rows with content that may be above the header, and the header
SHOWN = 5  # cells that an error names
DAY = 86_400  # seconds
TIMES = ("submitted_at", "updated_at")
PLAIN = re.compile(r"general|@|0|standard|g/標準", re.IGNORECASE)
AS_TEXT = "format the column as Text and type the answer again"
PROBLEMS = {
    "formula": ("with a formula", "copy the column and paste it as values only"),
    "error": ("with an error value such as #N/A", "type the answer again"),
    "date": ("with a date, which the spreadsheet program made of what was typed", AS_TEXT),
    "number": ("with a percentage, an amount or the like instead of what was typed", AS_TEXT),
    "long": (f"with a number of over {DIGITS} digits, which the program cuts off", AS_TEXT),
    "time": ("with something else than a date", "write date and time as 2026-03-14 10:22:05"),
    "seconds": ("with something else than seconds", "write the number of seconds, such as 45"),
}
"""What is wrong with a cell: how an error says it, and what to do."""
Warn = Callable[[str], None]
"""Gives the columns that headings mean."""


class _Peeked(NamedTuple):
    """The first rows of a sheet, and what they say about it."""

    sheet: Sheet
    header: Row
    above: int  # rows with content above the header
    has_rows: bool
    answers: bool  # the header is one of answers
    describes: bool  # the sheet is about the columns of another


def read_workbook(path: Path, warn: Warn | None, columns: Columns = no_columns) -> Table:
    """The table of answers of a workbook; dates and numbers are texts, and empty rows are left out.

    Raises:
        CurationError: the workbook is damaged or too large, or it is not clear which sheet has the
            answers. Or answers in it were changed by a spreadsheet program or cannot be read:
            formulas, error values, dates among texts, merged cells.
    """
    with Workbook(path) as book:
        chosen = _choose(path, book, warn, columns)
        return _read(path, book, chosen, warn or (lambda text: None), columns)


# --- which sheet --------------------------------------------------------------------------------


def _choose(path: Path, book: Workbook, warn: Warn | None, columns: Columns) -> _Peeked:
    peeked = [p for sheet in book.sheets if (p := _peek(book, sheet, columns))]
    tables = [p for p in peeked if p.answers and p.has_rows]
    seen = [p for p in peeked if p.sheet.visible and not p.describes]
    if hidden := [p for p in tables if not p.sheet.visible]:
        raise CurationError(
            f"{path} sheet {hidden[0].sheet.name!r}: has answers and is hidden",
            "show this sheet if it is the table, or delete it",
        )
    candidates = tables or [p for p in seen if p.answers] or seen
    if not candidates:
        raise CurationError(
            f"{path}: no sheet has a table", "check that this is the right file, and save it again"
        )
    others = [p for p in seen if p not in candidates[:1]]
    if len(candidates) > 1 or (others and warn is None):
        alike = len(candidates) > 1 and candidates[0].answers
        what = "look like tables of answers" if alike else "have data"
        raise CurationError(
            f"{path}: the sheets {_names(candidates if alike else seen)} {what}, and only one "
            "table is read",
            "delete the others, or save each sheet as a workbook of its own",
        )
    if others and warn:
        warn(
            f"{path}: only sheet {candidates[0].sheet.name!r} is read; "
            f"{_names(others)} {'has' if len(others) == 1 else 'have'} data, too"
        )
    return candidates[0]


def _peek(book: Workbook, sheet: Sheet, columns: Columns) -> _Peeked | None:
    """What a sheet is, by its first rows; None if it is empty."""
    first = list(islice((row for row in book.rows(sheet) if _has_text(row)), PEEK))
    if not first:
        return None
    texts = [[cell.text for cell in row.cells.values()] for row in first]
    above = next((n for n, heads in enumerate(texts[:TITLES]) if _is_header(columns(heads))), None)
    left = columns(row.cells[min(row.cells)].text for row in first)
    return _Peeked(
        sheet,
        first[above or 0],
        above or 0,
        len(first) > (above or 0) + 1,
        above is not None,
        above is None and "task_id" in left and len(left) > 1,
    )


def _has_text(row: Row) -> bool:
    return any(cell.text.strip() for cell in row.cells.values())


def _is_header(known: frozenset[str]) -> bool:
    """Whether a table with these columns has answers; a table of consent has two of them."""
    pair = len(known) >= 2 and "task_id" in known
    return pair or len(known) >= 4 or {"annotator", "consent"} <= known


def _names(sheets: Sequence[_Peeked]) -> str:
    return some((repr(peeked.sheet.name) for peeked in sheets), SHOWN)


# --- its cells ----------------------------------------------------------------------------------


def _read(path: Path, book: Workbook, peeked: _Peeked, warn: Warn, columns: Columns) -> Table:
    place, row = f"{path} sheet {peeked.sheet.name!r}", peeked.header.number
    heads = {n: cell.text.strip() for n, cell in sorted(peeked.header.cells.items())}
    heads = {n: name for n, name in heads.items() if name}
    check_width(len(heads), f"{place} row {row}")
    places: dict[str, str] = {}
    for n, name in heads.items():
        cell = f"{get_column_letter(n)}{row}"
        if name in places:
            raise doubled_column(name, f"{place} cells {places[name]} and {cell}")
        places[name] = cell
    meanings = {n: next(iter(columns([name])), "") for n, name in heads.items()}
    problems: dict[str, list[str]] = {}
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    hidden: list[int] = []
    outside: list[str] = []
    merged: list[CellRange] = []
    began, last = False, row
    for line in book.rows(peeked.sheet, merged):
        if not began:
            began = line.number == row and line.cells == peeked.header.cells
            continue
        outside += [
            f"{get_column_letter(n)}{line.number}"
            for n, cell in line.cells.items()
            if n not in heads and cell.text.strip()
        ]
        cells = {n: cell for n, cell in line.cells.items() if n in heads}
        if not any(cell.text.strip() or cell.formula for cell in cells.values()):
            continue
        texts = {}
        for n, name in heads.items():
            texts[name], problem = _text(cells[n], meanings[n], book) if n in cells else ("", "")
            if problem:
                problems.setdefault(problem, []).append(f"{get_column_letter(n)}{line.number}")
        rows.append(texts)
        numbers.append(line.number)
        last = max(last, line.number)
        if line.hidden:
            hidden.append(line.number)
    # «0:45» is 45 minutes for the program, and may have been 45 seconds for the person. If other
    # cells have seconds, it is clear.
    clear, minutes = problems.pop("clock", []), problems.pop("minutes", [])
    if minutes and not clear:
        problems["seconds"] = [*problems.get("seconds", ()), *minutes]
    _refuse_merged(place, merged, row, last, [n for n in heads if meanings[n]])
    if problems:
        raise _changed(place, problems)
    if peeked.above:
        warn(f"{place}: the header is row {row}; what is above it is not read")
    if outside:
        warn(f"{place}: cells in columns without a heading are not read: {some(outside, SHOWN)}")
    if hidden:
        warn(f"{place}: hidden rows are read, too: {some(map(str, hidden), SHOWN)}")
    kept = list(without_headings(zip(numbers, rows, strict=True)))
    return Table([row for _, row in kept], TablePlace(place, [n for n, _ in kept], places))


def _text(cell: Cell, meaning: str, book: Workbook) -> tuple[str, str]:
    """The text of a cell in a column with this meaning, and what is wrong with it.

    Columns without a meaning are kept as they are, because nothing is computed from them.
    """
    text = restore_cell(cell.value) if isinstance(cell.value, str) else cell.text
    if not meaning:
        return text, ""
    if cell.formula:
        return "", "formula"
    if cell.error:
        return "", "error"
    match cell.value:
        case bool() | str() | None:
            return text, ""
        case int() | float() as number:
            if meaning in TIMES:
                moment = book.moment(number)
                return (as_text(moment) if is_plausible(moment) else text), ""
            if meaning == "seconds":
                return text, ""
            if not PLAIN.fullmatch(cell.format):
                return text, "number"
            return text, "long" if abs(number) >= 10**DIGITS else ""
        case time() | timedelta() as clock if meaning == "seconds":
            seconds = _seconds(clock)
            if not 0 <= seconds < DAY:
                return text, "seconds"
            return as_text(seconds), "clock" if seconds % 60 else "minutes"
        case date() if meaning in TIMES:
            return text, ""
    return text, "time" if meaning in TIMES else "seconds" if meaning == "seconds" else "date"


def _seconds(clock: time | timedelta) -> float:
    if isinstance(clock, time):
        clock = datetime.combine(date.min, clock) - datetime.min
    return round(clock.total_seconds(), 3)


def _refuse_merged(
    place: str, merged: Sequence[CellRange], first: int, last: int, columns: Sequence[int]
) -> None:
    """Refuse merged cells between two rows in one of these columns."""
    bad = [
        cells.coord
        for cells in merged
        if ":" in cells.coord
        and cells.min_row <= last
        and cells.max_row >= first
        and any(cells.min_col <= n <= cells.max_col for n in columns)
    ]
    if bad:
        raise CurationError(
            f"{place}: cells {some(bad, SHOWN)} are merged, so only the first of each has an "
            "answer",
            "unmerge them, and write the answer into every row",
        )


def _changed(place: str, problems: dict[str, list[str]]) -> CurationError:
    """The error of cells whose content is not what somebody wrote."""
    texts = [
        f"{'cells' if len(cells) > 1 else 'cell'} {some(cells, SHOWN)} {PROBLEMS[kind][0]}"
        for kind, cells in problems.items()
    ]
    fixes = dict.fromkeys(PROBLEMS[kind][1] for kind in problems)
    return CurationError(f"{place}: {'; '.join(texts)}", "; ".join(fixes))

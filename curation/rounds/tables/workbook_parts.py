"""Reads the sheets of an .xlsx workbook as streams of rows, with bounds on what is unpacked.

openpyxl reads the formats, the texts and each row. Its whole workbooks are not used, for three
reasons: they build every cell of a merged range in memory, they fail at odd fonts, charts and
filters that nobody needs here, and a sheet in an unknown namespace is empty in them.
"""

import warnings
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from io import BytesIO
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
from curation.rounds.tables.file_kinds import damaged

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

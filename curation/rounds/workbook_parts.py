"""Reads the sheets of an .xlsx workbook as streams of rows, with bounds on what is unpacked.

A workbook is an archive of XML files. openpyxl builds every cell in memory, also those that a false
size of the sheet names, and fails at odd styles and validations. Here only texts, values and the
formats of dates are read.
"""

import posixpath
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH

from curation.files import CurationError
from curation.rounds.file_kinds import DAMAGE, damaged

UNPACKED = 64 << 20  # bytes of XML to read from one workbook at most,
FREE = 8 << 20  # and from a small one: these,
RATIO = 100  # and this number for each of its bytes; tables give 5 to 40
MOST_CELLS = 1_000_000  # cells with content, and different texts, at most
MOST_SHEETS = 500
CHUNK = 1 << 18  # bytes to read at once; a tag is shorter
DEEPEST = 100  # elements within elements
EAST_ASIAN_DATES = {*range(27, 37), *range(50, 59)}  # builtin formats that openpyxl does not list
Event = tuple[Literal["start", "end", "text"], str, Any]
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_REFERENCE = re.compile(r"([A-Za-z]{1,3})(\d{1,9})", re.ASCII)


class Sheet(NamedTuple):
    """A sheet: its name, whether people see it, and its file in the archive."""

    name: str
    visible: bool
    part: str


class Cell(NamedTuple):
    """The content of a cell.

    Attributes:
        kind: what it is.
        text: its text; for a number or a date its value as it is stored.
        format: the number format.
        formula: a formula computes it.
    """

    kind: Literal["text", "number", "date", "boolean", "error"]
    text: str
    format: str = "General"
    formula: bool = False


class Row(NamedTuple):
    """A row of a sheet: its cells with content by the number of their column, from 1."""

    number: int
    hidden: bool
    cells: dict[int, Cell]


class Workbook:
    """An open workbook; close it, or use it in a ``with`` statement.

    Attributes:
        sheets: its sheets, in order.
    """

    def __init__(self, path: Path) -> None:
        """Open a workbook.

        Raises:
            CurationError: it is damaged, or has far too many sheets.
        """
        self._path = path
        self._strings: list[str] | None = None
        try:
            self._most = self._left = min(UNPACKED, FREE + RATIO * path.stat().st_size)
            self._archive = ZipFile(path)
        except DAMAGE as error:
            raise damaged(path, error) from None
        try:
            self._names = set(self._archive.namelist())
            self._read_index()
        except BaseException:
            self._archive.close()
            raise

    def __enter__(self) -> "Workbook":
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def day(self, serial: float) -> datetime | None:
        """The moment that a number of days means in this workbook; None if there is none."""
        try:
            days, part = divmod(serial, 1)
            early = self._epoch == WINDOWS_EPOCH and 0 < serial < 60  # Excel has 29 February 1900
            milliseconds = round(part * 86_400_000)
            return self._epoch + timedelta(days=days + early, milliseconds=milliseconds)
        except (OverflowError, ValueError):
            return None

    def rows(self, sheet: Sheet, merged: list[str] | None = None) -> Iterator[Row]:
        """The rows of a sheet that have cells with content, one at a time.

        Args:
            sheet: the sheet.
            merged: gets the ranges of merged cells; complete at the end.

        Raises:
            CurationError: the sheet is damaged or too large.
        """
        if self._strings is None:
            self._strings = list(self._read_strings())
        number = column = count = 0
        hidden = taking = phonetic = formula = False
        cells: dict[int, Cell] = {}
        attributes: dict[str, str] = {}
        texts: list[str] = []
        for kind, name, value in self._events(sheet.part):
            if kind == "text":
                if taking:
                    texts.append(value)
            elif kind == "start":
                if name == "c":
                    attributes, texts, formula = value, [], False
                    column = self._column(sheet, value.get("r"), column)
                elif name in ("v", "t"):
                    taking = not phonetic
                elif name == "f":
                    formula = True
                elif name == "row":
                    number = self._whole(sheet.part, value.get("r"), number + 1)
                    hidden, column, cells = value.get("hidden") in ("1", "true"), 0, {}
                elif name == "rPh":
                    phonetic = True
                elif name == "mergeCell" and merged is not None:
                    merged.append(value.get("ref", ""))
            elif name in ("v", "t"):
                taking = False
            elif name == "rPh":
                phonetic = False
            elif name == "c" and (texts or formula):
                try:
                    cells[column] = self._cell(attributes, "".join(texts), formula)
                except ValueError as error:
                    place = f"{sheet.part} cell {get_column_letter(column)}{number}"
                    raise damaged(self._path, error, place) from None
                count += 1
                if count > MOST_CELLS:
                    raise self._too_large(f"{MOST_CELLS:,} cells with content")
            elif name == "row" and cells:
                yield Row(number, hidden, cells)

    def _cell(self, attributes: dict[str, str], text: str, formula: bool) -> Cell:
        """A cell with content; a ValueError says what is wrong with it."""
        style = attributes.get("s", "")
        format = self._formats.get(style, "General")
        match attributes.get("t", "n"):
            case "s":
                strings = self._strings or []
                if not (text.isdecimal() and len(text) < 10 and int(text) < len(strings)):
                    raise ValueError(f"there is no text {text[:20]!r}")
                return Cell("text", strings[int(text)], format, formula)
            case "str" | "inlineStr":
                return Cell("text", _unescaped(text), format, formula)
            case "b":
                said = "true" if text.strip() in ("1", "true") else "false"
                return Cell("boolean", said if text else "", format, formula)
            case "e":
                return Cell("error", text, format, formula)
            case "d":
                return Cell("date", text.strip(), format, formula)
            case "n":
                if text.strip() and not abs(_number(text)) < float("inf"):
                    raise ValueError(f"{text[:20]!r} is not a number")
                dated = style in self._dates
                return Cell("date" if dated else "number", text.strip(), format, formula)
            case other:
                raise ValueError(f"there is no type of cells {other[:20]!r}")

    # --- the parts beside the sheets ------------------------------------------------------------

    def _read_index(self) -> None:
        """Read the names of the sheets, the first day of dates, and the formats of cells."""
        roots = self._relations("_rels/.rels", "")
        main = next((part for kind, part in roots.values() if kind == "officeDocument"), "")
        main = main if main in self._names else "xl/workbook.xml"
        folder, name = posixpath.split(main)
        related = self._relations(f"{folder}/_rels/{name}.rels", folder)
        parts = dict(related.values())
        self.sheets: list[Sheet] = []
        self._epoch = WINDOWS_EPOCH
        for event, tag, value in self._events(main):
            if event != "start":
                continue
            if tag == "workbookPr" and value.get("date1904") in ("1", "true", "on"):
                self._epoch = MAC_EPOCH
            elif tag == "sheet":
                id = next((v for key, v in value.items() if key.endswith(":id")), "")
                kind, part = related.get(id, ("", ""))
                if kind == "worksheet":
                    visible = value.get("state", "visible") == "visible"
                    self.sheets.append(Sheet(value.get("name", ""), visible, part))
        if len(self.sheets) > MOST_SHEETS:
            raise self._too_large(f"{MOST_SHEETS} sheets")
        self._shared = parts.get("sharedStrings", f"{folder}/sharedStrings.xml")
        self._read_formats(parts.get("styles", f"{folder}/styles.xml"))

    def _relations(self, part: str, folder: str) -> dict[str, tuple[str, str]]:
        """By id, the kind and the file of what a part refers to."""
        found = {}
        for event, tag, value in self._events(part) if part in self._names else ():
            if event == "start" and tag == "Relationship":
                target = value.get("Target", "")
                path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                found[value.get("Id", "")] = (posixpath.basename(value.get("Type", "")), path)
        return found

    def _read_formats(self, part: str) -> None:
        """Read the number format of each style of cells, and which of them show dates or times."""
        own: dict[str, str] = {}
        self._formats: dict[str, str] = {}
        self._dates: set[str] = set()
        inside = False
        for event, tag, value in self._events(part) if part in self._names else ():
            if tag == "cellXfs":
                inside = event == "start"
            elif event == "start" and tag == "numFmt":
                own[value.get("numFmtId", "")] = value.get("formatCode", "")
            elif event == "start" and tag == "xf" and inside:
                style, id = str(len(self._formats)), value.get("numFmtId", "0")
                number = int(id) if id.isdecimal() and len(id) < 6 else 0
                format = own.get(id) or BUILTIN_FORMATS.get(number, "General")
                dated = is_date_format(format) and "general" not in format.lower()
                if id not in own and number in EAST_ASIAN_DATES:
                    format, dated = "yyyy-mm-dd", True
                self._formats[style] = format
                if dated:
                    self._dates.add(style)

    def _read_strings(self) -> Iterator[str]:
        """The texts that cells refer to, without the readings that Japanese texts may have."""
        texts: list[str] = []
        taking = phonetic = False
        count = 0
        for event, tag, value in self._events(self._shared) if self._shared in self._names else ():
            if event == "text":
                if taking:
                    texts.append(value)
            elif tag == "rPh":
                phonetic = event == "start"
            elif tag == "t":
                taking = event == "start" and not phonetic
            elif tag == "si":
                if event == "end":
                    yield _unescaped("".join(texts))
                    count += 1
                    if count > MOST_CELLS:
                        raise self._too_large(f"{MOST_CELLS:,} texts")
                texts = []

    # --- XML ------------------------------------------------------------------------------------

    def _events(self, part: str) -> Iterator[Event]:
        """The elements and texts of an XML file of the archive, without prefixes of names."""
        queue: list[Event] = []
        depth = 0
        parser = expat.ParserCreate()
        parser.buffer_text = True

        def refuse(*_: object) -> None:
            raise damaged(self._path, "a workbook has no DTD and no entities", part)

        parser.StartDoctypeDeclHandler = refuse

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            queue.append(("start", name.rpartition(":")[2], attributes))

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1
            queue.append(("end", name.rpartition(":")[2], None))

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = lambda text: queue.append(("text", "", text))
        try:
            if self._archive.getinfo(part).compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise damaged(self._path, "its packing is not that of a workbook", part)
            with self._archive.open(part) as file:
                while True:
                    chunk = file.read(CHUNK)
                    self._left -= len(chunk)
                    if self._left < 0:
                        raise self._too_large(f"{self._most >> 20} MiB when it is unpacked")
                    parser.Parse(chunk, not chunk)
                    if depth > DEEPEST or (len(chunk) == CHUNK and not queue):
                        raise damaged(self._path, "this is not the XML of a workbook", part)
                    yield from queue
                    queue.clear()
                    if not chunk:
                        return
        except (expat.ExpatError, *DAMAGE) as error:
            raise damaged(self._path, str(error).strip("'\""), part) from None

    def _too_large(self, limit: str) -> CurationError:
        return CurationError(
            f"{self._path}: the workbook has more than {limit}",
            "check that this is the right file; split the table, or save it as CSV",
        )

    def _column(self, sheet: Sheet, reference: str | None, before: int) -> int:
        if reference is None:
            return before + 1
        if not (match := _REFERENCE.fullmatch(reference)):
            raise damaged(self._path, f"there is no cell {reference[:20]!r}", sheet.part)
        return int(column_index_from_string(match[1]))

    def _whole(self, part: str, text: str | None, default: int) -> int:
        if text is None:
            return default
        if not (text.isdecimal() and text.isascii() and len(text) < 10):
            raise damaged(self._path, f"there is no row {text[:20]!r}", part)
        return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _unescaped(text: str) -> str:
    r"""A text without the escapes that Excel writes for control characters.

    >>> _unescaped("a_x000D_b"), _unescaped("_xD800_")
    ('a\rb', '_xD800_')
    """
    if "_x" not in text:
        return text

    def restore(match: re.Match[str]) -> str:
        code = int(match[1], 16)
        return match[0] if 0xD800 <= code < 0xE000 else chr(code)

    return _ESCAPED.sub(restore, text)

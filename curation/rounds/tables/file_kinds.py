"""Tells whether a table is a workbook, and refuses files that are not tables."""

from pathlib import Path

from curation.files import CurationError, open_input
from curation.formats.packed import CUT_OFF, HEAD, WORKBOOK, kind_of

_SAVE = "open it in its program and save it as .xlsx"
FIXES = {
    "a workbook with a password": f"{_SAVE}, without a password",
    "a workbook with macros (.xlsm)": f"{_SAVE}, without macros",
    **dict.fromkeys(
        (
            "an old Office file (.xls or the like)",
            "an OpenDocument spreadsheet (.ods)",
            "an OpenDocument spreadsheet (.fods)",
            "an OpenDocument file",
            "a binary workbook (.xlsb)",
            "a spreadsheet of Excel 2003 in XML",
        ),
        _SAVE,
    ),
    **dict.fromkeys(
        ("a Word document", "a web page, not the data"),
        "copy the table into a spreadsheet program and save it as .xlsx",
    ),
    "a Numbers file": "in Numbers, export it to Excel (.xlsx)",
    "a link to a Google sheet, without the sheet": (
        "in Google Sheets, download it as Microsoft Excel (.xlsx)"
    ),
}
"""What to do with a file that may contain a table."""


def is_workbook(path: Path) -> bool:
    """Whether a file is an .xlsx workbook, whatever its name is.

    Raises:
        CurationError: it is missing, is a damaged archive, or is another kind of file that is not
            read: .ods, .xls, .xlsb, .xlsm, a workbook with a password, a link to a Google sheet,
            and so on. The error says what it is and what to do.
    """
    if path.name.startswith(("~$", ".~lock.")):
        raise _other_kind(
            path,
            "a note of a spreadsheet program that has the table open",
            "save the table, close the program, and name the table",
        )
    with open_input(path) as file:
        head = file.read(HEAD)
    kind = kind_of(path, head)
    if kind == CUT_OFF:
        raise damaged(path, "it is cut off, or is not an archive")
    if kind not in ("", WORKBOOK):
        fix = "unpack it, and name the table" if kind.endswith(" archive") else FIXES.get(kind)
        raise _other_kind(path, kind, fix or "ask for the table as .xlsx or CSV")
    return kind == WORKBOOK


def _other_kind(path: Path, kind: str, fix: str) -> CurationError:
    return CurationError(f"{path}: is {kind}; tables are read from .xlsx, CSV and JSONL", fix)


def damaged(path: Path, problem: object, part: str = "") -> CurationError:
    """The error of a workbook that cannot be read.

    Args:
        path: the workbook.
        problem: what is wrong.
        part: the file inside the workbook that has the problem.
    """
    where = f", part {part}" if part else ""
    reason = problem.args[0] if isinstance(problem, KeyError) else problem
    return CurationError(
        f"{path}{where}: the workbook is damaged or unusual ({reason})",
        "open it in a spreadsheet program and save it as .xlsx again, or as CSV",
    )

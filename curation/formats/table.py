"""A table as it was read: its rows, and where they are."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files import CurationError


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


Columns = Callable[[Iterable[str]], frozenset[str]]


def no_columns(headings: Iterable[str]) -> frozenset[str]:
    """For tables whose headings have no meaning that is known."""
    return frozenset()


class TablePlace(NamedTuple):
    """The place of a table's rows, for messages.

    Attributes:
        name: the file, and of a workbook the sheet.
        numbers: of a workbook the number of each row; empty for other tables.
        cells: of a workbook the cell of each heading.
    """

    name: str
    numbers: Sequence[int] = ()
    cells: Mapping[str, str] = {}


class Table(NamedTuple):
    """The rows of a table, by heading, and where they are."""

    rows: list[dict[str, Any]]
    place: TablePlace

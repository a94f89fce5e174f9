r"""Cells of CSV tables that people open in a spreadsheet.

A spreadsheet takes a text that begins with = + - @ or a tab as a formula and runs it. So every CSV
for people gets an apostrophe before such a text, and ``read_rows`` removes it. A text that begins
with apostrophes and then such a sign gets one more, so that every text is read back unchanged.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any

# Spreadsheets also take the wide signs of East Asian keyboards.
_SIGN = r"(?:\s*[=+\-@＝＋－＠]|[\t\r\n])"
_LIVE = re.compile(rf"'*{_SIGN}")
_MARKED = re.compile(rf"'+{_SIGN}")


def safe(cell: Any) -> Any:
    """A cell as it is written: a text that a spreadsheet would run gets an apostrophe.

    Numbers and other values that are not texts stay as they are.

    >>> safe("=1+1"), safe("'=1+1"), safe("it's"), safe(-0.5)
    ("'=1+1", "''=1+1", "it's", -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and _LIVE.match(cell) else cell


def restored(cell: str) -> str:
    """A cell as it was before ``safe``.

    >>> restored("'=1+1"), restored("''=1+1"), restored("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return cell[1:] if _MARKED.match(cell) else cell


class _Lines(list[str]):
    """Takes lines that end in a carriage return and a line feed, and keeps only the line feed."""

    def write(self, line: str) -> None:
        self.append(line[:-2] + "\n")


def csv_text(rows: Iterable[Sequence[Any]], *, delimiter: str = ",") -> str:
    """Rows as a CSV table whose texts no spreadsheet runs."""
    lines = _Lines()
    # With this end of lines, csv puts a cell with a carriage return into quotation marks.
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([safe(cell) for cell in row] for row in rows)
    return "".join(lines)

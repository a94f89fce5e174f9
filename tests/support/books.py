"""Workbooks as people save them."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from openpyxl import Workbook


def book(
    path: Path, *rows: Iterable[Any], change: Callable[[Any], object] = lambda book: None
) -> Path:
    """A workbook with one sheet; ``change`` is done to it before it is saved."""
    made = Workbook()
    made.worksheets[0].title = "Tasks"
    for row in rows:
        made.worksheets[0].append([*row])
    change(made)
    made.save(path)
    return path

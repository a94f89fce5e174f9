"""Drives a real LibreOffice: opens a workbook, fills cells as a person types, and saves it.

LibreOffice is driven from Debian's Python, which has the package ``uno``. So this file is also a
program: it reads one order per line and answers with one line, both JSON.
"""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PYTHON = "/usr/bin/python3"
SECONDS = 60  # to start at most; an order may take twice as long
CONFIG = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse">
<value>{}</value></prop></item>
</oor:items>
"""
FILTERS = {
    "xlsx": ("Calc MS Excel 2007 XML", ""),
    "ods": ("calc8", ""),
    "csv": ("Text - txt - csv (StarCalc)", "44,34,76,1,,0,false,true,false,false,false,0"),
    "csv;": ("Text - txt - csv (StarCalc)", "59,34,76,1,,0,false,true,false,false,false,0"),
}
"""Forms to save in: the filter, and how it separates cells, quotes texts and encodes (76: UTF-8).

The last number says that a CSV has the first sheet.
"""


def missing() -> str:
    """Why LibreOffice cannot be driven here; empty if it can."""
    if not shutil.which("soffice"):
        return "no LibreOffice here: install libreoffice-calc-nogui"
    probe = [PYTHON, "-c", "import uno"]
    if not Path(PYTHON).exists() or subprocess.run(probe, capture_output=True).returncode:
        return "LibreOffice cannot be driven from Python here: install python3-uno"
    return ""


class Office:
    """A running LibreOffice with a profile of its own; use it in a ``with`` statement."""

    def __init__(self, folder: Path, locale: str) -> None:
        """Start LibreOffice.

        Args:
            folder: an empty folder for its profile.
            locale: the locale of its user, such as id-ID.
        """
        (folder / "user").mkdir(parents=True)
        (folder / "user" / "registrymodifications.xcu").write_text(CONFIG.format(locale), "utf-8")
        pipe = f"curation-{os.getpid()}-{folder.name}"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._office = subprocess.Popen(
            [
                *("soffice", "--headless", "--norestore", "--nologo", "--nodefault"),
                f"-env:UserInstallation=file://{folder}",
                f"--accept=pipe,name={pipe};urp;",
            ],
            start_new_session=True,
            **quiet,  # type: ignore[call-overload]
        )
        self._driver = subprocess.Popen(
            [PYTHON, "-I", __file__, pipe],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> "Office":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._driver.stdin
        self._driver.stdin.close()  # its program asks LibreOffice to end
        for process in (self._driver, self._office):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
        self._driver.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._office.pid, signal.SIGKILL)

    def fill(
        self,
        path: Path,
        cells: Mapping[str, str | int],
        save: Mapping[str, Path],
        *,
        sheet: int = 0,
    ) -> dict[str, Any]:
        """Open a workbook, type into cells of a sheet, and save it.

        Args:
            path: the workbook.
            cells: by cell, what a person types. If the cell has a drop-down list, the person
                chooses it there, and it may also be its place in the list, from 0.
            save: where to save it, by form: see ``FILTERS``.
            sheet: the sheet, from 0.

        Returns:
            ``lists``: for each of the cells that has a drop-down list, its values. ``sheets``:
            their names, whether they are hidden, protected, and written from right to left.

        Raises:
            AssertionError: a cell is locked, a value is not in its list, or LibreOffice fails.
        """
        order = {
            "path": str(path),
            "cells": dict(cells),
            "save": {form: str(to) for form, to in save.items()},
            "sheet": sheet,
        }
        assert self._driver.stdin
        assert self._driver.stdout
        self._driver.stdin.write(json.dumps(order) + "\n")
        self._driver.stdin.flush()
        ready, *_ = select.select([self._driver.stdout], [], [], 2 * SECONDS)
        assert ready, f"LibreOffice has not answered in {2 * SECONDS} seconds"
        line = self._driver.stdout.readline()
        assert line, "LibreOffice, or the program that drives it, has ended"
        answer: dict[str, Any] = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer


# --- the program, run by Debian's Python ----------------------------------------------------------


def _desktop(pipe: str) -> Any:
    import uno

    context = uno.getComponentContext()
    resolver = context.ServiceManager.createInstanceWithContext(
        "com.sun.star.bridge.UnoUrlResolver", context
    )
    end = time.monotonic() + SECONDS
    while True:
        try:
            office = resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
            manager = office.ServiceManager
            return manager.createInstanceWithContext("com.sun.star.frame.Desktop", office)
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def _properties(**values: Any) -> tuple[Any, ...]:
    from com.sun.star.beans import PropertyValue  # type: ignore[import-not-found]

    made = []
    for name, value in values.items():
        made.append(PropertyValue())
        made[-1].Name, made[-1].Value = name, value
    return tuple(made)


def _address(path: str) -> str:
    import uno

    return str(uno.systemPathToFileUrl(path))


def _allowed(document: Any, sheet: Any, cell: Any) -> list[str] | None:
    """The values of a cell's drop-down list; None if it has none."""
    validation = cell.Validation
    if validation.Type.value != "LIST":
        return None
    formula = validation.getFormula1()
    named = document.NamedRanges
    if named.hasByName(formula):
        formula = named.getByName(formula).getContent()
    if formula.startswith('"'):
        return [text.strip('"') for text in formula.split(";")]
    name, _, reference = formula.rpartition(".")
    name = re.sub(r"^\$", "", name)
    name = name[1:-1].replace("''", "'") if name.startswith("'") else name
    listed = document.Sheets.getByName(name) if name else sheet
    rows = listed.getCellRangeByName(reference.replace("$", "")).getDataArray()
    return [str(value) for row in rows for value in row if value != ""]


def _act(desktop: Any, order: dict[str, Any]) -> dict[str, Any]:
    document = desktop.loadComponentFromURL(
        _address(order["path"]), "_blank", 0, _properties(Hidden=True)
    )
    assert document, f"{order['path']} cannot be opened"
    try:
        sheets = [document.Sheets.getByIndex(n) for n in range(document.Sheets.Count)]
        sheet = sheets[order["sheet"]]
        lists: dict[str, list[str]] = {}
        for name, text in order["cells"].items():
            cell = sheet.getCellRangeByName(name)
            locked = sheet.isProtected() and cell.CellProtection.IsLocked
            assert not locked, f"{name} is locked"
            allowed = _allowed(document, sheet, cell)
            if allowed is not None:
                lists[name] = allowed
                text = allowed[text] if isinstance(text, int) else text
                assert text in ("", *allowed), f"{name}: {text!r} is not one of {allowed}"
            cell.FormulaLocal = text
        for form, to in order["save"].items():
            filter, options = FILTERS[form]
            document.storeToURL(_address(to), _properties(FilterName=filter, FilterOptions=options))
        seen = [
            {
                "name": each.Name,
                "hidden": not each.IsVisible,
                "protected": each.isProtected(),
                "right_to_left": each.TableLayout == 1,
            }
            for each in sheets
        ]
        return {"lists": lists, "sheets": seen}
    finally:
        document.close(True)


def _serve(pipe: str) -> None:
    desktop = _desktop(pipe)
    for line in sys.stdin:
        try:
            answer = _act(desktop, json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    with contextlib.suppress(Exception):  # it ends while it answers
        desktop.terminate()


if __name__ == "__main__":
    _serve(sys.argv[1])

"""What a person sees: tables, progress, errors. Colour only on a terminal."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import orjson
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

# A pipe has no width of its own: tables get the room that they ask for.
_PIPE = 160
out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else _PIPE)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """A line for the person; the text is taken as it is."""
    out.print(text, markup=False)


def say_json(content: Any) -> None:
    """Content for a script, alone on standard output."""
    print(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode())


def heading(text: str) -> None:
    """A line that heads what follows."""
    out.print(text, style="bold", markup=False)


def note(text: str) -> None:
    """What a person waiting should know, on standard error."""
    err.print(text, style="dim", markup=False)


def warn(text: str) -> None:
    """A warning on standard error."""
    err.print(f"warning: {text}", style="yellow", markup=False)


def fail(what: str, fix: str = "") -> None:
    """An error on standard error: what is wrong, and the fix."""
    err.print(f"error: {what}", style="red", markup=False)
    if fix:
        err.print(f"fix:   {fix}", markup=False)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table.

    Args:
        title: what stands above it.
        columns: the heads.
        rows: the cells; None is shown as a dash, floats with two digits, numbers to the right.
    """
    grid = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=0,
        show_edge=False,
    )
    for index, column in enumerate(columns):
        words = any(isinstance(row[index], str) for row in rows)
        grid.add_column(column, justify="left" if words else "right", overflow="fold")
    for row in rows:
        grid.add_row(*(show(cell) for cell in row))
    out.print(grid, soft_wrap=False)


def show(cell: Any) -> str:
    r"""A cell as people read it.

    >>> show(None), show(61.4836), show(True), show(12), show("[a]")
    ('–', '61.48', 'yes', '12', '\\[a]')
    >>> show((0.5, 0.75)), show((48.33, 100.0))
    ('0.50–0.75', '48.3–100.0')
    >>> show((-1.5, 2.0))
    '-1.5 to 2.0'
    """
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.2f}"
    if isinstance(cell, tuple | list):
        digits = 2 if all(abs(part) <= 1 for part in cell) else 1
        between = " to " if min(cell) < 0 else "–"
        return between.join(f"{part:.{digits}f}" for part in cell)
    return str(cell).replace("[", r"\[")


@contextmanager
def tracked(what: str, total: int, *, bytes: bool = False) -> Iterator[Callable[..., None]]:
    """A progress bar on a terminal; the caller advances it by one, or by as many as it says.

    With ``bytes`` it shows their rate.
    """
    amount: list[ProgressColumn] = [MofNCompleteColumn()]
    if bytes:
        amount = [DownloadColumn(), TransferSpeedColumn()]
    with _progress(*amount) as progress:
        task = progress.add_task(what, total=total)
        yield lambda n=1: progress.advance(task, n)


class Bar:
    """A progress bar whose beginning shows late: what was done before does not count as speed."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress, self._task = progress, progress.add_task(what, total=None)

    def begin(self, done: int, total: int) -> None:
        """Say how much there is, and how much of it was done before."""
        self._progress.reset(self._task, total=total, completed=done)

    def advance(self, n: int = 1) -> None:
        """Say that so much more is done."""
        self._progress.advance(self._task, n)


@contextmanager
def counted(what: str) -> Iterator[Bar]:
    """A progress bar on a terminal for work that can be gone on with."""
    with _progress(MofNCompleteColumn()) as progress:
        yield Bar(progress, what)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for work in stages, whose size shows on the way: (stage, done, total)."""
    with _progress(MofNCompleteColumn()) as progress:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield tell


def _progress(*amount: ProgressColumn) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        *amount,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )

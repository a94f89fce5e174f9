"""What users see: tables, progress, warnings, errors, questions. Colour only on a terminal."""

import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich import box
from rich.cells import cell_len
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
from rich.text import Text

from curation.files import CurationError, dump_json
from curation.text.wording import hide_secrets, inert

if TYPE_CHECKING:
    from curation.models.train.settings import Progress as Trained
    from curation.models.train.settings import Tell

# A pipe has no width of its own, so tables are not cut there.
_PIPE = 160


def _consoles() -> tuple[Console, Console]:
    """Consoles of standard output and standard error as they are now."""
    width = None if sys.stdout.isatty() else _PIPE
    return (
        Console(highlight=False, emoji=False, soft_wrap=True, width=width),
        Console(stderr=True, highlight=False, emoji=False, soft_wrap=True),
    )


out, err = _consoles()
CONTENT_WARNING = "Content warning: these texts state stereotypes, and some are offensive."


def say(text: str) -> None:
    """Print a line as it is, without markup."""
    out.print(inert(text), markup=False)


def say_json(content: Any) -> None:
    """Print JSON for a script, alone on standard output."""
    print(dump_json(content).decode(), end="")


def say_file(text: str) -> None:
    """Print the content of a file, alone on standard output; exactly, if it is not a terminal."""
    print(inert(text) if out.is_terminal else text, end="" if text.endswith("\n") else "\n")


def heading(text: str) -> None:
    """Print a heading."""
    out.print(inert(text), style="bold", markup=False)


def note(text: str) -> None:
    """Print what is happening, on standard error."""
    err.print(inert(hide_secrets(text)), style="dim", markup=False)


def warn(text: str) -> None:
    """Print a warning on standard error."""
    err.print(f"warning: {inert(hide_secrets(text))}", style="yellow", markup=False)


def fail(problem: str, fix: str = "") -> None:
    """Print an error on standard error: the problem, and its fix."""
    err.print(f"error: {inert(hide_secrets(problem))}", style="red", markup=False)
    if fix:
        err.print(f"fix:   {inert(hide_secrets(fix))}", markup=False)


def confirm(question: str, *, yes: bool) -> None:
    """Ask whether to go on; without a yes, the command ends.

    Raises:
        CurationError: nobody can answer, because standard input is not a terminal.
        typer.Exit: the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise CurationError("this command asks before it changes anything", "add --yes in scripts")
    if not typer.confirm(question, err=True):
        say("nothing was changed")
        raise typer.Exit(1)


@contextmanager
def logged(path: Path) -> Iterator[None]:
    """Append to a file what is printed meanwhile, on standard output and error, as to a pipe."""
    global out, err
    before = out, err
    with path.open("a", encoding="utf-8") as file, redirect_stdout(file), redirect_stderr(file):
        out, err = _consoles()
        try:
            yield
        finally:
            out, err = before


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    least: Sequence[str] = (),
    whole: str = "in a file, if you add > FILE",
) -> None:
    """Print a table.

    Texts are folded, numbers and intervals never. If a terminal is too narrow even so, columns are
    left out, and the line below the table names them and says where the whole table is.

    Args:
        title: the table's title.
        columns: the column headings.
        rows: the cells; None is shown as a dash, floats with two decimals; numbers are aligned
            right.
        least: headings of the columns to leave out first, the least important one first; then
            follow the last columns. The first column is never left out.
        whole: where the whole table is.
    """
    heads = list(map(inert, columns))
    cells = [[inert(show(cell)) for cell in row] for row in rows]
    each = [[head, *column] for head, *column in zip(heads, *cells, strict=True)]
    need = [max(map(_least_width, column)) for column in each]
    shown = list(range(len(heads)))
    last = {name: place for place, name in enumerate(reversed(least))}
    order = sorted(shown[1:], key=lambda n: (last.get(columns[n], -1), n))
    while out.is_terminal and order and _total([need[n] for n in shown]) > out.width:
        shown.remove(order.pop())
    widths = {n: max(map(cell_len, each[n])) for n in shown}
    while _total(widths.values()) > out.width:
        spare = [n for n in shown if widths[n] > need[n]]
        if not spare:
            break
        widths[max(spare, key=lambda n: widths[n])] -= 1
    grid = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=0,
        show_edge=False,
        width=_total(widths.values()),
    )
    for n in shown:
        words = any(isinstance(row[n], str) for row in rows)
        side: Literal["left", "right"] = "left" if words else "right"
        grid.add_column(Text(heads[n]), justify=side, overflow="fold", width=widths[n])
    for row in cells:
        grid.add_row(*(Text(row[n]) for n in shown))
    out.print(f"\n{inert(title)}", style="bold", markup=False)
    out.print(grid, soft_wrap=False, crop=False)
    if lacks := dict.fromkeys(head for n, head in enumerate(heads) if n not in shown):
        say(f"The window is too narrow for {', '.join(lacks)}. The whole table is {whole}.")


_FOLDED = 16  # characters; a text may be folded to lines of this length, not to shorter ones
_WORDS = re.compile(r"[^\W\d_]{3}")  # no number, interval or amount such as 47.3K has a word


def _least_width(text: str) -> int:
    """How narrow a column can be for this text: a number or an interval is never folded."""
    number = not _WORDS.search(text)
    parts = [text] if number else [part for part in text.split() if not _WORDS.search(part)]
    return max([0 if number else min(cell_len(text), _FOLDED), *map(cell_len, parts)])


def _total(widths: Collection[int]) -> int:
    return sum(widths) + len(widths) - 1


def wide_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; as several, each with the first column, if a terminal is too narrow for one.

    Args:
        title: the table's title.
        columns: the column headings.
        rows: the cells, as in ``table``.
    """
    cells = [columns, *([show(cell) for cell in row] for row in rows)]
    widths = [1 + max(map(len, column)) for column in zip(*cells, strict=True)]
    parts: list[list[int]] = [[0]]
    for n in range(1, len(columns)):
        if len(parts[-1]) > 1 and sum(widths[k] for k in [*parts[-1], n]) > out.width + 1:
            parts.append([0])
        parts[-1].append(n)
    for number, part in enumerate(parts):
        name = f"{title}, continued" if number else title
        table(name, [columns[n] for n in part], [[row[n] for n in part] for row in rows])


def show(cell: Any) -> str:
    """A cell as text.

    >>> show(None), show(61.4836), show(True), show(12), show("[a]")
    ('–', '61.48', 'yes', '12', '[a]')
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
    return str(cell)


@contextmanager
def tracked(title: str, total: int, *, bytes: bool = False) -> Iterator[Callable[..., None]]:
    """A progress bar on a terminal; yields a function that advances it by one, or by n.

    With ``bytes`` it counts bytes and shows their rate.
    """
    amount: list[ProgressColumn] = [MofNCompleteColumn()]
    if bytes:
        amount = [DownloadColumn(), TransferSpeedColumn()]
    with _progress(*amount) as progress:
        task = progress.add_task(title, total=total)
        yield lambda n=1: progress.advance(task, n)


class Bar:
    """A progress bar that starts late: what was done before does not count as speed."""

    def __init__(self, progress: Progress, title: str) -> None:
        self._progress, self._task = progress, progress.add_task(title, total=None)

    def begin(self, done: int, total: int) -> None:
        """Set the total, and how much of it was done before."""
        self._progress.reset(self._task, total=total, completed=done)

    def advance(self, n: int = 1) -> None:
        """Advance the bar by n."""
        self._progress.advance(self._task, n)


@contextmanager
def counted(title: str) -> Iterator[Bar]:
    """A progress bar on a terminal for work that may continue an earlier run."""
    with _progress(MofNCompleteColumn()) as progress:
        yield Bar(progress, title)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for work in stages; yields a function (stage, done, total).

    The total of a stage may grow while the work goes on.
    """
    with _progress(MofNCompleteColumn()) as progress:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield tell


_LINES = 50  # lines about the loss in the whole training


@contextmanager
def training(epochs: int) -> "Iterator[Tell]":
    """A bar and lines about a training with this many epochs, which needs the extra ``models``."""
    losses: list[float] = []
    try:
        with counted("training") as bar:

            def tell(progress: "Trained") -> None:
                done = f"step {progress.step} of {progress.steps}"
                if progress.accuracy is not None:
                    note(
                        f"epoch {progress.epoch} of {epochs}: loss {progress.loss:.4f}, "
                        f"held-out accuracy {progress.accuracy:.1f} %"
                    )
                elif progress.loss is None:
                    bar.begin(progress.step, progress.steps)
                    if progress.step:
                        note(f"continues at {done}")
                else:
                    bar.advance()
                    losses.append(progress.loss)
                    if progress.step % max(progress.steps // _LINES, 1) == 0:
                        note(f"{done}: loss {sum(losses) / len(losses):.4f}")
                        losses.clear()

            yield tell
    except ImportError as error:
        raise CurationError(
            f"models cannot be trained: {error}", "pip install 'curation[models]'"
        ) from None


def _progress(*amount: ProgressColumn) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *amount,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )

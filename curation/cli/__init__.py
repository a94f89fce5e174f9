"""The command line: one command group per stage, in pipeline order.

Commands hold options, tables and prompts; the work is in ``curation.steps``. Stages are imported
when a command needs them, so that ``curation --help`` answers at once.
"""

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from curation.board import commands as board
from curation.cli import (
    decisions,
    demo,
    importing,
    measures,
    pages,
    release,
    rounds,
    scores,
    start,
    terms,
    trust,
)
from curation.files import CurationError
from curation.terminal import console
from curation.terminal.options import Commands
from curation.text.addresses import hide_secrets
from curation.version import __version__

# Commands and groups of commands, in the order in which ``curation --help`` shows them.
COMMANDS: dict[str, typer.Typer | Callable[..., None]] = {
    "init": start.init,
    "terms": terms.app,
    "rounds": rounds.app,
    "import": importing.app,
    "decisions": decisions.app,
    "measures": measures.app,
    "scores": scores.app,
    "trust": trust.app,
    "release": release.app,
    "pages": pages.app,
    "board": board.app,
    "status": start.status,
    "run": start.run,
    "demo": demo.demo,
}


class InOrder(TyperGroup):
    """Commands in the order in which a campaign uses them."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The commands' names, for ``--help``."""
        return sorted(super().list_commands(ctx), key=list(COMMANDS).index)


app = Commands(
    name="curation",
    cls=InOrder,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Build a StereoSet-style benchmark: from a list of social groups to a validated, split, "
        "scored release.\n\n"
        "Start with «curation demo». For a campaign of your own, run in this order: «curation init "
        "DIR», «curation terms query», «curation terms select», «curation rounds open KIND» or, if "
        "you have answers, «curation import …», then «curation decisions split», «curation scores "
        "models MODEL», «curation run». «curation status» says what to do next."
    ),
)


def _version(given: bool) -> None:
    if given:
        console.say(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for name, command in COMMANDS.items():
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name)(command)


def main() -> None:
    """Run the command line; errors that a user can fix are shown in two lines, not a traceback."""
    for stream in (sys.stdout, sys.stderr):  # so that any file name can be printed
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except CurationError as error:
        console.fail(error.what, error.fix)
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            console.fail(
                f"{place}the disk is full; no file was left half written",
                "free some space, then run the same command again",
            )
        elif error.errno == errno.EACCES and _is_unreadable(error.filename):
            console.fail(f"{place}may not be read", "give yourself permission to read it")
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            console.fail(
                f"{place}no write permission", "get write permission, or use another folder"
            )
        elif error.errno == errno.EPIPE:
            sys.stderr.close()
        elif error.filename:
            console.fail(f"{place}{error.strerror}", "use another file")
        else:
            _report_fault()
        sys.exit(1)
    except Exception:
        _report_fault()
        sys.exit(1)


def _is_unreadable(path: str | None) -> bool:
    if path is None:
        return False
    try:
        return Path(path).exists() and not os.access(path, os.R_OK)
    except PermissionError:  # of a folder above it
        return True


def _report_fault() -> None:
    """Show the traceback of a fault of curation; the addresses in it may hold passwords."""
    sys.stderr.write(hide_secrets(traceback.format_exc()))

"""The command line: one command group per stage, in pipeline order.

Commands hold options, tables and prompts; the work is done by their stage. What takes long to load
is imported when a command needs it, so that ``curation --help`` answers at once.
"""

import errno
import io
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from copy import copy
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from curation.files import CurationError
from curation.terminal import console
from curation.terminal.options import Commands
from curation.text.wording import hide_secrets
from curation.version import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "init": (
        "curation.cli.start",
        "Start a campaign: a folder with a commented campaign.toml.",
    ),
    "terms": (
        "curation.terms.commands",
        "Find target terms. Query Wikidata or scan its dump, name your word lists in "
        "campaign.toml, then select.\n\nWrite manual edits into 1-terms/edits.csv: keep, merge, "
        "drop, rename, add.",
    ),
    "rounds": (
        "curation.across.commands",
        "Collect answers in rounds: people review terms, write items and label them. Rounds run "
        "on our own pages, on Label Studio, or on any platform that imports and exports tables. "
        "See docs/rounds.md.",
    ),
    "import": (
        "curation.rounds.commands.importing",
        "Import data: datasets like StereoSet, or tables of answers from another platform.",
    ),
    "decisions": (
        "curation.decisions.commands",
        "Decide which items become CATs, report how far annotators agree, split by term.",
    ),
    "measures": (
        "curation.measures.commands",
        "Measure what was collected: statistics, sentiment, keywords, pitfalls.",
    ),
    "scores": (
        "curation.scores.commands.group",
        "Score models on a benchmark: lms, ss, icat.",
    ),
    "trust": (
        "curation.trust.commands",
        "Measure bias towards groups, and report what is known about whether it may be trusted.\n\n"
        "Name your groups in [groups.NAME] of campaign.toml. Each measure writes a run to "
        "6-trust/runs/. «curation trust report» then tests measures, the dataset and scores "
        "against one criterion after another.",
    ),
    "release": (
        "curation.release.commands",
        "Build the folder that is published.",
    ),
    "pages": (
        "curation.cli.pages",
        "The report: pages that everybody can read.",
    ),
    "board": (
        "curation.board.commands",
        "A leaderboard that is a folder of files.",
    ),
    "status": (
        "curation.cli.start",
        "Show the state of the campaign, and what to do next.",
    ),
    "run": (
        "curation.cli.start",
        "Run all steps that need neither annotators nor Wikidata; skip those that are up to date.",
    ),
    "demo": (
        "curation.cli.demo",
        "Run the whole pipeline on an example campaign: invented, mild answers with real flaws.",
    ),
}
"""The module of each command or group of commands, and its help, in the order of ``--help``."""


@cache
def module_of(name: str) -> Any:
    """The module of a command or group; with it, all steps are known."""
    import_module("curation.pipeline")
    return import_module(COMMANDS[name][0])


@cache
def _command(name: str) -> Any:
    module, group = module_of(name), Commands(rich_markup_mode="markdown")
    if hasattr(module, "app"):
        group.add_typer(module.app, name=name, help=COMMANDS[name][1])
    else:
        group.command(name)(getattr(module, name))
    return typer.main.get_group(group).commands[name]


class _Loaded(Mapping[str, Any]):
    """The commands by name; each is imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Application(TyperGroup):
    """All commands in the order in which a campaign uses them. ``--help`` imports none of them."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = _Loaded()

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The commands' names, for ``--help``."""
        return list(COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help from ``COMMANDS``."""
        shown = copy(self)
        shown.commands = {n: TyperCommand(n, help=help) for n, (_, help) in COMMANDS.items()}
        TyperGroup.format_help(shown, ctx, formatter)


app = Commands(
    name="curation",
    cls=Application,
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

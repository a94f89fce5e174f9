"""How commands ask before they change something."""

import sys

import typer

from curation.files import CurationError
from curation.terminal import console


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
        console.say("nothing was changed")
        raise typer.Exit(1)

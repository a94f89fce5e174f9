"""Options that several commands take."""

from pathlib import Path
from typing import Annotated, Any

import typer

Where = Annotated[
    Path,
    typer.Option(
        "--campaign", "-c", envvar="CURATION_CAMPAIGN", help="The campaign's folder.", metavar="DIR"
    ),
]
# Whether a file can be read is said by whoever reads it, with the fix.
FILE: dict[str, Any] = {"readable": False, "metavar": "FILE"}
FILE_OR_FOLDER: dict[str, Any] = {"readable": False, "metavar": "FILE|DIR"}
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a script, and nothing else.")]
RoundArgument = Annotated[
    str | None,
    typer.Argument(help="The round; may be left out where only one is open.", metavar="ROUND"),
]

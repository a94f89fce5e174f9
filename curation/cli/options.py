"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

Where = Annotated[
    Path,
    typer.Option(
        "--campaign", "-c", envvar="CURATION_CAMPAIGN", help="The campaign's folder.", metavar="DIR"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a script, and nothing else.")]

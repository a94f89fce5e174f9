"""Options that several commands take."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from curation.files import CurationError
from curation.text.times import Order

Where = Annotated[
    Path,
    typer.Option(
        "--campaign", "-c", envvar="CURATION_CAMPAIGN", help="The campaign's folder.", metavar="DIR"
    ),
]
# The code that reads a file reports if it cannot be read, with a fix; typer's check has none.
FILE: dict[str, Any] = {"readable": False, "metavar": "FILE"}
FILE_OR_FOLDER: dict[str, Any] = {"readable": False, "metavar": "FILE|DIR"}
Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts, and nothing else.")]
RoundArgument = Annotated[
    str | None,
    typer.Argument(help="The round; optional if only one is open.", metavar="ROUND"),
]
TasksFolder = Annotated[
    Path | None,
    typer.Option(
        "--to",
        help="The folder to write to; default: tasks/ in the campaign.",
        metavar="DIR",
    ),
]
TableFormat = Annotated[
    Literal["xlsx", "csv"],
    typer.Option(
        "--format",
        help="xlsx: workbooks in the campaign's language, with lists to choose from. csv: tables "
        "with canonical names, for programs and platforms.",
    ),
]
Dates = Annotated[
    Order | None,
    typer.Option(
        "--dates",
        help="What comes first in a date such as 3/4/2026; default: as the file's other dates.",
        show_default=False,
    ),
]


def language_code(code: str) -> str:
    """A language code as it was given.

    Raises:
        CurationError: it is not one, so that the wrong language would be measured.
    """
    if code and not re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*", code):
        raise CurationError(
            f"--language: {code!r} is not a language code", "use a code such as en or pt-BR"
        )
    return code


Language = Annotated[
    str,
    typer.Option(
        callback=language_code,
        help="Language code of the texts; default: that of the campaign or release, or en.",
        show_default=False,
    ),
]

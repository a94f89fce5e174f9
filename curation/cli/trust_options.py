"""Options that the measures of bias share."""

from typing import Annotated

import typer

GroupNames = Annotated[
    list[str] | None,
    typer.Option(
        "--groups",
        metavar="NAME",
        help="Measure these groups of [groups.NAME]; repeatable. Default: all.",
        show_default=False,
    ),
]
Source = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Name of what is measured, in the name of the run. Default: the file's or model's.",
        show_default=False,
    ),
]

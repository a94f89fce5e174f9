"""Options that commands of scores and measures share, and how they write their results."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.cli.options import FILE
from curation.files import dump_json, sweep_beside, writing
from curation.formats.tables import csv_text

GoldFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--gold",
        help="Use this gold file instead of a campaign; repeatable.",
        show_default=False,
        **FILE,
    ),
]
Scores = Annotated[
    Path,
    typer.Option(
        "--scores", metavar="DIR", help="With --gold: the folder of the runs, MODEL/RULE/."
    ),
]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Also write the results to this JSON file.", **FILE),
]


class TieRule(StrEnum):
    """How a tie counts."""

    half = "half"
    official = "official"


class KindName(StrEnum):
    """A kind of CAT."""

    intrasentence = "intrasentence"
    intersentence = "intersentence"


class Split(StrEnum):
    """Which CATs of a campaign."""

    test = "test"
    dev = "dev"
    all = "all"


LatexFile = Annotated[
    Path | None,
    typer.Option("--latex", help="Also write the table as LaTeX.", show_default=False, **FILE),
]
Intervals = Annotated[
    bool, typer.Option("--intervals", help="Add the intervals to the LaTeX table.")
]
Ties = Annotated[
    TieRule,
    typer.Option(
        "--ties",
        help="half: a tie counts as half won. official: it counts as lost, as in StereoSet.",
    ),
]
OfCampaign = Annotated[
    Split | None,
    typer.Option(
        "--split", help="Use this split of the campaign; default: test.", show_default=False
    ),
]
Tier = Annotated[
    int | None,
    typer.Option(
        "--tier",
        metavar="N",
        min=1,
        help="Only CATs on whose labels N or more annotators agree; 4 is the paper's stricter set.",
        show_default=False,
    ),
]
KindOption = Annotated[
    KindName | None,
    typer.Option("--kind", help="Only CATs of this kind.", show_default=False),
]
LowerIsLikelier = Annotated[
    list[str] | None,
    typer.Option(
        "--lower-is-likelier",
        metavar="NAME",
        help="The --predictions of this NAME, or of NAME@KIND those of this kind of CAT, are "
        "perplexities or losses: change their sign. Repeatable.",
        show_default=False,
    ),
]
OriginalTargets = Annotated[
    bool,
    typer.Option(
        "--original-targets",
        help="Group translated CATs by the target of the dataset that they were translated from.",
    ),
]


def write_json(path: Path | None, content: Any, *, indent: bool = True) -> None:
    """Write results as JSON if a file was given."""
    if path:
        _write_file(path, dump_json(content, indent=indent))


def write_csv(path: Path | None, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV if a file was given."""
    if path:
        write_text(path, csv_text(rows))


def write_text(path: Path | None, text: str) -> None:
    """Write a text if a file was given."""
    if path:
        _write_file(path, text.encode(errors="backslashreplace"))


def _write_file(path: Path, content: bytes) -> None:
    sweep_beside(path)
    with writing(path) as file:
        file.write(content)

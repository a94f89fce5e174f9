"""Options that several commands take, and how commands write their results."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from curation.campaign import Campaign, open_campaign
from curation.files import CurationError, dump_json, sweep_beside, writing
from curation.formats.tables import csv_text
from curation.records import Kind
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
        help="The folder to write to; default: tasks/ in the campaign.",
        metavar="DIR",
    ),
]
TableFormat = Annotated[
    Literal["xlsx", "csv"],
    typer.Option(
        help="xlsx: workbooks in the campaign's language, with lists to choose from. csv: tables "
        "with canonical names, for programs and platforms.",
    ),
]
Dates = Annotated[
    Order | None,
    typer.Option(
        help="day-first or month-first, for dates such as 3/4/2026; default: as the file's other "
        "dates.",
    ),
]


def command_group(help: str) -> typer.Typer:
    """A group of commands, without commands yet; without a command it shows its help."""
    return typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help=help)


@contextmanager
def locked(campaign: Path) -> Iterator[Campaign]:
    """Open a campaign, and hold its lock."""
    opened = open_campaign(campaign)
    with opened.lock():
        yield opened


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
    ),
]


Engine = Literal["local", "ray"]
Device = Annotated[
    str, typer.Option(help="auto, cpu, cuda, cuda:1 …, or map to spread the model over all GPUs.")
]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16, float16.")]
BatchTokens = Annotated[
    int | None,
    typer.Option(min=1, help="Tokens per batch; default: set for the device."),
]
Revision = Annotated[str, typer.Option(help="A branch, tag or commit on the hub.")]
Remote = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]
EngineOption = Annotated[Engine, typer.Option(help="local, or ray for the cluster at RAY_ADDRESS.")]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of processes, each with its own copy of the model; default: 1, or with Ray as "
        "many as the cluster allows.",
    ),
]


def options_of_work(engine: Engine, workers: int | None, device: str) -> dict[str, Any]:
    """The arguments ``engine`` and ``workers`` of a measure.

    Raises:
        CurationError: Ray cannot give its workers this device.
    """
    if engine == "ray" and (device == "map" or device.startswith("cuda:")):
        raise CurationError(
            f"--device {device} with --engine ray: Ray gives each worker a GPU of its own",
            "use --device cuda",
        )
    return {"engine": engine, "workers": workers or (1 if engine == "local" else None)}


GoldFiles = Annotated[
    list[Path] | None,
    typer.Option(
        help="Use this gold file instead of a campaign; repeatable.",
        **FILE,
    ),
]
Scores = Annotated[
    Path,
    typer.Option(metavar="DIR", help="With --gold: the folder of the runs, MODEL/RULE/."),
]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Also write the results to this JSON file.", **FILE),
]


TieRule = Literal["half", "official"]
Split = Literal["test", "dev", "all"]
CorpusEngine = Annotated[Engine, typer.Option(help="This machine (local) or a Ray cluster (ray).")]
Processes = Annotated[int, typer.Option(help="Number of processes; 0: one per core.", min=0)]
LatexFile = Annotated[
    Path | None,
    typer.Option(help="Also write the table as LaTeX.", **FILE),
]
Intervals = Annotated[
    bool, typer.Option("--intervals", help="Add the intervals to the LaTeX table.")
]
Ties = Annotated[
    TieRule,
    typer.Option(
        help="half: a tie counts as half won. official: it counts as lost, as in StereoSet.",
    ),
]
OfCampaign = Annotated[
    Split | None,
    typer.Option(help="The split of a campaign: test (default), dev or all."),
]
Tier = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Only CATs on whose labels N or more annotators agree; 4 is the paper's stricter set.",
    ),
]
KindOption = Annotated[
    Kind | None,
    typer.Option(
        help="Only CATs of this kind: intrasentence or intersentence.",
    ),
]
LowerIsLikelier = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="The --predictions of this NAME, or of NAME@KIND those of this kind of CAT, are "
        "perplexities or losses: change their sign. Repeatable.",
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

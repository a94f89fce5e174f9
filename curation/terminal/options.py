"""How functions become commands, options that several of them take, and how results are written.

Options:
    campaign (DIR): The campaign's folder.
    as_json: Print JSON for scripts, and nothing else.
    json_file (FILE): Also write the results to this JSON file.
    latex (FILE): Also write the table as LaTeX.
    intervals: Add the intervals to the LaTeX table.
    gold (FILE): Use this gold file instead of a campaign; repeatable.
    scores (DIR): With --gold: the folder of the runs, MODEL/RULE/.
    split: The split of a campaign: test (default), dev or all.
    kind: Only CATs of this kind: intrasentence or intersentence.
    tier (N): Only CATs on whose labels N or more annotators agree; 4 is the paper's stricter set.
    ties: half: a tie counts as half won. official: it counts as lost, as in StereoSet.
    original_targets: Group translated CATs by the target of the dataset that they were translated
        from.
    lower_is_likelier (NAME): The --predictions of this NAME, or of NAME@KIND those of this kind of
        CAT, are perplexities or losses: change their sign. Repeatable.
    language: Language code of the texts; default: that of the campaign or release, or en.
    device: auto, cpu, cuda, cuda:1 …, or map to spread the model over all GPUs.
    dtype: auto, float32, bfloat16, float16.
    batch_tokens: Tokens per batch; default: set for the device.
    revision: A branch, tag or commit on the hub.
    trust_remote_code: Run code that comes with the model.
    engine: local, or ray for the cluster at RAY_ADDRESS.
    workers: Number of processes, each with its own copy of the model; default: 1, or with Ray as
        many as the cluster allows.
    round (ROUND): The round; optional if only one is open.
    out (DIR): Folder for the trained model.
    restart: Delete what an earlier run left in DIR, and start again.
    to (DIR): The folder to write to; default: tasks/ in the campaign.
    format: xlsx: workbooks in the campaign's language, with lists to choose from. csv: tables with
        canonical names, for programs and platforms.
    dates: day-first or month-first, for dates such as 3/4/2026; default: as the file's other dates.
"""

import inspect
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from typer.models import OptionInfo, ParameterInfo

from curation.files import CurationError, dump_json, sweep_beside, writing
from curation.formats.tables import csv_text
from curation.work.engine import Engine, check_device

if TYPE_CHECKING:
    from curation.campaign.store import Campaign

Function = TypeVar("Function", bound=Callable[..., Any])
Texts = MutableMapping[str, tuple[str, str]]  # metavar and help by the name of a parameter
_TEXT = re.compile(r"^    (\w+)(?: \((\S+)\))?: (.+(?:\n {8}.+)*)", re.MULTILINE)


class Commands(typer.Typer):
    """A group of commands: functions whose docstrings describe their options.

    The section «Options:» of a docstring has the help of each parameter, as ``name: help`` or
    ``name (METAVAR): help``. Options that several commands of a module have are described in the
    docstring of the module, and those of several modules in that of this one. The file of a FILE
    need not be readable: the code that reads it reports that, with a fix. A flag NAME is --NAME,
    without --no-NAME. A parameter without a default is an argument; after a «*», a required option.

    A parameter whose type is a dataclass stands for one option for each of its fields, with the
    help in «Attributes:» of its docstring. Its own fields come before those that it inherits.
    """

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        """Add a function as a command; it stays as it is."""

        def add(function: Function) -> Function:
            super(Commands, self).command(name, **settings)(_for_typer(function))
            return function

        return add


def _for_typer(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with one parameter for each option, which has its help."""
    parameters, records = list[inspect.Parameter](), dict[str, tuple[Any, list[str]]]()
    about, own_texts = _described(function, "Options")
    texts = ChainMap(own_texts, *_shared(function))
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(kind := parameter.annotation):
            own = list(_of_record(kind))
            parameters += own
            records[name] = kind, [each.name for each in own]
        else:
            is_option = parameter.kind is parameter.KEYWORD_ONLY
            parameters.append(_parameter(name, kind, parameter.default, texts, option=is_option))

    @wraps(function)
    def run(**given: Any) -> None:
        for name, (kind, names) in records.items():
            given[name] = kind(**{each: given.pop(each) for each in names})
        function(**given)

    parameters.sort(key=lambda each: isinstance(each.annotation.__metadata__[0], OptionInfo))
    run.__doc__, run.__annotations__ = about, {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _of_record(kind: Any) -> Iterator[inspect.Parameter]:
    """A parameter for each field of a dataclass."""
    hints, defaults = get_type_hints(kind, include_extras=True), {f.name: f for f in fields(kind)}
    names = dict.fromkeys(n for each in kind.__mro__ for n in inspect.get_annotations(each))
    own = (_described(each, "Attributes")[1] for each in kind.__mro__)
    texts = ChainMap(*own, *_shared(kind))
    for name in (name for name in names if name in defaults):  # without those of the class
        parameter = _parameter(name, hints[name], defaults[name].default, texts)
        parameter.annotation.__metadata__[0].rich_help_panel = getattr(kind, "PANEL", None)
        yield parameter


def _parameter(
    name: str, hint: Any, default: Any, texts: Texts, *, option: bool = False
) -> inspect.Parameter:
    """An option if it has a default or must be one, else an argument; or what its type says."""
    kind, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    needed = default in (inspect.Parameter.empty, MISSING)
    own = (copy(each) for each in extras if isinstance(each, ParameterInfo))
    info = next(own, None) or (typer.Argument() if needed and not option else typer.Option())
    for limit in (limit for each in extras for limit in getattr(each, "metadata", ())):
        info.min, info.max = getattr(limit, "ge", info.min), getattr(limit, "le", info.max)
    metavar, text = texts.get(name, ("", info.help))
    info.help, info.metavar = text, metavar or info.metavar
    info.readable = info.readable and not metavar.startswith("FILE")
    if default is False and info.default is ...:  # where typer has the first name of an option
        info.default = f"--{name.replace('_', '-')}"
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if needed else default,
        annotation=Annotated[kind, info],
    )


def _shared(user: Any) -> list[Texts]:
    """What the module of a command or record says of options, and what this module says."""
    return [_described(sys.modules[name], "Options")[1] for name in (user.__module__, __name__)]


def _described(documented: Any, section: str) -> tuple[str, Texts]:
    """A docstring before this section, and what the section says of each parameter."""
    about, _, after = (inspect.getdoc(documented) or "").partition(f"\n\n{section}:\n")
    entries = _TEXT.findall(after)
    return about, {name: (metavar, " ".join(text.split())) for name, metavar, text in entries}


Where = Annotated[Path, typer.Option("--campaign", "-c", envvar="CURATION_CAMPAIGN")]
Json = Annotated[bool, typer.Option("--json")]
JsonFile = Annotated[Path | None, typer.Option("--json")]
Natural = Annotated[int, typer.Option(min=0)]
Count = Annotated[int, typer.Option(min=1)]
MaybeCount = Annotated[int | None, typer.Option(min=1)]
RoundArgument = Annotated[str | None, typer.Argument()]
TableFormat = Literal["xlsx", "csv"]
TieRule = Literal["half", "official"]
Split = Literal["test", "dev", "all"]


def command_group() -> Commands:
    """A group of commands, without commands yet; without a command it shows its help."""
    return Commands(no_args_is_help=True, rich_markup_mode="markdown")


@contextmanager
def locked(campaign: Path) -> "Iterator[Campaign]":
    """Open a campaign, and hold its lock."""
    from curation.campaign.store import open_campaign

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


Language = Annotated[str, typer.Option(callback=language_code)]


def options_of_work(engine: Engine, workers: int | None, device: str) -> dict[str, Any]:
    """The arguments ``engine`` and ``workers`` of a measure that runs a model.

    Raises:
        CurationError: the engine cannot give its workers this device.
    """
    check_device(engine, device)
    return {"engine": engine, "workers": workers or (1 if engine == "local" else None)}


def write_json(path: Path | None, content: Any, *, indent: bool = True) -> None:
    """Write results as JSON if a file was given."""
    if path:
        write_text(path, dump_json(content, indent=indent).decode())


def write_csv(path: Path | None, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV if a file was given."""
    if path:
        write_text(path, csv_text(rows))


def write_text(path: Path | None, text: str) -> None:
    """Write a text if a file was given."""
    if path:
        sweep_beside(path)
        with writing(path) as file:
            file.write(text.encode(errors="backslashreplace"))

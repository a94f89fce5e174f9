"""Options of ``curation scores models`` for chat models, and which other options fit them."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from curation.cli.options import FILE
from curation.files import CurationError
from curation.models.chat.prompts import ChatSpec
from curation.scores.choice.asking import Prices, price

CHAT = "chat:"
_PANEL = "Chat models"
_DEFAULT = ChatSpec(Path())


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 2:
        raise typer.BadParameter(f"{text[:40]!r} is not a number from 0 to 2")
    return value


def _price(text: str) -> float:
    try:
        return price(text)
    except CurationError as error:
        raise typer.BadParameter(f"{error.what}: {error.fix}") from None


PromptsFile = Annotated[
    Path | None,
    typer.Option(
        "--prompts",
        help="The prompts; default: prompts.toml in the folder of scores, or those that are "
        "included for the language («curation scores prompts»).",
        show_default=False,
        rich_help_panel=_PANEL,
        **FILE,
    ),
]
AllPrompts = Annotated[
    bool,
    typer.Option(
        "--all-prompts",
        help="Ask with every prompt of the file, not only the first of each kind.",
        rich_help_panel=_PANEL,
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=1000,
        help="Ask each question N times: for models that do not always answer alike (endpoints "
        f"only); default: {_DEFAULT.samples}.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        parser=_temperature,
        metavar="T",
        help=f"Temperature of sampling, 0 to 2 (endpoints only); default: {_DEFAULT.temperature:g}"
        ".",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=1_000_000,
        help="The largest number of tokens of a reply, with the thoughts of a reasoning model "
        f"(endpoints only); default: {_DEFAULT.max_tokens}.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=256,
        help="Requests under way at the same time (endpoints only); default: "
        f"{_DEFAULT.concurrency}.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Send nothing and write nothing; print how many requests and tokens are still to be "
        "sent.",
        rich_help_panel=_PANEL,
    ),
]
PriceIn = Annotated[
    float | None,
    typer.Option(
        parser=_price,
        metavar="PRICE",
        help="Price of a million tokens that are sent, to print the cost.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
PriceOut = Annotated[
    float | None,
    typer.Option(
        parser=_price,
        metavar="PRICE",
        help="Price of a million tokens that are received.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]


class NamedModel(NamedTuple):
    """A model as it is named on the command line: ``LABEL=chat:NAME``."""

    label: str
    name: str
    chat: bool


class ChatOptions(NamedTuple):
    """The options for chat models, as they are given."""

    prompts: Path | None
    all_prompts: bool
    samples: int | None
    temperature: float | None
    max_tokens: int | None
    concurrency: int | None
    dry_run: bool
    price_in: float | None
    price_out: float | None

    def spec(self, prompts: Path) -> ChatSpec:
        """How the models are asked, with this file of prompts."""
        numbers = ("samples", "temperature", "max_tokens", "concurrency")
        given = {name: value for name in numbers if (value := getattr(self, name)) is not None}
        return ChatSpec(prompts, self.all_prompts, **given)

    @property
    def prices(self) -> Prices | None:
        """The prices, if both are given."""
        if self.price_in is None or self.price_out is None:
            return None
        return Prices(self.price_in, self.price_out)


def named_model(argument: str) -> NamedModel:
    """The model of an argument: ``NAME``, ``LABEL=NAME``, ``chat:NAME`` or ``LABEL=chat:NAME``.

    Raises:
        BadParameter: there is no name after ``chat:``.
    """
    label, name = "", argument
    # A folder's name, and a model's name at an endpoint, may also have a «=».
    if not argument.startswith(CHAT) and not os.path.exists(argument):  # noqa: PTH110 - it may be long
        before, equals, after = argument.partition("=")
        label, name = (before, after) if equals else ("", argument)
    chat = name.startswith(CHAT)
    name = name.removeprefix(CHAT) if chat else name
    if chat and not name.strip():
        raise typer.BadParameter(
            f"{argument!r} does not name a model: write chat:NAME, such as chat:my-model",
            param_hint="MODEL...",
        )
    return NamedModel(label, name, chat)


def check_chat_options(
    models: Sequence[NamedModel],
    options: ChatOptions,
    *,
    endpoint: bool,
    others: Mapping[str, bool],
    rule: str,
    profile: str,
) -> None:
    """Check that the options fit the models.

    Args:
        models: all models of the command.
        options: the options for chat models.
        endpoint: whether ``--endpoint`` is given.
        others: options that chat models do not use, and whether they are given.
        rule: of ``--rule``.
        profile: of ``--profile``.

    Raises:
        CurationError: an option has no model that uses it, or contradicts another one.
    """
    given = [
        f"--{name.replace('_', '-')}"
        for name, value in options._asdict().items()
        if value is not None and value is not False
    ]
    if not any(model.chat for model in models):
        if given:
            raise CurationError(
                f"{given[0]} is for chat models, and no model is one",
                f"write chat:NAME for a chat model, or leave {given[0]} out",
            )
        return
    for option, value in (("--rule", rule), ("--profile", profile)):
        if value and value != "choice":
            raise CurationError(
                f"{option} {value}: chat models have no other {option[2:]} than choice",
                f"leave {option} out, or score chat models with a command of their own",
            )
    plain = [model.name for model in models if not model.chat]
    useless = [option for option, is_given in others.items() if is_given]
    if useless and not plain:
        raise CurationError(f"{useless[0]} is not for chat models", f"leave {useless[0]} out")
    if plain and options.dry_run:
        raise CurationError(
            f"--dry-run plans chat models, and {plain[0]} is not one",
            "name only chat models: chat:NAME",
        )
    if not endpoint:
        sampling = ("--samples", "--temperature", "--max-tokens", "--concurrency")
        for option in (*sampling, "--price-in", "--price-out"):
            if option in given:
                raise CurationError(
                    f"{option} is for models behind an endpoint, and there is no --endpoint",
                    "give --endpoint URL, or leave the option out: a model on this machine gives "
                    "the probabilities of both letters at once",
                )
    if (options.price_in is None) != (options.price_out is None):
        raise CurationError(
            f"{'--price-in' if options.price_out is None else '--price-out'} is given alone",
            "give both prices, of tokens that are sent and received; one of them may be 0",
        )

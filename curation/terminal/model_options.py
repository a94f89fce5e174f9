"""Options of commands that run models: how these are found, run and asked."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple, get_args

import typer

from curation.files import CurationError
from curation.models.chat import ChatSpec, Prices, price
from curation.models.loading import loading_options
from curation.models.rules import Family
from curation.models.scoring import ModelSpec
from curation.records import Fields
from curation.terminal.options import MaybeCount
from curation.work.engine import Engine

CHAT = "chat:"
_FAMILIES = [name for name in get_args(Family) if name not in ("endpoint", "chat")]


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


def _family(name: str) -> str:
    """A family that --family may name.

    Raises:
        BadParameter: it may not.
    """
    if name == "chat":
        raise typer.BadParameter("write chat:NAME for a chat model, without --family")
    if name not in _FAMILIES:
        raise typer.BadParameter(f"«{name}» is not one of {', '.join(_FAMILIES)}")
    return name


class NamedModel(NamedTuple):
    """A model as it is named on the command line: ``LABEL=chat:NAME``."""

    label: str
    name: str
    chat: bool


@dataclass(frozen=True)
class ModelOptions:
    """How models are found and run.

    Attributes:
        family: The model's family, if it is not recognized.
        nsp (DIR): The folder that train-nsp wrote for the model: a head for the rule nsp.
        accept_own_head: Under acl-ll: use the model's own next-sentence head if --nsp is not given;
            all tables then mark the model.
        endpoint (URL): An OpenAI-compatible endpoint that serves the models, such as
            http://127.0.0.1:8000/v1. The key is read from CURATION_ENDPOINT_KEY or OPENAI_API_KEY.
        bos: BOS token text (endpoints only).
        plain: Turn off all optimisations: slow, to check the scores.
    """

    NOT_FOR_CHAT: ClassVar = {
        "--family",
        "--nsp",
        "--accept-own-head",
        "--bos",
        "--plain",
        "--engine",
        "--workers",
    }

    family: Annotated[str | None, typer.Option(parser=_family, metavar="|".join(_FAMILIES))] = None
    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: MaybeCount = None
    nsp: str = ""
    accept_own_head: bool = False
    revision: str = ""
    endpoint: str = ""
    bos: str = ""
    plain: bool = False
    trust_remote_code: bool = False
    engine: Engine = "local"
    workers: MaybeCount = None


@dataclass(frozen=True)
class ChatOptions:
    """The options for chat models, as they are given; ``ChatSpec`` has the defaults.

    Attributes:
        prompts (FILE): The prompts; default: prompts.toml in the folder of scores, or those that
            are included for the language («curation scores prompts»).
        all_prompts: Ask with every prompt of the file, not only the first of each kind.
        samples (N): Ask each question N times: for models that do not always answer alike
            (endpoints only); default: 1.
        temperature (T): Temperature of sampling, 0 to 2 (endpoints only); default: 0.
        max_tokens (N): The largest number of tokens of a reply, with the thoughts of a reasoning
            model (endpoints only); default: 256.
        concurrency (N): Requests under way at the same time (endpoints only); default: 8.
        dry_run: Send nothing and write nothing; print how many requests and tokens are still to be
            sent.
        price_in (PRICE): Price of a million tokens that are sent, to print the cost.
        price_out (PRICE): Price of a million tokens that are received.
    """

    PANEL: ClassVar = "Chat models"

    prompts: Path | None = None
    all_prompts: bool = False
    samples: Annotated[int | None, typer.Option(min=1, max=1000)] = None
    temperature: Annotated[float | None, typer.Option(parser=_temperature)] = None
    max_tokens: Annotated[int | None, typer.Option(min=1, max=1_000_000)] = None
    concurrency: Annotated[int | None, typer.Option(min=1, max=256)] = None
    dry_run: bool = False
    price_in: Annotated[float | None, typer.Option(parser=_price)] = None
    price_out: Annotated[float | None, typer.Option(parser=_price)] = None

    def spec(self, prompts: Path = Path()) -> ChatSpec:
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


NO_OPTIONS = ModelOptions()
NO_CHAT_OPTIONS = ChatOptions()


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


def model_spec(
    model: NamedModel, how: ModelOptions, chat: ChatOptions = NO_CHAT_OPTIONS
) -> ModelSpec:
    """A model with the options by which it is found and run."""
    options: Fields = {**loading_options(how, revision=how.revision or None), "url": how.endpoint}
    options |= {"label": model.label, "batch_tokens": how.batch_tokens}
    if model.chat:
        return ModelSpec(model.name, **options, chat=chat.spec())
    own: Fields = {name: getattr(how, name) for name in ("family", "plain", "nsp", "bos")}
    return ModelSpec(model.name, **options, **own)

"""What the commands of measures have in common: which CATs, and how they are measured."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.campaign import Campaign, open_campaign
from curation.cli import console
from curation.cli.gold import read_gold, take_tier
from curation.files import CurationError, read_json, read_records
from curation.records import Cat
from curation.settings import MeasureSettings
from curation.steps import read
from curation.words import NotCheckedError

Report = dict[str, Any]
WORDFREQ = "wordfreq"  # the reference that is no file
VADER = "vader"  # the sentiment that is no model


def language_code(code: str) -> str:
    """A language code as it was given.

    Raises:
        CurationError: it is none, so that measures would be of a language that is not meant.
    """
    if code and not re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*", code):
        raise CurationError(f"--language: {code!r} is no language code", "such are en and pt-BR")
    return code


Language = Annotated[
    str,
    typer.Option(
        callback=language_code,
        help="Language code of the texts; default the campaign's, en for gold files.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Source:
    """What is measured, and how."""

    cats: list[Cat]
    language: str
    knobs: MeasureSettings
    seed: int
    campaign: Campaign | None = None

    def writers(self) -> dict[str, str | None] | None:
        """Who wrote each item; None for gold files."""
        if self.campaign is None:
            return None
        return {item.id: item.writer for item in read.read_items(self.campaign)}


def of_campaign(campaign: Campaign, *, language: str = "", **knobs: Any) -> Source:
    """A campaign's CATs, as its settings say but for what is given.

    Paths in the settings are from the campaign's folder on, wherever the command is run.
    """
    settings = campaign.settings
    measures = settings.measures
    inside = {
        "tokenizer": model_of(campaign, measures.tokenizer),
        "sentiment": model_of(campaign, measures.sentiment),
    }
    if measures.reference != WORDFREQ:
        inside["reference"] = str(campaign.root / measures.reference)
    path = campaign.decisions / "cats.jsonl"
    return Source(
        read_records(path, Cat) if path.exists() else [],
        language or settings.campaign.language,
        measures.model_copy(update=inside | knobs),
        settings.campaign.seed,
        campaign,
    )


def model_of(campaign: Campaign, name: str) -> str:
    """A model that settings name: a folder from the campaign's on, if there is one."""
    inside = campaign.root / name
    return str(inside) if name not in {"", VADER} and inside.is_dir() else name


def of_gold(files: list[Path], *, language: str = "", **knobs: Any) -> Source:
    """The CATs of gold files."""
    usual = MeasureSettings().model_copy(update=knobs)
    return Source(read_gold(files), language or "en", usual, 1)


def _measured(measure: Callable[[Source], Report], source: Source, tier: int | None) -> Report:
    """What a measure says of a source; of a tier, which it then names."""
    if tier is None:
        return measure(source)
    return {**measure(replace(source, cats=take_tier(source.cats, tier))), "tier": tier}


def report(
    step: str,
    measure: Callable[[Source], Report],
    gold: list[Path] | None,
    campaign: Path,
    language: str,
    *,
    tier: int | None = None,
    **knobs: Any,
) -> Report:
    """What a measure says of gold files, or of a campaign.

    A campaign's own is the pipeline's, and is kept; where the command line says otherwise than
    campaign.toml it is measured for this once. Of ``knobs`` only what is not None is given.
    ``tier`` takes the CATs of this tier or above alone.
    """
    from curation.steps.pipeline import bring_up_to_date

    given = {name: value for name, value in knobs.items() if value is not None}
    if gold:
        return _measured(measure, of_gold(gold, language=language, **given), tier)
    opened = open_campaign(campaign)
    once = bool(given or language or tier)
    with opened.lock():
        bring_up_to_date(opened, "split" if once else step, reporter=console)
    if not read_records(opened.decisions / "cats.jsonl", Cat):
        raise CurationError(
            f"{opened.decisions / 'cats.jsonl'}: no CAT was kept", "collect more labels first"
        )
    if once:
        return _measured(measure, of_campaign(opened, language=language, **given), tier)
    return dict(read_json(opened.measures / f"{step}.json"))


def unchecked(what: str, make: Callable[[], Report]) -> Report:
    """A report, or why there is none: never a figure that looks like a result."""
    try:
        return {**make(), "not_checked": {}}
    except NotCheckedError as reason:
        return {"not_checked": {what: str(reason)}}


def versions(*packages: str) -> dict[str, str | None]:
    """The versions of packages; None for those that are not installed."""
    found: dict[str, str | None] = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found

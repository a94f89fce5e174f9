"""What the commands of measures have in common: which CATs, and how they are measured."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.campaign import Campaign, open_campaign
from curation.cli import reading
from curation.cli.gold import read_gold
from curation.files import CurationError, read_json, read_records
from curation.records import Cat
from curation.settings import MeasureSettings
from curation.words import NotCheckedError

Report = dict[str, Any]
Language = Annotated[
    str,
    typer.Option(
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
    resamples: int
    campaign: Campaign | None = None

    def writers(self) -> dict[str, str | None] | None:
        """Who wrote each item; None for gold files."""
        if self.campaign is None:
            return None
        return {item.id: item.writer for item in reading.read_items(self.campaign)}


def of_campaign(campaign: Campaign, *, language: str = "", **knobs: Any) -> Source:
    """A campaign's CATs, as its settings say but for what is given."""
    settings = campaign.settings
    path = campaign.decisions / "cats.jsonl"
    return Source(
        read_records(path, Cat) if path.exists() else [],
        language or settings.campaign.language,
        settings.measures.model_copy(update=knobs),
        settings.campaign.seed,
        settings.agreement.resamples,
        campaign,
    )


def of_gold(files: list[Path], *, language: str = "", **knobs: Any) -> Source:
    """The CATs of gold files."""
    usual = MeasureSettings().model_copy(update=knobs)
    return Source(read_gold(files), language or "en", usual, 1, 1000)


def report(
    step: str,
    measure: Callable[[Source], Report],
    gold: list[Path] | None,
    campaign: Path,
    language: str,
    **knobs: Any,
) -> Report:
    """What a measure says of gold files, or of a campaign.

    A campaign's own is the pipeline's, and is kept; where the command line says otherwise than
    campaign.toml it is measured for this once. Of ``knobs`` only what is not None is given.
    """
    from curation.cli.pipeline import bring_up_to_date

    given = {name: value for name, value in knobs.items() if value is not None}
    if gold:
        return measure(of_gold(gold, language=language, **given))
    opened = open_campaign(campaign)
    once = bool(given or language)
    with opened.lock():
        bring_up_to_date(opened, "split" if once else step)
    if not read_records(opened.decisions / "cats.jsonl", Cat):
        raise CurationError(
            f"{opened.decisions / 'cats.jsonl'}: no CAT was kept", "collect more labels first"
        )
    if once:
        return measure(of_campaign(opened, language=language, **given))
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

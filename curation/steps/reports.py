"""Reports of measures: what a campaign keeps, or gold files measured on the spot.

Without other options, a campaign's report is the pipeline's: the step is brought up to date and
its result is read. If an option differs from campaign.toml, the CATs are measured for this call
only, and nothing is written.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign, open_campaign
from curation.settings import MeasureSettings
from curation.steps import measures
from curation.steps.decisions import SPLIT
from curation.steps.measures import Report
from curation.steps.reporter import QUIET, Reporter
from curation.steps.source import Source, campaign_source, gold_source, open_source
from curation.steps.step import Step, run_steps

if TYPE_CHECKING:
    from curation.measures.pitfalls import Report as Pitfalls

MEASURES: dict[str, Callable[[Source, MeasureSettings, Reporter], Report]] = {
    "statistics": measures.statistics_of,
    "sentiment": measures.sentiment_of,
    "keywords": measures.keywords_of,
}
STEPS = {step.name: step for step in (measures.STATISTICS, measures.SENTIMENT, measures.KEYWORDS)}


def report(
    name: str,
    campaign: Campaign | Path = Path(),
    *,
    gold: Sequence[Path] | None = None,
    tier: int | None = None,
    language: str = "",
    reporter: Reporter = QUIET,
    **settings: Any,
) -> Report:
    """Statistics, sentiment or keywords of a campaign or of gold files.

    Takes the campaign's lock itself, to bring the step up to date.

    Args:
        name: statistics, sentiment or keywords.
        campaign: the campaign or its folder.
        gold: gold files to measure instead.
        tier: only CATs of this tier or above; the report then says so.
        language: language code of the texts; by default that of the campaign or release, else en.
        reporter: where warnings and progress go.
        settings: settings of [measures] that replace the campaign's; None leaves one as it is.

    Returns:
        The fields of ``statistics.json``, ``sentiment.json`` (with ``predictions`` in addition) or
        ``keywords.json``; docs/formats.md describes them. ``not_checked`` has the reason for each
        part that cannot be measured.

    Raises:
        CurationError: there is no CAT, or the CATs cannot be measured.
    """
    given = {key: value for key, value in settings.items() if value is not None}
    if gold:
        source = gold_source(gold, language=language, reporter=reporter)
        source.warn_of_language(reporter)
    else:
        once = bool(given or language or tier)
        opened = _up_to_date(campaign, SPLIT if once else STEPS[name], reporter)
        source = open_source(opened, language=language)
        if not once:
            return measures.kept_report(opened, name)
    source = source.in_tier(tier, reporter)
    measured = MEASURES[name](source, measures.measure_settings(source, **given), reporter)
    return measured if tier is None else {**measured, "tier": tier}


def pitfalls(
    campaign: Campaign | Path = Path(),
    *,
    gold: Sequence[Path] | None = None,
    language: str = "",
    own: Path | None = None,
    reporter: Reporter = QUIET,
) -> "tuple[Pitfalls, tuple[str, ...]]":
    """Pitfalls of a campaign or of gold files.

    Takes the campaign's lock itself, to bring the step up to date.

    Args:
        campaign: the campaign or its folder.
        gold: gold files to look at instead.
        language: language code of the texts; by default that of the campaign or release, else en.
        own: the team's own word lists; by default the campaign's.
        reporter: where warnings and progress go.

    Returns:
        The pitfalls; and the codes that the campaign accepts in a release.

    Raises:
        CurationError: the CATs or the word lists cannot be read.
    """
    if gold:
        source = gold_source(gold, language=language, reporter=reporter)
        source.warn_of_language(reporter)
        return measures.pitfalls_of(source, own=own, reporter=reporter), ()
    once = bool(language or own)
    opened = _up_to_date(campaign, SPLIT if once else measures.PITFALLS, reporter)
    accepted = opened.settings.release.accept
    if not once:
        return measures.kept_pitfalls(opened), accepted
    source = campaign_source(opened, language=language)
    return measures.pitfalls_of(source, own=own, reporter=reporter), accepted


def _up_to_date(campaign: Campaign | Path, step: Step, reporter: Reporter) -> Campaign:
    opened = campaign if isinstance(campaign, Campaign) else open_campaign(campaign)
    with opened.lock():
        run_steps(opened, step, reporter=reporter)
    return opened

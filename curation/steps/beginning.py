"""What to do in a campaign that has no answers yet."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from curation.campaign import Campaign
from curation.steps.term_files import facts_files

if TYPE_CHECKING:
    from curation.steps.trust.measuring import RunState

IMPORTS = "curation import answers FILE, or curation import stereoset FILE"


def before_answers(
    campaign: Campaign,
    measures: "Sequence[RunState]",
    *,
    current: Collection[str],
    terms_kept: int,
) -> str:
    """What to do next: for measures of bias if somebody uses them, and for a dataset.

    Args:
        campaign: the campaign.
        measures: its runs of measures of bias.
        current: the names of the steps whose results are up to date.
        terms_kept: how many terms the step select kept.
    """
    usual = _for_dataset(campaign, selected="select" in current, terms_kept=terms_kept)
    first = _for_measures(campaign, measures, reported="trust" in current)
    return f"{first}; or, for a dataset, {usual}" if first else usual


def _for_measures(campaign: Campaign, measures: "Sequence[RunState]", *, reported: bool) -> str:
    """What to do about measures of bias; "" if nobody uses them."""
    if again := next((run.again for run in measures if run.again), ""):
        return f"{again}, then curation trust report"
    if measures:
        return "read 6-trust/report.md" if reported else "curation trust report"
    if campaign.settings.groups:
        return "curation trust text FILE, or another measure (curation trust -h)"
    return ""


def _for_dataset(campaign: Campaign, *, selected: bool, terms_kept: int) -> str:
    domains = campaign.settings.domains.values()
    wikidata = any(domain.properties for domain in domains)
    sources = wikidata or any(domain.words for domain in domains)
    edits = campaign.terms / "edits.csv"
    if not sources and not edits.exists() and not terms_kept:
        return (
            "name properties or words in [domains] of campaign.toml, then run curation status "
            f"again; or {IMPORTS}"
        )
    if wikidata and not all(path.exists() for path in facts_files(campaign)):
        return f"curation terms query, or curation terms scan FILE; or {IMPORTS}"
    if not selected:
        return "curation terms select"
    return (
        "check 1-terms/candidates.csv and correct it in 1-terms/edits.csv; then "
        f"curation rounds open KIND; or, with answers from elsewhere, {IMPORTS}"
    )

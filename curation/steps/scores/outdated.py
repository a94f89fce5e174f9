"""Whether the CATs of a campaign, and what is computed of them, are up to date."""

from curation.campaign import Campaign
from curation.files import CurationError
from curation.steps.decisions import SPLIT
from curation.steps.reporter import Reporter
from curation.steps.source import Source
from curation.steps.step import Step, current, last_run, with_needs


def warn_if_outdated(source: Source, reporter: Reporter) -> None:
    """Warn if a campaign's CATs are older than its answers or settings.

    Commands that compare models do not run steps, and so they read the CATs as they are.
    """
    if source.campaign and not is_up_to_date(source.campaign, SPLIT):
        reporter.warn(
            f"{source.campaign.decisions / 'cats.jsonl'}: the CATs are out of date: run "
            "«curation run», then score the models again"
        )


def is_up_to_date(campaign: Campaign, step: Step) -> bool:
    """Whether a step and all that it needs are up to date; also if it has never run here."""
    if last_run(campaign, step) is None:  # its results were put there by hand
        return True
    try:
        return all(current(campaign, each) for each in with_needs(step))
    except CurationError:  # raw answers are missing, for example
        return False

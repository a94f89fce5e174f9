"""The pipeline: all steps as one ordered list. Each is declared beside its functions."""

from collections.abc import Callable, Sequence

from curation import status
from curation.campaign.private import protect
from curation.campaign.step import MAKERS, Step, last_run, makers, run_steps, with_needs
from curation.campaign.store import Campaign
from curation.decisions import steps as decisions
from curation.files import CurationError
from curation.measures import steps as measures
from curation.pages.steps import REPORT, MadePages, pages_step, private_step
from curation.records import StepRun
from curation.release import steps as release
from curation.rounds import steps as rounds
from curation.terms import steps as terms
from curation.trust import steps as trust
from curation.work.reporter import QUIET, Reporter

_BEFORE_PAGES = (
    terms.select,
    rounds.answers,
    rounds.item_pitfalls,
    decisions.filter,
    decisions.agreement,
    decisions.split,
    measures.statistics,
    measures.sentiment,
    measures.keywords,
    measures.pitfalls,
    trust.trust,
    release.release,
)
PAGES = pages_step(_BEFORE_PAGES)
PRIVATE_PAGES = private_step(_BEFORE_PAGES)
STEPS: tuple[Step, ...] = (*_BEFORE_PAGES, PAGES)
ON_DEMAND: tuple[Step, ...] = (release.anonymous, PRIVATE_PAGES)
"""The steps that only a command of their own runs.

If a person leaves, the folder of such a step is deleted, unless the step is lasting.
"""
BY_NAME = {step.name: step for step in STEPS}
MAKERS.update({each: step for step in (*STEPS, *ON_DEMAND) for each in step.makes})
for _number, _step in enumerate(STEPS):
    if late := {*makers((*_step.reads, *_step.if_made))} - {*STEPS[:_number]}:
        _names = ", ".join(step.name for step in late)
        raise ValueError(f"the step {_step.name} comes before {_names}, whose results it reads")


def bring_up_to_date(
    campaign: Campaign,
    *names: str,
    reporter: Reporter = QUIET,
    tell: Callable[[Step, bool], None] | None = None,
) -> StepRun:
    """Run the steps of these names, by default all: :func:`curation.campaign.step.run_steps`.

    Raises:
        KeyError: there is no such step.
    """
    chosen = {BY_NAME[name] for name in names} if names else {*STEPS}
    steps = [step for step in STEPS if step in chosen]
    return run_steps(campaign, *steps, reporter=reporter, tell=tell, named=bool(names))


def read_status(campaign: Campaign) -> status.Status:
    """The state of a campaign: :func:`curation.status.read_status` with all steps."""
    before = status.read_status(campaign, _BEFORE_PAGES)
    pages = status.step_status(campaign, pages_step(_BEFORE_PAGES, before))
    return before._replace(steps=[*before.steps, pages])


def made_steps(campaign: Campaign) -> list[Step]:
    """The fewest steps that bring all results of the campaign up to date, apart from a release.

    Steps that another of these steps needs are left out. Items and labels are always covered.
    """
    made = [rounds.answers, *(s for s in STEPS if not s.fixed and last_run(campaign, s))]
    needed = {other for step in made for other in with_needs(step)[:-1]}
    return [step for step in STEPS if step in {*made} - needed]


def recompute(campaign: Campaign, steps: Sequence[Step], reporter: Reporter) -> str:
    """Bring each step up to date, even if another one fails; gives the first error's text."""
    errors = []
    for step in steps:
        try:
            run_steps(campaign, step, reporter=reporter)
        except CurationError as error:
            errors.append(error.what)
    return errors[0] if errors else ""


def build_pages(
    campaign: Campaign, *, private: bool = False, reporter: Reporter = QUIET
) -> MadePages:
    """Write the report, after what can be brought up to date of the results that are there.

    The report marks what is out of date. Call it only under the campaign's lock.

    Args:
        campaign: the campaign.
        private: write ``8-pages/private/``, with what is hidden and what writers meant.
        reporter: where warnings and progress go.
    """
    made = made_steps(campaign) if campaign.round_names() else []
    if problem := recompute(campaign, [step for step in made if step is not PAGES], reporter):
        reporter.warn(f"not all results are up to date, and the report marks those: {problem}")
    step = PRIVATE_PAGES if private else PAGES
    run = run_steps(campaign, step, reporter=reporter)
    protect(campaign.root)
    return MadePages(step.folder(campaign) / REPORT, sorted(run.outputs))

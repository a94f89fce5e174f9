"""The state of a campaign: its steps, rounds and score runs, and what to do next."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from curation.campaign import Campaign
from curation.files import CurationError, count_lines, read_json
from curation.steps.pipeline import STEPS, Step, current, last_run
from curation.steps.read import facts_files, read_edits
from curation.steps.rounds import round_files, round_status
from curation.steps.terms import domains_without_terms, edit_problems, no_terms
from curation.wording import amount

if TYPE_CHECKING:
    from curation.rounds.progress import Progress
    from curation.steps.rounds.round_status import RoundStatus

UP_TO_DATE, OUT_OF_DATE, NOT_YET = "up to date", "out of date", "not yet"


class StepStatus(NamedTuple):
    """A step: whether its results are up to date, and the counts of its last run.

    ``state`` is "up to date", "out of date", "not yet", or "cannot run: " and why; then ``fix``
    says what to do.
    """

    step: str
    state: str
    fix: str
    counts: dict[str, int]
    finished_at: str | None


class RoundCounts(NamedTuple):
    """How many items, labels and refusals a round has; None before the first."""

    round: str
    items: int | None
    labels: int | None
    rejected: int | None


class ScoreRun(NamedTuple):
    """A model's run: how many associations have a score, and how many were refused."""

    model: str
    rule: str
    scores: int
    refused: int


class Status(NamedTuple):
    """The state of a campaign.

    Attributes:
        steps: the steps of the pipeline, in order.
        rounds: the rounds, by name.
        work: progress of the rounds that were opened here; empty if the items are out of date.
        scores: the score runs.
        warnings: what is wrong with the terms: lines of edits.csv that are not applied, and domains
            without terms.
        next: what to do next: a command, or a sentence.
    """

    steps: "list[StepStatus]"
    rounds: list[RoundCounts]
    work: "list[Progress]"
    scores: list[ScoreRun]
    warnings: list[str]
    next: str


def read_status(campaign: Campaign) -> Status:
    """Read the state of a campaign; changes nothing."""
    steps = {step.name: step_status(campaign, step) for step in STEPS}
    names = sorted({*campaign.round_names(), *round_files.planned_rounds(campaign)})
    work = _work(campaign, steps)
    scores = score_runs(campaign)
    return Status(
        steps=[*steps.values()],
        rounds=[round_counts(campaign, name) for name in names],
        work=[progress for _, progress in work],
        scores=scores,
        warnings=_warnings(campaign, steps),
        next=_next(campaign, steps, work, scores),
    )


def _warnings(campaign: Campaign, steps: Mapping[str, StepStatus]) -> list[str]:
    """What is wrong with the terms; of edits.csv if the selection is up to date."""
    try:
        read_edits(campaign)
        if steps["select"].state != UP_TO_DATE:
            return []
        return [*edit_problems(campaign), *map(no_terms, domains_without_terms(campaign))]
    except CurationError as error:
        return [f"{error.what}; {error.fix}"]


def step_status(campaign: Campaign, step: Step) -> StepStatus:
    """Whether a step's results are up to date."""
    run, fix = last_run(campaign, step), ""
    if run is None:
        return StepStatus(step.name, NOT_YET, "", {}, None)
    try:
        state = UP_TO_DATE if current(campaign, step) else OUT_OF_DATE
    except CurationError as error:
        state, fix = f"cannot run: {error.what}", error.fix
    return StepStatus(step.name, state, fix, run.counts, run.finished_at)


def round_counts(campaign: Campaign, name: str) -> RoundCounts:
    """Count a round's items, labels and refusals."""
    paths = [campaign.rounds / name / f"{kind}.jsonl" for kind in RoundCounts._fields[1:]]
    return RoundCounts(name, *(count_lines(path) if path.exists() else None for path in paths))


def score_runs(campaign: Campaign) -> list[ScoreRun]:
    """The campaign's score runs."""
    runs = []
    for path in sorted(campaign.scores.glob("*/*/scores.jsonl")):
        refused = path.with_name("rejected.jsonl")
        runs.append(
            ScoreRun(
                model=_model(path.with_name("run.json")) or path.parents[1].name,
                rule=path.parent.name,
                scores=count_lines(path),
                refused=count_lines(refused) if refused.exists() else 0,
            )
        )
    return runs


def _model(path: Path) -> str:
    """The model's name in a run.json, or ""."""
    about = read_json(path) if path.exists() else {}
    return str(about.get("model") or "") if isinstance(about, dict) else ""


def _work(
    campaign: Campaign, steps: Mapping[str, StepStatus]
) -> "list[tuple[RoundStatus, Progress]]":
    """The progress of opened rounds; none if items and labels are not up to date."""
    if campaign.round_names() and steps["fold"].state != UP_TO_DATE:
        return []
    rounds = [
        round_status.read_status(campaign, round) for round in round_files.map_rounds(campaign)
    ]
    return [(status, round_status.progress_of(campaign, status)) for status in rounds]


def _next(
    campaign: Campaign,
    steps: Mapping[str, StepStatus],
    work: "Sequence[tuple[RoundStatus, Progress]]",
    scores: Sequence[ScoreRun],
) -> str:
    for status, progress in work:
        if progress.state != "closed":
            return f"{progress.round}: {round_status.advice(status, progress)}"
    if not campaign.round_names():
        return _next_before_answers(campaign, steps)
    if fixes := [step.fix for step in steps.values() if step.fix]:
        return fixes[0]
    fold, decided = steps["fold"], steps["filter"]
    if fold.state == UP_TO_DATE and fold.counts and not fold.counts["items"]:
        return f"there are no items yet; 2-rounds/*/rejected.jsonl says why. {IMPORTS}"
    missing = decided.counts.get("too_few_labels", 0)
    if decided.state == UP_TO_DATE and not decided.counts["items_kept"]:
        if not missing:
            return "no item was kept; curation decisions filter says why"
    elif any(step.state != UP_TO_DATE for step in steps.values()):
        return "curation run"
    if missing:
        return (
            f"more labels for {amount(missing, 'item')}: curation rounds open validation, or "
            "curation import answers FILE"
        )
    if not scores:
        return "curation scores models MODEL, and curation scores baselines"
    return "curation scores compare"


IMPORTS = "curation import answers FILE, or curation import stereoset FILE"


def _next_before_answers(campaign: Campaign, steps: Mapping[str, StepStatus]) -> str:
    wikidata = any(domain.properties for domain in campaign.settings.domains.values())
    if wikidata and not all(path.exists() for path in facts_files(campaign)):
        return f"curation terms query, or curation terms scan FILE; or {IMPORTS}"
    if steps["select"].state != UP_TO_DATE:
        return "curation terms select"
    return (
        "check 1-terms/candidates.csv and correct it in 1-terms/edits.csv; then "
        f"curation rounds open KIND; or, with answers from elsewhere, {IMPORTS}"
    )

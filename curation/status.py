"""The state of a campaign: its steps, rounds and score runs, and what to do next."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign.counted import votes_of
from curation.campaign.datasets import CATS
from curation.campaign.step import Step, changed, current, last_run, missing_packages, with_needs
from curation.campaign.store import Campaign
from curation.checks.codes import PITFALLS
from curation.decisions.steps import about_published_golds, about_suspects
from curation.files import CurationError, read_json
from curation.kinds import ROUNDS
from curation.records import Fields, Item, StepRun
from curation.release import versions
from curation.rounds import status as round_status
from curation.rounds.platforms.interface import Progress
from curation.rounds.platforms.texts import before_rounds
from curation.rounds.progress import RoundStatus
from curation.scores.run_folder import COMPARISONS, SCORES, check_about
from curation.terms.explain import items_that_need_old_texts
from curation.terms.fetching import facts_files
from curation.terms.steps import (
    EDITS,
    domains_without_terms,
    edit_problems,
    no_terms,
)
from curation.text.rules import decide
from curation.text.wording import amount, some
from curation.trust.runs.files import run_files

if TYPE_CHECKING:
    from curation.trust.runs.measuring import RunState


IMPORTS = "curation import answers FILE, or curation import stereoset FILE"


class _Found(NamedTuple):
    """What was read of a campaign: its steps, rounds and runs."""

    campaign: Campaign
    pipeline: Sequence[Step]
    steps: "Mapping[str, StepStatus]"
    scores: "Sequence[ScoreRun]"
    measures: "Sequence[RunState]"

    def is_current(self, step: str) -> bool:
        """Whether the results of a step are up to date."""
        return self.steps[step].state == UP_TO_DATE

    @property
    def measure_again(self) -> str:
        """The command that brings the first old measure of bias up to date; empty if none is."""
        return next((run.again for run in self.measures if run.again), "")

    @property
    def score_again(self) -> str:
        """The command that brings the first old score run up to date; empty if none is."""
        return next((run.again for run in self.scores if run.again), "")


def _before_answers(found: _Found) -> str:
    """What to do next: for measures of bias if somebody uses them, and for a dataset."""
    usual, first = _for_dataset(found), _for_measures(found)
    return f"{first}; or, for a dataset, {usual}" if first else usual


def _for_measures(found: _Found) -> str:
    """What to do about measures of bias; "" if nobody uses them."""
    if again := found.measure_again:
        return f"{again}, then curation trust report"
    if found.measures:
        return "read 6-trust/report.md" if found.is_current("trust") else "curation trust report"
    if found.campaign.settings.groups:
        return "curation trust text FILE, or another measure (curation trust -h)"
    return ""


def _for_dataset(found: _Found) -> str:
    campaign = found.campaign
    domains = campaign.settings.domains.values()
    wikidata = any(domain.properties for domain in domains)
    sources = wikidata or any(domain.words for domain in domains)
    edits = campaign.folder("terms") / "edits.csv"
    if not sources and not edits.exists() and not found.steps["select"].counts.get("kept"):
        return (
            "name properties or words in [domains] of campaign.toml, then run curation status "
            f"again; or {IMPORTS}"
        )
    if wikidata and not all(path.exists() for path in facts_files(campaign)):
        return f"curation terms query, or curation terms scan FILE; or {IMPORTS}"
    if not found.is_current("select"):
        return "curation terms select"
    plan = _plan(campaign, " --floor AMOUNT --write-seconds S --label-seconds S")
    return (
        "check 1-terms/candidates.csv and correct it in 1-terms/edits.csv; then "
        f"{plan} (what the money buys), curation rounds ethics (for an ethics board), and "
        f"curation rounds open KIND; or, with answers from elsewhere, {IMPORTS}"
    )


def _plan(campaign: Campaign, options: str) -> str:
    """The command that plans, with the options that it needs if the settings have no pay."""
    pays = campaign.settings.rounds.pay_write or campaign.settings.rounds.pay_label
    return f"curation rounds plan --budget N{'' if pays else options}"


UP_TO_DATE, OUT_OF_DATE, NOT_YET = "up to date", "out of date", "not yet"
SHOWN = 5  # lines of edits.csv, and runs to score again, that are named
OLDER = "of older data"
OLDER_CATS, OLDER_SCORES, UNFINISHED = "of older CATs", "of older scores", "not finished"


class StepStatus(NamedTuple):
    """A step: whether its results are up to date, and the counts of its last run.

    ``state`` is "up to date", "out of date", "depends on STEP, which is out of date", "not yet", or
    "cannot run: " and why; then ``fix`` says what to do. A built version of the release that is out
    of date is "of older data": it is never rewritten. ``note`` says what has changed, or names
    packages that the results were made with and that are not installed now; it may be empty.
    """

    step: str
    state: str
    fix: str
    counts: dict[str, int]
    finished_at: str | None
    note: str = ""


class RoundCounts(NamedTuple):
    """How many items, labels and refusals a round has; None before the first."""

    round: str
    items: int | None
    labels: int | None
    rejected: int | None


class ScoreRun(NamedTuple):
    """A model's run: how many associations have a score, and how many were refused.

    Of a chat model: how many comparisons it has, and how many questions have no answer.

    ``state`` is "up to date" if its results are of the campaign's CATs as they are now. Otherwise
    it is "of older CATs", "of older scores" (an ensemble whose members were scored again) or
    "not finished", and ``again`` is the command that brings it up to date.
    """

    model: str
    rule: str
    scores: int
    refused: int
    state: str
    again: str


class Status(NamedTuple):
    """The state of a campaign.

    Attributes:
        steps: the steps of the pipeline, in order.
        rounds: the rounds that were opened here, oldest first; then the others, by name.
        work: progress of the rounds that were opened here; empty if the items are out of date.
        scores: the score runs.
        trust: the runs of bias measures.
        warnings: lines of edits.csv that are not applied, domains without terms, how many
            annotators are suspect, what steps warned of, what to know before a release, and answers
            that wait to be pulled.
        next: what to do next: a command, or a sentence.
    """

    steps: "list[StepStatus]"
    rounds: list[RoundCounts]
    work: "list[Progress]"
    scores: list[ScoreRun]
    trust: "list[RunState]"
    warnings: list[str]
    next: str


def read_status(campaign: Campaign, pipeline: Sequence[Step]) -> Status:
    """Read the state of a campaign; changes nothing.

    Args:
        campaign: the campaign.
        pipeline: the steps of the pipeline before the report, which tells of them.
    """
    steps = {step.name: step_status(campaign, step) for step in pipeline}
    planned = [each.name for each in campaign.rounds]
    names = [*planned, *sorted({*campaign.round_names()} - {*planned})]
    work = _work(campaign, steps)
    found = _Found(campaign, pipeline, steps, score_runs(campaign), _measure_runs(campaign))
    return Status(
        steps=[_with_needs(campaign, step, steps) for step in pipeline],
        rounds=[round_counts(campaign, name) for name in names],
        work=[progress for _, progress in work],
        scores=[*found.scores],
        trust=[*found.measures],
        warnings=list(
            dict.fromkeys(
                (
                    *_term_warnings(found),
                    *_gold_warnings(steps["filter"]),
                    *_suspect_warnings(steps["agreement"]),
                    *_kept_warnings(found),
                    *_release_warnings(found),
                    *_waiting_warnings(campaign),
                )
            )
        ),
        next=_next(found, work),
    )


def _measure_runs(campaign: Campaign) -> "list[RunState]":
    """The runs of bias measures."""
    if not run_files(campaign):
        return []
    from curation.trust.runs.measuring import measure_runs

    return measure_runs(campaign)


def _term_warnings(found: _Found) -> list[str]:
    """What is wrong with the terms; of edits.csv if the selection is up to date."""
    campaign = found.campaign
    try:
        campaign[EDITS]
        if not found.is_current("select"):
            return []
        problems = edit_problems(campaign)
        if (more := len(problems) - SHOWN) > 0:
            lines = amount(more, "more line")
            problems[SHOWN:] = [f"{lines} of 1-terms/edits.csv not applied: curation terms select"]
        return [*problems, *map(no_terms, domains_without_terms(campaign))]
    except CurationError as error:
        return [f"{error.what}; {error.fix}"]


def step_status(campaign: Campaign, step: Step) -> StepStatus:
    """Whether a step's results are up to date."""
    run, fix = last_run(campaign, step), ""
    if run is None:
        return StepStatus(step.name, NOT_YET, "", {}, None)
    try:
        state = UP_TO_DATE if current(campaign, step) else OUT_OF_DATE
        if state == OUT_OF_DATE and _is_older(campaign, step, run):
            state = OLDER
    except CurationError as error:
        state, fix = f"cannot run: {error.what}", error.fix
    note = _note(campaign, step) if state == UP_TO_DATE else ""
    if state == OUT_OF_DATE and (names := [*changed(campaign, step)]):
        note = f"changed: {some(names, SHOWN)}"
    return StepStatus(step.name, state, fix, run.counts, run.finished_at, note)


def _with_needs(campaign: Campaign, step: Step, steps: Mapping[str, StepStatus]) -> StepStatus:
    """The state of a step that is up to date, if what it is made from is not."""
    own = steps[step.name]
    if own.state != UP_TO_DATE:
        return own
    for needed in with_needs(step, campaign=campaign)[:-1]:
        if steps[needed.name].state == OUT_OF_DATE:
            return own._replace(state=f"depends on {needed.name}, which is {OUT_OF_DATE}")
    return own


def _note(campaign: Campaign, step: Step) -> str:
    gone = missing_packages(campaign, step)
    if not gone:
        return ""
    packages = ", ".join(f"{name} {version}" for name, version in gone.items())
    return f"made with {packages}, not installed now: the results stay until their input changes"


def _is_older(campaign: Campaign, step: Step, run: StepRun) -> bool:
    """Whether a step's results are never rewritten, and were made from other data or settings."""
    if step.fixed is None or not step.fixed(campaign):
        return False
    return any(getattr(run, name) != value for name, value in step.state(campaign).items())


def round_counts(campaign: Campaign, name: str) -> RoundCounts:
    """Count a round's items, labels and refusals."""
    paths = [campaign.folder("rounds") / name / f"{kind}.jsonl" for kind in RoundCounts._fields[1:]]
    return RoundCounts(name, *map(campaign.lines, paths))


def score_runs(campaign: Campaign) -> list[ScoreRun]:
    """The campaign's score runs."""
    names = ("scores.jsonl", "comparisons.jsonl", "replies.jsonl")
    files = {path for name in names for path in campaign.folder("scores").glob(f"*/*/{name}")}
    if not files:
        return []
    from curation.scores.run_folder import again, cats_digest

    folders = sorted({path.parent for path in files})
    paths = [f / (SCORES if f / SCORES in files else COMPARISONS) for f in folders]

    try:
        sha = campaign.content(CATS.files(campaign)[0], lambda: cats_digest(campaign.cats))
    except CurationError:  # it is damaged, and the step split will write it again
        sha = ""
    abouts = {path: _object(path.with_name("run.json"), check_about) for path in paths}
    models = {
        p: str((about or {}).get("model") or p.parents[1].name) for p, about in abouts.items()
    }
    by_name = {f"{models[path]}/{path.parent.name}": path for path in paths}
    runs = []
    for path in paths:
        state = _run_state(campaign, path, sha, abouts[path], by_name)
        about = {"model": models[path], **(abouts[path] or {})}
        runs.append(
            ScoreRun(
                model=models[path],
                rule=path.parent.name,
                scores=campaign.lines(path) or 0,
                refused=campaign.lines(path.with_name("rejected.jsonl")) or 0,
                state=state,
                again="" if state == UP_TO_DATE else again(about),
            )
        )
    return runs


def _run_state(
    campaign: Campaign,
    path: Path,
    sha: str,
    about: Mapping[str, Any] | None,
    by_name: Mapping[str, Path],
) -> str:
    """Whether a run's results are of the CATs with this digest."""
    results = path.with_name("results.json")
    kept = _object(results) if results.exists() else None
    of = kept.get("of") if kept else None
    if about is None or not isinstance(of, Mapping):
        return UNFINISHED
    if of.get("sha256") != sha:
        return OLDER_CATS
    replies = of.get("replies_sha256")
    now = campaign.digest(path.with_name("replies.jsonl"))
    if replies is not None and now not in (replies, ""):  # a copy of the campaign may lack them
        return UNFINISHED
    own = about.get("scores_sha256")
    if own is not None and own != campaign.digest(path):
        return UNFINISHED
    members = about.get("members_sha256")
    for name, then in members.items() if isinstance(members, Mapping) else ():
        if name in by_name and campaign.digest(by_name[name]) != then:
            return OLDER_SCORES
    return UP_TO_DATE


def _object(
    path: Path, check: Callable[[Path, Any], None] = lambda path, content: None
) -> Fields | None:
    """The content of a JSON file: {} if it is missing, None if it is damaged or not an object."""
    try:
        content = read_json(path) if path.exists() else {}
        check(path, content)
    except CurationError:
        return None
    return content if isinstance(content, dict) else None


def _gold_warnings(decided: StepStatus) -> list[str]:
    """What to know of items with published gold labels and no votes; the next step may say it."""
    counts = decided.counts if decided.state == UP_TO_DATE else {}
    text = about_published_golds(counts)
    return [text] if text and not _all_are_published(counts) else []


def _suspect_warnings(agreement: StepStatus) -> list[str]:
    """How many annotators are marked, if the report of agreement is up to date."""
    counts = agreement.counts if agreement.state == UP_TO_DATE else {}
    return about_suspects(counts.get("suspect", 0))


def _kept_warnings(found: _Found) -> list[str]:
    """What the steps warned of when they made the results that are up to date.

    Lines of edits.csv that are not applied are named apart.
    """
    lines = {*edit_problems(found.campaign)}
    made = (step for step in found.pipeline if found.is_current(step.name))
    runs = (last_run(found.campaign, step) for step in made)
    return [text for run in runs if run for text in run.warnings if text not in lines]


def _all_are_published(counts: Mapping[str, int]) -> bool:
    """Whether all items that lack labels have published gold labels and no votes."""
    missing = counts.get("too_few_labels", 0)
    return bool(missing) and missing == counts.get("gold_without_votes")


def _release_warnings(found: _Found) -> list[str]:
    """What to know before a release: an older version, and items that have an old name."""
    campaign, warnings = found.campaign, []
    for step in found.pipeline:
        if step.fixed and found.steps[step.name].state == OLDER:
            where = campaign.relative(versions.version_folder(campaign))
            warnings.append(
                f"{where} is as of older data or settings; raise version in [release], or delete "
                "the folder if nobody has it, and build: curation release build"
            )
    known = found.is_current("select") and found.is_current("answers")
    items = items_that_need_old_texts(campaign) if known else []
    if items and campaign.settings.rounds.name_target:
        warnings.append(
            "items whose context names their target only by an old name or another spelling: "
            f"{len(items)} (target_renamed). Before a release: {PITFALLS['target_renamed'].fix}"
        )
    return warnings


def _waiting_warnings(campaign: Campaign) -> list[str]:
    """The rounds whose last answers are not in the archive yet."""
    try:
        texts = {
            each.name: round_status.about_waiting(campaign, each.name) for each in campaign.rounds
        }
    except CurationError as error:
        return [f"{error.what}; {error.fix}"]
    return [f"{name}: {text}" for name, text in texts.items() if text]


def _work(
    campaign: Campaign, steps: Mapping[str, StepStatus]
) -> "list[tuple[RoundStatus, Progress]]":
    """The progress of opened rounds; none if items and labels are not up to date."""
    if campaign.round_names() and steps["answers"].state != UP_TO_DATE:
        return []
    rounds = [round_status.read_status(campaign, round) for round in campaign.rounds]
    return [(status, round_status.progress_of(campaign, status)) for status in rounds]


def _next(found: _Found, work: "Sequence[tuple[RoundStatus, Progress]]") -> str:
    campaign = found.campaign
    for status, progress in work:
        if (advice := round_status.advice(status, progress)) != "closed":
            return f"{progress.round}: {advice}"
    text = _next_of_campaign(found)
    first = before_rounds(campaign) if "curation rounds open" in text else ""
    if first and campaign.round_names() and not campaign.rounds:
        return f"{text}; before you open a round, {first}"  # it may only import answers
    return f"{first}; then {text}" if first else text


def _next_of_campaign(found: _Found) -> str:
    """What to do next if no open round says it."""
    campaign, steps = found.campaign, found.steps
    fold, decided = steps["answers"], steps["filter"]
    neutral = round_status.about_neutral(campaign) if fold.state == UP_TO_DATE else ""
    if neutral:
        return f"labels for neutral associations: {neutral}"
    if not campaign.round_names():
        return _before_answers(found)
    if fixes := [step.fix for step in steps.values() if step.fix]:
        return fixes[0]
    works = {round.name: ROUNDS[round.kind].work for round in campaign.rounds}
    if {works.get(name) for name in campaign.round_names()} == {"review"}:
        first = "" if found.is_current("select") else "curation terms select, then "
        return f"{first}{round_status.WRITING}"
    if fold.state == UP_TO_DATE and fold.counts and not fold.counts["items"]:
        why = "there are no items yet: 2-rounds/*/rejected.jsonl says why"
        return f"{why}; then {round_status.WRITING}, or {IMPORTS}"
    kept = decided.state == UP_TO_DATE and decided.counts["items_kept"]
    if fold.state != UP_TO_DATE and campaign.rounds:
        if not kept or any(round.state != "closed" for round in campaign.rounds):
            return "curation rounds status, which computes items and labels again"
    elif not kept and (before := _before_decisions(campaign, fold.counts)):
        return before
    elif not kept and decided.state == UP_TO_DATE:
        return f"no item was kept: curation decisions filter says why; then {round_status.WRITING}"
    if pending := _pending(found):
        if "trust" in pending and found.measure_again:
            return f"{found.measure_again}, then curation run"
        if {"release"} <= {*pending} <= {"trust", "release"}:
            return _next_release(found)
        return "curation run"
    if _all_are_published(decided.counts):
        return about_published_golds(decided.counts)
    done = _after_decisions(found)
    if missing := decided.counts.get("too_few_labels", 0):
        more = _more_labels(missing, campaign.items)
        return f"{more}; or, without them, {done}"
    return done


def _after_decisions(found: _Found) -> str:
    """What to do when all steps are up to date: scores, and a release that has them."""
    if not found.scores:
        return "curation scores models MODEL, and curation scores baselines"
    if again := found.score_again:
        return again
    if found.is_current("release"):
        where = found.campaign.relative(versions.version_folder(found.campaign))
        return f"nothing is left to do: {where} is built; curation release check {where} tests it"
    return "curation scores compare; then raise version in [release], and curation release build"


def _before_decisions(campaign: Campaign, counts: Mapping[str, int]) -> str:
    """What to do as long as no item has labels enough to decide; empty if one has."""
    settings = campaign.settings.decisions
    if settings.trust_gold:
        return ""
    items, pilots = campaign.items, round_status.left_out_pilots(campaign)
    real = [item for item in items if item.round not in pilots]
    if not real and counts.get("labels"):
        plan = _plan(campaign, " --floor AMOUNT")
        return f"{plan} (from the pilot); then {round_status.WRITING}"
    if not real:
        return "curation rounds open validation --name pilot-validation"
    votes = votes_of(campaign, items)
    outcomes = (decide(votes[i.id], needed=settings.needed, of=settings.of) for i in real)
    if any(outcome.reason != "too_few_labels" for outcome in outcomes):
        return ""
    published = sum(
        all(a.published_gold for a in item.associations) and not sum(map(sum, votes[item.id]))
        for item in real
    )
    golds = about_published_golds({"gold_without_votes": published})
    return golds.replace("--of ROUND", f"--of {real[0].round}") or _more_labels(len(real), real)


def _more_labels(missing: int, items: Sequence[Item]) -> str:
    """How to get labels; items of published data, which nobody here wrote, need their round."""
    of = "" if any(a.intent for i in items for a in i.associations) else f" --of {items[0].round}"
    return (
        f"more labels for {amount(missing, 'item')}: curation rounds open validation{of}, or "
        "curation import answers FILE"
    )


def _pending(found: _Found) -> list[str]:
    """The steps whose results are missing or out of date, apart from those that do not apply."""
    steps = found.steps
    return [
        step.name
        for step in found.pipeline
        if steps[step.name].state not in (UP_TO_DATE, OLDER)
        and not (steps[step.name].state == NOT_YET and not step.applies(found.campaign))
    ]


def _next_release(found: _Found) -> str:
    """What to do if only the release is missing or out of date, or the trust report with it.

    The scores are a part of both.
    """
    build = "curation release build"
    if isinstance(error := versions.why_blocked(found.campaign), versions.NoParquetError):
        return f"{error.fix}, then {build}"
    again = found.score_again
    if again or not found.scores:
        return f"{again or 'curation scores models MODEL'}, then {build}"
    return build

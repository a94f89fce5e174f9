"""The pipeline as one ordered list: what each step needs, and where its results are.

A step is skipped if its inputs, settings and algorithm are those of its last results. Running a
step first runs the steps whose results it needs, and no other step.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from curation.campaign import Campaign
from curation.extras import removed
from curation.files import CurationError, refuse_links
from curation.records import StepRun
from curation.steps import decisions, measures, read, terms
from curation.steps.release import build as release
from curation.steps.release import versions
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import check, fold
from curation.steps.trust import report as trust
from curation.text.words import INSTALL
from curation.work.manifest import Results, digests, is_current, read_manifest, run_step

Settings = dict[str, Any]


def delete_files(campaign: Campaign, files: Iterable[Path]) -> None:
    """Delete a step's results; files that are already gone are skipped."""
    for file in files:
        refuse_links(file.parent, below=campaign.root)
        file.unlink(missing_ok=True)


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        name: its name in the manifest.
        says: what it makes, in a few words.
        folder: where its results are.
        module: the module of ``curation`` whose ALGORITHM is the step's version.
        settings: every setting that it depends on.
        inputs: every file that it reads, results of other steps among them.
        work: does it; writes its results and returns its counts.
        needs: the steps whose results it reads.
        blocked: what keeps it from running, if anything does.
        applies: whether it runs on this machine; if not, its results are taken as they are.
        delete: deletes its results after an erasure, if they cannot be computed again; None if
            they are left as they are.
        alone: whether it runs without the steps that it needs, because there are no answers yet.
        takes: the steps whose results it reads only if they are there. Then they are brought up to
            date, too; otherwise they are not run.
        fixed: whether its results are there and are never rewritten; None if they may be. Only the
            step's own command and ``curation run`` make such results.
    """

    name: str
    says: str
    folder: Callable[[Campaign], Path]
    module: str
    settings: Callable[[Campaign], Settings]
    inputs: Callable[[Campaign], list[Path]]
    work: Callable[[Campaign, Results, Reporter], dict[str, int]]
    needs: tuple[str, ...] = ()
    blocked: Callable[[Campaign], CurationError | None] = lambda campaign: None
    applies: Callable[[Campaign], bool] = lambda campaign: True
    delete: Callable[[Campaign, Iterable[Path]], None] | None = delete_files
    alone: Callable[[Campaign], bool] = lambda campaign: False
    takes: tuple[str, ...] = ()
    fixed: Callable[[Campaign], bool] | None = None

    def state(self, campaign: Campaign) -> dict[str, Any]:
        """What ``is_current`` and ``run_step`` compare."""
        return {
            "algorithm": int(import_module(f"curation.{self.module}").ALGORITHM),
            "settings": orjson.loads(orjson.dumps(self.settings(campaign))),
            "inputs": digests({campaign.relative(p): p for p in self.inputs(campaign)}),
        }


RELEASE_NEEDS = (
    *("select", "answers", "filter", "agreement", "split"),
    *("statistics", "sentiment", "pitfalls"),
)
STEPS: tuple[Step, ...] = (
    Step(
        "select",
        "target terms and their families",
        lambda c: c.terms,
        "terms.select",
        terms.settings,
        terms.inputs,
        terms.select,
        delete=None,
    ),
    Step(
        "answers",
        "items and labels from raw answers",
        lambda c: c.rounds,
        "rounds.folding.fold",
        fold.settings,
        fold.inputs,
        fold.fold,
        needs=("select",),
        blocked=read.no_answers,
        applies=read.raw_is_here,
        delete=None,
    ),
    Step(
        "item_pitfalls",
        "known pitfalls of items, as they come in",
        lambda c: c.rounds,
        "checks.answers",
        check.settings,
        check.inputs,
        check.check,
        needs=("select", "answers"),
        applies=read.raw_is_here,
    ),
    Step(
        "filter",
        "which items become CATs",
        lambda c: c.decisions,
        "decisions.filter",
        decisions.filter_settings,
        decisions.filter_inputs,
        decisions.filter,
        needs=("answers",),
    ),
    Step(
        "agreement",
        "how far annotators agree",
        lambda c: c.decisions,
        "decisions.agreement",
        decisions.agreement_settings,
        decisions.agreement_inputs,
        decisions.agreement,
        needs=("select", "answers", "filter"),
    ),
    Step(
        "split",
        "dev and test by term",
        lambda c: c.decisions,
        "decisions.split",
        decisions.split_settings,
        decisions.split_inputs,
        decisions.split,
        needs=("select", "answers", "filter"),
    ),
    Step(
        "statistics",
        "how much was collected",
        lambda c: c.measures,
        "measures.statistics",
        measures.statistics_settings,
        measures.statistics_inputs,
        measures.statistics,
        needs=("answers", "split"),
    ),
    Step(
        "sentiment",
        "how negative each label is",
        lambda c: c.measures,
        "measures.sentiment",
        measures.sentiment_settings,
        measures.sentiment_inputs,
        measures.sentiment,
        needs=("split",),
    ),
    Step(
        "keywords",
        "which words mark a domain, a label or a term",
        lambda c: c.measures,
        "measures.keywords",
        measures.keyword_settings,
        measures.keyword_inputs,
        measures.keywords,
        needs=("select", "split"),
    ),
    Step(
        "pitfalls",
        "known pitfalls, and what blocks a release",
        lambda c: c.measures,
        "measures.pitfalls",
        measures.pitfall_settings,
        measures.pitfall_inputs,
        measures.pitfalls,
        needs=("select", "split"),
    ),
    Step(
        "trust",
        "what is known about whether results may be trusted",
        lambda c: c.trust,
        "trust.protocol.report",
        trust.settings,
        trust.inputs,
        trust.trust,
        needs=("answers", "filter", "agreement", "split", "pitfalls"),
        applies=trust.applies,
        alone=trust.alone,
    ),
    Step(
        "release",
        "the published folder",
        lambda c: c.releases,
        "release.build",
        release.settings,
        release.inputs,
        release.release,
        needs=RELEASE_NEEDS,
        blocked=versions.blocked,
        delete=None,
        takes=("trust",),
        fixed=versions.taken,
    ),
)
BY_NAME = {step.name: step for step in STEPS}
ANONYMOUS = Step(
    "anonymous",
    "a folder for anonymous review",
    lambda c: c.releases,
    "release.build",
    release.anonymous_settings,
    release.inputs,
    release.anonymous_release,
    needs=RELEASE_NEEDS,
    blocked=partial(versions.blocked, anonymous=True),
    delete=None,
    takes=("trust",),
    fixed=partial(versions.taken, anonymous=True),
)
"""Not in ``STEPS``: only «curation release build --anonymous» runs it."""


def with_needs(names: Iterable[str], steps: Iterable[Step] = STEPS) -> list[Step]:
    """The named steps and all that they need, directly or not, in the pipeline's order.

    >>> [step.name for step in with_needs(["filter"])]
    ['select', 'answers', 'filter']

    Raises:
        KeyError: there is no such step.
    """
    by_name = {step.name: step for step in steps}
    chosen: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in chosen:
            chosen.add(name)
            todo += by_name[name].needs
    return [step for step in by_name.values() if step.name in chosen]


def last_run(campaign: Campaign, step: Step) -> StepRun | None:
    """How the step's last results came about, if there are any."""
    return read_manifest(step.folder(campaign)).steps.get(step.name)


def current(campaign: Campaign, step: Step) -> bool:
    """Whether the step's results are up to date with the files as they are now.

    A step that does not apply is up to date: without the raw answers, which stay with their owner,
    items and labels are taken as they are.
    """
    needs = () if step.alone(campaign) else with_needs(step.needs)
    if any(needed.blocked(campaign) for needed in (step, *needs)):
        return False
    return not step.applies(campaign) or _is_current(campaign, step, step.state(campaign))


def _is_current(campaign: Campaign, step: Step, state: Mapping[str, Any]) -> bool:
    """Whether the step's results are those of a state.

    Results stay if a package that they were made with has been removed: without it, the step would
    only replace them by a note that it cannot check.
    """
    run, settings = last_run(campaign, step), state["settings"]
    if run and (gone := removed(run.settings, settings)):
        settings = {**settings, "versions": {**settings["versions"], **gone}}
    return is_current(step.folder(campaign), step.name, **{**state, "settings": settings})


def missing_packages(campaign: Campaign, step: Step) -> dict[str, str]:
    """The packages that a step's last results were made with and that are not installed now.

    Returns:
        The version that was used, by package.
    """
    run = last_run(campaign, step)
    if run is None or not step.applies(campaign):
        return {}
    return removed(run.settings, step.settings(campaign))


def made_steps(campaign: Campaign) -> list[str]:
    """The fewest steps that bring all results of the campaign up to date, apart from a release.

    Steps that another of these steps needs are left out. Items and labels are always covered.
    """
    made = ["answers", *(s.name for s in STEPS if not s.fixed and last_run(campaign, s))]
    needed = {other.name for name in made for other in with_needs([name]) if other.name != name}
    return [step.name for step in STEPS if step.name in {*made} - needed]


def bring_up_to_date(
    campaign: Campaign,
    *names: str,
    reporter: Reporter = QUIET,
    tell: Callable[[Step, bool], None] | None = None,
    steps: Iterable[Step] = STEPS,
) -> StepRun:
    """Run the named steps and those that they need; skip those that are up to date.

    A version of the release that is built already is never rewritten. If its content would change,
    this is an error if the release is named, and else a warning. The same holds if pyarrow, which
    a release needs, is not installed.

    Call it only under the campaign's lock.

    Args:
        campaign: the campaign.
        names: names of steps in ``STEPS``; by default all.
        reporter: where warnings and progress go.
        tell: called with each step, and whether it was run.
        steps: the pipeline, in order.

    Returns:
        The last step's run. Its ``counts`` are described in ``docs/commands.md``, under curation
        status.

    Raises:
        KeyError: there is no such step.
        CurationError: a step cannot run; the steps before it are then up to date.
    """
    steps = tuple(replace(s, needs=()) if s.alone(campaign) else s for s in steps)
    chosen = names or tuple(step.name for step in steps)
    taken = [name for step in steps if step.name in names for name in _taken(campaign, step)]
    last: StepRun | None = None
    for step in with_needs((*chosen, *taken), steps):
        if error := step.blocked(campaign):
            if not isinstance(error, versions.NoParquetError) or step.name in names:
                raise error
            reporter.warn(f"{step.name}: {error.what}; {error.fix}")
            continue
        folder, run = step.folder(campaign), last_run(campaign, step)
        state = step.state(campaign) if step.applies(campaign) else None
        stale = state is not None and not _is_current(campaign, step, state)
        if state is not None and stale:
            if gone := run and removed(run.settings, state["settings"]):
                reporter.warn(
                    f"{step.name}: the last results were made with {', '.join(gone)}, which is not "
                    f"installed now, so parts cannot be checked: {INSTALL}, then run this again"
                )
            work = partial(_work, step, campaign, reporter)
            try:
                run = run_step(folder, step.name, work, **state)
            except versions.BuiltError as error:
                if step.name in names:
                    raise
                reporter.warn(f"{error.what}; {error.fix}")
                stale = False
        if tell:
            tell(step, stale)
        last = run or last
    assert last is not None
    return last


def _taken(campaign: Campaign, step: Step) -> list[str]:
    """The steps whose results a step takes, and which are there."""
    there = {path.parent for path in step.inputs(campaign) if path.exists()} if step.takes else ()
    return [name for name in step.takes if BY_NAME[name].folder(campaign) in there]


def _work(step: Step, campaign: Campaign, reporter: Reporter, results: Results) -> dict[str, int]:
    return step.work(campaign, results, reporter)


def fold_answers(campaign: Campaign, *, reporter: Reporter = QUIET) -> None:
    """Bring items, labels and the checks of items up to date, if there are answers.

    Without raw answers, items and labels are taken as they are, and only the terms are selected.
    Call it only under the campaign's lock.
    """
    if campaign.round_names():
        last = "item_pitfalls" if read.raw_files(campaign) else "select"
        bring_up_to_date(campaign, last, reporter=reporter)

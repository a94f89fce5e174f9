"""The pipeline as one ordered list: each step's inputs, settings and results on disk.

A step is skipped where its inputs, settings and algorithm are those of its last results. Whoever
runs a step first brings the steps before it up to date.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from curation.campaign import Campaign
from curation.files import CurationError, digest
from curation.manifest import Results, digests, is_current, read_manifest, run_step
from curation.records import StepRun
from curation.steps import decisions, measures, read, release, terms
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import check, fold, round_files

Settings = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One step: where its results lie and what it reads."""

    name: str
    says: str
    folder: Callable[[Campaign], Path]
    algorithm: Callable[[], int]
    settings: Callable[[Campaign], Settings]
    inputs: Callable[[Campaign], list[Path]]
    work: Callable[[Campaign, Results, Reporter], dict[str, int]]
    applies: Callable[[Campaign], bool] = lambda campaign: True
    aside: bool = False  # no later step reads its results

    def state(self, campaign: Campaign) -> dict[str, Any]:
        """What ``is_current`` and ``run_step`` compare."""
        return {
            "algorithm": self.algorithm(),
            "settings": orjson.loads(orjson.dumps(self.settings(campaign))),
            "inputs": digests({campaign.relative(p): p for p in self.inputs(campaign)}),
        }


def last_run(campaign: Campaign, step: Step) -> StepRun | None:
    """How the step's last results came about, if there are any."""
    return read_manifest(step.folder(campaign)).steps.get(step.name)


def current(campaign: Campaign, step: Step) -> bool:
    """Whether the step's results are up to date with what lies on disk now.

    A step that does not apply is: without the raw answers, which stay with their owner, items and
    labels are taken as they are.
    """
    return not step.applies(campaign) or is_current(
        step.folder(campaign), step.name, **step.state(campaign)
    )


def bring_up_to_date(
    campaign: Campaign,
    last: str | None = None,
    *,
    reporter: Reporter = QUIET,
    tell: Callable[[Step, bool], None] | None = None,
) -> StepRun:
    """Run every step that ``last`` needs and that is not up to date. Only under the lock.

    Args:
        campaign: the campaign.
        last: name of the last step; None is all there are.
        reporter: where warnings and progress go.
        tell: called with each step, and whether it was run.

    Returns:
        The last step's run.

    Raises:
        CurationError: a step cannot do its work.
    """
    if last != "select" and not campaign.round_names():
        bring_up_to_date(campaign, "select", reporter=reporter, tell=tell)
        raise CurationError(
            f"{campaign.root.resolve()}: there are no answers yet; the terms are chosen",
            "«curation import answers FILE» or «curation import stereoset FILE»",
        )
    run: StepRun | None = None
    for step in STEPS:
        if step.aside and last not in (None, step.name):
            continue
        folder, run = step.folder(campaign), last_run(campaign, step)
        state = step.state(campaign) if step.applies(campaign) else None
        fresh = state is not None and not is_current(folder, step.name, **state)
        if state is not None and fresh:
            before = run
            run = run_step(folder, step.name, partial(_results, step, campaign, reporter), **state)
            if step.name == "release" and before:
                _warn_of_changes(before, run, reporter)
        if tell:
            tell(step, fresh)
        if step.name == last:
            break
    assert run is not None
    return run


def _results(
    step: Step, campaign: Campaign, reporter: Reporter, results: Results
) -> dict[str, int]:
    return step.work(campaign, results, reporter)


def fold_answers(campaign: Campaign, *, reporter: Reporter = QUIET) -> None:
    """Bring items and labels up to date where there are answers, and what the checks say of them.

    Only under the campaign's lock.
    """
    if campaign.round_names():
        bring_up_to_date(campaign, "check", reporter=reporter)


def _warn_of_changes(before: StepRun, after: StepRun, reporter: Reporter) -> None:
    changed = [n for n, sha in after.outputs.items() if before.outputs.get(n, sha) != sha]
    if changed:
        reporter.warn(
            f"7-release/{changed[0]} is not what it was; if that version has been published, put "
            "the old files back and raise version in [release]"
        )


def _algorithm(module: str) -> Callable[[], int]:
    from importlib import import_module

    return lambda: int(import_module(f"curation.{module}").ALGORITHM)


def _key_fingerprint(campaign: Campaign) -> str:
    from curation.rounds import people

    return people.fingerprint(people.read_key(campaign.settings.campaign.id))


STEPS: tuple[Step, ...] = (
    Step(
        "select",
        "target terms and their families",
        lambda c: c.terms,
        _algorithm("terms.select"),
        lambda c: {
            "language": c.settings.campaign.language,
            **c.settings.terms.model_dump(exclude={"contact", "endpoint"}),
            "domains": {n: d.model_dump() for n, d in c.settings.domains.items()},
            "words": {f"{d}: {n}": digest(p) for (d, n), p in read.word_files(c).items()},
        },
        lambda c: [
            *read.facts_files(c),
            c.terms / "imported.jsonl",
            c.terms / "edits.csv",
        ],
        terms.select,
    ),
    Step(
        "fold",
        "items and labels from raw answers",
        lambda c: c.rounds,
        _algorithm("rounds.folding.fold"),
        lambda c: {
            **c.settings.rounds.model_dump(include=fold.LETTING_IN),
            "language": c.settings.campaign.language,
            "domains": tuple(c.settings.domains),
            "key": _key_fingerprint(c),
            **round_files.what_counts(c),
        },
        lambda c: [
            c.terms / "targets.jsonl",
            *round_files.task_files(c),
            *read.raw_files(c),
        ],
        fold.fold,
        read.raw_is_here,
    ),
    Step(
        "check",
        "known pitfalls of items, as they come in",
        lambda c: c.rounds,
        _algorithm("checks.answers"),
        check.settings,
        check.inputs,
        check.check,
        read.raw_is_here,
        aside=True,
    ),
    Step(
        "filter",
        "which items become CATs",
        lambda c: c.decisions,
        _algorithm("decisions.filter"),
        lambda c: c.settings.decisions.model_dump(),
        lambda c: [*read.item_files(c), *read.label_files(c)],
        decisions.filter,
    ),
    Step(
        "agreement",
        "how far annotators agree",
        lambda c: c.decisions,
        _algorithm("decisions.agreement"),
        lambda c: {
            **c.settings.agreement.model_dump(),
            "decisions": c.settings.decisions.model_dump(),
            "needed": [r.name for r in round_files.map_rounds(c) if r.labels == "needed"],
        },
        lambda c: [
            c.terms / "targets.jsonl",
            *read.item_files(c),
            *read.label_files(c),
            c.decisions / "decisions.jsonl",
            *round_files.task_files(c),
        ],
        decisions.agreement,
    ),
    Step(
        "split",
        "dev and test by term",
        lambda c: c.decisions,
        _algorithm("decisions.split"),
        lambda c: {"dev": c.settings.split.dev, "seed": c.settings.campaign.seed},
        lambda c: [
            c.terms / "targets.jsonl",
            *read.item_files(c),
            c.decisions / "decisions.jsonl",
        ],
        decisions.split,
    ),
    Step(
        "statistics",
        "how much was collected",
        lambda c: c.measures,
        _algorithm("measures.statistics"),
        measures.statistics_settings,
        lambda c: [c.decisions / "cats.jsonl", *read.item_files(c)],
        measures.statistics,
        aside=True,
    ),
    Step(
        "sentiment",
        "how negative each label is",
        lambda c: c.measures,
        _algorithm("measures.sentiment"),
        measures.sentiment_settings,
        lambda c: [c.decisions / "cats.jsonl"],
        measures.sentiment,
        aside=True,
    ),
    Step(
        "keywords",
        "which words mark whom",
        lambda c: c.measures,
        _algorithm("measures.keywords"),
        measures.keyword_settings,
        lambda c: [
            c.terms / "targets.jsonl",
            c.decisions / "cats.jsonl",
            *measures.reference_files(c),
        ],
        measures.keywords,
        aside=True,
    ),
    Step(
        "pitfalls",
        "known pitfalls, and what blocks a release",
        lambda c: c.measures,
        _algorithm("measures.pitfalls"),
        measures.pitfall_settings,
        lambda c: [
            c.terms / "targets.jsonl",
            c.decisions / "cats.jsonl",
            measures.own_words(c),
        ],
        measures.pitfalls,
    ),
    Step(
        "release",
        "the published folder",
        lambda c: c.releases,
        _algorithm("release.build"),
        lambda c: {
            **c.settings.release.model_dump(),
            "name": c.settings.campaign.name,
            "language": c.settings.campaign.language,
            "decisions": c.settings.decisions.model_dump(),
        },
        lambda c: [
            *read.item_files(c),
            *read.label_files(c),
            c.decisions / "cats.jsonl",
            c.measures / "pitfalls.json",
        ],
        release.release,
    ),
)

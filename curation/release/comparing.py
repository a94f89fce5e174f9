"""Two versions of a dataset side by side: what differs, and what that does to scores on record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from curation.campaign.store import SETTINGS, Campaign, open_campaign
from curation.campaign.versions import built_versions
from curation.files import CurationError
from curation.kinds import CAT_KINDS, ITEMS
from curation.records import Cat, CatAssociation
from curation.release.differences import Difference, difference
from curation.released.contents import SPLITS, PublishedCat
from curation.released.versions import read_version
from curation.scores.boards import by_preferences, by_scores, missing_cats
from curation.scores.results import read_runs
from curation.scores.run_folder import has_runs
from curation.scores.runs import Run, by_ids, drop_outdated, outcomes_of
from curation.stats.intervals import Floats
from curation.stats.metrics import ALL, BOTH, SHARES, metrics_in, over_terms, won_table
from curation.text.wording import some
from curation.work.reporter import QUIET, Reporter

_SHOWN = 5
PARTS = ("relabelled", "changed", "added_removed", "moved")
"""The sorts of changes, in the order in which they are made."""


Judge = Callable[..., Floats]
"""What a model won in each CAT of a ``kind``: from the ids of associations, those of a CAT in the
order of its roles, an array as of ``metrics.judge``. It is NaN for a CAT that the model lacks."""


class Stage(NamedTuple):
    """CATs on the way.

    ``table`` has split, kind and term of each CAT; ``ids`` has the ids of its associations, in the
    order of the roles of its kind.
    """

    table: pd.DataFrame
    ids: list[list[str]]

    @property
    def associations(self) -> set[str]:
        """The ids of all associations."""
        return {id for of_cat in self.ids for id in of_cat}


class Way(NamedTuple):
    """The stages from the earlier version to the later one.

    Attributes:
        stages: both versions, and the three stages between them.
        before: the CATs of the earlier version that are not hidden.
        after: those of the later version.
        same: ids of associations whose id changed and text did not: the later one by the earlier.
    """

    stages: tuple[Stage, ...]
    before: list[Cat]
    after: list[Cat]
    same: dict[str, str]


def way(difference: Difference) -> Way:
    """The stages between two versions.

    A CAT whose gold labels are hidden in one version counts as added or removed.
    """
    has_splits = difference.before.has_splits and difference.after.has_splits
    pairs = [pair for pair in difference.pairs if not pair.hidden]
    partner = {pair.before.id: pair for pair in pairs}
    before, after = (
        [cat for cat in version.cats if cat.labelled]
        for version in (difference.before, difference.after)
    )
    relabelled, changed = [], []
    for cat in before:
        if pair := partner.get(cat.id):
            golds = {was.id: now.gold for was, now in pair.options}
            options = tuple(option._replace(gold=golds[option.id]) for option in cat.options)
            relabelled.append(cat._replace(options=options))
            changed.append(pair.after._replace(split=cat.split))
        else:
            relabelled.append(cat)
            changed.append(cat)
    shared = {pair.after.id for pair in pairs}
    kept = [new for cat, new in zip(before, changed, strict=True) if cat.id in partner]
    exchanged = [*kept, *(cat for cat in after if cat.id not in shared)]
    alike = (pair.options for pair in pairs if pair.before.context == pair.after.context)
    same = {
        was.id: now.id
        for options in alike
        for was, now in options
        if was.id != now.id and was.sentence == now.sentence
    }
    return Way(
        tuple(_stage(s, has_splits) for s in (before, relabelled, changed, exchanged, after)),
        [_cat(cat) for cat in before],
        [_cat(cat) for cat in after],
        same,
    )


def _stage(cats: Sequence[PublishedCat], has_splits: bool) -> Stage:
    rows = [
        (cat.split if has_splits else ALL, cat.kind, f"{cat.domain}/{cat.target}") for cat in cats
    ]
    ids = []
    for cat in cats:
        by_gold = {option.gold: option.id for option in cat.options}
        ids.append([by_gold[role] for role in ITEMS[cat.kind].roles])
    return Stage(pd.DataFrame(rows, columns=["split", "kind", "term"]), ids)


def _cat(cat: PublishedCat) -> Cat:
    """A published CAT as the functions of scores need it; readers have checked it."""
    options = tuple(CatAssociation.model_construct(**option._asdict()) for option in cat.options)
    more = {"term": cat.target, "family": cat.target, "associations": options}
    return Cat.model_construct(**cat._asdict() | more)


@dataclass(frozen=True)
class ScoreChange:
    """The metrics of a model on both versions, in one split and kind (or both kinds).

    Attributes:
        split: the split.
        kind: of the CATs, or "both".
        before, after: as ``metrics.over_terms``; None without scored CATs.
        difference: of each metric, in points; None if a version has no scored CAT.
        parts: the same for each of ``PARTS``; None if a stage between the versions has no scored
            CAT.
    """

    split: str
    kind: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    difference: dict[str, float] | None
    parts: dict[str, dict[str, float]] | None


def score_changes(stages: Sequence[Stage], judges: Sequence[Judge]) -> list[ScoreChange]:
    """The metrics of a model on both versions, and what the difference comes from.

    Args:
        stages: of ``way``.
        judges: of each stage, what the model won.

    Returns:
        A change for each split and kind, and for both kinds.
    """
    tables = [_judged(stage, judge) for stage, judge in zip(stages, judges, strict=True)]
    first, last = tables[0], tables[-1]
    rows = []
    for split in (*SPLITS, ALL):
        kinds = [
            k for k in CAT_KINDS if any(len(_part(table, split, k)) for table in (first, last))
        ]
        for kind in (*kinds, *((BOTH,) if len(kinds) > 1 else ())):
            parts = [_part(table, split, kind) for table in tables]
            cells = [over_terms(part) if len(part) else None for part in parts]
            before, after = cells[0], cells[-1]
            change = _minus(after, before)
            rows.append(ScoreChange(split, kind, before, after, change, _parts(cells)))
    return rows


def _judged(stage: Stage, judge: Judge) -> pd.DataFrame:
    """The comparisons won in each CAT that the model has."""
    won = np.full((len(SHARES) + 1, len(stage.ids)), np.nan)
    for kind in ITEMS.values():
        places = np.flatnonzero(stage.table["kind"] == kind.name)
        if len(places):
            won[:, places] = judge([id for n in places for id in stage.ids[n]], kind=kind)
    has = ~np.isnan(won[-1])
    return won_table(stage.table[has], won[:, has])


def _part(table: pd.DataFrame, split: str, kind: str) -> pd.DataFrame:
    has_kind = (table["kind"] == kind) | (kind == BOTH)
    part: pd.DataFrame = table[(table["split"] == split) & has_kind]
    return part


def _minus(a: dict[str, Any] | None, b: dict[str, Any] | None) -> dict[str, float] | None:
    names = [metric.name for metric in metrics_in((a, b))]
    return {name: a[name] - b[name] for name in names} if a and b else None


def _parts(cells: Sequence[dict[str, Any] | None]) -> dict[str, dict[str, float]] | None:
    steps = zip(PARTS, cells[1:], cells[:-1], strict=True)
    parts = {name: part for name, *pair in steps if (part := _minus(*pair))}
    return parts if len(parts) == len(PARTS) else None


# --- scores on record ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Missing:
    """How many CATs of a version a run has no score of."""

    missing: int
    of: int


@dataclass(frozen=True)
class RunChange:
    """The scores of a run on both versions."""

    run: str
    before: Missing
    after: Missing
    rows: list[ScoreChange]


class Comparison(NamedTuple):
    """What differs between two versions, and the scores of each run on both."""

    difference: Difference
    scores: list[RunChange]


def compare(
    before: str,
    after: str,
    *,
    campaign: Path = Path(),
    scores: Path | None = None,
    predictions: Sequence[str] = (),
    lower_is_likelier: Sequence[str] = (),
    reporter: Reporter = QUIET,
) -> Comparison:
    """Compare two versions.

    Args:
        before: the earlier version: a folder, a file, or the name of a version of the campaign.
        after: the later version.
        campaign: the folder of the campaign; it need not be one.
        scores: the folder of runs, MODEL/RULE/scores.jsonl; by default, the campaign's.
        predictions: ``NAME=FILE`` or ``NAME@RULES=FILE``.
        lower_is_likelier: the NAMEs of predictions that are perplexities or losses.
        reporter: receives notes on runs that are left out.

    Raises:
        CurationError: a version cannot be found or read; runs cannot be read, or none of those
            that were named has scores of these CATs.
    """
    opened = open_campaign(campaign) if (campaign / SETTINGS).exists() else None
    old, new = (find_version(name, opened) for name in (before, after))
    names = [path.resolve().name for path in (old, new)]
    if names[0] == names[1] and before != after:
        names = [before, after]
    changed = difference(read_version(old, name=names[0]), read_version(new, name=names[1]))
    runs: list[Run] = []
    if scores or predictions:
        options: dict[str, Any] = {"lower_is_likelier": lower_is_likelier, "partial": True}
        runs = read_runs(scores, predictions, reporter=reporter, **options)
    if opened and not scores and has_runs(opened.folder("scores")):
        try:
            runs = [*read_runs(opened.folder("scores"), reporter=reporter), *runs]
        except CurationError as error:  # the versions can be compared without scores
            reporter.warn(f"the scores of the campaign are left out: {error.what}")
    results = run_changes(way(changed), runs) if runs else []
    if runs and len(results) < len(runs):
        there = {result.run for result in results}
        others = some((run.name for run in runs if run.name not in there), _SHOWN)
        if not results and (scores or predictions):
            raise CurationError(
                f"no run has scores of the CATs of {before} or {after}: {others}",
                "name runs that were scored on these CATs",
            )
        reporter.note(f"runs without scores of these CATs are left out: {others}")
    return Comparison(changed, results)


def find_version(name: str, campaign: Campaign | None) -> Path:
    """The folder or file of a version.

    Args:
        name: a path, or the name of a version of the campaign.
        campaign: the campaign, if there is one.

    Raises:
        CurationError: there is neither such a path nor such a version.
    """
    path = Path(name)
    built = {folder.name: folder for folder in built_versions(campaign)} if campaign else {}
    if path.exists():
        return path
    if name in built:
        return built[name]
    known = f"; its versions are {some(built, _SHOWN)}" if built else ""
    where = f", and the campaign {campaign.root} has no such version{known}" if campaign else ""
    raise CurationError(
        f"{name}: there is no such file or folder{where}",
        "download it first, and name the folder"
        if "://" in name
        else "name the folder of a release, a file of CATs, or a version of the campaign",
    )


def run_changes(between: Way, runs: Sequence[Run]) -> list[RunChange]:
    """The scores of runs on both versions.

    Scores of texts that changed are not used. Comparisons of a CAT whose gold labels were exchanged
    are used with its new labels. Runs without a score of either version are left out.
    """
    changes = [
        _of_choice(between, run) if run.by_choice else _of_scores(between, run) for run in runs
    ]
    return [change for change in changes if change]


def _of_scores(between: Way, run: Run) -> RunChange | None:
    """The change of a run that has scores of associations; None without a score."""
    first, *_, last = between.stages
    known = _with_both_ids(run, between.same)
    (old,), _ = drop_outdated([known], between.before)
    (new,), _ = drop_outdated([known], between.after)
    changed_ids = last.associations
    if old.scores.keys().isdisjoint(first.associations) and changed_ids.isdisjoint(new.scores):
        return None
    # Between the versions, CATs of both have the later texts, and others the earlier ones.
    mixed = {id: value for id, value in old.scores.items() if id not in changed_ids}
    mixed |= {id: value for id, value in new.scores.items() if id in changed_ids}
    by_stage = [old.scores, old.scores, mixed, mixed, new.scores]
    return _change(between, old, new, [partial(by_scores, scores=each) for each in by_stage])


def _of_choice(between: Way, run: Run) -> RunChange | None:
    """The change of a run of a chat model; None without a comparison."""
    cats = between.before, between.after
    before, after = (by_ids(each, run.comparisons, variant=run.variant) for each in cats)
    if not (before or after):
        return None
    changed_ids = between.stages[-1].associations
    mixed = {pair: ended for pair, ended in before.items() if changed_ids.isdisjoint(pair)}
    mixed |= {pair: ended for pair, ended in after.items() if changed_ids.issuperset(pair)}
    old = replace(run, comparisons=outcomes_of(between.before, before))
    new = replace(run, comparisons=outcomes_of(between.after, after))
    by_stage = [before, before, mixed, mixed, after]
    judges = [partial(by_preferences, preferences=each) for each in by_stage]
    return _change(between, old, new, judges)


def _change(between: Way, old: Run, new: Run, judges: Sequence[Judge]) -> RunChange:
    lacks = [missing_cats(old, between.before), missing_cats(new, between.after)]
    before, after = (Missing(len(part.cats), part.of) for part in lacks)
    return RunChange(old.name, before, after, score_changes(between.stages, judges))


def _with_both_ids(run: Run, same: dict[str, str]) -> Run:
    """A run whose scores count under the ids of both versions, if ids changed and texts did not."""
    if not same:
        return run
    scores, asked = dict(run.scores), dict(run.asked)
    for old, new in same.items():
        for own, other in ((old, new), (new, old)):
            if own in run.scores and other not in run.scores:
                scores[other] = run.scores[own]
                asked |= {other: run.asked[own]} if own in run.asked else {}
    return replace(run, scores=scores, asked=asked)

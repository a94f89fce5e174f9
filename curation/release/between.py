"""The way from one version to the next, one sort of change after the other, and scores on it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from curation.records import GOLDS, KINDS, Cat, CatAssociation
from curation.release.contents import (
    SPLITS,
    PublishedCat,
)
from curation.release.differences import Difference, is_hidden_cat
from curation.stats.intervals import Floats
from curation.stats.metrics import ALL, BOTH, METRICS, over_terms

PARTS = ("relabelled", "changed", "added_removed", "moved")
"""The sorts of changes, in the order in which they are made."""


Judge = Callable[[Sequence[str]], Floats]
"""What a model won in each CAT: from the ids of associations, three per CAT in the order of GOLDS,
an array of shape (3, CATs) as ``metrics.judge``. It is NaN for a CAT that the model lacks."""


class Stage(NamedTuple):
    """CATs on the way.

    ``table`` has split, kind and term of each CAT; ``ids`` has its associations in the order of
    ``GOLDS``, so three ids per CAT.
    """

    table: pd.DataFrame
    ids: list[str]


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
        [cat for cat in version.cats if not is_hidden_cat(cat)]
        for version in (difference.before, difference.after)
    )
    relabelled, changed, kept = [], [], []
    for cat in before:
        pair = partner.get(cat.id)
        if pair is None:
            relabelled.append(cat)
            changed.append(cat)
            continue
        golds = {was.id: now.gold for was, now in pair.options}
        a, b, c = (option._replace(gold=golds[option.id]) for option in cat.options)
        relabelled.append(cat._replace(options=(a, b, c)))
        changed.append(pair.after._replace(split=cat.split))
        kept.append(changed[-1])
    shared = {pair.after.id for pair in pairs}
    exchanged = [*kept, *(cat for cat in after if cat.id not in shared)]
    same = {
        was.id: now.id
        for pair in pairs
        for was, now in pair.options
        if was.id != now.id
        and was.sentence == now.sentence
        and pair.before.context == pair.after.context
    }
    return Way(
        tuple(_stage(s, has_splits) for s in (before, relabelled, changed, exchanged, after)),
        [_cat(cat) for cat in before],
        [_cat(cat) for cat in after],
        same,
    )


def _stage(cats: Sequence[PublishedCat], has_splits: bool) -> Stage:
    table = pd.DataFrame(
        {
            "split": [cat.split if has_splits else ALL for cat in cats],
            "kind": [cat.kind for cat in cats],
            "term": [f"{cat.domain}/{cat.target}" for cat in cats],
        }
    )
    ids = []
    for cat in cats:
        by_gold = {option.gold: option.id for option in cat.options}
        ids += [by_gold[gold] for gold in GOLDS]
    return Stage(table, ids)


def _cat(cat: PublishedCat) -> Cat:
    """A published CAT as the functions of scores need it; readers have checked it."""
    return Cat.model_construct(
        id=cat.id,
        kind=cat.kind,
        domain=cat.domain,
        term=cat.target,
        target=cat.target,
        family=cat.target,
        split=cat.split,
        context=cat.context,
        associations=tuple(
            CatAssociation.model_construct(id=o.id, sentence=o.sentence, gold=o.gold)
            for o in cat.options
        ),
        tier=cat.tier,
        target_original=cat.target_original,
    )


@dataclass(frozen=True)
class ScoreChange:
    """lms, ss and icat of a model on both versions, in one split and kind (or both kinds).

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
    """lms, ss and icat of a model on both versions, and what the difference comes from.

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
        kinds = [k for k in KINDS if any(len(_part(table, split, k)) for table in (first, last))]
        for kind in (*kinds, *((BOTH,) if len(kinds) > 1 else ())):
            parts = [_part(table, split, kind) for table in tables]
            cells = [over_terms(part) if len(part) else None for part in parts]
            before, after = cells[0], cells[-1]
            change = _minus(after, before)
            rows.append(ScoreChange(split, kind, before, after, change, _parts(cells)))
    return rows


def _judged(stage: Stage, judge: Judge) -> pd.DataFrame:
    """The comparisons won in each CAT that the model has."""
    won = judge(stage.ids)
    has = ~np.isnan(won[1])
    meaningful, stereotype, ties = won[:, has]
    table: pd.DataFrame = stage.table[has].assign(
        meaningful=meaningful, stereotype=stereotype, ties=ties.astype(int)
    )
    return table


def _part(table: pd.DataFrame, split: str, kind: str) -> pd.DataFrame:
    has_kind = (table["kind"] == kind) | (kind == BOTH)
    part: pd.DataFrame = table[(table["split"] == split) & has_kind]
    return part


def _minus(a: dict[str, Any] | None, b: dict[str, Any] | None) -> dict[str, float] | None:
    return {metric: a[metric] - b[metric] for metric in METRICS} if a and b else None


def _parts(cells: Sequence[dict[str, Any] | None]) -> dict[str, dict[str, float]] | None:
    steps = zip(PARTS, cells[1:], cells[:-1], strict=True)
    parts = {name: _minus(later, earlier) for name, later, earlier in steps}
    known = {name: part for name, part in parts.items() if part}
    return known if len(known) == len(parts) else None

"""What runs won in each CAT, from their scores or comparisons, laid out beside the CATs."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.files import CurationError
from curation.kinds import FILLED, ITEMS, KINDS, ItemKind
from curation.records import Cat, Fields
from curation.scores.runs import ByIds, Outcome, Run, from_ids, ids_of, judge_outcomes
from curation.stats.intervals import Floats
from curation.stats.metrics import (
    SHARES,
    Metric,
    Ties,
    cat_columns,
    judge,
    pooled_kinds,
    won_table,
)
from curation.text.wording import amount


class Board(NamedTuple):
    """The comparisons that every run won in every CAT.

    ``cats`` has one row per CAT: kind, domain, term (``domain/target``). ``won`` has shape (metrics
    that are shares + 1, runs, CATs), its rows are those of ``metrics.judge``; NaN if the run lacks
    the CAT, or its kind the metric.
    """

    cats: pd.DataFrame
    runs: tuple[Run, ...]
    won: Floats

    @property
    def has(self) -> NDArray[np.bool_]:
        """Whether a run has a CAT; shape (runs, CATs)."""
        return np.asarray(~np.isnan(self.won[-1]))

    def points(self, metric: Metric) -> Floats:
        """The values of a share of each run in each CAT, 0 to 100; shape (runs, CATs)."""
        return np.asarray(metric.points * self.won[SHARES.index(metric)])

    def table(self, run: int) -> pd.DataFrame:
        """A run's ``metrics.comparisons``, for the CATs that it has scored."""
        return _table(self.cats, self.won[:, run])

    @property
    def pooled(self) -> NDArray[np.bool_]:
        """Whether a CAT's kind is one of those taken together: ``metrics.pooled_kinds``."""
        kinds = self.cats["kind"]
        return np.asarray(kinds.isin(pooled_kinds(kinds.unique())))

    def lacking(self, run: int) -> tuple[list[str], int]:
        """The kinds without a scored CAT, and how many CATs of other kinds have no score."""
        has, kinds = self.has[run], self.cats["kind"]
        none = [kind for kind in KINDS if (kinds == kind).any() and not has[kinds == kind].any()]
        return [str(kind) for kind in none], int((~has & ~kinds.isin(none)).sum())

    def whole(self, chosen: Sequence[int]) -> list[int]:
        """The chosen runs that have scored CATs of every kind that any of them has.

        Only kinds that are taken together count (``pooled``).
        """
        together = set(self.cats["kind"][self.pooled])
        lacks = {run: together & set(self.lacking(run)[0]) for run in chosen}
        common = set.intersection(*lacks.values()) if lacks else set()
        return [run for run in chosen if lacks[run] == common]


def scored(cats: Sequence[Cat], scores: Mapping[str, float]) -> list[bool]:
    """For each CAT, whether all of its associations have a score."""
    return [all(a.id in scores for a in cat.associations) for cat in cats]


def won(cats: Sequence[Cat], run: Run, *, ties: Ties = "half") -> Floats:
    """What a run won in each CAT, with the rows of ``metrics.judge``.

    Scores are compared by ``metrics.judge``, and comparisons of chat models are used as they are.

    Args:
        cats: the CATs.
        run: the run.
        ties: as in ``metrics.comparisons``. In comparisons of chat models, ``official`` counts a
            split as lost.

    Returns:
        Shape (metrics that are shares + 1, CATs); NaN if the run lacks the CAT.
    """
    found = np.full((len(SHARES) + 1, len(cats)), np.nan)
    for kind in ITEMS.values():
        places = [place for place, cat in enumerate(cats) if cat.kind == kind.name]
        own = [cats[place] for place in places]
        if run.by_choice:
            outcomes = [run.comparisons[cat.id] if run.has(cat) else None for cat in own]
            found[:, places] = _by_outcomes(outcomes, kind, ties)
        elif own:
            ids = [name for cat in own for name in ids_of(cat)]
            found[:, places] = by_scores(ids, run.scores, kind=kind, ties=ties)
    return found


def by_scores(
    ids: Sequence[str], scores: Mapping[str, float], *, kind: ItemKind = FILLED, ties: Ties = "half"
) -> Floats:
    """``won`` of CATs of one kind by the scores of their associations.

    Args:
        ids: of associations, those of a CAT in the order of the kind's roles.
        scores: by association.
        kind: of the CATs.
        ties: as in ``metrics.comparisons``.
    """
    values = np.array([scores.get(id, np.nan) for id in ids], float).reshape(-1, kind.size)
    has = ~np.isnan(values).any(axis=1)
    found = np.full((len(SHARES) + 1, len(values)), np.nan)
    found[:, has] = judge(values[has], kind=kind, ties=ties)
    return found


def by_preferences(ids: Sequence[str], preferences: ByIds, *, kind: ItemKind = FILLED) -> Floats:
    """``won`` of CATs of one kind by the comparisons of their associations.

    Args:
        ids: as for ``by_scores``.
        preferences: of ``runs.by_ids``.
        kind: of the CATs.
    """
    of_cats = [ids[place : place + kind.size] for place in range(0, len(ids), kind.size)]
    return _by_outcomes([from_ids(each, preferences, kind) for each in of_cats], kind)


def _by_outcomes(outcomes: Sequence[Outcome | None], kind: ItemKind, ties: Ties = "half") -> Floats:
    found = np.full((len(SHARES) + 1, len(outcomes)), np.nan)
    has = np.array([each is not None for each in outcomes], bool)
    found[:, has] = judge_outcomes([each for each in outcomes if each], kind=kind, ties=ties)
    return found


def comparisons(cats: Sequence[Cat], run: Run, *, ties: Ties = "half") -> pd.DataFrame:
    """``metrics.comparisons`` of a run, for the CATs that it has.

    Args:
        cats: the CATs.
        run: the run, with scores or with comparisons.
        ties: as in ``won``.
    """
    return _table(cat_columns(cats), won(cats, run, ties=ties))


def _table(cats: pd.DataFrame, won: Floats) -> pd.DataFrame:
    """The CATs with what was won in them, without those that the run lacks."""
    has = ~np.isnan(won[-1])
    return won_table(cats[has], won[:, has])


def _check_declared(run: Run, kinds: set[str]) -> None:
    """Raise if predictions have scores of a kind that their declared rules are not for."""
    wrong = sorted(kinds - run.rules.keys()) if run.rules and not run.about else []
    if wrong:
        raise CurationError(
            f"{run.where}: is declared as scored by {run.rule}, which is not for {wrong[0]} CATs, "
            f"but has scores of {wrong[0]} CATs",
            "declare the rules of both kinds, such as ll-acl_nsp, or a profile",
        )


def board(
    cats: Sequence[Cat],
    runs: Sequence[Run],
    *,
    ties: Ties = "half",
    skipped: Callable[[str], None] = lambda _: None,
) -> Board:
    """Judge the CATs by the scores, or the comparisons, of each run.

    If a run lacks a score of a CAT, the CAT is left out of this run. A run without any score of
    these CATs is left out.

    Args:
        cats: the CATs.
        runs: the runs.
        ties: as in ``metrics.comparisons``.
        skipped: receives a message for each run that is left out.

    Raises:
        CurationError: there are no CATs; two runs have the same name; no run scores any of the
            CATs; a predictions file has scores of a kind that its declared rules are not for.
    """
    if not cats:
        raise CurationError("there is no CAT to compare models on", "name files with CATs")
    seen: dict[str, str] = {}
    for run in runs:
        if run.name in seen:
            raise CurationError(
                f"{run.where}: the run {run.name} is already in {seen[run.name]}",
                "give one of them another name",
            )
        seen[run.name] = run.where
    keys = cat_columns(cats)
    kept: list[Run] = []
    results: list[Floats] = []
    for run in runs:
        own = won(cats, run, ties=ties)
        if np.isnan(own).all():
            skipped(
                f"{run.where}: left out, since it has no scores for the benchmark's "
                f"{amount(len(cats), 'CAT')}"
            )
            continue
        kept.append(run)
        results.append(own)
    for run, own in zip(kept, results, strict=True):
        _check_declared(run, set(keys["kind"][~np.isnan(own[-1])]))
    if not kept:
        raise CurationError(
            f"no model has scores for the benchmark's {amount(len(cats), 'CAT')}",
            "score the models on this benchmark, or name the folder of its scores",
        )
    return Board(keys, tuple(kept), np.stack(results, axis=1))


class Missing(NamedTuple):
    """The CATs that a run has no score or comparison of, and no refusal; and those of its kinds.

    Kinds of which it has no score at all do not count. ``bad`` is how many of ``cats`` have a
    prediction that is not a finite number.
    """

    cats: frozenset[str]
    of: int
    bad: int = 0


def missing_cats(run: Run, cats: Sequence[Cat]) -> Missing:
    """The CATs that a run was not scored on, although it has others of the same kind.

    Args:
        run: from ``runs.drop_outdated``.
        cats: the CATs.
    """
    excused = set(run.about.get("left_out_cats") or ())
    kinds = {cat.kind for cat in cats if run.has_part(cat)}
    own = [cat for cat in cats if cat.kind in kinds]
    lacks = [cat for cat in own if cat.id not in excused and not run.was_asked(cat)]
    bad = sum(any(a.id in run.bad for a in cat.associations) for cat in lacks)
    return Missing(frozenset(cat.id for cat in lacks), len(own), bad)


class Common(NamedTuple):
    """Runs that can be compared, and the CATs to compare them on.

    Attributes:
        cats: the CATs that none of the runs lacks.
        runs: the runs, without those that are left out.
        missing: of each run that lacks CATs, by its name.
        left_out: the names of the runs that are left out, because they lack more than half.
    """

    cats: list[Cat]
    runs: list[Run]
    missing: dict[str, Missing]
    left_out: list[str]


def common(cats: Sequence[Cat], runs: Sequence[Run]) -> Common:
    """The CATs on which runs can be compared, if some of the runs lack CATs.

    A run that lacks more than half of the CATs is left out, unless all do: its scoring has probably
    not ended. Predictions are never left out. CATs that another run lacks are left out for all
    runs.

    Args:
        cats: the CATs.
        runs: from ``runs.drop_outdated``.

    Raises:
        CurationError: no CAT is left.
    """
    found = {run.name: missing_cats(run, cats) for run in runs}
    lacking = (run for run in runs if len(found[run.name].cats) > found[run.name].of / 2)
    most = {run.name for run in lacking if run.refused is not None}
    if not any(run.name not in most and any(map(run.has_part, cats)) for run in runs):
        most = set()
    kept = [run for run in runs if run.name not in most]
    gone = {cat for run in kept for cat in found[run.name].cats}
    left = [cat for cat in cats if cat.id not in gone]
    if cats and not left:
        raise CurationError(
            f"the runs have none of the benchmark's {amount(len(cats), 'CAT')} in common",
            "score the models again",
        )
    some = {name: lacks for name, lacks in found.items() if lacks.cats}
    return Common(left, kept, some, [run.name for run in runs if run.name in most])


def left_out(cats: Sequence[Cat], kept: Sequence[Cat], *, bad: Collection[str] = ()) -> Fields:
    """How many CATs are left out because one of their sentences has no score.

    Args:
        cats: all CATs.
        kept: those that have all their scores.
        bad: the ids of sentences whose score is not a finite number.

    Returns:
        ``{"left_out", "of", "bad", "kinds": {kind: {"left_out", "of", "domains": {domain:
        {"left_out", "of"}}}}, "terms": {"domain/target": {"left_out", "of"}}}``: how many CATs are
        left out, and how many there are. ``bad`` is how many of those that are left out have a
        score that is not a finite number. ``terms`` has only terms that lose a CAT.
    """
    there = {cat.id for cat in kept}
    gone = [cat for cat in cats if cat.id not in there]
    kinds: Fields = {}
    for kind in KINDS:
        lost, own = ([c.domain for c in part if c.kind == kind] for part in (gone, cats))
        if own:
            kinds[kind] = {"left_out": len(lost), "of": len(own), "domains": _counts(lost, own)}
    lost, own = ([f"{cat.domain}/{cat.target}" for cat in part] for part in (gone, cats))
    terms = _counts(lost, own)
    return {
        "left_out": len(gone),
        "of": len(cats),
        "bad": sum(any(a.id in bad for a in cat.associations) for cat in gone),
        "kinds": kinds,
        "terms": {name: counts for name, counts in terms.items() if counts["left_out"]},
    }


def _counts(gone: Iterable[str], every: Iterable[str]) -> dict[str, dict[str, int]]:
    lost, of = Counter(gone), Counter(every)
    return {name: {"left_out": lost[name], "of": of[name]} for name in sorted(of)}

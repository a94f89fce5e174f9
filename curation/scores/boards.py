"""What runs won in each CAT, from their scores or comparisons, laid out beside the CATs."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from curation.files import CurationError
from curation.records import GOLDS, KINDS, Cat
from curation.scores.runs import ByIds, Run, from_ids, ids_of, judge_outcomes
from curation.stats.intervals import Floats
from curation.stats.metrics import Ties, cat_columns, judge
from curation.text.wording import amount


class Board(NamedTuple):
    """The comparisons that every run won in every CAT.

    ``cats`` has one row per CAT: kind, domain, term (``domain/target``). The arrays have shape
    (runs, CATs): ``meaningful`` 0 to 2, ``stereotype`` 0 to 1, ``tied`` 0 to 3, as in
    ``metrics.comparisons``; NaN if the run lacks the CAT.
    """

    cats: pd.DataFrame
    runs: tuple[Run, ...]
    meaningful: Floats
    stereotype: Floats
    tied: Floats

    def table(self, run: int) -> pd.DataFrame:
        """A run's ``metrics.comparisons``, for the CATs that it has scored."""
        own = np.stack([self.meaningful[run], self.stereotype[run], self.tied[run]])
        return _table(self.cats, own)

    def lacking(self, run: int) -> tuple[list[str], int]:
        """The kinds without a scored CAT, and how many CATs of other kinds have no score."""
        has, kinds = ~np.isnan(self.stereotype[run]), self.cats["kind"]
        none = [kind for kind in KINDS if (kinds == kind).any() and not has[kinds == kind].any()]
        return [str(kind) for kind in none], int((~has & ~kinds.isin(none)).sum())

    def whole(self, chosen: Sequence[int]) -> list[int]:
        """The chosen runs that have scored CATs of every kind that any of them has."""
        lacks = {run: set(self.lacking(run)[0]) for run in chosen}
        common = set.intersection(*lacks.values()) if lacks else set()
        return [run for run in chosen if lacks[run] == common]


def scored(cats: Sequence[Cat], scores: Mapping[str, float]) -> list[bool]:
    """For each CAT, whether all of its associations have a score."""
    return [all(a.id in scores for a in cat.associations) for cat in cats]


def won(cats: Sequence[Cat], run: Run, *, ties: Ties = "half") -> Floats:
    """What a run won in each CAT: meaningful, stereotype and ties, as in ``metrics.comparisons``.

    Scores are compared by ``metrics.judge``, and comparisons of chat models are used as they are.

    Args:
        cats: the CATs.
        run: the run.
        ties: as in ``metrics.comparisons``. In comparisons of chat models, ``official`` counts a
            split as lost.

    Returns:
        Shape (3, CATs); NaN if the run lacks the CAT.
    """
    results = np.full((3, len(cats)), np.nan)
    has = np.array([run.has(cat) for cat in cats], bool)
    own = [cat for cat, there in zip(cats, has, strict=True) if there]
    if run.by_choice:
        results[:, has] = judge_outcomes([run.comparisons[cat.id] for cat in own], ties=ties)
    else:
        three = [[run.scores[name] for name in ids_of(cat)] for cat in own]
        results[:, has] = judge(np.array(three, float).reshape(-1, len(GOLDS)), ties=ties)
    return results


def by_scores(ids: Sequence[str], scores: Mapping[str, float]) -> Floats:
    """``won`` of CATs by the scores of their associations.

    Args:
        ids: of associations, three for each CAT, in the order of ``GOLDS``.
        scores: by association.
    """
    values = np.array([scores.get(id, np.nan) for id in ids], float).reshape(-1, len(GOLDS))
    has = ~np.isnan(values).any(axis=1)
    results = np.full((3, len(values)), np.nan)
    results[:, has] = judge(values[has])
    return results


def by_preferences(ids: Sequence[str], preferences: ByIds) -> Floats:
    """``won`` of CATs by the comparisons of their associations.

    Args:
        ids: as for ``by_scores``.
        preferences: of ``runs.by_ids``.
    """
    three = [ids[place : place + len(GOLDS)] for place in range(0, len(ids), len(GOLDS))]
    known = [from_ids(each, preferences) for each in three]
    results = np.full((3, len(known)), np.nan)
    has = np.array([each is not None for each in known], bool)
    results[:, has] = judge_outcomes([each for each in known if each])
    return results


def comparisons(cats: Sequence[Cat], run: Run, *, ties: Ties = "half") -> pd.DataFrame:
    """``metrics.comparisons`` of a run, for the CATs that it has.

    Args:
        cats: the CATs.
        run: the run, with scores or with comparisons.
        ties: as in ``won``.
    """
    return _table(cat_columns(cats), won(cats, run, ties=ties))


def _table(cats: pd.DataFrame, results: Floats) -> pd.DataFrame:
    """The CATs with what was won in them, an array of shape (3, CATs)."""
    meaningful, stereotype, tied = results[:, has := ~np.isnan(results[1])]
    table: pd.DataFrame = cats[has].assign(
        meaningful=meaningful, stereotype=stereotype, ties=tied.astype(int)
    )
    return table


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
    for run, (_, stereotype, _) in zip(kept, results, strict=True):
        _check_declared(run, set(keys["kind"][~np.isnan(stereotype)]))
    if not kept:
        raise CurationError(
            f"no model has scores for the benchmark's {amount(len(cats), 'CAT')}",
            "score the models on this benchmark, or name the folder of its scores",
        )
    return Board(keys, tuple(kept), *np.stack(results, axis=1))

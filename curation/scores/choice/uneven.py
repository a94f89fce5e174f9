"""Differences in refusals between groups: each domain and each term compared with the rest."""

from typing import Any

import numpy as np
import pandas as pd

from curation.scores.choice.counts import NONE, REFUSED, share
from curation.stats.exchange import exchange_test
from curation.stats.intervals import difference_interval
from curation.stats.tests import holm

ALPHA = 0.05


def group_differences(counts: pd.DataFrame) -> list[dict[str, Any]]:
    """Shares of refusals, and of all questions without an answer, of each group and of the rest.

    A domain is compared with the other domains, and its units are terms. A term is compared with
    all other terms, and its units are CATs; only CATs of the same kind are exchanged. p is that of
    ``exchange_test``, with Holm's correction over all domains and terms and both shares. If every
    question without an answer is a refusal, the two shares are the same and are tested once.

    Args:
        counts: of ``counts.by_cat``.

    Returns:
        ``{"of", "group", "outcome", "cats", "terms", "share", "ci", "rest", "rest_ci",
        "difference", "ci_difference", "p", "p_holm"}``: ``of`` is "domain" or "term", ``outcome``
        "answer_refused" or "no_answer". Shares are between 0 and 1. p is None if the group has too
        few units to show any difference. Nothing if there is no second group, or no question
        without an answer.
    """
    if not counts[NONE].any():
        return []
    same = bool((counts[REFUSED] == counts[NONE]).all())
    outcomes = [
        name for name in (REFUSED, NONE) if counts[name].any() and not (same and name == NONE)
    ]
    rows = [
        _difference(counts, of, str(group), outcome)
        for outcome in outcomes
        for of in ("domain", "term")
        for group in sorted(counts[of].unique())
        if counts[of].nunique() > 1
    ]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    return rows + [row | {"outcome": NONE} for row in rows if same]


def _difference(counts: pd.DataFrame, of: str, group: str, outcome: str) -> dict[str, Any]:
    inside = counts[of] == group
    own, rest = (share(counts[part], outcome) for part in (inside, ~inside))
    ends = None
    if own["ci"] and rest["ci"]:
        ends = list(difference_interval(own["share"], rest["share"], own["ci"], rest["ci"]))
    return {
        "of": of,
        "group": group,
        "outcome": outcome,
        "cats": int(inside.sum()),
        "terms": int(counts["term"][inside].nunique()),
        "share": own["share"],
        "ci": own["ci"],
        "rest": rest["share"],
        "rest_ci": rest["ci"],
        "difference": own["share"] - rest["share"],
        "ci_difference": ends,
        "p": _p(counts, of, group, outcome),
    }


def _p(counts: pd.DataFrame, of: str, group: str, outcome: str) -> float | None:
    units = counts
    if of == "domain":
        units = counts.groupby(["domain", "term"], as_index=False)[[outcome, "questions"]].sum()
    shares = np.asarray(units[outcome] / units["questions"], dtype=float)
    strata = units["kind"].tolist() if of == "term" else None
    return exchange_test(shares, (units[of] == group).tolist(), strata)


def uneven_groups(differences: list[dict[str, Any]]) -> list[str]:
    """The domains and terms that differ from the rest: p after Holm's correction is below 0.05.

    Args:
        differences: of ``group_differences``.
    """
    names = (
        row["group"] for row in differences if row["p_holm"] is not None and row["p_holm"] < ALPHA
    )
    return list(dict.fromkeys(names))

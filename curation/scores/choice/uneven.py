"""Differences in refusals between groups: each domain and each term compared with the rest."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.scores.choice.counts import NONE, REFUSED, share_of
from curation.stats.intervals import Floats, difference_interval
from curation.stats.tests import exchange_test, holm

ALPHA = 0.05


def group_differences(counts: pd.DataFrame) -> list[dict[str, Any]]:
    """Shares of refusals, and of all questions without an answer, of each group and of the rest.

    A term is compared with all other terms, and its units are CATs; only CATs of the same kind are
    exchanged. A domain is compared with the other domains twice, with terms and with CATs as units,
    and p is the larger one: CATs of a term are alike, and terms of few CATs have shares that vary
    more. p is that of ``exchange_test``, with Holm's correction over all domains and terms and both
    shares. If every question without an answer is a refusal, the two shares are the same and are
    tested once.

    Args:
        counts: of ``counts.by_cat``.

    Returns:
        ``{"of", "group", "outcome", "cats", "terms", "share", "ci", "rest", "rest_ci",
        "difference", "ci_difference", "p", "p_holm"}``: ``of`` is "domain" or "term", ``outcome``
        "answer_refused" or "no_answer". Shares are between 0 and 1. p is None if the group has too
        few units to show any difference. Nothing if there is no second group, or no question
        without an answer.
    """
    columns = {name: np.asarray(counts[name], float) for name in (REFUSED, NONE, "questions")}
    if not columns[NONE].any():
        return []
    same = bool((columns[REFUSED] == columns[NONE]).all())
    outcomes = [REFUSED] if same else [name for name in (REFUSED, NONE) if columns[name].any()]
    groups = {of: np.asarray(counts[of], str) for of in ("domain", "term", "kind")}
    rows = [
        _difference(columns[outcome], columns["questions"], groups, of, group)
        | {"outcome": outcome}
        for outcome in outcomes
        for of in ("domain", "term")
        for group in np.unique(groups[of])
        if (groups[of] != groups[of][0]).any()
    ]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    return rows + [row | {"outcome": NONE} for row in rows if same]


def _difference(
    n: Floats, of: Floats, groups: Mapping[str, NDArray[np.str_]], column: str, group: str
) -> dict[str, Any]:
    """A row of ``group_differences`` without ``outcome`` and ``p_holm``.

    Args:
        n: shape (CATs,), how many questions have the outcome.
        of: shape (CATs,), how many questions there are.
        groups: the ``domain``, ``term`` and ``kind`` of each CAT.
        column: "domain" or "term".
        group: the domain or term.
    """
    inside = groups[column] == group
    names, terms = np.unique(groups["term"], return_inverse=True)
    own, rest = (share_of(n[part], of[part], terms[part]) for part in (inside, ~inside))
    ends = None
    if own["ci"] and rest["ci"]:
        ends = list(difference_interval(own["share"], rest["share"], own["ci"], rest["ci"]))
    p = exchange_test(n / of, inside, groups["kind"])
    if column == "domain" and p is not None:
        shares = np.bincount(terms, n) / np.bincount(terms, of)
        over_terms = exchange_test(shares, np.isin(names, groups["term"][inside]))
        p = None if over_terms is None else max(p, over_terms)
    return {
        "of": column,
        "group": str(group),
        "cats": int(inside.sum()),
        "terms": len(np.unique(terms[inside])),
        "share": own["share"],
        "ci": own["ci"],
        "rest": rest["share"],
        "rest_ci": rest["ci"],
        "difference": own["share"] - rest["share"],
        "ci_difference": ends,
        "p": p,
    }


def uneven_groups(differences: list[dict[str, Any]]) -> list[str]:
    """The domains and terms that differ from the rest: p after Holm's correction is below 0.05.

    Args:
        differences: of ``group_differences``.
    """
    return list(dict.fromkeys(row["group"] for row in differences if differs(row)))


def differs(row: Mapping[str, Any]) -> bool:
    """Whether a group of ``group_differences`` differs from the rest."""
    return row["p_holm"] is not None and row["p_holm"] < ALPHA

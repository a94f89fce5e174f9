"""Which labels count, and how many each association has."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.records import VALUES, Item


class Counted(NamedTuple):
    """The counted labels.

    Attributes:
        labels: the labels in order of submission, with two more columns. ``code`` says why a label
            is not counted, and is empty for counted labels. ``row`` is the row of its association
            in ``votes``.
        votes: shape (3 · items, 4): three rows per item, in the order of the items; columns in the
            order of ``VALUES``.
    """

    labels: pd.DataFrame
    votes: NDArray[np.int64]


def in_order(labels: pd.DataFrame) -> pd.DataFrame:
    """Labels in order of submission: those without a time first in their order, then by time."""
    times = labels["submitted_at"].astype(object).fillna("")
    order = np.argsort(times.to_numpy(dtype=str), kind="stable")
    return labels.iloc[order].reset_index(drop=True)


def count(
    items: Sequence[Item],
    labels: pd.DataFrame,
    *,
    of: int = 5,
    count_writer: bool = False,
    count_repeats: bool = False,
    rounds: Sequence[str] = (),
) -> Counted:
    """Count the first ``of`` labels of each association by distinct annotators.

    Args:
        items: the items.
        labels: rows of ``records.Label`` on associations of these items.
        of: how many labels count for an association.
        count_writer: whether the writer's intent is the first of these labels.
        count_repeats: whether an annotator's second label on an association counts too.
        rounds: the rounds whose labels count; empty for all rounds.

    Returns:
        The labels, each with a code if it is not counted, and the votes of each association.
    """
    associations = [a.id for item in items for a in item.associations]
    labels = in_order(labels)
    row_of = pd.Index(associations)
    categories = pd.Categorical(labels["association"])
    rows = row_of.get_indexer(categories.categories)[categories.codes].astype(np.int64)
    annotator, _ = pd.factorize(labels["annotator"])
    value = pd.Categorical(labels["value"], categories=list(VALUES)).codes.astype(np.int64)

    code = np.full(len(labels), "", dtype=object)
    elsewhere = np.zeros(len(labels), dtype=bool)
    if rounds:
        elsewhere = ~labels["round"].isin(rounds).to_numpy()
        code[elsewhere] = "round_not_counted"
    live = np.flatnonzero(~elsewhere)
    if not count_repeats:
        pair = rows[live] * (annotator.max(initial=0) + 1) + annotator[live]
        again = pd.Series(pair).duplicated().to_numpy()
        code[live[again]] = "repeated_annotator"
        live = live[~again]
    meant = np.zeros((len(associations), len(VALUES)), dtype=np.int64)
    if count_writer:
        for row, intent in enumerate(a.intent for item in items for a in item.associations):
            if intent is not None:
                meant[row, VALUES.index(intent)] = 1
    places = pd.Series(rows[live]).groupby(rows[live], sort=False).cumcount().to_numpy()
    surplus = places >= of - meant.sum(axis=1)[rows[live]]
    code[live[surplus]] = "surplus_label"
    live = live[~surplus]
    cells = np.bincount(
        rows[live] * len(VALUES) + value[live], minlength=len(associations) * len(VALUES)
    )
    votes = cells.reshape(-1, len(VALUES)) + meant
    return Counted(labels.assign(code=pd.Categorical(code), row=rows), votes)

"""Votes: which labels count, and how far they agree.

Agreement is Krippendorff's alpha, Fleiss' kappa or Gwet's AC1, with intervals over CATs. Votes
have shape (associations, classes): how many annotators chose each label. Each coefficient is
computed from sums over associations, so that leaving a CAT out is a subtraction.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.records import VALUES, Item
from curation.stats.intervals import Floats, Interval, mean_interval, pseudo_values
from curation.text.rules import Votes

Counts = NDArray[np.int64]
_ROUNDING = 1e-12  # a disagreement below this counts as 0
_LEAST = -1.0  # no coefficient is lower


class Counted(NamedTuple):
    """The counted labels.

    Attributes:
        labels: the labels in order of submission, with two more columns. ``code`` says why a label
            is not counted, and is empty for counted labels. ``row`` is the row of its association
            in ``votes``.
        votes: shape (associations, 4): the rows of each item's associations, in the order of the
            items; columns in the order of ``VALUES``.
    """

    labels: pd.DataFrame
    votes: Counts


def votes_by_item(items: Iterable[Item], votes: Counts) -> Iterator[tuple[Votes, ...]]:
    """The votes of each item's associations.

    Args:
        items: the items.
        votes: the rows of their associations, as in ``Counted``.
    """
    rows = map(tuple, votes.tolist())
    for item in items:
        yield tuple(islice(rows, len(item.associations)))


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


# --- agreement ----------------------------------------------------------------------------------


def contributions(votes: Counts) -> Floats:
    """What each association adds to the sums from which the coefficients are computed.

    Args:
        votes: shape (n, c).

    Returns:
        Shape (n, 2c + 4): votes by class of the pairable associations (two votes or more), their
        observed coincidences, 1 if pairable, share of agreeing pairs, 1 if there is any vote,
        share of each class among the votes.
    """
    n = votes.sum(axis=1)
    pairable, voted = n >= 2, n >= 1
    agreeing = (votes * (votes - 1)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        coincidences = np.where(pairable, agreeing / (n - 1), 0.0)
        pairs = np.where(pairable, agreeing / (n * (n - 1)), 0.0)
        shares = np.where(voted[:, None], votes / n[:, None], 0.0)
    return np.column_stack(
        [votes * pairable[:, None], coincidences, pairable, pairs, voted, shares]
    )


def alpha(sums: Floats) -> Floats:
    """Krippendorff's alpha for nominal data (Krippendorff 2011) from sums of contributions.

    Args:
        sums: shape (r, 2c + 4).

    Returns:
        Shape (r,); NaN if no two votes differ, or if no votes can be paired.
    """
    c = (sums.shape[1] - 4) // 2
    by_class, coincidences = sums[:, :c], sums[:, c]
    n = by_class.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = n - coincidences
        expected = (n**2 - (by_class**2).sum(axis=1)) / (n - 1)
        return np.asarray(np.where(expected > 0, 1 - observed / expected, np.nan))


def _observed(sums: Floats) -> tuple[Floats, Floats]:
    c = (sums.shape[1] - 4) // 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[:, c + 2] / sums[:, c + 1], sums[:, c + 4 :] / sums[:, c + 3, None]


def fleiss(sums: Floats) -> Floats:
    """Fleiss' kappa for unequal numbers of raters (Fleiss 1971; Gwet 2014, ch. 2.4).

    Observed agreement is the mean share of agreeing pairs over pairable associations. Chance
    agreement comes from the mean share of each class over all associations with votes.
    """
    observed, shares = _observed(sums)
    chance = (shares**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(chance < 1, (observed - chance) / (1 - chance), np.nan))


def ac1(sums: Floats) -> Floats:
    """Gwet's AC1 (Gwet 2008, eq. 10, for several raters); classes without any vote are left out."""
    observed, shares = _observed(sums)
    used = int((shares.sum(axis=0) > 0).sum())
    chance = (shares * (1 - shares)).sum(axis=1) / max(used - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((observed - chance) / (1 - chance))


MEASURES: dict[str, Callable[[Floats], Floats]] = {"alpha": alpha, "fleiss": fleiss, "ac1": ac1}


def coefficient(measure: str, votes: Counts) -> float | None:
    """An agreement coefficient; alpha is computed by the package krippendorff.

    Args:
        measure: a name in ``MEASURES``: alpha, fleiss or ac1.
        votes: shape (associations, classes), how many annotators chose each class.

    Returns:
        The value, or None if the votes define none: no association has two votes, or only one
        class has votes.

    >>> coefficient("alpha", np.array([[2, 0], [0, 2], [1, 1]]))  # 1 − 2 / (18 / 5)
    0.4444444444444444
    """
    pairable = votes[votes.sum(axis=1) >= 2]
    if (pairable.sum(axis=0) > 0).sum() < 2:
        return None
    if measure == "alpha":
        import krippendorff  # those who only count votes do without it

        return float(krippendorff.alpha(value_counts=pairable, level_of_measurement="nominal"))
    return float(MEASURES[measure](contributions(votes).sum(axis=0, keepdims=True))[0])


def interval(measure: str, units: Floats, *, confidence: float = 0.95) -> Interval | None:
    """The jackknife's interval of a coefficient over CATs (Efron & Tibshirani 1993, chapter 11).

    CATs are left out one by one. The logarithm of 1 − coefficient, the disagreement relative to
    chance, varies more evenly than the coefficient, so pseudo-values and Student's t are of this
    logarithm. If the logarithm is not defined because all disagreement is in one CAT, they are of
    the coefficient itself.

    Args:
        measure: a name in ``MEASURES``.
        units: shape (CATs, 2c + 4), from ``by_cat``.
        confidence: of the interval.

    Returns:
        Lower and upper bound, from -1 to 1. None with fewer than two CATs, if nobody disagrees, if
        all CATs are alike, or if the coefficient is not defined for all CATs or without one of
        them.
    """

    def disagreement(sums: Floats) -> Floats:
        value = 1 - MEASURES[measure](sums)
        return np.asarray(np.where(value > _ROUNDING, value, 0.0 * value))  # NaN stays

    def logarithm(sums: Floats) -> Floats:
        return np.asarray(np.log(disagreement(sums)))

    if len(units) < 2:
        return None
    whole = units.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        if not disagreement(whole)[0] > 0:
            return None
        logarithms = _jackknife(logarithm, units, confidence=confidence)
        ends = logarithms and [float(np.exp(end)) for end in logarithms]
        ends = ends or _jackknife(disagreement, units, confidence=confidence)
    return ends and [min(1.0, max(_LEAST, 1 - end)) for end in reversed(ends)]


def alpha_within(
    votes: Counts, strata: Sequence[str] | NDArray[Any], *, confidence: float = 0.95
) -> tuple[float | None, Interval | None]:
    """Krippendorff's alpha within strata, with the jackknife's interval over rows.

    Observed disagreement, and that expected by chance within each stratum, are added up. If labels
    depend on the stratum only, it is 0 or not defined, whatever alpha is over all rows.

    Args:
        votes: shape (rows, classes).
        strata: the stratum of each row, such as the target of a passage.
        confidence: of the interval.

    Returns:
        The value, None if no stratum has labels of two classes; and the interval, which is the
        value alone if nobody disagrees, and None if it is not defined without one of the rows.

    >>> alpha_within(np.array([[2, 0], [2, 0], [0, 2]]), ["a", "a", "b"])  # alpha is 1 over all
    (None, None)
    """
    own, classes = contributions(votes), votes.shape[1]
    names, place = np.unique(np.asarray(strata), return_inverse=True)
    rows = np.zeros((len(votes), len(names), own.shape[1]))
    rows[np.arange(len(votes)), place] = own

    def disagreement(sums: Floats) -> Floats:
        each = sums.reshape(len(sums), len(names), -1)
        by_class, n = each[..., :classes], each[..., :classes].sum(axis=-1)
        chance = (n**2 - (by_class**2).sum(axis=-1)) / np.maximum(n - 1, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((n - each[..., classes]).sum(axis=-1) / chance.sum(axis=-1))

    units = rows.reshape(len(votes), -1)
    value = 1 - float(disagreement(units.sum(axis=0, keepdims=True))[0])
    if math.isnan(value):
        return None, None
    if value == 1:
        return value, [value, value]
    ends = _jackknife(disagreement, units, confidence=confidence) if len(units) > 1 else None
    return value, ends and [1 - ends[1], 1 - ends[0]]


def unanimous_interval(
    votes: Counts, *, units: int, disagreeing: int = 0, confidence: float = 0.95
) -> Interval | None:
    """The interval of a coefficient if nobody disagrees, or in very few units.

    The jackknife has no interval if nobody disagrees, and too short a one if all disagreement is in
    one unit. If k of n units have a disagreement, the share of such units is at most the upper end
    of its exact interval (Clopper & Pearson 1934), for k = 0 1 − ((1 − confidence) / 2)^(1 / n). A
    unit disagrees by 1 at most, so 1 − that share / expected disagreement is the least that alpha
    can be. It is rather too low.

    Args:
        votes: shape (associations, classes).
        units: the number of passages or CATs with two votes or more.
        disagreeing: how many of them have a disagreement.
        confidence: of the interval.

    Returns:
        Lower bound, and 1; None if only one class has votes.

    >>> [round(end, 2) for end in unanimous_interval(np.array([[5, 0], [0, 5]] * 20), units=40)]
    [0.82, 1.0]
    """
    from scipy.special import betaincinv

    of = votes[votes.sum(axis=1) >= 2].sum(axis=0).astype(float)
    total = of.sum()
    if not units or (of > 0).sum() < 2:
        return None
    expected = (total**2 - of @ of) / (total * (total - 1))
    most = 1.0
    if disagreeing < units:
        most = float(betaincinv(disagreeing + 1, units - disagreeing, (1 + confidence) / 2))
    return [max(_LEAST, 1 - most / float(expected)), 1.0]


def shuffled(votes: Counts, rng: np.random.Generator) -> Counts:
    """The same labels in random order; each association keeps its number of labels.

    Args:
        votes: shape (associations, classes).
        rng: of the order.
    """
    count, classes = votes.shape
    labels = np.repeat(np.tile(np.arange(classes), count), votes.ravel())
    rows = np.repeat(np.arange(count), votes.sum(axis=1))
    cells = rows * classes + rng.permutation(labels)
    return np.bincount(cells, minlength=count * classes).reshape(count, classes)


def _jackknife(
    statistic: Callable[[Floats], Floats], units: Floats, *, confidence: float
) -> Interval | None:
    """Student's t interval around a statistic, from its pseudo-values; None if one is missing."""
    values = pseudo_values(statistic, units)
    if not np.isfinite(values).all():
        return None
    whole = float(statistic(units.sum(axis=0, keepdims=True))[0])
    return mean_interval(values - values.mean() + whole, confidence=confidence)


def by_cat(values: Floats, cats: Sequence[int] | NDArray[np.int64]) -> Floats:
    """Sums of the rows of associations by CAT.

    Args:
        values: shape (associations, k), such as ``contributions`` returns.
        cats: the number of each association's CAT, shape (associations,).

    Returns:
        Shape (CATs, k), in the order of the CATs' numbers.
    """
    _, place = np.unique(cats, return_inverse=True)
    sums = np.zeros((int(place.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, place, values)
    return sums

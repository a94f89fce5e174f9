"""Text-human: how often people associate targets with groups in passages (section 4.1).

The unit is a passage with a target. If several annotators labelled it, the majority decides.
Without a majority it counts as no group. An annotator's first label counts. The second label of the
same annotator is not counted: it shows how reliable labels are in a retest.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from curation.records import Bias, CriterionName, Evidence, GroupLabel, Interval, Rejection
from curation.stats.agreement import (
    Counts,
    alpha_within,
    by_cat,
    coefficient,
    contributions,
    interval,
    shuffled,
    unanimous_interval,
)
from curation.stats.correlations import spearman
from curation.text.times import read_time
from curation.trust.measure.again import labelled_order
from curation.trust.measure.automated import count_biases
from curation.trust.measure.framework import DEFAULT, Floats, Policies, distributions, of_counts
from curation.trust.measure.groups import Groups

ALGORITHM = 1
COLUMNS = ("passage", "target", "group", "annotator", "submitted_at")
SHUFFLES = 100  # of the labels, for the negative control
MUST_FAIL = 0.95  # the share of them that must fail
Units = Sequence[str] | NDArray[Any]
NONE = "none"
"""What a table has for no group, beside an empty cell."""
_KEPT = ("passage", "target", "group", "submitted_at", "text")
"""What is kept of a refused row; other columns may say who the annotator is."""


class _RefusedError(Exception):
    """Why a row is not a label: a reason code and the detail."""


class Labels(NamedTuple):
    """The labels of a table.

    Attributes:
        labels: valid labels, by time.
        refused: rows that are not, with their reasons.
    """

    labels: list[GroupLabel]
    refused: list[Rejection]


def read_labels(rows: Iterable[tuple[str, Mapping[str, Any]]], groups: Groups) -> Labels:
    """The labels in the rows of a table; a bad row is refused, and the others count.

    Args:
        rows: rows with the columns ``COLUMNS`` and, if there is one, ``text``; each with its place
            in the file, such as "labels.csv line 3".
        groups: the targets and groups that there are.
    """
    labels, texts, refused = dict[GroupLabel, None](), dict[str, str](), list[Rejection]()
    for place, row in rows:
        try:
            label = _label(row, groups)
            text = _cell(row, "text", needed=False)
            if text and texts.setdefault(label.passage, text) != text:
                raise _RefusedError(
                    "clashing_id", f"the passage {label.passage!r} has another text in a row above"
                )
            if label in labels:
                raise _RefusedError("duplicate_label", "an earlier row is the same")
            labels[label] = None
        except _RefusedError as error:
            code, detail = error.args
            kept = (name for name in _KEPT if not isinstance(row.get(name, []), (list, dict)))
            record = {name: row[name] for name in kept}
            refused.append(Rejection(code=code, detail=detail, where=place, record=record))
    return Labels(sorted(labels, key=lambda label: label.submitted_at), refused)


def _label(row: Mapping[str, Any], groups: Groups) -> GroupLabel:
    target = _cell(row, "target")
    if target not in groups.targets:
        raise _RefusedError("unlisted_target", f"there is no target {target!r}")
    group = _cell(row, "group", needed=False)
    if group.casefold() in {"", NONE} and group not in groups.words:
        group = ""
    elif group not in groups.words:
        raise _RefusedError(
            "unknown_group",
            f"there is no group {group!r}; the groups are {', '.join(groups.names)} and {NONE}",
        )
    time = _cell(row, "submitted_at")
    try:
        return GroupLabel(
            submitted_at=read_time(time),
            passage=_cell(row, "passage"),
            target=target,
            group=group or None,
            annotator=_cell(row, "annotator"),
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise _RefusedError("bad_value", f"{first['loc'][0]}: {first['msg']}") from None
    except ValueError as error:
        raise _RefusedError("bad_value", f"submitted_at {time!r}: {error}") from None


def _cell(row: Mapping[str, Any], name: str, *, needed: bool = True) -> str:
    value = row.get(name)
    if isinstance(value, (list, dict, bool)):
        raise _RefusedError("bad_value", f"{name} is not a text")
    text = "" if value is None else str(value).strip()
    if needed and not text:
        raise _RefusedError("missing_field", f"{name} is empty")
    return text


# --- agreement ----------------------------------------------------------------------------------


class Agreement(NamedTuple):
    """Krippendorff's alpha of nominal labels.

    Attributes:
        alpha: None if it is not defined.
        ci: its interval over units.
        units: how many units have two labels or more in a row.
        kappa: Fleiss' kappa.
    """

    alpha: float | None
    ci: Interval | None
    units: int
    kappa: float | None


def agreement(votes: Counts, units: Units | None = None, *, confidence: float) -> Agreement:
    """Krippendorff's alpha with its interval over units, and Fleiss' kappa.

    If nobody disagrees, the interval is that of ``unanimous_interval``. If all disagreement is in
    one unit, it begins no higher than that one: the jackknife sees how much one unit weighs, and
    not that the next one may disagree, too.

    Args:
        votes: shape (rows, classes), how many annotators chose each class.
        units: by default each row is a unit of its own.
        confidence: of the interval.
    """
    value, chosen = coefficient("alpha", votes), votes.sum(axis=1) >= 2
    of = np.arange(len(votes)) if units is None else np.asarray(units)
    several = len(np.unique(of[chosen]))
    if value is None:
        return Agreement(None, None, several, None)
    ends = interval("alpha", by_cat(contributions(votes), of), confidence=confidence)
    disagreeing = len(np.unique(of[chosen & (votes.max(axis=1) < votes.sum(axis=1))]))
    if disagreeing <= 1:
        few = unanimous_interval(
            votes, units=several, disagreeing=disagreeing, confidence=confidence
        )
        if few is not None and ends is not None:
            ends = [min(few[0], ends[0]), ends[1]]
        elif disagreeing == 0:
            ends = few
    ci = None if ends is None else (ends[0], ends[1])
    return Agreement(value, ci, several, coefficient("fleiss", votes))


def shuffled_agreement(
    votes: Counts, units: Units | None = None, *, seed: int, confidence: float
) -> tuple[float, Interval]:
    """The negative control: the labels are dealt to the units at random 100 times.

    Returns:
        The median alpha, which is about 0. At each end of the interval, 95 of the 100 intervals do
        not go beyond it; so it is below a threshold if 95 of 100 shuffles fail.
    """
    rng = np.random.default_rng(seed)
    mixed = (shuffled(votes, rng) for _ in range(SHUFFLES))
    found = [agreement(each, units, confidence=confidence) for each in mixed]
    lows, highs = zip(*(each.ci or (-1.0, 1.0) for each in found), strict=True)
    place = math.ceil(MUST_FAIL * SHUFFLES) - 1
    median = float(np.median([each.alpha or 0.0 for each in found]))
    return median, (sorted(lows, reverse=True)[place], sorted(highs)[place])


# --- votes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Passages:
    """The labels of passages as numbers.

    Attributes:
        groups: the groups and targets that the labels are of.
        units: the passage and target of each row.
        votes: shape (rows, k + 1), how many annotators chose each group, and none.
        repeated: shape (pairs, k + 1), the first and second label of the same annotator together.
        repeated_units: the row of each pair.
        later: labels beyond an annotator's second, which are not used.
        annotators: how many people there are.
    """

    groups: Groups
    units: tuple[tuple[str, str], ...]
    votes: Counts
    repeated: Counts
    repeated_units: tuple[int, ...]
    later: int
    annotators: int

    @property
    def undecided(self) -> int:
        """How many rows have no majority."""
        return int((2 * self.votes.max(axis=1) <= self.votes.sum(axis=1)).sum())

    # --- the measure ------------------------------------------------------------------------

    def majority(self) -> Floats:
        """Shape (rows, k): 1 for the group that more than half of the annotators chose."""
        half = self.votes.sum(axis=1, keepdims=True) / 2
        return np.asarray(self.votes[:, :-1] > half, float)

    def shares(self) -> Floats:
        """Shape (rows, k): the share of the annotators that chose each group."""
        return np.asarray(self.votes[:, :-1] / self.votes.sum(axis=1, keepdims=True), float)

    def biases(
        self,
        groups: Groups | None = None,
        policies: Policies = DEFAULT,
        *,
        confidence: float | None = None,
    ) -> list[Bias]:
        """The bias of each target.

        Args:
            groups: the groups, if they are in another order. Other words are not possible.
            policies: how strengths become a distribution.
            confidence: of all intervals of a target together; None for no intervals.

        Raises:
            CurationError: a group has other words than those that people labelled.
        """
        groups = groups or self.groups
        columns = labelled_order(groups, self.groups)
        chosen = self.majority()[:, columns]
        of = np.array([target for _, target in self.units])
        own = [chosen[of == target] for target in groups.targets]
        # In a fixed order, so that sums are the same in every order of the passages.
        units = {
            t: np.array(sorted(rows.tolist())) for t, rows in zip(groups.targets, own, strict=True)
        }
        soa, n = np.array([rows.sum(axis=0) for rows in own]), [len(rows) for rows in own]
        how: dict[str, Any] = {"units": units, "confidence": confidence} if confidence else {}
        return count_biases(groups, soa, policies, n=n, **how)

    # --- evidence ---------------------------------------------------------------------------

    def evidence(self, policies: Policies, *, confidence: float, seed: int) -> list[Evidence]:
        """The agreement of annotators, their retest, and label shares instead of the majority.

        Args:
            policies: how strengths become a distribution.
            confidence: of the intervals of alpha.
            seed: of the shuffled labels, the negative control of agreement.
        """
        names, found = np.array([passage for passage, _ in self.units], str), []
        if _several(self.votes):
            whole = agreement(self.votes, names, confidence=confidence)
            rows: Sequence[int] = range(len(self.units))
            found.append(self._of_labels(whole, "agreement", self.votes, rows, confidence))
            median, ends = shuffled_agreement(self.votes, names, seed=seed, confidence=confidence)
            control: dict[str, Any] = {"check": "control-shuffled-labels", "n": SHUFFLES}
            found.append(_alpha("agreement", median, ends, **control))
        if len(self.repeated):
            again = names[np.array(self.repeated_units, int)]
            twice = agreement(self.repeated, again, confidence=confidence)
            rows = self.repeated_units
            found.append(self._of_labels(twice, "retest", self.repeated, rows, confidence))
        return [*found, self._label_shares(of_counts(policies))]

    def _of_labels(
        self,
        found: Agreement,
        criterion: CriterionName,
        votes: Counts,
        rows: Sequence[int],
        confidence: float,
    ) -> Evidence:
        """Agreement over all passages, of each target, and within targets.

        Args:
            found: the agreement over all passages.
            criterion: of the evidence.
            votes: shape (n, k + 1).
            rows: the unit that each row of votes is of.
            confidence: of the interval.
        """
        targets = np.array([self.units[row][1] for row in rows], str)
        parts = []
        for target in self.groups.targets:
            if _several(own := votes[targets == target]):
                alpha = coefficient("alpha", own)
                parts.append(f"{target} {'not defined' if alpha is None else f'{alpha:.3f}'}")
        within, ends = alpha_within(votes, targets, confidence=confidence)
        facts = {"kappa": found.kappa, "by_target": ", ".join(parts) or "none"}
        facts |= {"within": within, "within_low": ends[0] if ends else None}
        detail = "" if found.alpha is not None else "the labels are all of one answer"
        own_fields: dict[str, Any] = {"n": found.units, "detail": detail, "facts": facts}
        return _alpha(criterion, found.alpha, found.ci, check="annotators", **own_fields)

    def _label_shares(self, policies: Policies) -> Evidence:
        """The rank correlation of p by the majority with p by shares of labels."""
        targets = list(self.groups.targets)
        soa = np.zeros((2, len(targets), len(self.groups.words)))
        place = [targets.index(target) for _, target in self.units]
        for own, values in zip(soa, (self.majority(), self.shares()), strict=True):
            np.add.at(own, place, values)
        p = distributions(soa, policies)
        known = ~np.isnan(p).any(axis=(0, 2))
        one, other = p[:, known, :-1].reshape(2, -1)
        rho = spearman(one.tolist(), other.tolist(), draws=0)["rho"] if known.sum() > 2 else None
        about: dict[str, Any] = {"criterion": "sensitivity", "check": "label_shares"}
        about["detail"] = "shares of labels instead of the majority's label"
        return Evidence(**about, statistic="Spearman's rho", value=rho, n=int(known.sum()))


def passages(labels: Sequence[GroupLabel], groups: Groups) -> Passages:
    """Labels as votes on passages.

    Args:
        labels: by time; an annotator's first label of a passage and target counts.
        groups: the groups and targets.
    """
    place = {group: at for at, group in enumerate((*groups.names, None))}
    given: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for label in labels:
        given[label.passage, label.target][label.annotator].append(place[label.group])
    units, one = tuple(sorted(given)), np.eye(len(place), dtype=np.int64)
    every = [(row, own) for row, unit in enumerate(units) for own in given[unit].values()]
    again = [(row, own) for row, own in every if len(own) > 1]
    votes = np.zeros((len(units), len(place)), np.int64)
    for row, own in every:
        votes[row, own[0]] += 1
    pairs = np.array([own[:2] for _, own in again], np.int64).reshape(-1, 2)
    return Passages(
        groups,
        units,
        votes,
        repeated=one[pairs].sum(axis=1),
        repeated_units=tuple(row for row, _ in again),
        later=sum(len(own) - 2 for _, own in again),
        annotators=len({label.annotator for label in labels}),
    )


def _several(votes: Counts) -> bool:
    """Whether some passage has the labels of two annotators or more."""
    return bool((votes.sum(axis=1) >= 2).any())


def _alpha(
    criterion: CriterionName, value: float | None, ci: Interval | None, **fields: Any
) -> Evidence:
    return Evidence(criterion=criterion, statistic="alpha", value=value, ci=ci, **fields)

"""Text-human: how often people associate targets with groups in passages (section 4.1).

The unit is a passage with a target. If several annotators labelled it, the majority decides.
Without a majority it counts as no group. An annotator's first label counts. The second label of the
same annotator is not counted: it shows how reliable labels are in a retest.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from curation.bias import Bias, CriterionName, Evidence, GroupLabel
from curation.records import Rejection
from curation.stats.agreement import Counts as Votes
from curation.stats.correlations import spearman
from curation.times import read_time
from curation.trust.framework import (
    DEFAULT,
    Floats,
    Policies,
    bias,
    distributions,
    of_counts,
    simultaneous,
)
from curation.trust.groups import Groups
from curation.trust.protocol.again import labelled_order
from curation.trust.protocol.agreement import SHUFFLES, Agreement, agreement, shuffled_agreement
from curation.trust.text.automated import intervals

ALGORITHM = 1
COLUMNS = ("passage", "target", "group", "annotator", "submitted_at")
NONE = "none"
"""What a table has for no group, beside an empty cell."""
_KEPT = ("passage", "target", "group", "submitted_at", "text")
"""What is kept of a refused row; other columns may say who the annotator is."""


class _RefusedError(Exception):
    """Why a row is not a label: a reason code and the detail."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


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
    labels, refused = list[tuple[GroupLabel, str]](), list[Rejection]()
    seen, texts = set[GroupLabel](), dict[str, str]()
    for place, row in rows:
        try:
            label = _label(row, groups)
            text = _cell(row, "text", needed=False)
            if text and texts.setdefault(label.passage, text) != text:
                raise _RefusedError(
                    "clashing_id", f"the passage {label.passage!r} has another text in a row above"
                )
            if label in seen:
                raise _RefusedError("duplicate_label", "an earlier row is the same")
        except _RefusedError as error:
            cells = {name: row[name] for name in _KEPT if name in row}
            record = {name: c for name, c in cells.items() if not isinstance(c, (list, dict))}
            refused.append(
                Rejection(code=error.code, detail=error.detail, where=place, record=record)
            )
            continue
        seen.add(label)
        labels.append((label, place))
    ordered = sorted((label for label, _ in labels), key=lambda label: label.submitted_at)
    return Labels(ordered, refused)


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
        submitted_at = read_time(time)
    except ValueError as error:
        raise _RefusedError("bad_value", f"submitted_at {time!r}: {error}") from None
    try:
        return GroupLabel(
            passage=_cell(row, "passage"),
            target=target,
            group=group or None,
            annotator=_cell(row, "annotator"),
            submitted_at=submitted_at,
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise _RefusedError("bad_value", f"{first['loc'][0]}: {first['msg']}") from None


def _cell(row: Mapping[str, Any], name: str, *, needed: bool = True) -> str:
    value = row.get(name)
    if isinstance(value, (list, dict, bool)):
        raise _RefusedError("bad_value", f"{name} is not a text")
    text = "" if value is None else str(value).strip()
    if needed and not text:
        raise _RefusedError("missing_field", f"{name} is empty")
    return text


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
    votes: Votes
    repeated: Votes
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
            groups: the groups, if they are in another order; see ``again``.
            policies: how strengths become a distribution.
            confidence: of all intervals of a target together; None for no intervals.

        Raises:
            NotPossibleError: a group has other words than those that people labelled.
        """
        groups, policies = groups or self.groups, of_counts(policies)
        columns = labelled_order(groups, self.groups)
        chosen = self.majority()
        biases = []
        for target in groups.targets:
            rows = [place for place, unit in enumerate(self.units) if unit[1] == target]
            counts = chosen[rows][:, columns]
            reference = groups.reference(target)
            ci = None
            shares = policies.normalise == "sum" and counts.any()
            if confidence and shares and reference is not None:
                every = Counter(tuple(row) for row in counts.astype(int).tolist() if any(row))
                each = simultaneous(confidence, len(groups.words))
                ci = intervals(sorted(every.items()), reference, confidence=each)
            biases.append(
                bias(
                    target,
                    counts.sum(axis=0).astype(int).tolist(),
                    groups=groups.names,
                    reference=reference,
                    policies=policies,
                    n=len(rows),
                    ci=ci,
                    undefined="" if rows else "missing_target",
                )
            )
        return biases

    def again(self, groups: Groups, policies: Policies) -> list[Bias]:
        """The measure with the groups in another order, or other policies.

        Raises:
            NotPossibleError: a group has other words than those that people labelled.
        """
        return self.biases(groups, policies)

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
            parts = {}
            for target in self.groups.targets:
                rows = np.array([unit[1] == target for unit in self.units], bool)
                if _several(self.votes[rows]):
                    own = agreement(self.votes[rows], names[rows], confidence=confidence)
                    parts[target] = "not defined" if own.alpha is None else f"{own.alpha:.3f}"
            listed = ", ".join(f"{target} {alpha}" for target, alpha in parts.items())
            whole = agreement(self.votes, names, confidence=confidence)
            found.append(_of_labels(whole, "agreement", by_target=listed))
            median, ends = shuffled_agreement(self.votes, names, seed=seed, confidence=confidence)
            found.append(
                Evidence(
                    criterion="agreement",
                    check="control-shuffled-labels",
                    statistic="alpha",
                    value=median,
                    ci=ends,
                    n=SHUFFLES,
                )
            )
        if len(self.repeated):
            again = names[np.array(self.repeated_units, int)]
            twice = agreement(self.repeated, again, confidence=confidence)
            found.append(_of_labels(twice, "retest"))
        return [*found, self._label_shares(of_counts(policies))]

    def _label_shares(self, policies: Policies) -> Evidence:
        """The rank correlation of p by the majority with p by shares of labels."""
        targets = list(self.groups.targets)
        soa = np.zeros((2, len(targets), len(self.groups.words)))
        place = [targets.index(target) for _, target in self.units]
        for at, values in enumerate((self.majority(), self.shares())):
            np.add.at(soa[at], place, values)
        majority, shares = (distributions(each, policies) for each in soa)
        known = ~(np.isnan(majority).any(axis=1) | np.isnan(shares).any(axis=1))
        one, other = (each[known, :-1].ravel() for each in (majority, shares))
        rho = spearman(one.tolist(), other.tolist(), draws=0)["rho"] if known.sum() > 2 else None
        return Evidence(
            criterion="sensitivity",
            check="label_shares",
            statistic="Spearman's rho",
            value=rho,
            n=int(known.sum()),
            detail="shares of labels instead of the majority's label",
        )


def passages(labels: Sequence[GroupLabel], groups: Groups) -> Passages:
    """Labels as votes on passages.

    Args:
        labels: by time; an annotator's first label of a passage and target counts.
        groups: the groups and targets.
    """
    place = {name: at for at, name in enumerate(groups.names)}
    none = len(place)
    given: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for label in labels:
        chosen = none if label.group is None else place[label.group]
        given[label.passage, label.target][label.annotator].append(chosen)
    units = tuple(sorted(given))
    votes = np.zeros((len(units), none + 1), np.int64)
    pairs, rows, later = list[tuple[int, int]](), list[int](), 0
    for row, unit in enumerate(units):
        for choices in given[unit].values():
            votes[row, choices[0]] += 1
            if len(choices) > 1:
                pairs.append((choices[0], choices[1]))
                rows.append(row)
            later += max(len(choices) - 2, 0)
    again = np.zeros((len(pairs), none + 1), np.int64)
    for at, pair in enumerate(pairs):
        for choice in pair:
            again[at, choice] += 1
    people = len({label.annotator for label in labels})
    return Passages(groups, units, votes, again, tuple(rows), later, people)


def _several(votes: Votes) -> bool:
    """Whether some passage has the labels of two annotators or more."""
    return bool((votes.sum(axis=1) >= 2).any())


def _of_labels(found: Agreement, criterion: CriterionName, *, by_target: str = "") -> Evidence:
    return Evidence(
        criterion=criterion,
        check="annotators",
        statistic="alpha",
        value=found.alpha,
        ci=found.ci,
        n=found.units,
        detail="" if found.alpha is not None else "the labels are all of one answer",
        facts={"kappa": found.kappa, "by_target": by_target or "none"},
    )

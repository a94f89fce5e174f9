"""Rows of the report on a dataset and its scores, and means over terms with their intervals."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from curation.bias import Criterion, CriterionName, Pair, Status, Subject
from curation.stats.intervals import FEW, Floats, mean_interval
from curation.stats.metrics import percent_interval
from curation.trust.protocol.dataset.data import Scored
from curation.wording import amount

CHANCE = 50.0
Rows = list[tuple[Criterion, tuple[Scored, ...]]]
"""Rows, each with the runs that it rests on."""


class About(NamedTuple):
    """The subject of rows, and the files with its numbers by criterion, or "" for all."""

    subject: Subject
    name: str
    evidence: Mapping[str, tuple[str, ...]]

    def row(
        self, criterion: CriterionName, check: str, status: Status, **fields: object
    ) -> Criterion:
        """A row about this subject; an interval may be a list, and lengths are cut to fit."""
        ci = fields.pop("ci", None)
        return Criterion.model_validate(
            {
                "subject": self.subject,
                "name": self.name[:200],
                "criterion": criterion,
                "check": check[:200],
                "status": status,
                "ci": None if ci is None else tuple(map(float, ci)),  # type: ignore[call-overload]
                "evidence": (*self.evidence.get("", ()), *self.evidence.get(criterion, ())),
                **fields,
            }
        )

    def not_run(
        self, criterion: CriterionName, check: str, computed: str, change: str
    ) -> Criterion:
        """A row that says what is needed to compute it."""
        return self.row(criterion, check, "not_run", computed=computed, change=change)


def share_of_terms(
    means: Floats, *, cats: int, confidence: float
) -> tuple[float | None, Pair | None, int]:
    """The mean of percentages over terms, its interval, and the number of terms.

    With fewer than five terms an interval says little, so there is none.

    Args:
        means: shape (terms,), NaN for terms without a value.
        cats: how many CATs there are in all.
        confidence: of the interval.
    """
    values = means[~np.isnan(means)]
    if not len(values):
        return None, None, 0
    ci = percent_interval(values, observations=cats, confidence=confidence)
    known = ci is not None and len(values) >= FEW
    return float(values.mean()), (ci[0], ci[1]) if ci and known else None, len(values)


def change_over_terms(
    differences: Floats, *, confidence: float
) -> tuple[float | None, Pair | None, int]:
    """The mean difference over terms with Student's interval, and the number of terms.

    If all terms differ by the same amount, the interval is that amount alone: there is no
    variance. With fewer than five terms there is no interval.

    Args:
        differences: shape (terms,), NaN for terms without a value.
        confidence: of the interval.
    """
    values = differences[~np.isnan(differences)]
    if not len(values):
        return None, None, 0
    mean = float(values.mean())
    if len(values) < FEW:
        return mean, None, len(values)
    ci = mean_interval(values, confidence=confidence) or [mean, mean]
    return mean, (ci[0], ci[1]), len(values)


def more_terms(value: float, ci: Sequence[float] | None, limit: float, terms: int) -> str:
    """About how many more terms decide whether a value is beyond a limit.

    The half-width of an interval shrinks with the root of the number of terms.

    >>> more_terms(56.0, (44.0, 68.0), 50.0, 10)  # the half-width must fall from 12 to 6
    'about 30 more terms, if the value stays'
    >>> more_terms(51.0, (41.0, 61.0), 50.0, 30)
    'more than 1,000 more terms, if the value stays'
    """
    if ci is None:
        return "CATs of at least 5 terms"
    distance, half = abs(value - limit), (ci[1] - ci[0]) / 2
    if distance < 1e-9 or half / distance > 100:
        return "many more terms: the value is at the limit"
    needed = math.ceil(terms * (half / distance) ** 2 - 1e-9) - terms
    if needed > 1000:
        return "more than 1,000 more terms, if the value stays"
    return f"about {amount(max(1, needed), 'more term')}, if the value stays"


def span(ci: Sequence[float] | None, digits: int = 1) -> str:
    """An interval as text.

    >>> span((1.0, 2.25)), span(None)
    ('[1.0, 2.2]', 'no interval')
    """
    return "no interval" if ci is None else f"[{ci[0]:.{digits}f}, {ci[1]:.{digits}f}]"


def with_files(row: Criterion, runs: Sequence[Scored]) -> Criterion:
    """A row that also names the files of the runs that it rests on."""
    files = dict.fromkeys((*row.evidence, *(run.where for run in runs if run.where)))
    return row.model_copy(update={"evidence": tuple(files)})


def hold(rows: Rows, silent: Collection[str]) -> list[Criterion]:
    """Make verdicts inconclusive if they rest on the ss of a model that knows no meaning.

    A model whose lms is not surely above chance cannot tell meaningful from unrelated
    associations. Whatever its ss does says nothing for or against the rules.

    Args:
        rows: rows with the runs that they use.
        silent: names of runs whose lms is not surely above chance.
    """
    held = []
    for row, runs in rows:
        row = with_files(row, runs)
        names = sorted({run.name for run in runs if run.name in silent})
        if names and row.status in ("pass", "fail"):
            row = row.model_copy(
                update={
                    "status": "inconclusive",
                    "computed": f"{row.computed}. The verdict would be {row.status}, but the lms "
                    f"of {', '.join(names)} is not surely above {CHANCE:g}, so it shows nothing",
                    "change": "a model whose lms is surely above 50",
                }
            )
        held.append(row)
    return held

"""Rows on a dataset and its scores, of the criteria that are not yet in the table of checks."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from curation.bias import Criterion, CriterionName, Status, Subject
from curation.trust.protocol.data import Scored
from curation.trust.protocol.over_terms import CHANCE

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

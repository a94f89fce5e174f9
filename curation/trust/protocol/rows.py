"""Rows of the trust report for a measure: from a run's evidence, or computed from several runs."""

from collections.abc import Sequence
from typing import Any

from curation.bias import Criterion, CriterionName, Evidence, Status
from curation.trust.protocol.measured import MeasureRun
from curation.trust.protocol.verdicts import of_control

CONTROL = "control-"
"""Evidence whose check begins like this is a negative control: it must fail its criterion."""


def row(
    run: MeasureRun,
    criterion: CriterionName,
    check: str,
    status: Status,
    *,
    computed: str,
    change: str = "",
    evidence: Sequence[str] = (),
    **fields: Any,
) -> Criterion:
    """A row about a run; ``evidence`` names the runs, by default only this one."""
    return Criterion(
        subject="measure",
        name=run.name,
        criterion=criterion,
        check=check,
        status=status,
        computed=computed,
        change=change,
        evidence=tuple(evidence) or (run.name,),
        **fields,
    )


def own_evidence(run: MeasureRun, criterion: CriterionName) -> list[Evidence]:
    """What a run computed for a criterion."""
    return [evidence for evidence in run.evidence if evidence.criterion == criterion]


def evidence_row(
    run: MeasureRun,
    evidence: Evidence,
    status: Status | None,
    *,
    change: str = "",
    **fields: Any,
) -> Criterion:
    """A row from evidence that a run computed.

    Evidence without a value is not applicable if it has no units either; its detail says why. With
    units it is inconclusive.
    """
    if evidence.value is None:
        status = "inconclusive" if evidence.n else "not_applicable"
        change = change if evidence.n else ""
    return row(
        run,
        evidence.criterion,
        evidence.check,
        status or "inconclusive",
        statistic=evidence.statistic,
        value=evidence.value,
        ci=evidence.ci,
        n=evidence.n,
        unit=evidence.unit,
        computed=evidence.detail or evidence.statistic,
        change=change,
        **{"p": evidence.p, **fields},
    )


def from_control(
    run: MeasureRun, evidence: Evidence, found: Status, *, threshold: float, **fields: Any
) -> Criterion:
    """The row of a negative control, whose status is "pass" if its criterion rejected it.

    Args:
        run: the run that the control belongs to.
        evidence: the control's statistic, with its sign.
        found: the status that the control would have as a measure.
        threshold: of the criterion.
        fields: more fields of the row.
    """
    status = of_control(found)
    made = evidence_row(
        run, evidence, status, threshold=threshold, change=_CHANGES[status], **fields
    )
    return made.model_copy(update={"kind": "control"})


_CHANGES: dict[str, str] = {
    "pass": "a control that meets the threshold; the criterion would then fail for this run",
    "fail": "the criterion cannot tell this run from its control, so it fails for the run too: use "
    "more targets, passages or annotators, or another measure",
    "inconclusive": "more units, so that the control can be seen to fail",
}

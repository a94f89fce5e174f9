"""Agreement and retest: do people's labels of passages repeat (section 7)?"""

import numpy as np

from curation.bias import Criterion, CriterionName, Evidence
from curation.trust.protocol.measured import HUMAN, MeasureRun
from curation.trust.protocol.rows import CONTROL, evidence_row, from_control, own_evidence, row
from curation.trust.protocol.verdicts import Limits, verdict
from curation.trust_settings import TrustSettings

SHUFFLED = f"{CONTROL}shuffled-labels"
BY_TARGET = "annotators_by_target"
SHUFFLES = 100  # of the labels, for the negative control
MUST_FAIL = 0.95  # the share of them that must fail


def agreement_criteria(run: MeasureRun, settings: TrustSettings) -> list[Criterion]:
    """The rows of agreement; it does not apply to a measure without people's labels.

    The threshold is of alpha. Other coefficients, and alpha by target, are named in the row.
    """
    todo = "label 40 passages by 5 annotators, as the paper did, and measure again"
    return _of_people(run, "agreement", settings.agreement, settings, todo)


def retest_criteria(run: MeasureRun, settings: TrustSettings) -> list[Criterion]:
    """The rows of retest: the same annotators label the same passages again."""
    todo = "let the same annotators label the same passages a second time, and measure again"
    return _of_people(run, "retest", settings.reliability, settings, todo)


def _of_people(
    run: MeasureRun,
    criterion: CriterionName,
    threshold: float,
    settings: TrustSettings,
    todo: str,
) -> list[Criterion]:
    found = own_evidence(run, criterion)
    if not found and run.measure != HUMAN:
        why = "an automatic measure: it has no annotators, and the same input gives the same result"
        return [row(run, criterion, "annotators", "not_applicable", computed=why)]
    if not found:
        why = "the run has no passage with several labels"
        return [row(run, criterion, "annotators", "not_run", computed=why, change=todo)]
    by_check: dict[str, list[Evidence]] = {}
    for evidence in found:
        by_check.setdefault(evidence.check, []).append(evidence)
    rows = []
    details = by_check.pop(BY_TARGET, [])
    for each in by_check.values():
        lead = next((e for e in each if "alpha" in e.statistic.lower()), each[0])
        parts = [lead.detail, *(_said(e) for e in each if e is not lead)]
        parts += [f"{_said(e)} for {e.detail}" for e in details if e.statistic == lead.statistic]
        lead = lead.model_copy(update={"detail": "; ".join(filter(None, parts))})
        rows.append(_row(run, lead, threshold, settings, todo))
        details = []
    return rows


def _said(evidence: Evidence) -> str:
    value = "undefined" if evidence.value is None else f"{evidence.value:.3f}"
    return f"{evidence.statistic} {value}"


def _row(
    run: MeasureRun, evidence: Evidence, threshold: float, settings: TrustSettings, todo: str
) -> Criterion:
    status = verdict(
        evidence.value,
        threshold=threshold,
        ci=evidence.ci,
        p=evidence.p,
        null=0.0,
        limits=Limits(settings.alpha, settings.power),
    )
    if evidence.check.startswith(CONTROL):
        return from_control(run, evidence, status, threshold=threshold)
    if evidence.value is not None and evidence.ci is None and evidence.p is None:
        todo = (
            "more passages: there is no interval for one passage, or if all disagreement is in one"
        )
    elif status == "pass":
        todo = f"a value below {threshold:g}, or an interval that contains 0"
    elif status == "fail":
        todo = "clearer guidelines and new labels; more labels of this sort cannot change it"
    elif more := _more(evidence, threshold):
        todo = f"about {more} more {evidence.unit}, if the value stays the same"
    return evidence_row(run, evidence, status, threshold=threshold, change=todo)


def _more(evidence: Evidence, threshold: float) -> int:
    """How many more units would put the interval on one side of the threshold; 0 if unknown.

    An interval's width falls with the root of the units.
    """
    value, ci = evidence.value, evidence.ci
    if value is None or ci is None or evidence.n == 0 or value == threshold:
        return 0
    bound = ci[1] - value if value < threshold else value - ci[0]
    times = (bound / abs(value - threshold)) ** 2
    return max(0, int(np.ceil(evidence.n * (times - 1))))

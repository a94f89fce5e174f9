"""Agreement and retest: do people's labels of passages repeat (section 7)?"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.bias import Criterion, CriterionName, Evidence, Pair
from curation.stats.agreement import (
    Counts,
    by_cat,
    coefficient,
    contributions,
    interval,
    shuffled,
    unanimous_interval,
)
from curation.trust.protocol.measured import HUMAN, MeasureRun
from curation.trust.protocol.rows import CONTROL, evidence_row, from_control, own_evidence, row
from curation.trust.protocol.verdicts import Limits, verdict
from curation.trust_settings import TrustSettings
from curation.wording import amount

SHUFFLED = f"{CONTROL}shuffled-labels"
BY_TARGET = "annotators_by_target"
STATISTIC = "Krippendorff's alpha, nominal"
SHUFFLES = 100  # of the labels, for the negative control
MUST_FAIL = 0.95  # the share of them that must fail
_ROUNDING = 1e-12
Units = Sequence[str] | NDArray[Any]
"""What each row of votes is of, such as its CAT or passage."""


def alpha_with_interval(
    votes: Counts, units: Units | None = None, *, confidence: float
) -> tuple[float | None, Pair | None]:
    """Krippendorff's alpha of nominal labels, with its interval over units.

    If nobody disagrees, the interval is that of ``unanimous_interval``.

    Args:
        votes: shape (rows, classes), how many annotators chose each class.
        units: by default each row is a unit of its own.
        confidence: of the interval.
    """
    value = coefficient("alpha", votes)
    if value is None:
        return None, None
    every = contributions(votes)
    if units is not None:
        every = by_cat(every, np.unique(units, return_inverse=True)[1].tolist())
    ends = interval("alpha", every, confidence=confidence)
    if ends is None and value > 1 - _ROUNDING:
        ends = unanimous_interval(votes, units=_several(votes, units), confidence=confidence)
    return value, None if ends is None else (ends[0], ends[1])


def _several(votes: Counts, units: Units | None) -> int:
    """How many units have two labels or more in a row."""
    chosen = votes.sum(axis=1) >= 2
    return int(chosen.sum()) if units is None else len(np.unique(np.asarray(units)[chosen]))


def label_agreement(
    votes: Counts,
    passages: Units | None = None,
    *,
    criterion: CriterionName = "agreement",
    check: str = "annotators",
    confidence: float = 0.95,
) -> Evidence:
    """Evidence of agreement: alpha over passages with its interval.

    Args:
        votes: shape (rows, groups + 1), how many annotators chose each group or none.
        passages: the passage of each row; by default each row is of another passage.
        criterion: agreement, or retest if ``votes`` has first and second labels.
        check: the check's name.
        confidence: of the interval.
    """
    value, ci = alpha_with_interval(votes, passages, confidence=confidence)
    kappa = coefficient("fleiss", votes)
    several = _several(votes, passages)
    detail = f"{amount(several, 'passage')} with two labels or more"
    detail += "" if kappa is None else f"; Fleiss' kappa {kappa:.3f}"
    return Evidence(
        criterion=criterion,
        check=check,
        statistic=STATISTIC,
        value=value,
        ci=ci,
        n=several,
        unit="passages",
        detail=detail,
    )


def shuffled_agreement(
    votes: Counts, seed: int, passages: Units | None = None, *, confidence: float = 0.95
) -> Evidence:
    """The negative control: the same labels, dealt to the passages at random; alpha is about 0.

    The upper end of the interval is that which 95 of 100 shuffles do not exceed, so it is below a
    threshold if 95 of 100 shuffles fail.

    Args:
        votes: as in ``label_agreement``.
        seed: of the shuffles.
        passages: as in ``label_agreement``.
        confidence: of the interval of each shuffle.
    """
    rng = np.random.default_rng(seed)
    values, lows, highs = list[float](), list[float](), list[float]()
    for _ in range(SHUFFLES):
        value, ci = alpha_with_interval(shuffled(votes, rng), passages, confidence=confidence)
        values.append(0.0 if value is None else value)
        lows.append(-1.0 if ci is None else ci[0])
        highs.append(1.0 if ci is None else ci[1])
    place = math.ceil(MUST_FAIL * SHUFFLES) - 1
    return Evidence(
        criterion="agreement",
        check=SHUFFLED,
        statistic=f"{STATISTIC} (signed), median of the shuffles",
        value=float(np.median(values)),
        ci=(sorted(lows, reverse=True)[place], sorted(highs)[place]),
        n=SHUFFLES,
        unit="shuffles",
        detail=f"the labels were dealt to the passages at random {SHUFFLES} times; the intervals "
        f"of {MUST_FAIL * SHUFFLES:.0f} of them are within this one at each end",
    )


def agreement_criteria(run: MeasureRun, settings: TrustSettings) -> list[Criterion]:
    """The rows of agreement; it does not apply to a measure without people's labels.

    The threshold is of alpha. Fleiss' kappa, and alpha by target, are named in the row.
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
        why = "the run has no passage with labels of several annotators"
        if criterion == "retest":
            why = "no annotator labelled a passage a second time"
        return [row(run, criterion, "annotators", "not_run", computed=why, change=todo)]
    details = [f"{each.detail} {_said(each.value)}" for each in found if each.check == BY_TARGET]
    rows = []
    for each in found:
        if each.check == BY_TARGET:
            continue
        if not each.check.startswith(CONTROL) and details:
            by_target = f"{each.detail}; by target: {', '.join(details)}"
            each = each.model_copy(update={"detail": by_target})
        rows.append(_row(run, each, threshold, settings, todo))
    return rows


def _said(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _row(
    run: MeasureRun, evidence: Evidence, threshold: float, settings: TrustSettings, todo: str
) -> Criterion:
    status = verdict(
        evidence.value,
        threshold=threshold,
        ci=evidence.ci,
        p=evidence.p,
        limits=Limits(settings.alpha, settings.power),
    )
    if evidence.check.startswith(CONTROL):
        return from_control(run, evidence, status, threshold=threshold)
    if evidence.value is not None and evidence.ci is None and evidence.p is None:
        todo = "more passages: there is no interval for one passage, or if all disagreement is in "
        todo += "one"
    elif status == "pass":
        todo = f"an interval that contains {threshold:g}, on other passages"
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

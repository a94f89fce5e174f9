"""Mitigation: does bias fall by an independent measure too, if a method reduces it (Table 7)?

Methods that reduce bias optimise a measure, so that measure falls. In the paper, one of ours rises
in six of eight cases. So a prior measure passes only if a measure of ours, which was not optimised,
confirms that bias fell.
"""

from collections.abc import Sequence

from curation.bias import Bias, Criterion, Status
from curation.trust.protocol.measured import MeasureRun, size
from curation.trust.protocol.pairs import (
    Change,
    change,
    change_row,
    differences,
    find,
    not_run_pair,
)
from curation.trust.protocol.verdicts import ANSWERED, decided
from curation.trust_settings import TrustSettings

ONLY_OPTIMISED = "improves only the optimised metric"


def mitigation_criteria(runs: Sequence[MeasureRun], settings: TrustSettings) -> list[Criterion]:
    """The rows of all pairs in ``[trust] mitigation``.

    A pair names two runs of one measure, AFTER and BEFORE. All measures of these two sources are
    compared: if the pair names runs of a prior measure, that is the metric that was optimised;
    else every prior measure of the sources is.
    """
    known = {run.name: run for run in runs}
    rows: list[Criterion] = []
    for pair in settings.mitigation:
        after, before, wrong = find(pair, known)
        if wrong:
            named = after or before
            rows += [not_run_pair(named, "mitigation", pair, wrong)] if named else []
        elif after and before:
            rows += _pair(after, before, runs, settings)
    return list({(r.name, r.check, r.evidence): r for r in rows}.values())


def _pair(
    after: MeasureRun, before: MeasureRun, runs: Sequence[MeasureRun], settings: TrustSettings
) -> list[Criterion]:
    both = [
        (one, other)
        for one in runs
        for other in runs
        if one.measure == other.measure
        and (one.source, other.source) == (after.source, before.source)
    ]
    ours = [pair for pair in both if not pair[0].prior]
    optimised = [
        pair for pair in both if pair[0].prior and (not after.prior or pair[0].name == after.name)
    ]
    found = {one.name: _fallen(one, other, settings) for one, other in both}
    confirmed = [_falls(found[one.name]) for one, _ in ours]
    rows = [_ours(one, other, found[one.name]) for one, other in ours]
    rows += [_optimised(one, other, found[one.name], ours, confirmed) for one, other in optimised]
    return rows


def _fallen(after: MeasureRun, before: MeasureRun, settings: TrustSettings) -> Change:
    """The mean change of the bias's size; of the plain value if the measure has no direction."""
    unsigned = after.measure == "manzini"  # it may be negative (Table 7), and stays so
    of = _value if unsigned else size
    return change(list(differences(after, before, of).values()), confidence=settings.confidence)


def _value(bias: Bias) -> float | None:
    return bias.value


def _falls(found: Change) -> bool | None:
    """Whether bias fell: None if the interval contains 0, or if there is none."""
    if decided(found.ci) != "pass" or found.mean is None:
        return None
    return found.mean < 0


def _ours(after: MeasureRun, before: MeasureRun, found: Change) -> Criterion:
    status = decided(found.ci)
    answer = {True: "bias fell", False: "bias grew", None: "undecided"}[_falls(found)]
    return _row(
        after,
        before,
        "independent",
        status,
        found,
        f"{after.name} after {before.name}: {answer}; {ANSWERED}",
        "targets that change in both directions"
        if status == "pass"
        else "more targets: the interval over targets must exclude 0",
    )


def _optimised(
    after: MeasureRun,
    before: MeasureRun,
    found: Change,
    ours: Sequence[tuple[MeasureRun, MeasureRun]],
    confirmed: Sequence[bool | None],
) -> Criterion:
    names = ", ".join(one.name for one, _ in ours)
    text = f"{after.name} after {before.name}"
    fell = _falls(found)
    status: Status
    if fell is not True:
        status = "inconclusive"
        text += ": bias did not fall by this measure" if fell is False else ": undecided"
        todo = "a method that reduces this measure, or more targets"
    elif True in confirmed:
        status, todo = "pass", "an independent measure by which bias does not fall"
        text += f": bias fell, also by an independent measure ({names})"
    elif False in confirmed:
        status, todo = "fail", "a method by which bias falls by an independent measure too"
        text += f": {ONLY_OPTIMISED}; bias grew by {names}"
    else:
        status = "inconclusive"
        todo = "more targets for the independent measure, whose interval contains 0"
        text += f": bias fell by this measure; {ONLY_OPTIMISED}, as far as {names} can tell"
        if not ours:
            todo = "measure both sources with «curation trust vectors»"
            text = f"{after.name} after {before.name}: no independent measure of these sources"
    return _row(after, before, "optimised", status, found, text, todo)


def _row(
    after: MeasureRun,
    before: MeasureRun,
    check: str,
    status: Status,
    found: Change,
    computed: str,
    todo: str,
) -> Criterion:
    return change_row(
        after,
        before,
        "mitigation",
        check,
        status,
        found,
        statistic="mean change of the size of bias",
        computed=computed,
        what_next=todo,
    )

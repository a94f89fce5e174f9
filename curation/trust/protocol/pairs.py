"""Pairs of runs, before and after something was done: a model was trained, or bias was reduced."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from curation.bias import Bias, Criterion, CriterionName, Pair, Status
from curation.stats.intervals import mean_interval
from curation.stats.tests import t_test
from curation.trust.framework import Floats
from curation.trust.protocol.measured import MeasureRun
from curation.trust.protocol.rows import row


class Change(NamedTuple):
    """The mean change over targets, its Student's t interval and p, and the number of targets."""

    mean: float | None
    ci: Pair | None
    p: float | None
    n: int


def change(values: Sequence[float] | Floats, *, confidence: float) -> Change:
    """The mean of differences over targets.

    >>> found = change([1.0, 2.0, 3.0], confidence=0.95)
    >>> found.mean, found.n, round(found.p, 3)
    (2.0, 3, 0.074)
    """
    array = np.asarray(values, float)
    if not len(array):
        return Change(None, None, None, 0)
    ci = mean_interval(array, confidence=confidence)
    return Change(
        float(array.mean()), None if ci is None else (ci[0], ci[1]), t_test(array), len(array)
    )


def differences(
    after: MeasureRun, before: MeasureRun, of: Callable[[Bias], float | None]
) -> dict[str, float]:
    """After less before, for each target that has a value in both."""
    known = {b.target: value for b in before.biases if (value := of(b)) is not None}
    return {
        bias.target: value - known[bias.target]
        for bias in after.biases
        if bias.target in known and (value := of(bias)) is not None
    }


def find(
    pair: Sequence[str], runs: Mapping[str, MeasureRun]
) -> tuple[MeasureRun | None, MeasureRun | None, str]:
    """The runs AFTER and BEFORE, and what is wrong with the pair, or "".

    A pair needs both runs, and the same groups in the same order.
    """
    after, before = (runs.get(name) for name in pair)
    missing = [name for name in pair if name not in runs]
    if missing:
        return after, before, f"there is no run {' and no run '.join(missing)}"
    if after and before and after.group_names != before.group_names:
        return after, before, f"{pair[0]} and {pair[1]} do not have the same groups"
    return after, before, ""


def change_row(
    after: MeasureRun,
    before: MeasureRun,
    criterion: CriterionName,
    check: str,
    status: Status,
    found: Change,
    *,
    statistic: str,
    computed: str,
    what_next: str,
) -> Criterion:
    """The row of a change between two runs, which is compared with no change."""
    return row(
        after,
        criterion,
        check,
        status,
        statistic=statistic,
        value=found.mean,
        ci=found.ci,
        n=found.n,
        unit="targets",
        p=found.p,
        threshold=0.0,
        computed=computed,
        change=what_next,
        evidence=(after.name, before.name),
    )


def not_run_pair(
    run: MeasureRun, criterion: CriterionName, pair: Sequence[str], wrong: str
) -> Criterion:
    """The row of a pair that cannot be compared; ``wrong`` says why."""
    return row(
        run,
        criterion,
        "pair",
        "not_run",
        computed=wrong,
        change=f"measure it, or correct the pair {', '.join(pair)} in [trust] {criterion}",
        evidence=tuple(pair),
    )

"""Amplification: does a process, such as training a model, make bias larger (section 6, Table 6)?

Two changes are computed for each pair of runs. The paper's own takes p before the process as the
reference, so it measures how far the process moves the associations, and where to. It says nothing
about whether bias grows, so the change of L1 to the reference of the run before is computed too.
L1 is never negative, so noise enlarges it: a run of few contexts would seem to amplify bias. A
pair passes if the question is answered, whatever the answer is.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import NormalDist

from curation.bias import Bias, Criterion
from curation.stats.intervals import difference_interval
from curation.trust.protocol.measured import MeasureRun
from curation.trust.protocol.pairs import (
    Change,
    change,
    change_row,
    differences,
    find,
    not_run_pair,
)
from curation.trust.protocol.rows import row
from curation.trust.protocol.verdicts import ANSWERED, decided
from curation.trust_settings import TrustSettings


def amplification_criteria(runs: Sequence[MeasureRun], settings: TrustSettings) -> list[Criterion]:
    """The rows of all pairs in ``[trust] amplification``, under the name of the run AFTER."""
    known = {run.name: run for run in runs}
    rows: list[Criterion] = []
    for pair in settings.amplification:
        after, before, wrong = find(pair, known)
        if wrong:
            named = after or before
            rows += [not_run_pair(named, "amplification", pair, wrong)] if named else []
        elif after and before and (after.prior or before.prior):
            why = "a prior measure has no distribution to compare; use one of ours"
            rows.append(row(after, "amplification", "pair", "not_applicable", computed=why))
        elif after and before:
            rows += _pair(after, before, settings)
    return rows


def changes(after: MeasureRun, before: MeasureRun) -> dict[str, tuple[float, ...]]:
    """The shares p after less those before, for each target: bias whose reference is p before."""
    known = {bias.target: bias.p for bias in before.biases if bias.p is not None}
    return {
        bias.target: tuple(a - b for a, b in zip(bias.p, known[bias.target], strict=True))
        for bias in after.biases
        if bias.p is not None and bias.target in known
    }


def _pair(after: MeasureRun, before: MeasureRun, settings: TrustSettings) -> list[Criterion]:
    moved = changes(after, before)
    first = after.group_names[0] if after.group_names else ""
    signed = change([each[0] for each in moved.values()], confidence=settings.confidence)
    distance = [sum(map(abs, each)) for each in moved.values()]
    far = f"mean L1 from p before: {sum(distance) / len(distance):.3f}" if distance else ""
    listed = ", ".join(
        f"{target} {each[0]:+.3f}{_mark(ci)}"
        for (target, each), ci in zip(moved.items(), _intervals(after, before, moved), strict=True)
    )
    gaps = differences(after, before, _l1_to(before))
    grown = change(list(gaps.values()), confidence=settings.confidence)
    noise = [_noise(run, gaps, confidence=settings.confidence) for run in (after, before)]
    if grown.ci is not None:
        # L1 is too large by up to its noise. p would be that of the interval without this.
        grown = grown._replace(ci=(grown.ci[0] - noise[0], grown.ci[1] + noise[1]), p=None)
    names = f"{after.name} after {before.name}"
    return [
        _row(
            after,
            before,
            f"towards-{first}",
            f"mean change of p of «{first}» since {before.name}",
            signed,
            f"{names}; {far}; by target (* if its interval excludes 0): {listed}",
        ),
        _row(
            after,
            before,
            "l1",
            f"mean change of L1 since {before.name}",
            grown,
            f"{names}; above 0 if bias is larger after; L1 of both runs is to the reference of "
            f"{before.name}. Noise makes L1 larger: on average by up to {noise[0]:.3f} after and "
            f"{noise[1]:.3f} before, by the intervals of the runs. The interval allows for it",
        ),
    ]


def _noise(run: MeasureRun, targets: Collection[str], *, confidence: float) -> float:
    """By how much noise can enlarge the mean L1 of targets; 0 without intervals.

    An absolute value of a normal error s is s √(2 / π) on average if the true value is 0, and is
    enlarged by less if it is not. The errors come from the intervals of p − p0.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    widths = [
        (pair[1] - pair[0]) / 2
        for bias in run.biases
        if bias.target in targets
        for pair in bias.ci or ()
        if pair is not None
    ]
    return math.sqrt(2 / math.pi) * sum(widths) / z / max(1, len(targets))


def _l1_to(run: MeasureRun) -> Callable[[Bias], float | None]:
    """L1 of a result's p from the references of a run."""
    references = {bias.target: bias.reference for bias in run.biases if bias.reference}

    def l1(bias: Bias) -> float | None:
        p0 = references.get(bias.target)
        if bias.p is None or p0 is None:
            return None
        return sum(abs(share - other) for share, other in zip(bias.p, p0, strict=True))

    return l1


def _intervals(
    after: MeasureRun, before: MeasureRun, moved: Mapping[str, tuple[float, ...]]
) -> list[tuple[float, float] | None]:
    """The interval of each target's change of the first group's p, from those of the runs."""
    sides = []
    for run in (after, before):
        known = {}
        for bias in run.biases:
            ends = bias.ci[0] if bias.ci else None
            if bias.p is not None and ends is not None:
                p0 = bias.reference[0]
                known[bias.target] = bias.p[0], (ends[0] + p0, ends[1] + p0)
        sides.append(known)
    found: list[tuple[float, float] | None] = []
    for target in moved:
        if target in sides[0] and target in sides[1]:
            (p, p_ci), (q, q_ci) = sides[0][target], sides[1][target]
            found.append(difference_interval(p, q, p_ci, q_ci))
        else:
            found.append(None)
    return found


def _mark(ci: tuple[float, float] | None) -> str:
    return "*" if decided(ci) == "pass" else ""


def _row(
    after: MeasureRun,
    before: MeasureRun,
    check: str,
    statistic: str,
    found: Change,
    computed: str,
) -> Criterion:
    status = decided(found.ci)
    more = "more targets, or longer texts: the interval over targets must exclude 0"
    return change_row(
        after,
        before,
        "amplification",
        check,
        status,
        found,
        statistic=statistic,
        computed=f"{computed}; {ANSWERED}",
        what_next="targets that change in both directions" if status == "pass" else more,
    )

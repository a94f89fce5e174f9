"""Hypothesis validity: amplification and mitigation, between pairs of runs (section 6).

**Amplification** (Table 6): does a process, such as training a model, make bias larger? Two changes
of a measure are computed for each pair. The paper's own takes p before the process as the
reference, so it measures how far the process moves the associations, and where to. It says nothing
about whether bias grows, so the change of L1 to the reference of the run before is computed too. L1
is never negative, so noise enlarges it: a run of few contexts would seem to amplify bias. A pair
passes if the question is answered, whatever the answer is.

**Mitigation** (Table 7): methods that reduce bias optimise a measure, so that measure falls. In the
paper, one of ours rises in six of eight cases. So a prior measure passes only if a measure of ours,
which was not optimised, confirms that bias fell. Words that the method was fitted on, or made
equal, say nothing: what judges it leaves them out.

**Scores**: the preferences of a model are a distribution over two groups, stereotype and
anti-stereotype, with p = (ss / 100, 1 − ss / 100). With the uniform reference L1 = |2 ss / 100 − 1|
and icat = lms (1 − L1). For amplification, the p of one run is the reference of the other. Shares
are those of a term's CATs, a tie is half; above a term they are means over terms.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from curation.records import Bias, Interval, Status
from curation.settings import TrustSettings
from curation.stats.intervals import FEW, Floats, difference_interval, mean_interval, pseudo_values
from curation.stats.metrics import icat
from curation.text.wording import some
from curation.trust.protocol import judges
from curation.trust.protocol.checks import Found
from curation.trust.protocol.datasets import (
    Scored,
    ScoresCase,
    change_over_terms,
    more_terms,
    span,
)
from curation.trust.protocol.measures import COUNTED, MeasureCase, MeasureRun, mean_change, size

Name = Literal["amplification", "mitigation"]

# --- pairs of runs of a measure -----------------------------------------------------------------


def _pairs(case: MeasureCase, name: Name) -> Iterator[tuple[MeasureRun, str]]:
    """The runs BEFORE of the pairs whose run AFTER is this one; with what is wrong, or ""."""
    for after, before in getattr(case.settings, name):
        if after == case.run.name:
            other = case.all.named(before)
            if other is None:
                yield case.run, f"there is no run {before}"
            elif other.group_names != case.run.group_names:
                yield other, f"{after} and {before} do not have the same groups"
            elif name == "amplification" and other.prior:
                yield other, f"{before} is a prior measure, which has no distribution to compare"
            else:
                yield other, ""
        elif before == case.run.name and case.all.named(after) is None:
            yield case.run, f"there is no run {after}"


def amplification_pairs(case: MeasureCase) -> Iterator[Found]:
    """Why a run has no change to show for amplification."""
    pairs = list(_pairs(case, "amplification"))
    before = {name for after, name in case.settings.amplification if case.all.named(after)}
    if case.run.prior:
        yield Found(reason="prior")
    elif not pairs:
        yield Found(reason="before" if case.run.name in before else "no_pair")
    yield from (Found(reason="wrong", facts={"wrong": wrong}) for _, wrong in pairs if wrong)


def mitigation_pairs(case: MeasureCase) -> Iterator[Found]:
    """Why a run has no change to show for mitigation."""
    wrong = [wrong for _, wrong in _pairs(case, "mitigation") if wrong]
    yield from (Found(reason="wrong", facts={"wrong": each}) for each in wrong)
    compared = [
        each
        for run in case.all.runs
        if run.measure == case.run.measure
        for each in _judged(case, run)
    ]
    if not wrong and not any(run.name == case.run.name for run, *_ in compared):
        yield Found(
            reason="before" if case.run.name in {b.name for *_, b in compared} else "no_pair"
        )


# --- amplification, of measures -----------------------------------------------------------------


def _amplified(case: MeasureCase) -> Iterator[MeasureRun]:
    for before, wrong in _pairs(case, "amplification"):
        if not wrong and not case.run.prior:
            yield before


def changes(after: MeasureRun, before: MeasureRun) -> dict[str, tuple[float, ...]]:
    """The shares p after less those before, for each target: bias whose reference is p before."""
    known = {bias.target: bias.p for bias in before.biases if bias.p is not None}
    return {
        bias.target: tuple(a - b for a, b in zip(bias.p, known[bias.target], strict=True))
        for bias in after.biases
        if bias.p is not None and bias.target in known
    }


def towards(case: MeasureCase) -> Iterator[Found]:
    """The mean change of p of the first group, with p before as the reference (Table 6)."""
    for before in _amplified(case):
        moved = changes(case.run, before)
        ends = _intervals(case.run, before, moved)
        distance = [sum(map(abs, each)) for each in moved.values()]
        group = (case.run.group_names or ("",))[0]
        facts = {
            "before": before.name,
            "group": group,
            "far": sum(distance) / len(distance) if distance else None,
            "targets": ", ".join(
                f"{target} {each[0]:+.3f}{'*' if ci and not ci[0] <= 0 <= ci[1] else ''}"
                for (target, each), ci in zip(moved.items(), ends, strict=True)
            ),
        }
        found = mean_change([m[0] for m in moved.values()], confidence=case.settings.confidence)
        yield Found(**found, name=group, facts=facts, evidence=(before.name,))


def grown(case: MeasureCase) -> Iterator[Found]:
    """The mean change of L1 to the reference of the run before.

    L1 is too large by up to its noise, so the interval is longer by it at each end. p would be that
    of the interval without this, so there is none.
    """
    for before in _amplified(case):
        references = {bias.target: bias.reference for bias in before.biases if bias.reference}
        after, start = (
            {
                bias.target: sum(
                    abs(a - b) for a, b in zip(bias.p, references[bias.target], strict=True)
                )
                for bias in run.biases
                if bias.p is not None and bias.target in references
            }
            for run in (case.run, before)
        )
        gaps = {target: l1 - start[target] for target, l1 in after.items() if target in start}
        found, noise = _without_noise(case.run, before, gaps, confidence=case.settings.confidence)
        facts = {"before": before.name, "noise": noise[0], "noise_before": noise[1]}
        yield Found(**found, facts=facts, evidence=(before.name,))


def _without_noise(
    after: MeasureRun, before: MeasureRun, gaps: Mapping[str, float], *, confidence: float
) -> tuple[dict[str, Any], list[float]]:
    """The mean change of sizes, whose interval is longer by the noise of both runs; and the noise.

    There is no p: it would be that of the shorter interval.
    """
    found = mean_change(list(gaps.values()), confidence=confidence) | {"p": None}
    noise = [_noise(run, gaps, confidence=confidence) for run in (after, before)]
    if found["ci"] is not None:
        found["ci"] = (found["ci"][0] - noise[0], found["ci"][1] + noise[1])
    return found, noise


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


def _intervals(
    after: MeasureRun, before: MeasureRun, moved: Mapping[str, tuple[float, ...]]
) -> list[Interval | None]:
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
    found: list[Interval | None] = []
    for target in moved:
        if target in sides[0] and target in sides[1]:
            (p, p_ci), (q, q_ci) = sides[0][target], sides[1][target]
            found.append(difference_interval(p, q, p_ci, q_ci))
        else:
            found.append(None)
    return found


# --- mitigation, of measures --------------------------------------------------------------------


def _judged(
    case: MeasureCase, run: MeasureRun
) -> Iterator[tuple[MeasureRun, MeasureRun, MeasureRun]]:
    """What a run judges of the pairs in ``[trust] mitigation``.

    A pair names two runs of one measure, AFTER and BEFORE. All measures of these two sources are
    compared: if the pair names runs of a prior measure, that is the metric that was optimised; else
    every prior measure of the sources is.

    Yields:
        The run; the run AFTER that the setting names; and the run of the same measure BEFORE.
    """
    for pair in case.settings.mitigation:
        after, before = (case.all.named(name) for name in pair)
        if after is None or before is None or after.group_names != before.group_names:
            continue
        same = case.all.named(f"{run.measure}/{before.source}")
        other = after.prior and run.prior and after.name != run.name
        if run.source == after.source and same is not None and not other:
            yield run, after, same


def _change(after: MeasureRun, before: MeasureRun, settings: TrustSettings) -> dict[str, Any]:
    """The mean change of the bias's size; of the plain value if the measure has no direction.

    Targets that the method was fitted on are left out. As in ``grown``, noise enlarges sizes: with
    more contexts after, a size falls though bias does not. The interval allows for it. Runs of word
    vectors have the same words and no contexts, so there it does not.
    """

    def of(bias: Bias) -> float | None:  # manzini may be negative (Table 7), and stays so
        return bias.value if after.measure == "manzini" else size(bias)

    known = {bias.target: value for bias in before.biases if (value := of(bias)) is not None}
    gaps = {
        bias.target: value - known[bias.target]
        for bias in after.biases
        if bias.target in known.keys() - after.fitted and (value := of(bias)) is not None
    }
    if after.measure in (*COUNTED, "contextual"):
        return _without_noise(after, before, gaps, confidence=settings.confidence)[0]
    return mean_change(list(gaps.values()), confidence=settings.confidence)


def _fell(found: Found) -> bool | None:
    """Whether bias fell: None if the interval contains 0, or if there is none."""
    if found.ci is None or found.value is None or found.ci[0] <= 0 <= found.ci[1]:
        return None
    return found.value < 0


def _own(after: MeasureRun, before: MeasureRun, settings: TrustSettings) -> Found:
    """What a measure of ours shows of a method, on words that the method was not fitted on.

    A run that ``debias`` made has the change on the words that were left. Another run of the same
    vectors judges if none of its groups' words was fitted.
    """
    facts: dict[str, Any] = {"before": before.name, "fitted": len(after.fitted)}
    for found in after.found("mitigation", "held_out"):
        if found.status:
            return Found(reason="none_left", facts={**facts, "why": found.why})
        return replace(found, facts=facts, evidence=(before.name,))
    if both := sorted(after.fitted & after.words):
        return Found(reason="fitted", facts={**facts, "some": some(both, 5)})
    return Found(**_change(after, before, settings), facts=facts, evidence=(before.name,))


def independent(case: MeasureCase) -> Iterator[Found]:
    """Whether bias fell or grew by a measure of ours, which the method did not optimise."""
    for before in {before.name: before for *_, before in _judged(case, case.run)}.values():
        if not case.run.prior:
            found = _own(case.run, before, case.settings)
            yield replace(found, facts={**found.facts, "answer": _ANSWERS[_fell(found)]})


def optimised(case: MeasureCase) -> Iterator[Found]:
    """Whether bias fell by the measure that a method optimises, and by one of ours."""
    for before in {before.name: before for *_, before in _judged(case, case.run)}.values():
        if not case.run.prior:
            continue
        found = Found(**_change(case.run, before, case.settings), evidence=(before.name,))
        ours = {
            run.name: _own(run, other, case.settings)
            for run in case.all.runs
            if not run.prior and run.source == case.run.source
            if (other := case.all.named(f"{run.measure}/{before.source}"))
        }
        fell = [_fell(each) for each in ours.values()]
        verdict: Status = "inconclusive"
        if _fell(found) is True and (True in fell or False in fell):
            verdict = "pass" if True in fell else "fail"
        listed = [
            f"{name}: {'not run' if each.reason else _ANSWERS[_fell(each)]}"
            for name, each in ours.items()
        ]
        facts = {"answer": _ANSWERS[_fell(found)], "verdict": verdict, "before": before.name}
        yield replace(found, facts={**facts, "ours": "; ".join(listed) or "none has both sources"})


_ANSWERS = {True: "bias fell", False: "bias grew", None: "undecided"}


# --- of scores ----------------------------------------------------------------------------------


def _runs(case: ScoresCase, name: Name) -> Iterator[tuple[Scored, Scored] | Found]:
    """The pairs whose run AFTER is in the group; a reason for each with a run that is not there."""
    by_name = {run.name: run for run in case.data.runs}
    own = {run.name for run in case.runs}
    for after, before in getattr(case.settings, name):
        facts = {"after": after, "before": before}
        if after in own and before in by_name:
            pair = by_name[after], by_name[before]
            if (~np.isnan(pair[0].ss) & ~np.isnan(pair[1].ss)).any():
                yield pair
                continue
        elif after not in own and (before not in own or after in by_name):
            continue
        yield Found(name=f"{after};{before}", reason="wrong", facts=facts)


def _means(
    case: ScoresCase, after: Scored, before: Scored
) -> tuple[Floats, Floats, Floats, Floats]:
    """The lms and ss of each term that both runs have, first of the later run."""
    common = ~np.isnan(after.ss) & ~np.isnan(before.ss)
    values = [
        case.data.means(np.where(common, part, np.nan))
        for part in (after.lms, after.ss, before.lms, before.ss)
    ]
    has = ~np.isnan(values[0])
    return values[0][has], values[1][has], values[2][has], values[3][has]


def _paired(after: Scored, before: Scored, **fields: Any) -> Found:
    facts = {"after": after.name, "before": before.name, **fields.pop("facts")}
    return Found(
        name=f"{after.name};{before.name}",
        facts=facts,
        runs=(after.name, before.name),
        evidence=(*after.files, *before.files),
        **fields,
    )


def share(case: ScoresCase) -> Iterator[Found]:
    """How the preferences of one run differ from those of another, which is the reference."""
    for pair in _runs(case, "amplification"):
        if isinstance(pair, Found):
            yield pair
            continue
        _, ss, _, reference = _means(case, *pair)
        value, ci, n = change_over_terms(ss - reference, confidence=case.settings.confidence)
        facts = {"ss": ss.mean(), "ss_before": reference.mean(), "l1": 2 * abs(value or 0) / 100}
        facts |= {"more": more_terms(value or 0, ci, 0.0, n)}
        yield _paired(*pair, value=value, ci=ci, n=n, facts=facts)


def distance(case: ScoresCase) -> Iterator[Found]:
    """How L1 to equal shares changes from one run to another, in hundredths."""
    for pair in _runs(case, "amplification"):
        if isinstance(pair, Found):
            continue
        _, ss, _, reference = _means(case, *pair)
        value, ci = _change_of_l1(ss, reference, case.settings)
        facts = {"l1": _l1(ss.mean()), "l1_before": _l1(reference.mean())}
        facts |= {"more": more_terms(value, ci, 0.0, len(ss))}
        yield _paired(*pair, value=value, ci=ci, n=len(ss), facts=facts)


def _l1(ss: Any) -> Any:
    """100 times L1 of preferences from equal shares: |2 ss − 100|."""
    return np.abs(2 * ss - 100)


def _change_of_l1(
    ss: Floats, before: Floats, settings: TrustSettings
) -> tuple[float, Sequence[float] | None]:
    """The change of L1 of the mean over terms, with the jackknife's interval."""
    change = float(_l1(ss.mean()) - _l1(before.mean()))
    if len(ss) < FEW:
        return change, None

    def statistic(sums: Floats) -> Floats:
        return np.asarray(_l1(sums[:, 0] / sums[:, 2]) - _l1(sums[:, 1] / sums[:, 2]))

    pseudo = pseudo_values(statistic, np.column_stack([ss, before, np.ones(len(ss))]))
    ends = mean_interval(pseudo - pseudo.mean() + change, confidence=settings.confidence)
    return change, ends or [change, change]


def nearer(case: ScoresCase) -> Iterator[Found]:
    """Whether ss moves toward 50 and lms does not fall.

    It passes only if ss is surely nearer to 50 and lms surely does not fall by more than the
    margin. A gain of icat that comes from lms alone does not pass.
    """
    settings = case.settings
    for pair in _runs(case, "mitigation"):
        if isinstance(pair, Found):
            yield pair
            continue
        lms, ss, lms_before, ss_before = _means(case, *pair)
        change, l1_ends = _change_of_l1(ss, ss_before, settings)
        gain = -change / 2
        ends = None if l1_ends is None else (-l1_ends[1] / 2, -l1_ends[0] / 2)
        fall, fall_ci, n = change_over_terms(lms - lms_before, confidence=settings.confidence)
        moved = Found(value=gain, ci=ends)
        better: Status = judges.exceeded(moved, 0.0, settings) if ends else "inconclusive"
        kept = judges.reached(Found(value=fall, ci=fall_ci), -settings.margin, settings)
        kept = "fail" if fall_ci is not None and fall_ci[1] < 0 else kept
        now, then = icat(lms.mean(), ss.mean()), icat(lms_before.mean(), ss_before.mean())
        facts = {
            **{"ss": ss.mean(), "ss_before": ss_before.mean()},
            **{"lms_change": fall, "lms_ends": span(fall_ci), "icat_change": now - then},
            "by_ss": icat(lms_before.mean(), ss.mean()) - then,
            "verdict": judges.worst(better, kept),
            "more": more_terms(gain, ends, 0.0, n)
            if better == "inconclusive"
            else more_terms(fall or 0, fall_ci, -settings.margin, n),
        }
        yield _paired(*pair, value=gain, ci=ends, n=n, facts=facts)

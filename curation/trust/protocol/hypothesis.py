"""Hypothesis validity: amplification and mitigation, between pairs of runs (section 6).

**Amplification** (Table 6): does a process, such as training a model, make bias larger? Two changes
of a measure are computed for each pair. The paper's own takes p before the process as the
reference, so it measures how far the process moves the associations, and where to. It says nothing
about whether bias grows, so the change of L1 to the reference of the run before is computed too. L1
is never negative, so noise enlarges it: a run of few contexts would seem to amplify bias. The
verdict says which way: bias grew, bias fell, or neither is shown.

**Mitigation** (Table 7): methods that reduce bias optimise a measure, so that measure falls. In the
paper, one of ours rises in six of eight cases. So bias fell only if a measure of ours, which was
not optimised, confirms it. Words that the method was fitted on, or made
equal, say nothing: what judges it leaves them out.

**Scores**: the preferences of a model are a distribution over two groups, stereotype and
anti-stereotype, with p = (ss / 100, 1 − ss / 100). With the uniform reference L1 = |2 ss / 100 − 1|
and icat = lms (1 − L1). For amplification, the p of one run is the reference of the other. Shares
are those of a term's CATs, a tie is half; above a term they are means over terms.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from curation.campaign.settings import TrustSettings
from curation.records import Interval, Status
from curation.stats.intervals import FEW, Floats, difference_interval, mean_interval, pseudo_values
from curation.stats.metrics import icat
from curation.text.wording import amount, some
from curation.trust.measure.framework import COUNTED, most
from curation.trust.protocol.cases import (
    MeasureCase,
    MeasureRun,
    ScoresCase,
    mean_change,
    more_terms,
    of_runs,
    span,
)
from curation.trust.protocol.checks import Found, changed, reached, words

Name = Literal["amplification", "mitigation"]

# --- pairs of runs of a measure -----------------------------------------------------------------


def _pairs(case: MeasureCase, name: Name) -> tuple[list[MeasureRun], list[Found]]:
    """The runs BEFORE of the pairs whose run AFTER is this one; and what is wrong with others."""
    runs, wrong = list[MeasureRun](), list[str]()
    for after, before in getattr(case.settings, name):
        other = case.all.named(before)
        if after != case.run.name:
            if before == case.run.name and case.all.named(after) is None:
                wrong.append(f"there is no run {after}")
        elif other is None:
            wrong.append(f"there is no run {before}")
        elif name == "amplification" and other.prior:
            wrong.append(f"{before} is a prior measure, which has no distribution to compare")
        elif why := _unlike(case.run, other):
            wrong.append(why)
        elif not case.run.prior:
            runs.append(other)
    return runs, [Found(reason="wrong", facts={"wrong": each}) for each in wrong]


def _unlike(after: MeasureRun, before: MeasureRun) -> str:
    """Why the values of two runs cannot be compared; "" if they can."""
    both = f"{after.name} and {before.name}"
    if after.group_names != before.group_names:
        return f"{both} do not have the same groups"
    if after.kind != before.kind:
        return (
            f"{both} cannot be compared: they have {after.kind} and {before.kind}, and only the "
            "sizes of one kind say whether bias grew"
        )
    if after.words != before.words:
        return f"{both} were measured with other words of the groups"
    windows = [[v for v in r.variant.split("+") if "window-" in v] for r in (after, before)]
    if after.measure == before.measure and windows[0] != windows[1]:
        return f"{both} have contexts of other lengths"
    own, other = after.policies, before.policies
    if own.normalise != other.normalise or (
        after.measure not in COUNTED and own.negative != other.negative
    ):
        return f"{both} have other policies: normalise and negative in [trust] must be the same"
    return ""


def amplification_pairs(case: MeasureCase) -> Iterator[Found]:
    """Why a run has no change to show for amplification."""
    runs, wrong = _pairs(case, "amplification")
    before = {name for after, name in case.settings.amplification if case.all.named(after)}
    if case.run.prior or not (runs or wrong):
        other = "before" if case.run.name in before else "no_pair"
        yield Found(reason="prior" if case.run.prior else other)
    yield from wrong


def mitigation_pairs(case: MeasureCase) -> Iterator[Found]:
    """Why a run has no change to show for mitigation."""
    _, wrong = _pairs(case, "mitigation")
    yield from wrong
    if not wrong and not _judged(case, case.run):
        same = (run for run in case.all.runs if run.measure == case.run.measure)
        before = {each.name for run in same for each in _judged(case, run)}
        yield Found(reason="before" if case.run.name in before else "no_pair")


# --- amplification, of measures -----------------------------------------------------------------


def changes(
    run: MeasureRun, references: Mapping[str, Sequence[float]]
) -> dict[str, tuple[float, ...]]:
    """The shares p less those of a reference, for each target that has both."""
    return {
        bias.target: tuple(a - b for a, b in zip(bias.p, references[bias.target], strict=True))
        for bias in run.biases
        if bias.p is not None and bias.target in references
    }


def towards(case: MeasureCase) -> Iterator[Found]:
    """The mean change of p of the first group, with p before as the reference (Table 6)."""
    for before in _pairs(case, "amplification")[0]:
        moved = changes(case.run, {bias.target: bias.p for bias in before.biases if bias.p})
        later, earlier, texts = _intervals(case.run), _intervals(before), list[str]()
        for target, (change, *_) in moved.items():
            star = ""
            if target in later and target in earlier:
                (p, p_ci), (q, q_ci) = later[target], earlier[target]
                low, high = difference_interval(p, q, p_ci, q_ci)
                star = "" if low <= 0 <= high else "*"
            texts.append(f"{target} {change:+.3f}{star}")
        distance = [sum(map(abs, each)) for each in moved.values()]
        group = (case.run.group_names or ("",))[0]
        facts: dict[str, Any] = {"before": before.name, "group": group, "targets": ", ".join(texts)}
        facts["far"] = sum(distance) / len(distance) if distance else None
        found = mean_change([m[0] for m in moved.values()], confidence=case.settings.confidence)
        facts["way"] = "towards" if (found.value or 0) > 0 else "away from"
        named = f"{group}:{before.name}"
        yield replace(found, name=named, facts=facts, evidence=(before.name,))


def _intervals(run: MeasureRun) -> dict[str, tuple[float, Interval]]:
    """The first group's p of each target whose p has an interval, with this interval."""
    return {
        bias.target: (bias.p[0], (ends[0] + bias.reference[0], ends[1] + bias.reference[0]))
        for bias in run.biases
        if bias.p is not None and bias.ci and (ends := bias.ci[0]) is not None
    }


def grown(case: MeasureCase) -> Iterator[Found]:
    """The mean change of L1 to the reference of the run before."""
    for before in _pairs(case, "amplification")[0]:
        found = _growth(case, case.run, before, noisy=True)
        facts = {"before": before.name, **found.facts}
        yield replace(found, name=before.name, facts=facts, evidence=(before.name,))


def _own_reference(case: MeasureCase, *runs: MeasureRun) -> Found | None:
    """Why the distance of runs from their reference is not compared: it is one of their own.

    A run that is its own reference has a bias of 0 by definition, so bias grows from it, whatever
    is compared; with a reference on the same texts, part of this remains.
    """
    for run in (run for run in runs if run.reference):
        reference = case.all.named(run.reference)
        if run.name == run.reference or (reference and reference.texts == run.texts):
            facts = {"own": run.name, "reference": run.reference}
            return Found(reason="own_reference", facts=facts)
    return None


def _growth(case: MeasureCase, after: MeasureRun, before: MeasureRun, *, noisy: bool) -> Found:
    """The mean change of the size of bias over targets, without those that a method was fitted on.

    Args:
        case: has the confidence of the interval, and all runs.
        after: the run after.
        before: the run before, whose reference is that of both.
        noisy: whether the noise of the runs may differ. L1 is too large by up to its noise, so the
            interval is longer by it at each end, and there is no p, which would be that of the
            interval without it. A run without intervals may have any noise.
    """
    confidence = case.settings.confidence
    if (own := _own_reference(case, before, after)) is not None:
        return own
    later, earlier = _sizes(after, before), _sizes(before, before)
    gaps = {
        target: value - earlier[target]
        for target, value in later.items()
        if target in earlier.keys() - after.fitted
    }
    found = mean_change(list(gaps.values()), confidence=confidence)
    facts: dict[str, Any] = {"undecided": "", "decides": "more targets"}
    if not noisy:
        return replace(found, facts=facts)
    facts["decides"] += ", or longer texts"
    largest = {b.target: most(b.reference) for b in before.biases if b.reference}
    noise = [_noise(run, gaps, largest, confidence=confidence) for run in (after, before)]
    ci = found.ci and (found.ci[0] - noise[0][0], found.ci[1] + noise[1][0])
    facts |= {"noise": noise[0][0], "noise_before": noise[1][0]}
    lacking = [
        f"{amount(number, 'target')} of {run.name}"
        for run, (_, number) in zip((after, before), noise, strict=True)
        if number
    ]
    if lacking:
        without = " and ".join(lacking)
        facts["undecided"] = f"No interval for {without}: each may be all noise, and counts as such"
        facts["decides"] = "texts of more documents, or another normalisation than softmax"
        if not all(run.policies.in_simplex for run in (after, before)):
            ci = None  # L1 has no largest value
    return replace(found, p=None, ci=ci, facts=facts)


def _sizes(run: MeasureRun, before: MeasureRun) -> dict[str, float]:
    """How large the bias of each target is: L1 to the reference of the run before.

    Of a prior measure it is the absolute value; that of Manzini et al. may be negative (Table 7),
    and stays so.
    """
    if run.prior:
        values = {bias.target: bias.value for bias in run.biases if bias.value is not None}
        return values if run.measure == "manzini" else {t: abs(v) for t, v in values.items()}
    references = {bias.target: bias.reference for bias in before.biases if bias.reference}
    return {target: sum(map(abs, each)) for target, each in changes(run, references).items()}


def _noise(
    run: MeasureRun, targets: Collection[str], largest: Mapping[str, float], *, confidence: float
) -> tuple[float, int]:
    """By how much noise can enlarge the mean L1 of targets, and how many have no interval.

    An absolute value of a normal error s is s √(2 / π) on average if the true value is 0, and is
    enlarged by less if it is not. The errors come from the intervals of p − p0. A target without
    an interval may be all noise: it counts with the largest L1 that there is.
    """
    factor = math.sqrt(2 / math.pi) / NormalDist().inv_cdf((1 + confidence) / 2)
    total, lacking = 0.0, 0
    for bias in run.biases:
        if bias.target in targets:
            pairs = [pair for pair in bias.ci or () if pair is not None]
            lacking += not pairs
            halves = sum((high - low) / 2 for low, high in pairs)
            total += factor * halves if pairs else largest[bias.target]
    return total / max(1, len(targets)), lacking


# --- mitigation, of measures --------------------------------------------------------------------


def _judged(case: MeasureCase, run: MeasureRun) -> list[MeasureRun]:
    """The runs BEFORE with which a run judges the pairs in ``[trust] mitigation``.

    A pair names two runs of one measure, AFTER and BEFORE. All measures of these two sources are
    compared: if the pair names runs of a prior measure, that is the metric that was optimised; else
    every prior measure of the sources is.
    """
    found = {}
    for pair in case.settings.mitigation:
        after, before = (case.all.named(name) for name in pair)
        if after is None or before is None or _unlike(after, before):
            continue
        same = case.all.named(f"{run.measure}/{before.source}")
        other = after.prior and run.prior and after.name != run.name
        if run.source == after.source and same is not None and not other:
            found[same.name] = same
    return list(found.values())


def _own(case: MeasureCase, after: MeasureRun, before: MeasureRun) -> Found:
    """What a measure of ours shows of a method, on words that the method was not fitted on.

    A run that ``debias`` made has the change on the words that were left. Another run of the same
    vectors judges if none of its groups' words was fitted.
    """
    facts: dict[str, Any] = {"before": before.name, "fitted": len(after.fitted)}
    facts |= {"undecided": "", "decides": "more targets"}
    if (own := _own_reference(case, before, after)) is not None:
        return own
    for found in after.found("mitigation", "held_out"):
        if found.status:
            return Found(reason="none_left", facts={**facts, "why": found.why})
        return replace(found, facts=facts, evidence=(before.name,))
    if both := sorted(after.fitted & after.words):
        return Found(reason="fitted", facts={**facts, "some": some(both, 5)})
    # Runs of word vectors have the same words and no contexts, so their noise does not differ.
    found = _growth(case, after, before, noisy=after.measure in (*COUNTED, "contextual"))
    return replace(found, facts={**facts, **found.facts}, evidence=(before.name,))


def independent(case: MeasureCase) -> Iterator[Found]:
    """Whether bias fell or grew by a measure of ours, which the method did not optimise."""
    for before in _judged(case, case.run) if not case.run.prior else ():
        yield replace(_own(case, case.run, before), name=before.name)


def optimised(case: MeasureCase) -> Iterator[Found]:
    """Whether bias fell by the measure that a method optimises, and by one of ours.

    If bias grew by one of ours, it grew, whatever the metric that the method optimises does. It
    fell if both say so.
    """
    for before in _judged(case, case.run) if case.run.prior else ():
        found = _growth(case, case.run, before, noisy=False)
        ours = {
            run.name: _own(case, run, other)
            for run in case.all.runs
            if not run.prior and run.source == case.run.source
            if (other := case.all.named(f"{run.measure}/{before.source}"))
        }
        here = changed(found, 0.0, case.settings)
        answers = {
            name: "not_run" if each.reason else changed(each, 0.0, case.settings)
            for name, each in ours.items()
        }
        verdict: Status = "not_shown"
        if "grew" in answers.values():
            verdict = "grew"
        elif here == "fell" and "fell" in answers.values():
            verdict = "fell"
        listed = "; ".join(f"{name}: {words().verdict(each)}" for name, each in answers.items())
        facts = {"answer": words().verdict(here), "verdict": verdict, "before": before.name}
        facts["ours"] = listed or "none has both sources"
        yield replace(found, name=before.name, facts=facts, evidence=(before.name,))


# --- of scores ----------------------------------------------------------------------------------


def _compared(
    case: ScoresCase, name: Name, of: Callable[[Floats, Floats, Floats, Floats], Found]
) -> Iterator[Found]:
    """What is found of each pair whose run AFTER is in the group; a reason if a run is missing.

    Args:
        case: has the pairs.
        name: of the setting with the pairs.
        of: gets lms and ss of the terms that both runs have, after and before.
    """
    by_name = {run.name: run for run in case.data.runs}
    own = {run.name for run in case.runs}
    for after, before in getattr(case.settings, name):
        found = Found(reason="wrong")
        if after in own and before in by_name:
            runs = by_name[after], by_name[before]
            both = [each for run in runs for each in (run.lms, run.ss)]
            means = np.array(case.data.paired_means(*both))
            means = means[:, ~np.isnan(means[0])]
            if means.size:
                found = of_runs(of(*means), *runs)
        elif after not in own and (before not in own or after in by_name):
            continue
        facts = {"after": after, "before": before, **found.facts}
        yield replace(found, name=f"{after};{before}", facts=facts)


def share(case: ScoresCase) -> Iterator[Found]:
    """How the preferences of one run differ from those of another, which is the reference."""

    def of(_: Floats, ss: Floats, __: Floats, reference: Floats) -> Found:
        found = case.change(ss - reference)
        facts = {"ss": ss.mean(), "ss_before": reference.mean()}
        facts |= {"l1": 2 * abs(found.value or 0) / 100, "more": more_terms(found, 0.0)}
        facts["way"] = "rose" if (found.value or 0) > 0 else "fell"
        return replace(found, facts=facts)

    return _compared(case, "amplification", of)


def distance(case: ScoresCase) -> Iterator[Found]:
    """How L1 to equal shares changes from one run to another, in hundredths."""

    def of(_: Floats, ss: Floats, __: Floats, reference: Floats) -> Found:
        found = _change_of_l1(ss, reference, case.settings)
        facts = {"l1": _l1(ss.mean()), "l1_before": _l1(reference.mean())}
        return replace(found, facts={**facts, "more": more_terms(found, 0.0)})

    return (found for found in _compared(case, "amplification", of) if not found.reason)


def _l1(ss: Any) -> Any:
    """100 times L1 of preferences from equal shares: |2 ss − 100|."""
    return np.abs(2 * ss - 100)


def _change_of_l1(ss: Floats, before: Floats, settings: TrustSettings) -> Found:
    """The change of L1 of the mean over terms, with the jackknife's interval."""
    change, ci = float(_l1(ss.mean()) - _l1(before.mean())), None

    def statistic(sums: Floats) -> Floats:
        return np.asarray(_l1(sums[:, 0] / sums[:, 2]) - _l1(sums[:, 1] / sums[:, 2]))

    if len(ss) >= FEW:
        pseudo = pseudo_values(statistic, np.column_stack([ss, before, np.ones(len(ss))]))
        ends = mean_interval(pseudo - pseudo.mean() + change, confidence=settings.confidence)
        ci = ends or [change, change]
    return Found(value=change, ci=ci, n=len(ss))


def nearer(case: ScoresCase) -> Iterator[Found]:
    """Whether ss moves toward 50 and lms does not fall.

    Bias fell only if ss is surely nearer to 50 and lms surely does not fall by more than the
    margin. If lms surely falls, the method fails, also if ss is nearer to 50.
    """
    settings = case.settings

    def of(lms: Floats, ss: Floats, lms_before: Floats, ss_before: Floats) -> Found:
        moved, fall = _change_of_l1(ss, ss_before, settings), case.change(lms - lms_before)
        ends = moved.ci and (-moved.ci[1] / 2, -moved.ci[0] / 2)
        gain = replace(moved, value=-(moved.value or 0.0) / 2, ci=ends)
        change = changed(moved, 0.0, settings)
        kept = reached(fall, -settings.margin, settings)
        verdict: Status = change if kept == "pass" or change == "grew" else "not_shown"
        if fall.ci is not None and fall.ci[1] < 0 and change != "grew":
            verdict = "fail"
        now, then = icat(lms.mean(), ss.mean()), icat(lms_before.mean(), ss_before.mean())
        undecided, limit = (gain, 0.0) if change == "not_shown" else (fall, -settings.margin)
        facts = {
            "ss": ss.mean(),
            "ss_before": ss_before.mean(),
            "lms_change": fall.value,
            "lms_ends": span(fall.ci),
            "icat_change": now - then,
            "by_ss": icat(lms_before.mean(), ss.mean()) - then,
            "verdict": verdict,
            "more": more_terms(undecided, limit),
        }
        return replace(gain, facts=facts)

    return _compared(case, "mitigation", of)

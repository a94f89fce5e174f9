"""Sensitivity: how far results depend on what should not matter (section 7, Table 8).

Table 8 of the paper compares the results of a measure with those of the defaults by Spearman's rho
and R². Its code draws shorter lists once; here they are drawn many times, when the measure is
computed (``again``). Two of its columns say nothing: for two groups L2 is L1 / √2, and the softmax
of counts keeps only which count is larger. For scores, it is how far lms and ss move with rules,
normalisation, writing, domains and terms.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from curation.campaign.settings import TrustSettings
from curation.kinds import GOLDS
from curation.records import Bias, Status
from curation.stats.artefacts import length
from curation.stats.intervals import Floats, t_quantile
from curation.stats.tests import holm
from curation.text.wording import amount
from curation.trust.measure.again import Paired, alike, paired
from curation.trust.measure.framework import AUTOMATED, Negative, Normalise, Policies, biases
from curation.trust.measure.groups import Groups
from curation.trust.protocol.cases import (
    DatasetCase,
    MeasureCase,
    Outcome,
    Scored,
    ScoresCase,
    counted,
    lms_and_ss,
    more_terms,
    more_to_decide,
    of_runs,
    span,
)
from curation.trust.protocol.checks import FEWEST, Found, within, worst
from curation.trust.protocol.correlated import of_groups, predictions

LOST = 0.1  # a treatment that gives no result for a larger share of the targets cannot pass

# --- of a measure -------------------------------------------------------------------------------


def _again(case: MeasureCase, policies: Policies) -> list[Bias]:
    """The results of a run under other policies, from its strengths of association."""
    own, none = case.run.biases, (None,) * len(case.run.group_names)
    groups = Groups(
        case.run.groups,
        dict.fromkeys(case.run.group_names, ()),
        {bias.target: () for bias in own},
        {bias.target: bias.reference for bias in own if bias.reference},
    )
    return biases(
        groups,
        np.array([bias.soa or none for bias in own], float),  # None becomes NaN
        policies,
        n=[bias.n for bias in own],
        undefined={bias.target: bias.undefined or "" for bias in own if not _strong(bias)},
    )


def _strong(bias: Bias) -> bool:
    """Whether a target has all strengths, so that a policy can give it a result."""
    return bool(bias.soa) and None not in bias.soa


def _has_strengths(case: MeasureCase) -> bool:
    return not case.run.prior and bool(case.run.biases)


def _order(of: Paired, name: str = "", *, evidence: tuple[str, ...] = (), **facts: Any) -> Found:
    """How alike two results order the targets."""
    found = alike(of)
    facts["r_squared"] = found.r_squared
    return Found(name=name, value=found.rho, n=found.n, facts=facts, evidence=evidence)


def other_divergence(case: MeasureCase) -> Iterator[Found]:
    """The order of targets by L2 instead of L1."""
    if not _has_strengths(case):
        return
    if len(case.run.group_names) == 2:
        yield Found(reason="two_groups")
        return

    def size(bias: Bias) -> tuple[float] | None:
        return None if bias.l1 is None else (bias.divergences.get("l2", bias.l1),)

    again = _again(case, case.run.policies._replace(divergences=("l2",)))
    second = [bias for bias in again if "l2" in bias.divergences]
    yield _order(paired(case.run.biases, second, of=size))


def other_normalisation(case: MeasureCase) -> Iterator[Found]:
    """The order of targets with the other normalisation; of counts, softmax saturates."""
    if not _has_strengths(case):
        return
    own = case.run.policies
    other: Normalise = "sum" if own.normalise == "softmax" else "softmax"
    both = paired(case.run.biases, _again(case, own._replace(normalise=other)))
    values = [value for bias in case.run.biases for value in bias.soa if value is not None]
    counts = bool(values) and all(v == int(v) for v in values) and max(values) > 1
    yield _order(both, "of-counts" if counts else "", own=own.normalise, other=other)


def negative(case: MeasureCase) -> Iterator[Found]:
    """Other treatments of negative strengths: values of targets that both define, and conclusions.

    A conclusion is the sign and the significance of the correlation with outcomes, of each
    treatment over its own targets. If values cannot change and no conclusion does, there is no
    verdict: of few targets that change, the data could hardly show the opposite.
    """
    if not _has_strengths(case):
        return
    own = case.run.policies
    below = sum(any(s is not None and s < 0 for s in bias.soa) for bias in case.run.biases)
    if not below or own.normalise == "softmax":
        yield Found(reason="none")
        return
    strong = max(1, sum(map(_strong, case.run.biases)))
    signs, conclusion = _conclusion(case, case.run.biases)
    others: tuple[Negative, ...] = ("undefined", "raw", "clip", "shift")
    for policy in others:
        if policy == own.negative:
            continue
        results = _again(case, own._replace(negative=policy))
        other_signs, other_conclusion = _conclusion(case, results)
        both, same = paired(case.run.biases, results), signs == other_signs
        kept = [sum(b.p is not None for b in each) / strong for each in (case.run.biases, results)]
        facts: dict[str, Any] = {
            "below": below,
            "targets": len(case.run.biases),
            "own": own.negative,
            "kept": kept[0],
            "kept_other": kept[1],
            "conclusion": conclusion,
            "conclusion_other": other_conclusion,
        }
        found = _order(both, policy, **facts)
        if same and both.first.size and np.allclose(both.first, both.second, rtol=0, atol=1e-9):
            yield Found(name=policy, reason="same", facts=found.facts)
            continue
        lost = min(kept) < 1 - LOST
        turned = any(a * b < 0 for a, b in zip(signs, other_signs, strict=False))
        verdict: Status = "inconclusive"
        if found.n >= FEWEST:
            if (found.value or 0) < case.settings.sensitivity or turned or (lost and not same):
                verdict = "fail"
            elif same and not lost:
                verdict = "pass"
        yield replace(found, facts={**found.facts, "verdict": verdict})


def _conclusion(case: MeasureCase, results: Sequence[Bias]) -> tuple[list[int], str]:
    """For each correlation with outcomes its sign, 0 without significance; and what they are.

    p is corrected with the tests of all runs on these groups (Holm), as in the rows of predictive
    validity. Without outcomes there are none.
    """
    groups, found = case.groups, of_groups(case)
    if groups is None or case.run.name not in found:
        return [], "none to compare"
    own = predictions(case.run._replace(biases=tuple(results)), groups, seed=case.seed)
    lists = {id(rows): rows for rows in found.values()}  # runs with the same results share one
    lists.pop(id(found[case.run.name]))
    others = [each for rows in lists.values() for each in rows]
    corrected = holm([each.found.p for each in (*own, *others)])
    signs, texts = list[int](), list[str]()
    for each, p in zip(own, corrected, strict=False):
        value, text = each.found.rho, "none"
        if value is not None and p is not None:
            text = f"{value:.2f} (p {p:.2g}, n {each.found.n})"
        seen = p is not None and p <= case.settings.alpha
        signs.append(int(np.sign(value or 0)) if seen else 0)
        texts.append(f"{each.group or 'size'} {text}")
    return signs, ", ".join(texts)


def window(case: MeasureCase) -> Iterator[Found]:
    """The same texts with contexts of another length."""
    run = case.run
    for other in case.all.runs if run.measure == AUTOMATED and run.source == run.stem else ():
        if other.measure == AUTOMATED and other.stem == run.stem and other.source != run.stem:
            both, facts = paired(run.biases, other.biases), {"variant": other.variant}
            yield _order(both, other.variant, evidence=(other.name,), **facts)


# --- of a dataset -------------------------------------------------------------------------------

PADDING = " , as it is written here ."
"""What the negative control appends to anti-stereotypes. LongestLM counts it and does not read it,
so that it serves for texts in any language."""


def frequencies(case: DatasetCase) -> Iterator[Found]:
    """Dependence on normalisation of a rule that only knows how frequent words are."""
    data, settings = case.data, case.settings
    own = next((a for a in data.artefacts if a.name == "UnigramLM"), None)
    if own is None or own.scores is None or data.unigram is None:
        why = (own and own.why) or "they were not read"
        yield Found(reason="no_frequencies", facts={"why": why})
        return
    means = [
        [data.means(v) for v in lms_and_ss(data.cats, each)] for each in (data.unigram, own.scores)
    ]
    lms, ss = (case.change(by_mean - by_sum) for by_sum, by_mean in zip(*means, strict=True))
    inside = [within(each, settings.margin, settings) for each in (lms, ss)]
    only_lms = inside[0] == "fail" and inside[1] != "fail"
    figure, found = ("lms", lms) if only_lms else ("ss", ss)
    averages = [float(np.nanmean(each)) for pair in means for each in pair]
    outcomes = [
        Outcome(each, _edge(each, settings), abs(each.value or 0) > settings.margin)
        for each in (lms, ss)
    ]
    facts: dict[str, Any] = dict(zip(("lms", "ss", "lms_mean", "ss_mean"), averages, strict=True))
    facts |= {"figure": figure, "verdict": worst(*inside)}
    yield replace(found, facts={**facts, "more": more_to_decide(outcomes)})


def _edge(found: Found, settings: TrustSettings) -> float:
    """The end of the margin on the side of a change."""
    return math.copysign(settings.margin, found.value or 1)


def padding(case: DatasetCase) -> Iterator[Found]:
    """The negative control: the length rule as a model must fail sensitivity to padding.

    ``PADDING`` is appended to the anti-stereotype of each CAT. A model that reads the texts hardly
    changes; LongestLM then prefers most anti-stereotypes.
    """
    data = case.data
    anti = {a.id for cat in data.cats for a in cat.associations if a.gold == GOLDS[1]}
    plain = length(data.cats)
    padded = {name: n + len(PADDING) if name in anti else n for name, n in plain.items()}
    before, after = (data.means(lms_and_ss(data.cats, scores)[1]) for scores in (plain, padded))
    facts = {"padding": PADDING.strip(), "before": before.mean(), "after": after.mean()}
    yield replace(case.change(after - before), facts=facts)


# --- of scores ----------------------------------------------------------------------------------

NORMALISED = {
    "conditional": ("conditional-chars",),
    "ll-acl": ("ll-code", "ll-arxiv"),
    "ll-bos": ("ll-code", "ll-arxiv"),
}
"""Rules that sum over a text, and those that divide the same sum by its length."""


def _sort(first: Scored, second: Scored) -> str | None:
    """What differs between two runs of a model; None if it is more than one thing.

    It is also None if one of them was asked in words: a stated choice is not a likelihood.
    """
    if first.by_choice != second.by_choice:
        return None
    if first.variant != second.variant:
        same = first.rules == second.rules and not first.variant
        return f"text:{second.variant}" if same else None
    if first.rules == second.rules and first.rules:
        return None
    kinds = first.rules.keys() & second.rules.keys()
    changed = {(first.rules[kind], second.rules[kind]) for kind in kinds}
    normalised = [
        b in NORMALISED.get(a, ()) or a in NORMALISED.get(b, ()) for a, b in changed if a != b
    ]
    return "normalisation" if normalised and all(normalised) else "rule"


def by_run(
    case: ScoresCase, wanted: str, *, metric: Literal["lms", "ss"] = "ss"
) -> Iterator[Found]:
    """The change of ss or lms from one run of a model to another, paired over terms.

    Args:
        case: the scores.
        wanted: what differs: the rule, the normalisation (the same sum divided by its length), or
            the texts.
        metric: lms does not rest on ss, and shows the length artefact. It gives no reasons.
    """
    there = False
    for first, second, _ in case.others:
        sort, _, variant = (_sort(first, second) or "").partition(":")
        if sort != wanted:
            continue
        there = True
        values = [run.ss if metric == "ss" else run.lms for run in (first, second)]
        before, after = case.data.paired_means(*values)
        if np.isnan(before).all():
            continue
        found = case.change(after - before)
        facts = {
            "metric": metric,
            "first": first.name,
            "second": second.name,
            "variant": variant,
            "before": float(np.nanmean(before)),
            "after": float(np.nanmean(after)),
            "cats": counted(values[0] + values[1]),
            "more": more_terms(found, _edge(found, case.settings)),
        }
        name = ":".join(filter(None, [variant, first.model, f"{first.under};{second.under}"]))
        yield of_runs(replace(found, name=name), first, second, facts=facts)
    if there or metric == "lms":
        return
    by_choice, runs = case.by_choice, case.data.runs
    if before_it := [each.name for each in case.earlier if each.by_choice(runs) == by_choice]:
        yield Found(reason="earlier", facts={"groups": ", ".join(before_it)})
    else:
        yield Found(reason="by_choice" if by_choice and wanted != "text" else "no_runs")


def terms(case: ScoresCase) -> Iterator[Found]:
    """How far ss may move with other terms of the same sort. Too few terms cannot fail."""
    margin = case.settings.margin
    for run in case.runs:
        found = case.share(run.ss)
        half, needed, more = None, None, "CATs of at least 5 terms"
        if found.value is not None and found.ci is not None:
            half = max(found.ci[1] - found.value, found.value - found.ci[0])
            needed = math.ceil(found.n * (half / margin) ** 2)
            more = f"about {amount(max(1, needed - found.n), 'more term')}"
        verdict = "pass" if half is not None and half <= margin else "inconclusive"
        facts = {"ss": found.value, "ends": span(found.ci), "needed": needed}
        facts |= {"more": more, "verdict": verdict}
        yield of_runs(Found(value=half, n=found.n), run, facts=facts)


def domains(case: ScoresCase) -> Iterator[Found]:
    """The largest change of ss if one domain is left out, with Welch's interval."""
    settings = case.settings
    for run in case.runs:
        means = case.data.means(run.ss)
        has, changes, sizes = ~np.isnan(means), dict[str, Found](), dict[str, int]()
        for domain in sorted(set(case.data.domains[has])):
            of_domain = case.data.domains == domain
            inside, outside = means[has & of_domain], means[has & ~of_domain]
            sizes[domain] = len(inside)
            if len(outside):
                value, ci = _left_out(inside, outside, confidence=settings.confidence)
                changes[domain] = Found(value=value, ci=ci, n=int(has.sum()))
        if len(changes) < 2:
            yield of_runs(Found(reason="one_domain"), run)
            continue
        by = {name: each.value or 0 for name, each in changes.items()}
        domain = max(by, key=lambda name: abs(by[name]))
        fewest = min(sizes, key=lambda name: sizes[name])
        verdicts = [within(each, settings.margin, settings) for each in changes.values()]
        facts = {
            "domain": domain,
            "fewest": fewest,
            "smallest": sizes[fewest],
            "each": ", ".join(f"{name} {round(by[name], 1) + 0:+.1f}" for name in by),
            "verdict": worst(*verdicts),
        }
        yield of_runs(changes[domain], run, facts=facts)


def _left_out(
    inside: Floats, outside: Floats, *, confidence: float
) -> tuple[float, tuple[float, float] | None]:
    """The mean without some units, less the mean with them, and its interval (Welch 1947).

    Args:
        inside: values of the units that are left out.
        outside: values of the others.
        confidence: of the interval.

    >>> change, _ = _left_out(np.array([80.0, 60.0]), np.array([50.0, 40.0]), confidence=0.95)
    >>> change  # 45 less 57.5
    -12.5
    """
    share = len(inside) / (len(inside) + len(outside))
    value = share * float(outside.mean() - inside.mean())
    if len(inside) < 2 or len(outside) < 2:
        return value, None
    parts = [part.var(ddof=1) / len(part) for part in (inside, outside)]
    variance = float(sum(parts))
    if variance == 0:
        return value, (value, value)
    df = variance**2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (inside, outside), strict=True)
    )
    half = share * t_quantile(confidence, max(1, int(df))) * math.sqrt(variance)
    return value, (value - half, value + half)

"""Sensitivity: how far results depend on what should not matter (section 7, Table 8).

Table 8 of the paper compares the results of a measure with those of the defaults by Spearman's rho
and R². Its code draws shorter lists once; here they are drawn many times, when the measure is
computed (``again``). Two of its columns say nothing: for two groups L2 is L1 / √2, and the softmax
of counts keeps only which count is larger. For scores, it is how far lms and ss move with rules,
normalisation, writing, domains and terms.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from curation.records import GOLDS, Bias, Status
from curation.stats.artefacts import length
from curation.stats.intervals import Floats, t_quantile
from curation.stats.tests import holm
from curation.text.wording import amount
from curation.trust.framework import Negative, Normalise, Policies, biases
from curation.trust.protocol import judges
from curation.trust.protocol.checks import Found
from curation.trust.protocol.correlated import of_groups, predictions
from curation.trust.protocol.datasets import (
    DatasetCase,
    Outcome,
    Scored,
    ScoresCase,
    change_over_terms,
    more_terms,
    more_to_decide,
    share_of_terms,
    span,
    won,
)
from curation.trust.protocol.measures import AUTOMATED, MeasureCase, alike, paired

LOST = 0.1  # a treatment that gives no result for a larger share of the targets cannot pass

# --- of a measure -------------------------------------------------------------------------------


def _again(case: MeasureCase, policies: Policies) -> list[Bias]:
    """The results of a run under other policies, from its strengths of association."""
    own, none = case.run.biases, (None,) * len(case.run.group_names)
    return biases(
        [bias.target for bias in own],
        np.array([bias.soa or none for bias in own], float),  # None becomes NaN
        groups=case.run.group_names,
        references=[bias.reference or None for bias in own],
        policies=policies,
        n=[bias.n for bias in own],
        undefined={bias.target: bias.undefined or "" for bias in own if not _strong(bias)},
    )


def _strong(bias: Bias) -> bool:
    """Whether a target has all strengths, so that a policy can give it a result."""
    return bool(bias.soa) and None not in bias.soa


def _has_strengths(case: MeasureCase) -> bool:
    return not case.run.prior and bool(case.run.biases)


def other_divergence(case: MeasureCase) -> Iterator[Found]:
    """The order of targets by L2 instead of L1."""
    if not _has_strengths(case):
        return
    if len(case.run.group_names) == 2:
        yield Found(reason="two_groups")
        return
    second = _again(case, case.run.policies._replace(divergences=("l2",)))
    pairs = paired(
        case.run.biases,
        [bias for bias in second if "l2" in bias.divergences],
        of=lambda bias: (bias.divergences.get("l2", bias.l1),) if bias.l1 is not None else None,
    )
    found = alike(pairs)
    yield Found(value=found.rho, n=found.n, facts={"r_squared": found.r_squared})


def other_normalisation(case: MeasureCase) -> Iterator[Found]:
    """The order of targets with the other normalisation; of counts, softmax saturates."""
    if not _has_strengths(case):
        return
    own = case.run.policies
    other: Normalise = "sum" if own.normalise == "softmax" else "softmax"
    found = alike(paired(case.run.biases, _again(case, own._replace(normalise=other))))
    values = [value for bias in case.run.biases for value in bias.soa if value is not None]
    counts = bool(values) and all(v == int(v) for v in values) and max(values) > 1
    facts = {"r_squared": found.r_squared, "own": own.normalise, "other": other}
    yield Found(name="of-counts" if counts else "", value=found.rho, n=found.n, facts=facts)


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
    first = _conclusion(case, case.run.biases)
    others: tuple[Negative, ...] = ("undefined", "raw", "clip", "shift")
    for policy in others:
        if policy == own.negative:
            continue
        results = _again(case, own._replace(negative=policy))
        second = _conclusion(case, results)
        both = paired(case.run.biases, results)
        trivial = bool(both.targets) and np.allclose(both.first, both.second, rtol=0, atol=1e-9)
        found = alike(both)
        kept = [sum(b.p is not None for b in each) / strong for each in (case.run.biases, results)]
        facts = {
            **{"below": below, "targets": len(case.run.biases), "r_squared": found.r_squared},
            **{"own": own.negative, "kept": kept[0], "kept_other": kept[1]},
            **{"conclusion": _worded(first), "conclusion_other": _worded(second)},
        }
        same = _signs(first) == _signs(second)
        if trivial and same:
            yield Found(name=policy, reason="same", facts=facts)
            continue
        signs = zip(_signs(first), _signs(second), strict=False)
        lost = min(kept) < 1 - LOST
        differs = (found.rho or 0) < case.settings.sensitivity or any(a * b < 0 for a, b in signs)
        verdict: Status = "inconclusive"
        if found.n >= judges.FEWEST:
            if differs or (lost and not same):
                verdict = "fail"
            elif same and not lost:
                verdict = "pass"
        facts |= {"verdict": verdict}
        yield Found(name=policy, value=found.rho, n=found.n, facts=facts)


def _conclusion(case: MeasureCase, results: Any) -> dict[str, tuple[int, str]]:
    """For each correlation with outcomes its sign, 0 without significance, and what it is.

    p is corrected with the tests of all runs on these groups (Holm), as in the rows of predictive
    validity. Without outcomes it is empty.
    """
    groups, found = case.groups, of_groups(case.all, case.run.groups, case)
    if groups is None or case.run.name not in found:
        return {}
    own = predictions(case.run._replace(biases=tuple(results)), groups.outcomes, seed=case.seed)
    others = [each for name, rows in found.items() if name != case.run.name for each, *_ in rows]
    corrected = holm([each.found.p for each in (*own, *others)])
    made = {}
    for each, p in zip(own, corrected, strict=False):
        value, name = each.found.rho, each.group or "size"
        seen = value is not None and p is not None and p <= case.settings.alpha
        text = (
            "none" if value is None or p is None else f"{value:.2f} (p {p:.2g}, n {each.found.n})"
        )
        made[name] = (int(np.sign(value or 0)) if seen else 0, f"{name} {text}")
    return made


def _signs(conclusion: dict[str, tuple[int, str]]) -> list[int]:
    return [sign for sign, _ in conclusion.values()]


def _worded(conclusion: dict[str, tuple[int, str]]) -> str:
    return ", ".join(text for _, text in conclusion.values()) or "none to compare"


def window(case: MeasureCase) -> Iterator[Found]:
    """The same texts with contexts of another length."""
    run = case.run
    for other in case.all.runs if run.measure == AUTOMATED and run.source == run.stem else ():
        if other.measure == AUTOMATED and other.stem == run.stem and other.source != run.stem:
            found = alike(paired(run.biases, other.biases))
            facts = {"variant": other.variant, "r_squared": found.r_squared}
            yield Found(
                name=other.variant,
                value=found.rho,
                n=found.n,
                facts=facts,
                evidence=(other.name,),
            )


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
    means = [[data.means(v) for v in won(data.cats, each)] for each in (data.unigram, own.scores)]
    found = {
        name: change_over_terms(means[1][at] - means[0][at], confidence=settings.confidence)
        for at, name in enumerate(("lms", "ss"))
    }
    inside = {
        name: judges.within(Found(ci=ci), settings.margin, settings)
        for name, (_, ci, _) in found.items()
    }
    figure = "lms" if inside["lms"] == "fail" and inside["ss"] != "fail" else "ss"
    value, ci, terms = found[figure]
    averages = [[float(np.nanmean(each)) for each in pair] for pair in means]
    facts = {
        **{"figure": figure, "lms": averages[0][0], "lms_mean": averages[1][0]},
        **{"ss": averages[0][1], "ss_mean": averages[1][1]},
        "verdict": judges.worst(*inside.values()),
        "more": more_to_decide(
            [
                Outcome(
                    v or 0,
                    ends,
                    math.copysign(settings.margin, v or 1),
                    abs(v or 0) > settings.margin,
                )
                for v, ends, _ in found.values()
            ],
            terms,
        ),
    }
    yield Found(value=value, ci=ci, n=terms, facts=facts)


def padding(case: DatasetCase) -> Iterator[Found]:
    """The negative control: the length rule as a model must fail sensitivity to padding.

    ``PADDING`` is appended to the anti-stereotype of each CAT. A model that reads the texts hardly
    changes; LongestLM then prefers most anti-stereotypes.
    """
    data = case.data
    anti = {a.id for cat in data.cats for a in cat.associations if a.gold == GOLDS[1]}
    plain = length(data.cats)
    padded = {name: value + len(PADDING) * (name in anti) for name, value in plain.items()}
    before, after = (data.means(won(data.cats, scores)[1]) for scores in (plain, padded))
    value, ci, terms = change_over_terms(after - before, confidence=case.settings.confidence)
    facts = {"padding": PADDING.strip(), "before": before.mean(), "after": after.mean()}
    yield Found(value=value, ci=ci, n=terms, facts=facts)


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
    return "normalisation" if _only_normalised(first, second) else "rule"


def _only_normalised(first: Scored, second: Scored) -> bool:
    """Whether the rules of each kind that both have are equal, or differ by normalisation only."""
    kinds = set(first.rules) & set(second.rules)
    changed = [
        (first.rules[k], second.rules[k]) for k in kinds if first.rules[k] != second.rules[k]
    ]
    return bool(changed) and all(
        b in NORMALISED.get(a, ()) or a in NORMALISED.get(b, ()) for a, b in changed
    )


def by_normalisation(case: ScoresCase) -> Iterator[Found]:
    """The change of ss between a rule and another that divides the same sum by its length."""
    yield from _moved(case, "normalisation")


def by_text(case: ScoresCase) -> Iterator[Found]:
    """The change of ss with altered texts."""
    yield from _moved(case, "text")


def by_rule(case: ScoresCase) -> Iterator[Found]:
    """The change of ss under another rule."""
    yield from _moved(case, "rule")


def lms_by_normalisation(case: ScoresCase) -> Iterator[Found]:
    """The same of lms: the length artefact, as a model shows it. It does not rest on ss."""
    for found in _moved(case, "normalisation", metric="lms"):
        if not found.reason:
            yield found


def _moved(
    case: ScoresCase, wanted: str, *, metric: Literal["lms", "ss"] = "ss"
) -> Iterator[Found]:
    """The change of ss or lms from one run to another, paired over terms."""
    settings, there = case.settings, False
    for first, second, _ in case.others:
        sort, _, variant = (_sort(first, second) or "").partition(":")
        if sort != wanted:
            continue
        there = True
        values = [run.ss if metric == "ss" else run.lms for run in (first, second)]
        common = ~np.isnan(values[0]) & ~np.isnan(values[1])
        if not common.any():
            continue
        both = [case.data.means(np.where(common, each, np.nan)) for each in values]
        value, ci, terms = change_over_terms(both[1] - both[0], confidence=settings.confidence)
        edge = math.copysign(settings.margin, value or 1.0)
        facts = {
            **{"metric": metric, "first": first.name, "second": second.name},
            **{"variant": variant, "cats": int(common.sum())},
            **{"before": float(np.nanmean(both[0])), "after": float(np.nanmean(both[1]))},
            "more": more_terms(value or 0, ci, edge, terms),
        }
        yield Found(
            name=":".join(filter(None, [variant, first.model, f"{first.under};{second.under}"])),
            value=value,
            ci=ci,
            n=terms,
            facts=facts,
            runs=(first.name, second.name),
            evidence=(*first.files, *second.files),
        )
    by_choice = case.by_choice
    same = {each.name for each in case.data.groups if each.by_choice(case.data.runs) == by_choice}
    if there:
        return
    if before := [name for name in case.earlier if name in same]:
        yield Found(reason="earlier", facts={"groups": ", ".join(before)})
    else:
        yield Found(reason="by_choice" if by_choice and wanted != "text" else "no_runs")


def terms(case: ScoresCase) -> Iterator[Found]:
    """How far ss may move with other terms of the same sort. Too few terms cannot fail."""
    settings = case.settings
    for run in case.runs:
        cats = int((~np.isnan(run.ss)).sum())
        ss, ci, n = share_of_terms(
            case.data.means(run.ss), cats=cats, confidence=settings.confidence
        )
        half = None if ci is None or ss is None else max(ci[1] - ss, ss - ci[0])
        enough = half is not None and half <= settings.margin
        needed = None if half is None else math.ceil(n * (half / settings.margin) ** 2)
        facts = {
            **{"run": run.name, "ss": ss, "ends": span(ci), "needed": needed},
            "more": "CATs of at least 5 terms"
            if needed is None
            else f"about {amount(max(1, needed - n), 'more term')}",
            "verdict": "pass" if enough else "inconclusive",
        }
        yield Found(
            name=run.model, value=half, n=n, facts=facts, runs=(run.name,), evidence=run.files
        )


def domains(case: ScoresCase) -> Iterator[Found]:
    """The largest change of ss if one domain is left out, with Welch's interval."""
    settings = case.settings
    for run in case.runs:
        means = case.data.means(run.ss)
        has, changes, sizes = ~np.isnan(means), [], dict[str, int]()
        for domain in sorted(set(case.data.domains[has])):
            of_domain = case.data.domains == domain
            inside, outside = means[has & of_domain], means[has & ~of_domain]
            sizes[domain] = len(inside)
            if len(outside):
                change = _left_out(inside, outside, confidence=settings.confidence)
                changes.append((domain, *change))
        made = Found(name=run.model, runs=(run.name,), evidence=run.files)
        if len(changes) < 2:
            yield replace(made, reason="one_domain", facts={"run": run.name})
            continue
        inside_margin = [
            judges.within(Found(ci=ci), settings.margin, settings) for *_, ci in changes
        ]
        domain, value, ci = max(changes, key=lambda change: abs(change[1]))
        fewest = min(sizes, key=lambda name: sizes[name])
        facts = {
            **{"run": run.name, "domain": domain, "fewest": fewest, "smallest": sizes[fewest]},
            "each": ", ".join(f"{name} {round(by, 1) + 0:+.1f}" for name, by, _ in changes),
            "verdict": judges.worst(*inside_margin),
        }
        yield replace(made, value=value, ci=ci, n=int(has.sum()), facts=facts)


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

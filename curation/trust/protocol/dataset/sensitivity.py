"""Sensitivity of ss to rules, normalisation, texts, domains and terms."""

import math
from typing import Literal

import numpy as np

from curation.bias import Criterion, Status
from curation.stats.intervals import Floats, t_quantile
from curation.trust.protocol.data import DatasetInput, RuleGroup, Scored
from curation.trust.protocol.dataset.convergent import earlier, pairs
from curation.trust.protocol.dataset.rows import About, Rows
from curation.trust.protocol.over_terms import change_over_terms, more_terms, share_of_terms, span
from curation.trust.protocol.verdicts import within, worst
from curation.trust_settings import TrustSettings
from curation.wording import amount

NORMALISED = {
    "conditional": ("conditional-chars",),
    "ll-acl": ("ll-code", "ll-arxiv"),
    "ll-bos": ("ll-code", "ll-arxiv"),
}
"""Rules that sum over a text, and those that divide the same sum by its length."""
_TEXTS = {
    "lower": "small letters",
    "capital": "a capital at the beginning",
    "unpointed": "no final punctuation",
}


def sensitivity(
    data: DatasetInput, group: RuleGroup, about: About, settings: TrustSettings
) -> Rows:
    """How far ss moves under another rule, normalisation or writing, and over domains and terms.

    The margin is fixed (``[trust] margin``), in points of ss.

    Returns:
        Rows, each with the runs whose ss it uses.
    """
    rows: Rows = []
    there = set()
    for first, second, _ in pairs(data, group):
        sort = _sort(first, second)
        if sort is None:
            continue
        there.add(sort.partition(":")[0])
        common = ~np.isnan(first.ss) & ~np.isnan(second.ss)
        if common.any():
            rows.append((_moved(data, about, settings, first, second, sort), (first, second)))
    for run in (data.runs[number] for number in group.runs):
        rows.append((_terms(data, about, settings, run), (run,)))
        rows.append((_domains(data, about, settings, run), (run,)))
    by_choice = group.by_choice(data.runs)
    before = _earlier(data, group, by_choice=by_choice)
    if before:
        row = about.row(
            "sensitivity",
            "other-rules",
            "not_applicable",
            computed=f"the rows of {', '.join(before)} compare those rules with these",
            change="nothing",
        )
        rows.append((row, ()))
    for sort, (needs, how) in _NEEDED.items():
        if by_choice and not before and sort in _NOT_OF_CHOICE:
            row = about.row(
                "sensitivity",
                sort,
                "not_applicable",
                computed=_NOT_OF_CHOICE[sort],
                change="nothing",
            )
            rows.append((row, ()))
        elif sort not in there and not before:
            row = about.not_run("sensitivity", sort, f"needs {needs}, and there are none", how)
            rows.append((row, ()))
    return rows


def of_lms(data: DatasetInput, group: RuleGroup, about: About, settings: TrustSettings) -> Rows:
    """How far lms moves with normalisation by length: the length artefact, as a model shows it.

    These rows do not rest on ss, so that a model without meaning can fail, too. It cannot pass.
    """
    rows: Rows = []
    for first, second, _ in pairs(data, group):
        common = ~np.isnan(first.ss) & ~np.isnan(second.ss)
        if _sort(first, second) == "normalisation" and common.any():
            row = _moved(data, about, settings, first, second, "normalisation", metric="lms")
            rows.append((row, (first, second)))
    return rows


_NEEDED = {
    "normalisation": (
        "a model under rules with and without normalisation by length",
        "curation scores models MODEL --rule conditional-chars (or ll-code beside ll-acl)",
    ),
    "text": (
        "scores of altered texts",
        "curation scores models MODEL --variant lower (and capital, unpointed)",
    ),
    "rule": (
        "a model under another rule",
        "curation scores models MODEL --rule RULE, or --profile PROFILE",
    ),
}


_NOT_OF_CHOICE = {
    "normalisation": "the rule choice asks the model, and has no scores of associations that could "
    "be divided by their length",
    "rule": "choice is the only rule for chat models; the rows of convergent validity have the "
    "correlation with likelihood rules, if a model has both",
}


def _earlier(data: DatasetInput, group: RuleGroup, *, by_choice: bool) -> list[str]:
    """``earlier``, of the groups that were asked in words, or of the others."""
    same = {each.name for each in data.groups if each.by_choice(data.runs) == by_choice}
    return [name for name in earlier(data, group) if name in same]


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


def _moved(
    data: DatasetInput,
    about: About,
    settings: TrustSettings,
    first: Scored,
    second: Scored,
    sort: str,
    *,
    metric: Literal["lms", "ss"] = "ss",
) -> Criterion:
    """The change of ss or lms from one run to another, paired over terms."""
    values = [run.ss if metric == "ss" else run.lms for run in (first, second)]
    common = ~np.isnan(values[0]) & ~np.isnan(values[1])
    both = [data.means(np.where(common, each, np.nan)) for each in values]
    value, ci, terms = change_over_terms(both[1] - both[0], confidence=settings.confidence)
    status = within(ci, settings.margin)
    what = (
        sort
        if ":" not in sort
        else f"{sort.split(':')[1]} ({_TEXTS.get(sort[5:], 'altered texts')})"
    )
    return about.row(
        "sensitivity",
        f"{sort if metric == 'ss' else f'{sort}-{metric}'}:{first.model}:"
        f"{first.under};{second.under}",
        status,
        statistic=f"change of {metric} (signed), in points",
        value=value,
        ci=ci,
        n=terms,
        unit="terms",
        threshold=settings.margin,
        computed=f"{metric} of {second.name} less that of {first.name} ({what}) on "
        f"{int(common.sum())} CATs, paired over terms: {np.nanmean(both[0]):.1f} becomes "
        f"{np.nanmean(both[1]):.1f}; the interval of the change must be within "
        f"± {settings.margin:g} points",
        change=_change(value, ci, settings, terms, status),
    )


def _change(
    value: float | None,
    ci: tuple[float, float] | None,
    settings: TrustSettings,
    terms: int,
    status: Status,
) -> str:
    if status == "inconclusive":
        edge = math.copysign(settings.margin, value or 1.0)
        return more_terms(value or 0, ci, edge, terms)
    if status == "fail":
        return (
            "report the values under both, or CATs whose options do not differ in what changes it"
        )
    return f"a change of more than {settings.margin:g} points on other terms"


def _terms(data: DatasetInput, about: About, settings: TrustSettings, run: Scored) -> Criterion:
    """How far ss may move with other terms of the same sort. Too few terms cannot fail."""
    cats = int((~np.isnan(run.ss)).sum())
    value, ci, terms = share_of_terms(data.means(run.ss), cats=cats, confidence=settings.confidence)
    half = None if ci is None or value is None else max(ci[1] - value, value - ci[0])
    enough = half is not None and half <= settings.margin
    more = "CATs of at least 5 terms"
    if half is not None:
        needed = math.ceil(terms * (half / settings.margin) ** 2)
        more = f"about {amount(max(1, needed - terms), 'more term')}"
        if enough:
            more = f"fewer than about {needed} terms, or terms that differ more"
    return about.row(
        "sensitivity",
        f"terms:{run.model}",
        "pass" if enough else "inconclusive",
        statistic="how far the interval of ss over terms reaches, in points",
        value=half,
        n=terms,
        unit="terms",
        threshold=settings.margin,
        computed=f"how far ss of {run.name} may move with other terms of the same sort: the "
        f"interval over terms must reach no more than {settings.margin:g} points to either side"
        + ("" if half is None else f"; ss is {value:.1f} {span(ci)}, so it reaches {half:.1f}"),
        change=more,
    )


def _domains(data: DatasetInput, about: About, settings: TrustSettings, run: Scored) -> Criterion:
    """The largest change of ss if one domain is left out, with Welch's interval."""
    means = data.means(run.ss)
    has = ~np.isnan(means)
    changes, terms = [], {}
    for domain in sorted(set(data.domains[has])):
        inside, outside = (
            means[has & (data.domains == domain)],
            means[has & (data.domains != domain)],
        )
        terms[domain] = len(inside)
        if len(outside):
            changes.append((domain, *_left_out(inside, outside, confidence=settings.confidence)))
    if len(changes) < 2:
        return about.row(
            "sensitivity",
            f"domains:{run.model}",
            "not_applicable",
            computed=f"{run.name} has scores of one domain only",
            change="scores of CATs of another domain",
        )
    status = worst([within(ci, settings.margin) for _, _, ci in changes])
    domain, value, ci = max(changes, key=lambda change: abs(change[1]))
    fewest = min(terms, key=lambda name: terms[name])
    each = ", ".join(f"{name} {round(change, 1) + 0:+.1f}" for name, change, _ in changes)
    return about.row(
        "sensitivity",
        f"domains:{run.model}",
        status,
        statistic="largest change of ss without a domain (signed), in points",
        value=value,
        ci=ci,
        n=int(has.sum()),
        unit="terms",
        threshold=settings.margin,
        computed=f"change of ss of {run.name} if a domain is left out: {each}; the interval is "
        f"that of {domain}, the largest. All intervals must be within "
        f"± {settings.margin:g} points",
        change=f"more terms, above all in {fewest}, which has {terms[fewest]}"
        if status == "inconclusive"
        else f"other terms in the domain {domain}",
    )


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

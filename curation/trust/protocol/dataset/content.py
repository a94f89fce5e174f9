"""Content validity: known pitfalls, and rules that understand nothing.

What the team declares about the construct is attested (``protocol/consequential.py``).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from curation.bias import Criterion, Pair, Status
from curation.stats.artefacts import MIRRORED, Artefact
from curation.stats.intervals import Floats
from curation.trust.protocol.data import DatasetInput, RuleGroup, Scored, won
from curation.trust.protocol.dataset.rows import About, Rows
from curation.trust.protocol.over_terms import (
    CHANCE,
    change_over_terms,
    more_terms,
    share_of_terms,
    span,
)
from curation.trust.protocol.verdicts import verdict, worst
from curation.trust_settings import TrustSettings

CLEAR_LMS = 60.0  # as in scores.baselines: a rule surely above it finds the meaningful
_SHOWN = 5  # pitfalls that a row names


class _Rule(NamedTuple):
    """A rule that understands nothing, judged on one kind of CAT."""

    artefact: Artefact
    kind: str
    lms: Floats  # (CATs,), NaN for other kinds
    ss: Floats
    cats: int


def judged(data: DatasetInput) -> list[_Rule]:
    """The artefact baselines on each kind of CAT, without those that mirror another one."""
    rules = []
    for artefact in data.artefacts:
        if artefact.scores is None or artefact.name in MIRRORED:
            continue
        lms, ss = won(data.cats, artefact.scores)
        for kind in data.kinds_there:
            own = (data.kinds == kind) & ~np.isnan(lms)
            if own.any():
                parts = [np.where(own, values, np.nan) for values in (lms, ss)]
                rules.append(_Rule(artefact, kind, parts[0], parts[1], int(own.sum())))
    return rules


def content(
    data: DatasetInput, rules: Sequence[_Rule], about: About, settings: TrustSettings
) -> list[Criterion]:
    """Pitfalls and artefact baselines of a dataset."""
    rows = [_pitfalls(data, about)]
    rows += [_artefact(data, rule, about, settings) for rule in rules]
    for artefact in data.artefacts:
        if artefact.scores is None and artefact.name not in MIRRORED:
            rows.append(
                about.not_run(
                    "content",
                    f"artefact-{artefact.name}",
                    f"{artefact.name} ({artefact.says}) was not computed: {artefact.why}",
                    "what the reason names, or a file of sentiment for SentimentLM",
                )
            )
    return rows


def _pitfalls(data: DatasetInput, about: About) -> Criterion:
    """Known pitfalls; any that stops a release fails."""
    if data.pitfalls is None:
        return about.not_run(
            "content",
            "pitfalls",
            "known pitfalls of the texts were not looked for",
            "run «curation measures pitfalls»",
        )
    checked = [row for row in data.pitfalls if row.found is not None]
    blocking = [row for row in checked if row.severity == "block" and row.found]
    warned = sorted(
        (row for row in checked if row.severity == "warn" and row.found),
        key=lambda row: (-(row.found or 0) / (row.of or 1), row.code),
    )
    shown = [f"{row.code} {row.found} of {row.of} ({row.unit})" for row in warned[:_SHOWN]]
    status: Status = "fail" if blocking else ("inconclusive" if warned else "pass")
    fix = blocking or warned[:_SHOWN]
    return about.row(
        "content",
        "pitfalls",
        status,
        statistic="kinds of pitfall that stop a release",
        value=float(len(blocking)),
        n=len(checked),
        unit="kinds of pitfall that were looked for",
        threshold=0.0,
        computed=f"known pitfalls of the texts: {len(blocking)} that stop a release"
        + (f" ({', '.join(row.code for row in blocking)})" if blocking else "")
        + f", {len(warned)} warnings"
        + (f"; the most frequent: {', '.join(shown)}" if shown else "")
        + f". Not looked for: {len(data.pitfalls) - len(checked)}",
        change=f"fix {', '.join(row.code for row in fix)}" if fix else "a pitfall in new CATs",
    )


def _artefact(data: DatasetInput, rule: _Rule, about: About, settings: TrustSettings) -> Criterion:
    """Whether a rule without understanding reaches an lms or ss clearly beyond chance.

    As in ``scores.baselines.beyond_chance``: an lms whose interval is above 60, or an ss whose
    interval does not contain 50. If a mirrored rule exists, an lms below 40 is as bad, because the
    mirrored rule then has one above 60. It passes if lms is surely not beyond 60 and ss is surely
    within the margin of 50, also if it is surely not exactly 50: a distance that is too small to
    matter does not fail because there are many CATs.
    """
    figures: dict[str, tuple[float | None, Pair | None, Status]] = {}
    mirror = next((name for name, of in MIRRORED.items() if of == rule.artefact.name), "")
    terms = 0
    for name, values in (("lms", rule.lms), ("ss", rule.ss)):
        value, ci, terms = share_of_terms(
            data.means(values), cats=rule.cats, confidence=settings.confidence
        )
        figures[name] = value, ci, _beyond(name, ci, settings.margin, mirrored=bool(mirror))
    status = worst([each[2] for each in figures.values()])
    decisive = [name for name, each in figures.items() if each[2] == status]
    figure = max(decisive, key=lambda name: abs((figures[name][0] or CHANCE) - CHANCE))
    value, ci, _ = figures[figure]
    texts = [
        f"{name} {each[0]:.1f} {span(each[1])}"
        for name, each in figures.items()
        if each[0] is not None
    ]
    also = f"; {mirror} is its mirror image, with 100 less these values" if mirror else ""
    limit = CLEAR_LMS if not mirror or (value or 0) >= CHANCE else 100 - CLEAR_LMS
    return about.row(
        "content",
        f"artefact-{rule.artefact.name}:{rule.kind}",
        status,
        statistic=f"{figure} of a rule without understanding, mean over terms",
        value=value,
        ci=ci,
        n=terms,
        unit="terms",
        threshold=limit if figure == "lms" else CHANCE,
        computed=f"{rule.artefact.name} ({rule.artefact.says}{also}) on {rule.cats} {rule.kind} "
        f"CATs: {', '.join(texts)}. It fails if lms is surely above {CLEAR_LMS:g}"
        + (f" or below {100 - CLEAR_LMS:g}" if mirror else "")
        + f", or if ss is surely not 50 and not surely within {settings.margin:g} points of it",
        change=_artefact_change(rule, figure, value, ci, status, settings, terms),
    )


def _beyond(name: str, ci: Pair | None, margin: float, *, mirrored: bool) -> Status:
    if ci is None:
        return "inconclusive"
    low, high = ci
    if name == "lms":
        least = 100 - CLEAR_LMS if mirrored else 0.0
        if low > CLEAR_LMS or high < least:
            return "fail"
        return "pass" if least <= low and high <= CLEAR_LMS else "inconclusive"
    if CHANCE - margin <= low and high <= CHANCE + margin:
        return "pass"
    return "fail" if low > CHANCE or high < CHANCE else "inconclusive"


def _artefact_change(
    rule: _Rule,
    figure: str,
    value: float | None,
    ci: Pair | None,
    status: Status,
    settings: TrustSettings,
    terms: int,
) -> str:
    if status == "fail":
        options = (
            "unrelated and meaningful associations"
            if figure == "lms"
            else ("stereotypes and anti-stereotypes")
        )
        return (
            f"make {options} alike in what the rule reads ({rule.artefact.says}), or drop the CATs "
            "that it decides until its interval contains chance"
        )
    if status == "inconclusive":
        reach = CLEAR_LMS - CHANCE if figure == "lms" else settings.margin
        edge = CHANCE + reach if (value or 0) > CHANCE else CHANCE - reach
        return more_terms(value or 0, ci, edge, terms)
    return "CATs whose surface tells them apart"


def above_artefacts(
    data: DatasetInput,
    rules: Sequence[Any],
    group: RuleGroup,
    about: About,
    settings: TrustSettings,
) -> Rows:
    """Whether a model's lms is above that of the best rule that understands nothing."""
    rows: Rows = []
    for run in (data.runs[number] for number in group.runs):
        for kind in data.kinds_there:
            row = _above_artefacts(data, rules, run, kind, about, settings)
            if row is not None:
                rows.append((row, (run,)))
    return rows


def _above_artefacts(
    data: DatasetInput,
    rules: Sequence[_Rule],
    run: Scored,
    kind: str,
    about: About,
    settings: TrustSettings,
) -> Criterion | None:
    own = (data.kinds == kind) & ~np.isnan(run.lms)
    candidates = []
    for rule in rules:
        both = own & ~np.isnan(rule.lms)
        if not both.any():
            continue
        mean = float(np.nanmean(data.means(np.where(both, rule.lms, np.nan))))
        mirror = next((name for name, of in MIRRORED.items() if of == rule.artefact.name), "")
        candidates.append((mean, rule.artefact.name, rule.lms))
        if mirror:
            candidates.append((100 - mean, mirror, 100 - rule.lms))
    if not candidates:
        return None
    mean, name, lms = max(candidates, key=lambda candidate: (candidate[0], candidate[1]))
    value, ci, terms = change_over_terms(
        data.means(np.where(own, run.lms, np.nan)) - data.means(np.where(own, lms, np.nan)),
        confidence=settings.confidence,
    )
    status = verdict(value, threshold=0.0, ci=ci)
    return about.row(
        "content",
        f"above-artefacts:{run.model}:{kind}",
        "fail" if ci is not None and ci[1] <= 0 else status,  # also if it is that rule itself
        statistic="lms less that of the best rule without understanding, in points",
        value=value,
        ci=ci,
        n=terms,
        unit="terms",
        threshold=0.0,
        computed=f"{run.name} on {int(own.sum())} {kind} CATs beside {name}, whose lms on them is "
        f"{mean:.1f}; paired differences over terms",
        change=more_terms(value or 0, ci, 0.0, terms)
        if status == "inconclusive"
        else f"CATs on which {name} has another lms",
    )

"""Content validity of a dataset: known pitfalls, and rules that understand nothing.

For measures, the structure of bias is checked when they are measured (``again``). What the team
declares about the construct is attested (``attested``).
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from curation.records import Status
from curation.stats.artefacts import MIRRORED
from curation.trust.protocol import judges
from curation.trust.protocol.checks import Found
from curation.trust.protocol.datasets import (
    CHANCE,
    DatasetCase,
    DatasetInput,
    Outcome,
    Rule,
    ScoresCase,
    counted,
    more_terms,
    more_to_decide,
    span,
    won,
)

CLEAR_LMS = 60.0  # as in scores.baselines: a rule surely above it finds the meaningful
_SHOWN = 5  # pitfalls that a row names


def judged(data: DatasetInput) -> list[Rule]:
    """The artefact baselines on each kind of CAT, without those that mirror another one."""
    rules = []
    for artefact in (each for each in data.artefacts if each.name not in MIRRORED):
        both = won(data.cats, artefact.scores or {})
        for kind in data.kinds_there:
            lms, ss = (np.where(data.kinds == kind, values, np.nan) for values in both)
            if counted(lms):
                rules.append(Rule(artefact, kind, lms, ss))
    return rules


def pitfalls(case: DatasetCase) -> Iterator[Found]:
    """Known pitfalls; any that stops a release fails, other warnings leave it open."""
    if case.data.pitfalls is None:
        return
    checked = [row for row in case.data.pitfalls if row.found is not None]
    blocking = [row for row in checked if row.severity == "block" and row.found]
    warned = sorted(
        (row for row in checked if row.severity == "warn" and row.found),
        key=lambda row: (-(row.found or 0) / (row.of or 1), row.code),
    )
    shown = [f"{row.code} {row.found} of {row.of} ({row.unit})" for row in warned[:_SHOWN]]
    facts = {
        "blocking": ", ".join(row.code for row in blocking) or "none",
        "warned": len(warned),
        "frequent": ", ".join(shown) or "none",
        "skipped": len(case.data.pitfalls) - len(checked),
        "fix": ", ".join(row.code for row in blocking or warned),
        "verdict": "fail" if blocking else "inconclusive" if warned else "pass",
    }
    yield Found(value=float(len(blocking)), n=len(checked), facts=facts)


def artefacts(case: DatasetCase) -> Iterator[Found]:
    """Whether a rule without understanding reaches an lms or ss clearly beyond chance.

    As in ``scores.baselines.beyond_chance``: an lms whose interval is above 60, or an ss whose
    interval does not contain 50. If a mirrored rule exists, an lms below 40 is as bad, because the
    mirrored rule then has one above 60. It passes if lms is surely not beyond 60 and ss is surely
    within the margin of 50, also if it is surely not exactly 50: a distance that is too small to
    matter does not fail because there are many CATs.
    """
    for rule in case.rules:
        options: dict[str, Any] = {"margin": case.settings.margin, "mirrored": bool(rule.mirror)}
        found = {"lms": case.share(rule.lms), "ss": case.share(rule.ss)}
        verdicts = {name: _beyond(name, each, **options) for name, each in found.items()}
        outcomes = {name: _outcome(name, each, **options) for name, each in found.items()}
        verdict = judges.worst(*verdicts.values())
        figure = max(
            (name for name in found if verdicts[name] == verdict),
            key=lambda name: abs((found[name].value or CHANCE) - CHANCE),
        )
        facts = {
            **{"rule": rule.artefact.name, "does": rule.artefact.says, "kind": rule.kind},
            **{"cats": counted(rule.lms), "figure": figure, "clear": CLEAR_LMS},
            "values": ", ".join(f"{k} {v.value:.1f} {span(v.ci)}" for k, v in found.items()),
            "mirrored": f"; {rule.mirror} has 100 less these values" if rule.mirror else "",
            "or_mirror": f" (or that of {rule.mirror} is)" if rule.mirror else "",
            **{"verdict": verdict, "more": more_to_decide(outcomes.values())},
        }
        limit, side = CHANCE, "near"
        if figure == "lms":
            limit = outcomes["lms"].limit
            side = "at_most" if limit > CHANCE else "at_least"
        named = f"{rule.artefact.name}:{rule.kind}"
        yield replace(found[figure], name=named, threshold=limit, limit=side, facts=facts)
    for artefact in case.data.artefacts:
        if artefact.scores is None and artefact.name not in MIRRORED:
            facts = {"rule": artefact.name, "does": artefact.says, "why": artefact.why}
            yield Found(name=artefact.name, reason="not_computed", facts=facts)


def _beyond(name: str, found: Found, *, margin: float, mirrored: bool) -> Status:
    low, high = found.ci or (-math.inf, math.inf)
    least, most = CHANCE - margin, CHANCE + margin
    if name == "lms":
        least, most = 100 - CLEAR_LMS if mirrored else 0.0, CLEAR_LMS
    if least <= low and high <= most:
        return "pass"
    if name == "ss":
        least = most = CHANCE
    return "fail" if low > most or high < least else "inconclusive"


def _outcome(name: str, found: Found, *, margin: float, mirrored: bool) -> Outcome:
    """What lms or ss comes to if its interval shrinks, as ``_beyond`` judges it."""
    value = found.value or 0
    if name == "lms":
        low = 100 - CLEAR_LMS if mirrored else 0.0
        limit = low if value < CHANCE and mirrored else CLEAR_LMS
        return Outcome(found, limit, value > CLEAR_LMS or value < low)
    beyond = Outcome(found, CHANCE, True)
    inside = Outcome(found, CHANCE + math.copysign(margin, value - CHANCE), False)
    surely = abs(value - CHANCE) < margin and inside.ratio < beyond.ratio
    return inside if surely else beyond


def above_artefacts(case: ScoresCase) -> Iterator[Found]:
    """Whether a model's lms is above that of the best rule that understands nothing."""
    means = case.data.means
    for run in case.runs:
        for kind in case.data.kinds_there:
            lms = np.where(case.data.kinds == kind, run.lms, np.nan)
            candidates = []
            for rule in case.rules:
                there = np.where(np.isnan(lms), np.nan, rule.lms)
                if counted(there):
                    mean = float(np.nanmean(means(there)))
                    candidates.append((mean, rule.artefact.name, there))
                    if rule.mirror:
                        candidates.append((100 - mean, rule.mirror, 100 - there))
            if candidates:
                mean, name, best = max(candidates, key=lambda candidate: candidate[:2])
                found = case.change(means(lms) - means(best))
                facts = {"run": run.name, "cats": counted(lms), "kind": kind, "rule": name}
                facts |= {"mean": mean, "more": more_terms(found, 0.0)}
                named = f"{run.model}:{kind}"
                yield replace(found, name=named, facts=facts, evidence=run.files)

"""Content validity of a dataset: known pitfalls, and rules that understand nothing.

For measures, the structure of bias is checked when they are measured (``again``). What the team
declares about the construct is attested (``attested``).
"""

import math
from collections.abc import Iterator

import numpy as np

from curation.records import Interval, Status
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
    change_over_terms,
    more_terms,
    more_to_decide,
    share_of_terms,
    span,
    won,
)

CLEAR_LMS = 60.0  # as in scores.baselines: a rule surely above it finds the meaningful
_SHOWN = 5  # pitfalls that a row names


def judged(data: DatasetInput) -> list[Rule]:
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
                rules.append(Rule(artefact, kind, parts[0], parts[1], int(own.sum())))
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
    settings = case.settings
    for rule in case.rules:
        found = {
            name: share_of_terms(
                case.data.means(values), cats=rule.cats, confidence=settings.confidence
            )
            for name, values in (("lms", rule.lms), ("ss", rule.ss))
        }
        verdicts = {
            name: _beyond(name, ci, settings.margin, mirrored=bool(rule.mirror))
            for name, (_, ci, _) in found.items()
        }
        verdict = judges.worst(*verdicts.values())
        figure = max(
            (name for name in found if verdicts[name] == verdict),
            key=lambda name: abs((found[name][0] or CHANCE) - CHANCE),
        )
        value, ci, terms = found[figure]
        texts = [
            f"{name} {v:.1f} {span(ends)}" for name, (v, ends, _) in found.items() if v is not None
        ]
        limit = CLEAR_LMS if not rule.mirror or (value or 0) >= CHANCE else 100 - CLEAR_LMS
        facts = {
            **{"rule": rule.artefact.name, "does": rule.artefact.says, "cats": rule.cats},
            **{"kind": rule.kind, "values": ", ".join(texts), "figure": figure},
            **{"clear": CLEAR_LMS, "mirrored": "", "or_mirror": "", "verdict": verdict},
            "more": more_to_decide(
                [
                    _outcome(name, v or 0, ends, settings.margin, mirrored=bool(rule.mirror))
                    for name, (v, ends, _) in found.items()
                ],
                terms,
            ),
        }
        if rule.mirror:
            facts["mirrored"] = f"; {rule.mirror} has 100 less these values"
            facts["or_mirror"] = f" (or that of {rule.mirror} is)"
        yield Found(
            name=f"{rule.artefact.name}:{rule.kind}",
            value=value,
            ci=ci,
            n=terms,
            threshold=limit if figure == "lms" else CHANCE,
            facts=facts,
        )
    for artefact in case.data.artefacts:
        if artefact.scores is None and artefact.name not in MIRRORED:
            facts = {"rule": artefact.name, "does": artefact.says, "why": artefact.why}
            yield Found(name=artefact.name, reason="not_computed", facts=facts)


def _beyond(name: str, ci: Interval | None, margin: float, *, mirrored: bool) -> Status:
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


def _outcome(
    name: str, value: float, ci: Interval | None, margin: float, *, mirrored: bool
) -> Outcome:
    """What lms or ss comes to if its interval shrinks, as ``_beyond`` judges it."""
    if name == "lms":
        low = 100 - CLEAR_LMS if mirrored else 0.0
        limit = low if value < CHANCE and mirrored else CLEAR_LMS
        return Outcome(value, ci, limit, value > CLEAR_LMS or value < low)
    beyond = Outcome(value, ci, CHANCE, True)
    inside = Outcome(value, ci, CHANCE + math.copysign(margin, value - CHANCE), False)
    surely = abs(value - CHANCE) < margin and inside.ratio < beyond.ratio
    return inside if surely else beyond


def above_artefacts(case: ScoresCase) -> Iterator[Found]:
    """Whether a model's lms is above that of the best rule that understands nothing."""
    for run in case.runs:
        for kind in case.data.kinds_there:
            own = (case.data.kinds == kind) & ~np.isnan(run.lms)
            candidates = []
            for rule in case.rules:
                both = own & ~np.isnan(rule.lms)
                if both.any():
                    mean = float(np.nanmean(case.data.means(np.where(both, rule.lms, np.nan))))
                    candidates.append((mean, rule.artefact.name, rule.lms))
                    if rule.mirror:
                        candidates.append((100 - mean, rule.mirror, 100 - rule.lms))
            if not candidates:
                continue
            mean, name, lms = max(candidates, key=lambda candidate: (candidate[0], candidate[1]))
            both_means = [
                case.data.means(np.where(own, values, np.nan)) for values in (run.lms, lms)
            ]
            value, ci, terms = change_over_terms(
                both_means[0] - both_means[1], confidence=case.settings.confidence
            )
            facts = {"run": run.name, "cats": int(own.sum()), "kind": kind, "rule": name}
            facts |= {"mean": mean, "more": more_terms(value or 0, ci, 0.0, terms)}
            yield Found(
                name=f"{run.model}:{kind}",
                value=value,
                ci=ci,
                n=terms,
                facts=facts,
                evidence=run.files,
            )

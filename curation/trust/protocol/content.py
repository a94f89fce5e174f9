"""Content and face validity: what a measure, a dataset or scores are made of, and sanity checks.

Face validity: section 6, Table 3. Content validity of a dataset: known pitfalls, and rules that
understand nothing. For measures, the structure of bias is checked when they are measured
(``again``). What the team declares about the construct is attested (``attested``).
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from curation.campaign.settings import TrustSettings
from curation.kinds import GOLDS
from curation.records import Status
from curation.stats.artefacts import MIRRORED
from curation.stats.metrics import icat, judge
from curation.stats.tests import (
    chances,
    exact_share_interval,
    needed_signs,
    right_signs,
    sign_power,
)
from curation.text.wording import amount
from curation.trust.protocol.cases import (
    CHANCE,
    DatasetCase,
    DatasetInput,
    MeasureCase,
    MeasureRun,
    Outcome,
    Rule,
    Scored,
    ScoresCase,
    counted,
    lms_and_ss,
    more_terms,
    more_to_decide,
    of_runs,
    span,
)
from curation.trust.protocol.checks import Found, worst

CLEAR_LMS = 60.0  # as in scores.results: a rule surely above it finds the meaningful
_SHOWN = 5  # pitfalls that a row names


def judged(data: DatasetInput) -> list[Rule]:
    """The artefact baselines on each kind of CAT, without those that mirror another one."""
    rules = []
    for artefact in (each for each in data.artefacts if each.name not in MIRRORED):
        both = lms_and_ss(data.cats, artefact.scores or {})
        for kind in data.kinds_there:
            lms, ss = (np.where(data.kinds == kind, values, np.nan) for values in both)
            if counted(ss):
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

    As in ``scores.results.beyond_chance``: an lms whose interval is above 60, or an ss whose
    interval does not contain 50. If a mirrored rule exists, an lms below 40 is as bad, because the
    mirrored rule then has one above 60. It passes if lms is surely not beyond 60 and ss is surely
    within the margin of 50, also if it is surely not exactly 50: a distance that is too small to
    matter does not fail because there are many CATs.
    """
    for rule in case.rules:
        options: dict[str, Any] = {"margin": case.settings.margin, "mirrored": bool(rule.mirror)}
        found = {name: case.share(values) for name, values in rule.metrics.items()}
        verdicts = {name: _beyond(name, each, **options) for name, each in found.items()}
        outcomes = {name: _outcome(name, each, **options) for name, each in found.items()}
        verdict = worst(*verdicts.values())
        figure = max(
            (name for name in found if verdicts[name] == verdict),
            key=lambda name: abs((found[name].value or CHANCE) - CHANCE),
        )
        facts = {
            "rule": rule.artefact.name,
            "does": rule.artefact.says,
            "kind": rule.kind,
            "cats": counted(rule.ss),
            "figure": figure,
            "clear": CLEAR_LMS,
            "values": ", ".join(f"{k} {v.value:.1f} {span(v.ci)}" for k, v in found.items()),
            "mirrored": f"; {rule.mirror} has 100 less these values" if rule.mirror else "",
            "or_mirror": f" (or that of {rule.mirror} is)" if rule.mirror else "",
            "verdict": verdict,
            "more": more_to_decide(outcomes.values()),
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
                facts = {"cats": counted(lms), "kind": kind, "rule": name, "mean": mean}
                facts["more"] = more_terms(found, 0.0)
                named = replace(found, name=f"{run.model}:{kind}")
                yield of_runs(named, run, by_ss=False, facts=facts)


VALID = 0.9
"""The share of right signs of a valid measure; power is computed for it."""
_ZERO = 1e-12  # a smaller gap is rounding

# --- signs --------------------------------------------------------------------------------------


def signs_found(
    right: Mapping[str, bool | None],
    sides: Mapping[str, str],
    directions: Sequence[str],
    settings: TrustSettings,
) -> Found:
    """The share of right signs with its exact interval and p, and the power at ``VALID``.

    What says the same of all targets is right wherever this is known to be so, so the test is not
    against a coin (``stats.tests.chances``). Each direction needs as many signs as have a power
    together, or all the signs that there are must have it.

    Args:
        right: whether the sign of each target is right; None if it has no result.
        sides: the known direction of each target.
        directions: all directions that there are.
        settings: alpha and the least power.
    """
    known = {target: fine for target, fine in right.items() if fine is not None}
    n, fine = len(known), sum(known.values())
    each = Counter(sides[target] for target in known)
    wrong = ", ".join(target for target, fine in known.items() if not fine)
    facts: dict[str, Any] = {"right": fine, "exceptions": wrong or "none"}
    facts |= {"missing": len(right) - n, "valid": VALID}
    facts["each"] = ", ".join(f"{name} {each[name]}" for name in directions)
    own: dict[str, Any] = {"alpha": settings.alpha}
    sizes = [each[name] for name in directions]
    power, least = sign_power(VALID, sizes, **own), right_signs(sizes, **own)
    needed = needed_signs(VALID, directions=len(directions), power=settings.power, **own)
    lacking = _lacking(each, directions, needed) if power < settings.power else ""
    facts |= {"lacking": lacking, "chance": 1 - min(sizes) / max(1, n)}
    facts["more"] = lacking or "more of them, with clearer signs"
    wanted = max(least or 0, math.ceil(settings.face * n - _ZERO))
    if least is not None and wanted > fine and not lacking:
        facts["more"] = f"{amount(wanted - fine, 'more right sign')} of these {n}"
    if not n:
        return Found(reason="no_result", facts=facts)
    ci = exact_share_interval(fine, n, confidence=1 - 2 * settings.alpha)
    p = chances(tuple(sizes))[fine]
    return Found(value=fine / n, ci=ci, n=n, p=p, power=power, facts=facts)


def _lacking(each: Mapping[str, int], directions: Sequence[str], needed: int | None) -> str:
    """What is missing so that each direction has enough signs with a result; "" if none is."""
    if needed is None:
        return f"fewer groups: with {len(directions)}, hardly any number of signs is enough"
    few = {name: needed - each[name] for name in directions if each[name] < needed}
    parts = ", ".join(f"{more} more for «{name}»" for name, more in few.items())
    return f"{parts}: {needed} with a result in each direction" if parts else ""


# --- measures -----------------------------------------------------------------------------------


def signs(run: MeasureRun, anchors: Mapping[str, str]) -> dict[str, bool | None]:
    """Whether each anchor is on the side of its group; None if it has no result.

    An anchor is on the side of a group if its p is above the equal share, as in Table 3. The
    reference plays no part: p of nurses may favour women, and yet be below a census. For a prior
    measure, positive values are on the side of the first group. A value of 0 is on no side.
    """
    right: dict[str, bool | None] = dict.fromkeys(anchors)
    for bias in run.biases:
        group = anchors.get(bias.target)
        if group not in bias.groups or bias.undefined:
            continue
        if bias.value is not None:
            right[bias.target] = (bias.value if group == bias.groups[0] else -bias.value) > _ZERO
        elif bias.p is not None:
            share = bias.p[bias.groups.index(group)]
            right[bias.target] = share - 1 / len(bias.p) > _ZERO
    return right


def anchors(case: MeasureCase) -> Iterator[Found]:
    """How many anchors have the expected sign."""
    known = case.groups.anchors if case.groups else {}
    if not known:
        return
    if case.run.prior and len(case.run.group_names) > 2:
        yield Found(reason="no_direction")
        return
    names = case.run.group_names or tuple(dict.fromkeys(known.values()))
    yield signs_found(signs(case.run, known), known, names, case.settings)


# --- scores -------------------------------------------------------------------------------------


def informative(case: DatasetCase, run: Scored) -> bool:
    """Whether a model surely tells meaningful from unrelated associations, so that ss says much.

    It does if none of its CATs has an unrelated association.
    """
    ci = case.share(run.lms).ci
    return not counted(run.lms) or (ci is not None and ci[0] > CHANCE)


def meaningful(case: ScoresCase) -> Iterator[Found]:
    """The lms of each model."""
    for run in (run for run in case.runs if counted(run.lms)):
        found = case.share(run.lms)
        facts = {"cats": counted(run.lms), "more": more_terms(found, CHANCE)}
        yield of_runs(found, run, by_ss=False, facts=facts)


def directions(case: ScoresCase) -> Iterator[Found]:
    """How many terms whose direction is known have it, for each model."""
    sides = case.data.directions
    for run in case.runs if sides else ():
        ss = dict(zip(case.data.targets, case.data.means(run.ss), strict=True))
        right = {
            target: (ss[target] > CHANCE) == (prefers == "stereotype")
            if target in ss and not np.isnan(ss[target]) and ss[target] != CHANCE
            else None
            for target, prefers in sides.items()
        }
        yield of_runs(signs_found(right, sides, GOLDS[:2], case.settings), run)


# --- synthetic scorers ---------------------------------------------------------------------------

_ROUNDING = 1e-6
# Scores of stereotype, anti-stereotype and unrelated; several rows are equally likely.
SCORERS: dict[str, tuple[list[tuple[float, ...]], tuple[float, float, float]]] = {
    "ideal": ([(2, 2, 1)], (100, 50, 100)),
    "stereotyped": ([(3, 2, 1)], (100, 100, 0)),
    "anti-stereotyped": ([(2, 3, 1)], (100, 0, 0)),
    "random": (list(permutations((1.0, 2.0, 3.0))), (50, 50, 50)),
}
"""Each scorer's scores, and its lms, ss and icat on any dataset (ACL §5.3); random in expectation
over all orders of the three associations."""


def synthetic(case: DatasetCase) -> Iterator[Found]:
    """The share of synthetic scorers whose lms, ss and icat are those of any dataset."""
    right = [
        np.abs(np.array(_values(case.data, rows)) - expected).max() <= _ROUNDING
        for rows, expected in SCORERS.values()
    ]
    yield Found(value=sum(right) / len(right), n=len(right))


def _values(data: DatasetInput, rows: list[tuple[float, ...]]) -> tuple[float, float, float]:
    """lms, ss and icat over terms, expected over equally likely scores."""
    meaningful, stereotype, _ = judge(np.array(rows, float))
    lms, ss = (
        data.means(np.full(len(data.cats), value)).mean()
        for value in (50 * float(meaningful.mean()), 100 * float(stereotype.mean()))
    )
    return float(lms), float(ss), float(icat(lms, ss))

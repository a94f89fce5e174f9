"""Face validity: a measure, or the scores of models, pass a sanity check (section 6, Table 3)."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from curation.campaign.settings import TrustSettings
from curation.records import GOLDS
from curation.stats.metrics import icat, judge
from curation.stats.power import needed_signs, sign_power
from curation.stats.tests import chances, exact_share_interval, right_signs
from curation.text.wording import amount
from curation.trust.protocol.checks import Found
from curation.trust.protocol.datasets import (
    CHANCE,
    DatasetCase,
    DatasetInput,
    Scored,
    ScoresCase,
    counted,
    more_terms,
    resting_on,
)
from curation.trust.protocol.measures import MeasureCase, MeasureRun

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
    """Whether a model surely tells meaningful from unrelated associations, so that ss says much."""
    ci = case.share(run.lms).ci
    return ci is not None and ci[0] > CHANCE


def meaningful(case: ScoresCase) -> Iterator[Found]:
    """The lms of each model."""
    for run in case.runs:
        found = case.share(run.lms)
        facts = {"run": run.name, "cats": counted(run.lms), "more": more_terms(found, CHANCE)}
        yield replace(found, name=run.model, facts=facts, evidence=run.files)


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
        found = signs_found(right, sides, GOLDS[:2], case.settings)
        yield replace(found, name=run.model, **resting_on(run))


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

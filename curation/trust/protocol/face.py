"""Face validity: what is known to have a direction has it (section 6, Table 3).

The paper looks at eight professions and lets one exception pass (librarian, in four of six
columns). The exact sign test does the same: 7 of 8 right signs have p = .035. For scores, what
annotators called meaningful must be preferred to what they called unrelated.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from curation.bias import Bias, Pair, Status
from curation.stats.power import needed_signs, sign_power
from curation.stats.tests import exact_share_interval, right_signs, sign_test
from curation.trust.protocol.checks import Check, Found
from curation.trust.protocol.data import DatasetInput, Scored, ScoresCase
from curation.trust.protocol.measured import MeasureCase, MeasureRun
from curation.trust.protocol.over_terms import CHANCE, more_terms, share_of_terms
from curation.trust.protocol.verdicts import reached
from curation.trust_settings import TrustSettings
from curation.wording import amount

VALID = 0.9
"""The share of right signs of a valid measure; power is computed for it."""
_ZERO = 1e-12  # a smaller gap is rounding

# --- signs --------------------------------------------------------------------------------------


def signs_found(right: Mapping[str, bool | None], settings: TrustSettings) -> Found:
    """The share of right signs with its exact interval and p, and the power at ``VALID``.

    Args:
        right: whether the sign of each target is right; None if it has no result.
        settings: alpha and the least power.
    """
    known = {target: fine for target, fine in right.items() if fine is not None}
    n, fine = len(known), sum(known.values())
    wrong = ", ".join(target for target, fine in known.items() if not fine)
    facts = {"right": fine, "exceptions": wrong or "none", "missing": len(right) - n}
    facts |= {"valid": VALID, "more": more_signs(fine, n, settings)}
    if not n:
        return Found(status="inconclusive", why="no target has a result", facts=facts)
    return Found(
        value=fine / n,
        ci=exact_share_interval(fine, n, confidence=1 - 2 * settings.alpha),
        n=n,
        p=sign_test(fine, n),
        power=sign_power(VALID, n, alpha=settings.alpha),
        facts=facts,
    )


def judge_signs(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """Pass if the share reaches the threshold and p is at most alpha.

    It fails if the whole interval is below the threshold; or if at most half of the signs are
    right, although there are enough of them to show a valid measure.
    """
    if found.value is None or found.p is None or found.ci is None:
        return "inconclusive"
    if found.value >= threshold and found.p <= settings.alpha:
        return "pass"
    seen = (found.power or 0) >= settings.power and found.value <= 0.5
    return "fail" if found.ci[1] < threshold or seen else "inconclusive"


def more_signs(right: int, n: int, settings: TrustSettings) -> str:
    """How many more right signs, or units, would make a result that is not clear pass."""
    least = right_signs(n, alpha=settings.alpha)
    parts = []
    if least is not None and (missing := max(least, -int(-settings.face * n // 1)) - right) > 0:
        parts.append(amount(missing, "more right sign"))
    needed = needed_signs(VALID, alpha=settings.alpha, power=settings.power)
    if n < needed:
        more = f"{needed - n} more with a result ({needed} in all, for power {settings.power:g})"
        parts.append(more)
    return ", or ".join(parts) or "more of them, with clearer signs"


# --- measures -----------------------------------------------------------------------------------


def signs(run: MeasureRun, anchors: Mapping[str, str]) -> dict[str, bool | None]:
    """Whether each anchor is on the side of its group; None if it has no result.

    An anchor is on the side of a group if its p is above the equal share, as in Table 3. The
    reference plays no part: p of nurses may favour women, and yet be below a census. For a prior
    measure, positive values are on the side of the first group. A value of 0 is on no side.
    """
    known = {bias.target: bias for bias in run.biases}
    return {
        target: _right(known[target], group) if target in known else None
        for target, group in anchors.items()
    }


def _right(bias: Bias, group: str) -> bool | None:
    if group not in bias.groups or bias.undefined:
        return None
    if bias.value is not None:
        return (bias.value if group == bias.groups[0] else -bias.value) > _ZERO
    return None if bias.p is None else bias.p[bias.groups.index(group)] - 1 / len(bias.p) > _ZERO


def anchors(case: MeasureCase) -> Iterator[Found]:
    """How many anchors have the expected sign."""
    known = case.groups.anchors if case.groups else {}
    if not known:
        return
    if case.run.prior and len(case.run.group_names) > 2:
        why = "one value for more than two groups has no direction"
        yield Found(status="not_applicable", why=why)
        return
    yield signs_found(signs(case.run, known), case.settings)


# --- scores -------------------------------------------------------------------------------------


def informative(data: DatasetInput, run: Scored, settings: TrustSettings) -> bool:
    """Whether a model surely tells meaningful from unrelated associations, so that ss says much."""
    ci = _lms(data, run, settings)[1]
    return ci is not None and ci[0] > CHANCE


def _lms(
    data: DatasetInput, run: Scored, settings: TrustSettings
) -> tuple[float | None, Pair | None, int]:
    cats = int((~np.isnan(run.lms)).sum())
    return share_of_terms(data.means(run.lms), cats=cats, confidence=settings.confidence)


def meaningful(case: ScoresCase) -> Iterator[Found]:
    """The lms of each model."""
    for run in case.runs:
        value, ci, terms = _lms(case.data, run, case.settings)
        facts = {"run": run.name, "cats": int((~np.isnan(run.lms)).sum())}
        facts["more"] = more_terms(value or 0, ci, CHANCE, terms)
        yield Found(name=run.model, value=value, ci=ci, n=terms, facts=facts, evidence=run.files)


def directions(case: ScoresCase) -> Iterator[Found]:
    """How many terms whose direction is known have it, for each model."""
    for run in case.runs if case.data.directions else ():
        ss = dict(zip(case.data.targets, case.data.means(run.ss), strict=True))
        right = {
            target: (ss[target] > CHANCE) == (prefers == "stereotype")
            if target in ss and not np.isnan(ss[target]) and ss[target] != CHANCE
            else None
            for target, prefers in case.data.directions.items()
        }
        yield replace(signs_found(right, case.settings), name=run.model, evidence=run.files)


# --- the table ----------------------------------------------------------------------------------

_ANCHORS = Check(
    criterion="face",
    name="anchors",
    find={"measure": anchors},
    statistic="share of anchors with the expected sign",
    unit="anchors",
    judge=judge_signs,
    threshold="face",
    source="a setting of ours; the paper (Table 3) accepts one wrong sign of eight, and so does "
    "the exact sign test",
    computed="{right} of {n} anchors have the expected sign; exceptions: {exceptions}; without a "
    "result: {missing}. Exact one-sided sign test; power is for a share of {valid:g}",
    says={
        "pass": "More signs are right than chance would give",
        "fail": "So few signs are right that the values do not have the known directions",
        "inconclusive": "This can be chance, or too many signs are wrong",
    },
    advice={
        "pass": "wrong signs of more anchors",
        "fail": "groups and anchors in the right order, if nearly all signs are wrong; else "
        "another measure",
        "inconclusive": "{more}",
        "not_run": "set anchors in [groups.NAME], with 8 targets or more",
    },
    needs="there are no anchors: targets whose direction is known",
)
CHECKS = (
    _ANCHORS,
    Check(
        criterion="face",
        name="meaningful",
        find={"scores": meaningful},
        statistic="lms, mean over terms",
        unit="terms",
        judge=reached,
        threshold=CHANCE,
        source="the lms of a random choice (StereoSet, ACL §5.3)",
        computed="{run}: how often associations that annotators called stereotype or "
        "anti-stereotype are preferred to unrelated ones, over {cats} CATs",
        says={
            "pass": "The model does so more often than chance",
            "fail": "The model prefers what has no meaning here",
            "inconclusive": "This can be chance",
        },
        advice={
            "pass": "an interval that contains 50, on other CATs",
            "fail": "scores with the right sign, or another model",
            "inconclusive": "{more}",
        },
    ),
    replace(
        _ANCHORS,
        name="known-directions",
        find={"scores": directions},
        statistic="share of terms with the known direction",
        unit="terms",
        computed="{right} of {n} terms have the known direction; exceptions: {exceptions}; without "
        "a result: {missing}. Exact one-sided sign test; power is for a share of {valid:g}",
        advice={
            "pass": "wrong signs of more terms",
            "fail": "the right directions in directions.csv, if nearly all signs are wrong",
            "inconclusive": "{more}",
            "not_run": "in a campaign, list such terms in 6-trust/directions.csv, with the columns "
            "target and prefers (stereotype or anti-stereotype); at least 8 terms",
        },
        needs="needs terms for which it is known what models prefer, and none are given",
    ),
)

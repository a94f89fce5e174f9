"""Face validity by signs: the exact one-sided sign test over targets whose direction is known."""

from typing import NamedTuple

from curation.bias import Pair, Status
from curation.stats.power import needed_signs, sign_power
from curation.stats.tests import exact_share_interval, right_signs, sign_test
from curation.trust.protocol.verdicts import Limits, verdict
from curation.trust_settings import TrustSettings
from curation.wording import amount

EITHER = 0.5
"""The share of right signs of a measure that knows nothing."""
VALID = 0.9
"""The share of right signs at which power is computed."""


class Signs(NamedTuple):
    """The share of right signs, its interval, p, power at ``VALID``, and the status."""

    share: float
    ci: Pair
    p: float
    power: float
    status: Status


def judge_signs(right: int, n: int, settings: TrustSettings) -> Signs:
    """Judge whether more than half of the signs are right.

    It passes if p is at most alpha. It fails if at most half are right, and either the interval is
    below one half, or the power sufficed.

    Args:
        right: how many signs are right.
        n: how many signs there are, at least 1.
        settings: alpha and the least power.
    """
    share, p = right / n, sign_test(right, n)
    power = sign_power(VALID, n, alpha=settings.alpha)
    ci = exact_share_interval(right, n, confidence=1 - 2 * settings.alpha)
    status: Status = "pass" if p <= settings.alpha else "inconclusive"
    if status != "pass" and share <= EITHER:
        limits = Limits(settings.alpha, settings.power)
        below = min(share, EITHER - 1e-9)
        status = verdict(below, threshold=EITHER, ci=ci, p=p, power=power, limits=limits)
    return Signs(share, ci, p, power, status)


def signs_change(status: str, right: int, n: int, settings: TrustSettings, *, unit: str) -> str:
    """What would change the status of ``judge_signs``: other signs, or more units."""
    least = right_signs(n, alpha=settings.alpha)
    if status == "pass":
        return amount(right - (least or n) + 1, "more wrong sign")
    parts = [amount(least - right, "more right sign")] if least is not None else []
    return ", or ".join(filter(None, [*parts, more_signs(n, settings, unit=unit)]))


def more_signs(n: int, settings: TrustSettings, *, unit: str) -> str:
    """How many more units give the power at ``VALID``; empty if there are enough."""
    needed = needed_signs(VALID, alpha=settings.alpha, power=settings.power)
    if n >= needed:
        return ""
    return f"{amount(needed - n, f'more {unit}')} with a result (power {settings.power:g})"

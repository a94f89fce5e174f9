"""The judges of checks: when a result passes, fails, or is inconclusive.

Pass means that the data could have shown the opposite. Power is that at the threshold, never at the
observed value, which would only repeat p.
"""

import math
from typing import TYPE_CHECKING

from curation.campaign.settings import TrustSettings
from curation.records import Status

if TYPE_CHECKING:
    from curation.trust.protocol.checks import Found

FEWEST = 5  # with fewer targets than this, a rank correlation says nothing
ALONE = 0.9  # a third value with this rank correlation orders the units alone
_LEAST = 0.0005  # a smaller change is shown as 0, and may be rounding


def reached(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """Pass if the whole interval is at the threshold or above, fail if it is wholly below."""
    if found.value is None or found.ci is None:
        return "inconclusive"
    if found.ci[0] >= threshold:
        return "pass"
    return "fail" if found.ci[1] < threshold else "inconclusive"


def exceeded(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """As ``reached``, but an interval that ends at the threshold fails, too."""
    if found.ci is not None and found.ci[1] <= threshold:
        return "fail"
    return reached(found, threshold, settings)


def shorter(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """As ``enough``, of lists cut to ``size`` words; without a verdict if few words are left out.

    Results of more than half of the words of a list are near those of all, for a random measure,
    too. So the ``shortest`` list must have twice as many words.
    """
    if found.facts["shortest"] < 2 * found.facts["size"]:
        return "not_applicable"
    return enough(found, threshold, settings)


def enough(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """As ``reached``, for a rank correlation over targets; fewer than five decide nothing."""
    return "inconclusive" if found.n < FEWEST else reached(found, threshold, settings)


def refuted(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """Fail if the value is below the threshold. At or above it there is no verdict.

    It is for a value that a random measure reaches, too, so that reaching it shows nothing.
    """
    low = found.n >= FEWEST and found.value is not None and found.value < threshold
    return "fail" if low else "not_applicable"


def significant(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """Pass if the estimate reaches the threshold and p is at most alpha.

    Fail if the whole interval is below the threshold; or if the estimate is below it and not
    significant, although the power at the threshold is high enough to see such an effect.
    """
    value, p = found.value, found.p
    if value is None or p is None:
        return "inconclusive"
    if found.ci is not None and found.ci[1] < threshold:
        return "fail"
    if value >= threshold:
        return "pass" if p <= settings.alpha else "inconclusive"
    seen = found.power is not None and found.power >= settings.power
    return "fail" if p > settings.alpha and seen else "inconclusive"


def partialled(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """As ``significant``, but passes only if the correlation remains without that of a third value.

    The facts ``partial`` and ``partial_p`` are of the correlation with the number of contexts
    partialled out; None if that number is not known. ``counted`` is the correlation of the sizes
    with that number. If it is near ±1, the number alone orders the sizes, and what remains is a few
    exchanged ranks, whose p is too small; so that does not pass.
    """
    status = significant(found, threshold, settings)
    rest, p, counted = (found.facts[name] for name in ("partial", "partial_p", "counted"))
    remains = rest is not None and rest >= threshold and p is not None and p <= settings.alpha
    alone = counted is None or abs(counted) >= ALONE
    return "inconclusive" if status == "pass" and (alone or not remains) else status


def followed(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """As ``significant`` or ``partialled``, over years; passes only if changes correlate, too.

    Years follow each other: two trends correlate, whatever the reason. The facts ``steps`` and
    ``steps_p`` are of the changes from each year to the next.
    """
    judge = partialled if "partial" in found.facts else significant
    status = judge(found, threshold, settings)
    steps, p = found.facts["steps"], found.facts["steps_p"]
    follow = steps is not None and steps >= threshold and p is not None and p <= settings.alpha
    return "inconclusive" if status == "pass" and not follow else status


def clear(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """Pass if the estimate reaches the threshold and its interval is above 0."""
    if found.value is not None and found.ci is not None:
        if found.value >= threshold and found.ci[0] > 0:
            return "pass"
        if found.ci[1] < threshold:
            return "fail"
    return "inconclusive"


def within(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """Pass if the interval of a change is inside ± the threshold, fail if it is wholly outside.

    The margin is fixed. A margin that grows with the interval would reward noise.
    """
    if found.ci is None:
        return "inconclusive"
    low, high = found.ci
    if low > threshold or high < -threshold:
        return "fail"
    return "pass" if -threshold <= low and high <= threshold else "inconclusive"


def changed(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """Whether bias grew or fell: on which side of the threshold the whole interval is."""
    low, high = found.ci or (-math.inf, math.inf)
    if low <= threshold <= high or abs((found.value or 0.0) - threshold) < _LEAST:
        return "not_shown"
    return "grew" if low > threshold else "fell"


def moved(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """As ``changed``, of a change that is not one of bias; the row says which way it went."""
    return "not_shown" if changed(found, threshold, settings) == "not_shown" else "moved"


def signs(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """Pass if the share of right signs reaches the threshold and p is at most alpha.

    It does not pass if a direction has too few signs (the fact ``lacking``). It fails if the whole
    interval is below the threshold; or if at most half of the signs are right, although there are
    enough of them to show a valid measure.
    """
    if found.value is None or found.p is None or found.ci is None:
        return "inconclusive"
    if found.value >= threshold and found.p <= settings.alpha:
        return "inconclusive" if found.facts["lacking"] else "pass"
    seen = (found.power or 0) >= settings.power and found.value <= 0.5
    return "fail" if found.ci[1] < threshold or seen else "inconclusive"


def given(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """The verdict that the check's function reached from several values: ``facts["verdict"]``."""
    status: Status = found.facts["verdict"]
    return status


def nothing(found: "Found", threshold: float, settings: TrustSettings) -> Status:
    """No verdict: the value is shown, and a random measure has such a value, too."""
    return "not_applicable"


def worst(*statuses: Status) -> Status:
    """The worst of several verdicts: fail, then inconclusive, then pass.

    >>> worst("pass", "fail", "inconclusive")
    'fail'
    """
    order: tuple[Status, ...] = ("pass", "inconclusive", "fail")
    return max(statuses, key=order.index)

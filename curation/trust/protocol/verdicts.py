"""When a criterion passes, fails, or is inconclusive.

Pass: the estimate reaches the threshold, and p is at most alpha. Fail: the whole interval is below
the threshold; or the estimate is below it and not significant, although the power at the threshold
is high enough to see an effect of that size. Everything else is inconclusive. Power is that at the
threshold, never at the observed value, which would only repeat p.
"""

from collections.abc import Sequence
from typing import NamedTuple

from curation.bias import Pair, Status
from curation.trust.protocol.checks import Found
from curation.trust_settings import TrustSettings


class Limits(NamedTuple):
    """The limits of all verdicts, from ``[trust]``."""

    alpha: float = 0.05
    power: float = 0.8


DEFAULT = Limits()
_SEVERITY: tuple[Status, ...] = ("pass", "inconclusive", "fail")


def verdict(
    value: float | None,
    *,
    threshold: float,
    ci: Pair | None = None,
    p: float | None = None,
    null: float | None = None,
    power: float | None = None,
    limits: Limits = DEFAULT,
) -> Status:
    """The status of a test whose value should be at least a threshold.

    Args:
        value: the estimate; None if it could not be computed.
        threshold: the least value that passes.
        ci: the interval of the value.
        p: of the hypothesis that there is no effect; None if the interval alone decides.
        null: the value if there is no effect, for a value that has an interval and no p: an
            interval above it counts as a p of at most alpha. None if the whole interval must reach
            the threshold.
        power: the probability of a significant result if the true value were at the threshold.
        limits: alpha, and the least power.

    >>> verdict(0.9, threshold=0.7, ci=(0.5, 0.98), p=0.001, power=0.4)
    'pass'
    >>> verdict(0.4, threshold=0.7, ci=(0.1, 0.6), p=0.02, power=0.9)
    'fail'
    >>> verdict(0.5, threshold=0.7, ci=(-0.3, 0.9), p=0.2, power=0.4)
    'inconclusive'
    >>> verdict(0.79, threshold=0.667, ci=(0.6, 0.9), null=0.0)
    'pass'
    """
    if value is None:
        return "inconclusive"
    if ci is not None and ci[1] < threshold:
        return "fail"
    if p is None:
        above = ci is not None and ci[0] >= threshold
        clear = ci is not None and null is not None and ci[0] > null and value >= threshold
        return "pass" if above or clear else "inconclusive"
    if value >= threshold:
        return "pass" if p <= limits.alpha else "inconclusive"
    seen = power is not None and power >= limits.power
    return "fail" if p > limits.alpha and seen else "inconclusive"


ANSWERED = "it passes if the question is answered, whatever the answer is"
"""What a row of ``decided`` says about its status."""


def decided(ci: Pair | None, *, null: float = 0.0) -> Status:
    """The status of a question that either answer settles: "pass" if the interval excludes null.

    >>> decided((0.1, 0.4)), decided((-0.4, -0.1)), decided((-0.1, 0.2)), decided(None)
    ('pass', 'pass', 'inconclusive', 'inconclusive')
    """
    excluded = ci is not None and not ci[0] <= null <= ci[1]
    return "pass" if excluded else "inconclusive"


def within(ci: Sequence[float] | None, margin: float) -> Status:
    """Pass if the interval of a change is inside ± margin, fail if it is wholly outside.

    The margin is fixed. A margin that grows with the interval would reward noise.

    >>> within((-2, 3), 5), within((6, 9), 5), within((-9, -6), 5), within((-1, 6), 5)
    ('pass', 'fail', 'fail', 'inconclusive')
    """
    if ci is None:
        return "inconclusive"
    if ci[0] > margin or ci[1] < -margin:
        return "fail"
    return "pass" if -margin <= ci[0] and ci[1] <= margin else "inconclusive"


def worst(statuses: Sequence[Status]) -> Status:
    """The worst of several verdicts: fail, then inconclusive, then pass.

    >>> worst(["pass", "fail", "inconclusive"])
    'fail'
    """
    return max(statuses, key=_SEVERITY.index)


def of_control(status: Status) -> Status:
    """The status of a negative control, which must fail: "pass" if it fails, "fail" if it passes.

    >>> of_control("fail"), of_control("pass"), of_control("inconclusive")
    ('pass', 'fail', 'inconclusive')
    """
    opposite: dict[Status, Status] = {"pass": "fail", "fail": "pass"}
    return opposite.get(status, status)


# --- as a judge of checks ------------------------------------------------------------------------


def reached(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """Pass if the whole interval is at the threshold or above, fail if it is wholly below."""
    if found.value is None or found.ci is None:
        return "inconclusive"
    if found.ci[0] >= threshold:
        return "pass"
    return "fail" if found.ci[1] < threshold else "inconclusive"

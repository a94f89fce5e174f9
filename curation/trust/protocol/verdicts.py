"""When a criterion passes, fails, or is inconclusive.

Pass: the estimate reaches the threshold, and p is at most alpha. Fail: the whole interval is below
the threshold; or the result is not significant although the power at the threshold is high enough
to see it. Everything else is inconclusive. Power is that at the threshold, never at the observed
value, which would only repeat p.
"""

from typing import NamedTuple

from curation.bias import Pair, Status


class Limits(NamedTuple):
    """The limits of all verdicts, from ``[trust]``."""

    alpha: float = 0.05
    power: float = 0.8


DEFAULT = Limits()


def verdict(
    value: float | None,
    *,
    threshold: float,
    ci: Pair | None = None,
    p: float | None = None,
    power: float | None = None,
    limits: Limits = DEFAULT,
) -> Status:
    """The status of a test whose value should be at least a threshold.

    Args:
        value: the estimate; None if it could not be computed.
        threshold: the least value that passes.
        ci: the interval of the value.
        p: of the hypothesis that there is no effect; None if the interval alone decides.
        power: the probability of a significant result if the true value were at the threshold.
        limits: alpha, and the least power.

    >>> verdict(0.9, threshold=0.7, ci=(0.5, 0.98), p=0.001, power=0.4)
    'pass'
    >>> verdict(0.4, threshold=0.7, ci=(0.1, 0.6), p=0.02, power=0.9)
    'fail'
    >>> verdict(0.5, threshold=0.7, ci=(-0.3, 0.9), p=0.2, power=0.4)
    'inconclusive'
    """
    if value is None:
        return "inconclusive"
    if ci is not None and ci[1] < threshold:
        return "fail"
    if p is None:
        return "pass" if ci is not None and ci[0] >= threshold else "inconclusive"
    if value >= threshold and p <= limits.alpha:
        return "pass"
    if p > limits.alpha and power is not None and power >= limits.power:
        return "fail"
    return "inconclusive"

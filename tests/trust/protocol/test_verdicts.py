"""When a criterion passes, fails, or is inconclusive, and how often it errs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from curation.records import Interval, Status
from curation.settings import TrustSettings
from curation.stats.correlations import rho, rho_interval
from curation.stats.power import critical_rho, rank_power
from curation.trust.protocol.checks import Found
from curation.trust.protocol.face import signs_found
from curation.trust.protocol.judges import (
    answered,
    answered_in_points,
    clear,
    exceeded,
    partialled,
    reached,
    significant,
    signs,
    within,
)

SETTINGS = TrustSettings()


def found(
    value: float | None, ci: Interval | None, p: float | None = None, power: float | None = None
) -> Found:
    return Found(value=value, ci=ci, p=p, power=power)


@pytest.mark.parametrize(
    ("value", "ci", "p", "power", "status"),
    [
        (0.9, (0.5, 1.0), 0.001, 0.4, "pass"),  # reaches the threshold and is significant
        (0.8, (0.1, 1.0), 0.06, 0.4, "inconclusive"),
        (0.8, (0.1, 1.0), 0.06, 0.9, "inconclusive"),  # not below the threshold: power is no reason
        (0.6, (0.2, 0.9), 0.01, 0.9, "inconclusive"),  # significant, and the interval has both
        (0.3, (-0.3, 0.75), 0.3, 0.9, "fail"),  # the power sufficed
        (0.3, (-0.3, 0.75), 0.3, 0.79, "inconclusive"),
        (0.3, (0.1, 0.65), 0.01, 0.1, "fail"),  # the interval decides, whatever the power is
        (None, None, None, 0.9, "inconclusive"),
    ],
)
def test_verdicts_at_a_threshold_of_0_7(
    value: float | None, ci: Interval | None, p: float | None, power: float | None, status: Status
) -> None:
    assert significant(found(value, ci, p, power), 0.7, SETTINGS) == status


@pytest.mark.parametrize(
    ("ci", "status"),
    [
        ((0.7, 0.9), "pass"),
        ((0.6, 0.9), "inconclusive"),
        ((0.5, 0.69), "fail"),
        (None, "inconclusive"),
    ],
)
def test_without_p_the_whole_interval_decides(ci: Interval | None, status: Status) -> None:
    assert reached(found(0.68, ci), 0.7, SETTINGS) == status


def test_an_interval_that_ends_at_the_threshold_is_not_above_it() -> None:
    assert exceeded(found(-0.1, (-0.2, 0.0)), 0.0, SETTINGS) == "fail"
    assert reached(found(-0.1, (-0.2, 0.0)), 0.0, SETTINGS) == "inconclusive"
    assert exceeded(found(0.1, (0.0, 0.2)), 0.0, SETTINGS) == "pass"


@pytest.mark.parametrize(
    ("right", "n", "status"),
    [
        (7, 8, "pass"),  # as in the paper: one exception of eight
        (6, 8, "inconclusive"),
        (59, 100, "fail"),  # p is .04, but the whole interval is below .75
        (70, 100, "inconclusive"),  # surely more than half, but too many are wrong
        (18, 30, "inconclusive"),  # more than half are right, though not surely
        (4, 4, "inconclusive"),  # four signs cannot be significant
        (15, 30, "fail"),  # the power at a share of .9 sufficed
        (0, 5, "fail"),  # the interval is below one half
    ],
)
def test_signs(right: int, n: int, status: Status) -> None:
    settings = TrustSettings()
    own = signs_found({str(place): place < right for place in range(n)}, settings)
    assert signs(own, settings.face, settings) == status


def test_an_interval_above_no_effect_takes_the_place_of_p() -> None:
    assert clear(found(0.79, (0.5, 0.9)), 0.667, SETTINGS) == "pass"
    assert clear(found(0.79, (-0.1, 0.9)), 0.667, SETTINGS) == "inconclusive"
    assert clear(found(0.6, (0.5, 0.7)), 0.667, SETTINGS) == "inconclusive"
    assert clear(found(0.6, (0.5, 0.66)), 0.667, SETTINGS) == "fail"


def test_the_limits_are_settings() -> None:
    strict, ci = TrustSettings(alpha=0.01, power=0.95), (0.1, 1.0)
    assert significant(found(0.9, ci, 0.02, 0.9), 0.7, SETTINGS) == "pass"
    assert significant(found(0.9, ci, 0.02, 0.9), 0.7, strict) == "inconclusive"
    assert significant(found(0.2, ci, 0.4, 0.9), 0.7, strict) == "inconclusive"


@pytest.mark.parametrize(
    ("partial", "p", "counted", "status"),
    [
        (0.5, 0.01, -0.4, "pass"),
        (0.5, 0.06, -0.4, "inconclusive"),  # not significant without the contexts
        (-0.1, 0.01, -0.4, "inconclusive"),
        (None, None, None, "inconclusive"),  # the number of contexts is not known
        (0.8, 0.01, -0.89, "pass"),
        (0.8, 0.01, -0.9, "inconclusive"),  # the contexts alone order the sizes
    ],
)
def test_what_disappears_without_the_contexts_does_not_pass(
    partial: float | None, p: float | None, counted: float | None, status: Status
) -> None:
    facts = {"partial": partial, "partial_p": p, "counted": counted}
    own = replace(found(0.5, (0.3, 0.7), 0.001), facts=facts)
    assert partialled(own, 0.0, SETTINGS) == status
    assert partialled(replace(own, value=-0.5, ci=(-0.7, -0.3)), 0.0, SETTINGS) == "fail"


def test_either_answer_decides_a_question() -> None:
    ends = ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1), None)
    statuses = [answered(found(0.0, ci), 0.0, SETTINGS) for ci in ends]
    assert statuses == ["pass", "pass", "inconclusive", "inconclusive"]
    points = ((6.0, 7.0), (-4.0, 4.0), (-4.0, 6.0))
    statuses = [answered_in_points(found(0.0, ci), 0.0, SETTINGS) for ci in points]
    assert statuses == ["pass", "pass", "inconclusive"]


@pytest.mark.parametrize(
    ("ci", "status"),
    [((-2, 3), "pass"), ((6, 9), "fail"), ((-9, -6), "fail"), ((-1, 6), "inconclusive")],
)
def test_a_change_must_stay_within_the_margin(ci: Interval, status: Status) -> None:
    assert within(found(0.0, ci), 5, SETTINGS) == status


def statuses(true: float, n: int, *, draws: int = 1500) -> dict[Status, float]:
    """The share of each verdict for normal data with this rank correlation; threshold 0.7."""
    rng = np.random.default_rng(8)
    r = 2 * math.sin(math.pi * true / 6)
    x = rng.standard_normal((draws, n))
    y = r * x + math.sqrt(1 - r * r) * rng.standard_normal((draws, n))
    power, found = rank_power(0.7, n), list[Status]()
    for first, second in zip(x, y, strict=True):
        value = rho(first, second) or 0.0
        p = 0.01 if abs(value) >= critical_rho(n) - 1e-9 else 0.5
        own = Found(value=value, ci=rho_interval(value, n), p=p, power=power)
        found.append(significant(own, 0.7, SETTINGS))
    return {status: found.count(status) / draws for status in set(found)}


def test_a_measure_at_the_threshold_rarely_fails() -> None:
    for n in (8, 16, 40):
        found = statuses(0.7, n)
        # 2.5 % by the interval; with enough power also 1 - power by the test
        assert found.get("fail", 0) < (0.05 if n == 8 else 0.2)
        assert found["pass"] > 0.3


def test_a_random_measure_never_passes_and_few_targets_leave_it_open() -> None:
    few, many = statuses(0.0, 8), statuses(0.0, 30)
    assert few.get("pass", 0) < 0.025
    assert many.get("pass", 0) == 0
    assert many["fail"] > 0.95
    assert few["inconclusive"] > 0.4

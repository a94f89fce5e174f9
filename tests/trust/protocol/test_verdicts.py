"""When a criterion passes, fails, or is inconclusive, and how often it errs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from curation.campaign.settings import TrustSettings
from curation.records import Interval, Status
from curation.stats.correlations import critical_rho, rank_power, rho, rho_interval
from curation.trust.protocol import checks
from curation.trust.protocol.checks import Found
from curation.trust.protocol.content import signs_found
from support.written import beside

CASES = beside(__file__)

SETTINGS = TrustSettings()


def found(
    value: float | None, ci: Interval | None, p: float | None = None, power: float | None = None
) -> Found:
    return Found(value=value, ci=ci, p=p, power=power)


@pytest.mark.parametrize(
    ("value", "ci", "p", "power", "status"),
    [*CASES["significant"], (None, None, None, 0.9, "inconclusive")],
)
def test_verdicts_at_a_threshold_of_0_7(
    value: float | None, ci: Interval | None, p: float | None, power: float | None, status: Status
) -> None:
    assert checks.significant(found(value, ci, p, power), 0.7, SETTINGS) == status


@pytest.mark.parametrize(("judge", "threshold", "value", "ci", "status"), CASES["interval"])
def test_an_interval_decides(
    judge: str, threshold: float, value: float, ci: Interval | None, status: Status
) -> None:
    assert getattr(checks, judge)(found(value, ci or None), threshold, SETTINGS) == status


@pytest.mark.parametrize(("right", "n", "status"), CASES["signs"])
def test_signs(right: int, n: int, status: Status) -> None:
    sides = {str(place): ("a", "b")[place % 2] for place in range(n)}
    right_signs = {str(place): place < right for place in range(n)}
    own = signs_found(right_signs, sides, ("a", "b"), SETTINGS)
    assert checks.signs(own, SETTINGS.face, SETTINGS) == status


def test_the_limits_are_settings() -> None:
    strict, ci = TrustSettings(alpha=0.01, power=0.95), (0.1, 1.0)
    assert checks.significant(found(0.9, ci, 0.02, 0.9), 0.7, SETTINGS) == "pass"
    assert checks.significant(found(0.9, ci, 0.02, 0.9), 0.7, strict) == "inconclusive"
    assert checks.significant(found(0.2, ci, 0.4, 0.9), 0.7, strict) == "inconclusive"


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
    assert checks.partialled(own, 0.0, SETTINGS) == status
    assert checks.partialled(replace(own, value=-0.5, ci=(-0.7, -0.3)), 0.0, SETTINGS) == "fail"


@pytest.mark.parametrize(
    ("steps", "p", "status"),
    [(0.8, 0.01, "pass"), (0.8, 0.06, "inconclusive"), (None, None, "inconclusive")],
)
def test_two_trends_pass_only_if_their_changes_correlate(
    steps: float | None, p: float | None, status: str
) -> None:
    trends = replace(found(0.9, (0.6, 1.0), 0.001), facts={"steps": steps, "steps_p": p})
    assert checks.followed(trends, 0.0, SETTINGS) == status
    falls = replace(trends, value=-0.9, ci=(-1.0, -0.6))
    assert checks.followed(falls, 0.0, SETTINGS) == "fail"
    explained = {**trends.facts, "partial": 0.1, "partial_p": 0.6, "counted": 0.5}
    assert checks.followed(replace(trends, facts=explained), 0.0, SETTINGS) == "inconclusive"


def statuses(true: float, n: int, *, draws: int = 800) -> dict[Status, float]:
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
        found.append(checks.significant(own, 0.7, SETTINGS))
    return {status: found.count(status) / draws for status in set(found)}


@pytest.mark.parametrize(("n", "most"), [(8, 0.05), (16, 0.2), (40, 0.2)])
def test_a_measure_at_the_threshold_rarely_fails(n: int, most: float) -> None:
    found = statuses(0.7, n)
    # 2.5 % by the interval; with enough power also 1 - power by the test
    assert found.get("fail", 0) < most
    assert found["pass"] > 0.3


def test_a_random_measure_never_passes_and_few_targets_leave_it_open() -> None:
    few, many = statuses(0.0, 8), statuses(0.0, 30)
    assert few.get("pass", 0) < 0.025
    assert many.get("pass", 0) == 0
    assert many["fail"] > 0.95
    assert few["inconclusive"] > 0.4

"""Intervals and tests by hand, and whether they hold what they promise, in small simulations."""

import math
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.stats import intervals
from curation.stats.intervals import mean_interval, pseudo_values, share_interval, t_quantile
from curation.stats.metrics import cell
from curation.stats.tests import t_test
from support.cats import REAL

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "coverage.py"))


def test_quantiles_of_t_are_those_of_printed_tables() -> None:
    printed = {1: 12.706, 4: 2.776, 9: 2.262, 100: 1.984}
    assert {df: round(t_quantile(0.95, df), 3) for df in printed} == printed


def test_the_interval_of_a_share_by_hand() -> None:
    # 0.4, 0.6, 0.5: p = 0.5, s² = 0.01, variance of the mean 0.01/3; n = 0.25 · 300 = 75.
    # t = 4.303 with two degrees: center 0.5, half = t/(1 + t²/75) · √(0.25/75 + t²/(4 · 75²)).
    t = t_quantile(0.95, 2)
    half = t / (1 + t * t / 75) * math.sqrt(0.25 / 75 + t * t / (4 * 75**2))
    found = share_interval(np.array([0.4, 0.6, 0.5]), observations=9)
    assert found == pytest.approx([0.5 - half, 0.5 + half])
    # The same as shares of ten each; a unit of more counts more.
    ten = np.full(3, 10.0)
    assert share_interval(np.array([4.0, 6, 5]), ten, observations=9) == pytest.approx(found)


def test_the_variance_of_a_ratio_is_linearized() -> None:
    # 1 of 2 and 3 of 4: p = 4/6. Residuals 1 − 2p = −1/3 and 1/3; variance 2/1 · (2/9) / 36.
    # t = 12.706 with one degree; of a mean_interval half is t · √variance.
    won, of = np.array([1.0, 3.0]), np.array([2.0, 4.0])
    half = t_quantile(0.95, 1) * math.sqrt(2 * (2 / 9) / 36)
    assert mean_interval(won, of) == pytest.approx([4 / 6 - half, 4 / 6 + half])


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_units_that_are_all_alike_count_as_their_observations(share: float) -> None:
    # Wilson's interval of 20 observations with t of two degrees of freedom.
    t, n = t_quantile(0.95, 2), 20
    center = (share + t * t / (2 * n)) / (1 + t * t / n)
    half = t / (1 + t * t / n) * math.sqrt(share * (1 - share) / n + t * t / (4 * n * n))
    found = share_interval(np.full(3, share), observations=n)
    assert found == pytest.approx([max(0, center - half), min(1, center + half)])
    assert found[1] - found[0] > 0.4


def test_one_unit_has_no_interval_and_no_test() -> None:
    one = np.array([0.5])
    assert share_interval(one, observations=9) is mean_interval(one) is t_test(one) is None


def test_pseudo_values_of_a_square_by_hand() -> None:
    # Units 1, 2, 3 with the square of the mean: whole 4; without one 6.25, 4, 2.25.
    # 3 · 4 − 2 · (6.25, 4, 2.25) = −0.5, 4, 7.5.
    units = np.array([[1.0, 1], [2, 1], [3, 1]])
    found = pseudo_values(lambda sums: (sums[:, 0] / sums[:, 1]) ** 2, units)
    assert found.tolist() == [-0.5, 4.0, 7.5]


def test_the_interval_of_icat_by_hand() -> None:
    # Ten terms with lms 80 and ss 20 ± 2: icat 80 · 20/50 = 32.
    # All lms are alike: Wilson with 200 CATs.
    ss = np.array([18.0, 22.0] * 5)
    found = cell({"lms": np.full(10, 80.0), "ss": ss}, cats=200)
    lms, ends = found["lms_ci"], found["ss_ci"]
    below = math.hypot(math.log(80 / lms[0]), math.log(20 / ends[0]))
    above = math.hypot(math.log(lms[1] / 80), math.log(ends[1] / 20))
    assert found["icat_ci"] == pytest.approx([32 * math.exp(-below), 32 * math.exp(above)])
    mirrored = cell({"lms": np.full(10, 80.0), "ss": 100 - ss}, cats=200)
    assert mirrored["icat_ci"] == pytest.approx(found["icat_ci"])


def test_icat_may_be_as_high_as_lms_if_ss_may_be_50() -> None:
    lms, ss = np.full(10, 80.0), np.array([42.0, 54.0] * 5)  # mean 48: icat 76.8 at most 80
    found = cell({"lms": lms, "ss": ss}, cats=260)
    assert found["ss_ci"][0] < 50 < found["ss_ci"][1]
    assert found["icat_ci"][1] >= found["lms_ci"][1] > 80


@pytest.mark.parametrize("ss", [0.0, 100.0])
def test_a_fully_biased_model_has_icat_zero_and_an_interval(ss: float) -> None:
    found = cell({"lms": np.full(8, 90.0), "ss": np.full(8, ss)}, cats=80)
    low, high = found["icat_ci"]
    assert found["icat"] == low == 0.0 < high < 40


def test_intervals_that_are_too_wide_are_marked() -> None:
    draw = np.random.default_rng(0)
    ss = draw.uniform(40, 60, 8)
    assert cell({"lms": draw.uniform(96, 100, 8), "ss": ss}, cats=200)["too_wide"] == ["lms"]
    assert cell({"lms": draw.uniform(80, 90, 8), "ss": ss}, cats=200)["too_wide"] == []
    won = np.array([0.0, 100.0] * 13)
    assert cell({"lms": np.full(26, 90.0), "ss": won}, cats=26, of_term=True)["too_wide"] == [
        "icat"
    ]
    few = cell({"lms": np.full(10, 90.0), "ss": won[:10]}, cats=10, of_term=True)
    assert few["too_wide"] == ["lms", "ss", "icat"]


# --- what they promise ----------------------------------------------------------------------------
# Before, with percentile intervals of a bootstrap, these were 69 (icat at 50), 83 (five terms).


@pytest.mark.parametrize("job", [(5, 85.0, 50.0), (10, 98.0, 50.0), (20, 70.0, 40.0)])
def test_intervals_of_scores_hold(job: tuple[int, float, float]) -> None:
    checks = SCRIPT["_scores"]((*job, 0.0135, 0.0), datasets=600)
    assert [check.figure for check in checks] == ["lms", "ss", "icat"]
    for check in checks:
        assert not check.fails, check
        assert 92 < check.share <= 99.5


@pytest.mark.long
@pytest.mark.parametrize("part", ["agreement", "sentiment", "power", "terms", "ranks"])
def test_other_intervals_and_power_hold(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor(1) as pool:
        checks = SCRIPT["PARTS"][part](60, pool)
    assert len(checks) > 10
    shares = [check for check in checks if check.figure != "power of rho"]
    assert [check for check in shares if abs(check.share - 96) > 40] == []
    assert sum(check.fails for check in checks) <= len(checks) // 10
    assert capsys.readouterr().out.count("|") > 20


def test_equal_models_differ_by_chance_as_often_as_the_test_says() -> None:
    # Of 400 pairs with five terms 20 should have p < 0.05; the bootstrap had it in 60.
    job = (5, (85.0, 85.0), (40.0, 40.0))
    for check in SCRIPT["_difference"](job, datasets=400).checks:
        assert 2 < check.share < 8.5, check


@pytest.mark.realdata
def test_the_spread_between_terms_is_that_of_the_published_predictions() -> None:
    if not REAL.exists():
        pytest.skip(f"no real data in {REAL}")
    iccs: dict[str, Any] = SCRIPT["measured_icc"](REAL)
    assert len(iccs) == 4
    assert max(max(pair) for pair in iccs.values()) == pytest.approx(max(SCRIPT["ICC"]), abs=5e-5)


def test_the_interval_of_a_difference_by_hand() -> None:
    # 0.5 − 0.2; down √(0.1² + 0.2²), up √(0.3² + 0.1²)
    low, high = intervals.difference_interval(0.5, 0.2, (0.4, 0.8), (0.1, 0.4))
    assert low == pytest.approx(0.3 - math.sqrt(0.05))
    assert high == pytest.approx(0.3 + math.sqrt(0.10))

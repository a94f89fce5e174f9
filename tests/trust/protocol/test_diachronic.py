"""The diachronic test of Table 5: vectors of ten decades beside the shares in the world."""

from collections import Counter

import numpy as np
import pytest

from curation.campaign.settings import TrustSettings
from curation.records import Criterion
from curation.trust.measure.groups import Groups
from curation.trust.protocol.cases import MeasureRun
from curation.trust.protocol.table import measure_criteria
from support.verdicts import fewer_orders, names, only, quick

YEARS = tuple(range(1900, 2000, 10))
JOBS = names(40)
LEAN = np.linspace(-1, 1, len(JOBS))
UNEQUAL = np.array([0.9, 0.95, 0.8, 0.85, 0.7, 0.6, 0.65, 0.5, 0.35, 0.4])
"""How unequal the world is in each decade: a job's share is .5 + unequal · lean / 2 + TOWARDS."""
TOWARDS = np.array([-0.04, -0.05, -0.01, -0.02, 0.0, 0.03, 0.01, 0.02, 0.05, 0.04])
WORLD = UNEQUAL[:, None] * LEAN / 2.5 + TOWARDS[:, None]
COUNTS = np.array([1, 3, 2, 5, 4, 9, 12, 8, 20, 30]) * 1e4
"""How much text there is of each decade: it grows, as the world gets more equal."""


def groups(*, counted: bool = True) -> Groups:
    shares = {
        year: {job: (0.5 + x, 0.5 - x) for job, x in zip(JOBS, row, strict=True)}
        for year, row in zip(YEARS, WORLD, strict=True)
    }
    counts = {y: dict.fromkeys(JOBS, float(n)) for y, n in zip(YEARS, COUNTS, strict=True)}
    return Groups(
        "gender",
        {"female": ("she",), "male": ("he",)},
        {job: (job,) for job in JOBS},
        history=shares,
        frequencies_by_year=counts if counted else {},
    )


def series(p: np.ndarray) -> list[MeasureRun]:
    """Runs whose p of the first group is .5 + p, shape (years, targets)."""
    runs = []
    for year, row in zip(YEARS, p, strict=True):
        found = tuple(quick(np.column_stack([0.5 + row, 0.5 - row]), ("female", "male")))
        name = f"vectors/gender-coha+{year}"
        runs.append(MeasureRun(name, "vectors", "gender", found, year=year))
    return runs


WHOLE = groups()


def rows(runs: list[MeasureRun], own: Groups | None = None) -> dict[str, Criterion]:
    found = measure_criteria(runs, {"gender": own or WHOLE}, TrustSettings(), seed=1)
    return {row.check: row for row in found if row.name == "vectors/gender-coha"}


def planted() -> list[MeasureRun]:
    return series(0.3 * WORLD + np.random.default_rng(1).normal(0, 0.01, WORLD.shape))


def test_a_trend_that_follows_the_world_passes() -> None:
    found = rows(planted())
    assert {name: (row.status, row.n, row.unit) for name, row in found.items()} == {
        "diachronic-sizes": ("pass", 10, "years"),
        "diachronic-signed": ("pass", 10, "years"),
    }
    assert len(found["diachronic-sizes"].evidence) == 10
    assert found["diachronic-sizes"].value == pytest.approx(1.0)
    # Without frequencies the sizes do not pass.
    found = rows(planted(), groups(counted=False))
    assert found["diachronic-sizes"].status == "inconclusive"
    assert "a table of frequencies" in found["diachronic-sizes"].change
    assert found["diachronic-signed"].status == "pass"


@fewer_orders()
@only("predictive")
def test_a_trend_of_the_number_of_contexts_is_not_one_of_bias() -> None:
    """No bias: p is .5, with the noise of so many contexts."""
    found = []
    for seed in range(40):
        noise = 20 / np.sqrt(COUNTS)[:, None] * np.random.default_rng(seed).normal(size=WORLD.shape)
        found.append(rows(series(noise.clip(-0.5, 0.5)))["diachronic-sizes"])
    # Without partialling out, the sizes would seem to follow the world in nearly all of them.
    assert sum((row.p or 1) <= 0.05 and (row.value or 0) > 0 for row in found) >= 36
    # Two-sided 5 %, of which half has the right sign: 1 of 40 is expected.
    assert sum(row.status == "pass" for row in found) <= 4


@fewer_orders()
@only("predictive")
def test_a_flat_series_rarely_passes() -> None:
    passed = Counter[str]()
    for seed in range(40):
        found = rows(series(0.1 * LEAN + np.random.default_rng(seed).normal(0, 0.02, WORLD.shape)))
        assert found.keys() == {"diachronic-sizes", "diachronic-signed"}
        passed.update(name for name, row in found.items() if row.status == "pass")
    assert max(passed.values(), default=0) <= 4


def test_targets_and_years_that_are_not_in_all_are_left_out() -> None:
    runs = planted()
    runs[0] = runs[0]._replace(biases=runs[0].biases[1:])
    found = rows([runs[0]._replace(name="vectors/gender-coha+1850", year=1850), *runs])
    assert found["diachronic-sizes"].n == 10  # the world has no shares of 1850
    nothing = rows(runs, Groups("gender", WHOLE.words, WHOLE.targets))
    assert {row.status for row in nothing.values()} == {"not_run"}
    assert all("set history" in row.change for row in nothing.values())
    assert {row.status for row in rows(runs[:2]).values()} == {"inconclusive"}


def test_a_run_of_a_year_is_not_compared_with_the_world_of_today() -> None:
    shares = {job: (0.5 + x / 3, 0.5 - x / 3) for job, x in zip(JOBS, LEAN, strict=True)}
    own = Groups("gender", WHOLE.words, WHOLE.targets, outcomes=shares)
    found = measure_criteria(planted(), {"gender": own}, TrustSettings(), seed=1)
    statuses = {row.status for row in found if row.check in ("signed", "unsigned")}
    assert statuses == {"not_applicable"}

"""The diachronic test of Table 5: vectors of ten decades beside the shares in the world."""

import numpy as np
import pytest

from curation.records import Criterion
from curation.settings import TrustSettings
from curation.trust.groups import Groups
from curation.trust.protocol.measures import MeasureRun
from curation.trust.protocol.table import measure_criteria
from support.biases import result

YEARS = tuple(range(1900, 2000, 10))
JOBS = tuple(f"job {number}" for number in range(40))
LEAN = np.linspace(-1, 1, len(JOBS))
UNEQUAL = np.array([0.9, 0.95, 0.8, 0.85, 0.7, 0.6, 0.65, 0.5, 0.35, 0.4])
"""How unequal the world is in each decade: a job's share is .5 + unequal · lean / 2 + TOWARDS."""
TOWARDS = np.array([-0.04, -0.05, -0.01, -0.02, 0.0, 0.03, 0.01, 0.02, 0.05, 0.04])
COUNTS = np.array([1, 3, 2, 5, 4, 9, 12, 8, 20, 30]) * 1e4
"""How much text there is of each decade: it grows, as the world gets more equal."""


def groups(*, counted: bool = True) -> Groups:
    shares = {
        year: {
            job: (0.5 + u * x / 2.5 + t, 0.5 - u * x / 2.5 - t)
            for job, x in zip(JOBS, LEAN, strict=True)
        }
        for year, u, t in zip(YEARS, UNEQUAL, TOWARDS, strict=True)
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
    return [
        MeasureRun(
            f"vectors/gender-coha+{year}",
            *("vectors", "gender"),
            tuple(result(job, float(value)) for job, value in zip(JOBS, row, strict=True)),
            year=year,
        )
        for year, row in zip(YEARS, p, strict=True)
    ]


def rows(runs: list[MeasureRun], own: Groups | None = None) -> dict[str, Criterion]:
    found = measure_criteria(runs, {"gender": own or groups()}, TrustSettings(), seed=1)
    return {row.check: row for row in found if row.name == "vectors/gender-coha"}


def planted(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    world = UNEQUAL[:, None] * LEAN / 2.5 + TOWARDS[:, None]
    return np.asarray(0.3 * world + rng.normal(0, 0.01, world.shape))


def flat(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.asarray(0.1 * LEAN + rng.normal(0, 0.02, (len(YEARS), len(JOBS))))


def only_counts(seed: int) -> np.ndarray:
    """No bias: p is .5, with the noise of so many contexts."""
    rng = np.random.default_rng(seed)
    scale = 20 / np.sqrt(COUNTS)[:, None]
    return np.asarray(scale * rng.standard_normal((len(YEARS), len(JOBS)))).clip(-0.5, 0.5)


def test_a_trend_that_follows_the_world_passes() -> None:
    found = rows(series(planted(1)))
    assert {name: (row.status, row.n, row.unit) for name, row in found.items()} == {
        "diachronic-sizes": ("pass", 10, "years"),
        "diachronic-signed": ("pass", 10, "years"),
    }
    assert len(found["diachronic-sizes"].evidence) == 10
    assert found["diachronic-sizes"].value == pytest.approx(1.0)


def test_without_frequencies_the_sizes_do_not_pass() -> None:
    found = rows(series(planted(1)), groups(counted=False))
    assert found["diachronic-sizes"].status == "inconclusive"
    assert "a table of frequencies" in found["diachronic-sizes"].change
    assert found["diachronic-signed"].status == "pass"


def test_a_trend_of_the_number_of_contexts_is_not_one_of_bias() -> None:
    statuses = [rows(series(only_counts(seed)))["diachronic-sizes"] for seed in range(40)]
    # Without partialling out, the sizes would seem to follow the world in nearly all of them.
    assert sum((row.p or 1) <= 0.05 and (row.value or 0) > 0 for row in statuses) >= 36
    # Two-sided 5 %, of which half has the right sign: 1 of 40 is expected.
    assert sum(row.status == "pass" for row in statuses) <= 4


def test_a_flat_series_rarely_passes() -> None:
    found = [rows(series(flat(seed))) for seed in range(40)]
    for name in ("diachronic-sizes", "diachronic-signed"):
        assert sum(each[name].status == "pass" for each in found) <= 4


def test_targets_and_years_that_are_not_in_all_are_left_out() -> None:
    runs = series(planted(1))
    runs[0] = runs[0]._replace(biases=runs[0].biases[1:])
    extra = runs[0]._replace(name="vectors/gender-coha+1850", year=1850)
    found = rows([extra, *runs])
    assert found["diachronic-sizes"].n == 10  # the world has no shares of 1850
    nothing = rows(runs, Groups("gender", groups().words, groups().targets))
    assert {row.status for row in nothing.values()} == {"not_run"}
    assert all("set history" in row.change for row in nothing.values())
    few = rows(runs[:2])
    assert {row.status for row in few.values()} == {"inconclusive"}


def test_a_run_of_a_year_is_not_compared_with_the_world_of_today() -> None:
    shares = {job: (0.5 + x / 3, 0.5 - x / 3) for job, x in zip(JOBS, LEAN, strict=True)}
    own = Groups("gender", groups().words, groups().targets, outcomes=shares)
    found = measure_criteria(series(planted(1)), {"gender": own}, TrustSettings(), seed=1)
    statuses = {row.status for row in found if row.check in ("signed", "unsigned")}
    assert statuses == {"not_applicable"}

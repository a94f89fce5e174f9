"""Each check passes what is right and refuses the faults that it is meant to see, by simulation.

``benchmarks/trust.py plants`` does the same with 200 seeds of every scene.
"""

import numpy as np
import pytest

from curation.stats.correlations import partial, rho
from curation.trust.protocol.table import table
from support import plants, verdicts
from support.plants import IDEAL

SEEDS = {
    **{"anchors": 200, "process": 60, "mitigation": 60},
    **{"people": 10, "outcomes": 12, "years": 4, "passages": 4, "word lists": 5},
    **{"negative": 4, "models": 5, "labels": 4, "surface": 5},
}
"""Few where a seed takes long."""


def test_the_bounds_are_those_of_a_test_at_5_per_cent_and_a_power_of_90() -> None:
    # 10 + 1.95 · 3.08 = 16.01, and 180 − 1.95 · 4.24 = 171.7
    assert (verdicts.most_faults(200), verdicts.least_ideal(200)) == (16, 172)
    # 2 + 1.95 · 1.38 = 4.7, and 36 − 1.95 · 1.90 = 32.3
    assert (verdicts.most_faults(40), verdicts.least_ideal(40)) == (4, 33)


def test_every_check_with_a_verdict_has_plants() -> None:
    judged = {
        f"{check.criterion} {check.name}"
        for check in table()[0]
        if check.kind == "test" and check.judge not in ("", "nothing", "refuted")
    }
    assert judged == {check for _, checks in verdicts.SCENES.values() for check in checks}


@pytest.mark.long
@pytest.mark.parametrize(
    ("scene", "reference"),
    [(scene, each) for scene in SEEDS for each in verdicts.references_of(scene)],
)
def test_checks_pass_the_ideal_and_refuse_faults(scene: str, reference: str) -> None:
    seeds = SEEDS[scene]
    found = verdicts.passes(seeds, scene, reference)
    assert set(found) == {(check, reference) for check in verdicts.SCENES[scene][1]}
    assert all(IDEAL in counts and len(counts) > 1 for counts in found.values())
    assert list(verdicts.broken(found, seeds)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", verdicts.TABLE_5)
def test_correlations_of_table_5_pass_as_often_as_their_power_says(name: str) -> None:
    rho, groups = verdicts.TABLE_5[name]
    found = verdicts.table_5_power(rho, groups, 40)
    assert found.fits, found


def test_without_the_number_of_contexts_their_noise_looks_like_bias() -> None:
    """Few contexts where the world is unequal: L1 of an unbiased measure follows the world."""
    found = []
    for seed in range(10):
        made = plants.professions("contexts", np.random.default_rng(seed))
        first, total = made.strengths[:, 0], made.strengths.sum(axis=1)
        size, gap = np.abs(2 * first / total - 1), np.abs(2 * made.world[:, 0] - 1)
        found.append((rho(size, gap), partial(size, gap, total).rho))
    # Of 100 targets, .20 is significant at .05.
    assert np.mean(found, axis=0) == pytest.approx([0.35, 0.0], abs=0.1)

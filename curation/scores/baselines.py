"""IdealLM, StereotypedLM, RandomLM (StereoSet, ACL §6.1), computed, not sampled."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from curation.records import Cat
from curation.scores.metrics import results

EXPECTED: dict[str, tuple[float | None, float]] = {
    "IdealLM": (1.0, 0.5),
    "StereotypedLM": (None, 1.0),
    "RandomLM": (0.5, 0.5),
}
"""Probability of preferring the meaningful, and the stereotype; None where it is not defined."""


def baselines(cats: Sequence[Cat]) -> list[dict[str, Any]]:
    """What the three baselines score on these CATs, in the form of ``metrics.results``.

    Every comparison enters with the probability that the baseline wins it, so the figures are
    expectations and have no interval. StereotypedLM says nothing of unrelated associations: its
    lms is None, and its icat is 0 whatever that would be.
    """
    found = []
    for model, (meaningful, stereotype) in EXPECTED.items():
        table = pd.DataFrame(
            [
                {
                    "kind": cat.kind,
                    "domain": cat.domain,
                    "term": f"{cat.domain}/{cat.target}",
                    "meaningful": 2 * (meaningful or 0.0),
                    "stereotype": stereotype,
                    "ties": 0,
                }
                for cat in cats
            ]
        )
        result = results(table, model=model, resamples=1)
        for cell in _cells(result):
            cell.update(lms_ci=None, ss_ci=None, icat_ci=None)
            if meaningful is None:
                cell.update(lms=None)
        found.append(result)
    return found


def _cells(result: dict[str, Any]) -> list[dict[str, Any]]:
    cells = [result["overall"]]
    for kind in result["kinds"].values():
        cells += [kind["overall"], *kind["domains"].values(), *kind["terms"].values()]
    return cells

"""Synthetic scorers with known lms, ss and icat: a check of the software on these CATs."""

from itertools import permutations

import numpy as np

from curation.bias import Criterion
from curation.stats.intervals import Floats
from curation.stats.metrics import icat, judge
from curation.trust.protocol.data import DatasetInput
from curation.trust.protocol.dataset.rows import About

_ROUNDING = 1e-6
# Scores of stereotype, anti-stereotype and unrelated; several rows are equally likely.
SCORERS: dict[str, tuple[list[tuple[float, ...]], tuple[float, float, float]]] = {
    "ideal": ([(2, 2, 1)], (100, 50, 100)),
    "stereotyped": ([(3, 2, 1)], (100, 100, 0)),
    "anti-stereotyped": ([(2, 3, 1)], (100, 0, 0)),
    "random": (list(permutations((1.0, 2.0, 3.0))), (50, 50, 50)),
}
"""Each scorer's scores, and its lms, ss and icat on any dataset (ACL §5.3); random in expectation
over all orders of the three associations."""


def software(data: DatasetInput, about: About) -> Criterion:
    """The largest distance of synthetic scorers from the values that they have on any dataset."""
    distances = {
        name: float(np.abs(np.array(_values(data, rows)) - expected).max())
        for name, (rows, expected) in SCORERS.items()
    }
    largest = max(distances.values())
    return about.row(
        "face",
        "software",
        "holds" if largest <= _ROUNDING else "broken",
        kind="software",
        statistic="largest distance of lms, ss or icat from the known value, in points",
        value=largest,
        n=len(SCORERS),
        unit="synthetic scorers",
        threshold=_ROUNDING,
        computed="the ideal scorer "
        "has lms 100, ss 50, icat 100; the stereotyped one ss 100, icat 0; the anti-stereotyped "
        "one ss 0, icat 0; a random one lms, ss and icat 50 in expectation",
        change="a defect of curation: report it" if largest > _ROUNDING else "nothing",
    )


def _values(data: DatasetInput, rows: list[tuple[float, ...]]) -> tuple[float, float, float]:
    """lms, ss and icat over terms, expected over equally likely scores."""
    meaningful, stereotype, _ = judge(np.array(rows, float))
    lms = _over_terms(data, 50 * float(meaningful.mean()))
    ss = _over_terms(data, 100 * float(stereotype.mean()))
    return float(lms), float(ss), float(icat(lms, ss))


def _over_terms(data: DatasetInput, value: float) -> Floats:
    return np.asarray(data.means(np.full(len(data.cats), value)).mean())

"""Table 5's contemporary column for prior measures, on 226 vectors of GoogleNews.

Bommasani and Liang correlate with the US census of 2010 (Garg et al. 2018), both sides without
sign. Their vectors have the 104 professions; the subset has 100.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from curation.stats.correlations import spearman
from curation.trust.measure.cosine import vector_biases
from curation.trust.measure.framework import Policies
from curation.trust.measure.groups import Groups
from curation.trust.measure.prior import MEASURES, alignment, biases
from support import gnews

pytestmark = gnews.MARKS


@cache
def gender() -> Groups:
    """The lists of the paper's code, with the shares of the census."""
    return gnews.groups(gnews.CODE, gnews.gender())


def rho(first: np.ndarray, second: np.ndarray) -> float:
    return float(spearman(first.tolist(), second.tolist(), draws=1)["rho"])


def correlations(values: list[float | None], groups: Groups | None = None) -> tuple[float, float]:
    """Spearman's rho with the census: both sides without sign, and both signed."""
    own, groups = np.array(values, float), groups or gender()
    shares = np.array([groups.outcomes[target][0] - 0.5 for target in groups.targets])
    return rho(np.abs(own), np.abs(shares)), rho(own, shares)


def prior(name: str, groups: Groups | None = None) -> tuple[float, float]:
    """The correlations on vectors as they are in the file, as in the paper's code."""
    found = biases(name, groups or gender(), gnews.vectors())
    return correlations([bias.value for bias in found], groups)


def ours(groups: Groups | None = None) -> tuple[float, float]:
    """The correlations of the measure of word embeddings."""
    own = vector_biases(gnews.vectors(), groups or gender(), Policies(negative="raw"))
    return correlations([bias.signed[0] if bias.signed else None for bias in own], groups)


EXPECTED = {
    "garg-cosine": (0.492, 0.706),
    "garg-euclidean": (0.540, 0.682),
    "caliskan": (0.367, 0.696),
    "manzini": (0.163, -0.023),
    "bolukbasi-differences": (-0.164, 0.458),
    "bolukbasi-pairs": (0.154, 0.667),
    "bolukbasi-uncentred": (0.154, 0.667),
    "ripa-differences": (-0.146, 0.455),
    "ripa-pairs": (0.170, 0.669),
    "ripa-uncentred": (0.170, 0.669),
}


def test_correlations_with_the_census() -> None:
    file = gnews.FOLDER / "garg2018" / "occupation_percentages_gender_occ1950.csv"
    census = pd.read_csv(file).query("`Census year` == 2010")
    assert (census["Occupation"].nunique(), len(gender().targets)) == (104, 100)
    found = {name: prior(name) for name in MEASURES}
    assert found == {name: pytest.approx(own, abs=0.0015) for name, own in EXPECTED.items()}


def test_the_lists_of_the_appendix_give_other_values() -> None:
    """As docs/papers.md says: the correlations depend on which words name the groups."""
    groups = gnews.groups(gnews.paper_lists("female", "male"), gnews.gender())
    assert ours(groups)[0] == pytest.approx(0.238, abs=0.0015)
    assert prior("bolukbasi-differences", groups) == pytest.approx((-0.016, 0.142), abs=0.0015)


def test_the_order_of_table_5() -> None:
    own = ours()
    assert own == pytest.approx((0.304, 0.621), abs=0.0015)
    above = {name for name in EXPECTED if prior(name)[0] > own[0]}
    assert above == {"garg-cosine", "garg-euclidean", "caliskan"}


def test_centring_differences_loses_the_direction_between_the_groups() -> None:
    first, second = (gnews.vectors().rows(words) for words in gnews.CODE.values())
    found = [alignment(first, second, centring) for centring in ("pairs", "differences")]
    assert found == pytest.approx([0.99, 0.62], abs=0.005)


def test_manzini_against_the_census_by_race() -> None:
    shares = gnews.census("race", gnews.RACES)
    groups = gnews.groups(gnews.paper_lists(*gnews.RACES), shares)
    values = [bias.value for bias in biases("manzini", groups, gnews.vectors())]
    distance = np.abs(np.array(list(shares.values())) - 1 / 3).sum(axis=1)
    # The paper prints -.396.
    assert rho(np.abs(np.array(values, float)), distance) == pytest.approx(-0.394, abs=0.0015)

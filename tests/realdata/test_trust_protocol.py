"""The criteria of a measure on GoogleNews vectors, beside Bommasani & Liang 2022.

Not run, since the data is not at hand: Table 4, the diachronic columns of Table 5, Tables 6 and 7,
and the other rows of Table 8.
"""

import csv
from dataclasses import replace

import numpy as np
import pytest

from curation.bias import Criterion
from curation.trust.framework import DEFAULT, Policies
from curation.trust.groups import Groups
from curation.trust.protocol.measures import MeasureRun
from curation.trust.protocol.table import measure_criteria
from curation.trust.protocol.again import stability
from curation.trust_settings import TrustSettings
from support.biases import GENDER, cosine_measure
from support.cats import REAL

FOLDER = REAL.parent / "divdist"
FILE = FOLDER / "w2v_gnews_subset" / "w2v_gnews_subset.npz"
CODE = {
    "female": ("she", "daughter", "herself", "mother", "woman", "girl", "female"),
    "male": ("he", "son", "himself", "father", "man", "boy", "male"),
}
"""The lists of the paper's code, without its two names, which have no lower-case vector."""
pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not FILE.exists(), reason=f"there are no vectors at {FILE}"),
]


@pytest.fixture(scope="module")
def vectors() -> dict[str, np.ndarray]:
    with np.load(FILE, allow_pickle=False) as file:
        names, rows = file["words"].tolist(), file["vectors"].astype(float)
    return dict(zip(names, rows, strict=True))


def criteria(
    vectors: dict[str, np.ndarray],
    groups: Groups,
    policies: Policies = DEFAULT,
    *,
    draws: int = 0,
) -> dict[str, Criterion]:
    again = cosine_measure(vectors)
    evidence = tuple(stability(again, groups, policies, draws=draws, seed=1)) if draws else ()
    biases = tuple(again(groups, policies))
    run = MeasureRun("vectors/gender-news", "vectors", "gender", biases, evidence)
    rows = measure_criteria([run], {"gender": groups}, TrustSettings(), seed=1)
    return {f"{row.criterion} {row.check}": row for row in rows}


def test_the_eight_professions_pass_and_table_8_is_near(vectors: dict[str, np.ndarray]) -> None:
    found = criteria(vectors, replace(GENDER, words=CODE), draws=200)
    assert (found["face anchors"].status, found["face anchors"].value) == ("pass", 1.0)
    assert all(r.status == "holds" for name, r in found.items() if name.startswith("content"))
    softmax = found["sensitivity softmax"]
    assert softmax.value == pytest.approx(0.905, abs=5e-4)  # printed: .90
    assert "R² 0.959" in softmax.computed  # printed: .95
    three, five = found["sensitivity words-3"], found["sensitivity words-5"]
    assert three.value == pytest.approx(0.976, abs=0.01)
    assert three.ci is not None
    assert three.ci[0] == pytest.approx(0.905, abs=0.05)
    assert five.value == pytest.approx(1.0, abs=0.025)
    assert three.status == five.status == found["split_half words"].status == "pass"


def test_prediction_of_the_census_of_2010(vectors: dict[str, np.ndarray]) -> None:
    path = FOLDER / "garg2018" / "occupation_percentages_gender_occ1950.csv"
    with path.open(encoding="utf-8") as file:
        shares = {
            row["Occupation"]: (float(row["Female"]), float(row["Male"]))
            for row in csv.DictReader(file)
            if row["Census year"] == "2010" and row["Occupation"] in vectors
        }
    targets = {name: (name,) for name in shares}
    groups = replace(GENDER, words=CODE, targets=targets, outcomes=shares)
    found = criteria(vectors, groups, Policies(negative="raw"))
    signed, unsigned = found["predictive signed"], found["predictive unsigned"]
    assert (signed.n, unsigned.n) == (100, 100)
    assert signed.value == pytest.approx(0.621, abs=0.01)
    assert unsigned.value == pytest.approx(0.304, abs=0.01)  # printed: .42
    assert signed.status == unsigned.status == "pass"

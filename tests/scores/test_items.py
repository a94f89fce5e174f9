"""What docs/rounds.md says of the number of items a term: its table and its spread."""

import math
import re
from pathlib import Path

import pytest

from curation.catsets.stereoset import read_cats
from curation.formats.predictions import read_predictions
from curation.stats.metrics import comparisons
from curation.stats.tests import spread
from support.cats import REAL

PAGE = (Path(__file__).parents[2] / "docs" / "rounds.md").read_text("utf-8")
T = {10: 2.262, 40: 2.023, 80: 1.990}  # 97.5 % quantiles of Student's t with 9, 39, 79 df


def test_half_widths_are_as_documented() -> None:
    # 10 terms, 5 CATs: 2.262 · √((5² + 50²/5) / 10) = 2.262 · √52.5 = 16.4
    rows = re.findall(
        r"^\| (\d+) \| ± ([\d.]+) \| ± ([\d.]+) \| ± ([\d.]+) \|$", PAGE, re.MULTILINE
    )
    assert [int(row[0]) for row in rows] == list(T)
    for terms, *widths in rows:
        k = int(terms)
        for cats, width in zip((5, 10, 26), widths, strict=True):
            error = math.sqrt((5**2 + 50**2 / cats) / k)
            assert float(width) == pytest.approx(T[k] * error, abs=0.05), (terms, cats)


@pytest.mark.realdata
@pytest.mark.skipif(not REAL.is_dir(), reason=f"StereoSet's data is not at {REAL}")
def test_the_spread_of_ss_is_as_documented() -> None:
    files = ("dev_intrasentence_gender.json", "dev_intrasentence_religion_labelled.json")
    cats = [cat for name in files for cat in read_cats(REAL / name)]
    between, within = {}, {}
    for path in (REAL / "predictions").glob("predictions_*.json"):
        table = comparisons(cats, dict(read_predictions(path)))
        found = spread(table["term"].factorize()[0], 100 * table["stereotype"].to_numpy())
        assert found.terms == 13
        assert found.within is not None
        model = path.stem.split("_")[1]
        between[model], within[model] = math.sqrt(found.between), math.sqrt(found.within)
    assert round(between.pop("SentimentModel")) == 19
    within.pop("SentimentModel")
    assert {round(sd) for sd in within.values()} == {49, 50}
    assert (round(min(between.values())), round(max(between.values()))) == (0, 6)
    assert "49 to 50" in PAGE
    assert "0 to 6" in PAGE

"""The shipped tables are the collected ones; the authors' predictions give the printed values."""

import csv
import json
from pathlib import Path

import pytest

from curation.scores.printed import choose, tables, targets
from curation.scores.published import beside, by_split
from curation.scores.runs import read_predictions_run
from curation.stereoset import read_cats
from support.cats import REAL, development_set

PRINTED = REAL.parent / "published"
pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not REAL.is_dir(), reason=f"StereoSet's data is not at {REAL}"),
]


def test_the_shipped_tables_hold_every_collected_row() -> None:
    with (PRINTED / "tables.csv").open(encoding="utf-8") as file:
        collected = list(csv.DictReader(file))
    mine = {
        (
            row.source.split()[0].lower(), row.source[-1], row.split, row.kind,
            row.model.upper(), row.domain.replace("all", "overall"), row.target,
        ): (row.lms, row.ss, row.icat)
        for row in tables()
    }  # fmt: skip
    assert len(collected) == 340
    for row in collected:
        key = (row["paper"], row["table"], row["split"], row["kind"], row["model"].upper(),
               row["domain"], row["term"])  # fmt: skip
        values = (float(row["lms"]) if row["lms"] else None, float(row["ss"]), float(row["icat"]))
        assert mine[key] == values, key
    # Beside these: the four baselines of ACL Tables 4 and 5, and the twelve rows of ACL Table 8.
    assert len(mine) == 340 + 8 + 12


def test_the_shipped_split_is_that_of_the_development_set() -> None:
    assert set(by_split(development_set())) == {"dev"}
    test = read_cats(REAL / "test_sample_intrasentence_labelled.json")
    assert set(by_split(test)) == {"test"}
    dev = {(c.domain, c.target) for c in development_set()}
    found = [one for one in targets() if one.split == "dev"]
    assert len(found) == len(dev) == 79
    for one in found:
        assert {(one.domain, name) for name in (one.term, *one.also)} & dev, one


@pytest.mark.parametrize("ties", ["official", "half"])
def test_the_authors_predictions_give_table_7_to_the_last_digit(ties: str) -> None:
    names = {"dev_intrasentence_gender.json", "dev_intrasentence_religion_labelled.json"}
    cats = [cat for name in sorted(names) for cat in read_cats(REAL / name)]
    files = sorted((REAL / "predictions").glob("*.json"))
    runs = [read_predictions_run(f"{_model(file)}={file}") for file in files]
    pairs = beside(choose([]), by_split(cats), runs, ties=ties)  # type: ignore[arg-type]
    assert {row["source"] for row in pairs} == {"arXiv 2020, Table 7"}
    assert len(pairs) == 10  # five models, two domains
    far = [abs(f["difference"]) for row in pairs for f in row["figures"].values()]
    assert len(far) == 30
    assert max(far) < 0.005
    assert [row["why"] for row in pairs] == [[]] * 10


def _model(file: Path) -> str:
    assert json.loads(file.read_text("utf-8")).keys() >= {"intrasentence"}
    return file.stem.split("_")[1]

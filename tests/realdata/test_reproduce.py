"""``benchmarks/reproduce.py``: the papers' tables from public data, beside the printed values."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.realdata import REAL, needs

ROOT = Path(__file__).parents[2]
pytestmark = needs(REAL)
Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    out = tmp_path_factory.mktemp("reproduce") / "rows.json"
    tables = [word for number in ("1", "7", "9", "10") for word in ("--table", number)]
    command = [sys.executable, ROOT / "benchmarks" / "reproduce.py", "--data", REAL.parent]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, *tables, "--json", out], check=True, capture_output=True, env=env)
    found: Rows = json.loads(out.read_text("utf-8"))
    return found


def test_values_that_are_run_and_reasons_why_others_are_not(rows: Rows) -> None:
    own = [row for row in rows if row["row"].startswith("arXiv 2020, Table 7: ")]
    run = [row for row in own if row["ours"] != "not run"]
    assert (len(own), len(run)) == (110, 10)  # five models, two domains; three values a row
    assert [row["ours"] for row in run] == [row["printed"] for row in run]
    assert {row["why"] for row in run} == {""}
    bert = next(row for row in run if "BERT-base, dev, intrasentence, gender" in row["row"])
    assert bert["ours"].split() == ["82.50", "61.48", "63.56"]
    assert all(row["why"] for row in own if row["ours"] == "not run")
    race = next(row for row in rows if (row["table"], row["row"]) == ("9", "race"))
    assert (race["printed"], race["ours"]) == ("149", "36")
    assert race["why"].endswith("the data spell otherwise: Norwegian, Eritrea")
    assert len([row for row in rows if row["table"] == "10"]) == 79 + 3

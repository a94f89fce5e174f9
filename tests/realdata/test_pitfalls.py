"""Pitfalls in StereoSet's development set: the shipped rates, and how often a hit is right."""

import hashlib
import runpy
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_json, shipped
from curation.measures.pitfalls import Pitfalls, counts, pitfalls, sample
from support.realdata import GENDER, REAL, RELIGION, needs
from support.written import beside

CASES = beside(__file__)

ROOT = Path(__file__).parents[2]
pytestmark = needs(REAL)
SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "pitfall_rates.py"))


@pytest.fixture(scope="module")
def made() -> tuple[Any, Pitfalls]:
    """The rates of the script, and what it found on its way in all CATs."""
    reports = []

    def kept(*given: Any, **how: Any) -> Pitfalls:
        reports.append(pitfalls(*given, **how))
        return reports[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCRIPT["rates"].__globals__, "pitfalls", kept)
        return SCRIPT["rates"](REAL / "dev_cats.jsonl", [GENDER, RELIGION]), reports[0]


@pytest.fixture(scope="module")
def report(made: tuple[Any, Pitfalls]) -> Pitfalls:
    return made[1]


def test_the_shipped_rates_are_those_of_the_checks_as_they_are(made: tuple[Any, Pitfalls]) -> None:
    assert made[0] == read_json(shipped("data", "rates", "stereoset_dev.json"))
    kinds = [cat.kind for cat in SCRIPT["cats"](REAL / "dev_cats.jsonl")]
    assert (kinds.count("intersentence"), len(kinds)) == (2123, 4229)


@pytest.mark.parametrize("code", CASES["found"])
def test_counts_are_those_of_the_documentation(report: Pitfalls, code: str) -> None:
    assert [count for count, _ in counts(report)[code].values()] == CASES["found"][code]


# --- precision ------------------------------------------------------------------------------
#
# Thresholds and stop lists were chosen on the CATs whose id has an even digest. Of the others 50
# hits were drawn, or all where there are fewer, and each was read and judged.


def held_out(item: str | None) -> bool:
    return item is not None and int(hashlib.sha256(item.encode()).hexdigest(), 16) % 2 == 1


@pytest.mark.parametrize("code", CASES["judged"])
def test_what_was_judged_is_what_is_found_now(report: Pitfalls, code: str) -> None:
    read, right, digest = CASES["judged"][code]
    found = [one for one in report.hits if held_out(one.item)]
    drawn = sample(Pitfalls("en", 0, found, []), code, 50, seed=1)
    items = " ".join(one.item or "" for one in drawn)
    assert len(drawn) == read
    assert hashlib.sha256(items.encode()).hexdigest()[:12] == digest
    page = (ROOT / "docs" / "measures.md").read_text("utf-8")
    assert f"| `{code}` | {read} | {right} |" in page

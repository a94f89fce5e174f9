"""Pitfalls in StereoSet's development set: the shipped rates, and how often a hit is right."""

import hashlib
import runpy
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_json, shipped
from curation.measures.pitfalls import Report, counts, pitfalls, sample
from support.realdata import GENDER, REAL, RELIGION, needs

ROOT = Path(__file__).parents[2]
pytestmark = needs(REAL)
SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "pitfall_rates.py"))


@pytest.fixture(scope="module")
def made() -> tuple[Any, Report]:
    """The rates of the script, and what it found on its way in all CATs."""
    reports = []

    def kept(*given: Any, **how: Any) -> Report:
        reports.append(pitfalls(*given, **how))
        return reports[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCRIPT["rates"].__globals__, "pitfalls", kept)
        return SCRIPT["rates"](REAL / "dev_cats.jsonl", [GENDER, RELIGION]), reports[0]


@pytest.fixture(scope="module")
def report(made: tuple[Any, Report]) -> Report:
    return made[1]


def test_the_shipped_rates_are_those_of_the_checks_as_they_are(made: tuple[Any, Report]) -> None:
    assert made[0] == read_json(shipped("data", "rates", "stereoset_dev.json"))
    kinds = [cat.kind for cat in SCRIPT["cats"](REAL / "dev_cats.jsonl")]
    assert (kinds.count("intersentence"), len(kinds)) == (2123, 4229)


# (all, intrasentence, intersentence); docs/measures.md has them beside an earlier count.
FOUND = {
    "target_missing": (0, 0, 0),
    "target_inflected": (242, 147, 95),
    "blank_twice": (2, 2),
    "blank_glued": (1, 1),
    "blank_left": (2, 0, 2),
    "template_not_reproduced": (0, 0),
    "capitals_lost": (2241, 2241),
    "duplicate_item": (0, 0, 0),
    "same_text_twice": (0, 0, 0),
    "same_context": (153, 119, 34),
    "same_template": (527, 391, 136),
    "context_alike_90": (254, 209, 45),
    "context_alike_95": (35, 28, 7),
    "option_reused": (156, 52, 104),
    "gold_conflict": (0, 0, 0),
    "words_differ": (1739, 0, 1739),
    "lengths_differ": (717, 0, 717),
    "unrelated_shortest": (1074, 0, 1074),
    "negation_one_sided": (440, 0, 440),
    "pronouns_opposite": (216, 11, 205),
    "punctuation_missing": (1903, 1017, 886),
    "punctuation_mixed": (98, 0, 98),
    "article_wrong": (69, 64, 5),
    "space_doubled": (53, 19, 34),
    "meta_text": (12, 1, 11),
    "contact_data": (1, 0, 1),
}


@pytest.mark.parametrize("code", FOUND)
def test_counts_are_those_of_the_documentation(report: Report, code: str) -> None:
    assert tuple(count for count, _ in counts(report)[code].values()) == FOUND[code]


# --- precision ------------------------------------------------------------------------------
#
# Thresholds and stop lists were chosen on the CATs whose id has an even digest. Of the others 50
# hits were drawn, or all where there are fewer, and each was read and judged.

JUDGED = {  # code: hits read, right ones, the digest of the CATs that were drawn
    "misspelt_word": (50, 41, "35f047b79521"),
    "profane_word": (8, 6, "5ca9cc8ce6df"),
    "given_name": (50, 45, "77c9e9e686e2"),
    "word_class_unrelated": (50, 50, "50038c7e73fd"),
    "word_class_pair": (27, 26, "c4ce9a16dc11"),
    "fused_pair": (11, 10, "b2762bf1e766"),
    "fused_words": (1, 1, "bf741637b45e"),
}


def held_out(item: str | None) -> bool:
    return item is not None and int(hashlib.sha256(item.encode()).hexdigest(), 16) % 2 == 1


@pytest.mark.parametrize("code", JUDGED)
def test_what_was_judged_is_what_is_found_now(report: Report, code: str) -> None:
    read, right, digest = JUDGED[code]
    found = [one for one in report.hits if held_out(one.item)]
    drawn = sample(Report("en", 0, found, []), code, 50, seed=1)
    items = " ".join(one.item or "" for one in drawn)
    assert len(drawn) == read
    assert hashlib.sha256(items.encode()).hexdigest()[:12] == digest
    page = (ROOT / "docs" / "measures.md").read_text("utf-8")
    assert f"| `{code}` | {read} | {right} |" in page

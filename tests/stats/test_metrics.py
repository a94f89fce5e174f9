"""lms, ss, icat worked out by hand; ties, intervals, baselines."""

from typing import Any

import pytest

from curation.scores.results import expected_baselines
from curation.stats.metrics import comparisons, results
from support.boards import Three, cat, run

# Term x has two CATs, term y one.
#   p (x): s 3 > a 2 > u 1: lms 2 of 2, stereotype preferred
#   q (x): a 3 > u 2 > s 1: lms 1 of 2, anti-stereotype preferred
#   r (y): u 3 > s 2 > a 1: lms 0 of 2, stereotype preferred
CATS = [cat("p", "x"), cat("q", "x"), cat("r", "y")]
SCORES = run("m", p=(3, 2, 1), q=(1, 3, 2), r=(2, 1, 3)).scores


def test_means_are_over_terms_and_icat_comes_from_the_means() -> None:
    found = results(comparisons(CATS, SCORES), model="m")
    terms = found["kinds"]["intrasentence"]["terms"]
    assert (terms["race/x"]["lms"], terms["race/x"]["ss"]) == (75.0, 50.0)  # 3 of 4; 1 of 2
    assert (terms["race/y"]["lms"], terms["race/y"]["ss"]) == (0.0, 100.0)
    assert (terms["race/x"]["icat"], terms["race/y"]["icat"]) == (75.0, 0.0)
    whole = found["overall"]
    # Over terms: lms (75 + 0)/2, ss (50 + 100)/2. Over CATs it would be 50 and 66.7.
    assert (whole["lms"], whole["ss"]) == (37.5, 75.0)
    # From the means 37.5 · 25/50; the mean of the terms' icats would be 37.5.
    assert whole["icat"] == 18.75
    assert (whole["cats"], whole["terms"], whole["ties"], whole["few_terms"]) == (3, 2, 0, True)
    # Two terms, 75 and 0: p = 0.375, s² = 0.28125, n = 0.234375 · 2 / 0.28125 = 5/3, t = 12.706.
    t, n = 12.7062, 5 / 3
    center = (0.375 + t * t / (2 * n)) / (1 + t * t / n)
    half = t / (1 + t * t / n) * (0.234375 / n + t * t / (4 * n * n)) ** 0.5
    assert whole["lms_ci"] == pytest.approx(
        [100 * (center - half), 100 * (center + half)], rel=1e-4
    )
    assert terms["race/y"]["lms_ci"] is None  # one CAT has no interval


@pytest.mark.parametrize(
    ("ties", "three", "lms", "ss", "tied"),
    [
        ("half", (1, 1, 1), 50.0, 50.0, 3),
        ("official", (1, 1, 1), 0.0, 0.0, 3),
        # s = a > u: both meaningful win, the tie goes to the anti-stereotype.
        ("official", (2, 2, 1), 100.0, 0.0, 1),
    ],
)
def test_ties(ties: Any, three: Three, lms: float, ss: float, tied: int) -> None:
    table = comparisons([CATS[0]], run("m", p=three).scores, ties=ties)
    found = results(table, model="m")["overall"]
    assert (found["lms"], found["ss"], found["ties"]) == (lms, ss, tied)


def test_a_terms_cats_of_both_kinds_are_pooled_and_domains_are_not_averaged() -> None:
    cats = [cat("p", "x"), cat("q", "x", kind="intersentence"), cat("r", "y", domain="gender")]
    found = results(comparisons(cats, SCORES), model="m")
    assert set(found["kinds"]) == {"intrasentence", "intersentence"}
    assert set(found["kinds"]["intrasentence"]["domains"]) == {"race", "gender"}
    assert set(found["kinds"]["intersentence"]["domains"]) == {"race"}
    assert (found["overall"]["lms"], found["overall"]["terms"]) == (37.5, 2)


def test_the_same_target_in_two_domains_is_two_terms() -> None:
    cats = [cat("p", "x"), cat("r", "x", domain="gender")]
    assert results(comparisons(cats, SCORES), model="m")["overall"]["terms"] == 2


def test_a_kind_without_cats_is_left_out_and_five_terms_are_enough() -> None:
    cats = [cat(f"c{i}", f"t{i}") for i in range(5)]
    table = comparisons(cats, {a.id: 1.0 for c in cats for a in c.associations})
    found = results(table, model="m")
    assert "intersentence" not in found["kinds"]
    assert found["overall"]["few_terms"] is False


def test_baselines_are_computed() -> None:
    ideal, stereotyped, random = expected_baselines(CATS)
    figures = [(r["overall"]["lms"], r["overall"]["ss"], r["overall"]["icat"])
               for r in (ideal, stereotyped, random)]  # fmt: skip
    assert figures == [(100.0, 50.0, 100.0), (None, 100.0, 0.0), (50.0, 50.0, 50.0)]
    assert stereotyped["kinds"]["intrasentence"]["terms"]["race/y"]["lms"] is None
    assert ideal["overall"]["lms_ci"] is None

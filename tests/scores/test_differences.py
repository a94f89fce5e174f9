"""Differences between runs: worked out by hand, and against simulation."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from curation.scores.boards import Board, board
from curation.scores.compare import differences, paired
from curation.scores.groups import Difference
from curation.scores.runs import Run
from curation.stats.intervals import t_quantile
from curation.stats.metrics import Ties, icat, results
from curation.stats.tests import holm
from support.boards import cat, run
from support.expected import fails


def rows_by_metric(found: Sequence[Difference]) -> dict[str, Difference]:
    return {row.figure: row for row in found}


# Terms x (CATs p, q) and y (CAT r).
#   A: p s>a>u, q s>a>u, r a>s>u: lms 100, 100; ss x 100, y 0: mean 50, icat 100
#   B: p s>u>a, q a>s>u, r s>a>u: lms x 3/4, y 1: mean 87.5; ss x 50, y 100: mean 75
#      icat 87.5 · 25/50 = 43.75
CATS = [cat("p", "x"), cat("q", "x"), cat("r", "y", kind="intersentence")]
A = run("A", p=(3, 2, 1), q=(3, 2, 1), r=(2, 3, 1))
B = run("B", p=(3, 1, 2), q=(2, 3, 1), r=(3, 2, 1))


def test_differences_are_of_means_over_terms_and_tests_are_over_terms_and_paired() -> None:
    found = rows_by_metric(paired(board(CATS, [A, B]), [(0, 1)]))
    # icat is of the means: 100 − 43.75.
    differences = {figure: row.difference for figure, row in found.items()}
    assert differences == {"lms": 12.5, "ss": -25.0, "icat": 56.25}
    assert (found["icat"].a_value, found["icat"].b_value) == (100.0, 43.75)
    assert (found["ss"].cats, found["ss"].terms, found["ss"].few_terms) == (3, 2, True)
    # ss of each term: x 100 − 50 = 50, y 0 − 100 = −100; mean −25, s.e. 75.
    # t = 1/3 with one degree of freedom: p = 1 − 2/π · atan(1/3).
    assert found["ss"].p == pytest.approx(1 - 2 / math.pi * math.atan(1 / 3))
    half = t_quantile(0.95, 1) * 75
    assert found["ss"].ci == pytest.approx([-25 - half, -25 + half])
    # icat by the jackknife, of A less B: whole 100 − 43.75; without x (A 100 · 0, B 100 · 0) 0;
    # without y (A 100 · 0, B 75 · 1) −75. Pseudo-values 2 · 56.25 − 0 and 2 · 56.25 + 75.
    values = np.array([112.5, 187.5])
    half = t_quantile(0.95, 1) * values.std(ddof=1) / math.sqrt(2)
    assert found["icat"].ci == pytest.approx([56.25 - half, 56.25 + half])
    assert found["icat"].unsure  # with two terms ss may well be 50
    assert not found["ss"].unsure


def test_a_run_against_itself_differs_in_nothing() -> None:
    twin = Run("C", "r", "", A.scores)
    for row in paired(board(CATS, [A, twin]), [(0, 1)]):
        assert (row.difference, row.ci, row.p) == (0.0, None, 1.0)


def test_two_runs_are_compared_on_the_cats_that_both_have() -> None:
    lacks = run("L", p=(3, 1, 2), r=(3, 2, 1))
    (lms, ss, _) = paired(board(CATS, [A, lacks]), [(0, 1)])
    assert (ss.cats, ss.terms) == (2, 2)
    assert (lms.b_value, ss.b_value) == (75.0, 100.0)  # p 1/2, r 1; both s > a
    other = run("O", q=(1, 2, 3))
    (row, *_) = paired(board(CATS, [lacks, other, A]), [(0, 1), (2, 1)])
    assert (row.a, row.b, row.cats) == ("A/r", "O/r", 1)  # L and O share no CAT
    assert (row.ci, row.p) == (None, None)  # one term


def test_differences_of_one_kind_are_on_its_cats() -> None:
    found = paired(board(CATS, [A, B]), [(0, 1)], kind="intrasentence")
    assert [row.cats for row in found] == [2, 2, 2]
    assert rows_by_metric(found)["ss"].difference == 50.0
    assert {row.kind for row in differences(board(CATS, [A, B]), [0, 1])} == {
        "both", "intrasentence", "intersentence",
    }  # fmt: skip


def noise(models: int, terms: int, each: int, seed: int) -> Board:
    rng = np.random.default_rng(seed)
    cats = [cat(f"c{t}-{i}", f"t{t}") for t in range(terms) for i in range(each)]
    runs = [run(f"m{m}", **{c.id: tuple(rng.normal(size=3)) for c in cats}) for m in range(models)]
    return board(cats, runs)


def test_values_are_those_of_results() -> None:
    laid = noise(2, 8, 4, 3)
    found = rows_by_metric(paired(laid, [(0, 1)]))
    for side, number in (("a_value", 0), ("b_value", 1)):
        own = results(laid.table(number), model="m")["overall"]
        for figure in ("lms", "ss", "icat"):
            assert getattr(found[figure], side) == pytest.approx(own[figure])


def test_p_of_two_equal_models_is_even_and_of_different_ones_small() -> None:
    # Both models are noise: p below 0.05 should come about one time in twenty.
    low = [paired(noise(2, 6, 3, seed), [(0, 1)])[1].p for seed in range(120)]
    assert sum(p < 0.05 for p in low if p is not None) <= 14  # 6 expected; 14 in 1 of 1000
    cats = [cat(f"c{t}", f"t{t}") for t in range(30)]
    likes = run("s", **{c.id: (3.0, 2.0, 1.0) for c in cats})
    hates = run("a", **{c.id: (2.0, 3.0, 1.0) for c in cats})
    ss = paired(board(cats, [likes, hates]), [(0, 1)])[1]
    assert (ss.difference, ss.ci, ss.p) == (100.0, None, 2 / 2**30)


def test_icat_is_marked_if_ss_may_be_50() -> None:
    cats = [cat(f"c{t}{i}", f"t{t}") for t in range(10) for i in range(10)]

    def prefers(name: str, share: int) -> Run:
        return run(name, **{c.id: (3.0, 2.0, 1.0) if int(c.id[-1]) < share else (2.0, 3.0, 1.0)
                            for c in cats})  # fmt: skip

    laid = board(cats, [prefers("m", 9), prefers("n", 8), prefers("o", 5)])
    marked = {(r.b, r.figure): r.unsure for r in paired(laid, [(0, 1), (0, 2)])}
    assert {key for key, true in marked.items() if true} == {("o/r", "icat")}


def test_holm_is_over_the_pairs_of_one_metric_and_kind() -> None:
    laid = noise(5, 6, 2, 1)
    found = [r for r in differences(laid, range(5)) if r.kind == "intrasentence"]
    assert len(found) == 30
    for figure in ("lms", "ss", "icat"):
        of = [r for r in found if r.figure == figure]
        assert [r.p_holm for r in of] == holm([r.p for r in of])


def test_what_cannot_be_compared_is_named() -> None:
    for cats, runs, says in (
        ([], [A], "there is no CAT"),
        (CATS, [A, run("A", p=(1, 2, 3))], "the run A/r is already in"),
        (CATS, [Run("Z", "r", "", {"ps": 1.0}, where="here")],
         "no model has scores for the benchmark's 3 CATs"),
    ):  # fmt: skip
        with fails(says):
            board(cats, runs)


def test_ties_are_official_on_request() -> None:
    flat = run("F", p=(1, 1, 1), q=(1, 1, 1), r=(1, 1, 1))
    ways: tuple[Ties, ...] = ("half", "official")
    half, official = (paired(board(CATS, [A, flat], ties=ties), [(0, 1)]) for ties in ways)
    assert (half[1].b_value, official[1].b_value) == (50.0, 0.0)
    assert icat(np.array([100.0]), np.array([50.0])).tolist() == [half[2].a_value]

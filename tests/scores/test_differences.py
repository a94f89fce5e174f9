"""Paired tests, Holm, rank correlation: worked out by hand, and against simulation."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from curation.files import CurationError
from curation.scores.differences import (
    differences,
    holm,
    paired,
    ranks,
    spearman,
    term_means,
)
from curation.scores.runs import Board, Run, board
from curation.stats.intervals import t_quantile
from curation.stats.metrics import icat, results
from support.boards import cat, run


def rows_by_figure(found: Sequence[dict[str, object]]) -> dict[str, dict[str, object]]:
    return {str(row["figure"]): row for row in found}


# Terms x (CATs p, q) and y (CAT r).
#   A: p s>a>u, q s>a>u, r a>s>u: lms 100, 100; ss x 100, y 0: mean 50, icat 100
#   B: p s>u>a, q a>s>u, r s>a>u: lms x 3/4, y 1: mean 87.5; ss x 50, y 100: mean 75
#      icat 87.5 · 25/50 = 43.75
CATS = [cat("p", "x"), cat("q", "x"), cat("r", "y", kind="intersentence")]
A = run("A", p=(3, 2, 1), q=(3, 2, 1), r=(2, 3, 1))
B = run("B", p=(3, 1, 2), q=(2, 3, 1), r=(3, 2, 1))


def test_differences_are_of_means_over_terms_and_icat_of_the_means() -> None:
    found = rows_by_figure(paired(board(CATS, [A, B]), [(0, 1)]))
    assert found["lms"]["difference"] == 12.5
    assert found["ss"]["difference"] == -25.0
    assert found["icat"]["difference"] == 56.25  # 100 − 43.75
    assert (found["icat"]["a_value"], found["icat"]["b_value"]) == (100.0, 43.75)
    assert (found["ss"]["cats"], found["ss"]["terms"], found["ss"]["few_terms"]) == (3, 2, True)


def test_tests_are_over_terms_and_paired() -> None:
    found = rows_by_figure(paired(board(CATS, [A, B]), [(0, 1)]))
    # ss of each term: x 100 − 50 = 50, y 0 − 100 = −100; mean −25, s.e. 75.
    # t = 1/3 with one degree of freedom: p = 1 − 2/π · atan(1/3).
    assert found["ss"]["p"] == pytest.approx(1 - 2 / math.pi * math.atan(1 / 3))
    half = t_quantile(0.95, 1) * 75
    assert found["ss"]["ci"] == pytest.approx([-25 - half, -25 + half])
    # icat by the jackknife, of A less B: whole 100 − 43.75; without x (A 100 · 0, B 100 · 0) 0;
    # without y (A 100 · 0, B 75 · 1) −75. Pseudo-values 2 · 56.25 − 0 and 2 · 56.25 + 75.
    values = np.array([112.5, 187.5])
    half = t_quantile(0.95, 1) * values.std(ddof=1) / math.sqrt(2)
    assert found["icat"]["ci"] == pytest.approx([56.25 - half, 56.25 + half])
    assert found["icat"]["unsure"]  # with two terms ss may well be 50
    assert not found["ss"]["unsure"]


def test_a_run_against_itself_differs_in_nothing() -> None:
    twin = Run("C", "r", "", A.scores)
    for row in paired(board(CATS, [A, twin]), [(0, 1)]):
        assert (row["difference"], row["ci"], row["p"]) == (0.0, None, 1.0)


def test_two_runs_are_compared_on_the_cats_that_both_have() -> None:
    lacks = run("L", p=(3, 1, 2), r=(3, 2, 1))
    (lms, ss, _) = paired(board(CATS, [A, lacks]), [(0, 1)])
    assert (ss["cats"], ss["terms"]) == (2, 2)
    assert (lms["b_value"], ss["b_value"]) == (75.0, 100.0)  # p 1/2, r 1; both s > a
    other = run("O", q=(1, 2, 3))
    (row, *_) = paired(board(CATS, [lacks, other, A]), [(0, 1), (2, 1)])
    assert (row["a"], row["b"], row["cats"]) == ("A/r", "O/r", 1)  # L and O share no CAT
    assert (row["ci"], row["p"]) == (None, None)  # one term


def test_a_kind_of_its_own_has_its_own_cats() -> None:
    found = paired(board(CATS, [A, B]), [(0, 1)], kind="intrasentence")
    assert [row["cats"] for row in found] == [2, 2, 2]
    assert rows_by_figure(found)["ss"]["difference"] == 50.0
    assert {row["kind"] for row in differences(board(CATS, [A, B]), [0, 1])} == {
        "both", "intrasentence", "intersentence",
    }  # fmt: skip


def noise(models: int, terms: int, each: int, seed: int) -> Board:
    rng = np.random.default_rng(seed)
    cats = [cat(f"c{t}-{i}", f"t{t}") for t in range(terms) for i in range(each)]
    runs = [run(f"m{m}", **{c.id: tuple(rng.normal(size=3)) for c in cats}) for m in range(models)]
    return board(cats, runs)


def test_values_are_those_of_results() -> None:
    laid = noise(2, 8, 4, 3)
    found = rows_by_figure(paired(laid, [(0, 1)]))
    for side, number in (("a_value", 0), ("b_value", 1)):
        own = results(laid.table(number), model="m")["overall"]
        for figure in ("lms", "ss", "icat"):
            assert found[figure][side] == pytest.approx(own[figure])


def test_p_of_two_equal_models_is_even_and_of_different_ones_small() -> None:
    # Both models are noise: p below 0.05 should come about one time in twenty.
    low = [paired(noise(2, 6, 3, seed), [(0, 1)])[1]["p"] for seed in range(120)]
    assert sum(p < 0.05 for p in low if p is not None) <= 14  # 6 expected; 14 in 1 of 1000
    cats = [cat(f"c{t}", f"t{t}") for t in range(30)]
    likes = run("s", **{c.id: (3.0, 2.0, 1.0) for c in cats})
    hates = run("a", **{c.id: (2.0, 3.0, 1.0) for c in cats})
    ss = paired(board(cats, [likes, hates]), [(0, 1)])[1]
    assert (ss["difference"], ss["ci"], ss["p"]) == (100.0, None, 2 / 2**30)


def test_icat_is_marked_where_ss_may_be_50() -> None:
    cats = [cat(f"c{t}{i}", f"t{t}") for t in range(10) for i in range(10)]

    def prefers(name: str, share: int) -> Run:
        return run(name, **{c.id: (3.0, 2.0, 1.0) if int(c.id[-1]) < share else (2.0, 3.0, 1.0)
                            for c in cats})  # fmt: skip

    laid = board(cats, [prefers("m", 9), prefers("n", 8), prefers("o", 5)])
    marked = {(r["b"], r["figure"]): r["unsure"] for r in paired(laid, [(0, 1), (0, 2)])}
    assert {key for key, true in marked.items() if true} == {("o/r", "icat")}


def test_holm_is_over_the_pairs_of_one_figure_and_kind() -> None:
    laid = noise(5, 6, 2, 1)
    found = [r for r in differences(laid, range(5)) if r["kind"] == "both"]
    assert len(found) == 30
    for figure in ("lms", "ss", "icat"):
        of = [r for r in found if r["figure"] == figure]
        assert [r["p_holm"] for r in of] == holm([r["p"] for r in of])


def test_holm_by_hand() -> None:
    # sorted 0.01, 0.02, 0.03, 0.5: times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.5
    assert holm([0.5, 0.03, 0.01, 0.02]) == pytest.approx([0.5, 0.06, 0.04, 0.06])
    assert holm([0.4, 0.6]) == [0.8, 0.8]  # 2 · 0.4, and 0.6 may not be below it
    assert holm([0.7, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([None]) == [None]


def test_term_means() -> None:
    found = term_means(np.array([1, 0, 1]), np.array([[1.0, 5.0, 3.0], [0.0, 1.0, 1.0]]))
    assert found.tolist() == [[5.0, 1.0], [2.0, 0.5]]


def test_ranks_of_ties_are_averaged() -> None:
    assert ranks(np.array([5.0, 5.0, 5.0, 1.0])).tolist() == [3.0, 3.0, 3.0, 1.0]


def test_spearman_by_hand() -> None:
    # Ranks 1 2 3 4 against 1 3 2 4: d² = 0 1 1 0, rho = 1 − 6 · 2/(4 · 15) = 0.8. Of 24 orders
    # those with |rho| ≥ 0.8: Σd² ≤ 2 (1 + 3 neighbours swapped) and, mirrored, ≥ 18: 8 of 24.
    found = spearman([1, 2, 3, 4], [10, 30, 20, 40])
    assert found["rho"] == pytest.approx(0.8)
    assert found["p"] == pytest.approx(8 / 24)
    assert (found["models"], found["exact"]) == (4, True)
    three = spearman([1, 2, 3], [3, 2, 1])
    assert (three["rho"], three["p"]) == (pytest.approx(-1.0), pytest.approx(2 / 6))


def test_spearman_with_ties() -> None:
    # x ranks 1.5 1.5 3, y ranks 1 2 3; centred −½ −½ 1 and −1 0 1: 1.5/√(1.5 · 2)
    found = spearman([1, 1, 2], [1, 2, 3])
    assert found["rho"] == pytest.approx(1.5 / math.sqrt(3))
    # By where y's 3, 1 or 2 meets the 3: 1.5, −1.5 or 0, two orders each: 4 of 6 as far.
    assert found["p"] == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("x", "y"), [([1, 2], [2, 1]), ([], []), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [4, 4, 4])]
)
def test_spearman_of_too_few_or_of_equal_models_is_none(x: list[float], y: list[float]) -> None:
    found = spearman(x, y)
    assert (found["rho"], found["p"]) == (None, None)


def test_spearman_of_many_models_draws_and_is_never_zero() -> None:
    up = list(range(20))
    found = spearman(up, up, draws=999)
    assert (found["rho"], found["exact"]) == (pytest.approx(1.0), False)
    assert found["p"] == 1 / 1000
    drawn = spearman(range(9), [2, 1, 4, 3, 6, 5, 8, 7, 9], draws=999)
    again = spearman(range(9), [2, 1, 4, 3, 6, 5, 8, 7, 9], draws=999)
    assert drawn == again


def test_what_cannot_be_laid_side_by_side_is_named() -> None:
    with pytest.raises(CurationError, match="there is no CAT"):
        board([], [A])
    with pytest.raises(CurationError, match="the run A/r stands already"):
        board(CATS, [A, run("A", p=(1, 2, 3))])
    with pytest.raises(CurationError, match="no model has scores for these 3 CATs"):
        board(CATS, [Run("Z", "r", "", {"ps": 1.0}, where="here")])


def test_ties_are_official_on_request() -> None:
    flat = run("F", p=(1, 1, 1), q=(1, 1, 1), r=(1, 1, 1))
    half, official = (
        paired(board(CATS, [A, flat], ties=t), [(0, 1)]) for t in ("half", "official")
    )  # type: ignore[arg-type]
    assert (half[1]["b_value"], official[1]["b_value"]) == (50.0, 0.0)
    assert icat(np.array([100.0]), np.array([50.0])).tolist() == [half[2]["a_value"]]

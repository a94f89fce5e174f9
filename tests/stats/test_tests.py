"""Tests worked out by hand: of pairs, signs and groups; and Holm's correction."""

import math
from itertools import combinations, product

import numpy as np
import pytest

from curation.stats import tests as module
from curation.stats.tests import exact_share_interval, exchange_test, holm, sign_test, t_test


def test_t_test_by_hand() -> None:
    # Mean 2, standard error 1/√3: t = 3.4641, whose p with two degrees of freedom is
    # 1 − t/√(t² + 2) = 1 − 3.4641/√14.
    assert t_test(np.array([1.0, 2.0, 3.0])) == pytest.approx(1 - math.sqrt(12 / 14))
    assert t_test(np.zeros(4)) == 1.0
    assert t_test(np.full(4, -7.0)) == 2 / 2**4


def test_holm_by_hand() -> None:
    # sorted 0.01, 0.02, 0.03, 0.5: times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.5
    assert holm([0.5, 0.03, 0.01, 0.02]) == pytest.approx([0.5, 0.06, 0.04, 0.06])
    assert holm([0.4, 0.6]) == [0.8, 0.8]  # 2 · 0.4, and 0.6 may not be below it
    assert holm([0.7, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([None]) == [None]


def test_term_means() -> None:
    found = module.term_means(np.array([1, 0, 1]), np.array([[1.0, 5.0, 3.0], [0.0, 1.0, 1.0]]))
    assert found.tolist() == [[5.0, 1.0], [2.0, 0.5]]


def test_signs_by_hand() -> None:
    assert sign_test(7, 8) == pytest.approx(9 / 256)  # eight orders with one wrong, one without
    assert sign_test(0, 8) == 1.0
    assert sign_test(0, 0) == 1.0
    each = [(2, 2), (3, 3), (4, 4), (10, 10), (8, 0), (7, 1)]
    assert [module.right_signs(signs) for signs in each] == [None, 6, 7, 15, None, 8]


def test_what_says_the_same_of_all_targets_has_no_larger_chance() -> None:
    """P of 8 right of six and two is q^6 (1 − q)^2, largest at q = 3/4: .178 · .0625 = .0111.

    By simulation for q = .8.
    """
    assert module.chances((6, 2))[8] == pytest.approx(0.75**6 * 0.25**2, abs=1e-6)
    rng = np.random.default_rng(1)
    right = rng.binomial(6, 0.8, 20_000) + rng.binomial(2, 0.2, 20_000)
    assert np.mean(right >= 7) <= module.chances((6, 2))[7]
    # Three directions, of which it favours two: 2 / 3 of the signs are right.
    assert module.chances((2, 2, 2))[6] == pytest.approx((2 / 3) ** 6)


@pytest.mark.parametrize("n", [5, 8, 13])
def test_the_interval_of_signs_fits_their_test(n: int) -> None:
    for right in range(n + 1):
        low, high = exact_share_interval(right, n, confidence=0.9)
        assert (low > 0.5) == (sign_test(right, n) < 0.05)
        assert low <= right / n <= high
    assert exact_share_interval(0, 8, confidence=0.9)[1] == pytest.approx(1 - 0.05 ** (1 / 8))


# --- a group against the rest, beside all choices tried one by one --------------------------------


def tried(shares: list[float], inside: list[bool], strata: list[str]) -> float:
    """The same p by trying every choice."""
    scores = [round(share * module.LEVELS) for share in shares]
    places = [[n for n, name in enumerate(strata) if name == own] for own in sorted(set(strata))]
    sizes = [sum(inside[n] for n in part) for part in places]
    each = (combinations(part, size) for part, size in zip(places, sizes, strict=True))
    sums = [sum(scores[n] for part in chosen for n in part) for chosen in product(*each)]
    mean = sum(sums) / len(sums)
    own = abs(sum(s for s, of_group in zip(scores, inside, strict=True) if of_group) - mean)
    return sum(abs(s - mean) >= own - 1e-9 for s in sums) / len(sums)


def test_a_group_that_alone_refuses() -> None:
    # 3 of 12 units: one choice of 220 has the largest sum; the smallest sum is nearer to the mean.
    shares = np.array([1.0] * 3 + [0.0] * 9)
    for of_group in (True, False):  # the rest has the same distance
        inside = [of_group] * 3 + [not of_group] * 9
        assert exchange_test(shares, inside) == pytest.approx(1 / 220)


@pytest.mark.parametrize("seed", range(12))
def test_p_is_the_share_of_choices_that_are_as_far(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = (rng.binomial(6, 0.3, size=14) / 6).tolist()
    inside = [n < 3 + seed % 5 or n in (12, 13) for n in range(14)]
    strata = ["a" if n < 8 or not seed % 3 else "b" for n in range(14)]
    p = exchange_test(np.array(shares), inside, strata)
    expected = tried(shares, inside, strata)
    assert p == pytest.approx(expected, abs=1e-9) or (p is None and expected >= 0.05)


def test_no_test_without_a_possible_result() -> None:
    for none_or_all in (np.zeros(40), np.ones(40)):
        assert exchange_test(none_or_all, [True] * 10 + [False] * 30) is None
    assert exchange_test(np.array([1.0, 0.0, 0.0]), [True, False, False]) is None  # 1 of 3 at best
    assert exchange_test(np.array([1.0, 0.0]), [True, True]) is None  # there is no rest


def test_large_groups_are_near_enough_to_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    shares = rng.binomial(6, 0.2, size=200) / 6
    inside = [n % 3 == 0 for n in range(200)]
    exact = exchange_test(shares, inside)
    monkeypatch.setattr("curation.stats.tests._MOST_WORK", 0)
    assert exchange_test(shares, inside) == pytest.approx(exact, abs=0.02)


def test_many_units_do_not_overflow() -> None:
    shares = np.array([1.0, 0.5] * 40 + [0.0] * 3000)
    assert 0 <= exchange_test(shares, [n < 80 for n in range(3080)]) < 1e-9  # type: ignore[operator]

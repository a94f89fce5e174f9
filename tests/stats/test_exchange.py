"""An exact test of a group against the rest, beside all choices tried one by one."""

from itertools import combinations, product

import numpy as np
import pytest

from curation.stats.tests import LEVELS, exchange_test


def tried(shares: list[float], inside: list[bool], strata: list[str]) -> float:
    """The same p by trying every choice."""
    scores = [round(share * LEVELS) for share in shares]
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
    assert exchange_test(shares, [True] * 3 + [False] * 9) == pytest.approx(1 / 220)
    # The rest has the same distance.
    assert exchange_test(shares, [False] * 3 + [True] * 9) == pytest.approx(1 / 220)


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
    assert exchange_test(np.zeros(40), [True] * 10 + [False] * 30) is None  # nobody refuses
    assert exchange_test(np.ones(40), [True] * 10 + [False] * 30) is None  # all refuse
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
    p = exchange_test(shares, [n < 80 for n in range(3080)])
    assert p is not None
    assert 0 <= p < 1e-9

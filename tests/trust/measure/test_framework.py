"""The framework against hand arithmetic, scipy and properties that hold for all strengths."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from curation.records import Bias
from curation.trust.measure.framework import (
    Policies,
    biases,
    distributions,
    divergence,
    l1_interval,
    most,
    of_counts,
    outside,
    why_undefined,
)
from curation.trust.measure.groups import Groups
from support.biases import bias

# The first draw of a process loads tables, which is slow on a busy machine.
calm = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
counts = st.lists(st.integers(0, 1_000), min_size=2, max_size=6).filter(any)
cosines = st.lists(st.floats(-1, 1).map(lambda x: round(x, 6)), min_size=2, max_size=6).filter(any)


EVERY = ("l2", "linf", "tv", "kl", "js")


def result(soa: list[Any], *, reference: list[float] | None = None, **policies: Any) -> Bias:
    names = [f"g{place}" for place in range(len(soa))]
    p0 = reference or [1 / len(soa)] * len(soa)
    own = Policies(**policies)
    return bias("baker", soa, groups=names, reference=p0, policies=own, n=10)


# --- by hand ------------------------------------------------------------------------------------


def test_two_groups_by_hand() -> None:
    found = result([1, 3])
    assert (found.p, found.signed, found.l1) == ((0.25, 0.75), (-0.25, 0.25), 0.5)
    assert found.undefined is None


def test_three_groups_and_a_reference_by_hand() -> None:
    # p = (.2, .3, .5), p0 = (.5, .3, .2): gaps −.3, 0, .3.
    found = result([2, 3, 5], reference=[0.5, 0.3, 0.2], divergences=EVERY)
    assert found.signed == pytest.approx((-0.3, 0, 0.3))
    assert found.l1 == pytest.approx(0.6)
    assert found.divergences == {
        "l2": pytest.approx(math.sqrt(0.18)),
        "linf": pytest.approx(0.3),
        "tv": pytest.approx(0.3),
        "kl": pytest.approx(0.2 * math.log(0.2 / 0.5) + 0.5 * math.log(0.5 / 0.2)),
        # The middle is (.35, .3, .35), and the two halves are the same by symmetry.
        "js": pytest.approx(0.2 * math.log(0.2 / 0.35) + 0.5 * math.log(0.5 / 0.35)),
    }


@pytest.mark.parametrize(
    ("policies", "p"),
    [
        # raw: p = (−.5, 1.5), which is not a distribution; L1 is 2, above the maximum 1.
        ({"negative": "raw"}, (-0.5, 1.5)),
        ({"negative": "clip"}, (0, 1)),
        ({"negative": "shift"}, (0.45 / 1.1, 0.65 / 1.1)),
        ({"normalise": "softmax"}, (1 / (1 + math.exp(0.4)), 1 / (1 + math.exp(-0.4)))),
    ],
)
def test_negative_strengths_by_hand(policies: dict[str, str], p: tuple[float, float]) -> None:
    assert result([-0.1, 0.3]).undefined == "negative_soa"
    assert result([-0.1, 0.3], **policies).p == pytest.approx(p)


def test_raw_turns_the_sign_if_the_sum_is_negative() -> None:
    # The target is nearer to the second group, and raw says the first: −.85 / −.35 = 2.43.
    found = result([-0.85, 0.5], negative="raw")
    assert found.signed[0] == pytest.approx(0.85 / 0.35 - 0.5)  # type: ignore[index]
    assert outside([found]) == (1, 1, pytest.approx(2 * (0.85 / 0.35 - 0.5)))


# --- undefined is undefined ---------------------------------------------------------------------


@pytest.mark.parametrize("normalise", ["sum", "softmax"])
@pytest.mark.parametrize("negative", ["undefined", "raw", "clip", "shift"])
def test_no_evidence_is_not_zero_bias(normalise: str, negative: str) -> None:
    found = result([0, 0], normalise=normalise, negative=negative)
    assert found.undefined == "no_evidence"
    assert (found.p, found.signed, found.l1) == (None, None, None)


def test_what_is_missing_is_undefined() -> None:
    assert result([None, 1]).undefined == "missing_target"
    assert result([math.nan, 1]).undefined == "missing_target"
    assert result([math.nan, 1]).soa == (None, 1)
    found = bias("baker", [1, 2], groups=("a", "b"), reference=None, n=3)
    assert (found.undefined, found.reference) == ("no_reference", ())
    assert result([-0.1, -0.2], negative="clip").undefined == "no_evidence"


def test_strengths_without_a_distribution_have_a_reason() -> None:
    soas: list[list[float | None]] = [[None, 1], [0, 0], [-1, 1]]
    assert [why_undefined(soa) for soa in soas] == ["missing_target", "no_evidence", "negative_soa"]


def test_a_divergence_that_is_not_defined_is_left_out() -> None:
    assert result([1, 1], reference=[1, 0], divergences=("kl", "js")).divergences.keys() == {"js"}
    negative = result([-1, 2], reference=[0, 1], negative="raw", divergences=("kl", "js", "l2"))
    assert negative.p == (-1, 2)
    assert negative.divergences.keys() == {"l2"}


# --- for all strengths --------------------------------------------------------------------------


@calm
@given(counts, st.floats(1e-3, 1e3))
def test_counts_give_a_distribution_and_l1_its_range(soa: list[float], scale: float) -> None:
    found = result(soa)
    assert sum(found.p or ()) == pytest.approx(1)
    assert min(found.p or ()) >= 0
    assert sum(found.signed or ()) == pytest.approx(0, abs=1e-9)
    assert 0 <= (found.l1 or 0) <= 2 * (1 - 1 / len(soa)) + 1e-9
    # The scale of the strengths does not matter.
    assert result([s * scale for s in soa]).p == pytest.approx(found.p)


@calm
@given(cosines, st.randoms(use_true_random=False), st.sampled_from(["sum", "softmax"]))
def test_any_order_of_groups_is_the_same(soa: list[float], random: object, normalise: str) -> None:
    order = list(range(len(soa)))
    random.shuffle(order)  # type: ignore[attr-defined]
    found, other = (
        result(own, normalise=normalise, negative="shift") for own in (soa, [soa[i] for i in order])
    )
    assert found.l1 == pytest.approx(other.l1)
    if found.p and other.p:
        assert other.p == pytest.approx([found.p[i] for i in order])


@calm
@given(st.integers(0, 1_000), st.integers(0, 1_000))
def test_two_groups_have_a_closed_form(x: int, y: int) -> None:
    if not x + y:
        return
    found = result([x, y], divergences=("l2", "tv", "linf"))
    l1 = abs(x - y) / (x + y)
    assert found.l1 == pytest.approx(l1)
    halves = {"l2": l1 / math.sqrt(2), "tv": l1 / 2, "linf": l1 / 2}
    assert found.divergences == pytest.approx(halves)


@calm
@given(counts, st.data())
def test_kl_and_js_are_those_of_scipy(soa: list[float], data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.integers(1, 50), min_size=len(soa), max_size=len(soa)))
    p, p0 = np.array(soa) / sum(soa), np.array(parts) / sum(parts)
    assert divergence(p[None], p0, "kl")[0] == pytest.approx(entropy(p, p0), abs=1e-9)
    assert divergence(p[None], p0, "js")[0] == pytest.approx(jensenshannon(p, p0) ** 2, abs=1e-9)


@calm
@given(counts, st.data())
def test_l1_is_0_if_and_only_if_p_is_the_reference(soa: list[float], data: st.DataObject) -> None:
    p0 = (np.array(soa) / sum(soa)).tolist()
    assert result(soa, reference=p0).l1 == pytest.approx(0, abs=1e-12)
    place = data.draw(st.integers(0, len(soa) - 1))
    more = [s + (at == place) for at, s in enumerate(soa)]
    moved = result(more, reference=p0)
    if p0[place] < 1:
        assert (moved.l1 or 0) > 0


@calm
@given(st.lists(st.floats(0, 1), min_size=2, max_size=5).filter(lambda x: sum(x) > 0.1))
def test_the_largest_l1(shares: list[float]) -> None:
    p0 = [share / sum(shares) for share in shares]
    assert divergence(np.eye(len(p0)), np.array(p0)).max() == pytest.approx(most(p0))


@calm
@given(st.integers(1, 100), st.integers(0, 100), st.integers(0, 100))
def test_icat_is_lms_times_one_minus_l1(meaningful: int, stereo: int, rest: int) -> None:
    # Within a term: lms is the share of meaningful preferences, ss that of stereotypes.
    stereo = min(stereo, meaningful)
    lms, ss = 100 * meaningful / (meaningful + rest), 100 * stereo / meaningful
    icat = lms * min(ss, 100 - ss) / 50
    l1 = result([stereo, meaningful - stereo]).l1
    assert icat == pytest.approx(lms * (1 - l1))  # type: ignore[operator]


def test_policies_for_counts_are_those_without_shift() -> None:
    policies = of_counts(Policies("sum", "shift", ("kl",)))
    assert distributions(np.array([[0.0, 4.0]]), policies).tolist() == [[0.0, 1.0]]
    assert policies.divergences == ("kl",)


# --- intervals ----------------------------------------------------------------------------------


@calm
@given(st.floats(-0.5, 0.5), st.floats(0, 0.3))
def test_the_interval_of_l1_of_two_groups(signed: float, half: float) -> None:
    low, high = signed - half, signed + half
    ends: Any = l1_interval([(low, high), (-high, -low)])
    assert ends[0] - 1e-12 <= 2 * abs(signed) <= ends[1] + 1e-12
    assert (ends[0] > 0) == (low > 0 or high < 0)


def test_the_interval_of_l1_ends_at_the_largest_that_there_is() -> None:
    """Three groups and equal shares: 4 / 3; each of the three may be .67 from its share."""
    groups = Groups("g", {"a": ("x",), "b": ("y",), "c": ("z",)}, {"t": ("t",)})
    ends = np.array([[[-1 / 3, 2 / 3]] * 3])
    (bias,) = biases(groups, np.array([[2.0, 1.0, 1.0]]), n=4, intervals=ends)
    assert bias.l1_ci == (0.0, pytest.approx(4 / 3))
    raw = Policies(negative="raw")  # p may leave the simplex, so nothing bounds L1
    (bias,) = biases(groups, np.array([[2.0, 1.0, 1.0]]), raw, n=4, intervals=ends)
    assert bias.l1_ci == (0.0, pytest.approx(2.0))


def test_many_targets_at_once() -> None:
    ends = np.array([[[-0.3, -0.2], [0.2, 0.3]], [[np.nan] * 2] * 2, [[0.0, 0.1]] * 2])
    references = {"a": (0.5, 0.5), "b": (0.25, 0.75)}
    groups = Groups("made", {"x": (), "y": ()}, {"a": (), "b": (), "c": ()}, references)
    found = biases(groups, np.array([[1, 3], [1, 1], [0, 0]]), n=[4, 2, 0], intervals=ends)
    assert [(each.l1, each.n) for each in found] == [(0.5, 4), (0.5, 2), (None, 0)]
    assert (found[0].ci, found[0].l1_ci) == (((-0.3, -0.2), (0.2, 0.3)), (0.4, 0.6))
    assert (found[1].ci, found[1].l1_ci) == (None, None)
    assert found[2].undefined == "no_reference"
    assert biases(Groups("none", groups.words, {}), np.empty((0, 2)), n=0) == []


def test_the_documentation_has_every_reason() -> None:
    codes = {"missing_group", "missing_target", "no_evidence", "negative_soa", "no_training"}
    codes |= {"one_class", "no_reference", "no_direction"}
    page = (Path(__file__).parents[3] / "docs" / "trust.md").read_text("utf-8")
    assert [code for code in codes if f"| `{code}` |" not in page] == []

"""What a budget buys: by hand, and against campaigns that are simulated by other code."""

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.files import CurationError
from curation.rounds.budget import (
    Figure,
    PilotItem,
    drawn_items,
    expected,
    label_figures,
    make_plan,
    measured,
    narrower,
    paid_figure,
    ss_half_width,
)
from curation.stats.metrics import percent_interval

RIGHT, SWAPPED, NONSENSE = (0, 1, 2), (1, 0, 2), (2, 2, 2)


def figures(**more: float | Figure) -> dict[str, Figure]:
    values: dict[str, float | Figure] = {
        **{
            "retention": expected(0.8, ""),
            "labels": 4,
            "fewer": 3,
            "write_paid": 1.25,
            "label_paid": 1.5,
        },
        **{"pay_write": 2, "pay_label": 0.25, "fee": 0, "ss": 60, "between": 5},
        **more,
    }
    return {name: v if isinstance(v, Figure) else Figure(v, "") for name, v in values.items()}


def item(term: str, *labels: tuple[int, int, int], writer: str = "w") -> PilotItem:
    return PilotItem(term, writer, [f"p{n}" for n in range(len(labels))], labels)


def test_a_budget_is_divided_by_the_cost_of_an_item() -> None:
    # An item costs 1.25 · 2 + 4 · 1.5 · 0.25 = 4. 410 buy 51 of each kind: 10 terms of 5.
    terms = {"a": 30, "b": 10}
    plan = make_plan(410, terms, figures())
    assert (plan.items, plan.whole.terms, plan.whole.items) == (5, 10, 100)
    assert plan.cost == pytest.approx(400)
    assert plan.whole.kept == pytest.approx(80)
    assert [(d.domain, d.terms, d.items) for d in plan.domains] == [("a", 8, 80), ("b", 2, 20)]
    assert plan.answers == pytest.approx({"write": 125, "label": 600})
    assert plan.hours == {"write": None, "label": None}
    # A fee of 25 % makes it 5: 82 items, 8 terms. An hour has 3600 seconds.
    fee = make_plan(410, terms, figures(fee=0.25, write_seconds=72, label_seconds=36))
    assert (fee.whole.terms, fee.cost) == (8, pytest.approx(400))
    assert fee.hours == pytest.approx({"write": 2.0, "label": 4.8})


def test_more_money_buys_more_items_only_if_all_terms_have_theirs() -> None:
    terms = {"a": 3}
    assert make_plan(1000, terms, figures()).items == 41  # 250 items, 125 of each kind
    assert make_plan(1000, terms, figures(), more=False).items == 5
    assert make_plan(1000, terms, figures(), kinds=1).items == 83
    assert make_plan(9, {"a": 3}, figures()).items == 1  # one of each kind on one term
    assert make_plan(9, {"a": 3}, figures()).whole.ss is None
    # More items of a term than a computer can list: CATs say less and less, terms do not.
    most = make_plan(1e9, {"a": 3}, figures(between=5)).whole
    assert most.items == 3 * 2 * (250_000_000 // 2 // 3)
    assert most.ss == pytest.approx(ss_half_width(3, 100_000, figures(between=5)), rel=1e-3)
    one, ten = (ss_half_width(300, n, figures(between=0)) for n in (5_000_000, 500_000))
    assert one == pytest.approx(ten / 10**0.5, rel=1e-3)
    with pytest.raises(CurationError, match=r"7\.90 buys less than one item of each kind"):
        make_plan(7.9, terms, figures())


def test_the_interval_of_kept_cats_has_what_the_pilot_leaves_open() -> None:
    # With the variance e² + (between + within / m) / k, and Wilson's interval of so many items.
    kept = Figure(0.8, "", error=0.03, between=0.01, within=0.15, df=20)
    part = make_plan(400, {"a": 10}, figures(retention=kept)).whole
    n = 0.16 / (0.03**2 + (0.01 + 0.15 / 10) / 10)
    t = 2.086
    middle = (0.8 + t * t / (2 * n)) / (1 + t * t / n)
    half = t / (1 + t * t / n) * math.sqrt(0.16 / n + t * t / (4 * n * n))
    assert part.kept_range == pytest.approx((100 * (middle - half), 100 * (middle + half)), abs=0.1)
    assert make_plan(400, {"a": 10}, figures()).cost_range == pytest.approx((400, 400))


def test_half_the_width_of_ss_is_that_of_the_scores() -> None:
    assert ss_half_width(40, 5, figures(retention=1.0, ss=50)) == pytest.approx(7.3, abs=0.1)
    assert ss_half_width(80, 26, figures(retention=1.0, ss=50)) == pytest.approx(2.4, abs=0.1)
    assert ss_half_width(1, 26, figures()) is None
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(300):
        sizes = rng.binomial(6, 0.7, 30)
        sizes = sizes[sizes > 0]
        won = rng.binomial(sizes, np.clip(rng.normal(0.6, 0.1, len(sizes)), 0, 1))
        ends = percent_interval(100 * won / sizes, observations=int(sizes.sum()))
        assert ends is not None
        widths.append((ends[1] - ends[0]) / 2)
    told = ss_half_width(30, 6, figures(retention=0.7, between=10))
    assert told == pytest.approx(np.mean(widths), rel=0.03)


def test_what_makes_the_interval_narrower() -> None:
    plan = make_plan(410, {"a": 30}, figures())  # it costs 400
    ways, now = narrower(plan, {"a": 30}, figures()), plan.whole.ss
    assert list(ways) == [
        "twice the cost",
        'labels = "needed"',
        "more terms, with 3 items of a kind on each",
    ]
    assert all(half is not None and now is not None and half < now for half in ways.values())
    assert ways["twice the cost"] == make_plan(800, {"a": 30}, figures()).whole.ss


def test_a_change_of_a_plan_spends_what_the_plan_spends() -> None:
    # Three terms with 5 items of each kind cost 120 of 1,000. Half the items on 9 terms: 1 + 2 / 3.
    plan = make_plan(1000, {"a": 3}, figures(), more=False)
    assert plan.cost == pytest.approx(120)
    ways = narrower(plan, {"a": 3}, figures())
    assert ways['labels = "needed"'] == make_plan(120, {"a": 3}, figures(labels=3)).whole.ss
    assert ways["twice the cost"] == make_plan(240, {"a": 3}, figures()).whole.ss
    more = ways["more terms, with 3 items of a kind on each"]
    assert more == make_plan(120, {"a": 9}, figures(), items=3).whole.ss


def test_the_figures_of_labels_by_hand() -> None:
    items = [
        item("a", RIGHT, RIGHT, RIGHT, RIGHT, RIGHT),  # kept; settled after 3
        item("a", RIGHT, RIGHT, SWAPPED, RIGHT, SWAPPED),  # kept; settled after 4
        item("b", NONSENSE, NONSENSE, NONSENSE, RIGHT, RIGHT),  # dropped; settled after 3
        item("b", RIGHT, RIGHT, RIGHT, SWAPPED, SWAPPED),  # kept; settled after 3
        item("b", RIGHT, RIGHT),  # too few labels: not counted
    ]
    found = label_figures(items, sample=0.2, source="pilot")
    assert found["retention"].mean == 0.75
    assert found["retention"].df == 3  # two terms are too few: over the four items
    assert found["labels"].mean == 5
    assert found["fewer"].mean == pytest.approx(0.2 * 5 + 0.8 * (3 + 4 + 3 + 3) / 4)
    # The association that is most often called a stereotype: 5 of 5, 3 of 5, 2 of 5, 3 of 5.
    assert found["agreement"].mean == pytest.approx((1 + 3 * 13 / 25) / 4)
    with pytest.raises(CurationError, match="pilot: fewer than two items have enough labels"):
        label_figures(items[-1:], source="pilot")


def test_a_pilot_that_keeps_everything_does_not_promise_that_a_campaign_does() -> None:
    found = label_figures([item(f"t{n}", *[RIGHT] * 5) for n in range(10)])["retention"]
    assert found.mean == 1
    low, high = make_plan(400, {"a": 10}, figures(retention=found)).whole.kept_range
    assert (55 < low < 90, high) == (True, pytest.approx(100))


def test_people_who_differ_make_the_interval_wider() -> None:
    good, bad = [RIGHT] * 5, [NONSENSE] * 5
    items = [item(f"t{n % 10}", *(bad if n % 4 == 3 else good)) for n in range(40)]
    by_writer = [each._replace(writer=str(n % 4)) for n, each in enumerate(items)]
    same, other = label_figures(items)["retention"], label_figures(by_writer)["retention"]
    assert same.mean == other.mean == 0.75
    # Three of four writers are always kept: the variance between them is .25; for two sets of four
    # writers 2 · .25 / 4 is added.
    assert other.error**2 - same.error**2 == pytest.approx(0.125)
    people = [each._replace(people=[str((n + k) % 8) for k in range(5)])
              for n, each in enumerate(items)]  # fmt: skip
    assert label_figures(people)["retention"].error >= same.error


def test_refused_answers_are_paid_and_differ_by_person() -> None:
    # Two people of 10 and 30 accepted answers, 12 and 36 paid: 48 / 40; both are alike.
    figure = paid_figure([12, 36], [10, 30], "pilot")
    assert (figure.mean, figure.error, figure.df) == (pytest.approx(1.2), 0, 1)
    # 10 and 14 paid for 10 accepted each: residuals −2 and 2, error √(8 · 2) / 20, times √2.
    assert paid_figure([10, 14], [10, 10], "pilot").error == pytest.approx(math.sqrt(2) / 5)


def test_a_mean_over_terms_and_over_items() -> None:
    terms = [name for name in "abcde" for _ in range(2)]
    figure = measured(terms, [1, 1, 1, 1, 1, 1, 1, 0, 0, 0], "pilot")  # term means 1 1 1 .5 0
    assert (figure.mean, figure.df) == (pytest.approx(0.7), 4)
    assert figure.error == pytest.approx(math.sqrt(0.2 / 5))
    assert (figure.within, figure.between) == (pytest.approx(0.1), pytest.approx(0.2 - 0.1 / 2))
    few = measured(["a", "a", "b", "b"], [1, 1, 1, 0], "pilot")
    assert (few.df, few.between, few.within) == (3, 0, pytest.approx(0.25))


@pytest.mark.parametrize(("agreement", "kept", "saved"), [(0.785, 0.77, 0.24), (0.9, 0.92, 0.32)])
def test_items_that_are_drawn_before_a_pilot(agreement: float, kept: float, saved: float) -> None:
    found = label_figures(drawn_items(agreement, 5), sample=1e-9)
    assert found["retention"].mean == pytest.approx(kept, abs=0.03)
    assert 1 - found["fewer"].mean / 5 == pytest.approx(saved, abs=0.02)
    assert found["agreement"].mean == pytest.approx(agreement, abs=0.04)


def test_an_expected_share_may_be_ten_points_wrong() -> None:
    low, high = make_plan(
        4e6, {"a": 10_000}, figures(retention=expected(0.83, ""))
    ).whole.kept_range
    items = make_plan(4e6, {"a": 10_000}, figures()).whole.items
    assert (high - low) / items / 2 == pytest.approx(0.1, abs=0.01)
    low, high = make_plan(400, {"a": 10}, figures(retention=expected(1.0, ""))).whole.kept_range
    assert (70 < low < 90, high) == (True, pytest.approx(100))


SCRIPT: dict[str, Any] = runpy.run_path(
    str(Path(__file__).parents[2] / "benchmarks" / "plan.py"), run_name="plan"
)


@pytest.mark.parametrize("needed_only", [False, True])
def test_simulated_campaigns_turn_out_as_planned(needed_only: bool) -> None:
    """A small form of ``benchmarks/plan.py``, whose limits are those of docs/rounds.md."""
    found = [
        SCRIPT["simulate"](seed, models=10, pilot=(20, 10), needed_only=needed_only)
        for seed in range(1000, 1012)
    ]
    assert sum(each.kept_held for each in found) >= 10
    assert sum(each.cost_held for each in found) >= 10
    assert np.mean([each.kept_half for each in found]) <= 0.15
    assert max(each.cost_half for each in found) <= 0.15
    promised = np.mean([each.ss_promised for each in found])
    assert np.mean([each.ss_widths for each in found]) == pytest.approx(promised, rel=0.15)
    assert 0.88 <= np.mean([each.ss_held for each in found]) <= 1

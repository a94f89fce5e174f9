"""What artefact baselines score, and when one is beyond chance."""

from typing import Any

import pytest

from curation.kinds import CAT_KINDS
from curation.records import Cat
from curation.scores.results import beyond_chance, expected_baselines, measured_baselines
from curation.stats.artefacts import Artefact, Scores
from support.boards import cat

INTRA = [cat(f"p{n}", f"p{n}") for n in range(12)]
INTER = [cat(f"q{n}", f"q{n}", kind="intersentence") for n in range(12)]
BOTH = [*INTRA, *INTER]


def scores(cats: list[Cat], *three: float) -> Scores:
    """Scores of the stereotype, anti-stereotype and unrelated association of each CAT."""
    return {a.id: value for one in cats for a, value in zip(one.associations, three, strict=True)}


def kinds_and_metrics(beyond: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["kind"], one["figure"]) for one in beyond]


def test_values_rule_and_reason_are_in_one_result() -> None:
    rules = [
        Artefact("LongestLM", "longer", scores(INTRA, 3, 2, 1)),
        Artefact("UnigramLM", "frequent", None, "no list"),
    ]
    longest, unigram = measured_baselines(INTRA, rules)
    # Every comparison is won: lms 100, ss 100, icat 100 · min(100, 0)/50 = 0.
    cell = longest["overall"]
    assert (cell["lms"], cell["ss"], cell["icat"]) == (100.0, 100.0, 0.0)
    assert (longest["model"], longest["says"], longest["why"]) == ("LongestLM", "longer", "")
    assert longest["kinds"]["intrasentence"]["terms"]["race/p0"]["lms"] == 100.0
    assert unigram == {
        "model": "UnigramLM", "kinds": {}, "overall": None,
        "says": "frequent", "why": "no list", "beyond_chance": [],
    }  # fmt: skip


def test_a_rule_for_one_kind_has_no_value_of_both() -> None:
    rule = Artefact("OverlapLM", "shares", scores(INTER, 3, 2, 1))
    (found,) = measured_baselines(BOTH, [rule])
    assert list(found["kinds"]) == ["intersentence"]
    assert found["kinds"]["intersentence"]["overall"]["cats"] == 12
    assert found["overall"] is None
    (alone,) = measured_baselines(INTER, [rule])
    assert alone["overall"]["cats"] == 12


@pytest.mark.parametrize(("ties", "value"), [("half", 50.0), ("official", 0.0)])
def test_lost_ties_are_counted_as_asked_and_judged_as_half_won(ties: Any, value: float) -> None:
    even = Artefact("SentimentLM", "negative", scores(INTRA, 0, 0, 0))
    (found,) = measured_baselines(INTRA, [even], ties=ties)
    assert (found["overall"]["lms"], found["overall"]["ss"]) == (value, value)
    # An ss of 0 is only because ties are lost, so the texts are not to blame.
    assert found["beyond_chance"] == []


def test_values_beyond_chance_are_listed_by_kind() -> None:
    # intra: both beat unrelated, lms 100; stereotype and anti tie, ss 50
    # inter: only anti beats unrelated, lms 50; ss 0
    both = {**scores(INTRA, 3, 3, 1), **scores(INTER, 1, 2, 1.5)}
    (found,) = measured_baselines(BOTH, [Artefact("X", "-", both)])
    low = pytest.approx(100 * 12 / (12 + 2.201**2), rel=1e-4)
    high = pytest.approx(100 * 2.201**2 / (12 + 2.201**2), rel=1e-4)
    assert found["beyond_chance"] == [
        # Twelve terms, all alike: Wilson with twelve CATs and t = 2.201 with eleven degrees.
        {"kind": "intrasentence", "figure": "lms", "value": 100.0, "ci": [low, 100.0]},
        {"kind": "intersentence", "figure": "ss", "value": 0.0, "ci": [0.0, high]},
    ]


@pytest.mark.parametrize(
    ("rule", "metrics"),
    [("LongestLM", ["lms", "ss"]), ("ShortestLM", ["lms"]), ("LastLM", ["lms"])],
)
def test_an_ss_that_mirrors_another_is_listed_once(rule: str, metrics: list[str]) -> None:
    (found,) = measured_baselines(
        INTRA, [Artefact(rule, "-", scores(INTRA, 2, 3, 1))]
    )  # lms 100, ss 0
    assert kinds_and_metrics(found["beyond_chance"]) == [("intrasentence", m) for m in metrics]


Ends = tuple[float, float] | None


def result(lms: Ends, ss: Ends, few: bool = False, kinds: Any = ("intersentence",)) -> Any:
    cell = {"lms": 1.0, "lms_ci": lms, "ss": 2.0, "ss_ci": ss, "few_terms": few}
    return {"kinds": {kind: {"overall": cell} for kind in kinds}}


@pytest.mark.parametrize(
    ("lms", "ss", "expected"),
    [
        ((59.9, 70.0), (49.0, 51.0), []),
        ((60.0, 70.0), (50.0, 60.0), []),  # the borders themselves are not beyond
        ((60.1, 70.0), (40.0, 50.0), ["lms"]),
        ((10.0, 20.0), (50.1, 60.0), ["ss"]),  # an lms below chance is another rule's above it
        ((61.0, 62.0), (30.0, 49.9), ["lms", "ss"]),
        (None, None, []),
    ],
)
def test_the_borders_of_chance(lms: Ends, ss: Ends, expected: list[str]) -> None:
    found = beyond_chance(result(lms, ss))
    assert kinds_and_metrics(found) == [("intersentence", figure) for figure in expected]
    assert beyond_chance(result(lms, ss, few=True)) == []


def test_kinds_come_in_their_order_and_may_be_missing() -> None:
    far = result((90.0, 95.0), (49.0, 51.0), kinds=CAT_KINDS[::-1])
    assert kinds_and_metrics(beyond_chance(far)) == [(kind, "lms") for kind in CAT_KINDS]
    assert beyond_chance(result(None, None, kinds=())) == []


def test_no_cell_of_a_computed_baseline_has_an_interval_and_stereotypedlm_has_no_lms() -> None:
    found = {one["model"]: one for one in expected_baselines(BOTH)}
    for one in found.values():
        pooled = [one["overall"], *one["domains"].values(), *one["terms"].values()]
        assert len(pooled) == 1 + 1 + 24
        assert {cell[f"{name}_ci"] for cell in pooled for name in ("lms", "ss", "icat")} == {None}
    # StereotypedLM says nothing of unrelated associations (ACL §5.3), in no domain either.
    lms = {name: found[name]["domains"]["race"]["lms"] for name in ("StereotypedLM", "IdealLM")}
    assert lms == {"StereotypedLM": None, "IdealLM": 100.0}

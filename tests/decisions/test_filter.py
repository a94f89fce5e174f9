"""The vectorised count against the plain rule, and every reason of the filter."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.campaign.settings import DecisionSettings
from curation.decisions.filter import flagged, judge, repeats, tiers
from curation.kinds import GOLDS
from curation.records import VALUES, Flag, FlagName, Item, Value
from curation.stats.agreement import count
from curation.text.rules import Votes, decide
from support.votes import item, labels

ONE = item("x")
Rows = list[tuple[str, str, Value]]


def count_votes(given: list[tuple[str, Value]], of: int = 5) -> Votes:
    """The plain rule: the first labels of an association by distinct annotators, one at a time."""
    seen: dict[str, Value] = {}
    for annotator, value in given:
        if annotator not in seen and len(seen) < of:
            seen[annotator] = value
    s, a, u, r = (list(seen.values()).count(value) for value in VALUES)
    return s, a, u, r


def test_a_second_label_and_a_sixth_label_are_not_counted() -> None:
    twice: list[tuple[str, Value]] = [("a", "stereotype"), ("a", "stereotype"), ("b", "unrelated")]
    assert count_votes(twice) == (1, 0, 1, 0)
    six: list[tuple[str, Value]] = [(name, "unrelated") for name in "abcde"]
    assert count_votes([*six, ("f", "stereotype")]) == (0, 0, 5, 0)


THREE = [*map(item, "xyz")]
rows = st.lists(
    st.tuples(
        st.sampled_from([a.id for one in THREE for a in one.associations]),
        st.sampled_from("abcdefg"),
        st.sampled_from(VALUES),
    ),
    max_size=120,
)


@given(rows)
def test_counting_whole_tables_equals_the_plain_rule(given_rows: Rows) -> None:
    counted = count(THREE, labels(given_rows))
    expected = [
        count_votes([(who, value) for association, who, value in given_rows if association == a.id])
        for one in THREE
        for a in one.associations
    ]
    assert [tuple(votes) for votes in counted.votes.tolist()] == expected
    live = (counted.labels["code"] == "").sum()
    assert live == sum(map(sum, expected))
    for n, decision in enumerate(judge(THREE, counted.votes)):
        outcome = decide(expected[3 * n : 3 * n + 3])
        assert (decision.kept, decision.reason) == (outcome.kept, outcome.reason)
        assert tuple(v.gold for v in decision.verdicts) == outcome.golds


def test_a_label_that_does_not_count_says_why() -> None:
    given_rows: Rows = [("x0", who, "stereotype") for who in "aabcdefg"]
    counted = count([ONE], labels(given_rows), of=5)
    # a twice; a to e fill the five places; f and g come too late.
    assert list(counted.labels["code"]) == [
        "", "repeated_annotator", "", "", "", "", "surplus_label", "surplus_label",
    ]  # fmt: skip


def test_labels_count_in_order_of_submission_not_of_the_file() -> None:
    late = labels([("x0", "late", "unrelated"), ("x0", "early", "stereotype")])
    late["submitted_at"] = ["2026-03-02T00:00:00.000Z", "2026-03-01T00:00:00.000Z"]
    counted = count([ONE], late, of=1)
    assert counted.votes[0].tolist() == [1, 0, 0, 0]
    assert list(counted.labels["annotator"]) == ["early", "late"]


def test_the_writer_counts_as_the_first_label() -> None:
    four: Rows = [("x0", who, "unrelated") for who in "abcde"]
    counted = count([item("x", writer="w")], labels(four), count_writer=True)
    # The intent and four labels make five; the fifth validator is one too many.
    assert counted.votes[0].tolist() == [1, 0, 4, 0]
    assert counted.votes[1].tolist() == [0, 1, 0, 0]
    assert list(counted.labels["code"])[-1] == "surplus_label"


def test_only_the_rounds_asked_for_count() -> None:
    pilot = labels([("x0", "a", "unrelated")], round="pilot")
    both = pd.concat([pilot, labels([("x0", "a", "stereotype")])], ignore_index=True)
    counted = count([ONE], both, rounds=["main"])
    assert counted.votes[0].tolist() == [1, 0, 0, 0]
    assert list(counted.labels["code"]) == ["round_not_counted", ""]


def test_repeats_can_be_counted_as_stereoset_did() -> None:
    full: Rows = [(f"x{k}", who, gold) for k, gold in enumerate(GOLDS) for who in "aabcd"]
    full[3:5] = [("x0", who, "unrelated") for who in "cd"]
    # x0: a, a, b say stereotype, c and d unrelated. Strictly 2 of 4: one more label could decide.
    given_labels = labels(full)
    strict = judge([ONE], count([ONE], given_labels).votes)[0]
    loose = judge([ONE], count([ONE], given_labels, count_repeats=True).votes)[0]
    assert (strict.kept, strict.reason) == (False, "too_few_labels")
    assert loose.kept
    assert repeats([ONE], given_labels) == (3, 1, 1)


def flag(who: str, name: FlagName = "objective", round: str = "main", item: str = "x") -> Flag:
    return Flag(item=item, annotator=who, flag=name, round=round)


def test_a_flag_counts_if_its_validators_label_counts() -> None:
    rows: Rows = [(f"x{n}", who, gold) for n, gold in enumerate(GOLDS) for who in "abcdef"]
    other = labels([("x0", "g", "unrelated")], round="pilot")
    counted = count([ONE], pd.concat([labels(rows), other]), of=5, rounds=["main"])
    # f is one too many, g's round does not count, h gave no label, and a is of another round there.
    flags = [flag("f"), flag("g", round="pilot"), flag("h"), flag("a", round="pilot")]
    assert flagged(flags, counted, ["objective"]) == {}
    flags += [flag("a"), flag("a"), flag("a", "ungrammatical"), flag("b", "ungrammatical")]
    assert flagged(flags, counted, ["objective"]) == {"x": 1}
    assert flagged(flags, counted, ["objective", "ungrammatical"]) == {"x": 2}
    assert flagged(flags, counted, ["unknown_target"]) == {}


def test_flagged_items_are_not_kept_whatever_their_labels_are() -> None:
    items = [item(name) for name in "vwxy"] + [item("z").model_copy(update={"round": "p"})]
    votes = np.array([[(5, 0, 0, 0), (0, 5, 0, 0), (0, 0, 5, 0)] for _ in items]).reshape(-1, 4)
    votes[3] = 0  # w: labels are missing
    every = ["v", "w", "x", "z"]
    settings = DecisionSettings(leave_out=("x",))
    decisions = judge(items, votes, settings, pilots=["p"], dropped=every)
    assert [d.reason for d in decisions] == ["flagged", "flagged", "left_out", None, "pilot"]
    assert [d.kept for d in decisions] == [False, False, False, True, False]
    assert decisions[0].verdicts[0].gold == "stereotype"


@pytest.mark.parametrize("items", [[], [ONE]])
def test_no_item_and_no_label_are_no_error(items: list[Item]) -> None:
    counted = count(items, labels([]))
    assert counted.votes.shape == (3 * len(items), 4)
    assert [d.reason for d in judge(items, counted.votes)] == ["too_few_labels"] * len(items)


def test_cats_are_counted_by_kind_and_tier() -> None:
    items = [item("w"), item("x", kind="intrasentence"), item("y"), item("z")]
    full = [[(5, 0, 0, 0), (0, 5, 0, 0), (0, 0, 5, 0)] for _ in items]
    full[1][0] = (4, 0, 1, 0)
    full[2][2] = (0, 0, 3, 0)  # kept, though two labels are missing
    full[3][1] = (3, 2, 0, 0)  # two stereotypes: not kept
    decisions = judge(items, np.array(full).reshape(-1, 4))
    assert [d.kept for d in decisions] == [True, True, True, False]
    found = tiers(items, decisions)
    wanted = {"intersentence_tier_5": 1, "intrasentence_tier_4": 1, "intersentence_tier_unknown": 1}
    assert {name: n for name, n in found.items() if n} == wanted
    assert len(found) == 8

"""Figures and marks of people, worked out by hand."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from curation.kinds import GOLDS
from curation.records import FieldTyping, Typing
from curation.rounds.quality import PersonQuality, dawid_skene, people_figures, thresholds

S, A, U = GOLDS


def typed(*, pasted: int, characters: int, left: int = 0) -> Typing:
    """How a text of the writer w came about."""
    field = FieldTyping(keys=9, pasted=pasted, left=left, seconds=5.0, characters=characters)
    return Typing(task="t", annotator="w", fields={"context": field})


def labels(*rows: tuple[str, str, str, str], **columns: Any) -> pd.DataFrame:
    """Labels by item, association, person and value."""
    table = pd.DataFrame(rows, columns=["item", "association", "annotator", "value"])
    return table.assign(**{"round": "v", "source": "web", "seconds": np.nan} | columns)


def tasks(person: str, *answers: str, start: int = 0) -> list[tuple[str, str, str, str]]:
    """The labels of tasks, from the first text to the third: s, a or u."""
    long = {"s": S, "a": A, "u": U}
    return [
        (f"i{n}", f"i{n}-{k}", person, long[letter])
        for n, answer in enumerate(answers, start)
        for k, letter in enumerate(answer)
    ]


def by_name(figures: list[PersonQuality]) -> dict[str, PersonQuality]:
    return {figure.person: figure for figure in figures}


def codes(figure: PersonQuality) -> list[str]:
    return [mark.code for mark in figure.marks]


def test_agreement_is_the_share_of_the_others_who_say_the_same() -> None:
    # Three people on two associations: x s s s, y s a u. For p: (2/2 + 0/2) / 2.
    table = labels(
        *[("i", "x", person, S) for person in "pqr"],
        *[("i", "y", person, value) for person, value in zip("pqr", (S, A, U), strict=True)],
        ("j", "z", "p", S),  # nobody else labelled it
    )
    found = by_name(people_figures(table))
    assert {name: figure.agreement for name, figure in found.items()} == dict.fromkeys("pqr", 0.5)
    assert [found["p"].labels, found["q"].labels] == [3, 2]
    assert found["p"].agreement_ci is None  # of one item
    # Entropy of p: all s, 0 bits; of q: s and a, 1 bit.
    assert (found["p"].entropy, found["q"].entropy) == (0, 1)
    assert found["q"].shares == (0.5, 0.5, 0.0)


def test_related_and_second_labels_do_not_count() -> None:
    table = labels(
        ("i", "x", "p", "related"), ("i", "x", "p", S), ("i", "x", "p", A), ("i", "x", "q", S)
    )
    found = by_name(people_figures(table))
    assert (found["p"].labels, found["p"].agreement) == (1, 1.0)


def test_nobody_and_people_without_labels() -> None:
    empty = labels()
    assert people_figures(empty) == []
    answers = pd.DataFrame({"annotator": ["w", "w"], "round": "r", "seconds": [10.0, np.nan]})
    typing = [typed(pasted=30, left=1, characters=100), typed(pasted=0, left=2, characters=20)]
    [writer] = people_figures(empty, answers, typing=typing)
    assert writer == PersonQuality("w", tasks=2, seconds=10.0, pasted=0.25, window_changes=3)


def test_pasted_text_is_a_figure_and_no_mark_and_at_most_all() -> None:
    answers = pd.DataFrame({"annotator": ["w"], "round": "r", "seconds": [10.0]})
    [writer] = people_figures(labels(), answers, typing=[typed(pasted=500, characters=120)])
    assert (writer.pasted, writer.window_changes, writer.marks) == (1.0, 0, ())


def test_runs_of_labels_and_of_positions() -> None:
    # s a u | a s u | a s u | u u s: labels run u u u? No: u | u u of the last two tasks is u, u, u.
    answers = ("sau", "asu", "asu", "uus")
    found = by_name(people_figures(labels(*tasks("p", *answers))))
    assert (found["p"].label_run, found["p"].position_run) == (3, 2)
    # In tables that were not given as tasks, texts have no random order.
    found = by_name(people_figures(labels(*tasks("p", *answers), source="answers")))
    assert (found["p"].label_run, found["p"].position_run) == (3, None)


@pytest.mark.parametrize(("run", "mark"), [(4, []), (5, ["same_label"])])  # 12 or 15 labels
def test_the_same_label_again_and_again(run: int, mark: list[str]) -> None:
    found = by_name(people_figures(labels(*tasks("p", *["sss"] * run, "aaa"))))
    assert codes(found["p"]) == mark
    if mark:
        assert found["p"].marks[0].evidence == (
            "15 labels in a row are the same; 83% of 18 labels are «stereotype»"
        )
        assert found["p"].marks[0].items == ("i0", "i1", "i2", "i3", "i4")


@pytest.mark.parametrize(("run", "mark"), [(6, []), (7, ["same_position"])])
def test_the_same_labels_from_top_to_bottom(run: int, mark: list[str]) -> None:
    found = by_name(people_figures(labels(*tasks("p", "aus", *["sau"] * run, "uas"))))
    assert codes(found["p"]) == mark
    assert found["p"].position_run == run
    if mark:
        assert found["p"].marks[0].items == tuple(f"i{n}" for n in range(1, 8))


def others(count: int) -> list[tuple[str, str, str, str]]:
    patterns = ["sau", "usa", "aus", "asu", "uas", "sua"]
    right = [patterns[n % 6] for n in range(count)]
    return [row for person in "abcd" for row in tasks(person, *right)]


def test_low_agreement_is_marked_from_fifteen_labels_on() -> None:
    right = ["sau", "usa", "aus", "asu", "uas"]
    turned = [text[1:] + text[0] for text in right]  # every label is wrong
    table = labels(*others(5), *tasks("p", *turned))
    found = by_name(people_figures(table))
    assert codes(found["p"]) == ["random"]
    assert found["p"].agreement == 0
    assert found["p"].marks[0].evidence.startswith("agreement 0.00, at most ")
    assert found["p"].marks[0].items == ("i0", "i1", "i2", "i3", "i4")
    assert [codes(found[name]) for name in "abcd"] == [[]] * 4
    # The items on which others disagree most come first.
    turned[:4] = [text[0] + text[2] + text[1] for text in right[:4]]
    found = by_name(people_figures(labels(*others(5), *tasks("p", *turned))))
    assert found["p"].marks[0].items[0] == "i4"
    turned = [text[1:] + text[0] for text in right]
    fewer = labels(*others(4), *tasks("p", *turned[:4]))
    assert codes(by_name(people_figures(fewer))["p"]) == []


def test_in_their_own_group_a_minority_agrees() -> None:
    right = ["sau", "usa", "aus", "asu", "uas", "sua"] * 2
    other_way = [text.translate({115: "a", 97: "s"}) for text in right]  # s and a change places
    table = labels(*others(12), *tasks("p", *other_way), *tasks("q", *other_way))
    groups = dict.fromkeys("abcd", "many") | dict.fromkeys("pq", "few")
    alone = by_name(people_figures(table))
    assert codes(alone["p"]) == codes(alone["q"]) == ["random", "copying"]
    found = by_name(people_figures(table, groups=groups))
    assert (found["p"].group, found["p"].group_agreement) == ("few", 1.0)
    assert found["a"].group_agreement == 1.0
    # With the 5 others, 4 of them the majority: u is 5/5, s and a are 1/5 each.
    assert found["p"].agreement == pytest.approx((1 + 0.2 + 0.2) / 3)
    assert codes(found["p"]) == codes(found["q"]) == []


def test_two_people_with_the_same_errors() -> None:
    # Of 18 labels p has 6 errors, and q the same; r has 6 others.
    p = ["sas", "uss", "aas", "asu", "uas", "sua", "aau", "usu"]
    right = ["sau", "usa", "aus", "asu", "uas", "sua", "sau", "usa"]
    wrong = sum(
        x != y for text, good in zip(p, right, strict=True) for x, y in zip(text, good, strict=True)
    )
    assert wrong == 5
    crowd = [row for person in "abcd" for row in tasks(person, *right)]
    table = labels(*crowd, *tasks("p", *p), *tasks("q", *p))
    found = by_name(people_figures(table))
    assert codes(found["p"]) == codes(found["q"]) == ["copying"]
    mark = found["p"].marks[0]
    assert mark.evidence == (
        "5 of 5 labels in which this person or q differs from others are the same"
    )
    assert mark.items == ("i0", "i1", "i2", "i6", "i7")
    # The same errors as what the writers meant.
    intents = labels(*tasks("w", *p))[["item", "association", "value"]]
    found = by_name(people_figures(labels(*crowd, *tasks("p", *p)), intents=intents))
    assert "the writers" in found["p"].marks[0].evidence
    assert "w" not in found
    assert "the writers" not in found


def timed(**seconds: list[float]) -> pd.DataFrame:
    rows = [(person, "r", s) for person, times in seconds.items() for s in times]
    return pd.DataFrame(rows, columns=["annotator", "round", "seconds"])


def test_pace_is_relative_to_the_usual_time_of_the_round() -> None:
    usual = dict.fromkeys("abcd", [30.0] * 10)
    answers = timed(**usual, fast=[9.0] * 10, slow=[95.0] * 10, new=[1.0] * 9)
    found = by_name(people_figures(labels(), answers))
    # The medians of those with ten tasks: 9, 30, 30, 30, 30, 95; their median is 30.
    assert found["fast"].pace == pytest.approx(0.3)
    assert {name: codes(figure) for name, figure in found.items() if figure.marks} == {
        "fast": ["fast"],
        "slow": ["slow"],
    }
    assert found["fast"].marks[0].evidence == (
        "0.30 times the usual time: 9 seconds a task, on 10 tasks"
    )
    assert list(by_name(people_figures(labels(), answers)))[:2] == ["fast", "slow"]
    # With four people who have ten tasks there is no usual time.
    few = timed(a=[30.0] * 10, b=[30.0] * 10, c=[30.0] * 10, fast=[9.0] * 10)
    assert [f.pace for f in people_figures(labels(), few)] == [None] * 4


def test_thresholds_can_be_given() -> None:
    limits = copy.deepcopy(thresholds())
    limits["same_label"]["run"] = 3
    [figure] = people_figures(labels(*tasks("p", "sss")), marks=limits)
    assert codes(figure) == ["same_label"]


def test_dawid_skene_believes_those_who_agree() -> None:
    # Two people always agree; the third always says s, and so is right in a third.
    right = ["sau", "usa", "aus"] * 5
    table = labels(*tasks("a", *right), *tasks("b", *right), *tasks("c", *["sss"] * 15))
    found = by_name(people_figures(table))
    assert found["a"].competence == pytest.approx(1, abs=1e-6)
    assert found["c"].competence == pytest.approx(1 / 3, abs=1e-6)


def test_dawid_skene_with_one_step_by_hand() -> None:
    # Unit 0: s s; unit 1: s a. Shares of votes: (1, 0) and (1/2, 1/2); of classes 3/4 and 1/4.
    unit, who, value = (np.array(x) for x in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]))
    chance, share, errors = dawid_skene(unit, who, value, iterations=0)
    assert share[:2] == pytest.approx([0.75, 0.25])
    # Person 1 said s where s has 1, and a where s and a have 1/2: given s, s in 1 / 1.5.
    assert errors[1, 0, 0] == pytest.approx(2 / 3)
    assert errors[1, 1, 1] == pytest.approx(1)
    assert errors[0, 0, :2] == pytest.approx([1, 1])
    # One step: unit 1 has .75 · 1 · 1/3 for s, and .25 · 1 · 1 for a: 1/2 each.
    chance, _, _ = dawid_skene(unit, who, value, iterations=1)
    assert chance[1, :2] == pytest.approx([0.5, 0.5])
    assert chance[0, 0] == pytest.approx(1)

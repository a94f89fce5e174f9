"""Models of whose comparisons more than half are ties, or whose tokens are mostly unknown."""

from typing import Any

import pytest

from curation.scores.flags import LATEX, MARKS, flags_of, marked, notes
from support.written import beside

TABLES = beside(__file__)


def result(ties: int, **kinds: tuple[int, int]) -> dict[str, Any]:
    """Results of 4 CATs, and of each kind by its ties and CATs."""
    return {
        "overall": {"ties": ties, "cats": 4},
        "kinds": {k: {"overall": {"ties": t, "cats": c}} for k, (t, c) in kinds.items()},
    }


SOME = result(0)


def test_more_than_half_of_the_comparisons_are_ties() -> None:
    # Three comparisons a CAT: of 4 CATs 12; 6 are half, and not more.
    assert flags_of(result(6, intrasentence=(6, 4))) == []
    assert flags_of(result(7, intrasentence=(7, 4))) == ["ties"]
    # In one kind alone: 4 of 6 comparisons.
    assert flags_of(result(4, intrasentence=(0, 2), intersentence=(4, 2))) == ["ties"]
    assert flags_of({"model": "unchecked", "overall": None, "kinds": {}}) == []


@pytest.mark.parametrize(("read", "unknown", "flags"), [(10, 5, []), (10, 6, ["unknown_tokens"]),
                                                       (0, 0, [])])  # fmt: skip
def test_more_than_half_of_tokens_are_unknown(read: int, unknown: int, flags: list[str]) -> None:
    assert flags_of(SOME, {"tokens": {"read": read, "unknown": unknown}}) == flags


@pytest.mark.parametrize(("answered", "first", "uneven", "flags"), TABLES["answers_of_chats"])
def test_answers_of_chats(answered: int, first: int, uneven: list[str], flags: list[str]) -> None:
    limits = {"no_answer": 0.29, "one_letter": 0.55}
    answers = {"questions": 100, "answered": answered, "first": first, "limits": limits}
    assert flags_of(SOME, {"answers": {**answers, "uneven": uneven}}) == flags
    assert set(flags) <= set(MARKS) & set(LATEX)


@pytest.mark.parametrize(
    ("rule", "head", "architecture", "flags"), TABLES["a_trained_head_of_bert"]
)
def test_a_trained_head_of_bert(rule: str, head: str, architecture: str, flags: list[str]) -> None:
    nsp = {"architecture": architecture, "next_sentence": {"head": head}}
    rules = {"intrasentence": rule, "intersentence": "nsp"}
    about = {"family": "masked", "rules": rules, "opened": {"nsp": nsp}}
    assert flags_of(SOME, about) == flags
    assert flags_of(SOME, {**about, "opened": {"nsp": None}}) == []


def test_runs_without_tokens_and_answers_have_no_such_flags() -> None:
    assert flags_of(SOME, {"tokens": None}) == flags_of(SOME, {}) == flags_of(SOME) == []
    empty = dict.fromkeys(("questions", "answered", "first")) | {"limits": {"one_letter": None}}
    for answers in (None, {}, [], 3, {"limits": None}, {"limits": {}}, empty):
        assert flags_of(SOME, {"answers": answers}) == []


def test_marks_have_notes() -> None:
    both = ["ties", "unknown_tokens"]
    assert marked("m", both) == "m†‡"
    assert marked("m", both[1:], marks=LATEX) == r"m\textsuperscript{\ddag}"
    says = "more than half of the model's comparisons are ties"
    assert notes([[], ["ties"], ["ties"]]) == {"ties": says}
    assert notes([[]]) == {}

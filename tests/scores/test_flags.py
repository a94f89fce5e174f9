"""Models of whose comparisons more than half are ties, or whose tokens are mostly unknown."""

from typing import Any

from curation.scores.flags import LATEX, flags_of, marked, notes


def result(ties: int, cats: int, **kinds: tuple[int, int]) -> dict[str, Any]:
    return {
        "overall": {"ties": ties, "cats": cats},
        "kinds": {k: {"overall": {"ties": t, "cats": c}} for k, (t, c) in kinds.items()},
    }


def test_more_than_half_of_the_comparisons_are_ties() -> None:
    # Three comparisons a CAT: of 4 CATs 12; 6 are half, and not more.
    assert flags_of(result(6, 4)) == []
    assert flags_of(result(7, 4)) == ["ties"]
    # In one kind alone: 4 of 6 comparisons.
    assert flags_of(result(4, 4, intrasentence=(0, 2), intersentence=(4, 2))) == ["ties"]
    assert flags_of({"model": "unchecked", "overall": None, "kinds": {}}) == []


def test_more_than_half_of_the_tokens_are_unknown() -> None:
    some = result(0, 4)
    assert flags_of(some, {"tokens": {"read": 10, "unknown": 5}}) == []
    assert flags_of(some, {"tokens": {"read": 10, "unknown": 6}}) == ["unknown_tokens"]
    assert flags_of(some, {"tokens": {"read": 0, "unknown": 0}}) == []
    assert flags_of(some, {"tokens": None}) == flags_of(some, {}) == flags_of(some) == []


def test_marks_have_notes() -> None:
    both = ["ties", "unknown_tokens"]
    assert marked("m", both) == "m†‡"
    assert marked("m", both[1:], marks=LATEX) == r"m\textsuperscript{\ddag}"
    assert notes([[], ["ties"], ["ties"]]) == {
        "ties": "more than half of the model's comparisons are ties"
    }
    assert notes([[]]) == {}

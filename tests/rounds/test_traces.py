"""What the fold makes of counts of typing and of instruction checks."""

from typing import Any

import pytest

from curation.records import Shown, Task, Typing
from curation.rounds.fold import Folded, fold
from curation.rounds.gate import Rules
from support.answers import TERMS, Row, archived, say

COUNTS = {"keys": 5, "pasted": 0, "left": 1, "seconds": 2.5}
TASKS = {
    "t-w": Task(id="t-w", term="x", domain="profession", target="baker", wanted=1),
    "t-2": Task(id="t-2", term="x", domain="profession", target="baker", wanted=1),
    "t-v": Task(
        id="t-v", term="x", domain="profession", target="baker", item="i1", wanted=1,
        context="The baker is BLANK.",
        shown=tuple(Shown(id=f"a{n}", text="x", association=f"a{n}") for n in range(3)),
    ),
}  # fmt: skip
TEXTS = {
    "stereotype": "early", "anti_stereotype": "late", "unrelated": "algebraic",
    "template": "The baker is BLANK.",
}  # fmt: skip


def answer(number: int, typing: Any, task: str = "t-w", **changes: Any) -> Row:
    sent = {"submitted_at": f"2026-03-02T09:00:0{number}.000Z", "seconds": 30.0}
    own = {"task_id": task, "annotator": f"ann-{number}", "answer_id": f"{number:032}"}
    return own | sent | TEXTS | {"typing": typing} | changes


def folded(*rows: Row, kind: Any = "intrasentence", **rules: Any) -> Folded:
    said = say(rows, "web", tasks=TASKS, kind=kind)
    return fold(said, Rules(("profession",), TERMS, **rules), str.upper)


def test_counts_are_by_field_also_of_a_refused_answer_and_with_the_length_of_the_text() -> None:
    typing = {"template": COUNTS | {"pasted": 19}, "stereotype": COUNTS}
    result = folded(
        answer(1, typing), answer(2, typing, "t-2"), answer(3, typing, seconds=1.0), write_seconds=9
    )
    codes = [(row.annotator, row.code) for row in result.answers["main"]]
    assert codes == [("ANN-1", None), ("ANN-2", "duplicate_item"), ("ANN-3", "too_fast")]
    rows = result.typing["main"]
    assert [row.annotator for row in rows] == ["ANN-1", "ANN-2", "ANN-3"]
    assert rows[0] == Typing.model_validate({
        "task": "t-w", "annotator": "ANN-1", "submitted_at": "2026-03-02T09:00:01.000Z",
        "fields": {
            "stereotype": COUNTS | {"characters": 5},
            "template": COUNTS | {"pasted": 19, "characters": 19},
        },
    })  # fmt: skip
    assert all("typing" not in row.record for row in result.rejections["main"])


BROKEN = [
    None, 7, "x", "[" * 5000, "x" * 5000, [], {"template": 7}, {"template": [1]}, {7: COUNTS},
    {"template": {**COUNTS, "keys": -1}}, {"template": {**COUNTS, "keys": 2.5}},
    {"template": {**COUNTS, "seconds": 10**9}}, {"template": {**COUNTS, "left": "3"}},
    {"template": {**COUNTS, "keys": 10**30}}, {"template": {"keys": 1}},
    {"template": {**COUNTS, "text": "The baker is"}}, {"consent": COUNTS},
]  # fmt: skip


@pytest.mark.parametrize("typing", BROKEN)
def test_broken_counts_are_absent_and_refuse_nothing(typing: Any) -> None:
    result = folded(answer(1, typing))
    assert (len(result.items), result.typing, result.rejections) == (1, {}, {})


def test_labels_and_answers_in_tables_have_no_counts() -> None:
    labels = {"label_1": "stereotype", "label_2": "anti-stereotype", "label_3": "unrelated"}
    typing = {"label_1": COUNTS, "template": COUNTS}
    assert folded(answer(1, typing, "t-v", **labels), kind="validation").typing == {}
    said = say([answer(1, typing)], "forms", tasks=TASKS, kind="intrasentence")
    result = fold(said, Rules(("profession",), TERMS), str)
    assert (len(result.items), result.typing) == (1, {})


def check(who: str, number: int, passed: Any) -> Row:
    sent = {"submitted_at": f"2026-03-02T09:0{number}:00.000Z", "answer_id": f"{who}{number}"}
    return {"annotator": who, "check": number, "passed": passed} | sent


def test_checks_are_counted_by_person_and_are_no_answers() -> None:
    rows = [check("ben", 0, False), check("ann", 0, True), check("ann", 1, False)]
    rows += [check("ben", 1, False), check("ben", 2, True), {"check": 0, "passed": False}]
    # What came before comes again: in full pulls, and marked if a submission was given back.
    deliveries = [rows[:3], rows[1:], rows, [row | {"arrival": "returned"} for row in rows[:5]]]
    said = archived(deliveries, "web", tasks=TASKS, kind="validation")
    result = fold(said, Rules(("profession",), TERMS), str.upper)
    counts = [(row.annotator, row.shown, row.failed) for row in result.checks["main"]]
    assert counts == [("ANN", 2, 1), ("BEN", 3, 2)]
    assert (result.answers, result.people, result.labels) == ({}, [], [])
    codes = [row.code for row in result.rejections["main"]]
    assert codes == ["missing_field"], "a check of nobody"

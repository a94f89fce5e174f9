"""Answers with impossible times are kept, marked, and do not count until they are accepted."""

from typing import Any

import pytest

from curation.records import Task
from curation.rounds.answers.archive import Sent
from curation.rounds.answers.interpret import interpret
from curation.rounds.fold import Folded, fold
from curation.rounds.gate import Rules
from support.answers import TERMS, WORDS, Row, written

OPENED = "2026-03-01T12:00:00.000Z"
SEGMENT = "20260302T090000000000-0123456789ab.jsonl"  # delivered on 2 March at 9:00
TASK = Task(
    id="t", term=TERMS["profession", "baker"], domain="profession", target="baker", wanted=1
)
LABEL_STUDIO_RESULT = [
    {"from_name": name, "type": "textarea", "value": {"text": [text]}}
    for name, text in {**WORDS, "template": "The baker is BLANK."}.items()
]


def answer(source: str, at: str, changed: str = "") -> Row:
    """An item that somebody wrote for the task, as each source has it."""
    if source == "answers":
        return written(submitted_at=at, updated_at=changed or None)
    if source == "label_studio":
        times = {"created_at": at, "updated_at": changed or at}
        annotation = {"id": 1, "lead_time": 30, "result": LABEL_STUDIO_RESULT, **times}
        return {"task": "t", "person": "anna", "annotation": annotation}
    row = {"task_id": "t", "annotator": "anna", "answer_id": "a", "template": "The baker is BLANK."}
    return row | WORDS | {"submitted_at": at} | ({"updated_at": changed} if changed else {})


def folded(source: Any, *payloads: Row, segment: str = SEGMENT, **rules: Any) -> Folded:
    parsed = [
        ("r", part)
        for number, payload in enumerate(payloads)
        for part in interpret(
            Sent(id=f"e-{number}", source=source, position=number, payload=payload),
            round="r",
            where=f"r/raw/{segment} line {number + 1}",
            tasks={"t": TASK},
            kind="intrasentence",
        )
    ]
    return fold(parsed, Rules(["profession"], TERMS, **{"opened": {"r": OPENED}} | rules))


def reasons(result: Folded) -> list[str]:
    return [f"{r.code}: {r.detail}" for r in result.rejections.get("r", [])]


SOURCES = ("web", "label_studio", "forms", "answers")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("at", "problem"),
    [
        ("2026-03-01T11:55:00Z", ""),  # clocks may differ by 5 minutes
        ("2026-03-01T11:54:59Z", "round r was opened at 2026-03-01T12:00:00.000Z"),
        ("2026-03-02T09:05:00Z", ""),
        ("2026-03-02T10:05:00+01:00", ""),
        ("2026-03-02T09:05:01Z", "came in at 2026-03-02T09:00:00.000Z"),
        ("2031-01-01T00:00:00Z", "came in at 2026-03-02T09:00:00.000Z"),
    ],
)
def test_a_time_before_the_round_or_after_the_delivery_is_marked(
    source: str, at: str, problem: str
) -> None:
    result = folded(source, answer(source, at))
    assert len(result.items) == (not problem)
    said = reasons(result)
    assert len(said) == bool(problem)
    if problem:
        assert said[0].startswith("time_impossible: it is of 20")
        assert problem in said[0]
    # Once the owner accepts the times of the round, it counts like any other.
    accepted = folded(source, answer(source, at), accept_times=("q", "r"))
    assert (len(accepted.items), reasons(accepted)) == (1, [])
    assert len(folded(source, answer(source, at), accept_times=("q",)).items) == (not problem)


@pytest.mark.parametrize("source", ["forms", "answers"])
@pytest.mark.parametrize(
    ("at", "counts"),
    [
        ("2026-02-28", False),  # midnight, and a day later is still before noon of 1 March
        ("2026-03-01", True),
        ("2026-02-28 11:54", False),
        ("2026-02-28 11:56", True),
        ("2026-03-03 09:04", True),  # somewhere it was 9:04 of the next day when it came in
        ("2026-03-03 09:06", False),
        ("2026-03-02 16:04 GMT+7", True),
        ("2026-03-02 17:04 GMT+7", False),
        ("3.3.2026 9:04", True),
    ],
)
def test_a_time_without_a_zone_or_a_clock_may_be_a_day_off(
    source: str, at: str, counts: bool
) -> None:
    assert len(folded(source, answer(source, at)).items) == counts


def test_a_change_in_the_future_is_marked_too() -> None:
    row = answer("forms", "2026-03-02T08:00:00Z", "2026-03-02T09:06:00Z")
    assert [text[:33] for text in reasons(folded("forms", row))] == [
        "time_impossible: it is of 2026-03"
    ]


def test_a_round_that_was_not_opened_here_has_no_beginning() -> None:
    """And a file of answers whose name says no time of delivery has no end."""
    old, new = answer("answers", "1999-01-01T00:00:00Z"), answer("answers", "2031-01-01T00:00:00Z")
    assert len(folded("answers", old, opened={}).items) == 1
    assert len(folded("answers", new, opened={}).items) == 0
    assert len(folded("answers", new, opened={}, segment="mine.jsonl").items) == 1


def test_answers_without_a_time_count() -> None:
    assert len(folded("answers", written()).items) == 1


def test_a_marked_answer_stands_in_nobodys_way() -> None:
    """Refused answers count towards nothing: the second answer is the first that counts."""
    rows = [answer("web", "1999-01-01T00:00:00Z"), answer("web", "2026-03-02T08:00:00Z")]
    result = folded("web", rows[0] | {"answer_id": "b"}, rows[1])
    assert len(result.items) == 1
    assert [a.code for a in result.answers["r"]] == ["time_impossible", None]

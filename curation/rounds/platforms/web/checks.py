"""Instruction checks: pages that look like a task of labelling, and say what to choose.

They follow Prolific's policy for attention checks: each line itself says plainly what to choose, in
the same letters as any other line. A check is not a task: it has no lease, and is not counted as an
answer.

In each span of ``Plan.instruction_checks`` tasks that a person answers or skips there is one check,
at a place that is drawn for the person and the span. What is on disk says which checks are due, so
that a page that is opened again, or left, neither doubles nor loses one.
"""

import re
from collections.abc import Mapping
from itertools import count
from typing import Any

from curation.records import FAILS
from curation.rounds.answers.forms import LABELS
from curation.rounds.platforms.web.store import ENDED, Plan, Store, WebTask

RIGHT = "unrelated"
SLIPS = 1
"""In how many of the three lines somebody may choose another label by mistake."""
DONE = "SELECT count(*) FROM leases WHERE person = ? AND round = ? AND until < 0"
GIVEN = "SELECT number FROM checks WHERE person = ? AND round = ?"
FAILED = "SELECT count(*) FROM checks WHERE person = ? AND round = ? AND NOT passed"


def has_failed(store: Store, person: str, round: str) -> bool:
    """Whether a person has failed two checks, and gets no more tasks of the round."""
    return int(store.one(FAILED, person, round)) >= FAILS


def due(store: Store, person: str, plan: Plan) -> int | None:
    """The number of the check that comes before the person's next task; None if there is none."""
    span = plan.instruction_checks
    if not span or plan.kind != "validation":
        return None
    given = {row[0] for row in store.rows(GIVEN, person, plan.name)}
    number = next(n for n in count() if n not in given)
    drawn = store.digest("check", str(plan.seed), plan.name, person, str(number))
    place = 1 + int(drawn, 16) % span
    done = int(store.one(DONE, person, plan.name))
    return number if done >= number * span + place else None


def task(plan: Plan, number: int) -> WebTask:
    """A check as a task that the page of a task can show."""
    web, label = plan.texts["web"], str(plan.texts["validation"][RIGHT])
    line = web["check_line"].replace("[label]", label)
    data = {"target": web["check_target"], "context": web["check_context"]}
    data |= {f"text_{n}": line for n in (1, 2, 3)}
    return WebTask(f"check-{number}", "", None, data)


def number_of(task: str) -> int | None:
    """The number of the check that has this id as a task; None if it is a task."""
    found = re.fullmatch(r"check-(\d{1,6})", task)
    return int(found[1]) if found else None


def was_given(store: Store, person: str, round: str, number: int) -> bool:
    """Whether a person has answered this check."""
    return number in {row[0] for row in store.rows(GIVEN, person, round)}


def answer(
    store: Store, person: str, plan: Plan, number: int, fields: Mapping[str, Any], *, at: float
) -> None:
    """Keep the answer to a check, which is failed only if it is clearly wrong; the first counts.

    It is also an entry among the answers, so that the archive has it. Anyone who has now failed two
    gives back the task that they hold.
    """
    passed = sum(fields[name] != RIGHT for name in LABELS) <= SLIPS
    with store.change() as db:
        row = (person, plan.name, number, int(passed))
        if not db.execute("INSERT OR IGNORE INTO checks VALUES (?, ?, ?, ?)", row).rowcount:
            return
        result = {"check": number, "passed": passed}
        store.note(db, "check", person, plan.name, result, at=at)
        if db.execute(FAILED, (person, plan.name)).fetchone()[0] >= FAILS:
            db.execute(
                "UPDATE leases SET until = ? WHERE person = ? AND round = ? AND until > 0",
                (ENDED, person, plan.name),
            )

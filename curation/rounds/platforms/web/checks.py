"""Instruction checks: pages that look like a task of labelling, and say what to choose.

They follow Prolific's policy for attention checks: each line itself says plainly what to choose, in
the same letters as any other line. A check is not a task: it has no lease, and is not counted as an
answer.

In each span of ``Plan.instruction_checks`` tasks that a person answers or skips there is one check,
at a place in its middle half that is drawn for the person and the span. So between two checks there
are at least half as many tasks. What is on disk says which checks are due, so
that a page that is opened again, or left, neither doubles nor loses one.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any

from curation.kinds import LABELS, NUMBERS, ROUNDS
from curation.records import FAILS
from curation.rounds.platforms.web.rounds import ENDED, Plan, WebTask
from curation.rounds.platforms.web.store import Store

RIGHT = "unrelated"
SLIPS = 1
"""In how many of its lines somebody may choose another label by mistake."""
NAME = "check-"
"""How the id of a check begins; its number follows."""
DONE = "SELECT count(*) FROM leases WHERE person = ? AND round = ? AND until < 0"
GIVEN = "SELECT number FROM checks WHERE person = ? AND round = ?"
FAILED = "SELECT count(*) FROM checks WHERE person = ? AND round = ? AND NOT passed"


def has_failed(store: Store, person: str, round: str) -> bool:
    """Whether a person has failed two checks, and gets no more tasks of the round."""
    return int(store.one(FAILED, person, round)) >= FAILS


def due(store: Store, person: str, plan: Plan) -> WebTask | None:
    """The check that comes before the person's next task, as a task; None if there is none."""
    span = plan.instruction_checks
    if not span or ROUNDS[plan.kind].work != "label":
        return None
    given = {row[0] for row in store.rows(GIVEN, person, plan.name)}
    number = next(n for n in count() if n not in given)
    drawn = store.digest("check", str(plan.seed), plan.name, person, str(number))
    place = number * span + 1 + span // 4 + int(drawn, 16) % (span // 2 + 1)
    return task(plan, number) if store.one(DONE, person, plan.name) >= place else None


def task(plan: Plan, number: int) -> WebTask:
    """A check as a task, which the page of a task shows."""
    web, label = plan.texts["web"], str(plan.texts["validation"][RIGHT])
    data = {"target": web["check_target"], "context": web["check_context"]}
    line = web["check_line"].replace("[label]", label)
    return WebTask(f"{NAME}{number}", "", None, data | {f"text_{n}": line for n in NUMBERS})


def is_answered(store: Store, person: str, round: str, task: str) -> bool:
    """Whether this is the id of a check that the person has answered."""
    return task in {f"{NAME}{row[0]}" for row in store.rows(GIVEN, person, round)}


def answer(
    store: Store, person: str, plan: Plan, check: WebTask, fields: Mapping[str, Any], *, at: float
) -> None:
    """Keep the answer to a check, which is failed only if it is clearly wrong; the first counts.

    It is also an entry among the answers, so that the archive has it. Anyone who has now failed two
    gives back the task that they hold.
    """
    number, mine = int(check.id.removeprefix(NAME)), (person, plan.name)
    passed = sum(fields[name] != RIGHT for name in LABELS) <= SLIPS
    with store.change() as db:
        row = (*mine, number, int(passed))
        if db.execute("INSERT OR IGNORE INTO checks VALUES (?, ?, ?, ?)", row).rowcount:
            result = {"check": number, "passed": passed}
            store.note(db, ("check", plan.name, person, at), result)
        if db.execute(FAILED, mine).fetchone()[0] >= FAILS:
            live = "UPDATE leases SET until = ? WHERE person = ? AND round = ? AND until > 0"
            db.execute(live, (ENDED, *mine))

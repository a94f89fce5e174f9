"""Who holds which tasks: tables that went out and have not come back."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from curation.records import Answer, Dealing

ERASED = "(erased)"
"""The holder of a table whose person had everything erased."""
NO_ANSWER = ("skipped", "superseded", "deleted")


class Holding(NamedTuple):
    """A table that went out, with the answers that have not come back.

    Attributes:
        table: the table's file name.
        holder: the pseudonym of the person who got it, or its own name if it is for anybody.
        since: when it went out, in ISO 8601.
        tasks: by task id, how many answers are still out; without tasks that wait for none.
        corrects: whether it is a sheet of refused answers that went back to its holder.
    """

    table: str
    holder: str
    since: str
    tasks: dict[str, int]
    corrects: bool = False

    @property
    def is_for_anybody(self) -> bool:
        """Whether the table is not for one person."""
        return self.holder == self.table

    @property
    def answers(self) -> int:
        """How many answers are still out."""
        return sum(self.tasks.values())


def holdings(
    dealings: Iterable[Dealing],
    answers: Iterable[Answer],
    *,
    out: Collection[str] = (),
    refused: Collection[str] = (),
) -> list[Holding]:
    """The tables of a round, oldest first, with the answers that are still out.

    A person no longer holds a task if they have answered or skipped it, also if the answer was
    refused, and if the task was recalled. People who are out of the campaign hold nothing.

    An answer by somebody who was not dealt the task counts for a table which has it: for a table
    for anybody, or, if nothing was dealt to that person, for the table of a person who has answered
    nothing of it. Such a table may have come back under another id. If there are several, the table
    that shares the most tasks with that person's answers is taken, and then the oldest.

    A sheet of refused answers waits for each of them until it is corrected or accepted.

    Args:
        dealings: the round's ledger, in order.
        answers: what became of each answer to the round's tasks, in order of submission.
        out: pseudonyms of the people whose answers do not count.
        refused: places in the archive of the answers that are refused, and of no other version.
    """
    tables: dict[str, Holding] = {}
    sheets: dict[str, Holding] = {}
    came: dict[str, int] = {}
    dealt: set[tuple[str, str]] = set()
    for line in dealings:
        if line.action == "deal":
            tables[line.table] = Holding(line.table, line.holder, line.at, dict(line.tasks))
            for task in line.tasks:
                came.setdefault(task, line.came.get(task, 0))
                dealt.add((line.holder, task))
        elif line.action == "correct" and line.holder not in (ERASED, *out):
            due = {task: 1 for task, place in line.refused.items() if place in refused}
            sheets[line.table] = Holding(line.table, line.holder, line.at, due, corrects=True)
        elif holds := tables.get(line.table) or sheets.get(line.table):
            for task, n in line.tasks.items():
                _take(holds, task, n)
    own, strays = _sorted_out(answers, dealt, came)
    content = {table: set(holding.tasks) for table, holding in tables.items()}
    begun = set()
    for table, holding in tables.items():
        answered = own.get(holding.holder, set()) & content[table]
        if answered:
            begun.add(table)
        for task in answered:
            _take(holding, task)
        if holding.holder in out or holding.holder == ERASED:
            holding.tasks.clear()
    known = {holder for holder, _ in dealt}
    for person, counts in strays.items():
        able = [
            holding
            for table, holding in tables.items()
            if holding.is_for_anybody or (person not in known and table not in begun)
        ]
        able.sort(key=lambda holding: -len(content[holding.table] & counts.keys()))
        for task, n in counts.items():
            left = n
            for holding in able:
                left -= _take(holding, task, left)
    return [*tables.values(), *sheets.values()]


def _take(holding: Holding, task: str, n: int = 1) -> int:
    """Take answers off what a table waits for; gives how many it waited for."""
    taken = min(n, holding.tasks.get(task, 0))
    if taken:
        holding.tasks[task] -= taken
        if not holding.tasks[task]:
            del holding.tasks[task]
    return taken


def _sorted_out(
    answers: Iterable[Answer], dealt: Collection[tuple[str, str]], came: dict[str, int]
) -> tuple[dict[str, set[str]], dict[str, Counter[str]]]:
    """The tasks that people answered: those that they were dealt; and others, with how often."""
    own: dict[str, set[str]] = defaultdict(set)
    strays: dict[str, Counter[str]] = defaultdict(Counter)
    before = Counter[str]()
    for answer in answers:
        person, task = answer.annotator, answer.task
        if (person, task) in dealt:
            own[person].add(task)
        elif before[task] < came.get(task, 0):  # it was here before the first table went out
            before[task] += 1
        elif answer.code in NO_ANSWER:  # a copy of a table came back without this answer
            strays[person].setdefault(task, 0)
        else:
            strays[person][task] += 1
    # However a person's copy came back, it was one copy.
    return own, {p: Counter({t: max(n, 1) for t, n in c.items()}) for p, c in strays.items()}

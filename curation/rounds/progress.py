"""A round's progress: what each task still lacks, what to ask for, pace, end and cost."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from curation.files import timestamp
from curation.records import Answer, Item, Round, Task
from curation.rounds.needed import further
from curation.rules import Votes, decide
from curation.times import moment

PACE_DAYS = 7.0  # the pace is computed over these days, or since the first answer
LEAST_DAYS = 1 / 24  # less time gives no useful pace
NO_SLOT = ("skipped", "superseded", "deleted", "withdrawn")
"""Reason codes of answers that do not count among those that a task was asked for."""
NO_PAY = ("skipped", "superseded")
"""Reason codes of answers that nobody is paid for: no work, or paid as another version."""


class Progress(NamedTuple):
    """The progress of a round.

    Attributes:
        round: the round's name.
        kind: its kind.
        state: planned, open or closed.
        tasks: how many tasks it has.
        void: tasks that no answer can serve any more.
        done: tasks that lack no answer and are not void.
        decided: items with enough labels to decide; for other kinds than validation, ``done``.
        people: people who answered.
        answers: answers that came in.
        refused: how many of these were refused.
        labels_per_item: labels per item that count; None for other kinds than validation.
        asked: answers that were asked for in all.
        remaining: valid answers that are still missing.
        per_day: answers per day; None before there is a pace.
        done_at: when the last answer comes in at this pace; None before there is a pace.
        cost: pay for the answers that came in.
        cost_in_all: pay for these and for the remaining answers.
    """

    round: str
    kind: str
    state: str
    tasks: int
    void: int
    done: int
    decided: int
    people: int
    answers: int
    refused: int
    labels_per_item: float | None
    asked: int
    remaining: int
    per_day: float | None
    done_at: str | None
    cost: float
    cost_in_all: float


def voided(
    round: Round, tasks: Iterable[Task], items: Mapping[str, Item], terms: Collection[str]
) -> set[str]:
    """Ids of the tasks that no answer can serve any more.

    Such a task's term is no longer kept, or its item no longer exists, or the item's writer changed
    the words that the task shows.

    Args:
        round: the round.
        tasks: its tasks.
        items: the items by id, as they are now.
        terms: ids of the kept terms.
    """
    void = set()
    for task in tasks:
        item = items.get(task.item or "")
        if task.term not in terms or (round.kind == "validation" and item is None):
            void.add(task.id)
        elif item is not None:
            words = {a.id: a.sentence for a in item.associations}
            same = all(words.get(s.association) == s.text for s in task.shown)
            if not same or item.context != task.context:
                void.add(task.id)
    return void


def lacking(
    round: Round,
    tasks: Sequence[Task],
    answers: Iterable[Answer],
    *,
    votes: Mapping[str, Sequence[Votes]],
    needed: int,
    of: int,
    void: Collection[str] = (),
) -> dict[str, int]:
    """By task id, how many valid answers it still lacks.

    Args:
        round: the round.
        tasks: its tasks.
        answers: the answers that came in.
        votes: by item id, the counted votes of its three associations, for a round of validation.
        needed: how many votes make a gold label.
        of: how many labels of an association count.
        void: ids of tasks that no answer can serve any more; they need no answers.
    """
    taken = Counter(answer.task for answer in answers if answer.code is None)
    lack = {}
    for task in tasks:
        three = votes.get(task.item or "")
        if task.id in void:
            lack[task.id] = 0
        elif three is None:
            lack[task.id] = max(task.wanted - taken[task.id], 0)
        elif round.labels == "needed" and not task.full:
            lack[task.id] = further(three, needed=needed, of=of)
        else:
            lack[task.id] = max(of - sum(v) for v in three)
    return lack


def received(answers: Iterable[Answer]) -> Counter[str]:
    """By task id, how many of the answers that were asked for came in, valid or not."""
    return Counter(answer.task for answer in answers if answer.code not in NO_SLOT)


def to_ask(
    lack: Mapping[str, int], asked: Mapping[str, int], got: Mapping[str, int]
) -> dict[str, int]:
    """By id of tasks that need more answers than are on their way, how many to ask for in all.

    A second call before an answer comes gives the same result, so nothing is asked for twice.
    """
    wanted = {id: got.get(id, 0) + n for id, n in lack.items() if n}
    return {id: n for id, n in wanted.items() if n > asked.get(id, 0)}


def progress(
    round: Round,
    tasks: Sequence[Task],
    answers: Sequence[Answer],
    *,
    lack: Mapping[str, int],
    asked: Mapping[str, int],
    votes: Mapping[str, Sequence[Votes]],
    needed: int,
    of: int,
    now: str,
    void: Collection[str] = (),
) -> Progress:
    """A round's progress at a time.

    Pace is the number of answers per day over the last seven days, or since the first answer. The
    end is when the last missing answer comes in at that pace. Cost is the pay for every answer,
    refused or not.

    Args:
        round: the round.
        tasks: its tasks.
        answers: the answers that came in.
        lack: the result of ``lacking``.
        asked: by task id, how many answers were asked for in all.
        votes: as for ``lacking``.
        needed: as for ``lacking``.
        of: as for ``lacking``.
        now: the time, in ISO 8601.
        void: as for ``lacking``.
    """
    came = [a for a in answers if a.code not in NO_SLOT]
    remaining = sum(lack.values())
    times = sorted(a.submitted_at for a in came if a.submitted_at)
    per_day, done_at = _pace(times, remaining, now)
    live = [task for task in tasks if task.id not in void]
    three = [votes[t.item] for t in live if t.item and t.item in votes]
    given = sum(sum(map(sum, v)) / 3 for v in three)
    undecided = sum(decide(v, needed=needed, of=of).reason == "too_few_labels" for v in three)
    is_validation = round.kind == "validation"
    done = sum(not n for id, n in lack.items() if id not in void)
    cost = round.pay * sum(a.code not in NO_PAY for a in answers)
    return Progress(
        round=round.name,
        kind=round.kind,
        state=round.state,
        tasks=len(tasks),
        void=len(void),
        done=done,
        decided=len(three) - undecided if is_validation else done,
        people=len({a.annotator for a in came}),
        answers=len(came),
        refused=sum(a.code is not None for a in came),
        labels_per_item=given / len(live) if is_validation and live else None,
        asked=sum(asked.values()),
        remaining=remaining,
        per_day=per_day,
        done_at=done_at,
        cost=cost,
        cost_in_all=cost + round.pay * remaining,
    )


def _pace(times: Sequence[str], remaining: int, now: str) -> tuple[float | None, str | None]:
    if not times:
        return None, None
    end = moment(now)
    begin = max(moment(times[0]), end - timedelta(days=PACE_DAYS))
    days = (end - begin) / timedelta(days=1)
    recent = sum(moment(time) >= begin for time in times)
    if days < LEAST_DAYS or not recent:
        return None, None
    per_day = recent / days
    wait = remaining / per_day
    if not math.isfinite(wait) or wait > 36_500:
        return per_day, None
    return per_day, timestamp(end + timedelta(days=wait)) if remaining else None

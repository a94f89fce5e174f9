"""A round's progress: what each task still lacks, what to ask for, pace, end and cost."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from curation.records import Answer, Decision, Flag, Item, Record, Round, Task
from curation.rounds.pay import NO_PAY, earned
from curation.rounds.plan import further
from curation.text.rules import Votes, decide
from curation.text.times import moment, timestamp
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.rounds.quality import PersonQuality

NOTHING: Mapping[str, int] = MappingProxyType({})
PACE_DAYS = 7.0  # the pace is computed over these days, or since the first answer
LEAST_DAYS = 1 / 24  # less time gives no useful pace
NO_SLOT = ("skipped", "superseded", "deleted", "late", "returned", "forged")
"""Reason codes of answers that do not count among those that a task was asked for."""
NOT_SHOWN = ("skipped", "superseded", "deleted", "withdrawn")
"""Reason codes of answers that do not count among those that came in."""


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
        people: people with an answer that counts.
        answers: answers that came in.
        refused: how many of these were refused.
        labels_per_item: labels per item that count; None for other kinds than validation.
        asked: answers that were asked for in all.
        remaining: valid answers that tasks still lack.
        out: answers on their way: people have been asked for them, and they have not come in; and
            refused ones that people correct.
        missing: answers that tasks lack and that are not on their way.
        per_day: answers per day; None before there is a pace.
        done_at: when the last answer comes in at this pace; None before there is a pace.
        cost: pay for the answers that came in.
        cost_in_all: pay for these and for the remaining answers; a closed round gets no more.
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
    out: int
    missing: int
    per_day: float | None
    done_at: str | None
    cost: float
    cost_in_all: float


class RoundFigures(NamedTuple):
    """What a round's owner looks at.

    Attributes:
        progress: its progress.
        next: what to do next, in a line.
        refused: by reason code, how many of ``Progress.answers`` were refused; most first.
        flagged: by flag, the items that at least two people gave it.
    """

    progress: Progress
    next: str
    refused: dict[str, int]
    flagged: Mapping[str, list[str]]


class Overview(NamedTuple):
    """The rounds of a campaign, by the answers that are folded.

    Attributes:
        campaign: the campaign's name.
        currency: the currency of its pay.
        budget: what all rounds may cost; 0 for no budget.
        rounds: each round's figures by its name, oldest first.
        people: by round each person's figures and marks, people with marks first.
        at: when the files were read, in ISO 8601.
        problem: why there are no figures of people; empty if there are.
        is_old: newer ones are being computed.
    """

    campaign: str
    currency: str
    budget: float
    rounds: dict[str, RoundFigures]
    people: "dict[str, list[PersonQuality]]"
    at: str
    problem: str = ""
    is_old: bool = False


def came(waiting: int, round: str) -> str:
    """How many answers wait to be pulled, and the command for it."""
    return f"{amount(waiting, 'answer')} came after the last pull: curation rounds pull {round}"


class ItemFacts(Record):
    """An item with all that people said of it.

    Attributes:
        item: the item.
        target: its term's text, and the domain.
        decision: whether its labels make it a CAT now, with the votes that count.
        labels: each label: the person, the association's text, and the value.
        flags: validators' flags.
        pitfalls: codes of its known pitfalls.
    """

    item: Item
    target: str
    decision: Decision
    labels: list[tuple[str, str, str]]
    flags: list[Flag]
    pitfalls: list[str]


def refused_by_reason(answers: Iterable[Answer]) -> dict[str, int]:
    """By reason code, how many of the answers that came in were refused; most first."""
    counts = Counter(a.code for a in answers if a.code and a.code not in NOT_SHOWN)
    return dict(counts.most_common())


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
        if task.term not in terms or (task.item and item is None):
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


def on_way(
    asked: Mapping[str, int],
    got: Mapping[str, int],
    held: Mapping[str, int] | None = None,
    void: Collection[str] = (),
) -> dict[str, int]:
    """By task id, how many answers are on their way; tasks without any are left out.

    Args:
        asked: how many answers each task was asked for in all.
        got: the result of ``received``.
        held: how many answers people hold in tables; None if there are no tables. Answers that were
            asked for are then on their way until they come in.
        void: ids of tasks that no answer can serve any more; nothing is on its way for them.
    """
    if held is None:
        held = {id: n - got.get(id, 0) for id, n in asked.items()}
    return {id: n for id, n in held.items() if n > 0 and id not in void}


def to_ask(
    lack: Mapping[str, int],
    asked: Mapping[str, int],
    got: Mapping[str, int],
    held: Mapping[str, int] = NOTHING,
) -> dict[str, int]:
    """By id of tasks that need more answers than were asked for, how many to ask for in all.

    A second call before an answer comes gives the same result, so nothing is asked for twice.

    Args:
        lack: the result of ``lacking``.
        asked: how many answers each task was asked for in all.
        got: the result of ``received``.
        held: how many answers people hold in tables.
    """
    return {
        id: got.get(id, 0) + n
        for id, n in lack.items()
        if n > max(asked.get(id, 0) - got.get(id, 0), held.get(id, 0), 0)
    }


def to_deal(
    lack: Mapping[str, int],
    asked: Mapping[str, int],
    got: Mapping[str, int],
    held: Mapping[str, int],
) -> dict[str, int]:
    """By id of tasks that wait for answers which nobody holds, how many; for the next tables.

    These answers were asked for, and the task still lacks them. Takes the arguments of ``to_ask``.
    """
    counts = {}
    for id, n in lack.items():
        open_answers = min(asked.get(id, 0) - got.get(id, 0), n) - held.get(id, 0)
        if open_answers > 0:
            counts[id] = open_answers
    return counts


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
    held: Mapping[str, int] | None = None,
    sheets: Mapping[str, int] = NOTHING,
) -> Progress:
    """A round's progress at a time.

    Pace is the number of answers per day over the last seven days, or since the first answer. The
    end is when the last missing answer comes in at that pace. Cost is the pay for every answer,
    refused or not; all that a person sent for one task is one answer.

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
        held: as for ``on_way``.
        sheets: how many refused answers are out to be corrected.
    """
    came = [a for a in answers if a.code not in NOT_SHOWN]
    out = Counter(on_way(asked, received(answers), held, void)) + Counter(sheets)
    remaining = sum(lack.values())
    times = sorted(a.submitted_at for a in came if a.submitted_at)
    per_day, done_at = _pace(times, remaining, now)
    live = [task for task in tasks if task.id not in void]
    three = [votes[t.item] for t in live if t.item and t.item in votes]
    given = sum(sum(map(sum, v)) / 3 for v in three)
    undecided = sum(decide(v, needed=needed, of=of).reason == "too_few_labels" for v in three)
    done = sum(not n for id, n in lack.items() if id not in void)
    paid = len({(a.task, a.annotator) for a in answers if a.code not in NO_PAY})
    more = remaining if round.state != "closed" else 0
    return Progress(
        round=round.name,
        kind=round.kind,
        state=round.state,
        tasks=len(tasks),
        void=len(void),
        done=done,
        decided=len(three) - undecided if three else done,
        people=len({a.annotator for a in came if a.code is None}),
        answers=len(came),
        refused=sum(a.code is not None for a in came),
        labels_per_item=given / len(live) if three else None,
        asked=sum(asked.values()),
        remaining=remaining,
        out=sum(out.values()),
        missing=sum(max(n - out.get(id, 0), 0) for id, n in lack.items()),
        per_day=per_day,
        done_at=done_at,
        cost=float(earned(round.pay, paid)),
        cost_in_all=float(earned(round.pay, paid + more)),
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

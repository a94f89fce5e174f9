"""A round's progress: what each task still lacks, whom to ask again, pace, end and cost."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import combinations_with_replacement, count, product
from typing import Any, NamedTuple

from curation.campaign.settings import DecisionSettings
from curation.kinds import GOLDS, Gold
from curation.records import Answer, Item, Round, Task
from curation.rounds.held import Holding
from curation.rounds.platforms.interface import Attendance, Demand, Progress
from curation.text.rules import Caps, Votes, decide
from curation.text.times import moment, timestamp
from curation.text.wording import earned

NO_PAY = ("skipped", "superseded")
"""Reason codes of answers that nobody is paid for: no work, or paid as another version."""
PACE_DAYS = 7.0  # the pace is computed over these days, or since the first answer
LEAST_DAYS = 1 / 24  # less time gives no useful pace
NO_SLOT = ("skipped", "superseded", "deleted", "late", "returned", "forged")
"""Reason codes of answers that do not count among those that a task was asked for."""
NOT_SHOWN = ("skipped", "superseded", "deleted", "withdrawn")
"""Reason codes of answers that do not count among those that came in."""


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


class RoundStatus(NamedTuple):
    """A round with all that its progress is computed from.

    Attributes:
        round: the round.
        tasks: its tasks.
        answers: what became of each answer.
        asked: by task id, how many answers were asked for in all.
        votes: by item id, the counted votes of its three associations; empty for other kinds
            than validation.
        void: the tasks that no answer can serve any more.
        lack: by task id, how many valid answers it still lacks.
        tables: the tables that are out, oldest first, then the sheets of refused answers; without
            void tasks.
        exchanges_tables: whether tasks are exported and answers imported as tables.
        waiting: how many answers wait to be pulled.
        attendance: whether people can come, and who has ended.
        correctable: how many refused answers could go back to people who work in tables.
    """

    round: Round
    tasks: Sequence[Task]
    answers: Sequence[Answer]
    asked: dict[str, int]
    votes: dict[str, list[Votes]]
    void: set[str]
    lack: dict[str, int]
    tables: list[Holding]
    exchanges_tables: bool
    waiting: int = 0
    attendance: Attendance = Attendance()
    correctable: int = 0

    @property
    def held(self) -> dict[str, int] | None:
        """By task id, how many answers are out in tables; None if the round has no tables."""
        return self._out(corrects=False) if self.exchanges_tables else None

    @property
    def sheets(self) -> dict[str, int]:
        """By task id, how many refused answers are out to be corrected."""
        return self._out(corrects=True)

    @property
    def to_find(self) -> dict[str, int]:
        """By task id, how many answers it lacks beside those that people correct."""
        sheets = self.sheets
        return {task: max(n - sheets.get(task, 0), 0) for task, n in self.lack.items()}

    @property
    def demand(self) -> Demand:
        """What the tasks wait for, beside what people correct."""
        return Demand(
            tasks=self.tasks,
            asked=self.asked,
            received=received(self.answers),
            lack=self.to_find,
            void=self.void,
            held=self.held or {},
        )

    def _out(self, *, corrects: bool) -> dict[str, int]:
        held = Counter[str]()
        for table in self.tables:
            if table.corrects == corrects:
                held.update(table.tasks)
        return dict(held)


def progress(status: RoundStatus, decisions: DecisionSettings, now: str) -> Progress:
    """A round's progress at a time.

    Pace is the number of answers per day over the last seven days, or since the first answer. The
    end is when the last missing answer comes in at that pace. Cost is the pay for every answer,
    refused or not; all that a person sent for one task is one answer.

    Args:
        status: the round's status.
        decisions: how many votes make a gold label.
        now: the time, in ISO 8601.
    """
    round, answers, lack, void = status.round, status.answers, status.lack, status.void
    came = [a for a in answers if a.code not in NOT_SHOWN]
    held = status.held
    if held is None:  # what was asked for is on its way until it comes in
        got = received(answers)
        held = {id: n - got[id] for id, n in status.asked.items()}
    out = Counter({id: n for id, n in held.items() if n > 0 and id not in void})
    out.update(status.sheets)
    remaining = sum(lack.values())
    times = sorted(a.submitted_at for a in came if a.submitted_at)
    per_day, done_at = _pace(times, remaining, now)
    live = [task for task in status.tasks if task.id not in void]
    votes = [status.votes[t.item] for t in live if t.item and t.item in status.votes]
    given = sum(sum(map(sum, v)) / len(v) for v in votes)
    needed, of = decisions.needed, decisions.of
    undecided = sum(decide(v, needed=needed, of=of).reason == "too_few_labels" for v in votes)
    done = sum(not n for id, n in lack.items() if id not in void)
    paid = len({(a.task, a.annotator) for a in answers if a.code not in NO_PAY})
    more = remaining if round.state != "closed" else 0
    return Progress(
        round=round.name,
        kind=round.kind,
        state=round.state,
        tasks=len(status.tasks),
        void=len(void),
        done=done,
        decided=len(votes) - undecided if votes else done,
        people=len({a.annotator for a in came if a.code is None}),
        answers=len(came),
        refused=sum(a.code is not None for a in came),
        labels_per_item=given / len(live) if votes else None,
        asked=sum(status.asked.values()),
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


# --- the fewest answers that decide an item -------------------------------------------------------


def further(
    votes: Sequence[Votes],
    *,
    needed: int = 3,
    of: int = 5,
    intents: Sequence[Gold | None] | None = None,
) -> int:
    """The fewest further answers after which an item can be decided.

    An answer labels all three associations. It counts for an association that has fewer than
    ``of`` labels. Takes the arguments of ``decide``, which says whether an item is decided.

    Returns:
        The number of answers; 0 if the item is decided.

    >>> further([(3, 0, 0, 0), (0, 3, 0, 0), (0, 1, 2, 0)])
    1
    >>> further([(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)])
    2
    >>> further([(3, 0, 0, 0), (3, 0, 0, 0), (0, 0, 1, 0)])  # two stereotypes: it cannot be kept
    0
    """
    meant = None if intents is None else tuple(intents)
    return _further(tuple(votes), needed, of, meant)


@lru_cache(maxsize=1 << 16)
def _further(
    votes: tuple[Votes, ...], needed: int, of: int, intents: tuple[Gold | None, ...] | None
) -> int:
    def decidable(more: int) -> bool:
        ways = [_ahead(v, more, needed, of) for v in votes]
        outcomes = (decide(w, needed=needed, of=of, intents=intents) for w in product(*ways))
        return any(outcome.reason != "too_few_labels" for outcome in outcomes)

    return next(filter(decidable, count()))  # this ends: with all labels, an item is decided


def _ahead(votes: Votes, more: int, needed: int, of: int) -> list[Votes]:
    """The votes that an association can have after ``more`` answers, one for each different case.

    Two cases differ for the decision if different labels have a majority, or can still get one.
    """
    cases: dict[tuple[int, ...], Votes] = {}
    for s, a, u, r in _sums(votes, min(more, of - sum(votes))):
        left = of - (s + a + u + r)
        key = tuple((n >= needed) + (n + left >= needed) for n in (s, a, u))
        cases.setdefault(key, (s, a, u, r))
    return list(cases.values())


def _sums(votes: Votes, more: int) -> Iterator[Votes]:
    values = range(len(GOLDS) + 1)
    for added in combinations_with_replacement(values, more):
        s, a, u, r = (n + added.count(value) for value, n in enumerate(votes))
        yield s, a, u, r


# --- refused answers that go back -----------------------------------------------------------------

REPAIRABLE = (
    "missing_field",
    "bad_value",
    "unknown_label",
    "empty_text",
    "blank_missing",
    "blank_twice",
    "blank_glued",
    "blank_left",
    "target_missing",
    "template_not_reproduced",
    "same_text_twice",
    "duplicate_item",
    "near_duplicate",
    "meta_text",
    "no_consent",
)
"""Reason codes of answers that their person can correct. The others cannot be corrected by them:
it is not the answer that is wrong, it is not theirs, or it was not meant to be one."""
NO_ANSWER = frozenset(("skipped", "superseded"))
"""Reason codes of what is not an answer that was refused: no work, or an earlier version."""
Left = Counter[str]
"""Why refused answers do not go back, and how many: ``ACCEPTED``, ``UNNEEDED``, ``OTHER``."""
ACCEPTED = "accepted since"
UNNEEDED = "no longer needed"
OTHER = "not correctable"


class RefusedAnswer(NamedTuple):
    """A refused answer to a task, as it came.

    Attributes:
        task: the task's id.
        person: the pseudonym of the person who gave it.
        codes: the reason codes, the first one first; an answer of three labels can have three.
        details: the sentence of each code.
        row: its values by column.
        sent: when it was sent, as a ``Timestamp``; empty if that is not known.
        updated: when it was changed, as a ``Timestamp``; empty if that is not known.
        seconds: how long it took; None if that is not known.
        position: its position in the archive.
        where: its place in the archive, as rejections name it.
    """

    task: str
    person: str
    codes: tuple[str, ...]
    details: tuple[str, ...]
    row: Mapping[str, Any]
    sent: str
    updated: str
    seconds: float | None
    position: int
    where: str = ""


def to_correct(
    refused: Iterable[RefusedAnswer],
    tasks: Sequence[Task],
    answers: Sequence[Answer],
    *,
    complete: Collection[tuple[str, str]],
    needed: Mapping[str, int],
    caps: Caps,
    least: float,
    out: Collection[str],
) -> tuple[dict[str, list[RefusedAnswer]], Left]:
    """The answers that go back, by person; and how many do not, by why.

    If several answers of a person to a task were refused, the last one goes back. For each task, no
    more people are asked than it needs answers; those who answered first go first.

    Args:
        refused: the refused answers of a round.
        tasks: the round's tasks.
        answers: what became of each answer to them.
        complete: pairs of task and pseudonym for which nothing is missing in what was accepted.
        needed: by task id, how many answers are still needed and not on their way.
        caps: how many answers of a person count.
        least: the least seconds that an answer takes; 0 is no limit.
        out: pseudonyms of people whose answers do not count.

    Returns:
        People's answers in the order of the tasks, and the counts.
    """
    by_id = {task.id: task for task in tasks}
    admitted = {(answer.task, answer.annotator) for answer in answers if answer.code is None}
    given, on_term = Counter[str](), Counter[tuple[str, str]]()
    for task_id, person in admitted:
        given[person] += 1
        if task_id in by_id:
            on_term[person, by_id[task_id].term] += 1
    left: Left = Counter()
    last: dict[tuple[str, str], RefusedAnswer] = {}
    for answer in sorted(refused, key=lambda each: (each.sent, each.position)):
        if not NO_ANSWER.isdisjoint(answer.codes):
            continue
        pair = (answer.task, answer.person)
        task = by_id.get(answer.task)
        too_fast = answer.seconds is not None and answer.seconds < least
        can_correct = set(answer.codes) <= set(REPAIRABLE) and not too_fast
        if not can_correct or answer.person in out or task is None or answer.person in task.writers:
            left[OTHER] += 1
        elif pair in complete:
            left[ACCEPTED] += 1
        # If a part of an answer is accepted, a correction must be a version of that answer.
        elif pair not in admitted or _refused_labels(answer) < len(task.shown):
            last.pop(pair, None)
            last[pair] = answer
    room = dict(needed)
    chosen: dict[str, list[RefusedAnswer]] = {}
    for (task_id, person), answer in last.items():
        term = by_id[task_id].term
        is_new = (task_id, person) not in admitted
        full = (caps.person and given[person] >= caps.person) or (
            caps.term and on_term[person, term] >= caps.term
        )
        if room.get(task_id, 0) < 1:
            left[UNNEEDED] += 1
        elif is_new and full:
            left[OTHER] += 1
        else:
            room[task_id] -= 1
            given[person] += is_new
            on_term[person, term] += is_new
            chosen.setdefault(person, []).append(answer)
    order = {id: number for number, id in enumerate(by_id)}
    for theirs in chosen.values():
        theirs.sort(key=lambda answer: order[answer.task])
    return dict(sorted(chosen.items())), left


def _refused_labels(answer: RefusedAnswer) -> int:
    """How many labels of an answer were refused; a flag that cannot be read is ``bad_value``."""
    return sum(code != "bad_value" for code in answer.codes)

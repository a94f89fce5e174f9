"""Deals a round's tasks out to people."""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from random import Random
from typing import NamedTuple

from curation.files import CurationError
from curation.records import Task
from curation.text.rules import Caps
from curation.text.wording import amount

NO_CAPS = Caps()


def assign(
    tasks: Sequence[Task],
    people: Sequence[str],
    *,
    answers: Mapping[str, int],
    caps: Caps = NO_CAPS,
    work: str = "",
    given: Mapping[str, Collection[str]] | None = None,
    seed: int,
) -> dict[str, list[str]]:
    """Decide who gets which task, for platforms that do not decide it.

    This is a flow from tasks over (person, term) to people. Most tasks are dealt out directly, and
    the rest by augmenting paths. So an assignment is found if there is one. Among all assignments
    it has the most even loads: no chain of people can hand tasks on to somebody who has two fewer.

    Args:
        tasks: the tasks.
        people: pseudonyms of the people who take part.
        answers: by task id, how many more people a task needs; 0 if it is not in the mapping.
        caps: how many answers a person may give in the round, and on one term.
        work: what people do in it, to name the settings of the caps in errors.
        given: by task id, who answered it already or holds it; counts towards the caps and as
            load.
        seed: the round's seed; decides which people get which tasks, and in which order.

    Returns:
        By person, the ids of their tasks, shuffled.

    Raises:
        CurationError: there is no such assignment; the error says what is missing, and why.
    """
    order = list(dict.fromkeys(people))
    random = Random(seed)  # noqa: S311
    random.shuffle(order)
    desk = _Desk(tasks, order, given or {}, caps)
    wanted = [answers.get(task.id, 0) for task in tasks]
    _deal(desk, wanted, random)
    lacks, stuck = _augment(desk, wanted)
    if lacks:
        raise _impossible(desk, lacks, stuck, work)
    _even(desk)
    shares = {}
    for p, person in enumerate(order):
        shares[person] = [tasks[t].id for t in desk.held_by(p)]
        random.shuffle(shares[person])
    return {person: shares[person] for person in people}


class _Desk:
    """Who has which task so far. Tasks and people are numbers; a set of people is a bit mask."""

    def __init__(
        self,
        tasks: Sequence[Task],
        people: Sequence[str],
        given: Mapping[str, Collection[str]],
        caps: Caps,
    ) -> None:
        number = {person: p for p, person in enumerate(people)}
        terms = {term: i for i, term in enumerate(dict.fromkeys(task.term for task in tasks))}
        everybody = (1 << len(people)) - 1
        self.term = [terms[task.term] for task in tasks]
        self.allowed = [everybody] * len(tasks)
        self.takers = [0] * len(tasks)
        self.load = [0] * len(people)
        self.on_term = [[0] * len(terms) for _ in people]
        # By person and term, the tasks; a dict keeps the order in which they came.
        self.held: list[defaultdict[int, dict[int, None]]] = [defaultdict(dict) for _ in people]
        for t, task in enumerate(tasks):
            before = set(given.get(task.id, ()))
            for person in before | task.writers:
                if person in number:
                    self.allowed[t] &= ~(1 << number[person])
            for p in sorted(number[person] for person in before if person in number):
                self.load[p] += 1
                self.on_term[p][self.term[t]] += 1
        most = len(tasks) + 1
        self.per_person = caps.person or most
        self.per_term = caps.term or most

    def give(self, task: int, person: int) -> None:
        """Give a task to a person."""
        self.takers[task] |= 1 << person
        self.load[person] += 1
        self.on_term[person][self.term[task]] += 1
        self.held[person][self.term[task]][task] = None

    def take(self, task: int, person: int) -> None:
        """Take a task back from a person who has it."""
        self.takers[task] &= ~(1 << person)
        self.load[person] -= 1
        self.on_term[person][self.term[task]] -= 1
        del self.held[person][self.term[task]][task]

    def held_by(self, person: int) -> Iterator[int]:
        """The tasks that a person has."""
        return (task for tasks in self.held[person].values() for task in tasks)


def _deal(desk: _Desk, wanted: Sequence[int], random: Random) -> None:
    """Give each task to the people with the fewest; tasks with the fewest possible takers first."""
    order = list(range(len(wanted)))
    random.shuffle(order)
    order.sort(key=lambda t: desk.allowed[t].bit_count() - wanted[t])
    capped = desk.per_term <= len(wanted)
    for t in order:
        term = desk.term[t]
        # People with equal loads are drawn at random, or the same people would always meet.
        able = [
            (desk.on_term[p][term] if capped else 0, desk.load[p], random.random(), p)
            for p in _bits(desk.allowed[t])
            if desk.load[p] < desk.per_person and desk.on_term[p][term] < desk.per_term
        ]
        for *_, p in sorted(able)[: wanted[t]]:
            desk.give(t, p)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class _Reach(NamedTuple):
    """What a search has reached: tasks, people, and by term the people at its cap.

    ``tasks`` has, by task, the person who would give it away and the task they would get instead.
    """

    tasks: dict[int, tuple[int, int]]
    people: set[int]
    on_term: defaultdict[int, int]

    @classmethod
    def empty(cls) -> "_Reach":
        """Nothing reached yet."""
        return cls({}, set(), defaultdict(int))

    def add(self, other: "_Reach") -> None:
        """Add what another search has reached."""
        self.tasks.update(other.tasks)
        self.people.update(other.people)
        for term, people in other.on_term.items():
            self.on_term[term] |= people


def _search(
    desk: _Desk, start: int, giver: int, goal: int, dead: _Reach
) -> tuple[int, int, _Reach] | None:
    """Search a chain of tasks that are handed on, which ends with a person of ``goal``.

    It starts with a task that needs one more taker or, if ``start`` is -1, with a person who should
    have one task fewer. A person at the cap of a term can only take a task of this term in exchange
    for another one. What a search without success has reached is dead: no later chain leads out.

    Returns:
        The chain's last task, who takes it, and what was reached; None if there is no chain.
    """
    reach = _Reach.empty()
    queue: deque[int] = deque()

    def release(p: int, tasks: Iterable[int], other: int) -> None:
        for t in tasks:
            if t not in reach.tasks and t not in dead.tasks:
                reach.tasks[t] = (p, other)
                queue.append(t)

    if start >= 0:
        release(-1, [start], -1)
    elif giver not in dead.people:
        reach.people.add(giver)
        release(giver, desk.held_by(giver), -1)
    while queue:
        t = queue.popleft()
        term = desk.term[t]
        new = desk.allowed[t] & ~desk.takers[t] & ~reach.on_term[term] & ~dead.on_term[term]
        reach.on_term[term] |= new
        for p in _bits(new):
            if desk.on_term[p][term] >= desk.per_term:
                release(p, desk.held[p][term], t)
            elif goal >> p & 1:
                return t, p, reach
            elif p not in reach.people and p not in dead.people:
                reach.people.add(p)
                release(p, desk.held_by(p), t)
    dead.add(reach)
    return None


def _hand_on(desk: _Desk, task: int, taker: int, reach: _Reach) -> None:
    while task >= 0:
        giver, other = reach.tasks[task]
        if giver >= 0:
            desk.take(task, giver)
        desk.give(task, taker)
        task, taker = other, giver


def _augment(desk: _Desk, wanted: Sequence[int]) -> tuple[dict[int, int], _Reach]:
    """Find the takers that tasks still lack, along chains.

    Returns:
        By task, how many takers no chain finds; and what the searches for them had reached.
    """
    lacks: dict[int, int] = {}
    dead = _Reach.empty()
    for task, n in enumerate(wanted):
        while (lack := n - desk.takers[task].bit_count()) > 0:
            goal = sum(1 << p for p, load in enumerate(desk.load) if load < desk.per_person)
            chain = _search(desk, task, -1, goal, dead)
            if chain is None:
                lacks[task] = lack
                break
            _hand_on(desk, *chain)
    return lacks, dead


def _even(desk: _Desk) -> None:
    """Hand tasks on from people with the most, until no chain leads to somebody with two fewer.

    People with the most tasks come first. Everybody whom a search without success has reached has
    as many tasks, or one fewer, and so cannot help people who come later.
    """
    heap = [(-load, p) for p, load in enumerate(desk.load)]
    heapify(heap)
    dead = _Reach.empty()
    while heap:
        load, person = heappop(heap)
        if -load != desk.load[person]:
            continue  # outdated: the current load is in the heap, too
        most = min(desk.load[person] - 2, desk.per_person - 1)
        goal = sum(1 << p for p, other in enumerate(desk.load) if other <= most)
        chain = _search(desk, -1, person, goal, dead) if goal else None
        if chain is not None:
            _hand_on(desk, *chain)
            for p in (person, chain[1]):
                heappush(heap, (-desk.load[p], p))


def least_people(tasks: Iterable[Task], answers: Mapping[str, int], caps: Caps) -> int:
    """How many people a round needs at least, if each keeps to the caps.

    Fewer people cannot give the answers. More may be needed, as nobody gets an item of their own.

    Args:
        tasks: the tasks.
        answers: by task id, how many people answer it.
        caps: how many answers a person may give in the round, and on one term.

    >>> task = Task(id="t", term="baker", domain="d", target="baker", wanted=5)
    >>> least_people([task, task.model_copy(update={"id": "u"})], {"t": 5, "u": 5}, Caps(term=1))
    10
    """
    on_term = Counter[str]()
    for task in tasks:
        on_term[task.term] += answers.get(task.id, 0)
    by_person = math.ceil(on_term.total() / caps.person) if caps.person else 0
    by_term = math.ceil(max(on_term.values(), default=0) / caps.term) if caps.term else 0
    return max(by_person, by_term, *answers.values(), 0)


def _impossible(desk: _Desk, lacks: Mapping[int, int], stuck: _Reach, work: str) -> CurationError:
    few = sum((desk.allowed[t] & ~desk.takers[t]).bit_count() < n for t, n in lacks.items())
    full = {
        p
        for term, people in stuck.on_term.items()
        for p in _bits(people)
        if p not in stuck.people and desk.on_term[p][term] >= desk.per_term
    }
    person, term_cap = (f"{name}_{work}".rstrip("_") for name in ("per_person", "per_term"))
    why, raise_too, least = [], [], 0
    if few:
        why.append(f"tasks that too few people can do, as some wrote, answered or hold them: {few}")
    if stuck.people:
        why.append(f"people who have as many tasks as {person} allows: {len(stuck.people)}")
        raise_too.append(person)
        least = math.ceil((sum(desk.load) + sum(lacks.values())) / desk.per_person)
    if full:
        why.append(f"people who have as many tasks on a term as {term_cap} allows: {len(full)}")
        raise_too.append(term_cap)
        on_term = Counter({desk.term[t]: 0 for t in lacks})
        for t, n in lacks.items():
            on_term[desk.term[t]] += n
        for term in on_term:
            on_term[term] += sum(desk.on_term[p][term] for p in range(len(desk.load)))
        least = max(least, math.ceil(max(on_term.values()) / desk.per_term))
    fix = "add more people" + (f" ({least} are needed at least)" if least else "")
    fix = ", or raise ".join([fix, *raise_too])
    missing = f"{sum(lacks.values())} missing for {len(lacks)} of {amount(len(desk.term), 'task')}"
    return CurationError(f"too few people, {missing}; {'; '.join(why)}", fix)

"""Who gets which task, where tasks are dealt out."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from random import Random
from typing import NamedTuple

from curation.files import CurationError
from curation.records import Task


def assign(
    tasks: Sequence[Task],
    people: Sequence[str],
    *,
    answers: Mapping[str, int],
    per_person: int = 0,
    per_term: int = 0,
    given: Mapping[str, Collection[str]] | None = None,
    seed: int,
) -> dict[str, list[str]]:
    """Say who gets which task, where the platform does not.

    It is a flow from tasks over (person, term) to people: found at once for most tasks, the rest
    by augmenting paths. So an assignment is found wherever there is one, and among all of them
    one whose loads are as even as can be: nobody can hand a task on, over however many others, to
    somebody who has two fewer.

    Args:
        tasks: the tasks.
        people: pseudonyms of those who take part.
        answers: how many more people each task needs, by its id; none where it is not named.
        per_person: answers that a person may give in a round; 0: any number.
        per_term: answers that a person may give on one term; 0: any number.
        given: who answered a task already; counts against the caps and as load.
        seed: of the round; decides who meets whom and in which order.

    Returns:
        The ids of each person's tasks, shuffled.

    Raises:
        CurationError: there is no such assignment; says what is lacking and why.
    """
    order = list(dict.fromkeys(people))
    random = Random(seed)  # noqa: S311
    random.shuffle(order)
    desk = _Desk(tasks, order, given or {}, per_person, per_term)
    wanted = [answers.get(task.id, 0) for task in tasks]
    _deal(desk, wanted, random)
    lacks, stuck = _augment(desk, wanted)
    if lacks:
        raise _impossible(desk, lacks, stuck)
    _even(desk)
    found = {}
    for p, person in enumerate(order):
        found[person] = [tasks[t].id for t in desk.held_by(p)]
        random.shuffle(found[person])
    return {person: found[person] for person in people}


class _Desk:
    """Who has which task so far. Tasks and people are numbers; sets of people are bits."""

    def __init__(
        self,
        tasks: Sequence[Task],
        people: Sequence[str],
        given: Mapping[str, Collection[str]],
        per_person: int,
        per_term: int,
    ) -> None:
        number = {person: p for p, person in enumerate(people)}
        terms = {term: i for i, term in enumerate(dict.fromkeys(task.term for task in tasks))}
        everybody = (1 << len(people)) - 1
        self.term = [terms[task.term] for task in tasks]
        self.allowed = [everybody] * len(tasks)
        self.takers = [0] * len(tasks)
        self.load = [0] * len(people)
        self.on_term = [[0] * len(terms) for _ in people]
        # Of each person the tasks by term; a dict keeps the order in which they came.
        self.held: list[defaultdict[int, dict[int, None]]] = [defaultdict(dict) for _ in people]
        for t, task in enumerate(tasks):
            before = set(given.get(task.id, ()))
            for person in before | ({task.barred} if task.barred else set()):
                if person in number:
                    self.allowed[t] &= ~(1 << number[person])
            for p in sorted(number[person] for person in before if person in number):
                self.load[p] += 1
                self.on_term[p][self.term[t]] += 1
        most = len(tasks) + 1
        self.per_person = per_person or most
        self.per_term = per_term or most

    def give(self, task: int, person: int) -> None:
        self.takers[task] |= 1 << person
        self.load[person] += 1
        self.on_term[person][self.term[task]] += 1
        self.held[person][self.term[task]][task] = None

    def take(self, task: int, person: int) -> None:
        self.takers[task] &= ~(1 << person)
        self.load[person] -= 1
        self.on_term[person][self.term[task]] -= 1
        del self.held[person][self.term[task]][task]

    def held_by(self, person: int) -> Iterator[int]:
        return (task for tasks in self.held[person].values() for task in tasks)


def _deal(desk: _Desk, wanted: Sequence[int], random: Random) -> None:
    """Give each task to those who have least, the tasks with the fewest possible takers first."""
    order = list(range(len(wanted)))
    random.shuffle(order)
    order.sort(key=lambda t: desk.allowed[t].bit_count() - wanted[t])
    capped = desk.per_term <= len(wanted)
    for t in order:
        term = desk.term[t]
        # Chance parts those with equal loads, or the same people would always meet.
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
    """Where a search came to.

    ``tasks`` has each task with who would let it go, and for which other task.
    """

    tasks: dict[int, tuple[int, int]]
    people: set[int]
    on_term: defaultdict[int, int]

    @classmethod
    def nowhere(cls) -> "_Reach":
        return cls({}, set(), defaultdict(int))

    def add(self, other: "_Reach") -> None:
        self.tasks.update(other.tasks)
        self.people.update(other.people)
        for term, people in other.on_term.items():
            self.on_term[term] |= people


def _search(
    desk: _Desk, start: int, giver: int, goal: int, dead: _Reach
) -> tuple[int, int, _Reach] | None:
    """Look for a chain of tasks handed on that ends with somebody of ``goal``.

    It starts with a task that needs one more taker, or, where ``start`` is -1, with a person who
    should have a task less. A person at the cap of a term can take a task of it only for another
    of the same term. What a search in vain came to is dead: no later chain leads out of it.

    Returns:
        The chain's last task, who takes it, and the way there; None where there is no chain.
    """
    reach = _Reach.nowhere()
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
    """Find the takers that tasks still lack along chains.

    Returns:
        How many takers no chain finds, by task, and where the searches for them got stuck.
    """
    lacks: dict[int, int] = {}
    dead = _Reach.nowhere()
    for task, n in enumerate(wanted):
        while (lack := n - desk.takers[task].bit_count()) > 0:
            goal = sum(1 << p for p, load in enumerate(desk.load) if load < desk.per_person)
            found = _search(desk, task, -1, goal, dead)
            if found is None:
                lacks[task] = lack
                break
            _hand_on(desk, *found)
    return lacks, dead


def _even(desk: _Desk) -> None:
    """Hand tasks on from those who have most, until no chain leads to somebody with two fewer.

    Those with most come first: whom a search in vain came to has as much as they, or one less,
    and so is of no use to those who come later.
    """
    heap = [(-load, p) for p, load in enumerate(desk.load)]
    heapify(heap)
    dead = _Reach.nowhere()
    while heap:
        load, person = heappop(heap)
        if -load != desk.load[person]:
            continue  # stale: the right one is in the heap
        most = min(desk.load[person] - 2, desk.per_person - 1)
        goal = sum(1 << p for p, other in enumerate(desk.load) if other <= most)
        found = _search(desk, -1, person, goal, dead) if goal else None
        if found is not None:
            _hand_on(desk, *found)
            for p in (person, found[1]):
                heappush(heap, (-desk.load[p], p))


def _impossible(desk: _Desk, lacks: Mapping[int, int], stuck: _Reach) -> CurationError:
    few = sum((desk.allowed[t] & ~desk.takers[t]).bit_count() < n for t, n in lacks.items())
    full = {
        p
        for term, people in stuck.on_term.items()
        for p in _bits(people)
        if p not in stuck.people and desk.on_term[p][term] >= desk.per_term
    }
    why, fix = [], "take in more people"
    if few:
        why.append(f"tasks that too few can do, without who wrote or answered them: {few}")
    if stuck.people:
        why.append(f"people who have as much as per_person lets them have: {len(stuck.people)}")
        fix += ", or raise per_person"
    if full:
        why.append(f"people who have as much on a term as per_term lets them have: {len(full)}")
        fix += ", or raise per_term"
    missing = f"{sum(lacks.values())} lacking for {len(lacks)} of {len(desk.term)} tasks"
    return CurationError(f"too few people, {missing}; {'; '.join(why)}", fix)

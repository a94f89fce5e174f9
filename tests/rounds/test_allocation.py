"""Who gets which task, checked against brute force; caps on answers that came in."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.files import CurationError
from curation.records import Task
from curation.rounds.allocation import assign
from curation.text.rules import Caps


def make(*terms: str, barred: Sequence[str | None] = ()) -> list[Task]:
    barred = [*barred, *[None] * len(terms)]
    return [
        Task(id=f"t{n}", term=term, domain="d", target=term, wanted=1, barred=barred[n])
        for n, term in enumerate(terms)
    ]


class Case(NamedTuple):
    tasks: list[Task]
    people: list[str]
    answers: dict[str, int]
    caps: Caps
    given: dict[str, set[str]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    people = [f"p{n}" for n in range(draw(st.integers(1, 4)))]
    anybody = st.sampled_from([*people, "elsewhere"])
    terms = draw(st.lists(st.sampled_from("ab"), min_size=1, max_size=4))
    tasks = make(*terms, barred=[draw(st.none() | anybody) for _ in terms])
    answers = {task.id: draw(st.integers(0, 2)) for task in tasks}
    caps = Caps(draw(st.integers(0, 4)), draw(st.integers(0, 2)))
    given = {task.id: draw(st.sets(anybody, max_size=2)) for task in tasks}
    return Case(tasks, people, answers, caps, given)


Assigned = Mapping[str, Collection[str]]


def loads(case: Case, assigned: Assigned) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Answers by person, and by person and term, with answers that were given before."""
    pairs = [
        (person, task.term)
        for task in case.tasks
        for person in case.people
        for has in (task.id in assigned.get(person, ()), person in case.given.get(task.id, ()))
        if has
    ]
    return Counter(person for person, _ in pairs), Counter(pairs)


def within_caps(case: Case, assigned: Assigned) -> bool:
    """Nobody who gets a task is over a cap afterwards."""
    by_person, by_term = loads(case, assigned)
    term = {task.id: task.term for task in case.tasks}
    return all(
        (not case.caps.person or by_person[person] <= case.caps.person)
        and (not case.caps.term or by_term[person, term[task]] <= case.caps.term)
        for person, tasks in assigned.items()
        for task in tasks
    )


def oracle(case: Case) -> list[int] | None:
    """The most even loads of all assignments, highest first; None if there is no assignment."""
    free = [
        [p for p in case.people if p != task.barred and p not in case.given[task.id]]
        for task in case.tasks
    ]
    choices = [
        [*combinations(takers, case.answers[task.id])]
        for task, takers in zip(case.tasks, free, strict=True)
    ]
    best = None
    for chosen in product(*choices):
        assigned = {
            person: [t.id for t, takers in zip(case.tasks, chosen, strict=True) if person in takers]
            for person in case.people
        }
        if within_caps(case, assigned):
            by_person, _ = loads(case, assigned)
            found = sorted((by_person[p] for p in case.people), reverse=True)
            best = found if best is None else min(best, found)
    return best


@given(cases(), st.integers(0, 5))
@settings(max_examples=400)
def test_it_finds_an_assignment_where_there_is_one_and_the_most_even(case: Case, seed: int) -> None:
    best = oracle(case)
    tasks, people, answers, caps, already = case

    def run() -> dict[str, list[str]]:
        return assign(tasks, people, answers=answers, caps=caps, given=already, seed=seed)

    if best is None:
        with pytest.raises(CurationError, match=r"\d+ missing for \d of \d tasks?; \w"):
            run()
        return
    assigned = run()
    assert assigned == run()
    assert list(assigned) == people
    for task in tasks:
        takers = {person for person, ids in assigned.items() if task.id in ids}
        assert len(takers) == answers[task.id]
        assert not takers & (already[task.id] | {task.barred})
    for ids in assigned.values():
        assert len(ids) == len(set(ids))
    assert within_caps(case, assigned)
    by_person, _ = loads(case, assigned)
    # Lexicographic on sorted loads is the same as the sum of squares here: both mean that no
    # chain of tasks handed on ends with somebody who has two fewer.
    assert sorted((by_person[p] for p in people), reverse=True) == best


def test_tasks_are_handed_on_where_the_first_deal_does_not_come_out() -> None:
    # q may only do t0, and each may do two on term a: p must leave t0 to q in any order.
    tasks, barred = make("a", "a", "a"), make("a", "a", "a", barred=[None, "q", "q"])
    how: Any = {"answers": dict.fromkeys(("t0", "t1", "t2"), 1), "caps": Caps(term=2)}
    for people, seed in product(["pq", "qp"], range(5)):
        found = assign(tasks, people, given={"t1": {"r"}, "t2": {"r"}}, seed=seed, **how)
        assert sorted(map(len, found.values())) == [1, 2]
        found = assign(barred, people, seed=seed, **how)
        assert {p: sorted(ids) for p, ids in found.items()} == {"p": ["t1", "t2"], "q": ["t0"]}


def test_answers_given_before_count_as_load_and_against_caps() -> None:
    tasks, already = make("a", "a", "a", "a"), {"t1": {"q"}, "t2": {"q"}}
    once = {task.id: 1 for task in tasks}
    for seed in range(5):
        found = assign(tasks, "pqr", answers=once, given=already, seed=seed)
        assert {p: len(found[p]) for p in "pqr"} == {"p": 2, "q": 0, "r": 2}
        found = assign(tasks, "pq", answers=once, caps=Caps(person=3), given=already, seed=seed)
        assert {p: len(found[p]) for p in "pq"} == {"p": 3, "q": 1}


def lacking(
    tasks: Sequence[Task], people: str, n: int, *, per_person: int = 0, per_term: int = 0
) -> tuple[str, str]:
    wanted, caps = {task.id: n for task in tasks}, Caps(per_person, per_term)
    with pytest.raises(CurationError) as raised:
        assign(tasks, people, answers=wanted, caps=caps, work="label", seed=1)
    return raised.value.what, raised.value.fix


def test_an_impossible_assignment_says_what_is_lacking_and_why() -> None:
    assert lacking(make("a", "a", barred=["p"]), "pqr", 3) == (
        "too few people, 1 missing for 1 of 2 tasks; "
        "tasks that too few people can do, as some wrote, answered or hold them: 1",
        "add more people",
    )
    # Three people with two answers each: six of nine.
    what, fix = lacking(make("a", "b", "c"), "pqr", 3, per_person=2)
    assert what.startswith("too few people, 3 missing for ")
    assert what.endswith("; people who have as many tasks as per_person_label allows: 3")
    assert fix == "add more people (5 are needed at least), or raise per_person_label"
    # One answer on each term: term a can have three answers, and wants four.
    assert lacking(make("a", "a", "b"), "pqr", 2, per_term=1) == (
        "too few people, 1 missing for 1 of 3 tasks; "
        "people who have as many tasks on a term as per_term_label allows: 3",
        "add more people (4 are needed at least), or raise per_term_label",
    )


def test_nobody_is_no_people_and_nothing_is_no_task() -> None:
    assert assign([], ["p"], answers={}, seed=1) == {"p": []}
    assert assign(make("a"), [], answers={}, seed=1) == {}
    assert "2 missing for 1 of 1 task" in lacking(make("a"), "", 2)[0]


def test_at_size_loads_are_even_and_people_meet_by_chance() -> None:
    tasks = make(*(f"term{n % 30}" for n in range(600)), barred=[f"p{n % 20}" for n in range(600)])
    people = [f"p{n}" for n in range(20)]
    found = assign(tasks, people, answers={t.id: 5 for t in tasks}, caps=Caps(150, 5), seed=7)
    assert {len(ids) for ids in found.values()} == {150}
    term = {task.id: task.term for task in tasks}
    on_terms = Counter((p, term[id]) for p, ids in found.items() for id in ids)
    assert set(on_terms.values()) == {5}
    # 190 pairs share 600 · 10 tasks, 32 each on average: nobody always works beside the same.
    shared = [len(set(found[p]) & set(found[q])) for p, q in combinations(people, 2)]
    assert sum(shared) == 6000
    assert 10 < min(shared) < max(shared) < 60
    # The order is another for each, and another seed deals otherwise.
    first = [ids.index(max(ids)) for ids in found.values()]
    assert len(set(first)) > 5
    other = assign(tasks, people, answers={t.id: 5 for t in tasks}, seed=8)
    assert {p: set(ids) for p, ids in other.items()} != {p: set(ids) for p, ids in found.items()}

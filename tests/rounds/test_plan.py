"""Tasks: who is asked what, in which order, and what leaves the campaign."""

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from curation.kinds import CAT_KINDS, GOLDS, Kind
from curation.records import Association, Item, Shown, Task, Term
from curation.rounds.answers.people import sealed
from curation.rounds.planning import review_tasks, validation_tasks, writing_tasks

SEAL = sealed(b"k" * 32)


def term(n: int, text: str = "", family: str | None = None) -> Term:
    return Term(id=f"term-{n}", text=text or f"word{n}", domain="d", family=family)


def item(n: int, writer: str = "p-1") -> Item:
    a, b, c = (
        Association(id=f"a-{n}-{intent}", sentence=f"{intent} {n}", intent=intent)
        for intent in GOLDS
    )
    return Item(
        id=f"item-{n}", kind="intersentence", term="term-1", context=f"A word1, {n}.",
        associations=(a, b, c), round="w", writer=writer,
    )  # fmt: skip


def plan(items: list[Item], **options: Any) -> Any:
    full = options.get("full", ())
    wanted = {i.id: 5 if i.id in full else 3 for i in items}
    how = {"wanted": wanted, "full": full, "seed": 1, "round": "v", "sealed": SEAL, **options}
    return validation_tasks(items, {"term-1": term(1)}, **how)


def written(terms: list[Term], kind: Kind = "intrasentence", items: int = 1) -> list[Task]:
    return writing_tasks(terms, round="w", kind=kind, items=items, seed=1, sealed=SEAL)


def test_every_term_gets_as_many_tasks_as_items_are_wanted_and_never_two_in_a_row() -> None:
    tasks = written([term(n) for n in range(7)], items=4)
    assert sorted(t.term for t in tasks) == sorted(f"term-{n}" for n in range(7) for _ in range(4))
    assert len({t.id for t in tasks}) == 28
    for turn in range(4):  # each term once before any comes again
        assert len({t.term for t in tasks[7 * turn : 7 * turn + 7]}) == 7


def test_both_kinds_of_writing_in_one_round_name_have_other_ids() -> None:
    one, two = (written([term(1)], kind=kind) for kind in CAT_KINDS)
    assert one[0].id != two[0].id


def test_a_task_bars_the_writer_and_shows_the_three_associations() -> None:
    (task,) = plan([item(1, writer="p-9")])
    assert task.barred == "p-9"
    assert {s.association for s in task.shown} == {a.id for a in item(1).associations}
    assert {s.text for s in task.shown} == {a.sentence for a in item(1).associations}
    assert (task.wanted, task.full) == (3, False)
    (task,) = plan([item(1)], full=["item-1"])
    assert (task.wanted, task.full) == (5, True)


def test_the_order_of_a_task_tells_nothing_of_what_was_meant() -> None:
    writers = {f"item-{n}": f"p-{n % 12}" for n in range(600)}
    tasks = plan([item(n, writer) for n, writer in enumerate(writers.values())])
    # 600 tasks, six orders: 100 each expected, standard deviation about 9.
    orders = Counter(tuple(meant(s) for s in task.shown) for task in tasks)
    assert len(orders) == 6
    assert all(60 < times < 140 for times in orders.values()), orders
    # Nor do the ids: sorted by them, the first is each as often. 200 each, deviation 12.
    first = Counter(meant(min(task.shown, key=lambda shown: shown.id)) for task in tasks)
    assert all(140 < times < 260 for times in first.values()), first
    # Nor the order of the tasks: whose items stand beside each other is chance.
    order = [writers[task.item] for task in tasks]
    assert sum(a == b for a, b in pairwise(order)) < 90  # 600 / 12 are 50


def meant(shown: Shown) -> str:
    """What the writer meant by an association of ``item``."""
    return shown.association.split("-", 2)[2]


@given(st.integers(0, 50), st.integers(1, 30))
def test_the_seed_decides_the_order_and_nothing_else(seed: int, n: int) -> None:
    items = [item(k) for k in range(n)]
    one, again = (plan(items, seed=seed) for _ in range(2))
    assert one == again
    other = plan(items, seed=seed + 1)
    assert {t.id for t in one} == {t.id for t in other}


def test_ids_tell_nothing_without_the_key() -> None:
    (one,) = plan([item(1)])
    (other,) = plan([item(1)], sealed=sealed(b"x" * 32))
    assert one.id != other.id
    assert not {s.id for s in one.shown} & {s.id for s in other.shown}
    assert not {s.id for s in one.shown} & {a.id for a in item(1).associations}


def test_reviewers_may_merge_into_what_is_near() -> None:
    terms = [
        term(1, "baker"), term(2, "pastry baker"), term(3, "smith"),
        term(4, "Laos", family="Laos"), term(5, "Laotian", family="Laos"),
    ]  # fmt: skip
    options: dict[str, Any] = {"round": "r", "reviewers": 3, "seed": 1, "sealed": SEAL}
    tasks = {t.term: t for t in review_tasks(terms, among=terms, **options)}
    assert tasks["term-1"].choices[0] == "term-2"
    assert tasks["term-4"].choices[0] == "term-5"
    assert all(t.id not in t.choices and t.term not in t.choices for t in tasks.values())
    assert tasks["term-3"].wanted == 3
    (alone,) = review_tasks(terms[:1], among=terms, **options)
    assert alone.choices == tasks["term-1"].choices

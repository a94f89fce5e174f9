"""With only the labels that are needed, exactly the same items are kept as with all labels."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.kinds import GOLDS, Gold
from curation.records import VALUES, Value
from curation.rounds.planning import sample
from curation.rounds.progress import further
from curation.text.rules import Outcome, Votes, decide

RULES = [(3, 5), (4, 5), (2, 3)]
Intents = Sequence[Gold | None] | None
S, A, U = GOLDS
# Every pattern of intents; the others are these with labels or associations swapped.
INTENTS: list[Intents] = [
    None, (S, None, None), (S, A, None), (S, S, None), (S, A, U), (S, S, A), (S, S, S),
]  # fmt: skip


def votes_of(labels: Sequence[Value]) -> Votes:
    s, a, u, r = (labels.count(value) for value in VALUES)
    return s, a, u, r


def states(of: int) -> list[Votes]:
    return [votes_of(v) for n in range(of + 1) for v in combinations_with_replacement(VALUES, n)]


def one_more(votes: Votes, of: int) -> Iterator[Votes]:
    if sum(votes) < of:
        for i in range(4):
            s, a, u, r = (n + (i == j) for j, n in enumerate(votes))
            yield s, a, u, r


def fate(outcome: Outcome) -> bool | None:
    """Whether the item is kept; None if it is still open."""
    return None if outcome.reason == "too_few_labels" else outcome.kept


Sort = tuple[tuple[bool, bool], ...]


def sort_of(votes: Votes, needed: int, of: int) -> Sort:
    """All that a decision depends on: which labels have a majority, and which can still get one."""
    left = of - sum(votes)
    return tuple((n >= needed, n + left >= needed) for n in votes)


@pytest.mark.parametrize(("needed", "of"), RULES)
def test_what_is_decided_stays_decided_in_every_state(needed: int, of: int) -> None:
    # States of one sort are alike to the decision (the next test), so one of each will do. By
    # induction over single labels no further label changes whether a decided item is kept.
    alike: dict[Sort, Votes] = {}
    after = defaultdict[Sort, set[Sort]](set)
    for votes in states(of):
        sort = sort_of(votes, needed, of)
        alike.setdefault(sort, votes)
        after[sort] |= {sort_of(v, needed, of) for v in one_more(votes, of)}

    for intents in INTENTS:

        @cache
        def kept(*sorts: Sort) -> bool | None:
            votes = [alike[sort] for sort in sorts]
            return fate(decide(votes, needed=needed, of=of, intents=intents))  # noqa: B023

        decided = 0
        for a, b, c in product(alike, repeat=3):
            now = kept(a, b, c)
            if now is None:
                continue
            decided += 1
            ahead = [(x, b, c) for x in after[a]]
            ahead += [(a, x, c) for x in after[b]] + [(a, b, x) for x in after[c]]
            assert all(kept(*state) is now for state in ahead)
        # Writers who mean the same twice can keep nothing: everything is decided from the start.
        hopeless = intents is not None and intents.count(S) > 1
        assert hopeless == (decided == len(alike) ** 3)
        assert decided


def joint(of: int) -> st.SearchStrategy[list[Votes]]:
    return st.lists(st.sampled_from(states(of)), min_size=3, max_size=3)


rules, patterns = st.sampled_from(RULES), st.sampled_from(INTENTS)


@given(rules, patterns, st.data())
@settings(max_examples=300)
def test_states_of_one_sort_are_alike(
    rule: tuple[int, int], intents: Intents, data: st.DataObject
) -> None:
    needed, of = rule
    votes = data.draw(joint(of))
    by_sort = defaultdict(list)
    for state in states(of):
        by_sort[sort_of(state, needed, of)].append(state)
    alike = [data.draw(st.sampled_from(by_sort[sort_of(v, needed, of)])) for v in votes]
    how: Any = {"needed": needed, "of": of, "intents": intents}
    assert decide(votes, **how) == decide(alike, **how)


@given(rules, patterns, st.data())
@settings(max_examples=150)
def test_further_is_the_fewest(
    rule: tuple[int, int], intents: Intents, data: st.DataObject
) -> None:
    needed, of = rule
    votes = tuple(data.draw(joint(of)))

    def open_after(state: tuple[Votes, ...]) -> bool:
        return decide(state, needed=needed, of=of, intents=intents).reason == "too_few_labels"

    # Straight from the definition: all that one answer more can lead to, step by step. A full
    # association takes no label any more.
    reached, more = {votes}, 0
    while all(open_after(state) for state in reached):
        more += 1
        every = (product(*([*one_more(v, of)] or [v] for v in state)) for state in reached)
        reached = {ahead for states in every for ahead in states}
    assert further(votes, needed=needed, of=of, intents=intents) == more
    assert (more == 0) == (not open_after(votes))
    assert more <= of - min(map(sum, votes))


def asked(
    labels: Sequence[Sequence[Value]], needed: int, of: int, intents: Intents = None
) -> tuple[int, Outcome]:
    """How many answers an item gets until it needs no top-up, and whether it is kept then."""
    answers = needed
    for _ in range(of + 1):
        votes = [votes_of(given[:answers]) for given in labels]
        more = further(votes, needed=needed, of=of, intents=intents)
        if not more:
            return answers, decide(votes, needed=needed, of=of, intents=intents)
        answers += more
        assert answers <= of
    raise AssertionError("it does not end")


@pytest.mark.long
@pytest.mark.parametrize(("needed", "of"), RULES)
def test_every_way_that_whole_answers_can_take(needed: int, of: int) -> None:
    """All joint states of three associations with equally many labels."""

    @cache
    def now(state: tuple[Votes, ...]) -> bool | None:
        return fate(decide(state, needed=needed, of=of))

    @cache
    def ends(state: tuple[Votes, ...]) -> frozenset[bool | None]:
        """All outcomes of an item, over all labels that the missing answers could give."""
        if sum(state[0]) == of:
            return frozenset([now(state)])
        return frozenset().union(*(ends(s) for s in ahead(state)))

    @cache
    def ahead(state: tuple[Votes, ...]) -> set[tuple[Votes, ...]]:
        # The order of the associations does not matter to a decision.
        return {tuple(sorted(s)) for s in product(*(one_more(v, of) for v in state))}

    begin: set[tuple[Votes, ...]] = {((0, 0, 0, 0),) * 3}
    for _ in range(needed):
        begin = {s for state in begin for s in ahead(state)}
    waiting, seen = list(begin), set(begin)
    stopped = 0
    while waiting:
        state = waiting.pop()
        more = further(state, needed=needed, of=of)
        if more == 0:
            stopped += 1
            assert ends(state) == {now(state)} != {None}
            continue
        assert ends(state) == {True, False}  # nothing is asked for that cannot change anything
        assert sum(state[0]) + more <= of
        new = {state}
        for _ in range(more):
            new = {s for one in new for s in ahead(one)}
        waiting += new - seen
        seen |= new
    assert stopped


five = st.lists(st.sampled_from(VALUES), min_size=5, max_size=5)


@given(five, five, five, rules, patterns)
def test_the_loop_keeps_what_all_labels_keep(
    a: list[Value], b: list[Value], c: list[Value], rule: tuple[int, int], intents: Intents
) -> None:
    needed, of = rule
    _, early = asked([a, b, c], needed, of, intents)
    votes = [votes_of(labels[:of]) for labels in (a, b, c)]
    whole = decide(votes, needed=needed, of=of, intents=intents)
    assert early.reason != "too_few_labels"
    assert early.kept == whole.kept
    if early.kept:
        assert early.golds == whole.golds


def test_figures_worked_out_by_hand() -> None:
    # Two of three say stereotype: one more can make it three.
    assert further([(2, 1, 0, 0), (0, 3, 0, 0), (0, 0, 3, 0)]) == 1
    # 1 + 1 + 1: a fourth "related" and no label can reach three any more.
    assert further([(1, 1, 1, 0), (0, 3, 0, 0), (0, 0, 3, 0)]) == 1
    # One vote of five lacks two for a gold label; a clash is as far away.
    assert further([(1, 0, 0, 0), (0, 3, 0, 0), (0, 0, 3, 0)]) == 2
    # A refused label: this association has one fewer than the others, who are decided.
    assert further([(2, 0, 0, 0), (0, 3, 0, 0), (0, 0, 3, 0)]) == 1
    # With all labels in, everything is decided.
    assert further([(2, 2, 1, 0), (0, 5, 0, 0), (0, 0, 5, 0)]) == 0
    # The writer meant them the other way round, and two golds stand: nothing fixes it.
    swapped: Intents = ("anti-stereotype", "stereotype", "unrelated")
    state: list[Votes] = [(3, 0, 0, 0), (0, 3, 0, 0), (0, 0, 2, 0)]
    assert (further(state), further(state, intents=swapped)) == (1, 0)
    # What an item is asked for to begin with: three, or two where the writer's intent counts.
    meant: list[Votes] = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)]
    assert (further([(0, 0, 0, 0)] * 3), further(meant)) == (3, 2)


@pytest.mark.parametrize(("size", "share", "drawn"), [(0, 0.5, 0), (1, 0.01, 1), (200, 0.15, 30)])
def test_the_sample_has_its_size(size: int, share: float, drawn: int) -> None:
    ids = [f"task-{n}" for n in range(size)]
    assert len(sample(ids, share=share, seed=1)) == drawn


def test_the_sample_depends_on_the_seed_and_not_on_the_order() -> None:
    ids = [f"task-{n}" for n in range(500)]
    drawn = sample(ids, share=0.15, seed=1)
    assert drawn == sample(ids[::-1], share=0.15, seed=1) == sample(set(ids), share=0.15, seed=1)
    assert drawn != sample(ids, share=0.15, seed=2)
    assert sample(ids, share=1, seed=1) == set(ids)
    # Every item is as likely as any other: over 400 seeds each is drawn 60 times or so.
    times = [sum(id in sample(ids[:20], share=0.15, seed=s) for s in range(400)) for id in ids[:20]]
    assert sum(times) == 400 * 3
    assert 30 < min(times) < 60 < max(times) < 95

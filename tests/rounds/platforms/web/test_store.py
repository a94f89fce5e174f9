"""The database of the web platform: nobody gets too much, and nothing is lost or counted twice."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from curation.kinds import RoundKindName
from curation.rounds.answers import people
from curation.rounds.platforms.web import database
from curation.rounds.platforms.web import store as module
from curation.rounds.platforms.web.database import NoSpaceError
from curation.rounds.platforms.web.rounds import Load, Plan, WebTask
from curation.rounds.platforms.web.store import Given, Person, Standing, Store
from support.expected import fails


def a_plan(name: str = "v", kind: RoundKindName = "validation", **changes: Any) -> Plan:
    return Plan(name=name, kind=kind, language="en", texts={}, consent="1-a", seed=1, **changes)


def some_tasks(count: int = 3, barred: str | None = None) -> list[WebTask]:
    """Tasks t0, t1, … on two terms in turn."""
    return [WebTask(f"t{n}", f"term-{n % 2}", barred, {"target": f"T{n}"}) for n in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "web.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path)) as opened:
        yield opened


def opened(store: Store, tasks: Sequence[WebTask] = (), asked: int = 2, **changes: Any) -> str:
    """An open round; the token of its link."""
    tasks = tasks or some_tasks()
    return store.put_round(a_plan(**changes), tasks, {task.id: asked for task in tasks})


def person(store: Store, name: str = "", round: str = "v") -> Person:
    return store.add_person(people.pseudonyms(b"key"), [round], name=name, at=0)


def given(store: Store, who: Person, at: float = 0) -> str:
    got = store.give(who, "v", at=at)
    assert isinstance(got, Given), got
    return got.task.id


def submit(store: Store, who: Person, task: str, id: str, at: float = 1) -> str:
    return store.submit(who, "v", task, id=id, fields={"label_1": "x"}, seconds=9, at=at)


def skip(store: Store, who: Person, task: str, id: str, at: float = 1) -> str:
    return store.skip(who, "v", task, id=id, reason="hard", at=at)


# --- leases, in any order of what can happen ------------------------------------------------------

PEOPLE, TASKS, CAP = range(4), 3, 3


class Leases(RuleBasedStateMachine):
    """People take, answer, skip and leave tasks while time passes and the owner asks for more."""

    @initialize(asked=st.integers(1, 3))
    def begin(self, asked: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store(Path(self.folder.name) / "web.sqlite")
        self.at, self.number = 1.0, 0
        self.people = [person(self.store) for _ in PEOPLE]
        tasks = some_tasks(TASKS)
        tasks[0] = WebTask("t0", "term-0", self.people[0].pseudonym, {"words": "mine"})
        self.asked = dict.fromkeys((task.id for task in tasks), asked)
        plan = a_plan(lease=10.0, person_cap=CAP)
        self.store.put_round(plan, tasks, self.asked)
        self.sent: dict[str, tuple[Person, str, str]] = {}
        self.ever: set[tuple[int, str]] = set()  # who was ever given what
        self.erased: set[Person] = set()

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    @rule(seconds=st.sampled_from([0.5, 4.0, 11.0]))
    def wait(self, seconds: float) -> None:
        self.at += seconds

    @rule(n=st.sampled_from(PEOPLE), also=st.booleans())
    def give(self, n: int, also: bool) -> None:
        """Somebody asks for a task, and perhaps the next one does, too."""
        for number in range(n, min(n + 1 + also, len(PEOPLE))):
            who = self.people[number]
            if who in self.erased:
                continue
            got = self.store.give(who, "v", at=self.at)
            standing = self.store.standing(who, "v", at=self.at)
            if isinstance(got, Given):
                assert got.task.barred != who.pseudonym
                self.ever.add((number, got.task.id))
                assert self.store.give(who, "v", at=self.at) == got  # the same again
                assert standing.left > 0
                held = self.store.ahead(who, "v", at=self.at) if also else []
                self.ever |= {(number, task) for task in held}
            else:
                assert standing.left == 0

    @precondition(lambda self: self.ever)
    @rule(data=st.data(), act=st.sampled_from([submit, submit, submit, skip, None]))
    def send(self, data: st.DataObject, act: Callable[..., str] | None) -> None:
        """Somebody sends an answer to what they once got, skips it, or only looks at it again."""
        number, task = data.draw(st.sampled_from(sorted(self.ever)))
        who = self.people[number]
        if act is None:
            self.store.held(who, "v", task, at=self.at)
            return
        self.number += 1
        id = f"id-{self.number}"
        receipt = act(self.store, who, task, id, self.at)
        assert receipt in ("new", "late", "second")
        self.sent[id] = (who, task, "skip" if act is skip else receipt)

    @rule(
        n=st.sampled_from(PEOPLE),
        task=st.integers(0, TASKS - 1),
        act=st.sampled_from((submit, skip)),
    )
    def forge(self, n: int, task: int, act: Callable[..., str]) -> None:
        """Somebody sends an answer to what they never got."""
        who, name = self.people[n], f"t{task}"
        if (n, name) not in self.ever:
            assert act(self.store, who, name, "forged", self.at) == "not_yours"
            assert self.store.held(who, "v", name, at=self.at) is None

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.sent)))
        who, task, _ = self.sent[id]
        act = skip if self.sent[id][2] == "skip" else submit
        assert act(self.store, who, task, id, self.at) == "known"
        stranger = next(p for p in self.people if p != who)
        assert submit(self.store, stranger, task, id, self.at) == "not_yours"

    @rule(task=st.integers(0, TASKS - 1), more=st.integers(-1, 2))
    def top_up(self, task: int, more: int) -> None:
        name = f"t{task}"
        self.store.ask("v", {name: self.asked[name] + more})
        self.asked[name] = self.store.loads("v")[name].asked

    @precondition(lambda self: len(self.sent) > 2 and not self.erased)
    @rule(n=st.sampled_from(PEOPLE[1:]))  # the first one wrote a task
    def erase(self, n: int) -> None:
        who = self.people[n]
        mine = [id for id, sent in self.sent.items() if sent[0] == who]
        answers = [id for id in mine if self.sent[id][2] != "skip"]
        assert self.store.erase(who.pseudonym) == len(answers)
        self.sent = {id: sent for id, sent in self.sent.items() if id not in mine}
        self.ever = {pair for pair in self.ever if pair[0] != n}
        self.erased.add(who)

    @invariant()
    def nothing_is_lost_or_counted_twice(self) -> None:
        if not hasattr(self, "store"):
            return
        kept = [line.payload["answer_id"] for line in self.store.lines("v", all=True)]
        assert sorted(kept) == sorted(self.sent)
        counted = [(who.id, task) for who, task, receipt in self.sent.values() if receipt == "new"]
        assert len(set(counted)) == len(counted)  # of distinct people
        by_task, by_person = Counter(t for _, t in counted), Counter(p for p, _ in counted)
        assert all(n <= CAP for n in by_person.values())
        live = sqlite3.connect(self.store._path).execute(
            "SELECT task, count(*) FROM leases WHERE until > ? GROUP BY task", (self.at,)
        )
        leases = dict(live.fetchall())
        for id, load in self.store.loads("v").items():
            assert load.answered == by_task[id]
            assert load.answered + leases.get(id, 0) <= load.asked == self.asked[id]


TestLeases = Leases.TestCase
TestLeases.settings = settings(
    max_examples=50, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


# --- tasks ----------------------------------------------------------------------------------------


def test_least_answered_tasks_come_first(store: Store) -> None:
    opened(store, some_tasks(3), asked=2)
    crowd = [person(store) for _ in range(7)]
    assert [given(store, who) for who in crowd[:6]] == ["t0", "t1", "t2", "t0", "t1", "t2"]
    assert store.give(crowd[6], "v", at=0) == "none_left"
    assert submit(store, crowd[4], "t1", "a") == "new"
    assert store.give(crowd[4], "v", at=2) == "none_left"
    assert skip(store, crowd[2], "t2", "b") == "new"
    assert given(store, crowd[6], at=2) == "t2"  # what somebody skips goes to others
    assert store.give(crowd[2], "v", at=3) == "none_left"


def test_a_lease_ends_and_a_late_answer_counts_only_if_its_place_is_free(store: Store) -> None:
    opened(store, some_tasks(1), asked=1, lease=10.0)
    ann, ben, eve = (person(store) for _ in range(3))
    assert store.give(ann, "v", at=0) == Given(some_tasks(1)[0], 10.0)
    assert store.give(ben, "v", at=9.9) == "none_left"
    assert given(store, ben, at=10) == "t0"
    assert store.held(ann, "v", "t0", at=11) is None
    assert submit(store, ann, "t0", "a", at=11) == "late"
    assert submit(store, ann, "t0", "a", at=12) == "known"
    assert store.loads("v") == {"t0": Load(asked=1, answered=0, pulled=0)}
    assert submit(store, ben, "t0", "b", at=99) == "new"  # ended, and nobody has taken it
    assert submit(store, eve, "t0", "c", at=99) == "not_yours"
    late = [line.payload.get("late", False) for line in store.lines("v")]
    assert late == [True, False]


def test_coming_back_renews_a_lease(store: Store) -> None:
    opened(store, some_tasks(1), asked=1, lease=10.0)
    ann, ben = person(store), person(store)
    given(store, ann, at=0)
    assert store.held(ann, "v", "t0", at=8) == Given(some_tasks(1)[0], 18.0)
    assert store.give(ben, "v", at=12) == "none_left"
    assert store.held(ann, "v", "t0", at=20) == Given(some_tasks(1)[0], 30.0)
    assert store.held(ben, "v", "t0", at=20) is None  # never given
    submit(store, ann, "t0", "a", at=21)
    assert store.held(ann, "v", "t0", at=22) is None


def test_a_clock_that_is_set_back_gives_no_lease_back(store: Store) -> None:
    opened(store, some_tasks(1), asked=1, lease=10.0)
    ann, ben = person(store), person(store)
    given(store, ann, at=100)
    given(store, ben, at=111)
    assert store.held(ann, "v", "t0", at=105) is None
    assert submit(store, ann, "t0", "a", at=105) == "late"


def test_second_answers_and_answers_after_a_skip(store: Store) -> None:
    opened(store, some_tasks(2), asked=2)
    ann = person(store)
    first = given(store, ann)
    assert submit(store, ann, first, "a") == "new"
    assert submit(store, ann, first, "b") == "second"
    assert skip(store, ann, first, "c") == "second"
    second = given(store, ann)
    assert skip(store, ann, second, "d") == "new"
    assert store.standing(ann, "v", at=5) == Standing(1, 1, 0)
    assert submit(store, ann, second, "e") == "new"  # they went back; the place was free
    assert store.standing(ann, "v", at=5) == Standing(2, 0, 0)
    assert [load.answered for load in store.loads("v").values()] == [1, 1]


@pytest.mark.parametrize("send", [submit, skip])
def test_what_is_sent_again_and_again_is_kept_a_few_times(
    store: Store, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SENT", 4)
    opened(store, some_tasks(2), asked=2)
    ann = person(store)
    task = given(store, ann)
    assert submit(store, ann, task, "a") == "new"
    assert {send(store, ann, task, f"b{n}") for n in range(50)} == {"second"}
    kept = [line.payload for line in store.lines("v")]
    assert len(kept) == 4 + 1
    assert kept[-1] == {
        **{"annotator": ann.id, "answer_id": "b3", "submitted_at": kept[-1]["submitted_at"]},
        **{"task_id": task, "skipped": "too_many"},  # it came, and what it said is not kept
    }
    assert submit(store, ann, given(store, ann), "c") == "new"


def test_a_person_can_store_only_a_part_of_the_disk(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_STORED", 5_000)
    opened(store, some_tasks(6), asked=2)
    ann, ben = person(store), person(store)

    def send(who: Person, task: str, id: str) -> str:
        fields = {"label_1": "x" * 2_000}
        return store.submit(who, "v", task, id=id, fields=fields, seconds=9, at=1)

    receipts = []
    for n in range(5):
        task = given(store, ann)
        receipts += [send(ann, task, f"{n}"), send(ann, task, f"{n} again")]
        if receipts[-1] == "full":
            break
    assert receipts == ["new", "second", "new", "full"]
    assert {send(ann, task, f"more {n}") for n in range(50)} == {"full"}
    held = given(store, ann)
    assert {send(ann, held, f"new {n}") for n in range(50)} == {"full"}
    kept = [line.payload for line in store.lines("v")]
    assert [len(one.get("label_1", "")) for one in kept] == [2_000] * 3 + [0, 0]
    assert [one["task_id"] for one in kept[-2:]] == [task, held]
    assert send(ben, given(store, ben), "b") == "new"


def test_a_link_that_is_opened_again_and_again_fills_no_disk(store: Store) -> None:
    ann, ben = person(store), person(store)
    other = store.begin_session(ben.id)
    cookies = [store.begin_session(ann.id) for _ in range(module.SESSIONS + 3)]
    assert store.one("SELECT count(*) FROM sessions WHERE person = ?", ann.id) == module.SESSIONS
    assert [store.session(cookie) for cookie in (cookies[0], cookies[-1])] == [None, ann]
    assert store.session(other) == ben


def test_an_answer_with_the_id_of_a_skip_is_kept(store: Store) -> None:
    opened(store, some_tasks(1), asked=1)
    ann, ben = person(store), person(store)
    task = given(store, ann)
    assert skip(store, ann, task, "a") == "new"
    assert submit(store, ben, task, "a") == "not_yours"
    assert [submit(store, ann, task, "a") for _ in range(2)] == ["new", "known"]
    assert skip(store, ann, task, "a") == "known"
    first, second = (line.payload for line in store.lines("v"))
    assert (first["answer_id"], second["label_1"]) == ("a", "x")
    assert second["answer_id"] != "a"
    assert store.standing(ann, "v", at=5) == Standing(1, 0, 0)


def test_caps_hold(store: Store) -> None:
    opened(store, some_tasks(5), asked=1, person_cap=4, term_cap=2)
    ann, ben = person(store), person(store)
    for id in ("a", "b", "c", "d"):  # t0, t2 and t4 are on one term
        assert store.standing(ann, "v", at=0).left == 4 - "abcd".index(id)
        submit(store, ann, given(store, ann), id)
    assert store.give(ann, "v", at=0) == "cap"
    assert [id for id, load in store.loads("v").items() if not load.answered] == ["t4"]
    opened(store, some_tasks(5), asked=2, person_cap=9, term_cap=1)
    assert store.give(ann, "v", at=0) == "cap"  # both terms are full
    assert [given(store, ben), store.standing(ben, "v", at=0)] == ["t4", Standing(0, 0, 2)]


def test_a_late_answer_does_not_break_a_cap(store: Store) -> None:
    opened(store, some_tasks(2), asked=1, person_cap=1, lease=10.0)
    ann = person(store)
    first = given(store, ann, at=0)
    assert submit(store, ann, first, "a", at=1) == "new"
    opened(store, some_tasks(2), asked=1, person_cap=2, lease=10.0)
    second = given(store, ann, at=2)
    opened(store, some_tasks(2), asked=1, person_cap=1, lease=10.0)
    assert store.held(ann, "v", second, at=20) is None
    assert submit(store, ann, second, "b", at=20) == "late"


def test_a_pause_begins_after_a_long_sitting(store: Store) -> None:
    opened(store, some_tasks(9), pause_after=3, pause=100.0)
    ann = person(store)
    for n, at in enumerate((0, 50, 150, 200)):  # 50 to 150 is a gap: a new sitting
        submit(store, ann, given(store, ann, at=at), f"a{n}", at=at)
    assert store.resting(ann.id, "v", at=200) == 0
    submit(store, ann, given(store, ann, at=249), "b", at=249)
    assert store.resting(ann.id, "v", at=249) == 349
    assert store.give(ann, "v", at=348) == "pause"
    assert given(store, ann, at=349) == "t5"
    assert store.resting(ann.id, "v", at=349) == 0


def test_skips_tire_too_and_who_has_nothing_left_is_not_asked_to_pause(store: Store) -> None:
    opened(store, some_tasks(3), pause_after=2, pause=100.0)
    ann, ben = person(store), person(store)
    for n in range(2):
        store.skip(ann, "v", given(store, ann), id=f"s{n}", reason="none", at=n)
    assert store.resting(ann.id, "v", at=1) == 101
    assert store.give(ann, "v", at=2) == "pause"
    store.ask("v", {f"t{n}": 0 for n in range(3)})
    assert store.give(ann, "v", at=2) == "none_left"
    assert store.resting(ben.id, "v", at=2) == 0


def test_what_is_not_asked_for_is_not_given_out(store: Store) -> None:
    ann = person(store)
    token = opened(store, some_tasks(2), asked=1)
    assert submit(store, ann, given(store, ann), "a") == "new"
    again = store.put_round(a_plan(common_link=False), some_tasks(3), {"t2": 1})
    assert again == token
    assert given(store, ann) == "t2"
    assert store.give(person(store), "v", at=0) == "none_left"
    assert store.loads("v") == {"t0": Load(0, 1, 0), "t1": Load(0, 0, 0), "t2": Load(1, 0, 0)}


def test_a_stopped_round_takes_late_answers_and_gives_nothing(store: Store) -> None:
    token = opened(store, some_tasks(2), asked=1)
    ann, ben = person(store), person(store)
    task = given(store, ann)
    store.stop("v")
    assert (store.rounds(), store.rounds_of(ann.id)) == ([], [])
    assert store.round_of(token) == "v"
    assert store.give(ben, "v", at=0) == "closed"
    assert store.standing(ben, "v", at=0).left == 0
    assert store.held(ann, "v", task, at=1) is not None
    assert submit(store, ann, task, "a") == "new"
    store.ask("v", {"t1": 2})
    assert (store.rounds(), store.round_of(token)) == (["v"], "v")
    assert given(store, ben) == "t1"


# --- answers --------------------------------------------------------------------------------------


def test_lines_are_what_the_archive_gets(store: Store) -> None:
    opened(store)
    ann = person(store)
    store.consent(ann.id, "v", at=1.5)
    store.consent(ann.id, "v", at=2)
    task = given(store, ann)
    submit(store, ann, task, "a", at=3)
    skip(store, ann, given(store, ann), "b", at=4)
    consent, answer, skipped = (line.payload for line in store.lines("v"))
    assert consent.pop("answer_id")
    begun = {"annotator": ann.id, "submitted_at": "1970-01-01T00:00:01.500Z"}
    assert consent == begun | {"consent": "1-a"}
    order = [n + 1 for n in store.order(a_plan(), task, ann.id)]
    assert answer == {
        **{"annotator": ann.id, "answer_id": "a", "submitted_at": "1970-01-01T00:00:03.000Z"},
        **{"task_id": task, "seconds": 9, "label_1": "x", "order": order, "consent": "1-a"},
    }
    assert (skipped["task_id"], skipped["skipped"]) == ("t1", "hard")
    store.pulled("v", store.lines("v")[1].number, "2026-03-01T00:00:00.000Z")
    assert [line.payload["answer_id"] for line in store.lines("v")] == ["b"]
    assert len(store.lines("v", all=True)) == 3
    assert store.pulled_at("v") == "2026-03-01T00:00:00.000Z"
    store.pulled("v", 0, "2026-03-02T00:00:00.000Z")  # a pull that brought nothing
    assert len(store.lines("v")) == 1
    assert store.loads("v")[task] == Load(2, 1, 1)


def test_consent_is_to_a_version(store: Store) -> None:
    opened(store)
    ann = person(store)
    assert not store.has_consented(ann.id, "v")
    submit(store, ann, given(store, ann), "a")
    assert "consent" not in store.lines("v")[0].payload
    store.consent(ann.id, "v", at=2)
    assert store.has_consented(ann.id, "v")
    store.change_plan(replace(a_plan(), consent="2-b"))
    assert not store.has_consented(ann.id, "v")


def test_a_browser_joins_once_within_two_minutes(store: Store) -> None:
    opened(store)

    def join(at: float) -> Person:
        return store.add_person(people.pseudonyms(b"key"), ["v"], cookie="first", at=at)

    ann = join(0)
    assert join(119) == ann
    assert store.people() == [ann]
    ben = join(120)  # whoever knows the cookie later does not become Ann
    assert ben != ann
    store.end_session(store.begin_session(ben.id))
    assert join(121) not in (ann, ben)


def test_a_backup_that_is_put_back_keeps_a_log_again(path: Path) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path)) as backup:
        assert backup.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",)
    with closing(Store(path)), closing(sqlite3.connect(path)) as now:
        assert now.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_training_is_known_in_all_rounds_of_a_kind(store: Store) -> None:
    opened(store)
    for name, kind in (("v2", "validation"), ("w", "intrasentence")):
        store.put_round(a_plan(name, kind), some_tasks(), {"t0": 1})  # type: ignore[arg-type]
    ann = person(store)
    store.add_attempt(ann.id, "v", number=0, share=0.5, passed=False)
    store.add_attempt(ann.id, "v2", number=0, share=0.1, passed=False)  # a form sent twice
    store.add_attempt(ann.id, "v2", number=1, share=0.9, passed=True)
    assert [store.attempts(ann.id, round) for round in ("v", "v2", "w")] == [
        *([False, True], [False, True]),
        [],
    ]


def test_written_items_of_a_term_are_known_at_once(store: Store) -> None:
    plan = a_plan("w", "intrasentence")
    store.put_round(plan, some_tasks(), dict.fromkeys(("t0", "t1", "t2"), 1))
    ann = person(store, round="w")
    for id in "abc":
        got = store.give(ann, "w", at=0)
        assert isinstance(got, Given)
        fields = {"template": f"{id} BLANK", "stereotype": got.task.id}
        store.submit(ann, "w", got.task.id, id=id, fields=fields, seconds=1, at=0)
    found = store.written("intrasentence", "term-0", ("", ""))
    assert [(row["template"], row["stereotype"]) for row in found] == [
        *(("a BLANK", "t0"), ("c BLANK", "t2"))
    ]
    assert set(found[0]) == {"template", "stereotype"}
    assert store.written("intersentence", "term-0", ("", "")) == []


# --- people ---------------------------------------------------------------------------------------


def test_links_and_sessions(store: Store, path: Path) -> None:
    opened(store)
    ann, ben = person(store, "Ann"), person(store)
    assert store.people() == [ann, ben]
    assert ann.id.startswith("w-")
    assert len(ann.id) == 14
    secret = store.secret_of(ann.id)
    assert store.person_by_secret(secret) == ann
    for wrong in (secret[:-1], f"{ben.id}.{secret[15:]}", ann.id, "", "w-nobody.00", "ä"):
        assert store.person_by_secret(wrong) is None
    cookie = store.begin_session(ann.id)
    assert store.session(cookie) == ann
    assert cookie.encode() not in path.read_bytes()
    assert store.session("other") is None
    assert store.csrf(cookie) != store.csrf("other")
    store.end_session(cookie)
    assert store.session(cookie) is None
    assert store.rounds_of(ann.id) == ["v"]
    store.put_round(a_plan("v2"), some_tasks(), {})
    store.admit(ann.id, "v2")
    store.admit(ann.id, "v2")
    assert store.rounds_of(ann.id) == ["v", "v2"] == store.rounds()
    store.set_fact("address", "https://x.org")
    with closing(Store(path)) as other:  # secrets stay the same
        assert other.person_by_secret(secret) == ann
        assert other.fact("address") == "https://x.org"
    assert store.fact("nothing") == ""


def test_the_order_of_associations_is_a_persons_own_and_stays(store: Store, path: Path) -> None:
    orders = [tuple(store.order(a_plan(), "t", f"w-{n}")) for n in range(600)]
    counts = Counter(orders)
    assert len(counts) == 6
    assert min(counts.values()) > 60  # 100 are expected of each; 60 is 4.4 standard deviations away
    with closing(Store(path)) as other:
        assert tuple(other.order(a_plan(), "t", "w-0")) == orders[0]


def test_erasing_leaves_no_byte(store: Store, path: Path) -> None:
    ann, ben = person(store, "Ann Somebody"), person(store)
    tasks = [WebTask("t0", "k", ann.pseudonym, {"text_1": "her very words"}), *some_tasks(3)[1:]]
    opened(store, tasks)
    given(store, ben)
    store.consent(ann.id, "v", at=0)
    cookie = store.begin_session(ann.id)
    for n in range(2):
        fields = {"label_1": f"something private {n}"}
        task = given(store, ann)
        store.submit(ann, "v", task, id=f"i-{n}", fields=fields, seconds=1, at=2)
    store.add_attempt(ann.id, "v", number=0, share=1, passed=True)

    def bytes_there() -> bytes:
        return b"".join(file.read_bytes() for file in path.parent.glob("web.sqlite*"))

    marks = [b"Ann Somebody", b"something private", b"her very words", ann.id.encode()]
    assert all(mark in bytes_there() for mark in marks)
    assert store.erase(ann.pseudonym) == 2
    assert not [mark for mark in marks[:2] + marks[3:] if mark in bytes_there()]
    assert store.erase(ann.pseudonym) == 0
    assert b"her very words" not in bytes_there()
    assert store.person_by_secret(store.secret_of(ann.id)) is None
    assert (store.session(cookie), store.people(), store.lines("v")) == (None, [ben], [])
    assert {load.answered for load in store.loads("v").values()} == {0}
    # What they still send is not kept; the task on their words is taken from everybody.
    assert submit(store, ann, "t1", "late") == "not_yours"
    with fails("erased just now"):
        store.consent(ann.id, "v", at=3)
    assert store.held(ben, "v", "t0", at=1) is None
    assert submit(store, ben, "t0", "b") == "late"


def test_erasing_says_if_a_reader_keeps_the_bytes(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT", 0.1)
    with closing(Store(path)) as own, closing(sqlite3.connect(path)) as reader:
        opened(own)
        ann = person(own)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM people").fetchall()
        with fails("still has what was erased", fix="repeat this"):
            own.erase(ann.pseudonym)
        reader.rollback()
        assert own.erase(ann.pseudonym) == 0


# --- files that cannot be used --------------------------------------------------------------------


def test_only_the_owner_may_read_it(store: Store, path: Path) -> None:
    opened(store)
    assert {file.stat().st_mode & 0o777 for file in path.parent.glob("web.sqlite*")} == {0o600}
    path.chmod(0o644)
    Store(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
        db.commit()


def cut_off(path: Path) -> None:
    with closing(Store(path)) as store:
        opened(store, some_tasks(500))
    os.truncate(path, path.stat().st_size // 2)


def overwritten(path: Path) -> None:
    with closing(Store(path)) as store:
        opened(store, some_tasks(500))
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 8192)


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (another_program, "is a database of another program"),
        (lambda path: path.write_text("hello " * 1000), "is damaged, or not a database"),
        (cut_off, "is damaged, or not a database"),
        (overwritten, "is damaged, or not a database"),
        (lambda path: path.symlink_to("/etc/hosts"), "is a link"),
        (lambda path: path.mkdir(), "cannot be opened or written to"),
    ],
)
def test_what_is_no_such_database_is_refused(
    path: Path, harm: Callable[[Path], object], what: str
) -> None:
    harm(path)
    with fails(what):
        Store(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_file_that_may_not_be_written_to_is_refused(path: Path) -> None:
    with closing(Store(path)) as store:
        opened(store)
    for folder in path.parents:  # let the other account reach it
        if folder.stat().st_uid == 0 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    path.chmod(0o644)
    os.seteuid(65534)
    try:
        with fails("cannot be opened or written to"):
            Store(path)
    finally:
        os.seteuid(0)


def test_a_full_disk_refuses_before_anything_is_taken(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(store)
    ann = person(store)
    task, cookie = given(store, ann), store.begin_session(ann.id)
    usage = shutil.disk_usage("/")._replace(free=database.LEAST_FREE - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    for take in (
        lambda: submit(store, ann, task, "a"),
        lambda: skip(store, ann, task, "b"),
        lambda: store.consent(ann.id, "v", at=1),
        lambda: person(store),
    ):
        with pytest.raises(NoSpaceError, match="no space for more answers"):
            take()
    assert store.lines("v") == []
    store.end_session(cookie)  # what frees or closes something works
    store.stop("v")
    assert store.erase(ann.pseudonym) == 0


def test_a_disk_that_is_full_at_the_commit_keeps_nothing_of_the_answer(store: Store) -> None:
    opened(store)
    ann = person(store)
    task = given(store, ann)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages}")
    long = {"label_1": "x" * 100_000}
    with pytest.raises(NoSpaceError):
        store.submit(ann, "v", task, id="a", fields=long, seconds=1, at=1)
    assert store.lines("v") == []
    store._db.execute("PRAGMA max_page_count=1000000")
    assert store.submit(ann, "v", task, id="a", fields=long, seconds=1, at=1) == "new"


def test_a_round_that_is_not_there(store: Store) -> None:
    assert store.plan("v") is None
    assert store.round_of("x") is None
    with fails("has no round v", fix="curation rounds open"):
        store.give(person(store), "v", at=0)


def test_a_program_that_keeps_it_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT", 0.1)
    with closing(Store(path)) as store, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with fails("another program has kept it busy"):
            store.set_fact("a", "b")
        other.rollback()
        store.set_fact("a", "b")


# --- many at once ---------------------------------------------------------------------------------

WORKER = """
import sys
from pathlib import Path
from curation.rounds.platforms.web.store import Given, Store
store = Store(Path(sys.argv[1]))
for id in sys.argv[2:]:
    who = store.person(id)
    while isinstance(got := store.give(who, "v", at=1), Given):
        store.submit(who, "v", got.task.id, id=f"{id}-{got.task.id}", fields={}, seconds=1, at=1)
"""


def test_a_few_tasks_are_held_ahead_while_there_is_room_for_all(store: Store) -> None:
    opened(store, some_tasks(9), asked=1)
    ann, ben, cyd = (person(store) for _ in range(3))
    assert store.ahead(ann, "v", at=1) == []  # nothing was given yet
    given = store.give(ann, "v", at=1)
    assert isinstance(given, Given)
    # Eight of nine are free: room for three ahead.
    held = store.ahead(ann, "v", at=1)
    assert held == [given.task.id, *held[1:]]
    assert len(set(held)) == 4
    assert store.ahead(ann, "v", at=2) == held
    submit(store, ann, held[0], "a" * 32)
    following = store.give(ann, "v", at=3)
    assert isinstance(following, Given)
    assert following.task.id == held[1]  # in the order in which they were given
    store.give(ben, "v", at=3)
    store.give(cyd, "v", at=3)
    # Three are free and three people work: 3 * 3 would be needed.
    assert len(store.ahead(ben, "v", at=3)) == 1
    assert isinstance(store.give(person(store), "v", at=3), Given)
    store.stop("v")
    assert len(store.ahead(ann, "v", at=3)) == 3
    # After the lease they are everybody's.
    assert store.ahead(ann, "v", at=1e6) == []


def test_threads_and_processes_share_the_tasks(store: Store, path: Path) -> None:
    opened(store, some_tasks(20), asked=3)
    crowd = [person(store) for _ in range(12)]
    command = [sys.executable, "-c", WORKER, str(path)]
    groups = [[who.id for who in crowd[n::4]] for n in range(4)]
    processes = [subprocess.Popen([*command, *ids]) for ids in groups[:2]]

    def labour(ids: list[str]) -> None:
        for id in ids:
            who = store.person(id)
            assert who is not None
            while isinstance(got := store.give(who, "v", at=1), Given):
                submit(store, who, got.task.id, f"{id}-{got.task.id}")

    threads = [threading.Thread(target=labour, args=(ids,)) for ids in groups[2:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(60) for process in processes] == [0, 0]
    pairs = [(p["task_id"], p["annotator"]) for _, p, _ in store.lines("v")]
    assert len(set(pairs)) == len(pairs) == 60
    assert {load.answered for load in store.loads("v").values()} == {3}


def test_two_programs_may_make_it_at_the_same_time(path: Path) -> None:
    command = [sys.executable, "-c", WORKER, str(path)]
    processes = [subprocess.Popen(command) for _ in range(6)]
    assert [process.wait(60) for process in processes] == [0] * 6
    Store(path).close()

"""People in the web platform's database, and their way through rounds: leases and answers.

The owner's side is in ``rounds``, the file itself in ``database``. All SQL is in these modules, and
in those beside them that are named after what they keep; the tables are in ``schema.sql``.

A task is given out on a *lease*. A lease is live until it ends or its task is answered. Live leases
plus answers that count never exceed the number of answers that a task was asked for, unless a
submission at Prolific counts again after others have taken its places. The row of a lease stays,
so that an answer to a task that was never given to its person is recognised.

Times are seconds since 1970 in UTC, passed in as ``at``.
"""

import hmac
import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import msgspec

from curation.kinds import NUMBERS, ROUNDS, Kind
from curation.rounds.platforms.web.database import digest_of
from curation.rounds.platforms.web.rounds import ANSWERED, SKIPPED, Plan, Rounds, WebTask
from curation.text.times import timestamp

CHANGEABLE = 2
"""How many of a person's last answers in a round may be changed."""
AHEAD = 3
"""How many tasks a person holds at most, besides the one at hand, for a time without a network."""
SESSIONS = 50
"""How many sessions of a person are kept; an older one ends."""
JOINS_AGAIN = 120.0
"""For how many seconds a consent form that comes again is that of the same person."""
PERSON = "people.id, people.pseudonym, people.name"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
MOST_SENT = 20
"""How many answers and skips of a person to one task are kept, with versions and late ones."""
MOST_STORED = 64 * 2**20
"""How many bytes of answers of one person are kept: a thousand times a usual round."""


class Person(NamedTuple):
    """A person who works on the pages.

    Attributes:
        id: the id which the archive has as ``annotator``.
        pseudonym: the pseudonym everywhere else. It is made of the id, or of the name if somebody
            answered under that name elsewhere; then the archive has the name as ``annotator``.
        name: what the owner calls them; empty if they came by a common link.
    """

    id: str
    pseudonym: str
    name: str = ""


class Given(NamedTuple):
    """A task that was given to a person, until a time."""

    task: WebTask
    until: float


class Past(NamedTuple):
    """An answer that was sent: what its task shows, the last version, and how many came before."""

    data: dict[str, Any]
    payload: dict[str, Any]
    edits: int


Nothing = Literal["none_left", "cap", "pause", "closed"]
"""Why a person gets no task: none needs them, their cap, a pause, the round is closed."""

Receipt = Literal["new", "known", "late", "second", "full"]
"""What became of an answer: it counts; it was here before; its place was taken; its person had
answered the task before; the person may store no more, so it is not kept. Later sending of a
``late`` one gives ``known``."""

NOT_YOURS: Literal["not_yours"] = "not_yours"
"""An answer that is not kept: the task was never given to this person, or the id is another's."""


class Standing(NamedTuple):
    """How far a person is in a round.

    Attributes:
        answered: tasks that they answered.
        skipped: tasks that they skipped.
        left: tasks that they could be given now, within their caps; the live lease included.
    """

    answered: int
    skipped: int
    left: int


class Store(Rounds):
    """The open database. Methods may be called from several threads."""

    def erase(self, pseudonym: str) -> int:
        """Erase a person: answers, consent, name and sessions; their link is dead.

        Their browsers then delete what they keep, see ``erased``.
        Tasks on what they wrote are no longer given out, and lose their words.

        Returns:
            How many answers were erased. What the archive has pulled before is not changed here.

        Raises:
            CurationError: they are erased, but their bytes are still in the file, because another
                program reads it. Repeat this.
        """
        with self.change(always=True) as db:
            counted = (
                "SELECT count(*) FROM answers JOIN people ON people.id = person "
                "WHERE pseudonym = ? AND form = 'answer'"
            )
            count = db.execute(counted, (pseudonym,)).fetchone()[0]
            theirs = db.execute(
                "SELECT key, person FROM sessions JOIN people ON people.id = person "
                "WHERE pseudonym = ?",
                (pseudonym,),
            ).fetchall()
            rows = [(f"erased {key}", drafts_key(self.secret_of(id))) for key, id in theirs]
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)
            db.execute("DELETE FROM people WHERE pseudonym = ?", (pseudonym,))
            db.execute(
                "UPDATE leases SET until = 0 WHERE until > 0 AND (round, task) IN "
                f"(SELECT round, id FROM tasks WHERE {BARRED})",
                {"pseudonym": pseudonym},
            )
            empty = {"empty": b"{}", "pseudonym": pseudonym}
            db.execute(f"UPDATE tasks SET data = :empty, asked = 0 WHERE {BARRED}", empty)
        self._empty_log()
        return int(count)

    # --- people -----------------------------------------------------------------------------

    def add_person(
        self,
        pseudonym_of: Callable[[str], str],
        rounds: Iterable[str],
        *,
        name: str = "",
        cookie: str = "",
        at: float,
    ) -> Person:
        """Add a person with a new random id, and admit them to rounds.

        A browser with a cookie in which somebody was added just now gives that person again.

        Args:
            pseudonym_of: gives the pseudonym of an id.
            rounds: the rounds that they may work on.
            name: what the owner calls them.
            cookie: the cookie of the browser in which they joined; empty if the owner adds them.
            at: now.
        """
        id = fresh_id()
        person = Person(id, pseudonym_of(id), name)
        with self.change() as db:
            db.execute("DELETE FROM joined WHERE at <= ?", (at - JOINS_AGAIN,))
            joined = "SELECT person FROM joined WHERE key = ?"
            if again := db.execute(joined, (digest_of(cookie),)).fetchone():
                sql = f"SELECT {PERSON} FROM people WHERE id = ?"
                return Person(*db.execute(sql, again).fetchone())
            db.execute(
                "INSERT INTO people (id, pseudonym, name, since) VALUES (?, ?, ?, ?)",
                (id, person.pseudonym, name, at),
            )
            admitted = [(id, round) for round in rounds]
            db.executemany("INSERT OR IGNORE INTO admitted VALUES (?, ?)", admitted)
            if cookie:
                db.execute("INSERT INTO joined VALUES (?, ?, ?)", (digest_of(cookie), id, at))
        return person

    def admit(self, person: str, round: str) -> None:
        """Let a person work on one more round."""
        with self.change() as db:
            db.execute("INSERT OR IGNORE INTO admitted VALUES (?, ?)", (person, round))

    def rounds_of(self, person: str, *, also_closed: bool = False) -> list[str]:
        """The open rounds that a person may work on, in order of opening; or closed ones, too."""
        rows = self.rows(
            "SELECT r.name FROM rounds r JOIN admitted a ON a.round = r.name "
            "WHERE a.person = ? AND (r.is_open OR ?) ORDER BY r.rowid",
            person,
            also_closed,
        )
        return [row[0] for row in rows]

    def secret_of(self, person: str) -> str:
        """The secret of a person's link: the id and a keyed digest of it, always the same."""
        return f"{person}.{self.digest('link', person)}"

    def person_by_secret(self, secret: str) -> Person | None:
        """The person whose link has this secret; None if it is wrong or they were erased."""
        person = secret.partition(".")[0]
        right = hmac.compare_digest(self.secret_of(person).encode(), secret.encode())
        return self.person(person) if right else None

    def person(self, id: str) -> Person | None:
        """A person by id; None if there is none."""
        rows = self.rows(f"SELECT {PERSON} FROM people WHERE id = ?", id)
        return Person(*rows[0]) if rows else None

    def people(self) -> list[Person]:
        """All people, in order of their arrival."""
        return [Person(*row) for row in self.rows(f"SELECT {PERSON} FROM people ORDER BY number")]

    def begin_session(self, person: str) -> str:
        """Begin a session; returns the value of its cookie, of which only a digest is kept."""
        cookie = secrets.token_urlsafe(32)
        with self.change() as db:
            db.execute("INSERT INTO sessions VALUES (?, ?)", (digest_of(cookie), person))
            last = "SELECT rowid FROM sessions WHERE person = ?1 ORDER BY rowid DESC LIMIT ?2"
            old = f"DELETE FROM sessions WHERE person = ?1 AND rowid NOT IN ({last})"
            db.execute(old, (person, SESSIONS))
        return cookie

    def session(self, cookie: str) -> Person | None:
        """The person of a session; None if there is none, or the person was erased."""
        rows = self.rows(
            f"SELECT {PERSON} FROM people JOIN sessions ON sessions.person = people.id "
            "WHERE sessions.key = ?",
            digest_of(cookie),
        )
        return Person(*rows[0]) if rows else None

    def end_session(self, cookie: str) -> None:
        """End a session: its cookie, and the one with which the person joined, open nothing."""
        key = (digest_of(cookie),)
        with self.change(always=True) as db:
            of = "SELECT person FROM sessions WHERE key = ?"
            db.execute(f"DELETE FROM joined WHERE person IN ({of})", key)
            db.execute("DELETE FROM sessions WHERE key = ?", key)

    def csrf(self, cookie: str) -> str:
        """The token that forms carry in a browser with this cookie."""
        return self.digest("csrf", cookie)

    def erased(self, cookie: str) -> str:
        """The ``drafts_key`` of the person whose session this was until they were erased."""
        return self.fact(f"erased {digest_of(cookie)}")

    # --- the way through a round ------------------------------------------------------------

    def consent(self, person: str, round: str, *, at: float) -> None:
        """Record that a person agrees to the round's version of the consent text; once is enough.

        It is also an entry among the answers, so that the archive has it.
        """
        plan = self._plan(round)
        with self.change() as db:
            new = db.execute(
                "INSERT OR IGNORE INTO consents VALUES (?, ?, ?)", (person, round, plan.consent)
            ).rowcount
            if new:
                self.note(db, ("consent", round, person, at), {"consent": plan.consent})

    def note(
        self, db: sqlite3.Connection, row: tuple[str, str, str, float], content: dict[str, Any]
    ) -> None:
        """Add an entry to the answers that does not answer a task, so that the archive has it.

        Args:
            db: the open change.
            row: its form ("consent" or "check"), round, person and time.
            content: what it says.
        """
        (form, round, person, at), id = row, secrets.token_hex(16)
        payload = _payload(person, id, at) | content
        _keep(db, (id, form, round, "", person, at, 0), payload)

    def has_consented(self, person: str, round: str) -> bool:
        """Whether a person has agreed to the version of the consent text that the round shows."""
        version = self._plan(round).consent
        return self.one(CONSENTED, person, round, version) is not None

    def attempts(self, person: str, round: str) -> list[bool]:
        """The person's tries of the training of this kind of round: whether each was passed."""
        return [bool(row[0]) for row in self.rows(ATTEMPTS, person, round)]

    def add_attempt(
        self, person: str, round: str, *, number: int, share: float, passed: bool
    ) -> None:
        """Record a try of the training, if the person has had ``number`` tries before it."""
        with self.change() as db:
            tries = len(db.execute(ATTEMPTS, (person, round)).fetchall())
            if tries == number:
                row = (person, round, share, int(passed))
                db.execute("INSERT INTO trained VALUES (?, ?, ?, ?)", row)

    def give(self, person: Person, round: str, *, at: float) -> Given | Nothing:
        """Give a person a task on a lease: the one that they hold, else the one that lacks most.

        Nobody gets a task that they answered or skipped, or that is about what they wrote. Only who
        could get one is asked to pause.
        """
        plan = self._plan(round)
        rests = self.resting(person.id, round, at=at)
        with self.change() as db:
            if not _is_open(db, round) or _is_gone(db, person.id, round):
                return "closed"
            _end_leases(db, at)
            held = db.execute(HELD, (person.id, round)).fetchone()
            if held:
                if rests:
                    return "pause"
                return Given(_task(db, round, held["task"]), held["until"])
            task, why_not = _next(db, plan, person)
            if not task:
                return why_not
            if rests:
                return "pause"
            until = at + plan.lease
            _lease(db, round, task, person.id, until)
            return Given(_task(db, round, task), until)

    def ahead(self, person: Person, round: str, *, at: float) -> list[str]:
        """Lease a person a few tasks for a time without a network; the ids of all that they hold.

        They get none ahead while the round has too few free places for all who work on it.
        """
        plan = self._plan(round)
        with self.change() as db:
            _end_leases(db, at)
            held = [row["task"] for row in db.execute(HELD, (person.id, round))]
            while 0 < len(held) <= AHEAD and _is_open(db, round):
                free, people = db.execute(ROOM, (round,)).fetchone()
                task, _ = _next(db, plan, person)
                if not task or free < AHEAD * people:
                    break
                _lease(db, round, task, person.id, at + plan.lease)
                held.append(task)
        return held

    def held(self, person: Person, round: str, task: str, *, at: float) -> Given | None:
        """A task that was given to this person; its lease is renewed if its place is free.

        None if the task was never given to them, or they have answered or skipped it, or others
        have taken the place, or their submission at Prolific is gone. The lease of a closed round
        is not renewed.
        """
        plan = self._plan(round)
        with self.change() as db:
            _end_leases(db, at)
            until = _until(db, round, task, person.id)
            if until is None or until < 0 or _is_gone(db, person.id, round):
                return None
            if _is_open(db, round) and (until > 0 or _has_place(db, plan, task, person.id)):
                until = at + plan.lease
                _lease(db, round, task, person.id, until)
            return Given(_task(db, round, task), until) if until > 0 else None

    def was_given(self, person: Person, round: str, task: str) -> WebTask | None:
        """A task that was given to this person, also without a lease; it changes nothing."""
        with self._read_lock, self._errors():
            until = _until(self._reader, round, task, person.id)
            return None if until is None else _task(self._reader, round, task)

    def submit(
        self,
        person: Person,
        round: str,
        task: str,
        *,
        id: str,
        fields: Mapping[str, Any],
        seconds: float,
        at: float,
    ) -> Receipt | Literal["not_yours"]:
        """Keep an answer. It is on disk when this returns; the same id twice is one answer.

        An answer whose lease has ended counts if its place is still free; else it is kept as late.
        A second answer to a task is kept, up to ``MOST_SENT``, and does not count.

        Args:
            person: who sends it.
            round: the round's name.
            task: the task's id.
            id: the answer's own id, made in the browser.
            fields: the form's fields with canonical names and values, texts as typed.
            seconds: the time from the first sight of the task to the sending.
            at: now.
        """
        plan = self._plan(round)
        payload = _payload(person.id, id, at) | {"task_id": task, "seconds": seconds, **fields}
        if ROUNDS[plan.kind].work == "label":
            payload["order"] = [n + 1 for n in self.order(plan, task, person.id)]
        with self.change() as db:
            known, id = _known(db, (id, "answer", round, task, person.id))
            if known:
                return known
            payload["answer_id"] = id
            _end_leases(db, at)
            until = _until(db, round, task, person.id)
            if until is None:
                return NOT_YOURS
            if over := _over(db, (person.id, round, task), id, at):
                return over
            receipt: Receipt = "new"
            if until == ANSWERED:
                receipt = "second"
            elif until <= 0 and not _has_place(db, plan, task, person.id):
                receipt, payload["late"] = "late", True
            if _has_consented(db, person.id, plan):
                payload["consent"] = plan.consent
            counts = int(receipt == "new") * (-1 if _is_gone(db, person.id, round) else 1)
            _keep(db, (id, "answer", round, task, person.id, at, counts), payload)
            _lease(db, round, task, person.id, ANSWERED)
            _begin_pause(db, plan, person.id, at)
            return receipt

    def past(self, person: str, round: str) -> dict[str, Past]:
        """By task what a person answered in a round, in the order of their first answers."""
        rows = self.rows(
            "SELECT task, form, payload, data FROM answers a JOIN tasks t ON t.round = a.round "
            "AND t.id = task WHERE person = ? AND a.round = ? AND form IN ('answer', 'edit') "
            "ORDER BY number",
            person,
            round,
        )
        found: dict[str, Past] = {}
        for task, form, payload, data in rows:
            if form == "edit" or task not in found:  # a second answer to a task does not count
                edits = found[task].edits + 1 if task in found else 0
                found[task] = Past(msgspec.json.decode(data), msgspec.json.decode(payload), edits)
        return found

    def changeable(self, person: str, round: str) -> dict[str, Past]:
        """The last answers of a person in an open round, which they may still change."""
        if not self.one("SELECT is_open FROM rounds WHERE name = ?", round):
            return {}
        last = [*self.past(person, round).items()][-CHANGEABLE:]
        return {task: past for task, past in last if past.edits < MOST_SENT - 1}

    def edit(
        self,
        person: Person,
        round: str,
        task: str,
        *,
        id: str,
        fields: Mapping[str, Any],
        at: float,
    ) -> Receipt | Literal["not_yours"]:
        """Keep a new version of an answer; its first time stays, and nothing is counted again."""
        with self.change() as db:
            known, id = _known(db, (id, "edit", round, task, person.id))
            if known:
                return known
            last = self.changeable(person.id, round).get(task)
            if last is None:
                return NOT_YOURS
            if over := _over(db, (person.id, round, task), id, at):
                return over
            sent = timestamp(datetime.fromtimestamp(at, UTC))
            payload = last.payload | dict(fields) | {"updated_at": sent}
            _keep(db, (id, "edit", round, task, person.id, at, 0), payload)
        return "new"

    def skip(
        self, person: Person, round: str, task: str, *, id: str, reason: str, at: float
    ) -> Receipt | Literal["not_yours"]:
        """Keep that a person skips a task, which goes to somebody else; like ``submit``."""
        plan = self._plan(round)
        payload = _payload(person.id, id, at) | {"task_id": task, "skipped": reason}
        with self.change() as db:
            known, id = _known(db, (id, "skip", round, task, person.id))
            if known:
                return known
            payload["answer_id"] = id
            until = _until(db, round, task, person.id)
            if until is None:
                return NOT_YOURS
            if over := _over(db, (person.id, round, task), id, at):
                return over
            _keep(db, (id, "skip", round, task, person.id, at, 0), payload)
            if until in (ANSWERED, SKIPPED):
                return "second"
            _lease(db, round, task, person.id, SKIPPED)
            _begin_pause(db, plan, person.id, at)
            return "new"

    def standing(self, person: Person, round: str, *, at: float) -> Standing:
        """How far a person is in a round."""
        plan = self._plan(round)
        if self.one("SELECT 1 FROM leases WHERE until > 0 AND until <= ?", at):
            with self.change(always=True) as db:
                _end_leases(db, at)
        with self._read_lock, self._errors():
            db = self._reader
            answered, skipped, live = db.execute(
                "SELECT count(*) FILTER (WHERE until = ?), count(*) FILTER (WHERE until = ?), "
                "count(*) FILTER (WHERE until > 0) FROM leases WHERE person = ? AND round = ?",
                (ANSWERED, SKIPPED, person.id, round),
            ).fetchone()
            by = ("term", "GROUP BY term") if plan.term_cap else ("''", "")
            query = f"SELECT {by[0]}, count(*) FROM tasks WHERE {FREE} {by[1]}"
            seeking = person._asdict() | {"round": round}
            gives = _is_open(db, round) and not _is_gone(db, person.id, round)
            free = dict(db.execute(query, seeking).fetchall()) if gives else {}
            work = _work(db, plan, person.id)
        if plan.term_cap:
            free = {term: min(n, max(plan.term_cap - work[term], 0)) for term, n in free.items()}
        left = sum(free.values())
        if plan.person_cap:
            left = min(left, max(plan.person_cap - work.total(), 0))
        return Standing(answered, skipped, left + live)

    def resting(self, person: str, round: str, *, at: float) -> float:
        """Until when a person's pause lasts; 0 if they are in none.

        A pause begins when they have answered or skipped as many tasks as ``Plan.pause_after`` says
        without a gap of the length of a pause. It holds for all rounds.
        """
        until = self.one("SELECT until FROM pauses WHERE person = ?", person) or 0.0
        return float(until) if until > at else 0.0

    def written(self, kind: Kind, term: str, without: tuple[str, str]) -> list[dict[str, Any]]:
        """The fields of the items of a kind that people wrote here on a term, oldest first.

        All versions are among them. ``without`` is a person and the task whose answer is left out.
        """
        rows = self.rows(
            "SELECT payload FROM answers a JOIN tasks t ON t.round = a.round AND t.id = a.task "
            "JOIN rounds r ON r.name = t.round WHERE t.term = ? AND r.kind = ? "
            "AND (a.counts > 0 OR a.form = 'edit') AND (a.person, a.task) != (?, ?) "
            "ORDER BY a.number",
            term,
            kind,
            *without,
        )
        payloads = (msgspec.json.decode(row[0]) for row in rows)
        return [{k: v for k, v in payload.items() if k not in FRAME} for payload in payloads]

    def order(self, plan: Plan, task: str, person: str) -> list[int]:
        """The order in which a person sees the texts of a task, always the same."""
        places = range(len(NUMBERS))
        keys = [self.digest("order", str(plan.seed), task, person, str(n)) for n in places]
        return sorted(places, key=keys.__getitem__)


# --- parts of a transaction -----------------------------------------------------------------

FRAME = {
    "task_id",
    "annotator",
    "answer_id",
    "submitted_at",
    "seconds",
    "consent",
    "order",
    "typing",
    "updated_at",
}
"""What a payload has besides the form's fields."""
CONSENTED = "SELECT 1 FROM consents WHERE person = ? AND round = ? AND version = ?"
ATTEMPTS = (
    "SELECT passed FROM trained JOIN rounds ON rounds.name = trained.round "
    "WHERE person = ? AND kind = (SELECT kind FROM rounds WHERE name = ?) ORDER BY trained.rowid"
)
HELD = "SELECT task, until FROM leases WHERE person = ? AND round = ? AND until > 0 ORDER BY rowid"
"""The tasks that a person holds, in the order in which they were first given."""
ROOM = (
    "SELECT sum(max(asked - answered - live, 0)), (SELECT count(DISTINCT person) FROM leases "
    "WHERE round = ?1 AND until > 0) FROM tasks WHERE round = ?1"
)
"""How many places of a round are free, and how many people hold tasks."""
BARRED = "instr(' ' || barred || ' ', ' ' || :pseudonym || ' ')"
"""The tasks that show words of a ``Person``; null if a task shows nobody's."""
FREE = (
    f"round = :round AND answered + live < asked AND NOT ifnull({BARRED}, 0) AND id NOT IN "
    "(SELECT task FROM leases WHERE person = :id AND round = :round AND until != 0)"
)
"""The tasks of a round that a person could get; wants the round, and a ``Person``."""


def _next(db: sqlite3.Connection, plan: Plan, person: Person) -> tuple[str, Nothing]:
    """The task of a round that a person should get next; if it is empty, why there is none."""
    work = _work(db, plan, person.id)
    if plan.person_cap and work.total() >= plan.person_cap:
        return "", "cap"
    full = [term for term, n in work.items() if plan.term_cap and n >= plan.term_cap]
    seeking = person._asdict() | {"round": plan.name, "full": msgspec.json.encode(full)}
    free = f"SELECT id FROM tasks WHERE {FREE}"
    row = db.execute(
        f"{free} AND term NOT IN (SELECT value FROM json_each(:full)) "
        "ORDER BY answered + live, place LIMIT 1",
        seeking,
    ).fetchone()
    if row is None and full and db.execute(free, seeking).fetchone():
        return "", "cap"
    return (row["id"] if row else ""), "none_left"


def _payload(person: str, id: str, at: float) -> dict[str, Any]:
    sent = timestamp(datetime.fromtimestamp(at, UTC))
    return {"annotator": person, "answer_id": id, "submitted_at": sent}


def _is_open(db: sqlite3.Connection, round: str) -> bool:
    return bool(db.execute("SELECT is_open FROM rounds WHERE name = ?", (round,)).fetchone()[0])


def _is_gone(db: sqlite3.Connection, person: str, round: str) -> bool:
    """Whether a person came with submissions that are all returned or forged."""
    sql = "SELECT 1 FROM gone WHERE person = ? AND round = ?"
    return db.execute(sql, (person, round)).fetchone() is not None


def _has_consented(db: sqlite3.Connection, person: str, plan: Plan) -> bool:
    return db.execute(CONSENTED, (person, plan.name, plan.consent)).fetchone() is not None


def _task(db: sqlite3.Connection, round: str, task: str) -> WebTask:
    sql = "SELECT id, term, barred, data FROM tasks WHERE round = ? AND id = ?"
    row = db.execute(sql, (round, task)).fetchone()
    return WebTask(row["id"], row["term"], row["barred"], msgspec.json.decode(row["data"]))


def _lease(db: sqlite3.Connection, round: str, task: str, person: str, until: float) -> None:
    db.execute(
        "INSERT INTO leases (round, task, person, until) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (person, round, task) DO UPDATE SET until = excluded.until",
        (round, task, person, until),
    )


def _until(db: sqlite3.Connection, round: str, task: str, person: str) -> float | None:
    """When a person's lease of a task ends, or what became of it; None if there never was one."""
    sql = "SELECT until FROM leases WHERE person = ? AND round = ? AND task = ?"
    row = db.execute(sql, (person, round, task)).fetchone()
    return None if row is None else float(row[0])


def _end_leases(db: sqlite3.Connection, at: float) -> None:
    """Give back the places of all leases that have ended; a clock that is set back changes none."""
    db.execute("UPDATE leases SET until = 0 WHERE until > 0 AND until <= ?", (at,))


def _work(db: sqlite3.Connection, plan: Plan, person: str) -> Counter[str]:
    """By term, a person's answers in a round that count, and live leases; empty without caps."""
    if not plan.person_cap and not plan.term_cap:
        return Counter()
    rows = db.execute(
        "SELECT t.term, count(*) FROM tasks t JOIN ("
        "SELECT round, task FROM answers WHERE person = :person AND round = :round AND counts > 0 "
        "UNION ALL "
        "SELECT round, task FROM leases WHERE person = :person AND round = :round AND until > 0"
        ") o ON o.round = t.round AND o.task = t.id GROUP BY t.term",
        {"person": person, "round": plan.name},
    )
    return Counter(dict(rows.fetchall()))


def _has_place(db: sqlite3.Connection, plan: Plan, task: str, person: str) -> bool:
    """Whether an answer without a live lease still counts: a place is free, and no cap is hit."""
    sql = "SELECT term, asked - answered - live FROM tasks WHERE round = ? AND id = ?"
    term, free = db.execute(sql, (plan.name, task)).fetchone()
    work = _work(db, plan, person)
    within = not plan.person_cap or work.total() < plan.person_cap
    return free > 0 and within and (not plan.term_cap or work[term] < plan.term_cap)


def _known(
    db: sqlite3.Connection, sent: tuple[str, str, str, str, str]
) -> tuple[Literal["known", "not_yours"] | None, str]:
    """What becomes of an answer whose id is here already, None if it is new; and its id.

    An answer may come with the id of a skip of the same task: then it gets one of its own.

    Args:
        db: the database.
        sent: the id, form, round, task and person.
    """
    sql = "SELECT form, round, task, person FROM answers WHERE id = ?"
    id, form, *rest = sent
    row = db.execute(sql, (id,)).fetchone()
    if row and row["form"] != form and [*row][1:] == rest:
        id = sha256(f"{id} {form}".encode()).hexdigest()[:32]
        row = db.execute(sql, (id,)).fetchone()
    if row is None:
        return None, id
    return ("known" if [*row] == [form, *rest] else NOT_YOURS), id


def _keep(db: sqlite3.Connection, row: tuple[object, ...], payload: dict[str, Any]) -> None:
    """Keep an answer: its id, form, round, task, person, time, whether it counts; and payload."""
    db.execute(
        "INSERT INTO answers (id, form, round, task, person, at, counts, payload, arrival) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT number FROM arrivals "
        "WHERE (person, round) = (?5, ?3) "
        "ORDER BY standing IN ('returned', 'forged'), number DESC))",
        (*row, msgspec.json.encode(payload)),
    )


def _over(
    db: sqlite3.Connection, key: tuple[str, str, str], id: str, at: float
) -> Literal["second", "full"] | None:
    """Why another answer or skip of a person to a task is not kept; None if it may be.

    The first that is not kept leaves an entry without what it said, so that the archive has it.

    Args:
        db: the open change.
        key: the person, round and task.
        id: the id of what is sent.
        at: now.
    """
    mine = (
        "SELECT count(*), sum(form = 'over') FROM answers WHERE (person, round, task) = (?, ?, ?)"
    )
    sent, noted = db.execute(mine, key).fetchone()
    stored = "SELECT total(length(payload)) FROM answers WHERE person = ?"
    is_second = sent >= MOST_SENT
    if not is_second and db.execute(stored, key[:1]).fetchone()[0] < MOST_STORED:
        return None
    if not noted:
        payload = _payload(key[0], id, at) | {"task_id": key[2], "skipped": "too_many"}
        _keep(db, (id, "over", key[1], key[2], key[0], at, 0), payload)
    return "second" if is_second else "full"


def _begin_pause(db: sqlite3.Connection, plan: Plan, person: str, at: float) -> None:
    """Begin a person's pause if their sitting has been long enough."""
    if not plan.pause_after:
        return
    rows = db.execute(
        "SELECT at FROM answers WHERE person = ? AND form IN ('answer', 'skip') AND at >= "
        "coalesce((SELECT until FROM pauses WHERE pauses.person = answers.person), 0) "
        "ORDER BY at DESC LIMIT ?",
        (person, plan.pause_after),
    ).fetchall()
    times = [float(row[0]) for row in rows]
    together = all(later - earlier < plan.pause for later, earlier in pairwise(times))
    if len(times) == plan.pause_after and together:
        db.execute("INSERT OR REPLACE INTO pauses VALUES (?, ?)", (person, at + plan.pause))


def fresh_id() -> str:
    """An id for a new person."""
    return "w-" + "".join(secrets.choice(LETTERS) for _ in range(12))


def drafts_key(secret: str) -> str:
    """Under which key a person's browser keeps drafts; it does not tell who they are."""
    return sha256(f"drafts\x1f{secret}".encode()).hexdigest()[:20]

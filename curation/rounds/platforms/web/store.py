"""The database of the web platform: rounds, people, leases and answers. All SQL is in this file.

The server and the owner's commands open the same SQLite file at the same time. Every change is one
transaction, which is on disk before its method returns (WAL, ``synchronous=FULL``): what a person
is told to be received survives a crash.

A task is given out on a *lease*. A lease is live until it ends or its task is answered. Live leases
plus answers that count never exceed the number of answers that a task was asked for. The row of a
lease stays, so that an answer to a task that was never given to its person is recognised.

Times are seconds since 1970 in UTC, passed in as ``at``.
"""

import hmac
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from curation.records import Kind, RoundKind

SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS rounds (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, token TEXT NOT NULL UNIQUE,
    is_open INTEGER NOT NULL, plan BLOB NOT NULL,
    pulled INTEGER NOT NULL DEFAULT 0, pulled_at TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE IF NOT EXISTS tasks (
    round TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, term TEXT NOT NULL,
    barred TEXT, data BLOB NOT NULL, asked INTEGER NOT NULL, answered INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (round, id)
) STRICT;
CREATE TABLE IF NOT EXISTS people (
    id TEXT PRIMARY KEY, pseudonym TEXT NOT NULL UNIQUE, name TEXT NOT NULL, since REAL NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS admitted (
    person TEXT NOT NULL, round TEXT NOT NULL, PRIMARY KEY (person, round)
) STRICT;
CREATE TABLE IF NOT EXISTS sessions (key TEXT PRIMARY KEY, person TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS trained (
    person TEXT NOT NULL, round TEXT NOT NULL, attempt INTEGER NOT NULL, share REAL NOT NULL,
    passed INTEGER NOT NULL, PRIMARY KEY (person, round, attempt)
) STRICT;
CREATE TABLE IF NOT EXISTS pauses (person TEXT NOT NULL, until REAL NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS leases (
    round TEXT NOT NULL, task TEXT NOT NULL, person TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (round, task, person)
) STRICT;
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, form TEXT NOT NULL,
    round TEXT NOT NULL, task TEXT NOT NULL, person TEXT NOT NULL, at REAL NOT NULL,
    counts INTEGER NOT NULL, payload BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS answers_of ON answers (person, round, task);
"""


class Example(msgspec.Struct, frozen=True):
    """One question of the training, with the answer that most people give and the reason for it."""

    target: str
    context: str
    text: str
    label: str
    why: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the server must know of a round; ``publish`` writes it.

    Attributes:
        name: the round's name.
        kind: its kind.
        language: the language code of its texts.
        texts: every string that people see, by section and key.
        consent: the version of the consent text.
        seed: from which each person's order of associations is made.
        common_link: whether people may enter by the round's common link.
        person_cap: most answers of a person in this round; 0 for any number.
        term_cap: most answers of a person on one term; 0 for any number.
        lease: for how many seconds a task is given out.
        pause_after: after how many answers in one sitting a pause begins; 0 for never.
        pause: how many seconds a pause lasts.
        training: the questions of the training; empty for no training.
        training_pass: the share of right answers with which a person passes, 0 to 1.
        training_tries: how often a person may try.
        name_target: as in ``item_form.flaws``.
        blank_alone: as in ``item_form.flaws``.
        near: the similarity from which an item repeats another one.
        earlier: by term, the gists of the items of this kind that the campaign had before.
        least_seconds: an answer that takes less is refused in the fold; 0 for no limit.
    """

    name: str
    kind: RoundKind
    language: str
    texts: dict[str, dict[str, Any]]
    consent: str
    seed: int
    common_link: bool = True
    person_cap: int = 0
    term_cap: int = 0
    lease: float = 1800.0
    pause_after: int = 0
    pause: float = 300.0
    training: tuple[Example, ...] = ()
    training_pass: float = 0.0
    training_tries: int = 2
    name_target: bool = True
    blank_alone: bool = True
    near: float = 0.95
    earlier: dict[str, list[str]] = {}
    least_seconds: float = 0.0


class WebTask(msgspec.Struct, frozen=True):
    """A task as the server has it.

    Attributes:
        id: the task's id.
        term: the id of its term.
        barred: the pseudonym of the item's writer, who must not get it; None if there is none.
        data: what people may see of it, as from ``pages.task_data``.
    """

    id: str
    term: str
    barred: str | None
    data: dict[str, Any]


class Person(NamedTuple):
    """A person who works on the pages.

    Attributes:
        id: the id which the archive has as ``annotator``.
        pseudonym: the pseudonym everywhere else.
        name: what the owner calls them; empty if they came by a common link.
        gone: everything of them was erased, or they left: their link is dead.
    """

    id: str
    pseudonym: str
    name: str = ""
    gone: bool = False


class Given(NamedTuple):
    """A task that was given to a person, until a time."""

    task: WebTask
    until: float


Nothing = Literal["none_left", "cap", "pause", "closed"]
"""Why a person gets no task: none needs them, their cap, a pause, the round is closed."""

Receipt = Literal["new", "known", "late", "second"]
"""What became of an answer that was kept: it counts; it was here before; its place was taken; its
person had answered the task before. Later sending of a ``late`` one gives ``known``."""

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


class Line(NamedTuple):
    """An answer on its way to the archive: its number in the database, and its payload."""

    number: int
    payload: dict[str, Any]


class Store:
    """The open database. Methods may be called from several threads.

    Args:
        path: the file; it is created with mode 600 if it is missing.

    Raises:
        CurationError: the file is not such a database, or cannot be written to.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        path.touch(mode=0o600)
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.executescript(SCHEMA)
        with self._change() as db:
            made = {"secret": secrets.token_hex(32)}
            db.executemany("INSERT OR IGNORE INTO facts VALUES (?, ?)", made.items())
        self._secret = bytes.fromhex(self.fact("secret"))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """One transaction; it is on disk at the end, or nothing of it is."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # --- the owner's side -------------------------------------------------------------------

    def fact(self, name: str) -> str:
        """A fact, such as ``address``, the public address of the server; empty if not known."""
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row["value"] if row else ""

    def set_fact(self, name: str, value: str) -> None:
        """Keep a fact."""
        with self._change() as db:
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def put_round(self, plan: Plan, tasks: Sequence[WebTask], asked: Mapping[str, int]) -> str:
        """Add a round and its tasks, or bring them up to date, and open it.

        Tasks that are not in ``asked`` are no longer given out. Answers and leases stay.

        Returns:
            The token of the round's common link, always the same.
        """
        raise NotImplementedError

    def ask(self, round: str, totals: Mapping[str, int]) -> None:
        """Set how many answers tasks are asked for in all; other tasks stay as they are."""
        raise NotImplementedError

    def stop(self, round: str) -> None:
        """Give out none of a round's tasks any more; late answers are still kept."""
        raise NotImplementedError

    def plan(self, round: str) -> Plan | None:
        """A round's plan; None if there is no such round."""
        raise NotImplementedError

    def rounds(self) -> list[str]:
        """The names of the rounds that are open, in order of opening."""
        raise NotImplementedError

    def token(self, round: str) -> str:
        """The token of a round's common link."""
        raise NotImplementedError

    def round_of(self, token: str) -> str | None:
        """The open round that a common link belongs to; None if there is none."""
        raise NotImplementedError

    def lines(self, round: str, *, all: bool = False) -> list[Line]:
        """The answers that were not pulled yet, or all of them, in order of arrival.

        Consents and skips are among them; erased ones are not.
        """
        raise NotImplementedError

    def pulled(self, round: str, number: int, at: str) -> None:
        """Remember that answers up to a number are in the archive."""
        raise NotImplementedError

    def pulled_at(self, round: str) -> str:
        """When answers were last pulled, in ISO 8601; empty if never."""
        raise NotImplementedError

    def erase(self, pseudonym: str) -> int:
        """Erase a person: answers, consent, name and sessions; their link is dead.

        Returns:
            How many answers were erased. What the archive has pulled before is not changed here.
        """
        raise NotImplementedError

    # --- people -----------------------------------------------------------------------------

    def add_person(
        self, pseudonym_of: Any, rounds: Iterable[str], *, name: str = "", at: float
    ) -> Person:
        """Add a person with a new random id, and admit them to rounds.

        Args:
            pseudonym_of: gives the pseudonym of an id.
            rounds: the rounds that they may work on.
            name: what the owner calls them.
            at: now.
        """
        raise NotImplementedError

    def admit(self, person: str, round: str) -> None:
        """Let a person work on one more round."""
        raise NotImplementedError

    def rounds_of(self, person: str) -> list[str]:
        """The open rounds that a person may work on, in order of opening."""
        raise NotImplementedError

    def secret_of(self, person: str) -> str:
        """The secret of a person's link: the id and a keyed digest of it, always the same."""
        digest = hmac.digest(self._secret, f"link\x1f{person}".encode(), "sha256").hex()[:32]
        return f"{person}.{digest}"

    def person_by_secret(self, secret: str) -> Person | None:
        """The person whose link has this secret; None if it is wrong or dead."""
        person = secret.partition(".")[0]
        if not hmac.compare_digest(self.secret_of(person).encode(), secret.encode()):
            return None
        found = self.person(person)
        return None if found is None or found.gone else found

    def person(self, id: str) -> Person | None:
        """A person by id; None if there is none."""
        raise NotImplementedError

    def people(self) -> list[Person]:
        """All people, in order of their arrival."""
        raise NotImplementedError

    def begin_session(self, person: str) -> str:
        """Begin a session; returns the value of its cookie, of which only a digest is kept."""
        raise NotImplementedError

    def session(self, cookie: str) -> Person | None:
        """The person of a session; None if there is none, or the person is gone."""
        raise NotImplementedError

    def end_session(self, cookie: str) -> None:
        """End a session: its cookie opens nothing any more."""
        raise NotImplementedError

    def csrf(self, cookie: str) -> str:
        """The token that forms carry in a browser with this cookie."""
        return hmac.digest(self._secret, f"csrf\x1f{cookie}".encode(), "sha256").hex()[:32]

    def order(self, plan: Plan, task: str, person: str) -> list[int]:
        """The order in which a person sees a task's three associations, always the same."""
        content = f"order\x1f{plan.seed}\x1f{task}\x1f{person}".encode()
        keys = [hmac.digest(self._secret, content + bytes([n]), "sha256") for n in range(3)]
        return sorted(range(3), key=keys.__getitem__)

    # --- the way through a round ------------------------------------------------------------

    def consent(self, person: str, round: str, *, at: float) -> None:
        """Record that a person agrees to the round's version of the consent text; once is enough.

        It is also an entry among the answers, so that the archive has it.
        """
        raise NotImplementedError

    def has_consented(self, person: str, round: str) -> bool:
        """Whether a person has agreed to the version of the consent text that the round shows."""
        raise NotImplementedError

    def attempts(self, person: str, round: str) -> list[bool]:
        """The person's tries of the training of this kind of round: whether each was passed."""
        raise NotImplementedError

    def add_attempt(self, person: str, round: str, *, share: float, passed: bool) -> None:
        """Record one more try of the training."""
        raise NotImplementedError

    def give(self, person: Person, round: str, *, at: float) -> Given | Nothing:
        """Give a person a task on a lease: the one that they hold, else the one that lacks most.

        Nobody gets a task that they answered or skipped, or that is about what they wrote.
        """
        raise NotImplementedError

    def held(self, person: Person, round: str, task: str, *, at: float) -> Given | None:
        """A task that was given to this person; its lease is renewed if its place is free.

        None if the task was never given to them, or they have answered or skipped it, or others
        have taken the place.
        """
        raise NotImplementedError

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
        A second answer to a task is kept and does not count.

        Args:
            person: who sends it.
            round: the round's name.
            task: the task's id.
            id: the answer's own id, made in the browser.
            fields: the form's fields with canonical names and values, texts as typed.
            seconds: the time from the first sight of the task to the sending.
            at: now.
        """
        raise NotImplementedError

    def skip(
        self, person: Person, round: str, task: str, *, id: str, reason: str, at: float
    ) -> Receipt | Literal["not_yours"]:
        """Keep that a person skips a task, which goes to somebody else; like ``submit``."""
        raise NotImplementedError

    def standing(self, person: Person, round: str, *, at: float) -> Standing:
        """How far a person is in a round."""
        raise NotImplementedError

    def resting(self, person: str, round: str, *, at: float) -> float:
        """Until when a person's pause lasts; 0 if they are in none.

        A pause begins when they have sent as many answers as ``Plan.pause_after`` says without a
        gap of the length of a pause.
        """
        raise NotImplementedError

    def written(self, kind: Kind, term: str) -> list[dict[str, Any]]:
        """The fields of the items of a kind that people wrote here on a term, oldest first."""
        raise NotImplementedError


def digest_of(cookie: str) -> str:
    """What is kept of a cookie."""
    return sha256(cookie.encode()).hexdigest()

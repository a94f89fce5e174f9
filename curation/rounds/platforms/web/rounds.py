"""The owner's side of the web platform's database: rounds, tasks, what is pulled, the link."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from curation.files import CurationError
from curation.kinds import RoundKindName
from curation.rounds.platforms.web.database import Database, digest_of

ANSWERED, SKIPPED, ENDED = -2.0, -1.0, 0.0
"""What ``until`` of a row of ``leases`` is when a lease is not live: what became of it."""
HOUR = 3600
SESSION = 30 * 24 * HOUR
"""For how many seconds a browser stays signed in as the owner."""


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
        prolific: whether the common link is only for people from Prolific, with its parameters.
        person_cap: most answers of a person in this round; 0 for any number.
        term_cap: most answers of a person on one term; 0 for any number.
        lease: for how many seconds a task is given out.
        pause_after: after how many tasks in one sitting a pause begins; 0 for never.
        pause: how many seconds a pause lasts.
        training: the questions of the training; empty for no training.
        training_pass: the share of right answers with which a person passes, 0 to 1.
        training_tries: how often a person may try.
        name_target: as in ``item_form.flaws``.
        blank_alone: as in ``item_form.flaws``.
        near: the similarity from which an item repeats another one.
        earlier: by term, the gists of the items of this kind that the campaign had before.
        least_seconds: an answer that takes less is refused in the fold; 0 for no limit.
        typing: whether it is counted how texts come about; the consent says so.
        instruction_checks: in how many tasks there is one instruction check; 0 for none.
        pay: the pay for one task; 0 if people are not paid here.
        currency: the currency of the pay.
    """

    name: str
    kind: RoundKindName
    language: str
    texts: dict[str, dict[str, Any]]
    consent: str
    seed: int
    common_link: bool = True
    prolific: bool = False
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
    typing: bool = False
    instruction_checks: int = 0
    pay: float = 0.0
    currency: str = ""


class WebTask(msgspec.Struct, frozen=True):
    """A task as the server has it.

    Attributes:
        id: the task's id.
        term: the id of its term.
        barred: pseudonyms of those whose words it shows and who must not get it, with spaces
            between them; None if there are none.
        data: what people may see of it, as from ``pages.task_data``.
    """

    id: str
    term: str
    barred: str | None
    data: dict[str, Any]


class Line(NamedTuple):
    """An answer on its way to the archive: its number in the database, its payload, its arrival."""

    number: int
    payload: dict[str, Any]
    arrival: int | None = None


class Load(NamedTuple):
    """A task's numbers of answers.

    Attributes:
        asked: asked for in all.
        answered: here, and they count.
        pulled: those of them that the last pull has seen.
    """

    asked: int
    answered: int
    pulled: int


class Live(NamedTuple):
    """A round in the database, now.

    Attributes:
        kind: its kind.
        is_open: whether tasks are given out.
        pulled_at: when its answers were last pulled, in ISO 8601; empty if never.
        working: people who hold a task now.
        people: people who answered.
        answers: answers that were sent, with those that came late or a second time.
        waiting: those that wait to be pulled, as ``Rounds.waiting`` counts them.
        hours: by hour since 1970, how many answers came.
    """

    kind: str
    is_open: bool
    pulled_at: str
    working: int
    people: int
    answers: int
    waiting: int
    hours: dict[int, int]


class Rounds(Database):
    """The open database, as far as the owner's commands and pages use it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._plans: dict[str, tuple[int, Plan]] = {}

    def put_round(self, plan: Plan, tasks: Sequence[WebTask], asked: Mapping[str, int]) -> str:
        """Add a round and its tasks, or bring them up to date, and open it.

        Tasks that are not in ``asked`` are no longer given out. Answers and leases stay.

        Returns:
            The token of the round's common link, always the same.
        """
        rows = [
            (plan.name, t.id, n, t.term, t.barred, msgspec.json.encode(t.data), asked.get(t.id, 0))
            for n, t in enumerate(tasks)
        ]
        with self.change() as db:
            db.execute(
                "INSERT INTO rounds (name, kind, token, is_open, plan) VALUES (?, ?, ?, 1, ?) "
                "ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, is_open = 1, "
                "plan = excluded.plan, version = version + 1",
                (plan.name, plan.kind, secrets.token_urlsafe(16), msgspec.json.encode(plan)),
            )
            db.execute("UPDATE tasks SET asked = 0 WHERE round = ?", (plan.name,))
            db.executemany(
                "INSERT INTO tasks (round, id, place, term, barred, data, asked) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (round, id) DO UPDATE SET "
                "place = excluded.place, term = excluded.term, barred = excluded.barred, "
                "data = excluded.data, asked = excluded.asked",
                rows,
            )
        return self.token(plan.name)

    def change_plan(self, plan: Plan) -> None:
        """Change the plan of a round that is here; it stays open or closed."""
        with self.change(always=True) as db:
            db.execute(
                "UPDATE rounds SET plan = ?, version = version + 1 WHERE name = ?",
                (msgspec.json.encode(plan), plan.name),
            )

    def ask(self, round: str, totals: Mapping[str, int]) -> None:
        """Set how many answers tasks are asked for in all, and give the round's tasks out again.

        Other tasks stay as they are. Answers that count and live leases keep their places.
        """
        rows = [(total, round, task) for task, total in totals.items()]
        with self.change() as db:
            db.executemany(
                "UPDATE tasks SET asked = max(?, answered + live) WHERE round = ? AND id = ?", rows
            )
            db.execute("UPDATE rounds SET is_open = 1 WHERE name = ?", (round,))

    def loads(self, round: str) -> dict[str, Load]:
        """By task id, how many answers are asked for, and how many of them are here."""
        rows = self.rows(
            "SELECT id, asked, answered, (SELECT count(*) FROM answers a WHERE a.round = t.round "
            "AND a.task = t.id AND a.counts > 0 AND a.number <= r.pulled AND "
            "coalesce(a.arrival, 0) NOT IN (SELECT number FROM arrivals WHERE sent < 0)) AS pulled "
            "FROM tasks t JOIN rounds r ON r.name = t.round WHERE t.round = ?1",
            round,
        )
        return {row["id"]: Load(row["asked"], row["answered"], row["pulled"]) for row in rows}

    def stop(self, round: str) -> None:
        """Give out none of a round's tasks any more; late answers are still kept."""
        with self.change(always=True) as db:
            db.execute("UPDATE rounds SET is_open = 0 WHERE name = ?", (round,))

    def plan(self, round: str) -> Plan | None:
        """A round's plan; None if there is no such round."""
        version = self.one("SELECT version FROM rounds WHERE name = ?", round)
        if version is None:
            return None
        known = self._plans.get(round)
        if known is None or known[0] != version:
            row = self.rows("SELECT version, plan FROM rounds WHERE name = ?", round)[0]
            known = row["version"], msgspec.json.decode(row["plan"], type=Plan)
            self._plans[round] = known
        return known[1]

    def _plan(self, round: str) -> Plan:
        plan = self.plan(round)
        if plan is None:
            raise CurationError(
                f"{self._path}: has no round {round}", "«curation rounds open» puts it there"
            )
        return plan

    def rounds(self) -> list[str]:
        """The names of the rounds that are open, in order of opening."""
        return [row[0] for row in self.rows("SELECT name FROM rounds WHERE is_open ORDER BY rowid")]

    def token(self, round: str) -> str:
        """The token of a round's common link."""
        return str(self.one("SELECT token FROM rounds WHERE name = ?", round))

    def round_of(self, token: str) -> str | None:
        """The round, open or closed, that a common link belongs to; None if there is none."""
        name: str | None = self.one("SELECT name FROM rounds WHERE token = ?", token)
        return name

    def lines(
        self, round: str, *, all: bool = False, also: Iterable[int] = (), never: Iterable[int] = ()
    ) -> list[Line]:
        """The answers that were not pulled yet, or all of them, in order of arrival.

        Consents and skips are among them; erased ones are not.

        Args:
            round: the round's name.
            all: also those that were pulled.
            also: arrivals under which all answers are given.
            never: arrivals under which none is given.
        """
        after = 0 if all else self.one("SELECT pulled FROM rounds WHERE name = ?", round) or 0
        rows = self.rows(
            "SELECT number, payload, arrival FROM answers WHERE round = ? AND (number > ? OR "
            "arrival IN (SELECT value FROM json_each(?))) AND coalesce(arrival, 0) NOT IN "
            "(SELECT value FROM json_each(?)) ORDER BY number",
            round,
            after,
            *(msgspec.json.encode(sorted(each)) for each in (also, never)),
        )
        return [Line(n, msgspec.json.decode(payload), arrival) for n, payload, arrival in rows]

    def pulled(self, round: str, number: int, at: str) -> None:
        """Remember that answers up to a number are in the archive."""
        with self.change() as db:
            db.execute(
                "UPDATE rounds SET pulled = max(pulled, ?), pulled_at = ? WHERE name = ?",
                (number, at, round),
            )

    def pulled_at(self, round: str) -> str:
        """When answers were last pulled, in ISO 8601; empty if never."""
        return str(self.one("SELECT pulled_at FROM rounds WHERE name = ?", round) or "")

    def waiting(self, round: str) -> int:
        """How many answers were not pulled yet; consents and skips are not counted.

        All answers wait under a submission whose standing has changed since, or is not known yet.
        """
        sql = (
            "SELECT count(*) FROM answers JOIN rounds ON rounds.name = round "
            "WHERE round = ?1 AND form IN ('answer', 'edit') AND (answers.number > pulled "
            "OR arrival IN (SELECT number FROM arrivals WHERE round = ?1 AND sent != changes))"
        )
        return int(self.one(sql, round))

    def live(self, at: float) -> dict[str, Live]:
        """Every round in the database by name, in order of opening; few queries."""
        rounds = self.rows(
            "SELECT name, kind, is_open, pulled_at, "
            "(SELECT count(DISTINCT person) FROM leases WHERE round = name AND until > ?), "
            "(SELECT count(DISTINCT person) FROM leases WHERE round = name AND until = ?) "
            "FROM rounds ORDER BY rowid",
            at,
            ANSWERED,
        )
        came = self.rows(
            "SELECT round, CAST(at / ? AS INTEGER) AS hour, sum(form = 'answer') AS answers "
            "FROM answers GROUP BY round, hour ORDER BY hour",
            HOUR,
        )
        found = {}
        for name, kind, is_open, pulled_at, working, people in rounds:
            mine = [each for each in came if each["round"] == name]
            hours = {each["hour"]: each["answers"] for each in mine if each["answers"]}
            sent, waiting = sum(hours.values()), self.waiting(name)
            found[name] = Live(kind, is_open, pulled_at, working, people, sent, waiting, hours)
        return found

    # --- the owner's link and sessions ----------------------------------------------------------

    def owner_secret(self) -> str:
        """The secret of the owner's link, the same until ``renew_link`` is called."""
        return self.digest("owner", self.fact("owner"))

    def begin_owner_session(self, at: float) -> str:
        """Begin a session of the owner; returns its cookie, of which only a digest is kept."""
        cookie = secrets.token_urlsafe(32)
        with self.change(always=True) as db:
            db.execute("DELETE FROM owners WHERE at <= ?", (at - SESSION,))
            db.execute("INSERT INTO owners VALUES (?, ?)", (digest_of(cookie), at))
        return cookie

    def is_owner(self, cookie: str, at: float) -> bool:
        """Whether a browser with this cookie is signed in as the owner."""
        found = self.one("SELECT at FROM owners WHERE key = ?", digest_of(cookie))
        return found is not None and at < float(found) + SESSION

    def end_owner_session(self, cookie: str) -> None:
        """End a session of the owner."""
        with self.change(always=True) as db:
            db.execute("DELETE FROM owners WHERE key = ?", (digest_of(cookie),))

    def renew_link(self) -> None:
        """Make a new link for the owner; the old one is dead, and so are all sessions."""
        with self.change(always=True) as db:
            db.execute("INSERT OR REPLACE INTO facts VALUES ('owner', ?)", (secrets.token_hex(16),))
            db.execute("DELETE FROM owners")

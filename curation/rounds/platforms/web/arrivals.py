"""Arrivals: the submissions with which people come from Prolific, and what they are worth.

An address is a claim (``prolific.Claim``) until the API has confirmed it. Until then its person is
provisional: nobody else's row of ``people``, without a name. A confirmed person is called by their
id at Prolific, as if the owner had named them so, and is one person in all rounds.

What the API said last decides, in whichever order statuses come: an arrival that is ``returned`` or
``forged`` gives its places back, and one that is ``checked`` again takes them again.
"""

import sqlite3
from collections.abc import Callable, Mapping
from typing import NamedTuple

from curation.rounds.platforms.web import prolific
from curation.rounds.platforms.web.prolific import Claim, Prolific, Seen
from curation.rounds.platforms.web.store import PERSON, Person, Store, fresh_id

OUTCOMES = ("finished", "no_consent", "screened_out", "failed")
RANKS = ("checked", "unchecked", "returned", "forged")
"""What arrivals are worth, best first; the view ``arrived`` has the positions."""
REAL = ("checked", "returned")
"""What the API has confirmed."""
FIELDS = "id, participant, study, round, person, status, standing, outcome, arrived, ended"


class Arrival(NamedTuple):
    """A submission with which somebody came; ``person`` is None if they did not consent."""

    id: str
    participant: str
    study: str
    round: str
    person: str | None
    status: str
    standing: str
    outcome: str
    arrived: float
    ended: float

    @property
    def claim(self) -> Claim:
        """What their address says."""
        return Claim(self.id, self.participant, self.study)

    @property
    def is_gone(self) -> bool:
        """Whether it does not count: it is returned, timed out, rejected or forged."""
        return RANKS.index(self.standing) >= RANKS.index("returned")


class Mark(NamedTuple):
    """What the answers of a person in a round are worth.

    Attributes:
        standing: that of their best arrival.
        changes: how often it has changed between what counts and what does not.
        sent: ``changes`` when their answers were last pulled; -1 if they never were.
    """

    standing: str
    changes: int
    sent: int


def _select(store: Store, where: str, *values: object) -> list[Arrival]:
    sql = f"SELECT {FIELDS} FROM arrivals WHERE {where} ORDER BY arrived, rowid"
    return [Arrival(*row) for row in store.rows(sql, *values)]


def of_round(store: Store, round: str) -> list[Arrival]:
    """The arrivals at a round, in order."""
    return _select(store, "round = ?", round)


def with_id(store: Store, id: str) -> list[Arrival]:
    """The arrivals that claim a submission."""
    return _select(store, "id = ?", id)


def of_person(store: Store, person: str, round: str) -> Arrival | None:
    """The best arrival of a person at a round; None if they did not come from Prolific."""
    found = _select(store, "person = ? AND round = ?", person, round)
    return min(found, key=lambda one: RANKS.index(one.standing), default=None)


def participants(store: Store) -> dict[str, str]:
    """By person who came from Prolific, their id there, as they claim it."""
    rows = store.rows("SELECT person, participant FROM arrivals WHERE person IS NOT NULL")
    return dict(map(tuple, rows))


def answered(store: Store, round: str) -> dict[str, int]:
    """By person, how many tasks of a round they answered, whatever that is worth."""
    rows = store.rows(
        "SELECT person, count(DISTINCT task) FROM answers WHERE round = ? AND form = 'answer' "
        "GROUP BY person",
        round,
    )
    return dict(map(tuple, rows))


def marks(store: Store, round: str) -> dict[str, Mark]:
    """By person who came from Prolific, what their answers in a round are worth."""
    rows = store.rows("SELECT person, rank, changes, sent FROM arrived WHERE round = ?", round)
    return {row[0]: Mark(RANKS[row[1]], row[2], row[3]) for row in rows}


def note_sent(store: Store, round: str, sent: Mapping[str, int]) -> None:
    """Remember, by person, which ``changes`` the archive knows; -1 for answers it must get."""
    with store.change(always=True) as db:
        db.executemany(
            "UPDATE arrivals SET sent = ? WHERE round = ? AND person = ?",
            [(changes, round, person) for person, changes in sent.items()],
        )


def forget(store: Store, is_theirs: Callable[[str], bool]) -> None:
    """Forget what participants claimed, with those who did not consent."""
    rows = store.rows("SELECT DISTINCT participant FROM arrivals")
    with store.change(always=True) as db:
        theirs = [tuple(row) for row in rows if is_theirs(row[0])]
        db.executemany("DELETE FROM arrivals WHERE participant = ?", theirs)


def studies(store: Store, round: str) -> list[str]:
    """The studies of a round at Prolific, as the owner has named them."""
    return store.fact(f"studies {round}").split()


def add_study(store: Store, round: str, id: str) -> None:
    """Name one more study of a round."""
    known = studies(store, round)
    store.set_fact(f"studies {round}", " ".join(dict.fromkeys([*known, id])))


def enter(
    store: Store,
    round: str,
    claim: Claim,
    standing: str,
    status: str,
    *,
    pseudonym_of: Callable[[str], str],
    at: float,
) -> Person:
    """The person who comes to a round with a claim; the same claim gives the same person.

    Args:
        store: the database.
        round: the round's name.
        claim: the claim.
        standing: what it is worth: checked or unchecked.
        status: what the API said of it.
        pseudonym_of: gives the pseudonym of an id.
        at: now.
    """
    with store.change() as db:
        key = (claim.id, claim.participant)
        person = db.execute("SELECT person FROM arrivals WHERE (id, participant) = (?, ?)", key)
        id = (person.fetchone() or [None])[0]
        if id is None and standing in REAL:
            named = db.execute("SELECT id FROM people WHERE name = ?", (claim.participant,))
            id = (named.fetchone() or [None])[0]
        if id is None:
            id = fresh_id()
            row = (id, _free(db, claim.participant, id, pseudonym_of), at)
            db.execute("INSERT INTO people (id, pseudonym, name, since) VALUES (?, ?, '', ?)", row)
        before = _rank(db, id, round)
        _put(db, round, claim, id, "", standing, status, at)
        _settle(db, claim, id, round, standing, before, pseudonym_of)
        db.execute("INSERT OR IGNORE INTO admitted VALUES (?, ?)", (id, round))
        return Person(*db.execute(f"SELECT {PERSON} FROM people WHERE id = ?", (id,)).fetchone())


def decline(
    store: Store, round: str, claim: Claim, standing: str, status: str, *, at: float
) -> None:
    """Remember that somebody does not take part; nothing else is kept of them."""
    with store.change() as db:
        _put(db, round, claim, None, "no_consent", standing, status, at)


def _put(
    db: sqlite3.Connection,
    round: str,
    claim: Claim,
    person: str | None,
    outcome: str,
    standing: str,
    status: str,
    at: float,
) -> None:
    """Add an arrival, or bring it up to date: who declined may consent later."""
    db.execute(
        "INSERT INTO arrivals (id, participant, study, round, person, arrived, standing, status, "
        "outcome, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id, participant) DO UPDATE SET person = coalesce(excluded.person, person), "
        "study = excluded.study, round = excluded.round, standing = excluded.standing, "
        "status = excluded.status, outcome = CASE WHEN excluded.person IS NOT NULL AND "
        "outcome = 'no_consent' THEN '' ELSE coalesce(nullif(outcome, ''), excluded.outcome) END",
        (*claim, round, person, at, standing, status, outcome, at if outcome else 0),
    )


def end(store: Store, person: str, round: str, outcome: str, *, at: float) -> str:
    """Remember how a person's part in a round ended; the first outcome stays, and is returned."""
    own = (person, round)
    with store.change(always=True) as db:
        db.execute(
            "UPDATE arrivals SET outcome = ?, ended = ? "
            "WHERE person = ? AND round = ? AND outcome = ''",
            (outcome, at, *own),
        )
        sql = "SELECT outcome FROM arrivals WHERE person = ? AND round = ? ORDER BY ended LIMIT 1"
        return str(db.execute(sql, own).fetchone()[0])


def judge(
    store: Store, arrival: Arrival, standing: str, status: str, pseudonym_of: Callable[[str], str]
) -> None:
    """Keep what the API says of an arrival, and give its places back or take them again."""
    if (standing, status) == (arrival.standing, arrival.status):
        return
    with store.change(always=True) as db:
        before = _rank(db, arrival.person, arrival.round)
        db.execute(
            "UPDATE arrivals SET standing = ?, status = ? WHERE (id, participant) = (?, ?)",
            (standing, status, arrival.id, arrival.participant),
        )
        own = (arrival.person, arrival.round, standing, before)
        _settle(db, arrival.claim, *own, pseudonym_of)


def _rank(db: sqlite3.Connection, person: str | None, round: str) -> int:
    sql = "SELECT rank FROM arrived WHERE person = ? AND round = ?"
    row = db.execute(sql, (person, round)).fetchone()
    return int(row[0]) if row else 0


def _settle(
    db: sqlite3.Connection,
    claim: Claim,
    person: str | None,
    round: str,
    standing: str,
    before: int,
    pseudonym_of: Callable[[str], str],
) -> None:
    """After an arrival has changed: who its person is, and which of their places are taken."""
    if person is None:
        return
    if standing in REAL:
        db.execute(
            "UPDATE people SET name = ?1, pseudonym = ?2 WHERE id = ?3 AND name = '' "
            "AND NOT EXISTS (SELECT 1 FROM people WHERE name = ?1)",
            (claim.participant, _free(db, claim.participant, person, pseudonym_of), person),
        )
    elif standing == "forged":  # the pseudonym is that of the real participant
        own = (pseudonym_of(person), person)
        db.execute("UPDATE people SET pseudonym = ? WHERE id = ? AND name = ''", own)
    now = _rank(db, person, round)
    gone = RANKS.index("returned")
    if now == before or max(now, before) < gone:
        return
    key = (claim.id, claim.participant)
    db.execute("UPDATE arrivals SET changes = changes + 1 WHERE (id, participant) = (?, ?)", key)
    own = (person, round)
    if now >= gone:
        leases = "UPDATE leases SET until = 0 WHERE person = ? AND round = ? AND until > 0"
        db.execute(leases, own)
    counts = (-1, *own, 1) if now >= gone else (1, *own, -1)
    db.execute(
        "UPDATE answers SET counts = ? WHERE person = ? AND round = ? AND counts = ?", counts
    )


def _free(
    db: sqlite3.Connection, participant: str, person: str, pseudonym_of: Callable[[str], str]
) -> str:
    """The pseudonym of a participant, if nobody else has it; else one of the person's own id."""
    wanted = pseudonym_of(participant)
    sql = "SELECT 1 FROM people WHERE pseudonym = ? AND id != ?"
    taken = db.execute(sql, (wanted, person)).fetchone()
    return pseudonym_of(person) if taken else wanted


def refresh(
    store: Store, crowd: Prolific, round: str, pseudonym_of: Callable[[str], str]
) -> dict[str, tuple[str, Seen]]:
    """Ask for all submissions of a round, and judge its arrivals.

    Arrivals that the lists do not have are asked for one by one, once.

    Returns:
        By id of what the lists have, the study and what the API says.

    Raises:
        CurationError: the API cannot be asked; arrivals that were judged before stay judged.
    """
    mine, known = of_round(store, round), studies(store, round)
    listed: dict[str, tuple[str, Seen]] = {}
    for study in dict.fromkeys([*known, *(one.study for one in mine if one.standing in REAL)]):
        rows = crowd.listed(study)
        if known and study not in known and rows:  # is it a part of one that is known?
            first = crowd.submission(next(iter(rows)))
            rows = {
                id: seen._replace(parent=first.parent if first else "") for id, seen in rows.items()
            }
        listed |= {id: (study, seen) for id, seen in rows.items()}
    for arrival in mine:
        _, seen = listed.get(arrival.id, ("", None))
        if seen is None and arrival.standing != "unchecked":
            continue  # what was said last stays
        seen = seen or crowd.submission(arrival.id)
        standing = prolific.standing(arrival.claim, seen, known)
        judge(store, arrival, standing, seen.status if seen else "", pseudonym_of)
    return {
        id: (study, seen)
        for id, (study, seen) in listed.items()
        if not known or {seen.study, seen.parent} & {*known}
    }


def under_way(store: Store) -> list[str]:
    """The rounds with arrivals that may still change while people work."""
    mine = _select(store, "person IS NOT NULL AND standing != 'forged'")
    moving = (a for a in mine if a.standing == "unchecked" or a.status in prolific.UNDER_WAY)
    return list(dict.fromkeys(arrival.round for arrival in moving))

"""What the owner's pages ask of the database: the owner's sessions, and counts as they are now."""

import secrets
from typing import NamedTuple

from curation.rounds.platforms.web.store import ANSWERED, Store, digest_of

HOUR = 3600
SESSION = 30 * 24 * HOUR
"""For how many seconds a browser stays signed in as the owner."""


class Live(NamedTuple):
    """A round in the database, now.

    Attributes:
        kind: its kind.
        is_open: whether tasks are given out.
        pulled_at: when its answers were last pulled, in ISO 8601; empty if never.
        working: people who hold a task now.
        people: people who answered.
        answers: answers that were sent, with those that came late or a second time.
        waiting: those that wait to be pulled, as ``Store.waiting`` counts them.
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


def live(store: Store, at: float) -> dict[str, Live]:
    """Every round in the database by name, in order of opening; few queries."""
    rounds = store.rows(
        "SELECT name, kind, is_open, pulled_at, "
        "(SELECT count(DISTINCT person) FROM leases WHERE round = name AND until > ?) AS working, "
        "(SELECT count(DISTINCT person) FROM leases WHERE round = name AND until = ?) AS people "
        "FROM rounds ORDER BY rowid",
        *(at, ANSWERED),
    )
    came = store.rows(
        "SELECT round, CAST(at / ? AS INTEGER) AS hour, sum(form = 'answer') AS answers "
        "FROM answers GROUP BY round, hour ORDER BY hour",
        HOUR,
    )
    found = {}
    for name, kind, is_open, pulled_at, working, people in rounds:
        mine = [each for each in came if each["round"] == name]
        hours = {each["hour"]: each["answers"] for each in mine if each["answers"]}
        sent, waiting = sum(hours.values()), store.waiting(name)
        found[name] = Live(kind, is_open, pulled_at, working, people, sent, waiting, hours)
    return found


# --- the owner's link and sessions ----------------------------------------------------------------


def begin_session(store: Store, at: float) -> str:
    """Begin a session of the owner; returns its cookie, of which only a digest is kept."""
    cookie = secrets.token_urlsafe(32)
    with store.change(always=True) as db:
        db.execute("DELETE FROM owners WHERE at <= ?", (at - SESSION,))
        db.execute("INSERT INTO owners VALUES (?, ?)", (digest_of(cookie), at))
    return cookie


def is_owner(store: Store, cookie: str, at: float) -> bool:
    """Whether a browser with this cookie is signed in as the owner."""
    found = store.one("SELECT at FROM owners WHERE key = ?", digest_of(cookie))
    return found is not None and at < float(found) + SESSION


def end_session(store: Store, cookie: str) -> None:
    """End a session of the owner."""
    with store.change(always=True) as db:
        db.execute("DELETE FROM owners WHERE key = ?", (digest_of(cookie),))


def renew_link(store: Store) -> None:
    """Make a new link for the owner; the old one is dead, and so are all sessions."""
    with store.change(always=True) as db:
        db.execute("INSERT OR REPLACE INTO facts VALUES ('owner', ?)", (secrets.token_hex(16),))
        db.execute("DELETE FROM owners")

"""Arrivals: the submissions with which people come from Prolific, and what they are worth.

An address is a claim until the API has confirmed it. Until then its person is provisional: nobody
else's row of ``people``, without a name. A confirmed person is called by their id at Prolific, as
if the owner had named them so, and is one person in all rounds. All who claim an id have its
pseudonym, so that none of them gets an item that this participant wrote.

What the API said last decides, in whichever order statuses come: an arrival that is ``returned`` or
``forged`` gives its places back, and one that is ``checked`` again takes them again. The trigger
``valued`` of ``schema.sql`` does this.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from curation.files import CurationError
from curation.rounds.platforms.web.store import PERSON, Person, Store, fresh_id

if TYPE_CHECKING:
    from curation.rounds.platforms.web.prolific import Prolific

OUTCOMES = ("finished", "no_consent", "screened_out", "failed")
RANKS = ("checked", "unchecked", "returned", "forged")
"""What arrivals are worth, best first."""
GONE = ("RETURNED", "TIMED-OUT", "REJECTED")
"""The statuses of submissions that do not count. All others count, whichever came before."""
FIELDS = (
    "id, participant, study, round, person, status, standing, outcome, arrived, ended, number, "
    "changes, sent"
)


class Claim(NamedTuple):
    """What the address says with which somebody comes: ids of submission, participant and study."""

    id: str
    participant: str
    study: str


class Seen(NamedTuple):
    """What the API says of a submission; ``parent`` is the study of which its study is a part."""

    participant: str
    study: str
    status: str
    parent: str = ""


class Arrival(NamedTuple):
    """A submission with which somebody came; ``person`` is None if they did not consent.

    ``changes`` is how often it has changed between what counts and what does not, and ``sent`` is
    ``changes`` when the answers under it were last pulled; -1 if they never were.
    """

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
    number: int
    changes: int
    sent: int

    @property
    def claim(self) -> Claim:
        """What their address says."""
        return Claim(self.id, self.participant, self.study)


def judged(claim: Claim, seen: Seen | None, studies: Collection[str]) -> tuple[str, str]:
    """What a claim is worth by what the API said last, and the status of its submission.

    Args:
        claim: the claim.
        seen: what the API says; None if it knows no such submission.
        studies: the studies of the round; empty if they are not known.

    >>> mine = Claim("s1", "p1", "study")
    >>> judged(mine, Seen("p1", "study", "ACTIVE"), ["study"])
    ('checked', 'ACTIVE')
    >>> judged(mine, Seen("p1", "study", "TIMED-OUT"), [])
    ('returned', 'TIMED-OUT')
    >>> judged(mine, Seen("p2", "study", "ACTIVE"), []), judged(mine, None, [])
    (('forged', 'ACTIVE'), ('forged', ''))
    """
    of = {seen.study, seen.parent} if seen else set()
    if not seen or seen.participant != claim.participant or claim.study not in of:
        return "forged", seen.status if seen else ""
    if studies and not of & set(studies):
        return "forged", seen.status
    return ("returned" if seen.status in GONE else "checked"), seen.status


# --- what is here -------------------------------------------------------------------------------


def select(store: Store, where: str = "1", *values: object) -> list[Arrival]:
    """Arrivals, in order; ``where`` is a condition in SQL."""
    sql = f"SELECT {FIELDS} FROM arrivals WHERE {where} ORDER BY arrived, rowid"
    return [Arrival(*row) for row in store.rows(sql, *values)]


def of_round(store: Store, round: str) -> list[Arrival]:
    """The arrivals at a round, in order."""
    return select(store, "round = ?", round)


def of_person(store: Store, person: str, round: str) -> Arrival | None:
    """The best arrival of a person at a round; None if they did not come from Prolific."""
    found = select(store, "person = ? AND round = ?", person, round)
    return min(found, key=lambda one: RANKS.index(one.standing), default=None)


def participants(store: Store) -> dict[str, str]:
    """By person who came from Prolific, their id there, as they claim it."""
    return {one.person: one.participant for one in select(store) if one.person}


def is_named(store: Store, participant: str) -> bool:
    """Whether the owner calls somebody so who did not come from Prolific."""
    sql = "SELECT 1 FROM people WHERE name = ? COLLATE NOCASE AND id NOT IN "
    sql += "(SELECT person FROM arrivals WHERE person IS NOT NULL)"
    return store.one(sql, participant) is not None


def provisional(store: Store) -> set[str]:
    """People who came from Prolific, and are not confirmed: they may be anybody."""
    sql = "SELECT person FROM arrivals JOIN people ON people.id = person WHERE name = ''"
    return {row[0] for row in store.rows(sql)}


def note_sent(store: Store, sent: Mapping[int, int]) -> None:
    """Remember, by arrival, which ``changes`` the archive knows; -1 for answers it must get."""
    rows = [(changes, number) for number, changes in sent.items()]
    with store.change(always=True) as db:
        db.executemany("UPDATE arrivals SET sent = ? WHERE number = ?", rows)


def answered(store: Store, round: str) -> dict[int, int]:
    """By arrival, how many tasks of a round were answered under it, whatever that is worth."""
    sql = (
        "SELECT arrival, count(DISTINCT task) FROM answers WHERE round = ? AND form = 'answer' "
        "AND arrival GROUP BY arrival"
    )
    return dict(map(tuple, store.rows(sql, round)))


def studies(store: Store, round: str) -> list[str]:
    """The studies of a round at Prolific, as the owner has named them."""
    return store.fact(f"studies {round}").split()


# --- what changes -------------------------------------------------------------------------------


def enter(
    store: Store,
    round: str,
    claim: Claim,
    worth: tuple[str, str],
    *,
    pseudonym_of: Callable[[str], str],
    at: float,
) -> Person:
    """The person who comes to a round with a claim; the same claim gives the same person.

    Args:
        store: the database.
        round: the round's name.
        claim: the claim.
        worth: what it is worth, checked or unchecked, and the status of its submission.
        pseudonym_of: gives the pseudonym of an id.
        at: now.
    """
    name = claim.participant if worth[0] == "checked" else None
    with store.change() as db:
        row = db.execute(
            "SELECT person FROM arrivals WHERE (id, participant) = (?1, ?2) AND person IS NOT NULL "
            "UNION ALL SELECT id FROM people WHERE name = ?3",
            (claim.id, claim.participant, name),
        ).fetchone()
        id = row[0] if row else fresh_id()
        db.execute(
            "INSERT OR IGNORE INTO people (id, pseudonym, name, since) VALUES (?, ?, '', ?)",
            (id, pseudonym_of(claim.participant), at),
        )
        db.execute(PUT, (*claim, round, id, at, *worth, "", 0))
        db.execute("INSERT OR IGNORE INTO admitted VALUES (?, ?)", (id, round))
        if name:
            db.execute(NAME, (name, id))
        return Person(*db.execute(f"SELECT {PERSON} FROM people WHERE id = ?", (id,)).fetchone())


NAME = (
    "UPDATE people SET name = ?1 WHERE id = ?2 AND name = '' "
    "AND NOT EXISTS (SELECT 1 FROM people WHERE name = ?1)"
)
PUT = (
    "INSERT INTO arrivals (id, participant, study, round, person, arrived, standing, status, "
    "outcome, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET person = coalesce(excluded.person, person), "
    "study = excluded.study, round = excluded.round, standing = excluded.standing, "
    "status = excluded.status, outcome = CASE WHEN excluded.person IS NOT NULL AND "
    "outcome = 'no_consent' THEN '' ELSE coalesce(nullif(outcome, ''), excluded.outcome) END"
)
"""Who declined may consent later; else the first outcome stays."""


def decline(store: Store, round: str, claim: Claim, worth: tuple[str, str], *, at: float) -> None:
    """Remember that somebody does not take part; nothing else is kept of them."""
    with store.change() as db:
        db.execute(PUT, (*claim, round, None, at, *worth, "no_consent", at))


def end(store: Store, person: str, round: str, outcome: str, *, at: float) -> None:
    """Remember how a person's part in a round ended; the first outcome stays."""
    with store.change(always=True) as db:
        db.execute(
            "UPDATE arrivals SET outcome = ?, ended = ? "
            "WHERE person = ? AND round = ? AND outcome = '' AND standing != 'returned'",
            (outcome, at, person, round),
        )


def forget(store: Store, participants: Collection[str]) -> None:
    """Forget that participants declined; what people claimed goes with them."""
    with store.change(always=True) as db:
        rows = [(participant,) for participant in participants]
        db.executemany("DELETE FROM arrivals WHERE participant = ? AND person IS NULL", rows)


def refresh(store: Store, crowd: "Prolific", round: str) -> dict[str, Seen]:
    """Ask for all submissions of a round, and judge its arrivals.

    Arrivals that the lists do not have are asked for one by one, once.

    Returns:
        By id the submissions of the round's studies.

    Raises:
        CurationError: the API cannot be asked; arrivals that were judged before stay judged.
    """
    mine, known = of_round(store, round), studies(store, round)
    listed: dict[str, Seen] = {}
    for study in {*known, *(one.study for one in mine if one.standing in ("checked", "returned"))}:
        rows = crowd.listed(study)
        if known and study not in known and rows:  # is it a part of one that is known?
            first = crowd.submission(next(iter(rows)))
            parent = first.parent if first else ""
            rows = {id: seen._replace(parent=parent) for id, seen in rows.items()}
        listed |= rows
    for one in sorted(mine, key=lambda one: one.id not in listed):
        seen = listed.get(one.id)
        if seen is None and one.standing != "unchecked":
            continue  # what was said last stays
        try:
            seen = seen or crowd.submission(one.id)
        except CurationError:
            if listed:  # such as for a submission to somebody else: it stays unchecked
                break
            raise
        worth = judged(one.claim, seen, known)
        if worth == (one.standing, one.status):
            continue
        with store.change(always=True) as db:
            db.execute(
                "UPDATE arrivals SET standing = ?, status = ? WHERE (id, participant) = (?, ?)",
                (*worth, one.id, one.participant),
            )
            if worth[0] != "forged":
                db.execute(NAME, (one.participant, one.person))
    return {id: s for id, s in listed.items() if not known or {s.study, s.parent} & {*known}}

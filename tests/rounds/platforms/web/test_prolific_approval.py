"""From the study's fields to approvals and bonuses, with people from a played Prolific."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from curation.rounds.platforms.web import arrivals
from curation.rounds.platforms.web.store import Store
from support.desk import Desk
from support.pages import pseudonyms, reviewed, work
from support.prolific import DOWN, EXPIRED, STUDY, Played


@pytest.fixture
def desk(forked: Any, tmp_path: Path, played: Played) -> Desk:
    """A review of three terms, each by three people from Prolific; two reviews pay the reward."""
    made = Desk.make(
        forked, tmp_path / "c", ["baker", "potter", "fiddler"],
        accept_times=(), pause_after=0, pay_review=0.10, currency="GBP",
    )  # fmt: skip
    made.does("rounds", "open", "review", "--name", "r", "--prolific")
    made.does("rounds", "study", "r", "--places", 5, "--id", STUDY)
    return made


def test_submissions_are_approved_and_paid_by_our_own_records(desk: Desk, played: Played) -> None:
    """Nine answers, five places: two reviews each are 0.20.

    | who | here | on Prolific | approved | bonus |
    |---|---|---|---|---|
    | one | finished, 3 | awaits review | yes | 3 * 0.10 - 0.20 = 0.10 |
    | two | under way, 1 | awaits review, with the code of one | no | – |
    | three | 2 | returned | no | 0.20 |
    | four | finished, 3 | active | no | 0.10 |
    | five | – | awaits review; never came | no | – |
    | six | claims the submission of one | – | no | – |
    """
    one, two, three, four, five = (played.reserve(n) for n in (1, 2, 3, 4, 5))
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        for claim, answers, finished in (
            (one, 3, True), (two, 1, False), (three, 2, False), (four, 3, True),
            (one._replace(participant="1" * 24), 0, False),
        ):  # fmt: skip
            name, at = pseudonyms(desk), time.time()
            person = arrivals.enter(store, "r", claim, ("unchecked", ""), pseudonym_of=name, at=at)
            store.consent(person.id, "r", at=at)
            assert work(store, "r", person, reviewed, answers) == answers if answers else True
            if finished:
                arrivals.end(store, person.id, "r", "finished", at=at)
    played.becomes("AWAITING REVIEW", one, two, five)
    played.becomes("RETURNED", three)
    for fault in (DOWN, EXPIRED):
        played.always = fault
        done = desk.run("rounds", "approve", "r", "--yes")
        assert (done.code, done.out, played.approved) == (1, "", [])
        assert "error: Prolific: answered " in done.err
    played.always = None
    made = desk.say("rounds", "approve", "r", "--yes")
    assert (made["complete"], made["became"]) == (1, {one.id: "APPROVED"})
    assert played.approved == [one.id]
    who = {pseudonyms(desk)(claim.participant): claim for claim in (one, two, three, four, five)}
    assert {who.get(each["person"]): each["reason"] for each in made["left"]} == {
        two: "not_finished", three: "returned", four: "not_ended", five: "unknown", None: "forged"
    }  # fmt: skip
    again = desk.say("rounds", "approve", "r", "--yes")
    assert (again["complete"], played.approved) == (0, [one.id])
    made = desk.say("rounds", "approve", "r", "--bonus")
    assert sorted((desk.rounds / "bonus-r-1.csv").read_text("utf-8").splitlines()) == sorted(
        [f"{one.participant},0.10", f"{three.participant},0.20", f"{four.participant},0.10"]
    )
    assert (made["people"], made["amount"], made["left"]) == (3, "0.40", {"under_way": 1})
    assert desk.say("rounds", "approve", "r", "--bonus")["file"] is None

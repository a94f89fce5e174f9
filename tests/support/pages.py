"""People who work on our own pages, without a browser: what the server does for them."""

import time
import uuid
from collections.abc import Callable
from typing import Any

from curation.campaign.store import open_campaign
from curation.rounds.answers import people
from curation.rounds.platforms.web.rounds import WebTask
from curation.rounds.platforms.web.store import Given, Person, Store
from support.desk import Desk, word

Fill = Callable[[WebTask, Person], dict[str, Any]]


def pseudonyms(desk: Desk) -> Callable[[str], str]:
    return people.pseudonyms(people.read_key(open_campaign(desk.root).settings.campaign.id))


def join(store: Store, desk: Desk, round: str, *names: str) -> list[Person]:
    """New people who consent to a round."""
    made = []
    for name in names:
        person = store.add_person(pseudonyms(desk), [round], name=name, at=time.time())
        store.consent(person.id, round, at=time.time())
        made.append(person)
    return made


def work(store: Store, round: str, person: Person, fill: Fill, most: int = 1000) -> int:
    """Somebody answers all that they are given; how many tasks."""
    for n in range(most):
        given = store.give(person, round, at=time.time())
        if not isinstance(given, Given):
            return n
        send(store, round, person, given.task.id, fill(given.task, person))
    return most


def send(store: Store, round: str, person: Person, task: str, fields: dict[str, Any]) -> str:
    id, now = uuid.uuid4().hex, time.time()
    return store.submit(person, round, task, id=id, fields=fields, seconds=60.0, at=now)


def reviewed(task: WebTask, person: Person) -> dict[str, Any]:
    drop = {"decision": "drop", "reasons": "insult|too_general"}
    return drop if task.data["term"] == "court jester" else {"decision": "keep"}


def written(task: WebTask, person: Person) -> dict[str, Any]:
    """An item that nobody wrote before."""
    here, *words = (word(person.id, task.id, n) for n in range(4))
    own = dict(zip(("stereotype", "anti_stereotype", "unrelated"), words, strict=True))
    return own | {"template": f"In {here} the {task.data['target']} is BLANK."}


def followed(task: WebTask, person: Person) -> dict[str, Any]:
    """The same with sentences that follow a context."""
    own = written(task, person)
    context = f"In {own.pop('template').split()[1]} came a {task.data['target']}."
    return {"context": context} | {name: f"It was {text}." for name, text in own.items()}


def labelled(golds: dict[str, str]) -> Fill:
    """People say of each sentence what its writer meant."""

    def fill(task: WebTask, person: Person) -> dict[str, Any]:
        return {f"label_{n}": golds[task.data[f"text_{n}"]] for n in (1, 2, 3)}

    return fill

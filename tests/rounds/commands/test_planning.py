"""Which items a round of validation has, how many answers it asks for, and whose count."""

from pathlib import Path
from typing import Any

import pytest

from curation.records import Person, Task
from support.commands import set_to
from support.desk import Desk, Row, label_row, write_csv

CONTEXTS = ("The baker sang BLANK.", "In May the baker walks BLANK.")
ITEM = {
    **{"annotator": "Wendy@Example.org", "domain": "profession", "target": "baker"},
    "submitted_at": "2026-03-01T00:00:00Z",
    **{"stereotype": "early", "anti_stereotype": "late", "unrelated": "octal"},
}
FILES = ("--platform", "files")


@pytest.fixture
def here(forked: Any, tmp_path: Path) -> Desk:
    """A campaign with two items, which came in a table."""
    made = Desk.make(forked, tmp_path / "c", ["baker"])
    rows = [{"item_id": f"i{n}", "context": text, **ITEM} for n, text in enumerate(CONTEXTS)]
    made.say("import", "answers", write_csv(made.out / "w.csv", rows))
    return made


def answer(here: Desk, task: Row, who: str, **more: str) -> Row:
    """One person labels all three associations as the writer meant them."""
    return label_row(task, who, here.golds(), 0) | more


@pytest.mark.parametrize(("labels", "asked"), [("all", 4), ("needed", 2)])
def test_the_writers_vote_is_asked_of_nobody(here: Desk, labels: str, asked: int) -> None:
    set_to(here.root, "count_writer = false", "count_writer = true")
    set_to(here.root, 'labels = "all"', f'labels = "{labels}"')
    here.open("validation", "v")
    tasks = here.records("v/tasks.jsonl", Task)
    assert len(tasks) == 2
    assert {t.wanted for t in tasks if not t.full or labels == "all"} == {asked}


def test_what_a_closed_round_left_open_goes_into_the_next(here: Desk) -> None:
    here.open("validation", "v1")
    one, two = here.export("v1")
    rows = [answer(here, one, f"v{n}") for n in range(3)] + [answer(here, two, "v0")]
    here.bring("v1", rows)
    assert "is in an open round" in here.refused("rounds", "open", "validation", *FILES)
    done = here.does("rounds", "close", "v1")
    assert "tasks still lack 6 answers, and nobody is asked for them now" in done.err  # 2 and 4
    assert "open the round again: curation rounds open validation --name v1" in done.err
    # The one with three of a kind is decided; the other has one of five.
    assert here.open("validation", "v2")["answers_asked"] == 4
    (left,) = here.export("v2")
    assert left["context"] == two["context"]


def test_a_round_that_does_not_count_is_warned_of(here: Desk) -> None:
    set_to(here.root, "rounds = []", 'rounds = ["main"]')
    done = here.run("rounds", "open", "validation", "--name", "v", *FILES)
    assert done.code == 0
    assert "does not name v" in done.err
    (first, _) = here.export("v")
    here.bring("v", [answer(here, first, f"v{n}") for n in range(5)])
    assert here.status("v")["remaining"] == 5  # and yet nothing is asked for twice


@pytest.mark.parametrize("said", ["no", "0", "false", "1"])
def test_only_a_version_that_was_shown_is_consent(here: Desk, said: str) -> None:
    here.open("validation", "v")
    one, two = here.export("v")
    version, bare = one["consent"], answer(here, two, "v0", consent="")
    came = here.bring("v", [answer(here, one, "v0", consent=said)])
    assert came["refused"] == {"no_consent": 1}
    file = write_csv(here.out / "bare.csv", [bare])
    assert version in here.refused("rounds", "import", "v", file, "--consent", said)
    assert here.bring("v", [bare], "bare.csv", "--consent", version)["new"] == 1
    people = {person.consent: person for person in here.records("people.jsonl", Person)}
    assert (people[version].answers, people[version].refused) == (2, 0)
    assert here.status("v")["remaining"] == 8


def test_an_address_is_one_however_it_is_written(here: Desk) -> None:
    here.open("validation", "v")
    came = here.bring("v", [answer(here, here.export("v")[0], "wendy@example.ORG")])
    assert came["refused"] == {"own_item": 1}

"""Which items a round of validation has, how many answers it asks for, and whose count."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.records import Person, Task
from support.commands import set_to
from support.desk import Desk, Row, label_row, write_csv

CONTEXTS = ("The baker sang BLANK.", "In May the baker walks BLANK.")
ITEM = {
    **{"annotator": "Wendy@Example.org", "domain": "profession", "target": "baker"},
    **{"stereotype": "early", "anti_stereotype": "late", "unrelated": "octal"},
}
FILES = ("--platform", "files")


class Two(Desk):
    """A campaign with two items, which came in a table."""

    def write(self, contexts: tuple[str, ...], **more: str) -> None:
        rows = [{"item_id": f"i{n}", "context": c, **ITEM, **more} for n, c in enumerate(contexts)]
        self.say("import", "answers", write_csv(self.out / "w.csv", rows))

    def deliver(self, name: str, rows: list[Row], *more: str) -> Any:
        path = write_csv(self.out / "answers.csv", rows)
        return self.run("rounds", "import", name, path, "--json", *more)

    def answer(self, task: Row, who: str, **more: str) -> Row:
        """One person labels all three associations as the writer meant them."""
        return label_row(task, who, self.golds(), 0) | more


@pytest.fixture
def here(forked: Any, tmp_path: Path) -> Two:
    made = Two.make(forked, tmp_path / "c", ["baker"])
    made.write(CONTEXTS, submitted_at="2026-03-01T00:00:00Z")
    return made


@pytest.mark.parametrize(("labels", "asked"), [("all", 4), ("needed", 2)])
def test_the_writers_vote_is_asked_of_nobody(here: Two, labels: str, asked: int) -> None:
    set_to(here.root, "count_writer = false", "count_writer = true")
    set_to(here.root, 'labels = "all"', f'labels = "{labels}"')
    here.open("validation", "v")
    tasks = here.records("v/tasks.jsonl", Task)
    assert len(tasks) == 2
    assert {t.wanted for t in tasks if not t.full or labels == "all"} == {asked}


def test_what_a_closed_round_left_open_goes_into_the_next(here: Two) -> None:
    here.open("validation", "v1")
    one, two = here.export("v1")
    rows = [here.answer(one, f"v{n}") for n in range(3)] + [here.answer(two, "v0")]
    assert here.deliver("v1", rows).code == 0
    assert "is in an open round" in here.refused("rounds", "open", "validation", *FILES)
    here.say("rounds", "close", "v1")
    # The one with three of a kind is decided; the other has one of five.
    assert here.open("validation", "v2")["answers_asked"] == 4
    (left,) = here.export("v2")
    assert left["context"] == two["context"]


def test_a_round_that_does_not_count_is_warned_of(here: Two) -> None:
    set_to(here.root, "rounds = []", 'rounds = ["main"]')
    done = here.run("rounds", "open", "validation", "--name", "v", *FILES)
    assert done.code == 0
    assert "does not name v" in done.err
    (first, _) = here.export("v")
    here.deliver("v", [here.answer(first, f"v{n}") for n in range(5)])
    assert here.status("v")["remaining"] == 5  # and yet nothing is asked for twice


@pytest.mark.parametrize("said", ["no", "0", "false", "1"])
def test_only_a_version_that_was_shown_is_consent(here: Two, said: str) -> None:
    here.open("validation", "v")
    tasks = here.export("v")
    done = here.deliver("v", [here.answer(tasks[0], "v0", consent=said)])
    assert json.loads(done.out)["refused"] == {"no_consent": 1}
    done = here.deliver("v", [here.answer(tasks[1], "v0", consent="")], "--consent", said)
    assert done.code == 1
    assert tasks[0]["consent"] in done.err
    version = tasks[0]["consent"]
    done = here.deliver("v", [here.answer(tasks[1], "v0", consent="")], "--consent", version)
    assert json.loads(done.out)["new"] == 1
    people = {person.consent: person for person in here.records("people.jsonl", Person)}
    assert (people[version].answers, people[version].refused) == (2, 0)
    assert here.status("v")["remaining"] == 8


def test_an_address_is_one_however_it_is_written(here: Two) -> None:
    here.open("validation", "v")
    done = here.deliver("v", [here.answer(here.export("v")[0], "wendy@example.ORG")])
    assert json.loads(done.out)["refused"] == {"own_item": 1}


def test_words_that_their_writer_changed_go_into_the_next_round(here: Two) -> None:
    times = {"submitted_at": "2026-03-01T00:00:00Z", "updated_at": "2026-03-02T00:00:00Z"}
    here.open("validation", "v")
    here.write(("The baker sang very BLANK.", CONTEXTS[1]), **times)
    found = here.status("v")
    assert (found["tasks"], found["void"], found["remaining"]) == (2, 1, 5)
    assert [row["context"] for row in here.export("v")] == [CONTEXTS[1]]
    assert here.open("validation", "v2")["tasks"] == 1
    assert [row["context"] for row in here.export("v2")] == ["The baker sang very BLANK."]

"""Which items a round of validation has, how many answers it asks for, and whose count."""

import csv
import json
from collections.abc import Callable
from typing import Any

import pytest

from curation.campaign import Campaign
from curation.files import read_records
from curation.records import Person, Task

WRITERS = "item_id,annotator,domain,target,context,stereotype,anti_stereotype,unrelated,"
CONTEXTS = ("The baker sang BLANK.", "In May the baker walks BLANK.")
MEANT = {"early": "stereotype", "late": "anti-stereotype", "octal": "unrelated"}
Row = dict[str, str]


class Desk:
    """A campaign with two written items; tables are exported and imported."""

    def __init__(self, forked: Any, campaign: Campaign) -> None:
        self.forked, self.root = forked, campaign.root
        campaign.rounds.mkdir()
        study = '[study]\ninstitution = "the Academy"\ncontact = "ask@example.invalid"\n'
        (campaign.rounds / "text.toml").write_text(study, "utf-8")
        self.write(CONTEXTS, submitted_at="2026-03-01T00:00:00Z", updated_at="")

    def write(self, contexts: tuple[str, ...], **more: str) -> None:
        heads = WRITERS + ",".join(more)
        rows = [
            f"i{n},Wendy@Example.org,profession,baker,{c},early,late,octal,"
            + ",".join(more.values())
            for n, c in enumerate(contexts)
        ]
        (self.root / "w.csv").write_text(
            "\n".join([heads.rstrip(","), *(r.rstrip(",") for r in rows)])
        )
        self.say("import", "answers", str(self.root / "w.csv"))

    def set(self, before: str, after: str) -> None:
        path = self.root / "campaign.toml"
        text = path.read_text("utf-8")
        assert text.count(before) == 1
        path.write_text(text.replace(before, after), "utf-8")

    def run(self, *args: str) -> Any:
        return self.forked(*args, "-c", self.root)

    def say(self, *args: str) -> Any:
        done = self.run(*args, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    def open(self, name: str) -> Any:
        return self.say("rounds", "open", "validation", "--name", name, "--platform", "files")

    def export(self, name: str) -> list[Row]:
        version = self.say("rounds", "export", name, "--format", "csv")["consent"]
        with (self.root / "tasks" / f"{name}.csv").open(newline="") as file:
            return [row | {"consent": version} for row in csv.DictReader(file)]

    def bring(self, name: str, rows: list[Row], *more: str) -> Any:
        path = self.root / "answers.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return self.run("rounds", "import", name, str(path), "--json", *more)

    def status(self, name: str) -> Any:
        return self.say("rounds", "status", name)[0]


def answer(task: Row, who: str, **more: str) -> Row:
    """One person labels all three associations as the writer meant them."""
    labels = {
        f"label_{n}": next(v for word, v in MEANT.items() if word in task[f"text_{n}"])
        for n in (1, 2, 3)
    }
    said = {"task_id": task["task_id"], "annotator": who, "consent": task["consent"]}
    return {**said, **labels, "seconds": "20", **more}


@pytest.fixture
def desk(forked: Any, campaign: Campaign) -> Callable[[], Desk]:
    return lambda: Desk(forked, campaign)


@pytest.mark.parametrize(("labels", "asked"), [("all", 4), ("needed", 2)])
def test_the_writers_vote_is_asked_of_nobody(desk: Any, labels: str, asked: int) -> None:
    here = desk()
    here.set("count_writer = false", "count_writer = true")
    here.set('labels = "all"', f'labels = "{labels}"')
    here.open("v")
    tasks = read_records(here.root / "2-rounds/v/tasks.jsonl", Task)
    assert len(tasks) == 2
    assert {t.wanted for t in tasks if not t.full or labels == "all"} == {asked}


def test_what_a_closed_round_left_open_goes_into_the_next(desk: Any) -> None:
    here = desk()
    here.open("v1")
    one, two = here.export("v1")
    rows = [answer(one, f"v{n}") for n in range(3)] + [answer(two, "v0")]
    assert here.bring("v1", rows).code == 0
    refused = here.run("rounds", "open", "validation", "--platform", "files")
    assert refused.code == 1
    assert "is in an open round" in refused.err
    here.say("rounds", "close", "v1")
    # The one with three of a kind is decided; the other has one of five.
    assert here.open("v2")["answers_asked"] == 4
    (left,) = here.export("v2")
    assert left["context"] == two["context"]


def test_a_round_that_does_not_count_is_warned_of(desk: Any) -> None:
    here = desk()
    here.set("rounds = []", 'rounds = ["main"]')
    done = here.run("rounds", "open", "validation", "--name", "v", "--platform", "files")
    assert done.code == 0
    assert "does not name v" in done.err
    (first, _) = here.export("v")
    here.bring("v", [answer(first, f"v{n}") for n in range(5)])
    assert here.status("v")["remaining"] == 5  # and yet nothing is asked for twice


@pytest.mark.parametrize("said", ["no", "0", "false", "1"])
def test_only_a_version_that_was_shown_is_consent(desk: Any, said: str) -> None:
    here = desk()
    here.open("v")
    tasks = here.export("v")
    done = here.bring("v", [answer(tasks[0], "v0", consent=said)])
    assert json.loads(done.out)["refused"] == {"no_consent": 1}
    done = here.bring("v", [answer(tasks[1], "v0", consent="")], "--consent", said)
    assert done.code == 1
    assert tasks[0]["consent"] in done.err
    version = tasks[0]["consent"]
    done = here.bring("v", [answer(tasks[1], "v0", consent="")], "--consent", version)
    assert json.loads(done.out)["new"] == 1
    people = {p.consent: p for p in read_records(here.root / "2-rounds/people.jsonl", Person)}
    assert (people[version].answers, people[version].refused) == (2, 0)
    assert here.status("v")["remaining"] == 8


def test_an_address_is_one_however_it_is_written(desk: Any) -> None:
    here = desk()
    here.open("v")
    done = here.bring("v", [answer(here.export("v")[0], "wendy@example.ORG")])
    assert json.loads(done.out)["refused"] == {"own_item": 1}


def test_words_that_their_writer_changed_go_into_the_next_round(desk: Any) -> None:
    here = desk()
    times = {"submitted_at": "2026-03-01T00:00:00Z", "updated_at": "2026-03-02T00:00:00Z"}
    here.open("v")
    here.write(("The baker sang very BLANK.", CONTEXTS[1]), **times)
    found = here.status("v")
    assert (found["tasks"], found["void"], found["remaining"]) == (2, 1, 5)
    assert [row["context"] for row in here.export("v")] == [CONTEXTS[1]]
    assert here.open("v2")["tasks"] == 1
    assert [row["context"] for row in here.export("v2")] == ["The baker sang very BLANK."]

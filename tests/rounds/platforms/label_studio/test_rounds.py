"""Rounds on a real server when people, owners and servers do what they should not."""

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_records
from curation.kinds import GOLDS
from curation.records import Item, Task
from curation.rounds.platforms.label_studio.client import LabelStudio
from support.answers import written
from support.desk import STUDY, Desk, write_csv
from support.label_studio import INSTRUCTIONS, fill_sign_up, invite_link, labels, project_of

CONTEXTS = ("The baker sang BLANK.", "In May the baker walks BLANK.", "BLANK went the baker home.")


class Published(Desk):
    """A campaign with three items by one writer, and a round of validation on the server."""

    def __init__(self, keyed: Any, root: Path, ls: LabelStudio, writer: str) -> None:
        super().__init__(keyed, root)
        self.ls = ls
        self.rounds.mkdir()
        (self.rounds / "text.toml").write_text(STUDY, "utf-8")
        rows = [
            written(item_id=f"i{n}", annotator=writer, context=context)
            for n, context in enumerate(CONTEXTS)
        ]
        table = write_csv(root / "writers.csv", rows)
        self.say("import", "answers", str(table))
        opening = ("rounds", "open", "validation", "--name", "v", "--platform", "label_studio")
        self.project = project_of(self.say(*opening))

    def tasks(self) -> dict[str, Task]:
        found = read_records(self.root / "2-rounds/v/tasks.jsonl", Task)
        return {str(task.item): task for task in found}

    def answer(self, person: Any, only: int = 99) -> list[str]:
        """Answer what a person is served. Returns our ids of the tasks."""
        served: list[str] = person.stream(self.project, lambda data: labels(data, GOLDS), only)
        return served


@pytest.fixture
def desk(campaign: Any, keyed: Any, ls: LabelStudio) -> Callable[..., Published]:
    return lambda writer="w1": Published(keyed, Path(campaign.root), ls, writer)


def test_the_link_to_sign_up_is_shown_whole(desk: Any, server: Any) -> None:
    here = desk()
    address = f"{server.url}/projects/{here.project}/data?labeling=1"
    link = invite_link(server.url, server.key)
    link += f"&next=/projects/{here.project}/data?labeling=1"
    assert here.say("rounds", "links") == [{"round": "v", "address": address, "sign_up": link}]
    said = here.does("rounds", "links", "v").out.splitlines()
    assert said == ["v", f"for annotators: {address}", f"to sign up first: {link}"]


def test_from_signing_up_to_the_first_task(desk: Any, server: Any, browser: Any) -> None:
    """The link leads there; and from Label Studio's first page it takes two clicks."""
    here = desk()
    (shown,) = here.say("rounds", "links")
    title = here.ls.to.ask("GET", f"projects/{here.project}/")["title"]
    for link in (shown["sign_up"], shown["sign_up"].split("&next=")[0]):
        page = browser.new_context().new_page()
        fill_sign_up(page, link, f"p-{secrets.token_hex(4)}@example.invalid")
        if link != shown["sign_up"]:
            page.get_by_text(title, exact=True).click()
            page.get_by_text("Label All Tasks").click()
        page.locator(INSTRUCTIONS).wait_for()
        assert page.url.startswith(f"{server.url}/projects/{here.project}/data?")
        page.context.close()


def test_tasks_deleted_on_the_server_are_put_back(desk: Any, sign_up: Any) -> None:
    """One has an answer, which is gone with it, and one has none."""
    here = desk()
    answered, other = here.answer(sign_up(), only=2)
    here.say("rounds", "pull", "v")
    every = {task.id for task in here.tasks().values()}
    gone = every - {other}
    assert answered in gone
    for task in gone:
        here.ls.to.ask("DELETE", f"tasks/{here.ls.asked(here.project)[task].id}/")
    assert here.ls.asked(here.project).keys() == every - gone
    here.say("rounds", "pull", "v", "--full")
    here.say("rounds", "top-up", "v")
    asked = here.ls.asked(here.project)
    assert [asked[task].overlap for task in gone] == [5, 5]
    assert {*here.answer(sign_up())} == every
    here.say("rounds", "close", "v")


def test_what_no_answer_can_serve_is_served_no_more(desk: Any, sign_up: Any) -> None:
    here = desk()
    assert len(here.answer(sign_up(), only=3)) == 3
    here.say("rounds", "pull", "v")
    assert here.status("v")["remaining"] == 12
    here.say("rounds", "exclude", "w1", "--reason", "made things up")
    status = here.status("v")
    assert (status["void"], status["remaining"]) == (3, 0)
    assert here.say("rounds", "top-up", "v")["answers"] == 0
    assert here.answer(sign_up()) == []
    here.say("rounds", "exclude", "w1", "--undo")
    assert here.status("v")["remaining"] == 12
    here.say("rounds", "top-up", "v")
    assert len(here.answer(sign_up())) == 3


def test_a_round_whose_project_is_gone_can_be_closed(desk: Any) -> None:
    here = desk()
    here.ls.to.ask("DELETE", f"projects/{here.project}/")
    done = here.run("rounds", "close", "v")
    assert done.code == 1
    assert "--offline" in done.err
    here.say("rounds", "close", "v", "--offline")
    assert here.status("v")["state"] == "closed"


def test_a_closed_round_is_served_no_more_until_it_is_opened_again(desk: Any, sign_up: Any) -> None:
    here, person = desk(), sign_up()
    assert len(here.answer(person, only=1)) == 1
    here.say("rounds", "close", "v")
    assert here.answer(person) == []
    opened = here.say("rounds", "open", "validation", "--name", "v")
    assert f"/projects/{here.project}/" in opened["address"]
    assert len(here.answer(person)) == 2


def test_erased_means_on_the_server_too(desk: Any, sign_up: Any) -> None:
    writer, validator = sign_up(), sign_up()
    here = desk(writer.email.upper())
    assert here.answer(writer) == []  # all are the writer's own
    here.answer(validator)
    here.say("rounds", "pull", "v")
    told = here.say("rounds", "withdraw", "--yes", writer.email, "--erase")
    assert told["erased"] == 6  # three items, and three times that he was kept from his own
    shown = here.ls.to.ask("GET", f"tasks/{here.ls.asked(here.project)[here.tasks()['i0'].id].id}/")
    assert shown["data"]["context"] == "(erased)"
    assert not read_records(here.root / "2-rounds/main/items.jsonl", Item)
    told = here.say("rounds", "withdraw", "--yes", validator.email, "--erase")
    assert here.ls.waiting(here.project) == 0
    assert here.say("rounds", "pull", "v", "--full")["new"] == 0
    left = [p for p in here.root.rglob("*") if p.is_file() and p.name != "writers.csv"]
    for words in (b"the baker sang", validator.email.encode(), writer.email.encode()):
        assert [p for p in left if words in p.read_bytes().lower()] == []


def test_two_campaigns_of_one_name_do_not_meet_on_a_server(
    desk: Any, cli: Any, keyed: Any, ls: LabelStudio, tmp_path: Path
) -> None:
    here = desk()
    assert cli("init", tmp_path / "other", "--yes").code == 0
    other = Published(keyed, tmp_path / "other", ls, "w1")
    assert other.project != here.project
    # A round that says another's number does not touch it.
    path = other.root / "2-rounds/v/round.json"
    said = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**said, "project": here.project}), "utf-8")
    done = other.run("rounds", "pull", "v")
    assert done.code == 1
    assert f"no project {here.project} of round v" in done.err

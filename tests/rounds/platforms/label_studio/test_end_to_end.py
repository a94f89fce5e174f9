"""Rounds on a real server with people in a real browser, from the commands to decisions."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_records
from curation.kinds import GOLDS
from curation.records import Decision, Item, Label, Rejection, Task
from support.commands import set_to
from support.desk import STUDY, Desk
from support.label_studio import Form, browser_of, invite_link, labels, project_of

WORDS = {
    "intrasentence": ("early", "late", "hexagonal", "The baker starts BLANK."),
    "intersentence": ("A baker came in.", "Her hands were floury.", "Her suit was spotless.",
                      "Comets have long tails."),
}  # fmt: skip
MEANT = {
    text: label
    for words in (
        ("The baker starts early.", "The baker starts late.", "The baker starts hexagonal."),
        WORDS["intersentence"][1:],
    )
    for text, label in zip(words, GOLDS, strict=True)
}


@pytest.fixture
def root(campaign: Any) -> Path:
    """A campaign with one term, one item of each kind on it, and labels = "needed"."""
    for before, after in (
        ("items = 5", "items = 1"),
        ('labels = "all"', 'labels = "needed"'),
        ("write_seconds = 10.0", "write_seconds = 0.0"),  # a browser's hand is quick
        ("label_seconds = 3.0", "label_seconds = 0.0"),
    ):
        set_to(campaign.root, before, after)
    campaign.folder("terms").mkdir()
    campaign.folder("rounds").mkdir()
    (campaign.folder("rounds") / "text.toml").write_text(STUDY, "utf-8")
    (campaign.folder("terms") / "edits.csv").write_text(
        "domain,term,action\nprofession,baker,add\n", "utf-8"
    )
    return Path(campaign.root)


def test_from_start_to_end(root: Path, keyed: Any, sign_up: Any, browser: Any, server: Any) -> None:
    desk = Desk(keyed, root)
    say, link = desk.say, invite_link(server.url, server.key)
    name = f"{root.parent.name}@example.invalid"
    seat = Form(browser_of(browser, link, f"Writer-{name}").new_page())
    for kind, words in WORDS.items():
        opening = ("rounds", "open", kind, "--name", kind, "--platform", "label_studio")
        opened = say(*opening, "--term", "baker")
        assert (opened["tasks"], opened["answers_asked"]) == (1, 1)
        assert say("rounds", "open", kind, "--name", kind)["address"] == opened["address"]
        seat.open(opened["address"])
        assert seat.refused(), "an empty form was taken"
        seat.write(*words)
        seat.tick("agree to take part")
        seat.submit()
        seat.page.wait_for_timeout(1500)
        assert [say("rounds", "pull", kind)["new"] for _ in range(2)] == [1, 0]
    items = [i for kind in WORDS for i in read_records(root / f"2-rounds/{kind}/items.jsonl", Item)]
    assert {i.kind for i in items} == set(WORDS)
    assert {a.sentence: a.intent for i in items for a in i.associations} == MEANT

    opening = ("rounds", "open", "validation", "--name", "v", "--platform", "label_studio")
    done = desk.run(*opening, "--json")
    assert done.code == 0, done.err
    assert "also holds intrasentence, intersentence" in done.err
    opened = json.loads(done.out)
    # One of the two is of the sample and asked for five, the other for three.
    assert (opened["tasks"], opened["answers_asked"]) == (2, 8)
    project = project_of(opened)
    tasks = {t.id: t for t in read_records(root / "2-rounds/v/tasks.jsonl", Task)}
    (short,) = (t.id for t in tasks.values() if not t.full)

    # The writer is served nothing, though two items lie there.
    seat.page.goto(opened["address"])
    seat.page.get_by_text(re.compile("No (more|tasks)", re.IGNORECASE)).first.wait_for()

    # A validator in the browser labels both; the form refuses the first try without labels.
    who = Form(browser_of(browser, link, f"validator-{name}").new_page())
    who.open(opened["address"])
    assert who.refused(), "an empty form was taken"
    for _ in tasks:
        body = who.page.locator(".cur")
        body.wait_for()
        said = str(body.inner_text())
        mine = sorted((said.index(text), label) for text, label in MEANT.items() if text in said)
        assert len(mine) == 3
        for number, (_, label) in enumerate(mine):
            choice = {"stereotype": "^Stereotype", "unrelated": "^Unrelated"}.get(label, "^Anti")
            who.tick(re.compile(choice), number)
        who.tick("agree to take part")
        who.submit()
        who.page.wait_for_timeout(2500)

    # Two more: one answers twice through the API. The short item has its three, one disagrees.
    second, third = sign_up(), sign_up()
    for person in (second, third):
        while task := person.next(project):
            result = labels(task["data"], MEANT)
            if task["data"]["task_id"] == short:
                on_server, right = task["id"], list(map(dict, result))
                if person is third:
                    for mark in result[:3]:
                        mark["value"] = {"choices": ["unrelated"]}
            person.answer(task["id"], result)
    second.answer(on_server, right)
    pulled = say("rounds", "pull", "v")
    assert pulled["refused"] == {"second_answer": 1}
    status = desk.status("v")
    # The short item: 3 of 3 say unrelated of one association, 2 of 3 are split on the others.
    assert (status["people"], status["decided"], status["remaining"]) == (3, 1, 3)

    topped = say("rounds", "top-up", "v")
    assert topped == {"round": "v", "tasks": 1, "answers": 1, "to_export": 0}
    assert say("rounds", "top-up", "v")["answers"] == 0
    for person in (sign_up(), sign_up()):
        person.stream(project, lambda data: labels(data, MEANT))
    say("rounds", "pull", "v")
    status = desk.status("v")
    assert (status["decided"], status["remaining"]) == (2, 0)
    say("rounds", "close", "v")

    say("decisions", "filter")
    decisions = read_records(root / "3-decisions/decisions.jsonl", Decision)
    assert [d.kept for d in decisions] == [True, True]
    golds = {v.id: v.gold for d in decisions for v in d.verdicts}
    assert golds == {a.id: MEANT[a.sentence] for i in items for a in i.associations}
    by_task = Counter(x.item for x in read_records(root / "2-rounds/v/labels.jsonl", Label))
    assert by_task == {tasks[short].item: 12, **{t.item: 15 for t in tasks.values() if t.full}}
    refused = read_records(root / "2-rounds/v/rejected.jsonl", Rejection)
    assert [r.code for r in refused] == ["second_answer"]
    # Accounts stand in the private archive alone.
    told = [p for p in (root / "2-rounds").rglob("*.jsonl") if p.parent.name != "raw"]
    assert not [p for p in told if "@example.invalid" in p.read_text("utf-8")]

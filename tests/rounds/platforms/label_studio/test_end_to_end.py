"""A writer in a real browser on a real server: what is written comes back as items."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_records
from curation.kinds import GOLDS
from curation.records import Item
from support.commands import set_to
from support.desk import STUDY, Desk
from support.label_studio import Form, browser_of, invite_link

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


def test_from_the_opening_to_items(root: Path, keyed: Any, browser: Any, server: Any) -> None:
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

    # The writer is served nothing, though two items lie there.
    seat.page.goto(opened["address"])
    seat.page.get_by_text(re.compile("No (more|tasks)", re.IGNORECASE)).first.wait_for()

    # Accounts stand in the private archive alone.
    told = [p for p in (root / "2-rounds").rglob("*.jsonl") if p.parent.name != "raw"]
    assert not [p for p in told if "@example.invalid" in p.read_text("utf-8")]

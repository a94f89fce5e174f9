"""A campaign remembers what was read, and reads again what has changed."""

import pickle
from hashlib import sha256
from pathlib import Path

import pytest

from curation.campaign import stamps
from curation.campaign.datasets import ITEMS, TASKS
from curation.campaign.store import Campaign, open_campaign
from curation.files import dump_line


@pytest.fixture
def campaign(finished: Path) -> Campaign:
    return open_campaign(finished)


def test_what_was_read_is_remembered_until_its_file_changes(campaign: Campaign) -> None:
    items, path = campaign.items, campaign.folder("rounds") / "main" / "items.jsonl"
    assert len(items) > 100
    assert campaign.items is items
    assert campaign.terms is campaign.terms
    assert campaign.tasks["write-2"] is campaign.tasks["write-2"]
    assert campaign.round("write-2") is campaign.round("write-2")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    assert len(campaign.items) == len(items) - 1
    path.unlink()
    (campaign.folder("rounds") / "new" / "raw").mkdir(parents=True)
    (campaign.folder("rounds") / "new" / "raw" / "a.jsonl").touch()
    others = [item for item in items if item.round != "main"]
    assert campaign.items == tuple(others)
    (campaign.folder("rounds") / "new" / "items.jsonl").write_bytes(dump_line(items[0]))
    assert {*campaign.items} == {*others, items[0]}


def test_what_is_not_needed_any_more_can_be_freed(campaign: Campaign) -> None:
    items = campaign.items
    tasks, terms = campaign.tasks["write-2"], campaign.terms
    campaign.forget(ITEMS, TASKS)
    assert campaign.items == items
    assert campaign.items is not items
    assert campaign.tasks["write-2"] is not tasks
    assert campaign.terms is terms


def test_a_campaign_is_not_given_to_other_processes(campaign: Campaign) -> None:
    with pytest.raises(TypeError, match="give a process its folder"):
        pickle.dumps(campaign)


def test_a_file_is_hashed_once_until_it_changes(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = campaign.root / "a.txt"
    assert (campaign.digest(path), campaign.lines(path)) == ("", None)
    hashed, real = [], stamps.hash_file
    monkeypatch.setattr(stamps, "hash_file", lambda path: hashed.append(path) or real(path))
    path.write_text("a\nb", "utf-8")
    assert campaign.digest(path) == campaign.digest(path) == sha256(b"a\nb").hexdigest()
    assert campaign.lines(path) == 2
    path.write_text("a\nb\nc\n", "utf-8")
    assert campaign.lines(path) == 3
    assert hashed == [path] * 2


def test_nobody_changes_what_others_get(campaign: Campaign) -> None:
    table = campaign.labels
    values = table["value"].tolist()
    table["value"] = "other"
    table["more"] = 1
    assert campaign.labels["value"].tolist() == values
    assert "more" not in campaign.labels
    for value in (campaign.items, campaign.rounds, campaign.standing, campaign.tasks["write-2"]):
        assert isinstance(value, tuple)
    with pytest.raises(TypeError):
        campaign.terms["x"] = next(iter(campaign.terms.values()))  # type: ignore[index]

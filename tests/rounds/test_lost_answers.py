"""A lost raw answer is noticed, also after somebody followed the fix of a damaged manifest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from curation.campaign.store import Campaign, open_campaign
from curation.pipeline import bring_up_to_date
from curation.rounds.importing import import_answers
from support.answers import Row, written
from support.commands import set_to
from support.expected import fails


class Labelled:
    """A campaign with two segments: an item, and its nine labels."""

    def __init__(self, campaign: Campaign, folder: Path) -> None:
        set_to(campaign.root, "consent = true", "consent = false")
        self.campaign = open_campaign(campaign.root)
        self.record = campaign.folder("rounds") / "segments.json"
        self.manifest = campaign.folder("rounds") / "manifest.json"
        self.bring(folder / "w.jsonl", "main", written(item_id=None))
        (item,) = self.campaign.items
        rows = [
            {"item_id": item.id, "annotator": f"v{n}", "association": a.id, "label": "stereotype"}
            for n in range(3)
            for a in item.associations
        ]
        self.bring(folder / "l.jsonl", "labels", *rows)
        (self.segment,) = (campaign.folder("rounds") / "labels" / "raw").iterdir()
        self.content = self.segment.read_bytes()
        self.check_labels()

    def bring(self, path: Path, round: str, *rows: Row) -> None:
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
        import_answers(self.campaign, path, round=round)

    def run(self) -> None:
        with self.campaign.lock():
            bring_up_to_date(self.campaign, "answers")

    def check_labels(self) -> None:
        assert len(self.campaign.labels) == 9

    def check_lost(self) -> None:
        """With a segment gone nothing runs, and with it there everything does."""
        self.segment.unlink()
        with fails("these raw answers are missing", str(self.segment)):
            self.run()
        self.check_labels()
        self.segment.write_bytes(self.content)
        self.run()
        self.check_labels()


@pytest.fixture
def here(campaign: Campaign, tmp_path: Path) -> Labelled:
    return Labelled(campaign, tmp_path)


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


def test_following_the_fix_does_not_switch_off_the_check(here: Labelled) -> None:
    damage(here.manifest)
    with fails() as caught:
        here.run()
    assert caught.value.fix == "delete the file; the steps will run again"
    here.manifest.unlink()
    here.check_lost()


@pytest.mark.parametrize("harm", [damage, Path.unlink], ids=["damaged", "deleted"])
def test_the_record_is_written_again(here: Labelled, harm: Callable[[Path], Any]) -> None:
    before = here.record.read_bytes()
    harm(here.record)
    here.check_lost()
    assert here.record.read_bytes() == before


def test_if_both_are_damaged_no_fix_says_to_delete_the_record(here: Labelled) -> None:
    damage(here.record)
    here.manifest.unlink()
    with fails("segments.json: is damaged") as caught:
        here.run()
    assert caught.value.fix == "put the file back from a backup or from version control"


def test_without_the_list_no_fix_says_to_delete_the_manifest(here: Labelled) -> None:
    here.record.unlink()
    damage(here.manifest)
    with fails() as caught:
        here.run()
    assert caught.value.fix.startswith("put the file back from a backup")


def test_a_round_that_lost_all_its_answers_is_noticed_by_its_results(here: Labelled) -> None:
    for path in (here.record, here.manifest, here.segment):
        path.unlink()
    with fails("labels/raw: these raw answers are missing"):
        here.run()
    here.check_labels()

"""A lost raw answer is noticed, also after somebody followed the fix of a damaged manifest."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign, open_campaign
from curation.files import CurationError
from curation.steps import read
from curation.steps.importing import import_answers
from curation.steps.pipeline import bring_up_to_date

WRITTEN = {
    "domain": "profession",
    "target": "baker",
    "kind": "intrasentence",
    "context": "The baker is BLANK.",
    "stereotype": "The baker is early.",
    "anti-stereotype": "The baker is late.",
    "unrelated": "The baker is a lamp.",
    "annotator": "ann",
}


@pytest.fixture
def labelled(campaign: Campaign, tmp_path: Path) -> Campaign:
    """A campaign with two segments: an item, and its labels."""
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps(WRITTEN) + "\n", "utf-8")
    text = (campaign.root / "campaign.toml").read_text("utf-8")
    (campaign.root / "campaign.toml").write_text(
        text.replace("consent = true", "consent = false"), "utf-8"
    )
    opened = open_campaign(campaign.root)
    import_answers(opened, path, round="main")
    item = read.read_items(opened)[0]
    rows = [
        {"item_id": item.id, "annotator": f"v{n}", "association": each.id, "label": "stereotype"}
        for n in range(3)
        for each in item.associations
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    import_answers(opened, path, round="labels")
    assert len(read.read_labels(opened)) == 9
    return opened


def run(campaign: Campaign) -> None:
    with campaign.lock():
        bring_up_to_date(campaign, "answers")


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


def segment(campaign: Campaign, round: str = "labels") -> Path:
    return next((campaign.rounds / round / "raw").iterdir())


def test_following_the_fix_does_not_switch_off_the_check(labelled: Campaign) -> None:
    manifest = labelled.rounds / "manifest.json"
    damage(manifest)
    with pytest.raises(CurationError) as caught:
        run(labelled)
    assert caught.value.fix == "delete the file; the steps will run again"
    manifest.unlink()
    lost = segment(labelled)
    content = lost.read_bytes()
    lost.unlink()
    with pytest.raises(CurationError, match="these raw answers are missing") as caught:
        run(labelled)
    assert str(lost) in caught.value.what
    assert len(read.read_labels(labelled)) == 9
    lost.write_bytes(content)
    run(labelled)
    assert len(read.read_labels(labelled)) == 9


@pytest.mark.parametrize("harm", [damage, Path.unlink], ids=["damaged", "deleted"])
def test_the_manifest_alone_is_enough_and_the_record_is_written_again(
    labelled: Campaign, harm: Callable[[Path], Any]
) -> None:
    record = labelled.rounds / "segments.json"
    before = record.read_bytes()
    harm(record)
    lost = segment(labelled)
    content = lost.read_bytes()
    lost.unlink()
    with pytest.raises(CurationError, match="these raw answers are missing"):
        run(labelled)
    lost.write_bytes(content)
    run(labelled)
    assert record.read_bytes() == before


def test_if_both_are_damaged_no_fix_says_to_delete_the_record(labelled: Campaign) -> None:
    damage(labelled.rounds / "segments.json")
    (labelled.rounds / "manifest.json").unlink()
    with pytest.raises(CurationError, match=r"segments\.json: is damaged") as caught:
        run(labelled)
    assert caught.value.fix == "put the file back from a backup or from version control"


def test_without_the_list_no_fix_says_to_delete_the_manifest(labelled: Campaign) -> None:
    (labelled.rounds / "segments.json").unlink()
    damage(labelled.rounds / "manifest.json")
    with pytest.raises(CurationError) as caught:
        run(labelled)
    assert caught.value.fix.startswith("put the file back from a backup")


def test_a_round_that_lost_all_its_answers_is_noticed_by_its_results(labelled: Campaign) -> None:
    for name in ("segments.json", "manifest.json"):
        (labelled.rounds / name).unlink()
    segment(labelled).unlink()
    with pytest.raises(CurationError, match=r"labels/raw: these raw answers are missing"):
        run(labelled)
    assert len(read.read_labels(labelled)) == 9

"""The interchange format: the tiers of the CATs in a gold file."""

from pathlib import Path
from typing import Any

import pytest

from curation.catsets.stereoset import dataset, read_cats, read_entries, votes
from curation.files import dump_json
from curation.kinds import GOLDS
from curation.records import Cat

LABELS = {"s": "stereotype", "a": "anti-stereotype", "u": "unrelated", "r": "related", "?": "odd"}


def gold_file(folder: Path, *votes: str, **more: Any) -> Path:
    """A gold file with one CAT whose sentences have these labels, a letter each."""
    sentences = [
        {"id": gold, "sentence": gold, "gold_label": gold,
         "labels": [{"label": LABELS[letter], "human_id": "h"} for letter in letters]}
        for gold, letters in zip(GOLDS, votes, strict=True)
    ]  # fmt: skip
    item = {"id": "1", "target": "x", "bias_type": "race", "context": "c", "sentences": sentences}
    path = folder / "gold.json"
    path.write_bytes(dump_json({"version": "1", "data": {"intersentence": [item | more]}}))
    return path


@pytest.mark.parametrize(
    ("votes", "tier"),
    [
        (("sssss", "aaaau", "uuuur"), 4),
        (("sssaa", "aaaaa", "uuuuu"), 3),
        (("ssss", "aaaaa", "uuuuu"), None),
        # A label outside the vocabulary is no vote: four are left.
        (("ssss?", "aaaaa", "uuuuu"), None),
        (("", "", ""), None),
    ],
)
def test_labels_give_the_tier(
    tmp_path: Path, votes: tuple[str, str, str], tier: int | None
) -> None:
    (cat,) = read_cats(gold_file(tmp_path, *votes))
    assert cat.tier == tier


def test_labels_that_are_not_a_list_are_no_votes(tmp_path: Path) -> None:
    (entry,) = read_entries(gold_file(tmp_path, "s", "a", "u"))
    assert votes(entry.item["sentences"][0]) == (1, 0, 0, 0)
    assert votes({"labels": None}) == votes({"labels": ["stereotype"]}) == votes({}) == (0, 0, 0, 0)


def test_a_files_own_tier_goes_before_its_labels(tmp_path: Path) -> None:
    # The writer's intent is one of the five votes, and is not published: four labels are left.
    four = ("ssss", "aaaa", "uuuu")
    (cat,) = read_cats(gold_file(tmp_path, *four, tier=5))
    assert cat.tier == 5
    path = tmp_path / "again.json"
    path.write_bytes(dump_json(dataset([cat], {}, version="2")))
    (again,) = read_cats(path)
    assert again.tier == 5
    (odd,) = read_cats(gold_file(tmp_path, *four, tier="gold"))
    assert odd.tier is None, "another field of this name is passed over"


def test_cats_from_before_there_were_tiers_are_read() -> None:
    sentences = [{"id": gold, "sentence": gold, "gold": gold} for gold in GOLDS]
    old = {
        **{"id": "1", "kind": "intersentence", "domain": "race", "term": "t", "target": "x"},
        **{"family": "x", "split": "dev", "context": "c", "associations": tuple(sentences)},
    }
    assert Cat.model_validate(old).tier is None

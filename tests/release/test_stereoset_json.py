"""A release's StereoSet files are read by the code that was written for StereoSet, and by ours."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.catsets.stereoset import read_cats
from curation.records import KINDS, SplitName
from curation.release import data_files
from curation.release.contents import HUB_SPLITS, SPLITS
from curation.text.item_form import attribute
from support import harnesses
from support.labelled import Desk
from support.written import fails, items


@pytest.mark.parametrize("split", SPLITS)
def test_stereosets_own_loader_reads_every_cat(example_release: Path, split: str) -> None:
    path = example_release / f"{split}.json"
    found = harnesses.stereoset(path)
    cats = {cat.id: cat for cat in read_cats(path)}
    for kind in KINDS:
        for read in found[kind]:
            cat = cats.pop(read.id)
            about = (cat.kind, cat.domain, cat.target, cat.context)
            assert (kind, read.bias_type, read.target, read.context) == about
            assert [(s.id, s.sentence, s.gold) for s in read.sentences] == [
                (option.id, option.sentence, option.gold) for option in cat.associations
            ]
            for sentence in read.sentences:
                given = Counter(label for _, label in sentence.labels)
                assert given[sentence.gold] >= 3
    assert not cats


@pytest.mark.parametrize("split", SPLITS)
def test_bias_bench_reads_fillers_of_one_word(example_release: Path, split: str) -> None:
    words = 0
    for cat in harnesses.bias_bench(example_release / f"{split}.json"):
        for sentence in cat.sentences:
            start, end = attribute(cat.context, sentence.sentence)
            filler = sentence.sentence[start:end]
            if filler.isalpha():
                assert sentence.word == filler
                words += 1
    assert words > 10


@pytest.mark.parametrize("split", SPLITS)
def test_parquet_files_have_the_same_cats(example_release: Path, split: SplitName) -> None:
    own = {cat.id: cat for cat in read_cats(example_release / f"{split}.json")}
    for kind in KINDS:
        path = example_release / data_files.parquet_path(kind, HUB_SPLITS[split])
        for cat in read_cats(path):
            before = own.pop(cat.id)
            assert cat == before.model_copy(update={"target_original": None, "tier": cat.tier})
            assert cat.tier in (None, before.tier)  # of other numbers of labels it is unknown
    assert not own


def test_anonymous_cats_are_the_same(example_release: Path, example_anonymous: Path) -> None:
    for name in ("dev.json", "test.json"):
        assert read_cats(example_release / name) == read_cats(example_anonymous / name)


def test_files_of_other_languages_are_read(arabic_release: Path, japanese_release: Path) -> None:
    for folder, kind, people in (
        (arabic_release, "intersentence", 5),
        (japanese_release, "intrasentence", 0),
    ):
        for split in SPLITS:
            own = read_cats(folder / f"{split}.json")
            parquet = read_cats(folder / data_files.parquet_path(kind, HUB_SPLITS[split]))
            assert [(c.id, c.context, c.associations) for c in own] == [
                (c.id, c.context, c.associations) for c in parquet
            ]
            assert own
            sentences = [s for item in items(folder / f"{split}.json") for s in item["sentences"]]
            assert {len(s["labels"]) for s in sentences} <= {0, people}


def test_hidden_gold_labels_stop_our_readers(example_hidden: Path) -> None:
    assert read_cats(example_hidden / "dev.json")
    files = ["test.json", *(data_files.parquet_path(kind, "test") for kind in KINDS)]
    for name in files:
        with fails("hidden"):
            read_cats(example_hidden / name)


def test_an_import_of_the_release_gives_its_cats(
    example: Path, example_release: Path, forked: Any, tmp_path: Path
) -> None:
    assert forked("init", tmp_path / "c", "--yes").code == 0
    desk = Desk(forked, tmp_path / "c")
    for split in SPLITS:
        desk.done("import", "stereoset", example_release / f"{split}.json")
    for step in ("filter", "split"):
        desk.done("decisions", step)
    texts = {c.id: c for split in SPLITS for c in read_cats(example_release / f"{split}.json")}
    back = {cat.id: cat for cat in desk.cats()}
    own = {cat.id: cat for cat in Desk(forked, example).cats()}
    assert set(back) == set(texts) == set(own)
    for name, cat in back.items():
        for other in (texts[name], own[name]):
            for field in ("kind", "domain", "target", "context", "tier", "associations"):
                assert getattr(cat, field) == getattr(other, field)

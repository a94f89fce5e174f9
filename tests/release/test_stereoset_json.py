"""A release's StereoSet files are read by the code that was written for StereoSet, and by ours."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from curation.catsets.stereoset import read_cats
from curation.files import CurationError, read_records
from curation.records import KINDS, Cat, SplitName
from curation.release import data_files
from curation.release.contents import HUB_SPLITS, SPLITS
from curation.text.item_form import attribute
from support import harnesses

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def release(example_release: Path) -> Path:
    return example_release


@pytest.mark.parametrize("split", SPLITS)
def test_stereosets_own_loader_reads_every_cat(release: Path, split: str) -> None:
    path = release / f"{split}.json"
    found = harnesses.stereoset(path)
    cats = {cat.id: cat for cat in read_cats(path)}
    assert Counter(kind for kind in KINDS for _ in found[kind]) == Counter(
        cat.kind for cat in cats.values()
    )
    for kind in KINDS:
        for read in found[kind]:
            cat = cats.pop(read.id)
            assert (read.bias_type, read.target, read.context) == (
                cat.domain, cat.target, cat.context,
            )  # fmt: skip
            assert [(s.id, s.sentence, s.gold) for s in read.sentences] == [
                (option.id, option.sentence, option.gold) for option in cat.associations
            ]
            for sentence in read.sentences:
                given = Counter(label for _, label in sentence.labels)
                assert given[sentence.gold] >= 3
    assert not cats


@pytest.mark.parametrize("split", SPLITS)
def test_bias_bench_reads_fillers_of_one_word(release: Path, split: str) -> None:
    words = 0
    for cat in harnesses.bias_bench(release / f"{split}.json"):
        for sentence in cat.sentences:
            start, end = attribute(cat.context, sentence.sentence)
            filler = sentence.sentence[start:end]
            if filler.isalpha():
                assert sentence.word == filler
                words += 1
    assert words > 10


@pytest.mark.parametrize("split", SPLITS)
def test_parquet_files_have_the_same_cats(release: Path, split: SplitName) -> None:
    own = {cat.id: cat for cat in read_cats(release / f"{split}.json")}
    for kind in KINDS:
        path = release / data_files.parquet_path(kind, HUB_SPLITS[split])
        for cat in read_cats(path):
            before = own.pop(cat.id)
            assert cat == before.model_copy(update={"target_original": None, "tier": cat.tier})
            assert cat.tier in (None, before.tier)  # of other numbers of labels it is unknown
    assert not own


def test_an_anonymous_release_has_the_same_cats(release: Path, example_anonymous: Path) -> None:
    for split in SPLITS:
        own, other = (
            read_cats(folder / f"{split}.json") for folder in (release, example_anonymous)
        )
        assert own == other


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
            content = json.loads((folder / f"{split}.json").read_text("utf-8"))["data"][kind]
            labels = {len(s["labels"]) for item in content for s in item["sentences"]}
            assert labels <= {0, people}


def test_hidden_gold_labels_stop_our_readers(example_hidden: Path) -> None:
    assert read_cats(example_hidden / "dev.json")
    files = ["test.json", *(data_files.parquet_path(kind, "test") for kind in KINDS)]
    for name in files:
        with pytest.raises(CurationError, match="hidden"):
            read_cats(example_hidden / name)


def test_an_import_of_the_release_gives_its_cats(
    example: Path, release: Path, forked: Cli, tmp_path: Path
) -> None:
    root = tmp_path / "campaign"
    code, _, err = forked("init", root, "--yes")
    assert code == 0, err
    for split in SPLITS:
        code, _, err = forked("import", "stereoset", release / f"{split}.json", "-c", root)
        assert code == 0, err
    for step in ("filter", "split"):
        code, _, err = forked("decisions", step, "-c", root)
        assert code == 0, err
    texts = {cat.id: cat for split in SPLITS for cat in read_cats(release / f"{split}.json")}
    back = {cat.id: cat for cat in read_records(root / "3-decisions" / "cats.jsonl", Cat)}
    own = {cat.id: cat for cat in read_records(example / "3-decisions" / "cats.jsonl", Cat)}
    assert set(back) == set(texts) == set(own)
    for name, cat in back.items():
        for other in (texts[name], own[name]):
            assert (cat.kind, cat.domain, cat.target, cat.context, cat.tier) == (
                other.kind, other.domain, other.target, other.context, other.tier,
            )  # fmt: skip
            assert cat.associations == other.associations

"""Imports and gold files take every layout, and mapping files."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.source import gold_source
from curation.campaign.store import Campaign
from curation.rounds.importing import import_stereoset
from support import catsets
from support.catsets import LAYOUTS, items, mapping


def test_a_mapping_file_is_a_gold_file(tmp_path: Path) -> None:
    LAYOUTS["sentences.csv"](tmp_path / "a.csv")
    source = gold_source([mapping(tmp_path, 'files = ["a.csv"]\nlanguage = "lt"\n')])
    assert (source.language, source.split, len(source.cats)) == ("lt", "map", 4)


def test_a_gold_command_says_how_the_file_was_read(tmp_path: Path, forked: Any) -> None:
    catsets.write_json(tmp_path / "a.json", [*items(), *items()[:1]])
    path = mapping(tmp_path, 'files = ["a.json"]\nskip = "bad"\n')
    done = forked("measures", "pitfalls", "--gold", path, "--language", "xx")
    assert done.code == 0, done.err
    assert "map.toml: 1 item left out by «skip», not CATs or repeated" in done.err
    assert "not used" not in done.err


@pytest.mark.parametrize("name", ["hf.parquet", "options.csv", "unlearning.json"])
def test_an_import_takes_other_layouts(tmp_path: Path, campaign: Campaign, name: str) -> None:
    path = LAYOUTS[name](tmp_path / name)
    done = import_stereoset(campaign, path)
    assert (done.rows, done.items, done.rejected) == (4, 4, {})
    assert done.labels == (4 * 3 * 5 if name == "hf.parquet" else 0)
    again = import_stereoset(campaign, path)
    assert (again.added, again.known, again.items) == (0, 4, 4)


def test_a_bad_item_is_refused_alone(tmp_path: Path, campaign: Campaign) -> None:
    rows = [catsets.option_row(item) for item in items()]
    rows[2]["Unrelated Sentence"] = ""
    done = import_stereoset(campaign, catsets.write_csv(tmp_path / "a.csv", rows))
    assert (done.items, done.rejected) == (3, {"wrong_association_count": 1})


@pytest.fixture
def refused(campaign: Campaign, forked: Any, untouched: Any) -> Callable[..., None]:
    """Check that imports and gold commands refuse a file, and that a campaign stays as it is."""

    def check(path: Path, says: str, fix: str, imports: Sequence[str] = ("stereoset",)) -> None:
        before = untouched(campaign.root)
        for words in (
            *(("import", name, path, "-c", campaign.root) for name in imports),
            ("measures", "statistics", "--gold", path),
        ):
            done = forked(*words)
            assert (done.code, done.out) == (1, "")
            assert says in done.err
            assert done.err.endswith(f"fix:   {fix}\n")
        assert untouched(campaign.root) == before

    return check


def test_a_parquet_file_that_is_cut_short(tmp_path: Path, refused: Any) -> None:
    path = LAYOUTS["hf.parquet"](tmp_path / "a.parquet")
    path.write_bytes(path.read_bytes()[:-100])
    says = f"error: {path}: cannot be read as Parquet: the file ends in the middle"
    refused(path, says, "it was probably cut off: fetch it again")


def test_a_pipe_is_refused(tmp_path: Path, refused: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        path = tmp_path / name
        says = f"error: {path}: is a device or a pipe, not a file"
        refused(path, says, "save what it gives as a file, and name it", ("stereoset", "answers"))

"""Imports and gold files take every layout, and mapping files."""

import os
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign
from curation.steps.importing import import_stereoset
from curation.steps.source import gold_source
from support import catsets
from support.catsets import LAYOUTS, items


def test_a_mapping_file_is_a_gold_file(tmp_path: Path) -> None:
    LAYOUTS["sentences.csv"](tmp_path / "a.csv")
    path = tmp_path / "lt.toml"
    path.write_text('files = ["a.csv"]\nlanguage = "lt"\n', "utf-8")
    source = gold_source([path])
    assert (source.language, source.split, len(source.cats)) == ("lt", "lt", 4)


def test_a_gold_command_says_how_the_file_was_read(tmp_path: Path, forked: Any) -> None:
    catsets.write_json(tmp_path / "a.json", [*items(), *items()[:1]])
    path = tmp_path / "map.toml"
    path.write_text('files = ["a.json"]\nskip = "bad"\n', "utf-8")
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


def test_a_mapping_file_that_names_a_missing_column(
    tmp_path: Path, campaign: Campaign, forked: Any, untouched: Any
) -> None:
    LAYOUTS["sentences.csv"](tmp_path / "a.csv")
    path = tmp_path / "map.toml"
    path.write_text('files = ["a.csv"]\n[columns]\ncontext = "context_pt"\n', "utf-8")
    before = untouched(campaign.root)
    done = forked("import", "stereoset", path, "-c", campaign.root)
    assert (done.code, done.out) == (1, "")
    assert "map.toml line 3, columns.context: a.csv has no column «context_pt»" in done.err
    assert done.err.endswith("fix:   did you mean 'context'?\n")
    assert untouched(campaign.root) == before
    done = forked("measures", "pitfalls", "--gold", path, "--language", "en")
    assert (done.code, done.out) == (1, "")
    assert "columns.context: a.csv has no column «context_pt»" in done.err


def test_a_parquet_file_that_is_cut_short(
    tmp_path: Path, campaign: Campaign, forked: Any, untouched: Any
) -> None:
    path = LAYOUTS["hf.parquet"](tmp_path / "a.parquet")
    path.write_bytes(path.read_bytes()[:-100])
    before = untouched(campaign.root)
    for words in (("import", "stereoset", path), ("measures", "statistics", "--gold", path)):
        done = forked(*words, *(("-c", campaign.root) if words[0] == "import" else ()))
        assert (done.code, done.out) == (1, "")
        assert f"error: {path}: cannot be read as Parquet: the file ends in the middle" in done.err
        assert done.err.endswith("fix:   it was probably cut off: fetch it again\n")
    assert untouched(campaign.root) == before


def test_a_pipe_is_refused(tmp_path: Path, campaign: Campaign, forked: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        path = tmp_path / name
        for words in (
            ("import", "stereoset", path, "-c", campaign.root),
            ("import", "answers", path, "-c", campaign.root),
            ("measures", "statistics", "--gold", path),
        ):
            done = forked(*words)
            assert (done.code, done.out) == (1, "")
            assert f"error: {path}: is a device or a pipe, not a file" in done.err
            assert done.err.endswith("fix:   save what it gives as a file, and name it\n")

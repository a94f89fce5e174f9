"""Imports and gold files take every layout, and mapping files."""

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

"""The flat files hold every CAT, label and term of a release, in a form that never changes."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from curation.release import build, data_files
from support import releases


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return dict(data_files.flat_files(releases.contents()))


def rows(content: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in content.decode().splitlines()]


def test_each_kind_and_split_with_cats_has_a_file(files: dict[str, bytes]) -> None:
    assert sorted(files) == [
        "annotations.csv",
        "cats/intersentence-dev.jsonl",
        "cats/intersentence-test.jsonl",
        "cats/intrasentence-dev.jsonl",
        "cats/intrasentence-test.jsonl",
        "terms.jsonl",
    ]
    content = releases.contents()
    dev = replace(content, cats=tuple(content.part("dev")))
    assert "cats/intersentence-test.jsonl" not in dict(data_files.flat_files(dev))


def test_a_line_is_canonical(files: dict[str, bytes]) -> None:
    assert files["cats/intrasentence-dev.jsonl"].splitlines(keepends=True)[1].decode() == (
        '{"id":"c5","kind":"intrasentence","split":"dev","domain":"race","target":"Quillon",'
        '"target_original":"Quillonia","context":"People from Quillon are BLANK.",'
        '"stereotype":"People from Quillon are punctual.",'
        '"anti_stereotype":"People from Quillon are tardy.",'
        '"unrelated":"People from Quillon are alphabetical.","tier":4}\n'
    )
    assert "江戸の人は短気です。".encode() in files["cats/intrasentence-test.jsonl"]


def test_every_cat_is_in_the_files_as_it_is_published(files: dict[str, bytes]) -> None:
    cats = b"".join(text for name, text in files.items() if "cats/" in name)
    found = {row["id"]: row for row in rows(cats)}
    assert len(found) == len(releases.cats())
    for cat in releases.cats():
        row = found[cat.id]
        for option in cat.options:
            assert option.gold
            assert row[option.gold.replace("-", "_")] == option.sentence
        assert (row["context"], row["tier"], row["split"]) == (cat.context, cat.tier, cat.split)


def test_hidden_cats_show_only_their_options_and_a_commitment() -> None:
    files = dict(data_files.flat_files(releases.hidden(releases.contents())))
    for row in rows(files["cats/intersentence-test.jsonl"]):
        assert list(row)[-2:] == ["options", "commitment"]
        assert {"stereotype", "anti_stereotype", "unrelated", "tier"}.isdisjoint(row)
    assert "tier" in rows(files["cats/intersentence-dev.jsonl"])[0]


def test_the_canonical_hash_is_that_of_the_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "cats").mkdir()
    files = dict(build.files(releases.contents(), releases.facts()))
    for name in (name for name in files if name.startswith("cats/")):
        (tmp_path / name).write_bytes(files[name])
    said = subprocess.check_output("cat cats/*.jsonl | sha256sum", shell=True, cwd=tmp_path)
    assert said.split()[0].decode() == json.loads(files["release.json"])["canonical"]


def test_annotations_and_terms_are_read_back(files: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "annotations.csv"
    path.write_bytes(files["annotations.csv"])
    back = pd.read_csv(path, dtype={"tier": "Int64"})
    pd.testing.assert_frame_equal(
        back, releases.annotations(c for c in releases.cats() if c.id != "c6"), check_dtype=False
    )
    terms = {row["id"]: row for row in rows(files["terms.jsonl"])}
    assert list(terms) == ["term-baker", "term-pilot", "term-quillon", "term-edo"]
    assert terms["term-quillon"] == {
        "id": "term-quillon", "text": "Quillon", "domain": "race", "family": "people of Quillon",
        "wikidata": ["Q900000001"], "names": ["Quillonian", "quillon, the"], "split": "dev",
        "intrasentence": 1, "intersentence": 1,
    }  # fmt: skip

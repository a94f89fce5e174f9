"""The flat files and the Parquet files hold every CAT, label and term of a release."""

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as arrow
import pytest
from pyarrow import parquet

from curation.catsets.stereoset import read_cats
from curation.records import GOLDS, KINDS, Cat
from curation.release import build, data_files
from curation.release.contents import PublishedCat
from support import releases
from support.written import fails

VALIDATION = "intersentence/validation-00000-of-00001.parquet"
TABLES = ("annotations", "terms")
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def flat() -> Files:
    return dict(data_files.flat_files(releases.contents()))


@pytest.fixture(scope="module")
def files() -> Files:
    return dict(data_files.parquet_files(releases.contents()))


def rows(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def table(content: bytes) -> Any:
    return parquet.read_table(io.BytesIO(content))


# --- flat files, in a form that never changes -----------------------------------------------------


def test_each_kind_and_split_with_cats_has_a_file(flat: Files) -> None:
    kinds = ("intersentence", "intrasentence")
    cats = [f"cats/{kind}-{split}.jsonl" for kind in kinds for split in ("dev", "test")]
    assert sorted(flat) == ["annotations.csv", *cats, "terms.jsonl"]
    content = releases.contents()
    dev = replace(content, cats=tuple(content.part("dev")))
    assert "cats/intersentence-test.jsonl" not in dict(data_files.flat_files(dev))


def test_a_line_is_canonical(flat: Files) -> None:
    assert flat["cats/intrasentence-dev.jsonl"].splitlines(keepends=True)[1].decode() == (
        '{"id":"c5","kind":"intrasentence","split":"dev","domain":"race","target":"Quillon",'
        '"target_original":"Quillonia","context":"People from Quillon are BLANK.",'
        '"stereotype":"People from Quillon are punctual.",'
        '"anti_stereotype":"People from Quillon are tardy.",'
        '"unrelated":"People from Quillon are alphabetical.","tier":4}\n'
    )
    assert "江戸の人は短気です。".encode() in flat["cats/intrasentence-test.jsonl"]


def test_every_cat_is_in_the_files_as_it_is_published(flat: Files) -> None:
    cats = b"".join(text for name, text in flat.items() if "cats/" in name)
    found = {row["id"]: row for row in rows(cats)}
    assert len(found) == len(releases.cats())
    for cat in releases.cats():
        row = found[cat.id]
        for option in cat.options:
            assert option.gold
            assert row[option.gold.replace("-", "_")] == option.sentence
        assert (row["context"], row["tier"], row["split"]) == (cat.context, cat.tier, cat.split)


def test_hidden_cats_show_only_their_options_and_a_commitment() -> None:
    flat = dict(data_files.flat_files(releases.hidden(releases.contents())))
    for row in rows(flat["cats/intersentence-test.jsonl"]):
        assert list(row)[-2:] == ["options", "commitment"]
        assert {"stereotype", "anti_stereotype", "unrelated", "tier"}.isdisjoint(row)
    assert "tier" in rows(flat["cats/intersentence-dev.jsonl"])[0]


def test_the_canonical_hash_is_that_of_the_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "cats").mkdir()
    files = dict(build.files(releases.contents(), releases.facts()))
    for name in (name for name in files if name.startswith("cats/")):
        (tmp_path / name).write_bytes(files[name])
    said = subprocess.check_output("cat cats/*.jsonl | sha256sum", shell=True, cwd=tmp_path)
    assert said.split()[0].decode() == json.loads(files["release.json"])["canonical"]


def test_annotations_and_terms_are_read_back(flat: Files, tmp_path: Path) -> None:
    path = tmp_path / "annotations.csv"
    path.write_bytes(flat["annotations.csv"])
    back = pd.read_csv(path, dtype={"tier": "Int64"})
    pd.testing.assert_frame_equal(
        back, releases.annotations(c for c in releases.cats() if c.id != "c6"), check_dtype=False
    )
    terms = {row["id"]: row for row in rows(flat["terms.jsonl"])}
    assert list(terms) == ["term-baker", "term-pilot", "term-quillon", "term-edo"]
    assert terms["term-quillon"] == {
        "id": "term-quillon", "text": "Quillon", "domain": "race", "family": "people of Quillon",
        "wikidata": ["Q900000001"], "names": ["Quillonian", "quillon, the"], "split": "dev",
        "intrasentence": 1, "intersentence": 1,
    }  # fmt: skip


# --- Parquet: the layout of McGill-NLP/stereoset, read back as it was -----------------------------


def fields(cat: Cat | PublishedCat) -> tuple[Any, ...]:
    options = cat.associations if isinstance(cat, Cat) else cat.options
    return (
        *(cat.id, cat.kind, cat.domain, cat.target, cat.context, cat.tier),
        tuple((option.id, option.sentence, option.gold) for option in options),
    )


def test_there_is_a_file_for_each_configuration_and_split(files: Files) -> None:
    by_kind = {
        kind: {split: f"{kind}/{split}-00000-of-00001.parquet" for split in ("validation", "test")}
        for kind in KINDS
    }
    whole = {name: {"full": f"{name}/full-00000-of-00001.parquet"} for name in TABLES}
    cats = {split: f"cats/{split}-00000-of-00001.parquet" for split in ("dev", "test")}
    assert data_files.configs(files) == {**by_kind, "cats": cats, **whole}
    content = releases.contents()
    less = replace(content, cats=tuple(c for c in content.cats if c.kind == "intersentence"))
    assert "intrasentence" not in data_files.configs(dict(data_files.parquet_files(less)))


def test_the_tables_have_the_rows_of_the_flat_files(files: Files, flat: Files) -> None:
    for split in ("dev", "test"):
        wanted = [row for kind in KINDS for row in rows(flat[f"cats/{kind}-{split}.jsonl"])]
        assert table(files[f"cats/{split}-00000-of-00001.parquet"]).to_pylist() == wanted
    terms = table(files["terms/full-00000-of-00001.parquet"])
    assert terms.to_pylist() == rows(flat["terms.jsonl"])
    annotations = table(files["annotations/full-00000-of-00001.parquet"]).to_pylist()
    text = io.StringIO(flat["annotations.csv"].decode())
    assert [
        {**row, "counted": str(row["counted"]), "tier": str(row["tier"] or "")}
        for row in annotations
    ] == list(csv.DictReader(text))


def test_the_schema_is_that_of_stereoset_on_the_hub(files: Files) -> None:
    schema = table(files[VALIDATION]).schema
    assert schema.names == ["id", "target", "bias_type", "context", "sentences"]
    texts, integers = arrow.list_(arrow.string()), arrow.list_(arrow.int64())
    labels = arrow.struct([("label", integers), ("human_id", texts)])
    columns = {"sentence": texts, "id": texts, "labels": arrow.list_(labels)}
    sentences = arrow.struct([*columns.items(), ("gold_label", integers)])
    assert schema.field("sentences").type == sentences
    described = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    sentences = described["sentences"]["feature"]
    assert sentences["gold_label"]["names"] == ["anti-stereotype", "stereotype", "unrelated"]
    assert sentences["labels"]["feature"]["label"]["names"][3] == "related"
    assert list(sentences) == ["sentence", "id", "labels", "gold_label"]


def test_labels_are_the_integers_of_stereoset_on_the_hub(files: Files) -> None:
    (row,) = [r for r in table(files[VALIDATION]).to_pylist() if r["id"] == "c2"]
    assert row["sentences"]["gold_label"] == [2, 1, 0]  # unrelated, stereotype, anti-stereotype
    first = row["sentences"]["labels"][1]
    assert first == {"label": [1, 1, 1, 1, 0], "human_id": list(releases.PEOPLE[:5])}


def test_our_reader_gives_the_same_cats(files: Files, tmp_path: Path) -> None:
    back = []
    for name in (name for name in files if name.startswith(KINDS)):
        path = tmp_path / name.replace("/", "-")
        path.write_bytes(files[name])
        back += [fields(cat) for cat in read_cats(path)]
    assert sorted(back) == sorted(map(fields, releases.cats()))


def test_the_same_contents_give_the_same_bytes(files: Files) -> None:
    assert dict(data_files.parquet_files(releases.contents())) == files


def test_hidden_cats_have_no_class_and_no_labels(tmp_path: Path) -> None:
    files = dict(data_files.parquet_files(releases.hidden(releases.contents())))
    name = "intersentence/test-00000-of-00001.parquet"
    for row in table(files[name]).to_pylist():
        assert row["sentences"]["gold_label"] == [-1, -1, -1]
        assert row["sentences"]["labels"] == [{"label": [], "human_id": []}] * len(GOLDS)
    assert "test" not in data_files.configs(files)["cats"]
    (hidden,) = data_files.configs(files)["hidden"].values()
    assert table(files[hidden]).column_names[-2:] == ["options", "commitment"]
    path = tmp_path / "test.parquet"
    path.write_bytes(files[name])
    with fails("hidden"):
        read_cats(path)


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with fails("pyarrow", fix="pip install 'curation[parquet]'"):
        data_files.check_installed()

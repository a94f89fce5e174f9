"""The Parquet files have the layout of McGill-NLP/stereoset, and are read back as they were."""

import csv
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from pyarrow import parquet

from curation.catsets.stereoset import read_cats
from curation.files import CurationError
from curation.records import GOLDS, KINDS, Cat
from curation.release import data_files
from curation.release.contents import PublishedCat
from support import releases

VALIDATION = "intersentence/validation-00000-of-00001.parquet"


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return dict(data_files.parquet_files(releases.contents()))


def table(content: bytes) -> Any:
    return parquet.read_table(io.BytesIO(content))


def fields(cat: Cat | PublishedCat) -> tuple[Any, ...]:
    options = cat.associations if isinstance(cat, Cat) else cat.options
    return (
        *(cat.id, cat.kind, cat.domain, cat.target, cat.context, cat.tier),
        tuple((option.id, option.sentence, option.gold) for option in options),
    )


def test_there_is_a_file_for_each_configuration_and_split(files: dict[str, bytes]) -> None:
    by_kind = {
        kind: {split: f"{kind}/{split}-00000-of-00001.parquet" for split in ("validation", "test")}
        for kind in KINDS
    }
    assert data_files.configs(files) == {
        **by_kind,
        "cats": {split: f"cats/{split}-00000-of-00001.parquet" for split in ("dev", "test")},
        "annotations": {"full": "annotations/full-00000-of-00001.parquet"},
        "terms": {"full": "terms/full-00000-of-00001.parquet"},
    }
    content = releases.contents()
    less = replace(content, cats=tuple(c for c in content.cats if c.kind == "intersentence"))
    assert "intrasentence" not in data_files.configs(dict(data_files.parquet_files(less)))


def test_the_tables_have_the_rows_of_the_flat_files(files: dict[str, bytes]) -> None:
    flat = dict(data_files.flat_files(releases.contents()))
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


def rows(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def test_the_schema_is_that_of_stereoset_on_the_hub(files: dict[str, bytes]) -> None:
    schema = table(files[VALIDATION]).schema
    assert schema.names == ["id", "target", "bias_type", "context", "sentences"]
    texts, integers = arrow.list_(arrow.string()), arrow.list_(arrow.int64())
    labels = arrow.struct([("label", integers), ("human_id", texts)])
    assert schema.field("sentences").type == arrow.struct(
        [
            ("sentence", texts),
            ("id", texts),
            ("labels", arrow.list_(labels)),
            ("gold_label", integers),
        ]
    )
    described = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    sentences = described["sentences"]["feature"]
    assert sentences["gold_label"]["names"] == ["anti-stereotype", "stereotype", "unrelated"]
    assert sentences["labels"]["feature"]["label"]["names"][3] == "related"
    assert list(sentences) == ["sentence", "id", "labels", "gold_label"]


def test_labels_are_the_integers_of_stereoset_on_the_hub(files: dict[str, bytes]) -> None:
    (row,) = [r for r in table(files[VALIDATION]).to_pylist() if r["id"] == "c2"]
    assert row["sentences"]["gold_label"] == [2, 1, 0]  # unrelated, stereotype, anti-stereotype
    first = row["sentences"]["labels"][1]
    assert first == {"label": [1, 1, 1, 1, 0], "human_id": list(releases.PEOPLE[:5])}


def test_our_reader_gives_the_same_cats(files: dict[str, bytes], tmp_path: Path) -> None:
    back = []
    for name in (name for name in files if name.startswith(KINDS)):
        path = tmp_path / name.replace("/", "-")
        path.write_bytes(files[name])
        back += [fields(cat) for cat in read_cats(path)]
    assert sorted(back) == sorted(map(fields, releases.cats()))


def test_the_same_contents_give_the_same_bytes(files: dict[str, bytes]) -> None:
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
    with pytest.raises(CurationError, match="hidden"):
        read_cats(path)


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(CurationError, match="pyarrow") as caught:
        data_files.check_installed()
    assert caught.value.fix == "pip install 'curation[parquet]'"

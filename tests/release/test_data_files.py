"""Flat files, Parquet files and metadata hold every CAT, label and term, and fit each other."""

import csv
import io
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as arrow
import pytest
import yaml
from pyarrow import parquet

from curation.catsets.stereoset import read_cats
from curation.kinds import CAT_KINDS, GOLDS
from curation.records import Annotation, Cat, Term
from curation.release import build, data_files
from curation.release.metadata import bibtex, citation, croissant, datapackage, responsible
from curation.released.columns import COMPARED, TELLING
from curation.released.columns import column_names as columns_of
from curation.released.contents import (
    Contents,
    DataFile,
    PublishedCat,
    PublishedTerm,
    SealedCat,
    configs,
)
from curation.released.facts import Author, Facts, Hidden, Statement
from support import releases
from support.expected import fails

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


# --- the table of columns -------------------------------------------------------------------------


def test_columns_are_fields_of_their_records() -> None:
    assert columns_of("annotations") == list(Annotation.model_fields)
    assert columns_of("sealed") == list(SealedCat._fields)
    assert set(columns_of("hidden")) <= set(PublishedCat._fields)
    own = {*Term.model_fields, *PublishedTerm._fields, *CAT_KINDS}
    assert set(columns_of("terms")) <= own
    only_hidden = {"options", "commitment"}
    assert set(columns_of("hidden")) - only_hidden == set(columns_of("cats")) - TELLING


def test_what_tells_of_gold_labels_and_what_versions_may_differ_in() -> None:
    assert {"stereotype", "anti_stereotype", "unrelated", "tier"} == TELLING
    assert COMPARED == ("kind", "domain", "target", "target_original", "context")


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
    texts = tuple((option.id, option.sentence, option.gold) for option in options)
    return (cat.id, cat.kind, cat.domain, cat.target, cat.context, cat.tier, texts)


def test_there_is_a_file_for_each_configuration_and_split(files: Files) -> None:
    splits = ("validation", "test")
    by_kind = {
        kind: {s: f"{kind}/{s}-00000-of-00001.parquet" for s in splits} for kind in CAT_KINDS
    }
    whole = {name: {"full": f"{name}/full-00000-of-00001.parquet"} for name in TABLES}
    cats = {split: f"cats/{split}-00000-of-00001.parquet" for split in ("dev", "test")}
    assert configs(files) == {**by_kind, "cats": cats, **whole}
    content = releases.contents()
    less = replace(content, cats=tuple(c for c in content.cats if c.kind == "intersentence"))
    assert "intrasentence" not in configs(dict(data_files.parquet_files(less)))


def test_the_tables_have_the_rows_of_the_flat_files(files: Files, flat: Files) -> None:
    for split in ("dev", "test"):
        wanted = [row for kind in CAT_KINDS for row in rows(flat[f"cats/{kind}-{split}.jsonl"])]
        assert table(files[f"cats/{split}-00000-of-00001.parquet"]).to_pylist() == wanted
    terms = table(files["terms/full-00000-of-00001.parquet"])
    assert terms.to_pylist() == rows(flat["terms.jsonl"])
    annotations = table(files["annotations/full-00000-of-00001.parquet"]).to_pylist()
    for row in annotations:
        row |= {"counted": str(row["counted"]), "tier": str(row["tier"] or "")}
    assert annotations == list(csv.DictReader(io.StringIO(flat["annotations.csv"].decode())))


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
    for name in (name for name in files if name.startswith(CAT_KINDS)):
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
    assert "test" not in configs(files)["cats"]
    (hidden,) = configs(files)["hidden"].values()
    assert table(files[hidden]).column_names[-2:] == ["options", "commitment"]
    path = tmp_path / "test.parquet"
    path.write_bytes(files[name])
    with fails("hidden"):
        read_cats(path)


# --- CITATION.cff, croissant.json and datapackage.json --------------------------------------------

NASTY = "a: [b]\n---\n# «\u202e»\t{x} \\end <script>"
Described = tuple[dict[str, bytes], list[DataFile]]


@pytest.fixture(scope="module")
def described() -> Described:
    content = releases.contents()
    data = tables(content) | {"dev.json": b"{}\n"}
    return data, releases.data_files(data, content)


def tables(content: Contents) -> dict[str, bytes]:
    return {**dict(data_files.parquet_files(content)), **dict(data_files.flat_files(content))}


def cff(facts: Facts) -> dict[str, Any]:
    return dict(yaml.safe_load(citation(facts)))


# --- citations ------------------------------------------------------------------------------------


def test_people_have_two_names_and_institutions_one() -> None:
    assert cff(releases.facts())["authors"] == [
        {
            "family-names": "O'Neil-Ōta", "given-names": "María José",
            "affiliation": "Institute of Examples", "email": "maria@example.invalid",
            "orcid": "https://orcid.org/0000-0002-1825-0097",
        },
        {"name": "Ali Kaya"},
    ]  # fmt: skip
    one = Statement(authors=(Author(name="Mononym", affiliation="X"), Author(name="van Dam, Ola")))
    assert cff(releases.facts(statement=one))["authors"] == [
        {"given-names": "Mononym", "affiliation": "X"},
        {"family-names": "van Dam", "given-names": "Ola"},
    ]


def test_a_citation_has_an_author_also_if_nobody_is_named() -> None:
    empty = Statement()
    name = releases.facts().name
    assert cff(releases.facts(statement=empty))["authors"] == [{"name": f"The authors of {name}"}]
    hidden = releases.facts(anonymous=True, statement=empty)
    assert cff(hidden)["authors"] == [{"name": "Anonymous"}]
    assert "{Anonymous}" in bibtex(hidden)


def test_a_doi_may_be_an_address_and_another_text_is_kept() -> None:
    whole = releases.facts(statement=Statement(doi="https://doi.org/10.1234/x.5"))
    assert cff(whole)["doi"] == "10.1234/x.5"
    odd = cff(releases.facts(statement=Statement(doi="soon")))
    assert "doi" not in odd
    assert odd["identifiers"] == [{"type": "other", "value": "soon"}]


def test_names_never_break_the_citation() -> None:
    facts = releases.facts(name=NASTY, statement=Statement(authors=(Author(name=NASTY),)))
    assert cff(facts)["title"] == NASTY
    entry = bibtex(facts)
    assert r"\textbackslash{}end" in entry
    assert entry.count("\n") == 5  # of lines of fields, and no other


# --- croissant ------------------------------------------------------------------------------------


def test_croissant_has_the_hash_of_every_file(described: Described) -> None:
    content, data = described
    about = json.loads(croissant(releases.facts(), data))
    assert about["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    described = {file["@id"]: file for file in about["distribution"]}
    assert set(described) == set(content)
    for file in data:
        assert described[file.path]["sha256"] == file.sha256
    assert described["cats/dev-00000-of-00001.parquet"]["encodingFormat"] == "application/x-parquet"


@pytest.mark.parametrize("hidden", [False, True])
def test_every_field_of_croissant_is_a_column_of_its_file(hidden: bool) -> None:
    content, facts = releases.contents(), releases.facts()
    if hidden:
        content = releases.hidden(content)
        facts = releases.facts(hidden=Hidden(split="test", cats=4, terms=2))
    data = tables(content)
    about = json.loads(croissant(facts, releases.data_files(data, content)))
    for records in about["recordSet"]:
        flat = [part for field in records["field"] for part in field.get("subField", [field])]
        (path,) = {field["source"]["fileObject"]["@id"] for field in flat}
        used = {field["source"]["extract"]["column"] for field in flat}
        assert used == set(columns(path, data[path])), records["name"]
        names = [field["@id"] for field in flat]
        assert len(set(names)) == len(names)


def columns(path: str, content: bytes) -> list[str]:
    if path.endswith(".parquet"):
        return list(parquet.read_schema(io.BytesIO(content)).names)
    if path.endswith(".csv"):
        return next(csv.reader(io.StringIO(content.decode())))
    return list(json.loads(content.splitlines()[0]))


def test_values_for_responsible_ai_come_from_the_facts() -> None:
    values = responsible(releases.facts())
    collected = "Round main (validation, 2026-01-10 to 2026-01-20): 42 answers"
    assert collected in str(values["dataCollection"])
    assert values["dataCollectionTimeFrame"] == ["2026-01-10", "2026-01-20"]
    assert values["dataCollectionTimeframe"] == values["dataCollectionTimeFrame"]
    assert values["dataDataManipulationProtocol"] == values["dataManipulationProtocol"]
    assert len(values["dataLimitations"]) == 5
    assert "Not recorded." in str(values["annotatorDemographics"])
    answered = releases.statement().model_copy(update={"answers": {"writers": "We asked age."}})
    values = responsible(releases.facts(statement=answered))
    assert "People who wrote the texts: We asked age." in values["annotatorDemographics"]


# --- data package ---------------------------------------------------------------------------------


def test_the_data_package_has_every_file_and_the_columns_of_tables(described: Described) -> None:
    content, data = described
    package = json.loads(datapackage(releases.facts(), data))
    resources = {resource["path"]: resource for resource in package["resources"]}
    assert set(resources) == set(content)
    assert len({resource["name"] for resource in resources.values()}) == len(resources)
    for file in data:
        resource = resources[file.path]
        assert (resource["bytes"], resource["hash"]) == (file.size, f"sha256:{file.sha256}")
        if "schema" in resource:
            names = [field["name"] for field in resource["schema"]["fields"]]
            assert names == columns(file.path, content[file.path])
        else:
            assert resource["type"] == "file"
    assert "schema" not in resources["dev.json"]
    assert sum("schema" in resource for resource in resources.values()) == 6


def test_keys_of_the_data_package_name_its_resources(described: Described) -> None:
    package = json.loads(datapackage(releases.facts(), described[1]))
    names = {resource["name"] for resource in package["resources"]}
    for resource in package["resources"]:
        for key in resource.get("schema", {}).get("foreignKeys", ()):
            assert key["reference"]["resource"] in names
    assert package["name"] == "mild-set-1"


def test_an_anonymous_release_has_no_name_or_address_in_its_metadata(described: Described) -> None:
    facts = releases.facts(anonymous=True, statement=Statement(description="About it."))
    for text in (citation(facts), croissant(facts, described[1]), datapackage(facts, described[1])):
        assert b"example.invalid" not in text
        assert b"Kaya" not in text

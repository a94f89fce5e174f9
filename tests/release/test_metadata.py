"""CITATION.cff, croissant.json and datapackage.json say what the facts say, and fit the files."""

import csv
import io
import json
from typing import Any

import pytest
import yaml
from pyarrow import parquet

from curation.release import data_files
from curation.release.contents import Contents, DataFile
from curation.release.facts import Author, Facts, Hidden, Statement
from curation.release.metadata.citation import bibtex, citation
from curation.release.metadata.croissant import croissant
from curation.release.metadata.datapackage import datapackage
from curation.release.metadata.responsible import NOT_RECORDED, responsible
from support import releases

NASTY = "a: [b]\n---\n# «\u202e»\t{x} \\end <script>"
Files = tuple[dict[str, bytes], list[DataFile]]


@pytest.fixture(scope="module")
def files() -> Files:
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
            "family-names": "O'Neil-Ōta",
            "given-names": "María José",
            "affiliation": "Institute of Examples",
            "email": "maria@example.invalid",
            "orcid": "https://orcid.org/0000-0002-1825-0097",
        },
        {"name": "Ali Kaya"},
    ]
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


def test_croissant_has_the_hash_of_every_file(files: Files) -> None:
    content, data = files
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
    assert NOT_RECORDED in str(values["annotatorDemographics"])
    answered = releases.statement().model_copy(update={"answers": {"writers": "We asked age."}})
    values = responsible(releases.facts(statement=answered))
    assert "People who wrote the texts: We asked age." in values["annotatorDemographics"]


# --- data package ---------------------------------------------------------------------------------


def test_the_data_package_has_every_file_and_the_columns_of_tables(files: Files) -> None:
    content, data = files
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


def test_keys_of_the_data_package_name_its_resources(files: Files) -> None:
    package = json.loads(datapackage(releases.facts(), files[1]))
    names = {resource["name"] for resource in package["resources"]}
    for resource in package["resources"]:
        for key in resource.get("schema", {}).get("foreignKeys", ()):
            assert key["reference"]["resource"] in names
    assert package["name"] == "mild-set-1"


def test_an_anonymous_release_has_no_name_or_address_in_its_metadata(files: Files) -> None:
    facts = releases.facts(anonymous=True, statement=Statement(description="About it."))
    for text in (citation(facts), croissant(facts, files[1]), datapackage(facts, files[1])):
        assert b"example.invalid" not in text
        assert b"Kaya" not in text

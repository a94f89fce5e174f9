"""``croissant.json``: the release in Croissant 1.1, with the fields for responsible AI.

A record set for each table, because the development set and the test set are never one set, and
hidden CATs have other fields. mlcroissant reads only the media type ``application/x-parquet``, and
the key ``rai:dataDataManipulationProtocol``.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from curation.files import dump_json, read_json, shipped
from curation.records import KINDS
from curation.release.columns import COLUMNS, TABLES, TYPES, Column, Table
from curation.release.contents import ANNOTATIONS, HUB_SPLITS, SEALED, SPLITS, TERMS, DataFile
from curation.release.data_files import flat_path, parquet_path
from curation.release.facts import Author, Facts
from curation.release.metadata import citation
from curation.release.metadata.responsible import responsible, summary

Json = dict[str, Any]
MEDIA_TYPES = {
    ".parquet": "application/x-parquet",
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".yaml": "application/yaml",
}
CONTEXT: Json = read_json(shipped("data", "release", "croissant.json"))
"""The context of Croissant 1.1, as its reader expects it."""


def croissant(facts: Facts, data: Sequence[DataFile]) -> bytes:
    """The content of ``croissant.json``.

    Args:
        facts: what the release says about itself.
        data: the files that it describes; flat files and Parquet files get records.
    """
    page = citation.address(facts)
    content: Json = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": facts.name,
        "description": summary(facts),
        "version": facts.version,
        "datePublished": facts.date,
        "license": facts.licence.url or facts.licence.name,
        "inLanguage": facts.language,
        "keywords": list(citation.KEYWORDS),
        "creator": [_creator(author) for author in citation.authors(facts)],
        "citeAs": citation.bibtex(facts),
        **({"url": page} if page else {}),
        "isLiveDataset": False,
        **{f"rai:{name}": value for name, value in responsible(facts).items()},
        "distribution": [_file(file) for file in data],
        "recordSet": _record_sets(facts, [file.path for file in data]),
    }
    return dump_json(content)


def _creator(author: Author) -> Json:
    known = citation.person(author)
    entry = {
        "@type": "sc:Person" if known else "sc:Organization",
        "name": citation.full_name(author),
        "description": author.affiliation,
        "email": author.email,
        "url": citation.orcid(author),
    }
    return {name: value for name, value in entry.items() if value}


def _file(file: DataFile) -> Json:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "contentUrl": file.path,
        "contentSize": f"{file.size} B",
        "encodingFormat": MEDIA_TYPES.get(PurePosixPath(file.path).suffix, "text/plain"),
        "sha256": file.sha256,
    }


def _record_sets(facts: Facts, paths: Sequence[str]) -> list[Json]:
    hidden = facts.hidden.split if facts.hidden else None
    parts = [(kind, split) for kind in KINDS for split in SPLITS]
    sets: list[tuple[str, str, Table]] = [
        (f"{kind}-{HUB_SPLITS[split]}", parquet_path(kind, HUB_SPLITS[split]), "hub")
        for kind, split in parts
    ]
    for kind, split in parts:
        table: Table = "hidden" if split == hidden else "cats"
        sets.append((f"cats-{kind}-{split}", flat_path(kind, split), table))
    sets += [("sealed", SEALED, "sealed"), ("annotations", ANNOTATIONS, "annotations")]
    sets.append(("terms", TERMS, "terms"))
    return [_record_set(name, path, table) for name, path, table in sets if path in paths]


def _record_set(name: str, path: str, table: Table) -> Json:
    """The records of a table that are in one file."""
    columns = COLUMNS[table]
    key = next((column.name for column in columns if column.unique), "")
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": TABLES[table],
        **({"key": {"@id": f"{name}/{key}"}} if key else {}),
        "field": [_field(name, path, c, columns) for c in columns if "." not in c.name],
    }


def _field(name: str, path: str, column: Column, columns: Sequence[Column]) -> Json:
    """A column, or a part of one: what is in the objects or the lists of the column."""
    first, *within = column.name.split(".")
    own = within[-1] if within else first
    shape = {"isArray": True, "arrayShape": column.shape} if column.shape else {}
    about: Json = {
        "@type": "cr:Field",
        "@id": f"{name}/{first}/{own}" if within else f"{name}/{first}",
        "name": own,
        "description": column.says,
    }
    if column.type == "list":
        parts = [part for part in columns if part.name.startswith(f"{first}.")]
        parts.sort(key=lambda part: part.name.count("."))
        return {**about, **shape, "subField": [_field(name, path, part, ()) for part in parts]}
    source: Json = {"fileObject": {"@id": path}, "extract": {"column": first}}
    if within:
        source["transform"] = [{"jsonPath": part} for part in within]
    return {**about, "dataType": TYPES[column.type].croissant, "source": source, **shape}

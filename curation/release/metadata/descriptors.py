"""What programs read of a release: ``croissant.json`` and ``datapackage.json``.

Croissant 1.1 with the fields for responsible AI has a record set for each table, because the
development set and the test set are never one set, and hidden CATs have other fields. mlcroissant
reads only the media type ``application/x-parquet``, and the key
``rai:dataDataManipulationProtocol``.

In the Frictionless data package, the tables have schemas with the allowed values and keys. All
other files are only files with a size and a hash: frictionless would take ``dev.json`` for a
descriptor of a package.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import PurePosixPath
from typing import Any

from curation.files import dump_json, read_json, shipped
from curation.records import KINDS, VALUES
from curation.release.data_files import flat_path, parquet_path
from curation.release.metadata import citation
from curation.release.texts.render import fields
from curation.released.columns import COLUMNS, TABLES, TYPES, Column, Table, key_of
from curation.released.contents import ANNOTATIONS, HUB_SPLITS, SEALED, SPLITS, TERMS, DataFile
from curation.released.facts import Author, Facts

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
    entry = {"@type": "sc:Person" if known else "sc:Organization"}
    entry |= {"name": citation.full_name(author), "description": author.affiliation}
    return citation.filled(entry | {"email": author.email, "url": citation.orcid(author)})


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
    parts = list(product(KINDS, SPLITS))
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
    key = key_of(table)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": TABLES[table],
        **({"key": {"@id": f"{name}/{key}"}} if key else {}),
        "field": [_croissant_field(name, path, c, columns) for c in columns if "." not in c.name],
    }


def _croissant_field(name: str, path: str, column: Column, columns: Sequence[Column]) -> Json:
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
        return {
            **about,
            **shape,
            "subField": [_croissant_field(name, path, part, ()) for part in parts],
        }
    source: Json = {"fileObject": {"@id": path}, "extract": {"column": first}}
    if within:
        source["transform"] = [{"jsonPath": part} for part in within]
    return {**about, "dataType": TYPES[column.type].croissant, "source": source, **shape}


# --- datapackage.json -----------------------------------------------------------------------------

TIERS = (3, 4, 5)
_UNSAFE = re.compile(r"[^a-z0-9._]+")


def datapackage(facts: Facts, data: Sequence[DataFile]) -> bytes:
    """The content of ``datapackage.json``.

    Args:
        facts: what the release says about itself.
        data: the files that it describes.
    """
    page, licence, paths = citation.address(facts), facts.licence, [file.path for file in data]
    own_licence = {"name": licence.spdx, "title": licence.name, "path": licence.url or "LICENSE"}
    content: Json = {
        "profile": "data-package",
        "name": slug(facts.name),
        "title": facts.name,
        "description": summary(facts),
        "version": facts.version,
        "created": f"{facts.date}T00:00:00Z",
        **({"homepage": page} if page else {}),
        "keywords": list(citation.KEYWORDS),
        "licenses": [citation.filled(own_licence)],
        "contributors": [_contributor(author) for author in citation.authors(facts)],
        "resources": [_resource(facts, file, paths) for file in data],
    }
    return dump_json(content)


def slug(name: str) -> str:
    """A name as one of a package: small letters of the alphabet, digits, hyphens.

    >>> slug("Mild Sét #1"), slug("集")
    ('mild-set-1', 'dataset')
    """
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return _UNSAFE.sub("-", plain).strip("-._") or "dataset"


def _contributor(author: Author) -> Json:
    entry = {"title": citation.full_name(author), "role": "author"}
    entry |= {"organization": author.affiliation, "email": author.email}
    return citation.filled(entry | {"path": citation.orcid(author)})


def _resource(facts: Facts, file: DataFile, paths: Sequence[str]) -> Json:
    suffix, more = PurePosixPath(file.path).suffix, {"type": "file"}
    if schema := _schema(facts, file.path, paths):
        more = {"profile": "tabular-data-resource", "format": suffix[1:], "encoding": "utf-8"}
    return {
        "name": slug(file.path.removesuffix(suffix) if schema else file.path),
        "path": file.path,
        **more,
        **({"schema": schema} if schema else {}),
        "bytes": file.size,
        "hash": f"sha256:{file.sha256}",
    }


def _schema(facts: Facts, path: str, paths: Sequence[str]) -> Json | None:
    """The schema of a table; None for a file that is not one."""
    domains = list(dict.fromkeys(size.domain for size in facts.sizes))
    allowed = {"domain": domains, "kind": KINDS, "split": SPLITS, "label": VALUES, "tier": TIERS}
    tables: dict[str, Table] = {ANNOTATIONS: "annotations", TERMS: "terms", SEALED: "sealed"}
    if path in tables:
        return _of_table(tables[path], allowed)
    for kind, split in product(KINDS, SPLITS):
        if path == flat_path(kind, split):
            hidden = facts.hidden is not None and facts.hidden.split == split
            allowed |= {"kind": [kind], "split": [split]}
            schema = _of_table("hidden" if hidden else "cats", allowed)
            return {**schema, "foreignKeys": [_KEY_OF_TERMS]} if TERMS in paths else schema
    return None


def _of_table(table: Table, allowed: Mapping[str, Sequence[object]]) -> Json:
    fields = [_field(c, allowed.get(c.name)) for c in COLUMNS[table] if "." not in c.name]
    key = key_of(table)
    return {"fields": fields, **({"primaryKey": [key]} if key else {"missingValues": [""]})}


def _field(column: Column, allowed: Sequence[object] | None) -> Json:
    constraints: Json = {
        **({} if column.optional else {"required": True}),
        **({"unique": True} if column.unique else {}),
        **({"enum": list(allowed)} if allowed is not None else {}),
        **({"minimum": 0} if column.type == "count" else {}),
    }
    return {
        "name": column.name,
        "type": TYPES[column.type].frictionless,
        **({"constraints": constraints} if constraints else {}),
        **(_TRUE if column.type == "boolean" else {}),
    }


_TRUE = {"trueValues": ["True"], "falseValues": ["False"]}
_KEY_OF_TERMS = {
    "fields": ["domain", "target"],
    "reference": {"resource": "terms", "fields": ["domain", "text"]},
}


ALSO = {
    "dataCollectionTimeFrame": "dataCollectionTimeframe",
    "dataDataManipulationProtocol": "dataManipulationProtocol",
}
"""The names under which mlcroissant 1.1 reads values, and those of the vocabulary."""


def summary(facts: Facts) -> str:
    """The description of a release as plain text: warning, description, size, canary."""
    return "\n\n".join(_made(facts)["description"])


def responsible(facts: Facts) -> dict[str, str | list[str]]:
    """The values by their names without prefix, without those that are empty."""
    values = {name: value for name, value in _made(facts).items() if name != "description"}
    return values | {name: values[own] for name, own in ALSO.items() if own in values}


def _made(facts: Facts) -> dict[str, str | list[str]]:
    return fields("responsible", facts=facts)

"""``datapackage.json``: the release as a Frictionless data package.

The tables have schemas with the allowed values and keys. All other files are only files with a
size and a hash: frictionless would take ``dev.json`` for a descriptor of a package.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from curation.files import dump_json
from curation.records import KINDS, VALUES
from curation.release.columns import COLUMNS, TYPES, Column, Table
from curation.release.contents import ANNOTATIONS, SEALED, SPLITS, TERMS, DataFile
from curation.release.data_files import flat_path
from curation.release.facts import Author, Facts
from curation.release.metadata import citation
from curation.release.metadata.responsible import summary

Json = dict[str, Any]
TIERS = (3, 4, 5)
_UNSAFE = re.compile(r"[^a-z0-9._]+")


def datapackage(facts: Facts, data: Sequence[DataFile]) -> bytes:
    """The content of ``datapackage.json``.

    Args:
        facts: what the release says about itself.
        data: the files that it describes.
    """
    page, licence, paths = citation.address(facts), facts.licence, [file.path for file in data]
    content: Json = {
        "profile": "data-package",
        "name": slug(facts.name),
        "title": facts.name,
        "description": summary(facts),
        "version": facts.version,
        "created": f"{facts.date}T00:00:00Z",
        **({"homepage": page} if page else {}),
        "keywords": list(citation.KEYWORDS),
        "licenses": [
            {
                **({"name": licence.spdx} if licence.spdx else {}),
                "title": licence.name,
                "path": licence.url or "LICENSE",
            }
        ],
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
    entry = {
        "title": citation.full_name(author),
        "role": "author",
        "organization": author.affiliation,
        "email": author.email,
        "path": citation.orcid(author),
    }
    return {name: value for name, value in entry.items() if value}


def _resource(facts: Facts, file: DataFile, paths: Sequence[str]) -> Json:
    suffix = PurePosixPath(file.path).suffix
    schema = _schema(facts, file.path, paths)
    return {
        "name": slug(file.path.removesuffix(suffix) if schema else file.path),
        "path": file.path,
        **({"profile": "tabular-data-resource"} if schema else {"type": "file"}),
        **({"format": suffix[1:], "encoding": "utf-8", "schema": schema} if schema else {}),
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
    for kind, split in ((kind, split) for kind in KINDS for split in SPLITS):
        if path == flat_path(kind, split):
            hidden = facts.hidden is not None and facts.hidden.split == split
            allowed |= {"kind": [kind], "split": [split]}
            schema = _of_table("hidden" if hidden else "cats", allowed)
            return {**schema, "foreignKeys": [_key_of_terms()]} if TERMS in paths else schema
    return None


def _of_table(table: Table, allowed: Mapping[str, Sequence[object]]) -> Json:
    fields = [_field(c, allowed.get(c.name)) for c in COLUMNS[table] if "." not in c.name]
    key = next((column.name for column in COLUMNS[table] if column.unique), "")
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


def _key_of_terms() -> Json:
    return {
        "fields": ["domain", "target"],
        "reference": {"resource": slug("terms"), "fields": ["domain", "text"]},
    }

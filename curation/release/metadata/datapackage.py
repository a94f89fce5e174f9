"""``datapackage.json``: the release as a Frictionless data package.

The tables have schemas with the allowed values and keys. All other files are only files with a
size and a hash: frictionless would take ``dev.json`` for a descriptor of a package.
"""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from curation.files import dump_json
from curation.records import GOLD_COLUMNS, KINDS, VALUES
from curation.release import data_files
from curation.release.contents import ANNOTATIONS, SEALED, SPLITS, TERMS, DataFile
from curation.release.facts import Author, Facts
from curation.release.metadata import citation
from curation.release.metadata.responsible import summary

Json = dict[str, Any]
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
    if path == ANNOTATIONS:
        return _annotations()
    if path == TERMS:
        return _terms(facts)
    if path == SEALED:
        return _sealed(facts)
    for kind in KINDS:
        for split in SPLITS:
            if path == data_files.flat_path(kind, split):
                schema = _cats(facts, kind, split)
                if TERMS in paths:
                    schema["foreignKeys"] = [_key_of_terms()]
                return schema
    return None


def _cats(facts: Facts, kind: str, split: str) -> Json:
    hidden = facts.hidden is not None and facts.hidden.split == split
    fields = [
        _text("id", unique=True),
        _text("kind", enum=[kind]),
        _text("split", enum=[split]),
        _domain(facts),
        _text("target"),
        _text("target_original", required=False),
        _text("context"),
    ]
    if hidden:
        fields += [{"name": "options", "type": "array", **_REQUIRED}, _text("commitment")]
    else:
        fields += map(_text, GOLD_COLUMNS)
        fields.append(_tier())
    return {"fields": fields, "primaryKey": ["id"]}


def _sealed(facts: Facts) -> Json:
    fields = [_text("id", unique=True), _text("kind", enum=list(KINDS)), _domain(facts)]
    fields.append(_text("commitment", unique=True))
    return {"fields": fields, "primaryKey": ["id"]}


def _annotations() -> Json:
    return {
        "fields": [
            *map(_text, ("cat_id", "association_id", "annotator")),
            _text("label", enum=list(VALUES)),
            _text("round"),
            {
                **{"name": "counted", "type": "boolean", **_REQUIRED},
                **{"trueValues": ["True"], "falseValues": ["False"]},
            },
            _tier(),
        ],
        "missingValues": [""],
    }


def _terms(facts: Facts) -> Json:
    return {
        "fields": [
            _text("id", unique=True),
            _text("text"),
            _domain(facts),
            _text("family", required=False),
            *({"name": name, "type": "array", **_REQUIRED} for name in ("wikidata", "names")),
            _text("split", enum=list(SPLITS)),
            *(
                {"name": kind, "type": "integer", "constraints": {"required": True, "minimum": 0}}
                for kind in KINDS
            ),
        ],
        "primaryKey": ["id"],
    }


_REQUIRED: Json = {"constraints": {"required": True}}


def _text(
    name: str, *, required: bool = True, unique: bool = False, enum: Sequence[str] = ()
) -> Json:
    constraints: Json = {
        **({"required": True} if required else {}),
        **({"unique": True} if unique else {}),
        **({"enum": list(enum)} if enum else {}),
    }
    return {"name": name, "type": "string", **({"constraints": constraints} if constraints else {})}


def _domain(facts: Facts) -> Json:
    return _text("domain", enum=list(dict.fromkeys(size.domain for size in facts.sizes)))


def _tier() -> Json:
    return {"name": "tier", "type": "integer", "constraints": {"enum": [3, 4, 5]}}


def _key_of_terms() -> Json:
    return {
        "fields": ["domain", "target"],
        "reference": {"resource": slug("terms"), "fields": ["domain", "text"]},
    }

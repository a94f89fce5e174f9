"""What programs read of a release: ``croissant.json``, ``datapackage.json``, ``CITATION.cff``.

Croissant 1.1 with the fields for responsible AI has a record set for each table, because the
development set and the test set are never one set, and hidden CATs have other fields. mlcroissant
reads only the media type ``application/x-parquet``, and the key
``rai:dataDataManipulationProtocol``.

In the Frictionless data package, the tables have schemas with the allowed values and keys. All
other files are only files with a size and a hash: frictionless would take ``dev.json`` for a
descriptor of a package.

``CITATION.cff`` (Citation File Format 1.2.0) and the entry for BibTeX say how it is cited.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeVar

import yaml

from curation.files import dump_json, read_json, shipped
from curation.kinds import CAT_KINDS
from curation.records import VALUES
from curation.release.texts.render import fields
from curation.released.columns import TABLES, TYPES, Column, Table, key_of, list_columns
from curation.released.contents import (
    ANNOTATIONS,
    HUB_SPLITS,
    SEALED,
    SPLITS,
    TERMS,
    DataFile,
    flat_path,
    parquet_path,
)
from curation.released.facts import Author, Facts

T = TypeVar("T")

_URL = re.compile(r"https?://\S+")
_DOI = re.compile(r"10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+")
_ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
_BEFORE = re.compile(r"^(?:https?://)?(?:dx\.)?(?:doi\.org/|orcid\.org/|doi:)", re.IGNORECASE)
_TEX = re.compile(r"[\\{}%&#$_~^]")
_TEX_WORDS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
KEYWORDS = ("stereotypes", "bias", "language models", "Context Association Test", "StereoSet")


class PersonName(NamedTuple):
    """A person's name in two parts; ``family`` is empty if there is only one."""

    given: str
    family: str


def authors(facts: Facts) -> tuple[Author, ...]:
    """The authors, or who is named in their place: a citation needs at least one."""
    if facts.anonymous:
        return (Author(name="Anonymous"),)
    return facts.statement.authors or (Author(name=f"The authors of {facts.name}"),)


def person(author: Author) -> PersonName | None:
    """An author's name as that of a person; None for an institution.

    «Family, Given» is split at the comma. Without one, an author with an affiliation or an ORCID
    is a person whose last word is the family name. Any other author is cited by the whole name.

    >>> person(Author(name="Ōta, María José"))
    PersonName(given='María José', family='Ōta')
    >>> person(Author(name="María José Ōta", affiliation="An Institute"))
    PersonName(given='María José', family='Ōta')
    >>> person(Author(name="An Institute")) is None
    True
    """
    family, comma, given = (part.strip() for part in author.name.partition(","))
    if comma and family and given:
        return PersonName(given, family)
    if not (author.affiliation or author.orcid):
        return None
    given, _, family = author.name.strip().rpartition(" ")
    return PersonName(given.strip(), family) if given else PersonName(family, "")


def full_name(author: Author) -> str:
    """An author's name in reading order.

    >>> full_name(Author(name="Ōta, María José"))
    'María José Ōta'
    """
    name = person(author)
    return " ".join(part for part in name if part) if name else author.name


def orcid(author: Author) -> str:
    """The address of an author's ORCID; empty if there is none or it has another form."""
    number = _BEFORE.sub("", author.orcid.strip())
    return f"https://orcid.org/{number}" if _ORCID.fullmatch(number) else ""


def address(facts: Facts) -> str:
    """The dataset's page: the homepage, the Hugging Face Hub, the DOI or the repository."""
    statement, number = facts.statement, _doi(facts)
    hub = f"https://huggingface.co/datasets/{statement.hub.id}" if statement.hub.id else ""
    places = (statement.homepage, hub, f"https://doi.org/{number}" if number else "")
    return next(filter(_is_url, (*places, statement.repository)), "")


def citation(facts: Facts) -> bytes:
    """The content of ``CITATION.cff``."""
    statement, licence = facts.statement, facts.licence
    number, page = _doi(facts), address(facts)
    content: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this dataset, please cite it as below.",
        "type": "dataset",
        "title": facts.name,
        "abstract": statement.description,
        "authors": [_author(author) for author in authors(facts)],
        "version": facts.version,
        "date-released": facts.date,
        "doi": number,
        "identifiers": _identifiers(facts),
        "license": licence.spdx,
        "license-url": "" if licence.spdx or not _is_url(licence.url) else licence.url,
        "url": page,
        "repository": statement.repository if _is_url(statement.repository) else "",
        "keywords": list(KEYWORDS),
    }
    return yaml.safe_dump(
        drop_empty(content), allow_unicode=True, sort_keys=False, width=100
    ).encode()


def drop_empty(entry: Mapping[str, T]) -> dict[str, T]:
    """The fields that are not empty."""
    return {name: value for name, value in entry.items() if value}


def bibtex(facts: Facts) -> str:
    """The release as a BibTeX entry."""
    word = re.sub(r"[^a-z0-9]+", "", facts.name.casefold()) or "dataset"
    fields = {
        "author": " and ".join(
            f"{_tex(name.family)}, {_tex(name.given)}"
            if (name := person(author)) and all(name)
            else "{" + _tex(author.name) + "}"
            for author in authors(facts)
        ),
        "title": "{" + _tex(facts.name) + "}",
        "year": facts.date[:4],
        "version": _tex(facts.version),
        "doi": _doi(facts),
        "url": address(facts),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in drop_empty(fields).items())
    return f"@misc{{{word}{facts.date[:4]},\n{lines}}}"


def _author(author: Author) -> dict[str, str]:
    entry = {"name": author.name}
    if name := person(author):
        entry = {"family-names": name.family, "given-names": name.given}
        entry["affiliation"] = author.affiliation
    return drop_empty({**entry, "email": author.email, "orcid": orcid(author)})


def _identifiers(facts: Facts) -> list[dict[str, str]]:
    """The dataset's page, the paper, and a DOI that does not have the form of one.

    The page comes first, because converters take the first one as the address of the dataset.
    """
    statement, page = facts.statement, address(facts)
    identifiers, paper = [], statement.paper
    if paper and page:
        identifiers.append({"type": "url", "value": page, "description": "The dataset"})
    if paper:
        about = {"value": paper, "description": "The paper that describes the dataset"}
        identifiers.append({"type": "url" if _is_url(paper) else "other", **about})
    if statement.doi and not _doi(facts):
        identifiers.append({"type": "other", "value": statement.doi})
    return identifiers


def _doi(facts: Facts) -> str:
    number = _BEFORE.sub("", facts.statement.doi.strip())
    return number if _DOI.fullmatch(number) else ""


def _is_url(text: str) -> bool:
    return bool(_URL.fullmatch(text))


def _tex(text: str) -> str:
    return _TEX.sub(lambda mark: _TEX_WORDS.get(mark[0], f"\\{mark[0]}"), " ".join(text.split()))


# --- croissant.json ---

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
    page = address(facts)
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
        "keywords": list(KEYWORDS),
        "creator": [_creator(author) for author in authors(facts)],
        "citeAs": bibtex(facts),
        **({"url": page} if page else {}),
        "isLiveDataset": False,
        **{f"rai:{name}": value for name, value in responsible(facts).items()},
        "distribution": [_file(file) for file in data],
        "recordSet": _record_sets(facts, [file.path for file in data]),
    }
    return dump_json(content)


def _creator(author: Author) -> Json:
    known = person(author)
    entry = {"@type": "sc:Person" if known else "sc:Organization"}
    entry |= {"name": full_name(author), "description": author.affiliation}
    return drop_empty(entry | {"email": author.email, "url": orcid(author)})


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
    sets: list[tuple[str, str, Table, Sequence[str]]] = []
    for kind, split in product(CAT_KINDS, SPLITS):
        on_hub = HUB_SPLITS[split]
        sets.append((f"{kind}-{on_hub}", parquet_path(kind, on_hub), "hub", [kind]))
    for kind, split in product(CAT_KINDS, SPLITS):
        table: Table = "hidden" if split == hidden else "cats"
        sets.append((f"cats-{kind}-{split}", flat_path(kind, split), table, [kind]))
    sets += [
        ("sealed", SEALED, "sealed", CAT_KINDS),
        ("annotations", ANNOTATIONS, "annotations", CAT_KINDS),
        ("terms", TERMS, "terms", CAT_KINDS),
    ]
    return [_record_set(*about) for about in sets if about[1] in paths]


def _record_set(name: str, path: str, table: Table, kinds: Sequence[str]) -> Json:
    """The records of a table that are in one file."""
    columns = list_columns(table, kinds)
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
    page, licence, paths = address(facts), facts.licence, [file.path for file in data]
    own_licence = {"name": licence.spdx, "title": licence.name, "path": licence.url or "LICENSE"}
    content: Json = {
        "profile": "data-package",
        "name": slug(facts.name),
        "title": facts.name,
        "description": summary(facts),
        "version": facts.version,
        "created": f"{facts.date}T00:00:00Z",
        **({"homepage": page} if page else {}),
        "keywords": list(KEYWORDS),
        "licenses": [drop_empty(own_licence)],
        "contributors": [_contributor(author) for author in authors(facts)],
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
    entry = {"title": full_name(author), "role": "author"}
    entry |= {"organization": author.affiliation, "email": author.email}
    return drop_empty(entry | {"path": orcid(author)})


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
    allowed = {
        "domain": domains,
        "kind": CAT_KINDS,
        "split": SPLITS,
        "label": VALUES,
        "tier": TIERS,
    }
    tables: dict[str, Table] = {ANNOTATIONS: "annotations", TERMS: "terms", SEALED: "sealed"}
    if path in tables:
        return _of_table(tables[path], allowed)
    for kind, split in product(CAT_KINDS, SPLITS):
        if path == flat_path(kind, split):
            hidden = facts.hidden is not None and facts.hidden.split == split
            allowed |= {"kind": [kind], "split": [split]}
            schema = _of_table("hidden" if hidden else "cats", allowed, [kind])
            return {**schema, "foreignKeys": [_KEY_OF_TERMS]} if TERMS in paths else schema
    return None


def _of_table(
    table: Table, allowed: Mapping[str, Sequence[object]], kinds: Sequence[str] = CAT_KINDS
) -> Json:
    columns = list_columns(table, kinds)
    fields = [_field(c, allowed.get(c.name)) for c in columns if "." not in c.name]
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

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
from curation.release import data_files
from curation.release.contents import ANNOTATIONS, HUB_SPLITS, SEALED, SPLITS, TERMS, DataFile
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

_CAT = {
    "id": "id of the CAT",
    "kind": "intrasentence or intersentence",
    "split": "dev or test",
    "domain": "what the stereotype is about, such as profession",
    "target": "the target term",
    "target_original": "the target in the dataset from which the CAT was translated",
    "context": "the context; an intrasentence one has BLANK in it",
}
_GOLD = {
    "stereotype": "the stereotypical association, as a whole sentence",
    "anti_stereotype": "the anti-stereotypical association",
    "unrelated": "the association without meaning in this context",
}
_PROVES = "proves later that texts and gold labels were not changed"
_LIST = {"isArray": True, "arrayShape": "-1"}
_LABEL_CLASSES = "0 anti-stereotype, 1 stereotype, 2 unrelated"


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
    sets: list[Json] = []
    for kind in KINDS:
        for split in SPLITS:
            path = data_files.parquet_path(kind, HUB_SPLITS[split])
            if path in paths:
                sets.append(_as_on_the_hub(f"{kind}-{HUB_SPLITS[split]}", path))
    for kind in KINDS:
        for split in SPLITS:
            path = data_files.flat_path(kind, split)
            if path in paths:
                sets.append(_cats(f"cats-{kind}-{split}", path, hidden=split == hidden))
    if SEALED in paths:
        sets.append(_sealed())
    if ANNOTATIONS in paths:
        sets.append(_annotations())
    if TERMS in paths:
        sets.append(_terms())
    return sets


def _as_on_the_hub(name: str, path: str) -> Json:
    """CATs in the layout of McGill-NLP/stereoset; ``sentences`` is a struct of lists."""
    table = _Table(name, path)
    labels = "the labels that were counted; " + _LABEL_CLASSES + ", 3 related"
    three = {"isArray": True, "arrayShape": "3"}
    lists = {"isArray": True, "arrayShape": "3,-1"}
    sentences = [
        table.inner("sentence", "sc:Text", "the associations, as whole sentences", "sentence"),
        table.inner("id", "sc:Text", "their ids", "id"),
        table.inner("gold_label", "cr:Int64", f"{_LABEL_CLASSES}, -1 hidden", "gold_label"),
    ]
    votes = [
        table.inner("label", "cr:Int64", labels, "labels", "label"),
        table.inner("human_id", "sc:Text", "who gave them, as pseudonyms", "labels", "human_id"),
    ]
    return table.record_set(
        "CATs with the fields of McGill-NLP/stereoset",
        [
            table.field("id", "sc:Text", "id of the CAT"),
            table.field("target", "sc:Text", "the target term"),
            table.field("bias_type", "sc:Text", "the domain"),
            table.field("context", "sc:Text", _CAT["context"]),
            {
                "@type": "cr:Field",
                "@id": f"{name}/sentences",
                "name": "sentences",
                "description": "the three associations, as lists in the same order",
                "subField": [
                    *({**part, **three} for part in sentences),
                    *({**part, **lists} for part in votes),
                ],
            },
        ],
        key="id",
    )


def _cats(name: str, path: str, *, hidden: bool) -> Json:
    table = _Table(name, path)
    fields = [table.field(column, "sc:Text", says) for column, says in _CAT.items()]
    if hidden:
        fields += [_options(table), table.field("commitment", "sc:Text", _PROVES)]
    else:
        fields += [table.field(column, "sc:Text", says) for column, says in _GOLD.items()]
        says = "smallest number of votes of a gold label: 3, 4 or 5; missing if unknown"
        fields.append(table.field("tier", "sc:Integer", says))
    says = "CATs whose gold labels are hidden" if hidden else "CATs, one in a row"
    return table.record_set(says, fields, key="id")


def _options(table: "_Table") -> Json:
    """The options of a hidden CAT: a list of objects."""
    return {
        "@type": "cr:Field",
        "@id": f"{table.name}/options",
        "name": "options",
        "description": "the three associations in random order",
        **_LIST,
        "subField": [
            table.part("options", "id", "sc:Text", "id of the association"),
            table.part("options", "sentence", "sc:Text", "the association"),
        ],
    }


def _sealed() -> Json:
    table = _Table("sealed", SEALED)
    fields = [table.field(name, "sc:Text", _CAT[name]) for name in ("id", "kind", "domain")]
    fields.append(table.field("commitment", "sc:Text", _PROVES))
    return table.record_set("Test CATs whose texts are hidden, one in a row", fields, key="id")


def _annotations() -> Json:
    table = _Table("annotations", ANNOTATIONS)
    return table.record_set(
        "Every label of the CATs, one in a row",
        [
            table.field("cat_id", "sc:Text", "id of the CAT"),
            table.field("association_id", "sc:Text", "id of the association"),
            table.field("annotator", "sc:Text", "pseudonym of the person who gave the label"),
            table.field("label", "sc:Text", "stereotype, anti-stereotype, unrelated or related"),
            table.field("round", "sc:Text", "the round in which the label was given"),
            table.field("counted", "sc:Boolean", "whether it helped to decide the gold label"),
            table.field("tier", "sc:Integer", "the tier of the CAT; missing if unknown"),
        ],
    )


def _terms() -> Json:
    table = _Table("terms", TERMS)
    return table.record_set(
        "The target terms that have CATs",
        [
            table.field("id", "sc:Text", "id of the term"),
            table.field("text", "sc:Text", "the target term"),
            table.field("domain", "sc:Text", "its domain"),
            table.field("family", "sc:Text", "terms of a family are in the same split"),
            {**table.field("wikidata", "sc:Text", "its items in Wikidata"), **_LIST},
            {**table.field("names", "sc:Text", "other texts that name it"), **_LIST},
            table.field("split", "sc:Text", "dev or test"),
            table.field("intrasentence", "sc:Integer", "its number of intrasentence CATs"),
            table.field("intersentence", "sc:Integer", "its number of intersentence CATs"),
        ],
        key="id",
    )


class _Table:
    """The fields of a record set that come from one file."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self._path = path

    def field(self, column: str, kind: str, says: str) -> Json:
        """A column."""
        return self._field(f"{self.name}/{column}", column, column, kind, says, ())

    def inner(self, name: str, kind: str, says: str, *within: str) -> Json:
        """A part of the struct in the column «sentences»."""
        place = f"{self.name}/sentences/{name}"
        return self._field(place, name, "sentences", kind, says, within)

    def part(self, column: str, name: str, kind: str, says: str) -> Json:
        """A field of the objects in the lists of a column."""
        return self._field(f"{self.name}/{column}/{name}", name, column, kind, says, (name,))

    def _field(
        self, place: str, name: str, column: str, kind: str, says: str, within: Sequence[str]
    ) -> Json:
        source: Json = {"fileObject": {"@id": self._path}, "extract": {"column": column}}
        if within:
            source["transform"] = [{"jsonPath": part} for part in within]
        return {
            "@type": "cr:Field",
            "@id": place,
            "name": name,
            "description": says,
            "dataType": kind,
            "source": source,
        }

    def record_set(self, says: str, fields: Sequence[Json], *, key: str = "") -> Json:
        """The record set with these fields; ``key`` is the field that identifies a record."""
        own: Json = {
            "@type": "cr:RecordSet",
            "@id": self.name,
            "name": self.name,
            "description": says,
        }
        if key:
            own["key"] = {"@id": f"{self.name}/{key}"}
        return {**own, "field": list(fields)}

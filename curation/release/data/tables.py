"""The flat files: the CATs and the terms as JSONL, the annotations as CSV."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import orjson

from curation.records import KINDS
from curation.release.contents import SPLITS, Contents, PublishedCat, PublishedTerm
from curation.release.layout import ANNOTATIONS, SEALED, TERMS


def path(kind: str, split: str) -> str:
    """The file of the CATs of a kind and a split.

    >>> path("intrasentence", "dev")
    'cats/intrasentence-dev.jsonl'
    """
    return f"cats/{kind}-{split}.jsonl"


def files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """A file of CATs for each kind and split that has any, the annotations and the terms.

    A sealed test set is in ``sealed.jsonl``: id, kind, domain and commitment of each CAT.

    Returns:
        Path and bytes of each; the files of CATs are in order of path.
    """
    for kind in sorted(KINDS):
        for split in SPLITS:
            if cats := contents.part(split, kind):
                yield path(kind, split), b"".join(map(_line, map(row, cats)))
    table = BytesIO()  # a text would take several times the memory while it is made
    contents.annotations.to_csv(table, index=False, lineterminator="\n")
    yield ANNOTATIONS, table.getvalue()
    del table
    yield TERMS, b"".join(_line(term_row(term)) for term in contents.terms)
    if contents.sealed:
        yield SEALED, b"".join(_line(cat._asdict()) for cat in contents.sealed)


def _line(row: Mapping[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def row(cat: PublishedCat) -> dict[str, Any]:
    """A line of ``cats/``; a hidden CAT has its options and its commitment."""
    fields: dict[str, Any] = {
        "id": cat.id,
        "kind": cat.kind,
        "split": cat.split,
        "domain": cat.domain,
        "target": cat.target,
        "target_original": cat.target_original,
        "context": cat.context,
    }
    if cat.commitment is not None:
        options = [{"id": option.id, "sentence": option.sentence} for option in cat.options]
        return {**fields, "options": options, "commitment": cat.commitment}
    sentences = {option.gold: option.sentence for option in cat.options}
    return {
        **fields,
        "stereotype": sentences["stereotype"],
        "anti_stereotype": sentences["anti-stereotype"],
        "unrelated": sentences["unrelated"],
        "tier": cat.tier,
    }


def term_row(published: PublishedTerm) -> dict[str, Any]:
    """A line of ``terms.jsonl``."""
    term = published.term
    return {
        "id": term.id,
        "text": term.text,
        "domain": term.domain,
        "family": term.family,
        "wikidata": term.wikidata,
        "names": term.names,
        "split": published.split,
        "intrasentence": published.intrasentence,
        "intersentence": published.intersentence,
    }

"""The flat files: the CATs and the terms as JSONL, the annotations as CSV."""

import hashlib
from collections.abc import Mapping
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


def files(contents: Contents) -> dict[str, bytes]:
    """A file of CATs for each kind and split that has any, the annotations and the terms.

    A sealed test set is in ``sealed.jsonl``: id, kind, domain and commitment of each CAT.
    """
    table = contents.annotations
    sealed = b"".join(_line(cat._asdict()) for cat in contents.sealed)
    return {
        **{
            path(kind, split): b"".join(map(_line, map(row, cats)))
            for kind in KINDS
            for split in SPLITS
            if (cats := contents.part(split, kind))
        },
        ANNOTATIONS: table.to_csv(index=False, lineterminator="\n").encode(),
        TERMS: b"".join(_line(term_row(term)) for term in contents.terms),
        **({SEALED: sealed} if sealed else {}),
    }


def canonical(files: Mapping[str, bytes]) -> str:
    """The canonical hash: sha256 of the JSONL files in ``cats/``, joined in order of name.

    ``cat cats/*.jsonl | sha256sum`` gives the same. It depends on the CATs only, so two versions
    with the same hash have the same CATs in the same order.
    """
    digest = hashlib.sha256()
    names = (name for name in files if name.startswith("cats/") and name.endswith(".jsonl"))
    for name in sorted(names):
        digest.update(files[name])
    return digest.hexdigest()


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

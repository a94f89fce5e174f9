"""The history of a term: its sources, the decision with its reason, and the items that use it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from curation.reasons import REASONS
from curation.records import Entity, Item
from curation.rules import same_text
from curation.terms.candidates import Candidate
from curation.terms.edits import Edit
from curation.terms.facts import Facts, best, number
from curation.terms.select import Selection


def named(selection: Selection, name: str, domain: str | None = None) -> list[Candidate]:
    """The candidates with this text, older text, Wikidata id or term id."""
    wanted = same_text(name)
    return [
        c
        for c in selection.candidates
        if domain in (None, c.domain)
        and (name in (c.id, c.item) or wanted in map(same_text, (c.text, *c.names)))
    ]


def old_texts(candidate: Candidate, items: Iterable[Item]) -> list[str]:
    """The ids of a term's items that contain an older text of the term."""
    new = same_text(candidate.text)
    old = [name for name in map(same_text, candidate.names) if name != new]

    def has_old(item: Item) -> bool:
        text = same_text(" ".join((item.context, *(a.sentence for a in item.associations))))
        # If the new text is «film producer», its part «producer» is not the older text.
        without = text.replace(new, " ")
        return any(_has_word(text if new in name else without, name) for name in old)

    return [item.id for item in items if item.term == candidate.id and has_old(item)]


def _has_word(text: str, name: str) -> bool:
    """Whether a text contains a name as a whole word; in scripts without case, anywhere."""
    places = [match.span() for match in re.finditer(re.escape(name), text)]
    edges = [text[max(start - 1, 0) : start] + text[stop : stop + 1] for start, stop in places]
    return any(not any(c.lower() != c.upper() or c.isdigit() for c in edge) for edge in edges)


def story(
    candidate: Candidate,
    selection: Selection,
    *,
    facts: Facts,
    edits: Sequence[Edit],
    items: Sequence[Item],
    languages: Sequence[str],
) -> dict[str, Any]:
    """Everything known about a candidate, as plain data.

    Args:
        candidate: the candidate.
        selection: the selection that contains it.
        facts: Wikidata's counts and entities.
        edits: the manual edits.
        items: the campaign's items.
        languages: language codes for the labels of its parents and classes.
    """
    entities = {entity.id: entity for entity in facts.entities}
    term = next((t for t in selection.terms if t.id == candidate.id), None)
    names = {candidate.text, *candidate.names, *candidate.items}
    return {
        "term": candidate.text,
        "domain": candidate.domain,
        "id": candidate.id,
        "status": candidate.status,
        "reason": candidate.reason,
        "meaning": REASONS[candidate.reason] if candidate.reason else None,
        "detail": candidate.detail,
        "into": candidate.into.text if candidate.into else None,
        "source": candidate.source,
        "form": candidate.form,
        "count": candidate.count if candidate.item else None,
        "rolled_up": candidate.rolled if candidate.item else None,
        "older_texts": list(dict.fromkeys(candidate.names)),
        "wikidata": [_item(qid, candidate, facts, entities, languages) for qid in candidate.items],
        "merged_into_it": [
            {"term": c.text, "reason": c.reason, "count": c.count}
            for c in selection.candidates
            if c.into is candidate and c.status == "merged"
        ],
        "edits": [
            {k: v for k, v in edit._asdict().items() if v and k not in ("domain", "term")}
            for edit in edits
            if edit.domain == candidate.domain and edit.term in names
        ],
        "family": term.family if term else None,
        "relatives": [
            t.text for t in selection.terms if term and t.family == term.family and t.id != term.id
        ],
        "items": sum(item.term == candidate.id for item in items),
        "items_with_an_older_text": old_texts(candidate, items),
    }


def _item(
    qid: str,
    candidate: Candidate,
    facts: Facts,
    entities: Mapping[str, Entity],
    languages: Sequence[str],
) -> dict[str, Any]:
    entity = entities.get(qid)
    counts = [c for c in facts.counts if c.item == qid and c.domain == candidate.domain]
    with_counts: dict[str, Any] = {"id": qid, "counts": {c.property: c.count for c in counts}}
    if entity is None:
        return with_counts

    def labels(ids: Iterable[str]) -> dict[str, str | None]:
        return {
            i: best(entities[i].labels, languages) if i in entities else None
            for i in sorted(ids, key=number)
        }

    return with_counts | {
        "labels": entity.labels,
        "description": entity.description,
        "aliases": list(entity.aliases),
        "kind_of": labels(entity.parents),
        "instance_of": labels(entity.classes),
        "sitelinks": entity.sitelinks,
        "demonyms": list(entity.demonyms),
    }

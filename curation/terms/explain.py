"""The history of a term: its sources, the decision with its reason, and the items that use it."""

import re
from collections.abc import Iterable, Mapping, Sequence

from curation.reasons import REASONS
from curation.records import Entity, Fields, Item
from curation.terms.candidates import Candidate
from curation.terms.edits import Edit
from curation.terms.facts import Facts, best, number
from curation.terms.select import Selection
from curation.text.rules import same_text, spelling_key


def named(
    selection: Selection, name: str, domain: str | None = None, *, entities: Sequence[Entity] = ()
) -> list[Candidate]:
    """The candidates with this name.

    A name is a text, an old name, a Wikidata id or a term id. If no candidate has it, the labels
    in other languages, the aliases and the other forms of Wikidata items are names too. If no item
    has it either, spelling variants are names too (``spelling_key``): hyphens, vowel points of
    Arabic and Hebrew, letters of full width.

    Args:
        selection: the selection.
        name: the name; case and spaces do not matter.
        domain: only candidates of this domain; None for all.
        entities: the looked-up items.
    """
    wanted = same_text(name)
    candidates = [c for c in selection.candidates if domain in (None, c.domain)]
    exact = [
        c
        for c in candidates
        if wanted in map(same_text, (c.id, c.item, *c.items, c.text, *c.names))
    ]
    if exact:
        return exact
    items = {entity.id for entity in entities if wanted in map(same_text, _labels(entity))}
    if items:
        return [c for c in candidates if not items.isdisjoint(c.items)]
    key = spelling_key(name)
    return [c for c in candidates if key in map(spelling_key, (c.text, *c.names))]


def _labels(entity: Entity) -> Iterable[str]:
    """All texts that Wikidata has for an item."""
    forms = (*entity.demonyms, *entity.feminine, *entity.masculine)
    return (*entity.labels.values(), *entity.aliases, *forms)


def old_texts(candidate: Candidate, items: Iterable[Item]) -> list[str]:
    """The ids of a term's items that contain an old name of the term."""
    new = same_text(candidate.text)
    old = [name for name in map(same_text, candidate.names) if name != new]

    def has_old(item: Item) -> bool:
        text = same_text(" ".join((item.context, *(a.sentence for a in item.associations))))
        # If the new text is «film producer», its part «producer» is not the old name.
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
    items: Sequence[Item],
    languages: Sequence[str],
) -> Fields:
    """Everything known about a candidate, as plain data.

    Args:
        candidate: the candidate.
        selection: the selection that contains it.
        facts: Wikidata's counts and entities.
        items: the campaign's items.
        languages: language codes for the labels of its parents and classes.
    """
    entities = {entity.id: entity for entity in facts.entities}
    term = next((t for t in selection.terms if t.id == candidate.id), None)
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
        "old_names": list(dict.fromkeys(candidate.names)),
        "wikidata": [_item(qid, candidate, facts, entities, languages) for qid in candidate.items],
        "merged_into_it": [
            {"term": c.text, "reason": c.reason, "count": c.count}
            for c in selection.candidates
            if c.into is candidate and c.status == "merged"
        ],
        "edits": _edits(candidate, selection),
        "family": term.family if term else None,
        "relatives": [
            t.text for t in selection.terms if term and t.family == term.family and t.id != term.id
        ],
        "items": sum(item.term == candidate.id for item in items),
        "items_with_an_old_name": old_texts(candidate, items),
    }


def _edits(candidate: Candidate, selection: Selection) -> list[Fields]:
    """The edits that changed a candidate, and those of it that were not applied, with the reason.

    An edit that merged another candidate into it changed it, too.
    """
    edits = [
        edit
        for edit, changed in selection.edited
        if candidate is changed or (edit.action == "merge" and candidate is changed.into)
    ]
    names = {candidate.text, *candidate.names, *candidate.items}
    refused = [
        (Edit(**rejection.record), rejection.detail)
        for rejection in selection.rejections
        if rejection.record["domain"] == candidate.domain
        and not names.isdisjoint((rejection.record["term"], rejection.record["into"]))
    ]
    lines = [(edit, "") for edit in edits] + refused
    return [
        {
            **{k: v for k, v in edit._asdict().items() if v and k != "domain"},
            **({"not_applied": problem} if problem else {}),
        }
        for edit, problem in sorted(lines, key=lambda line: line[0].line)
    ]


def _item(
    qid: str,
    candidate: Candidate,
    facts: Facts,
    entities: Mapping[str, Entity],
    languages: Sequence[str],
) -> Fields:
    entity = entities.get(qid)
    counts = [c for c in facts.counts if c.item == qid and c.domain == candidate.domain]
    with_counts: Fields = {"id": qid, "counts": {c.property: c.count for c in counts}}
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

"""What became of candidates for terms, and the history of one: sources, decision, reason, items."""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from curation.campaign.store import Campaign
from curation.files import CurationError
from curation.reasons import REASONS
from curation.records import Entity, Fields, Item
from curation.terms.candidates import Candidate
from curation.terms.facts import Facts, best, number
from curation.terms.fetching import FACTS, languages, outdated_facts
from curation.terms.lists import Edit
from curation.terms.select import Selection
from curation.terms.steps import FATES, domains_without_terms, no_terms, selection
from curation.text.item_form import names_target
from curation.text.rules import same_text, spelling_key


def find_candidates(
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


def explain_term(campaign: Campaign, name: str, domain: str | None = None) -> list[Fields]:
    """All that is known of the candidates with this name or id.

    Args:
        campaign: the campaign.
        name: a text, an old name, another label or alias in Wikidata, a Wikidata id or a term's
            id.
        domain: only candidates of this domain.

    Returns:
        One for each candidate, as ``story`` describes it.

    Raises:
        CurationError: there is no such candidate.
    """
    selected = selection(campaign)
    known = campaign[FACTS]
    candidates = find_candidates(selected, name, domain, entities=known.entities)
    if not candidates:
        texts = {candidate.text for candidate in selected.candidates}
        near = difflib.get_close_matches(name, texts, 3)
        raise CurationError(
            f"no candidate {name!r}",
            f"did you mean {', '.join(near)}?" if near else "1-terms/candidates.csv lists them all",
        )
    items = campaign.items
    codes = languages(campaign)["languages"]
    return [
        story(candidate, selected, facts=known, items=items, languages=codes)
        for candidate in candidates
    ]


class Outcome(NamedTuple):
    """What became of the candidates.

    Attributes:
        domains: for each domain: ``domain``, ``candidates``, ``kept``, ``merged``, ``dropped``.
        fates: for each domain, status and reason: ``domain``, ``status``, ``reason``, ``count``.
        reasons: how many candidates were not kept, by reason code, the most frequent first.
        old_texts: the ids of items that use an old name or a second spelling, by term.
        notes: what users should check of the edits, although they were applied.
    """

    domains: list[Fields]
    fates: list[Fields]
    reasons: dict[str, int]
    old_texts: dict[str, list[str]]
    notes: list[str]


def outcome(campaign: Campaign) -> Outcome:
    """What becomes of the candidates, from all sources that the campaign has now."""
    selected = selection(campaign)
    candidates = selected.candidates
    rows = Counter((c.domain, c.status, c.reason or "") for c in candidates)
    fates = [
        {"domain": domain, "status": status, "reason": reason or None, "count": n}
        for (domain, status, reason), n in rows.items()
    ]
    domains = []
    for domain in campaign.settings.domains:
        status = Counter[str](c.status for c in candidates if c.domain == domain)
        domains.append(
            {"domain": domain, "candidates": status.total()}
            | {name: status[name] for name in FATES}
        )
    reasons = Counter(c.reason for c in candidates if c.reason and not c.alive)
    items, renamed = campaign.items, [c for c in candidates if c.alive and c.names]
    old = {c.text: ids for c in renamed if (ids := old_texts(c, items))}
    return Outcome(domains, fates, dict(reasons.most_common()), old, selected.notes)


def selection_warnings(campaign: Campaign, outcome: Outcome) -> list[str]:
    """What users should know of a selection: old facts, domains without terms, and old names.

    Args:
        campaign: the campaign.
        outcome: of ``outcome``.
    """
    warnings = []
    for domain, changed in outdated_facts(campaign).items():
        warnings.append(
            f"domain {domain}: Wikidata was asked under other settings ({', '.join(changed)}); ask "
            "again with «curation terms query» or «scan»"
            if changed
            else f"domain {domain}: Wikidata has not been asked yet; run «curation terms query»"
        )
    warnings += map(no_terms, domains_without_terms(campaign))
    for text, ids in outcome.old_texts.items():
        shown = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
        warnings.append(
            f"items of {text!r} that use an old name or a second spelling: {len(ids)} ({shown})"
        )
    if outcome.old_texts:
        warnings.append(
            "readers of a release see only the new name. Before you build one, take the rename "
            "back (1-terms/edits.csv), leave these items out (leave_out in [decisions]), or have "
            "them written again; «curation measures pitfalls --show target_renamed» shows the CATs "
            "whose context does not have the new name"
        )
    return warnings


def items_that_need_old_texts(campaign: Campaign) -> list[str]:
    """The ids of items whose context names the target only by an old name or another spelling."""
    renamed = {term.id: term for term in campaign.terms.values() if term.names}
    return [
        item.id
        for item in (campaign.items if renamed else ())
        if (term := renamed.get(item.term))
        and not names_target(item.context, term.text)
        and any(names_target(item.context, name) for name in term.names)
    ]

"""The step ``select``: target terms and their families; and what is known of a term."""

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign import Campaign
from curation.files import CurationError, digest, read_records
from curation.formats.tables import csv_text
from curation.records import Item, Rejection, Term
from curation.steps import facts
from curation.steps.read import read_items, read_terms
from curation.steps.reporter import Reporter
from curation.steps.step import Step
from curation.steps.term_files import (
    domains_without_words,
    facts_files,
    read_edits,
    read_facts,
    read_met,
    selection,
    word_files,
)
from curation.text.item_form import names
from curation.work.manifest import Results, read_manifest

if TYPE_CHECKING:
    from curation.terms.candidates import Candidate

CANDIDATE_COLUMNS = (
    *("domain", "term", "status", "reason", "detail", "into", "count", "rolled_up"),
    *("source", "form", "wikidata", "description", "family", "note", "id"),
)


def settings(campaign: Campaign) -> dict[str, Any]:
    """What the selection depends on, the sha256 of word lists included."""
    settings = campaign.settings
    return {
        "language": settings.campaign.language,
        **settings.terms.model_dump(exclude={"contact", "endpoint"}),
        "domains": {name: domain.model_dump() for name, domain in settings.domains.items()},
        "words": {f"{d}: {name}": digest(path) for (d, name), path in word_files(campaign).items()},
    }


def inputs(campaign: Campaign) -> list[Path]:
    """What the selection reads, beside word lists."""
    names = ("imported.jsonl", "edits.csv")
    return [*facts_files(campaign), *(campaign.terms / name for name in names)]


def select(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Select the target terms."""
    before = {*edit_problems(campaign)}
    if campaign.round_names():
        for error in domains_without_words(campaign).values():
            reporter.warn(
                f"{error.what}. The domain keeps the terms that answers name; if people are to "
                f"write about others, {error.fix}"
            )
    selected, misspelt = selection(campaign), _misspelt_domains(campaign)
    rejections = sorted([*selected.rejections, *misspelt], key=lambda r: r.record["line"])
    notes = selected.notes if edits_are_new(campaign) else []
    for problem in [*map(_problem, rejections), *notes]:
        if problem not in before:  # the others were reported by an earlier run
            reporter.warn(problem)
    rows = [
        (
            *(c.domain, c.text, c.status, c.reason, c.detail, c.into and c.into.text),
            *((c.count, c.rolled) if c.item else (None, None)),
            *(c.source, c.form, " ".join(c.items), c.description, c.family, c.note, c.id),
        )
        for c in selected.candidates
    ]
    results.lines("candidates.csv", [csv_text([CANDIDATE_COLUMNS, *rows]).encode()])
    results.records("targets.jsonl", selected.terms)
    results.records("rejected.jsonl", rejections)
    status, edits = Counter(c.status for c in selected.candidates), read_edits(campaign)
    met, domains = read_met(campaign), campaign.settings.domains
    return {
        "candidates": len(selected.candidates),
        "kept": status["kept"],
        "merged": status["merged"],
        "dropped": status["dropped"],
        "terms_of_other_domains": sum(term.domain not in domains for term in met),
        "edits_in": len(edits),
        "edits_of_other_domains": sum(e.domain not in domains for e in edits) - len(misspelt),
        "edits_refused": len(rejections),
    }


def edit_problems(campaign: Campaign) -> list[str]:
    """What is wrong with lines of ``edits.csv``, as of the last selection, one text for each.

    Such lines are not applied. A step reports a line once; ``curation terms select`` and
    ``curation status`` report it until it is corrected.
    """
    path = campaign.terms / "rejected.jsonl"
    rejections = read_records(path, Rejection) if path.exists() else []
    return [_problem(rejection) for rejection in rejections]


def edits_are_new(campaign: Campaign) -> bool:
    """Whether ``edits.csv`` has changed since the last selection."""
    run, path = read_manifest(campaign.terms).steps.get("select"), campaign.terms / "edits.csv"
    return run is None or run.inputs.get(campaign.relative(path)) != digest(path)


def _problem(rejection: Rejection) -> str:
    return f"{rejection.where}: not applied: {rejection.detail}"


def _misspelt_domains(campaign: Campaign) -> list[Rejection]:
    """Rows of ``edits.csv`` whose domain looks misspelt."""
    domains, where = campaign.settings.domains, campaign.relative(campaign.terms / "edits.csv")
    return [
        Rejection(
            code="unknown_domain",
            detail=f"no domain {edit.domain!r}; did you mean {near[0]!r}?",
            where=f"{where} line {edit.line}",
            record=edit._asdict(),
        )
        for edit in read_edits(campaign)
        if edit.domain not in domains
        and (near := difflib.get_close_matches(edit.domain, domains, 1))
    ]


def domains_without_terms(campaign: Campaign) -> list[str]:
    """The domains that have no term, as of the last selection; none before the first."""
    path = campaign.terms / "targets.jsonl"
    if not path.exists():
        return []
    having = {term.domain for term in read_records(path, Term) if term.status == "kept"}
    return [domain for domain in campaign.settings.domains if domain not in having]


def check_words(campaign: Campaign) -> None:
    """Check that no domain lacks terms because its word list lacks the campaign's language.

    Raises:
        CurationError: a domain has no term and no words; the message names the file to supply.
    """
    lacking = domains_without_words(campaign)
    for domain in domains_without_terms(campaign) if lacking else ():
        if domain in lacking:
            raise lacking[domain]


def no_terms(domain: str) -> str:
    """The warning about a domain without terms."""
    return (
        f"domain {domain} has no term, so nobody is asked to write about it; name its sources in "
        f"[domains.{domain}], add terms in 1-terms/edits.csv, or delete the domain"
    )


class Outcome(NamedTuple):
    """What became of the candidates.

    Attributes:
        domains: for each domain: ``domain``, ``candidates``, ``kept``, ``merged``, ``dropped``.
        fates: for each domain, status and reason: ``domain``, ``status``, ``reason``, ``count``.
        reasons: how many candidates were not kept, by reason code, the most frequent first.
        old_texts: the ids of items that use an old name or a second spelling, by term.
        notes: what users should check of the edits, although they were applied.
    """

    domains: list[dict[str, Any]]
    fates: list[dict[str, Any]]
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
        status = Counter(c.status for c in candidates if c.domain == domain)
        kept, merged, dropped = status["kept"], status["merged"], status["dropped"]
        domains.append(
            {
                "domain": domain,
                "candidates": status.total(),
                "kept": kept,
                "merged": merged,
                "dropped": dropped,
            }
        )
    reasons = Counter(c.reason for c in candidates if c.reason and not c.alive)
    old_texts = items_with_old_texts(candidates, read_items(campaign))
    return Outcome(domains, fates, dict(reasons.most_common()), old_texts, selected.notes)


def items_that_need_old_texts(campaign: Campaign) -> list[str]:
    """The ids of items whose context names the target only by an old name or another spelling."""
    renamed = {term.id: term for term in read_terms(campaign).values() if term.names}
    return [
        item.id
        for item in (read_items(campaign) if renamed else ())
        if (term := renamed.get(item.term))
        and not names(item.context, term.text)
        and any(names(item.context, name) for name in term.names)
    ]


def explain(campaign: Campaign, name: str, domain: str | None = None) -> list[dict[str, Any]]:
    """All that is known of the candidates with this name or id.

    Args:
        campaign: the campaign.
        name: a text, an old name, another label or alias in Wikidata, a Wikidata id or a term's
            id.
        domain: only candidates of this domain.

    Returns:
        One for each candidate, as ``curation.terms.explain.story`` describes it.

    Raises:
        CurationError: there is no such candidate.
    """
    from curation.terms.explain import named, story

    selected = selection(campaign)
    known = read_facts(campaign)
    candidates = named(selected, name, domain, entities=known.entities)
    if not candidates:
        texts = {candidate.text for candidate in selected.candidates}
        near = difflib.get_close_matches(name, texts, 3)
        raise CurationError(
            f"no candidate {name!r}",
            f"did you mean {', '.join(near)}?" if near else "1-terms/candidates.csv lists them all",
        )
    items = read_items(campaign)
    codes = facts.languages(campaign)["languages"]
    return [
        story(candidate, selected, facts=known, items=items, languages=codes)
        for candidate in candidates
    ]


def items_with_old_texts(
    candidates: "Iterable[Candidate]", items: Sequence[Item]
) -> dict[str, list[str]]:
    """The ids of items that use an old name or a second spelling of their term, by its text."""
    from curation.terms.explain import old_texts

    return {c.text: ids for c in candidates if c.alive and c.names and (ids := old_texts(c, items))}


SELECT = Step(
    "select",
    "target terms and their families",
    lambda c: c.terms,
    "terms.select",
    settings,
    inputs,
    select,
    delete=None,
)

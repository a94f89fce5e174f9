"""Read what a campaign's terms are selected from, select them, and find them by name."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from curation.campaign import Campaign
from curation.files import CurationError, read_bytes, read_records, read_text, shipped
from curation.records import Count, Entity, Term

if TYPE_CHECKING:
    from curation.terms.edits import Edit
    from curation.terms.facts import Facts
    from curation.terms.select import Selection
    from curation.terms.words import NoWordsError, Word


def facts_files(campaign: Campaign) -> list[Path]:
    """The files of Wikidata's facts."""
    return [campaign.terms / "counts.jsonl", campaign.terms / "entities.jsonl"]


def read_facts(campaign: Campaign) -> "Facts":
    """Wikidata's facts, from the query service or a dump; empty if there are none yet."""
    from curation.terms.facts import Facts

    counts, entities = facts_files(campaign)
    if not counts.exists() or not entities.exists():
        return Facts([], [])
    return Facts(read_records(counts, Count), read_records(entities, Entity))


def word_files(campaign: Campaign) -> dict[tuple[str, str], Path]:
    """The word lists by domain and name: the campaign's own, else those shipped with curation."""
    files = {}
    for domain, settings in campaign.settings.domains.items():
        for name in settings.words:
            own = campaign.terms / name
            ours = shipped("data", "words", name)
            files[domain, name] = ours if ours.exists() and not own.exists() else own
    return files


def read_words(
    campaign: Campaign, lacking: "dict[str, NoWordsError] | None" = None
) -> "dict[str, list[Word]]":
    """The words of all lists by domain.

    With ``lacking``, a list that comes with the tool may lack the campaign's language. Its domain
    has no words then, and the error is added to ``lacking``, by domain.

    Raises:
        CurationError: a list is missing or has no words in the campaign's language.
    """
    from curation.rounds.tables.reading import read_rows
    from curation.terms import words
    from curation.terms.facts import languages

    by_domain: dict[str, list[Word]] = {}
    for (domain, name), path in word_files(campaign).items():
        own = campaign.terms / name
        if not path.exists():
            raise CurationError(
                f"{own}: no such word list, but [domains.{domain}] names it",
                "put it there (columns term, language, domain; or a text file with one word per "
                "line), or remove it from words",
            )
        rows = (
            words.text_rows(read_text(path), path)
            if path.suffix in (".txt", "")
            else list(read_rows(path))
        )
        try:
            by_domain[domain] = by_domain.get(domain, []) + words.read_words(
                rows,
                path if path == own else Path(path.name),
                domain=domain,
                languages=languages(campaign.settings.campaign.language),
                wanted=own,
            )
        except words.NoWordsError as error:
            if lacking is None or path == own:
                raise
            lacking[domain] = error
    return by_domain


def domains_without_words(campaign: Campaign) -> "dict[str, NoWordsError]":
    """The domains whose list comes with the tool and lacks the campaign's language."""
    lacking: dict[str, NoWordsError] = {}
    read_words(campaign, lacking)
    return lacking


def read_met(campaign: Campaign) -> list[Term]:
    """The terms that answers have named, as they were at that time."""
    path = campaign.terms / "imported.jsonl"
    return read_records(path, Term) if path.exists() else []


def read_edits(campaign: Campaign) -> "list[Edit]":
    """The manual edits of terms; none if the file is missing or empty."""
    from curation.rounds.tables.reading import read_rows
    from curation.terms import edits

    path = campaign.terms / "edits.csv"
    if not path.exists() or not read_bytes(path).strip():
        return []
    return edits.read_edits(read_rows(path), str(path))


def selection(campaign: Campaign, *, published: bool = False) -> "Selection":
    """Select the terms, from all sources that the campaign has now.

    A word list that comes with the tool may lack the campaign's language if there are answers, or
    if published data is being imported: they name their own terms.

    Raises:
        CurationError: a word list is missing or has no words in the language, or a file is damaged.
    """
    from curation.terms.select import select

    settings = campaign.settings
    return select(
        settings.domains,
        facts=read_facts(campaign),
        words=read_words(campaign, {} if published or campaign.round_names() else None),
        met=read_met(campaign),
        edits=[e for e in read_edits(campaign) if e.domain in settings.domains],
        language=settings.campaign.language,
        settings=settings.terms,
        where=campaign.relative(campaign.terms / "edits.csv"),
    )


def terms_named(terms: Iterable[Term], name: str) -> list[Term]:
    """The terms that a name means: ids and present texts first, then other names, then any case.

    Args:
        terms: the terms.
        name: a term's id, text, old name or second spelling, or a Wikidata id.

    Returns:
        Several if terms of several domains have the name; none if no term has it.
    """
    from curation.text.rules import same_text

    terms, plain = list(terms), same_text(name)
    ways: tuple[Callable[[Term], bool], ...] = (
        lambda t: name in (t.id, t.text),
        lambda t: name in (*t.names, *t.wikidata),
        lambda t: plain == same_text(t.text),
        lambda t: plain in map(same_text, (*t.names, *t.wikidata)),
    )
    return next((chosen for way in ways if (chosen := [t for t in terms if way(t)])), [])


def term_ids(terms: Iterable[Term]) -> dict[tuple[str, str], str]:
    """Term ids by domain and text; a term's other names count, too."""
    terms = list(terms)
    ids = {(t.domain, name): t.id for t in terms for name in t.names}
    return ids | {(t.domain, t.text): t.id for t in terms}

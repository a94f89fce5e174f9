"""The step ``select``: target terms and their families, from facts, lists and answers."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from curation.campaign.dataset import ANSWERED, Dataset, in_file, shipped_file
from curation.campaign.datasets import TERMS
from curation.campaign.step import Out, last_run, step
from curation.campaign.store import Campaign
from curation.files import (
    CurationError,
    digest,
    dump_line,
    read_bytes,
    read_text,
    shipped,
    writing,
)
from curation.formats.tables import csv_text
from curation.records import Rejection, Term
from curation.terms.facts import wikidata_codes
from curation.terms.fetching import FACTS
from curation.terms.lists import (
    EDIT_COLUMNS,
    Edit,
    NoWordsError,
    Word,
    read_edits,
    read_words,
    text_rows,
)
from curation.terms.select import Selection, first_name, new_id, select_terms
from curation.text.rules import nfc, same_text


def word_files(campaign: Campaign) -> dict[tuple[str, str], Path]:
    """The word lists by domain and name: the campaign's own, else those shipped with curation."""
    files = {}
    for domain, settings in campaign.settings.domains.items():
        for name in settings.words:
            own = campaign.folder("terms") / name
            ours = shipped("data", "words", name)
            files[domain, name] = ours if ours.exists() and not own.exists() else own
    return files


class Words(NamedTuple):
    """The words of all lists, by domain.

    A list that comes with the tool may lack the campaign's language. ``lacking`` has the error by
    domain, which has no words then.
    """

    by_domain: dict[str, list[Word]]
    lacking: dict[str, NoWordsError]


def _read_words(campaign: Campaign) -> Words:
    from curation.formats.rows import read_rows

    found = Words({}, {})
    for (domain, name), path in word_files(campaign).items():
        own = campaign.folder("terms") / name
        if not path.exists():
            raise CurationError(
                f"{own}: no such word list, but [domains.{domain}] names it",
                "put it there (columns term, language, domain; or a text file with one word per "
                "line), or remove it from words",
            )
        rows = (
            text_rows(read_text(path), path)
            if path.suffix in (".txt", "")
            else list(read_rows(path))
        )
        try:
            found.by_domain[domain] = found.by_domain.get(domain, []) + read_words(
                rows,
                path if path == own else Path(path.name),
                domain=domain,
                languages=wikidata_codes(campaign.settings.campaign.language),
                wanted=own,
            )
        except NoWordsError as error:
            if path == own:
                raise
            found.lacking[domain] = error
    return found


WORDS = Dataset("words", lambda campaign: [*word_files(campaign).values()], _read_words)
"""Asking for them raises a CurationError if a list is missing, or a team's own has no words in the
campaign's language."""


WITHOUT_WORDS = Dataset(
    "domains without words",
    lambda campaign: [*WORDS.files(campaign), *ANSWERED.files(campaign)],
    lambda campaign: () if campaign.round_names() else tuple(campaign[WORDS].lacking),
    by_value=True,
)
"""The domains without words that stop a selection; none if there are answers, which name terms."""


MET = in_file("terms", "imported.jsonl", Term)
"""The terms that answers have named, as they were at that time."""


def edits_file(campaign: Campaign) -> Path:
    """The file of manual edits."""
    return campaign.folder("terms") / "edits.csv"


def _read_edits(campaign: Campaign) -> tuple[Edit, ...]:
    from curation.formats.rows import read_rows

    path = edits_file(campaign)
    data = read_bytes(path) if path.exists() else b""
    return tuple(read_edits(read_rows(path, data=data), str(path))) if data.strip() else ()


EDITS = Dataset("edits", lambda c: [edits_file(c)], _read_edits)
"""The manual edits of terms; none if the file is missing or empty."""


def selection(campaign: Campaign, *, published: bool = False) -> Selection:
    """Select the terms, from all sources that the campaign has now.

    A word list that comes with the tool may lack the campaign's language if there are answers, or
    if published data is being imported: they name their own terms.

    Raises:
        CurationError: a word list is missing or has no words in the language, or a file is damaged.
    """
    settings, listed = campaign.settings, campaign[WORDS]
    if not published and (stopping := campaign[WITHOUT_WORDS]):
        raise listed.lacking[stopping[0]]
    return select_terms(
        settings.domains,
        facts=campaign[FACTS],
        words=listed.by_domain,
        met=campaign[MET],
        edits=[e for e in campaign[EDITS] if e.domain in settings.domains],
        language=settings.campaign.language,
        settings=settings.terms,
        where=campaign.relative(edits_file(campaign)),
    )


def terms_named(terms: Iterable[Term], name: str) -> list[Term]:
    """The terms that a name means: ids and present texts first, then other names, then any case.

    Args:
        terms: the terms.
        name: a term's id, text, old name or second spelling, or a Wikidata id.

    Returns:
        Several if terms of several domains have the name; none if no term has it.
    """
    terms, plain = list(terms), same_text(name)
    ways: tuple[Callable[[Term], bool], ...] = (
        lambda t: name in (t.id, t.text),
        lambda t: name in (*t.names, *t.wikidata),
        lambda t: plain == same_text(t.text),
        lambda t: plain in map(same_text, (*t.names, *t.wikidata)),
    )
    return next((chosen for way in ways if (chosen := [t for t in terms if way(t)])), [])


def term_ids(terms: Iterable[Term]) -> dict[tuple[str, str], str]:
    """Term ids by domain and text, also in NFC, as answers have it; other names count, too."""
    terms = list(terms)
    named = [(t, name) for t in terms for name in t.names] + [(t, t.text) for t in terms]
    return {(t.domain, form): t.id for t, name in named for form in (name, nfc(name))}


FATES = ("kept", "merged", "dropped")
CANDIDATE_COLUMNS = (
    "domain",
    "term",
    "status",
    "reason",
    "detail",
    "into",
    "count",
    "rolled_up",
    "source",
    "form",
    "wikidata",
    "description",
    "family",
    "note",
    "id",
)


REFUSED_EDITS = in_file("terms", "rejected.jsonl", Rejection)
_TABLES = tuple(shipped_file("data", "terms", name) for name in ("languages.toml", "places.toml"))


@step(
    "target terms and their families",
    folder="terms",
    version=4,
    makes=(TERMS,),
    reads=(WORDS, FACTS, MET, EDITS),
    as_it_is=(WITHOUT_WORDS, *_TABLES),
    history=(REFUSED_EDITS,),
    settings=("campaign.language", "terms.selecting", "domains"),
    lasting=True,
)
def select(campaign: Campaign, out: Out) -> dict[str, int]:
    """Select the target terms."""
    before = {*edit_problems(campaign)}
    if not campaign[WITHOUT_WORDS]:
        for error in campaign[WORDS].lacking.values():
            out.warn(
                f"{error.what}. The domain keeps the terms that answers name; if people are to "
                f"write about others, {error.fix}"
            )
    selected, misspelt = selection(campaign), _misspelt_domains(campaign)
    rejections = sorted([*selected.rejections, *misspelt], key=lambda r: r.record["line"])
    notes = selected.notes if edits_are_new(campaign) else []
    for problem in [*map(_problem, rejections), *notes]:
        if problem not in before:  # the others were reported by an earlier run
            out.warn(problem)
    rows = [
        (
            c.domain,
            c.text,
            c.status,
            c.reason,
            c.detail,
            c.into and c.into.text,
            c.count if c.item else None,
            c.rolled if c.item else None,
            c.source,
            c.form,
            " ".join(c.items),
            c.description,
            c.family,
            c.note,
            c.id,
        )
        for c in selected.candidates
    ]
    out.lines("candidates.csv", [csv_text([CANDIDATE_COLUMNS, *rows]).encode()])
    out.records("targets.jsonl", selected.terms)
    out.records("rejected.jsonl", rejections)
    edits = campaign[EDITS]
    status = Counter[str](c.status for c in selected.candidates)
    met, domains = campaign[MET], campaign.settings.domains
    return {
        "candidates": len(selected.candidates),
        **{name: status[name] for name in FATES},
        "terms_of_other_domains": sum(term.domain not in domains for term in met),
        "edits_in": len(edits),
        "edits_of_other_domains": sum(e.domain not in domains for e in edits) - len(misspelt),
        "edits_refused": len(rejections),
    }


def edit_problems(campaign: Campaign) -> list[str]:
    """What is wrong with lines of ``edits.csv``, as of the last selection, one text for each.

    Such lines are not applied. A step reports a line once; ``curation terms select`` and
    ``curation status`` report it until it is corrected. A damaged file says nothing: the step
    ``select`` writes it again.
    """
    with suppress(CurationError):
        return [_problem(rejection) for rejection in campaign[REFUSED_EDITS]]
    return []


def edits_are_new(campaign: Campaign) -> bool:
    """Whether ``edits.csv`` has changed since the last selection."""
    run, path = last_run(campaign, select), edits_file(campaign)
    return run is None or run.inputs.get(campaign.relative(path)) != digest(path)


def _problem(rejection: Rejection) -> str:
    return f"{rejection.where}: not applied: {rejection.detail}"


def _misspelt_domains(campaign: Campaign) -> list[Rejection]:
    """Rows of ``edits.csv`` whose domain looks misspelt."""
    domains, where = campaign.settings.domains, campaign.relative(edits_file(campaign))
    return [
        Rejection(
            code="unknown_domain",
            detail=f"no domain {edit.domain!r}; did you mean {near[0]!r}?",
            where=f"{where} line {edit.line}",
            record=edit._asdict(),
        )
        for edit in campaign[EDITS]
        if edit.domain not in domains
        and (near := difflib.get_close_matches(edit.domain, domains, 1))
    ]


def domains_without_terms(campaign: Campaign) -> list[str]:
    """The domains that have no term, as of the last selection; none before the first."""
    if not (campaign.folder("terms") / "targets.jsonl").exists():
        return []
    having = {term.domain for term in campaign.terms.values() if term.status == "kept"}
    return [domain for domain in campaign.settings.domains if domain not in having]


def check_words(campaign: Campaign) -> None:
    """Check that no domain lacks terms because its word list lacks the campaign's language.

    Raises:
        CurationError: a domain has no term and no words; the message names the file to supply.
    """
    lacking = campaign[WORDS].lacking
    for domain in domains_without_terms(campaign) if lacking else ():
        if domain in lacking:
            raise lacking[domain]


def no_terms(domain: str) -> str:
    """The warning about a domain without terms."""
    return (
        f"domain {domain} has no term, so nobody is asked to write about it; name its sources in "
        f"[domains.{domain}], add terms in 1-terms/edits.csv, or delete the domain"
    )


def register_terms(
    campaign: Campaign,
    selection: Selection,
    named: Iterable[tuple[str, str]],
    *,
    known_only: bool,
) -> None:
    """Keep every term that answers name, with its permanent id and its first text.

    From then on it is a term of the campaign, even if Wikidata gives it another label later or the
    thresholds of the selection would drop it.

    Args:
        campaign: the campaign; only under its lock.
        selection: its terms as they are selected now.
        named: pairs (domain, text) that answers name.
        known_only: keep only terms that are selected; others are left out.
    """
    registered = {term.id: term for term in campaign[MET]}
    before, selected = len(registered), {term.id: term for term in selection.terms}
    ids = term_ids(selection.terms)
    candidates = {candidate.id: candidate for candidate in selection.candidates}
    for domain, text in dict.fromkeys(named):
        term = selected.get(ids.get((domain, text), ""))
        if term:
            first, candidate = first_name(term), candidates[term.id]
            # Items that have the new text of a renamed term do not belong to its first text.
            own = (candidate.item,) if candidate.item else ()
            registered.setdefault(
                term.id,
                Term(
                    id=term.id,
                    text=first,
                    domain=domain,
                    family=candidate.family,  # links to its place, its other forms
                    wikidata=term.wikidata if term.text == first else own,
                ),
            )
        own_texts = {term.text, first, nfc(term.text), nfc(first)} if term else set()
        if (term and text not in own_texts) or (term is None and not known_only):
            name = new_id(domain, text)
            registered.setdefault(name, Term(id=name, text=text, domain=domain))
    if len(registered) > before:
        with writing(campaign.folder("terms") / "imported.jsonl") as file:
            file.writelines(map(dump_line, registered.values()))
    edits = edits_file(campaign)
    if not edits.exists():
        with writing(edits) as file:
            file.write((",".join(EDIT_COLUMNS) + "\n").encode())

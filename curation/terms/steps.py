"""The step ``select``: target terms and their families, from facts, lists and answers."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, StrictInt, TypeAdapter, ValidationError

from curation.campaign.dataset import ANSWERED, Dataset, in_file, shipped_file
from curation.campaign.datasets import TERMS
from curation.campaign.manifest import Results
from curation.campaign.step import Out, step
from curation.campaign.store import SETTINGS, Campaign
from curation.files import (
    CurationError,
    digest,
    dump_line,
    read_bytes,
    read_json,
    read_records,
    read_text,
    shipped,
    writing,
)
from curation.formats.tables import csv_text
from curation.records import Count, Entity, Fields, Rejection, Term
from curation.terms import select as stage
from curation.terms import words
from curation.terms.edits import COLUMNS, Edit
from curation.terms.explain import named, old_texts, story
from curation.terms.facts import FactRequest, Facts, in_order
from curation.terms.facts import languages as wikidata_codes
from curation.terms.select import Selection, first_name, new_id
from curation.terms.words import NoWordsError, Word
from curation.text.item_form import names
from curation.text.rules import grouped, nfc, same_text
from curation.text.times import now
from curation.work.engine import Engine
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.terms.dump import Scanned


def facts_files(campaign: Campaign) -> list[Path]:
    """The files of Wikidata's facts."""
    return [campaign.folder("terms") / "counts.jsonl", campaign.folder("terms") / "entities.jsonl"]


def _read_facts(campaign: Campaign) -> Facts:
    counts, entities = facts_files(campaign)
    if not counts.exists() or not entities.exists():
        return Facts([], [])
    return Facts(read_records(counts, Count), read_records(entities, Entity))


FACTS = Dataset("facts", facts_files, _read_facts)
"""Wikidata's facts, from the query service or a dump; empty if there are none yet."""


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
            words.text_rows(read_text(path), path)
            if path.suffix in (".txt", "")
            else list(read_rows(path))
        )
        try:
            found.by_domain[domain] = found.by_domain.get(domain, []) + words.read_words(
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


def _edits_file(campaign: Campaign) -> Path:
    return campaign.folder("terms") / "edits.csv"


def _read_edits(campaign: Campaign) -> "tuple[Edit, ...]":
    from curation.formats.rows import read_rows
    from curation.terms.edits import read_edits

    path = _edits_file(campaign)
    data = read_bytes(path) if path.exists() else b""
    return tuple(read_edits(read_rows(path, data=data), str(path))) if data.strip() else ()


EDITS: "Dataset[tuple[Edit, ...]]" = Dataset("edits", lambda c: [_edits_file(c)], _read_edits)
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
    return stage.select(
        settings.domains,
        facts=campaign[FACTS],
        words=listed.by_domain,
        met=campaign[MET],
        edits=[e for e in campaign[EDITS] if e.domain in settings.domains],
        language=settings.campaign.language,
        settings=settings.terms,
        where=campaign.relative(campaign.folder("terms") / "edits.csv"),
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


class Queried(NamedTuple):
    """Facts from a query service.

    Attributes:
        facts: the facts of the domains that were asked for.
        asked: questions that the service answered now.
        on_disk: questions that were answered on disk.
        oldest: when the oldest answer on disk came; None if none was used.
    """

    facts: Facts
    asked: int
    on_disk: int
    oldest: str | None


def query_facts(
    campaign: Campaign,
    domains: Sequence[str] | None = None,
    *,
    endpoint: str = "",
    fresh: bool = False,
    reporter: Reporter = QUIET,
) -> Queried:
    """Ask a query service for the facts of domains, and keep them in the campaign.

    Call it only under the campaign's lock.

    Args:
        campaign: the campaign.
        domains: the domains; by default all that name properties.
        endpoint: wdqs, qlever or an address; by default the campaign's.
        fresh: also ask again what is answered on disk.
        reporter: where notes and progress go.

    Raises:
        CurationError: there is nothing to ask, or the service does not answer.
    """
    from curation.terms.wikidata import Service, query

    asks, settings = domain_asks(campaign, domains), campaign.settings.terms
    if "@" in settings.endpoint and not endpoint:
        raise CurationError(
            f"{campaign.root / SETTINGS}, terms.endpoint: the address has a user name or a "
            "password, and the file is shared",
            "remove them there; put them into ~/.netrc, or into --endpoint for one command",
        )
    service = Service(
        endpoint or settings.endpoint,
        contact=settings.contact,
        cache=campaign.folder("terms") / "answers",
        fresh=fresh,
        tell=reporter.note,
    )
    with service, reporter.stages() as tell:
        facts = query(service, asks, **languages(campaign), least=settings.least, tell=tell)
    _keep(campaign, asks, facts, {"service": service.host})
    return Queried(facts, service.asked, service.cached, service.oldest)


def scan_facts(
    campaign: Campaign,
    files: Sequence[Path],
    domains: Sequence[str] | None = None,
    *,
    engine: Engine = "local",
    workers: int | None = None,
    reporter: Reporter = QUIET,
) -> "Scanned":
    """Read the facts of domains from a Wikidata dump, and keep them in the campaign.

    Call it only under the campaign's lock.

    Args:
        campaign: the campaign.
        files: the dump, in one file or several.
        domains: the domains; by default all that name properties.
        engine: what reads several files at once, see ``curation.work.engine``.
        workers: how many files at once.
        reporter: where progress goes.

    Raises:
        CurationError: there is nothing to look for, or a file cannot be read.
    """
    from curation.terms import dump

    asks = domain_asks(campaign, domains)
    total = 2 * sum(path.stat().st_size for path in files if path.is_file())
    with reporter.tracked("reading the dump", total, bytes=True) as tell:
        scanned = dump.scan(
            files,
            asks,
            **languages(campaign),
            least=campaign.settings.terms.least,
            engine=engine,
            workers=workers,
            tell=tell,
        )
    source = {"files": {path.name: path.stat().st_size for path in files}}
    # Results may be published: they name files, but not folders of this machine.
    names = {f"{path} line": f"{path.name} line" for path in files}
    unreadable = [
        rejection.model_copy(update={"where": rejection.where.replace(long, short)})
        for rejection in scanned.rejections
        for long, short in names.items()
        if rejection.where.startswith(long)
    ]
    _keep(campaign, asks, scanned.facts, source, unreadable)
    return scanned


def languages(campaign: Campaign) -> Fields:
    """Wikidata's codes for labels (``languages``) and for aliases and forms (``own``)."""
    settings = campaign.settings
    code = settings.campaign.language
    fallbacks = settings.terms.fallbacks
    return {"languages": wikidata_codes(code, fallbacks), "own": wikidata_codes(code)}


def domain_asks(campaign: Campaign, only: Sequence[str] | None = None) -> list[FactRequest]:
    """What the domains ask of Wikidata.

    Args:
        campaign: the campaign.
        only: the domains; by default all.

    Raises:
        CurationError: there is no such domain, or none of them names properties.
    """
    domains = campaign.settings.domains
    for name in only or ():
        if name not in domains:
            raise CurationError(f"no domain {name!r}", f"domains: {', '.join(domains)}")
    asks = []
    for name, domain in domains.items():
        if domain.properties and name in (only or domains):
            pairs = (pair.partition("=") for pair in domain.population)
            population = grouped((property, item) for property, _, item in pairs)
            limits = tuple((property, tuple(items)) for property, items in population.items())
            asks.append(FactRequest(name, domain.properties, limits))
    if not asks:
        which = f"domain {', '.join(only)} asks nothing" if only else "no domain asks anything"
        raise CurationError(
            f"{which} of Wikidata",
            'name properties in a domain, as in properties = ["P106"], or use word lists',
        )
    return asks


def _keep(
    campaign: Campaign,
    asks: Sequence[FactRequest],
    facts: Facts,
    source: Fields,
    unreadable: Sequence[Rejection] | None = None,
) -> None:
    """Write the facts; those of domains that were not asked for this time stay."""
    before, asked = campaign[FACTS], {ask.domain for ask in asks}
    origins = {n: o for n, o in facts_origins(campaign).items() if n not in asked}
    of_others = [count for count in before.counts if count.domain in origins]
    known = {e.id: e for e in (before.entities if of_others else ())}
    known |= {e.id: e for e in facts.entities if e.labels or e.id not in known}
    whole = in_order([*of_others, *facts.counts], known.values())
    for ask in asks:
        origins[ask.domain] = {
            "properties": list(ask.properties),
            "population": {property: list(items) for property, items in ask.population},
            "languages": list(languages(campaign)["languages"]),
            "least": campaign.settings.terms.least,
            "source": source,
            "finished_at": now(),
        }
    counts, entities = facts_files(campaign)
    results = Results(campaign.folder("terms"))
    try:
        results.records(counts.name, whole.counts)
        results.records(entities.name, whole.entities)
        if unreadable is not None:
            results.records("unreadable.jsonl", unreadable)
        results.json("facts.json", origins)
        results.commit()
    finally:
        results.discard()


def tally_facts(
    campaign: Campaign, facts: Facts, domains: Sequence[str] | None = None
) -> list[Fields]:
    """How many items and statements were found for each property that the domains name.

    Args:
        campaign: the campaign.
        facts: facts of these domains.
        domains: the domains; by default all that name properties.

    Returns:
        For each domain and property: ``domain``, ``property``, ``items`` and ``statements``.

    Raises:
        CurationError: there is no such domain, or none of them names properties.
    """
    items, statements = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for count in facts.counts:
        items[count.domain, count.property] += 1
        statements[count.domain, count.property] += count.count
    return [
        {
            "domain": ask.domain,
            "property": property,
            "items": items[ask.domain, property],
            "statements": statements[ask.domain, property],
        }
        for ask in domain_asks(campaign, domains)
        for property in ask.properties
    ]


class _Origin(BaseModel):
    """The origin of a domain's facts: the fields that are read."""

    properties: list[str]
    population: dict[str, list[str]]
    languages: list[str]
    least: StrictInt


def facts_origins(campaign: Campaign) -> Fields:
    """The origin of each domain's facts: the source, what was asked, and when.

    Raises:
        CurationError: ``facts.json`` is damaged; the message names the domain and the field.
    """
    path = campaign.folder("terms") / "facts.json"
    if not all(p.exists() for p in (path, *facts_files(campaign))):
        return {}
    origins: Fields = read_json(path)
    try:
        TypeAdapter(dict[str, _Origin]).validate_python(origins)
    except ValidationError as error:
        first = error.errors()[0]
        domain, *field = (str(part)[:40] for part in first["loc"] or ("",))
        where = f", domain {domain!r}" if domain else ""
        problem = first["msg"] if domain else "not a JSON object"
        where += f", field {'.'.join(field)!r}" if field else ""
        raise CurationError(
            f"{path}{where}: {problem}",
            "restore the file from a backup, or delete it and fetch the facts again",
        ) from None
    return origins


def outdated_facts(campaign: Campaign) -> dict[str, list[str]]:
    """The domains whose facts are missing or were asked for under other settings.

    Returns:
        The settings that differ, by domain; an empty list if there are no facts yet.
    """
    origins, codes = facts_origins(campaign), languages(campaign)["languages"]
    outdated: dict[str, list[str]] = {}
    for name, domain in campaign.settings.domains.items():
        if not domain.properties:
            continue
        origin = origins.get(name)
        if origin is None:
            outdated[name] = []
            continue
        pairs = {f"{p}={i}" for p, items in origin["population"].items() for i in items}
        differs = {
            "properties": set(domain.properties) - {*origin["properties"]},
            "population": pairs ^ {*domain.population},
            "language": set(codes) - {*origin["languages"]},
            "least": campaign.settings.terms.least < origin["least"],
        }
        if changed := [setting for setting, differ in differs.items() if differ]:
            outdated[name] = changed
    return outdated


_FATES = ("kept", "merged", "dropped")
CANDIDATE_COLUMNS = (
    *("domain", "term", "status", "reason", "detail", "into", "count", "rolled_up"),
    *("source", "form", "wikidata", "description", "family", "note", "id"),
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
            *(c.domain, c.text, c.status, c.reason, c.detail, c.into and c.into.text),
            *((c.count, c.rolled) if c.item else (None, None)),
            *(c.source, c.form, " ".join(c.items), c.description, c.family, c.note, c.id),
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
        **{name: status[name] for name in _FATES},
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
    run, path = (
        campaign.manifest(campaign.folder("terms")).steps.get("select"),
        campaign.folder("terms") / "edits.csv",
    )
    return run is None or run.inputs.get(campaign.relative(path)) != digest(path)


def _problem(rejection: Rejection) -> str:
    return f"{rejection.where}: not applied: {rejection.detail}"


def _misspelt_domains(campaign: Campaign) -> list[Rejection]:
    """Rows of ``edits.csv`` whose domain looks misspelt."""
    domains, where = (
        campaign.settings.domains,
        campaign.relative(campaign.folder("terms") / "edits.csv"),
    )
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
            | {name: status[name] for name in _FATES}
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
        and not names(item.context, term.text)
        and any(names(item.context, name) for name in term.names)
    ]


def explain(campaign: Campaign, name: str, domain: str | None = None) -> list[Fields]:
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
    selected = selection(campaign)
    known = campaign[FACTS]
    candidates = named(selected, name, domain, entities=known.entities)
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
    edits = campaign.folder("terms") / "edits.csv"
    if not edits.exists():
        with writing(edits) as file:
            file.write((",".join(COLUMNS) + "\n").encode())

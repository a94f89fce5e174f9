"""Wikidata's facts in a campaign: asked of a query service or read from a dump, and kept."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, StrictInt, TypeAdapter, ValidationError

from curation.campaign.dataset import Dataset
from curation.campaign.manifest import Results
from curation.campaign.store import SETTINGS, Campaign
from curation.files import CurationError, read_json, read_records
from curation.records import Count, Entity, Fields, Rejection
from curation.terms.facts import FactRequest, Facts, in_order, wikidata_codes
from curation.text.rules import grouped
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

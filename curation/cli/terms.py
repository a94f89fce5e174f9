"""``curation terms``: where target terms come from, which are taken, and why."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from curation.campaign import Campaign, open_campaign
from curation.cli import console
from curation.cli.options import FILE, Json, Where
from curation.cli.story import tell
from curation.files import CurationError, now
from curation.manifest import Results
from curation.reasons import REASONS
from curation.records import Rejection
from curation.steps import read
from curation.steps.pipeline import bring_up_to_date

if TYPE_CHECKING:
    from curation.terms.candidates import Candidate
    from curation.terms.facts import FactRequest, Facts

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=(
        "Find target terms: ask Wikidata's query service or scan its dump, name word lists in "
        "campaign.toml, then select.\n\n"
        "People's word stands in 1-terms/edits.csv: keep, merge, drop, rename, add."
    ),
)
Domain = Annotated[
    list[str] | None,
    typer.Option("--domain", "-d", help="Only this domain; may be given again.", metavar="NAME"),
]


@app.command("query")
def query(
    campaign: Where = Path(),
    domain: Domain = None,
    endpoint: Annotated[
        str, typer.Option(help="wdqs, qlever, or a URL; as set in [terms] if not given.")
    ] = "",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ask anew, also what is answered on disk.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Ask a query service which items the domains' properties name, how often, and what they are.

    One question at a time, as the services ask of everybody, with your contact from [terms] in
    campaign.toml. Every answer is kept in 1-terms/answers/: a run that breaks off goes on where
    it was. Where a service gives up, the work is split; where it cannot be split further, use
    «curation terms scan».
    """
    from curation.terms.query import query as ask
    from curation.terms.wikidata import Service

    opened = open_campaign(campaign)
    asks, knobs = _asks(opened, domain), opened.settings.terms
    with opened.lock():
        service = Service(
            endpoint or knobs.endpoint,
            contact=knobs.contact,
            cache=opened.terms / "answers",
            fresh=fresh,
            tell=console.note,
        )
        with service, console.stages() as tell:
            facts = ask(service, asks, **_languages(opened), least=knobs.least, tell=tell)
        _keep(opened, asks, facts, {"service": service.host})
    said = f"{service.asked} questions asked, {service.cached} answered on disk"
    if service.cached and service.oldest:
        said += f" (the oldest of {service.oldest[:10]}; --fresh asks anew)"
    _report(opened, asks, facts, {"asked": service.asked, "on_disk": service.cached}, said, as_json)


@app.command("scan")
def scan(
    files: Annotated[
        list[Path],
        typer.Argument(help="Wikidata's JSON dump: .json.gz, .json or .json.bz2.", **FILE),
    ],
    campaign: Where = Path(),
    domain: Domain = None,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Several files: on this machine's cores, or on a Ray cluster."),
    ] = "local",
    workers: Annotated[
        int, typer.Option(help="How many processes at once; 0: as many as there are cores.", min=0)
    ] = 0,
    as_json: Json = False,
) -> None:
    """Count and look up the same in a dump, which has no limits and any population.

    The dump (about 140 GB as .gz, https://dumps.wikimedia.org/wikidatawiki/entities/) is read
    twice, in constant memory. Take .gz, not .bz2: it reads fifteen times faster.
    """
    from curation.terms import dump

    opened = open_campaign(campaign)
    asks = _asks(opened, domain)
    with opened.lock():
        total = 2 * sum(path.stat().st_size for path in files if path.is_file())
        with console.tracked("reading the dump", total, bytes=True) as tell:
            found = dump.scan(
                files,
                asks,
                **_languages(opened),
                least=opened.settings.terms.least,
                engine=engine,
                workers=workers or None,
                tell=tell,
            )
        source = {"files": {path.name: path.stat().st_size for path in files}}
        # Where the dump lies on this machine is nobody's business.
        names = {f"{path} line": f"{path.name} line" for path in files}
        unreadable = [
            r.model_copy(update={"where": r.where.replace(long, short)})
            for r in found.rejections
            for long, short in names.items()
            if r.where.startswith(long)
        ]
        _keep(opened, asks, found.facts, source, unreadable)
    said = f"{found.lines:,} lines read"
    if found.unreadable:
        console.warn(
            f"lines that could not be read: {found.unreadable:,}; 1-terms/unreadable.jsonl has "
            f"{len(found.rejections):,} of them"
        )
    counts = {"lines": found.lines, "unreadable": found.unreadable}
    _report(opened, asks, found.facts, counts, said, as_json)


def _languages(campaign: Campaign) -> dict[str, Any]:
    from curation.terms.facts import languages

    settings = campaign.settings
    code = settings.campaign.language
    return {"languages": languages(code, settings.terms.fallbacks), "own": languages(code)}


def _asks(campaign: Campaign, only: list[str] | None) -> "list[FactRequest]":
    """What the domains ask of Wikidata."""
    from curation.terms.facts import FactRequest

    domains = campaign.settings.domains
    for name in only or ():
        if name not in domains:
            raise CurationError(f"no domain {name!r}", f"domains: {', '.join(domains)}")
    asks = []
    for name, knobs in domains.items():
        if knobs.properties and name in (only or domains):
            population: dict[str, list[str]] = {}
            for pair in knobs.population:
                population.setdefault(pair.split("=")[0], []).append(pair.split("=")[1])
            limits = tuple((p, tuple(items)) for p, items in population.items())
            asks.append(FactRequest(name, knobs.properties, limits))
    if not asks:
        which = f"domain {', '.join(only)} asks nothing" if only else "no domain asks anything"
        raise CurationError(
            f"{which} of Wikidata",
            'name properties in a domain, as properties = ["P106"], or give word lists',
        )
    return asks


def _keep(
    campaign: Campaign,
    asks: "list[FactRequest]",
    facts: "Facts",
    source: dict[str, Any],
    unreadable: list[Rejection] | None = None,
) -> None:
    """Write the facts; those of domains that were not asked for this time stay."""
    from curation.terms.facts import in_order

    before, asked = read.read_facts(campaign), {ask.domain for ask in asks}
    said = {n: how for n, how in read.facts_told(campaign).items() if n not in asked}
    of_others = [c for c in before.counts if c.domain in said]
    known = {e.id: e for e in (before.entities if of_others else ())}
    known |= {e.id: e for e in facts.entities if e.labels or e.id not in known}
    whole = in_order([*of_others, *facts.counts], known.values())
    for ask in asks:
        limits = {property: list(items) for property, items in ask.population}
        said[ask.domain] = {
            "properties": list(ask.properties),
            "population": limits,
            "languages": list(_languages(campaign)["languages"]),
            "least": campaign.settings.terms.least,
            "source": source,
            "finished_at": now(),
        }
    counts, entities = read.facts_files(campaign)
    results = Results(campaign.terms)
    try:
        results.records(counts.name, whole.counts)
        results.records(entities.name, whole.entities)
        if unreadable is not None:
            results.records("unreadable.jsonl", unreadable)
        results.json("facts.json", said)
        results.commit()
    finally:
        results.discard()


def _report(
    campaign: Campaign,
    asks: "list[FactRequest]",
    facts: "Facts",
    counts: dict[str, Any],
    said: str,
    as_json: bool,
) -> None:
    found = Counter((c.domain, c.property) for c in facts.counts)
    stated = Counter[tuple[str, str]]()
    for count in facts.counts:
        stated[count.domain, count.property] += count.count
    rows = [
        {
            "domain": a.domain,
            "property": p,
            "items": found[a.domain, p],
            "statements": stated[a.domain, p],
        }
        for a in asks
        for p in a.properties
    ]
    if as_json:
        console.say_json({**counts, "found": rows, "entities": len(facts.entities)})
        return
    console.say(f"{said}; {len(facts.entities):,} items looked up.")
    console.table(
        "Found",
        list(rows[0]),
        [[f"{v:,}" if isinstance(v, int) else v for v in r.values()] for r in rows],
    )
    for row in rows:
        if not row["items"]:
            console.warn(f"domain {row['domain']}: nothing states {row['property']}; is it right?")
    console.say("next: curation terms select")


@app.command("select")
def select(campaign: Where = Path(), as_json: Json = False) -> None:
    """Choose the target terms: candidates.csv says of each why, edits.csv is people's word.

    Too general, out of place, vandalised or nameless items fall; one label for several items,
    variants and the too fine-grained are merged; the domains' thresholds are taken on what is
    left. targets.jsonl is the result.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        counts = bring_up_to_date(opened, "select", reporter=console).counts
        found = read.selection(opened)
        items = read.read_items(opened)
    old = _old(found.candidates, items)
    if as_json:
        rows = Counter((c.domain, c.status, c.reason or "") for c in found.candidates)
        fates = [
            {"domain": d, "status": s, "reason": r or None, "count": n}
            for (d, s, r), n in rows.items()
        ]
        console.say_json({**counts, "fates": fates, "items_with_an_older_text": old})
        return
    rows_by = [
        [domain, *_fates([c for c in found.candidates if c.domain == domain])]
        for domain in opened.settings.domains
    ]
    console.table("Terms", ["domain", "candidates", "kept", "merged", "dropped"], rows_by)
    reasons = Counter(c.reason for c in found.candidates if c.reason and not c.alive)
    if reasons:
        console.table(
            "Not kept, in 1-terms/candidates.csv",
            ["reason", "count", "meaning"],
            [(code, n, REASONS[code]) for code, n in reasons.most_common()],
        )
    _warn_of_missing(opened)
    for text, ids in old.items():
        shown = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
        console.warn(
            f"items of {text!r} that use an older text or a second spelling: {len(ids)} ({shown})"
        )
    console.say(f"{counts['kept']} terms in {opened.terms / 'targets.jsonl'}")
    console.say("To change one, write it into 1-terms/edits.csv; «curation terms explain TERM».")


def _fates(candidates: "list[Candidate]") -> list[int]:
    status = Counter(c.status for c in candidates)
    return [len(candidates), status["kept"], status["merged"], status["dropped"]]


def _old(candidates: "list[Candidate]", items: list[Any]) -> dict[str, list[str]]:
    from curation.terms.explain import old_texts

    return {c.text: ids for c in candidates if c.alive and c.names and (ids := old_texts(c, items))}


def _warn_of_missing(campaign: Campaign) -> None:
    """Say which domains' facts are not there, or were asked for under other settings."""
    told, languages = read.facts_told(campaign), _languages(campaign)["languages"]
    for name, knobs in campaign.settings.domains.items():
        said = told.get(name)
        if not knobs.properties:
            continue
        if said is None:
            console.warn(f"domain {name}: Wikidata was not asked yet; «curation terms query»")
            continue
        pairs = {f"{p}={i}" for p, items in said["population"].items() for i in items}
        other = {
            "properties": set(knobs.properties) - {*said["properties"]},
            "population": pairs ^ {*knobs.population},
            "language": set(languages) - {*said["languages"]},
            "least": campaign.settings.terms.least < said["least"],
        }
        if changed := [setting for setting, differs in other.items() if differs]:
            console.warn(
                f"domain {name}: Wikidata was asked under other settings "
                f"({', '.join(changed)}); «curation terms query» or «scan» asks anew"
            )


@app.command("explain")
def explain(
    term: Annotated[
        str, typer.Argument(help="A term's text, its Wikidata id or its own id.", metavar="TERM")
    ],
    campaign: Where = Path(),
    domain: Annotated[
        str | None, typer.Option("--domain", "-d", help="Only in this domain.", metavar="NAME")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell a term's story: its sources, the decision and its reason, people's word, its items."""
    import difflib

    from curation.terms import explain as stage

    opened = open_campaign(campaign)
    found, facts = read.selection(opened), read.read_facts(opened)
    candidates = stage.named(found, term, domain)
    if not candidates:
        texts = {c.text for c in found.candidates}
        near = difflib.get_close_matches(term, texts, 3)
        raise CurationError(
            f"no candidate {term!r}",
            f"did you mean {', '.join(near)}?" if near else "1-terms/candidates.csv has them all",
        )
    of: Callable[..., dict[str, Any]] = partial(
        stage.story,
        selection=found,
        facts=facts,
        edits=read.read_edits(opened),
        items=read.read_items(opened),
        languages=_languages(opened)["languages"],
    )
    stories = [of(candidate) for candidate in candidates]
    if as_json:
        console.say_json(stories)
        return
    for story in stories:
        tell(story)

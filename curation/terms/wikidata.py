"""Wikidata's facts from a query service; the only module of this stage that uses the network."""

import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from decimal import Decimal
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import orjson

from curation.files import CurationError, read_bytes, writing
from curation.http import (
    FailedError,
    Failure,
    Gate,
    Reply,
    Server,
    asked_wait,
    parsed_json,
    shorten,
)
from curation.records import Count, Entity, Fields
from curation.terms.facts import (
    DEMONYM,
    FEMININE,
    INSTANCE,
    MASCULINE,
    SUBCLASS,
    FactRequest,
    Facts,
    best,
    in_order,
    number,
    wiki,
)
from curation.text.rules import grouped
from curation.text.times import now
from curation.text.wording import hide_secrets, show_address

Row = dict[str, Fields]  # one binding: variable -> type, value and perhaps xml:lang
T = TypeVar("T")
Population = Sequence[tuple[str, Sequence[str]]]
ItemFacts = dict[str, dict[str, set[str]]]  # kind of fact -> language or "" -> values of one item

PREFIXES = """\
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX schema: <http://schema.org/>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX wd: <http://www.wikidata.org/entity/>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
PREFIX wikibase: <http://wikiba.se/ontology#>
"""
ITEM = re.compile(r"http://www\.wikidata\.org/entity/(Q[1-9][0-9]{0,18})")
MOST = 10**12  # no number of statements or pages is larger
OWN_TEXTS = {  # kind of fact -> its predicate, for texts in the campaign's language
    "alias": "skos:altLabel",
    "demonym": f"wdt:{DEMONYM}",
    "feminine": f"wdt:{FEMININE}",
    "masculine": f"wdt:{MASCULINE}",
}


# --- queries --------------------------------------------------------------------------------


def count_query(property: str, population: Population = (), items: Sequence[str] = ()) -> str:
    """The query for the number of subjects that state each object of a property.

    Without a population this is exactly the form that Blazegraph answers from its index
    (ASTSimpleGroupByAndCountOptimizer). With any other column, filter or triple it would count row
    by row.

    Args:
        property: the property.
        population: properties that subjects must have, each with its items.
        items: count these objects only; empty for all.

    >>> print(count_query("P106").splitlines()[-1])
    SELECT ?o (COUNT(?s) AS ?n) WHERE { ?s wdt:P106 ?o } GROUP BY ?o
    """
    # A subject that states two items of the population matches twice; other matches are unique.
    twice = "DISTINCT " if any(len(items) > 1 for _, items in population) else ""
    values = _values("o", items) if items else ""
    where = f"{values}{_members(population)}?s wdt:{property} ?o"
    return f"{PREFIXES}SELECT ?o (COUNT({twice}?s) AS ?n) WHERE {{ {where} }} GROUP BY ?o"


def objects_query(property: str, population: Population = ()) -> str:
    """The query for the objects of a property without counts, which is less work."""
    where = f"{_members(population)}?s wdt:{property} ?o"
    return f"{PREFIXES}SELECT DISTINCT ?o WHERE {{ {where} }}"


def details_query(items: Iterable[str], languages: Sequence[str], own: Sequence[str]) -> str:
    """The query for all fields of ``Entity``; each row has an item, a kind of fact and a value."""
    branches = {
        "label": "?o rdfs:label ?v" + _spoken(languages),
        "description": "?o schema:description ?v" + _spoken(languages),
        **{kind: f"?o {predicate} ?v" + _spoken(own) for kind, predicate in OWN_TEXTS.items()},
        "parent": f"?o wdt:{SUBCLASS} ?v",
        "class": f"?o wdt:{INSTANCE} ?v",
        # The query service has this number on the item, dumps have it on the page about the item.
        "sitelinks": "?o wikibase:sitelinks ?v",
        "links": "?page schema:about ?o . ?page wikibase:sitelinks ?v",
        "title": "?page schema:about ?o . ?page schema:name ?v . "
        f"?page schema:isPartOf <https://{wiki(languages[0])}.wikipedia.org/>",
    }
    values = _values("o", items)
    union = " UNION\n".join(
        f'{{ {values}{where} . BIND("{kind}" AS ?k) }}' for kind, where in branches.items()
    )
    return f"{PREFIXES}SELECT ?o ?k ?v WHERE {{\n{union}\n}}"


def parents_query(items: Iterable[str]) -> str:
    """The query for the items that some items are subclasses of.

    >>> print(parents_query(["Q1", "Q2"]).splitlines()[-1])
    SELECT ?o ?v WHERE { VALUES ?o { wd:Q1 wd:Q2 } ?o wdt:P279 ?v }
    """
    return f"{PREFIXES}SELECT ?o ?v WHERE {{ {_values('o', items)}?o wdt:{SUBCLASS} ?v }}"


def _values(name: str, items: Iterable[str]) -> str:
    return f"VALUES ?{name} {{ {' '.join(f'wd:{item}' for item in items)} }} "


def _members(population: Population) -> str:
    return "".join(
        f"{_values(f'p{place}', items)}?s wdt:{property} ?p{place} . "
        for place, (property, items) in enumerate(population)
    )


def _spoken(languages: Iterable[str]) -> str:
    tags = dict.fromkeys(tag for code in languages for tag in (code, _written(code)))
    return f" . FILTER(LANG(?v) IN ({', '.join(map(json.dumps, tags))}))"


def _written(code: str) -> str:
    """A language code as the RDF dumps write it; some engines convert it to lower case.

    >>> _written("zh-hant"), _written("pt-br"), _written("en")
    ('zh-Hant', 'pt-BR', 'en')
    """
    first, *others = code.split("-")
    cased = {2: str.upper, 4: str.title}
    return "-".join([first, *(cased.get(len(part), str)(part) for part in others)])


# --- answers --------------------------------------------------------------------------------


class OddValueError(ValueError):
    """A value of an answer is missing or is not what was asked for; the message has it."""


def bindings(body: bytes) -> list[Row] | None:
    """The rows of an answer in SPARQL's JSON format; None if it is cut off or something else.

    A service that runs out of time may answer 200, send some rows, and end with a stack trace.

    >>> bindings(b'{"results": {"bindings": []}}')
    []
    >>> bindings(b'{"results": {"bindings": [ java.lang.Exception') is None
    True
    """
    try:
        return decode_rows(parsed_json(body))
    except ValueError:
        return None


def decode_rows(answer: Any) -> list[Row] | None:
    """The rows of an answer that is already decoded, or None."""
    try:
        table: list[Row] = answer["results"]["bindings"]
        fit = isinstance(table, list) and all(
            isinstance(cell["value"], str) and isinstance(cell.get("xml:lang", ""), str)
            for row in table
            for cell in row.values()
        )
        total = answer.get("meta", {}).get("result-size-total", len(table))  # only QLever has it
    except (AttributeError, KeyError, TypeError):
        return None
    return table if fit and total == len(table) else None


def gist(text: str) -> str:
    r"""The text to show of an answer without results: its error message, or its beginning.

    >>> gist("SPARQL-QUERY: queryStr=…\njava.lang.Exception: Query deadline is expired.\n at …")
    '«java.lang.Exception: Query deadline is expired.»'
    >>> len(gist("x" * 1_000_000))  # in linear time
    203
    """
    # Bounded, because an answer may be one long word.
    error = re.search(r"[\w.$]{1,200}Exception\b[^\n]{0,200}", text[:100_000])
    return f"«{shorten(error[0] if error else text[:100_000])}»"


def item(cell: Mapping[str, Any] | None) -> str | None:
    """The item in a cell; None for unknown values, texts, properties and lexemes.

    >>> item({"type": "uri", "value": "http://www.wikidata.org/entity/Q42"})
    'Q42'
    >>> item({"type": "bnode", "value": "t1"})
    """
    if cell is None or cell.get("type") != "uri":
        return None
    match = ITEM.fullmatch(cell["value"])
    return match[1] if match else None


def whole_number(text: str) -> int:
    """A number of an answer; some services write counts as decimal numbers.

    >>> whole_number("57"), whole_number("5.0"), whole_number("5.0E1")
    (57, 5, 50)

    Raises:
        OddValueError: it is not a whole number from 0 to ``MOST``.
    """
    try:
        value = Decimal(text)
        if 0 <= value <= MOST and value == int(value):
            return int(value)
    except ArithmeticError:  # not a number at all, or NaN
        pass
    raise OddValueError(f"{text[:80]!r} is not a whole number from 0 to {MOST}")


def read_counts(rows: Iterable[Row]) -> dict[str, int]:
    """The objects that are items, with their counts.

    Raises:
        OddValueError: a count is missing or is not a whole number.
    """
    return {name: whole_number(_value(row, "n")) for row in rows if (name := item(row.get("o")))}


def _value(row: Row, name: str) -> str:
    if name not in row:
        raise OddValueError(f"a row has no value for ?{name}")
    return str(row[name]["value"])


def read_objects(rows: Iterable[Row]) -> list[str]:
    """The objects that are items, sorted by number."""
    return _ordered(item(row.get("o")) for row in rows)


def read_parents(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """The parents of each item: the items that it is a subclass of."""
    named = ((item(row.get("o")), item(row.get("v"))) for row in rows)
    parents = grouped((name, above) for name, above in named if name)
    return {name: tuple(_ordered(above)) for name, above in parents.items()}


def read_details(
    rows: Iterable[Row], languages: Sequence[str], own: Sequence[str]
) -> dict[str, Entity]:
    """The items in an answer, as entities.

    Raises:
        OddValueError: a number of pages is not a whole number, or a row does not say what it has.
    """
    facts_of: dict[str, ItemFacts] = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    for row in rows:
        name, value = item(row.get("o")), row.get("v")
        if name is None or value is None:
            continue
        kind = _value(row, "k")
        values = facts_of[name][kind]
        if kind in {"parent", "class"}:
            values[""].update(filter(None, [item(value)]))
        else:
            values[value.get("xml:lang", "").lower()].add(value["value"])
    return {name: _entity(name, facts, languages, own) for name, facts in facts_of.items()}


def _entity(name: str, facts: ItemFacts, languages: Sequence[str], own: Sequence[str]) -> Entity:
    texts = {
        kind: tuple(dict.fromkeys(text for code in own for text in sorted(facts[kind][code])))
        for kind in OWN_TEXTS
    }
    links = {whole_number(text) for kind in ("sitelinks", "links") for text in facts[kind][""]}
    titles = {text for in_language in facts["title"].values() for text in in_language}
    return Entity(
        id=name,
        labels={code: min(facts["label"][code]) for code in languages if facts["label"][code]},
        aliases=texts["alias"],
        description=best({c: min(t) for c, t in facts["description"].items() if t}, languages),
        parents=tuple(_ordered(facts["parent"][""])),
        classes=tuple(_ordered(facts["class"][""])),
        sitelinks=max(links, default=0),
        title=min(titles, default=None),
        demonyms=texts["demonym"],
        feminine=texts["feminine"],
        masculine=texts["masculine"],
    )


def _ordered(items: Iterable[str | None]) -> list[str]:
    return sorted({name for name in items if name}, key=number)


ENDPOINTS = {
    "wdqs": "https://query.wikidata.org/sparql",
    "qlever": "https://qlever.dev/api/wikidata",
}
ADDRESS = re.compile(r"https?://[\w.:@%-]+([/?]\S*)?")
WITH_NAME = re.compile(r"(?<=://)[^/?#]*@")
CONTACT = re.compile(r"[^\s@()<>]+@[^\s@()<>]+\.[^\s@()<>]+|https?://[^\s()<>]+\.[^\s()<>]+")
ASKED_TO_WAIT = 60.0  # seconds, if the service does not say how long; its operators' advice
AGAIN = (5.0, 30.0)  # seconds before the second and the third try
UNREACHED = (2.0, 4.0, 8.0)  # the same if there is no connection,
IN_TURN = (0.0,) * 5  # and if the service says how long to wait
GOES_ON = "nothing is lost: the answers so far are saved, and the next run continues from there"
SCAN = "use a dump instead: curation terms scan"


class TooHeavyError(Exception):
    """The service could not answer, but may answer a smaller query; the message has its answer."""


class Service(AbstractContextManager["Service"]):
    """An open connection to a query service; every good answer is saved in a folder.

    Attributes:
        url: the address of the service.
        host: its host name, for messages.
        asked: how many queries the service answered.
        cached: how many answers came from the folder.
        oldest: the time of the oldest answer from the folder; None if none was used.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        contact: str,
        cache: Path,
        fresh: bool = False,
        tell: Callable[[str], None] | None = None,
        pause: Callable[[float], None] = time.sleep,
        timeout: float = 90,
    ) -> None:
        """Open it; nothing is sent yet.

        Args:
            endpoint: a name of ``ENDPOINTS``, or the address of another SPARQL 1.1 service.
            contact: an e-mail address or a web page through which the operators can reach the user.
            cache: the folder of answers.
            fresh: ignore answers that were saved before this moment.
            tell: called with the reason before each wait.
            pause: waits for a number of seconds.
            timeout: seconds without any answer after which a query has failed.

        Raises:
            CurationError: the endpoint or the contact is not valid.
        """
        self.url = _address(endpoint)
        self.host = urlsplit(self.url).netloc.rpartition("@")[2]
        self.asked = self.cached = 0
        self.oldest: str | None = None
        self._cache, self._fresh = cache, fresh
        self._new: set[Path] = set()
        self._contact = _contact(contact)
        self._server = Server(
            self.url,
            timeout=timeout, name=self.host, contact=contact, resumes=GOES_ON,
            advice=f"check the network and the endpoint's address; {GOES_ON}",
        )  # fmt: skip
        self._gate = Gate(AGAIN, notice=tell or (lambda _: None), pause=pause)

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def holds(self, query: str) -> bool:
        """Whether the answer to a query is already on disk."""
        return self._kept(query, list) is not None

    def select(self, query: str, read: Callable[[list[Row]], T]) -> T:
        """The answer to a SELECT query, from disk or from the service.

        Args:
            query: the query.
            read: reads the rows; raises ``OddValueError`` if they are not what was asked
                for. Such an answer is not saved.

        Raises:
            TooHeavyError: each try failed as if the service ran out of time; a smaller query may
                work.
            CurationError: the service refuses or does not understand the query, cannot be reached,
                or sends a value that cannot be read.
        """
        path = self._path(query)
        if kept := self._kept(query, read):
            asked_at, answer = kept
            if path not in self._new:
                self.cached += 1
                self.oldest = min(self.oldest or asked_at, asked_at)
            return answer
        rows = self._ask(query)
        try:
            answer = read(rows)
        except OddValueError as error:
            excerpt = " ".join(query.split())[-200:]
            raise CurationError(
                f"{self.host}: unusable answer: {error}; the query was «…{excerpt}»",
                f"use another service (--endpoint), or {SCAN}; {GOES_ON}",
            ) from None
        self.asked += 1
        about = {"endpoint": hide_secrets(self.url), "query": query, "asked_at": now()}
        with writing(path) as file:
            file.write(orjson.dumps({**about, "results": {"bindings": rows}}))
        self._new.add(path)
        return answer

    # --- the answers on disk

    def _path(self, query: str) -> Path:
        address = WITH_NAME.sub("", self.url)  # a password can be guessed from its digest
        return self._cache / f"{sha256((address + query).encode()).hexdigest()}.json"

    def _kept(self, query: str, read: Callable[[list[Row]], T]) -> tuple[str, T] | None:
        """When a query was answered, and the answer; None if it is missing or damaged."""
        path = self._path(query)
        if self._fresh and path not in self._new:
            return None
        try:
            content = orjson.loads(read_bytes(path))
            rows, asked_at = decode_rows(content), content["asked_at"]
            if rows is None or not isinstance(asked_at, str) or content["query"] != query:
                return None
            return asked_at, read(rows)
        except (CurationError, ValueError, KeyError, TypeError):
            return None

    # --- one query

    def _ask(self, query: str) -> list[Row]:
        def post() -> list[Row] | Failure:
            # POST, because a few hundred items are too long for a URL.
            accept = {"Accept": "application/sparql-results+json"}
            reply = self._server.send("POST", data={"query": query}, headers=accept)
            if isinstance(reply, Failure):
                return reply if reply.acted else reply._replace(waits=UNREACHED)
            rows = bindings(reply.content) if reply.status == 200 else None
            return self._failure(reply) if rows is None else rows

        try:
            return self._gate.run(post)
        except FailedError as error:
            if error.failure.acted:
                raise TooHeavyError(error.what.removeprefix(f"{self.host}: ")) from None
            raise

    def _failure(self, reply: Reply) -> Failure:
        """What failed; if the service may have tried to answer, a smaller query may help.

        Raises:
            TooHeavyError: the service asks for a smaller query.
            CurationError: no other try will help.
        """
        status, text = reply.status, reply.text
        excerpt = self._server.hidden(gist(text))
        message = f"{self.host}: answered {status}: {excerpt}"
        busy = f"the service is busy; run this again later; {GOES_ON}"
        if status == 200 and text.lstrip().startswith("<"):
            return Failure(
                f"{self.host}: answered with a page instead of results: {excerpt}",
                "open the endpoint in a browser: the network may need a log-in, or the address is "
                "not an endpoint",
                acted=False,
            )
        if status == 200:
            return Failure(f"{self.host}: the answer was cut off: {excerpt}", busy)
        if status in {413, 429, 503} and "Retry-After" in reply.headers:
            reason = f"{self.host}: the service asks to wait (answered {status}: {excerpt})"
            wait = asked_wait(reply.headers) or ASKED_TO_WAIT
            return Failure(reason, busy, wait, acted=False, waits=IN_TURN)
        if status == 429 and '"exception"' not in text:
            return Failure(message, busy, ASKED_TO_WAIT, acted=False)
        if status in {413, 414, 429}:  # QLever answers 429 if it ran out of time
            raise TooHeavyError(f"answered {status}: {excerpt}")
        fix = "check the endpoint's address"
        if status == 403:
            fix = (
                "the service does not accept your requests: "
                f"check contact = {self._contact!r} in [terms] of campaign.toml. After too many "
                f"requests it blocks you for up to 24 hours: then wait a day; {GOES_ON}"
            )
        elif status == 400:
            fix = "the service does not support standard SPARQL 1.1, or this is a bug: report it"
        return self._server.judged(reply, excerpt, fix)._replace(acted=True)


def _address(endpoint: str) -> str:
    url = ENDPOINTS.get(endpoint, endpoint)
    if not ADDRESS.fullmatch(url):
        raise CurationError(
            f"{show_address(endpoint)!r} is not a query service",
            f"use {' or '.join(ENDPOINTS)}, or an address that begins with https://",
        )
    return url


def _contact(contact: str) -> str:
    if not (CONTACT.fullmatch(contact) and contact.isascii()):
        raise CurationError(
            f"contact = {contact!r} is not an e-mail address or a web page",
            "write an e-mail address or a web page of your project as contact in [terms] of "
            "campaign.toml: Wikidata refuses requests without one",
        )
    return contact


Question = Callable[[Sequence[str]], str]  # makes the query about some items


def query(
    service: Service,
    asks: Sequence[FactRequest],
    *,
    languages: Sequence[str],
    own: Sequence[str],
    least: int = 1,
    batch: int = 200,
    tell: Callable[[str, int, int], None] | None = None,
) -> Facts:
    """Count objects, and look up the frequent ones and all their ancestors.

    Args:
        service: the query service.
        asks: the request of each domain.
        languages: codes for labels and the description, nearest first; the first names the
            Wikipedia of ``title``.
        own: codes for aliases, demonyms and forms, nearest first.
        least: objects that fewer subjects state, in every domain, are counted but not looked up.
        batch: how many items to ask for at once; halved if that is too much for the service.
        tell: called with the stage (counts, details, classes), done and total; the total of details
            and classes is the number known so far.

    Raises:
        CurationError: the service does not answer; the message says what to do.
    """
    tell = tell or (lambda *_: None)
    counts: list[Count] = []
    wanted = [(ask, property) for ask in asks for property in ask.properties]
    for done, (ask, property) in enumerate(wanted):
        tell("counts", done, len(wanted))
        for item, count in _counts(service, ask, property, batch).items():
            counts.append(Count(domain=ask.domain, property=property, item=item, count=count))
    tell("counts", len(wanted), len(wanted))

    known: dict[str, Entity] = {}
    seen: set[str] = set()
    waiting = {count.item for count in counts if count.count >= least}
    everything = partial(details_query, languages=languages, own=own)
    entities_in = partial(read_details, languages=languages, own=own)
    while waiting:
        done, seen = len(seen), seen | waiting
        above: set[str] = set()
        for size, entities in _in_batches(service, waiting, batch, everything, entities_in):
            known.update(entities)
            above.update(parent for entity in entities.values() for parent in entity.parents)
            done += size
            tell("details", done, len(seen | above))
        waiting = above - seen

    bare: dict[str, tuple[str, ...]] = {}
    waiting = {name for entity in known.values() for name in entity.classes} - seen
    while waiting:
        done, above = len(bare), set()
        bare.update(dict.fromkeys(waiting, ()))
        for size, parents_of in _in_batches(
            service, waiting, 5 * batch, parents_query, read_parents
        ):
            bare.update(parents_of)
            above.update(parent for parents in parents_of.values() for parent in parents)
            done += size
            tell("classes", done, len(bare))
        waiting = above - seen - bare.keys()
    known.update({name: Entity(id=name, parents=above) for name, above in bare.items()})
    return in_order(counts, known.values())


def _counts(service: Service, ask: FactRequest, property: str, batch: int) -> dict[str, int]:
    """All objects of a property with their counts, in one query or, if needed, in many."""
    whole = count_query(property, ask.population)
    which = objects_query(property, ask.population)
    # If an earlier run had to split the query, the single query would fail again.
    if service.holds(whole) or not service.holds(which):
        with suppress(TooHeavyError):
            return service.select(whole, read_counts)
    try:
        objects = service.select(which, read_objects)
    except TooHeavyError as error:
        raise CurationError(
            f"{service.host}: the objects of {property} are too many for the service: {error}",
            f"run this again later, or {SCAN}; {GOES_ON}",
        ) from None
    some = partial(count_query, property, ask.population)
    totals: dict[str, int] = {}
    for _, counts in _in_batches(service, objects, batch, some, read_counts):
        totals.update(counts)
    return totals


def _in_batches(
    service: Service,
    items: Iterable[str],
    size: int,
    about: Question,
    read: Callable[[list[Row]], T],
) -> Iterator[tuple[int, T]]:
    """Ask about items, ``size`` at once; a batch that is too heavy is split into halves.

    Yields:
        The number of items that an answer is about, and what was read.
    """
    ordered = sorted(items, key=number)  # the same batches each time, so that the cache has them
    waiting = [ordered[start : start + size] for start in range(0, len(ordered), size)][::-1]
    while waiting:
        part = waiting.pop()
        middle = len(part) // 2
        try:
            if _was_halved(service, part, about):
                raise TooHeavyError
            yield len(part), service.select(about(part), read)
        except TooHeavyError as error:
            if not middle:
                raise CurationError(
                    f"{service.host}: {part[0]} alone is too much for the service: {error}",
                    f"run this again later, or {SCAN}; {GOES_ON}",
                ) from None
            waiting += [part[middle:], part[:middle]]


def _was_halved(service: Service, part: Sequence[str], about: Question) -> bool:
    """Whether a batch was too heavy in an earlier run: the cache has a first part but not all."""
    pieces = (part[: len(part) >> halvings] for halvings in range(1, len(part).bit_length()))
    return not service.holds(about(part)) and any(service.holds(about(p)) for p in pieces)

"""SPARQL queries for a query service, and the reading of its answers, without network access.

The queries are standard SPARQL 1.1, so that Blazegraph (today's Wikidata Query Service), QLever and
Oxigraph give the same answers. Every prefix is declared. There is no label service, no hint, no
HAVING and no paging. VALUES is in each branch of a UNION, because some engines do not apply it from
outside.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import orjson

from curation.records import Entity
from curation.terms.facts import (
    DEMONYM,
    FEMININE,
    INSTANCE,
    MASCULINE,
    SUBCLASS,
    best,
    number,
    wiki,
)

Row = dict[str, dict[str, Any]]  # one binding: variable -> type, value and perhaps xml:lang
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


def counts(property: str, population: Population = ()) -> str:
    """The query for the number of subjects that state each object of a property.

    Without a population this is exactly the form that Blazegraph answers from its index
    (ASTSimpleGroupByAndCountOptimizer). With any other column, filter or triple it would count row
    by row.

    >>> print(counts("P106").splitlines()[-1])
    SELECT ?o (COUNT(?s) AS ?n) WHERE { ?s wdt:P106 ?o } GROUP BY ?o
    """
    return _counts(property, population, "")


def counts_of(items: Iterable[str], property: str, population: Population = ()) -> str:
    """The same query for some objects only."""
    return _counts(property, population, _values("o", items))


def _counts(property: str, population: Population, values: str) -> str:
    # A subject that states two items of the population matches twice; other matches are unique.
    twice = "DISTINCT " if any(len(items) > 1 for _, items in population) else ""
    where = f"{values}{_members(population)}?s wdt:{property} ?o"
    return f"{PREFIXES}SELECT ?o (COUNT({twice}?s) AS ?n) WHERE {{ {where} }} GROUP BY ?o"


def objects(property: str, population: Population = ()) -> str:
    """The query for the objects of a property without counts, which is less work."""
    where = f"{_members(population)}?s wdt:{property} ?o"
    return f"{PREFIXES}SELECT DISTINCT ?o WHERE {{ {where} }}"


def details(items: Iterable[str], languages: Sequence[str], own: Sequence[str]) -> str:
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


def parents(items: Iterable[str]) -> str:
    """The query for the items that some items are subclasses of.

    >>> print(parents(["Q1", "Q2"]).splitlines()[-1])
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
        return rows(orjson.loads(body))
    except orjson.JSONDecodeError:
        return None


def rows(answer: Any) -> list[Row] | None:
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
    shown = " ".join((error[0] if error else text[:100_000]).split())
    return f"«{shown[:200]}…»" if len(shown) > 200 else f"«{shown}»"


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
    parents: dict[str, list[str | None]] = defaultdict(list)
    for row in rows:
        if name := item(row.get("o")):
            parents[name].append(item(row.get("v")))
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

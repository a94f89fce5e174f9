"""What is asked of a query service, as SPARQL, and how its answers are read; no network here.

Standard SPARQL 1.1 and nothing of one engine's own, so that Blazegraph (today's Wikidata Query
Service), QLever and Oxigraph answer alike: every prefix is declared, no label service, no hints,
no HAVING, no paging, and VALUES stands in each branch of a UNION, since not every engine carries
it in from outside.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
Said = dict[str, dict[str, set[str]]]  # of one item: kind of fact -> language or "" -> values

PREFIXES = """\
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX schema: <http://schema.org/>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX wd: <http://www.wikidata.org/entity/>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
PREFIX wikibase: <http://wikiba.se/ontology#>
"""
ITEM = re.compile(r"http://www\.wikidata\.org/entity/(Q[1-9][0-9]*)")
OWN_TEXTS = {  # kind of fact -> its predicate; texts in the campaign's own language
    "alias": "skos:altLabel",
    "demonym": f"wdt:{DEMONYM}",
    "feminine": f"wdt:{FEMININE}",
    "masculine": f"wdt:{MASCULINE}",
}


# --- questions ------------------------------------------------------------------------------


def counts(property: str, population: Population = ()) -> str:
    """How many subjects state each object of a property.

    Without a population this is word for word the form that Blazegraph answers from its index
    (ASTSimpleGroupByAndCountOptimizer): one more column, filter or triple and it counts by hand.

    >>> print(counts("P106").splitlines()[-1])
    SELECT ?o (COUNT(?s) AS ?n) WHERE { ?s wdt:P106 ?o } GROUP BY ?o
    """
    return _counts(property, population, "")


def counts_of(items: Iterable[str], property: str, population: Population = ()) -> str:
    """The same for some objects only."""
    return _counts(property, population, _values("o", items))


def _counts(property: str, population: Population, values: str) -> str:
    # A subject that states two of a property's items matches twice; otherwise triples are unique.
    twice = "DISTINCT " if any(len(items) > 1 for _, items in population) else ""
    where = f"{values}{_members(population)}?s wdt:{property} ?o"
    return f"{PREFIXES}SELECT ?o (COUNT({twice}?s) AS ?n) WHERE {{ {where} }} GROUP BY ?o"


def objects(property: str, population: Population = ()) -> str:
    """Only which objects a property has: less to do than counting them."""
    where = f"{_members(population)}?s wdt:{property} ?o"
    return f"{PREFIXES}SELECT DISTINCT ?o WHERE {{ {where} }}"


def details(items: Iterable[str], languages: Sequence[str], own: Sequence[str]) -> str:
    """All that an ``Entity`` holds of some items, one fact a row: item, kind of fact, value."""
    branches = {
        "label": "?o rdfs:label ?v" + _spoken(languages),
        "description": "?o schema:description ?v" + _spoken(languages),
        **{kind: f"?o {said} ?v" + _spoken(own) for kind, said in OWN_TEXTS.items()},
        "parent": f"?o wdt:{SUBCLASS} ?v",
        "class": f"?o wdt:{INSTANCE} ?v",
        # The query service writes it at the item, dumps at the page about the item.
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
    """What some items are subclasses of.

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
    """A language code as the RDF dumps write it; some engines lower it, others keep it.

    >>> _written("zh-hant"), _written("pt-br"), _written("en")
    ('zh-Hant', 'pt-BR', 'en')
    """
    first, *others = code.split("-")
    cased = {2: str.upper, 4: str.title}
    return "-".join([first, *(cased.get(len(part), str)(part) for part in others)])


# --- answers --------------------------------------------------------------------------------


def bindings(body: bytes) -> list[Row] | None:
    """The rows of an answer in SPARQL's JSON form, or None where it is cut off or something else.

    A service that runs out of time may say 200, send some rows, and end with an error's trace.

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
    """The same of an answer that is taken apart already."""
    try:
        found: list[Row] = answer["results"]["bindings"]
        fit = isinstance(found, list) and all(
            isinstance(cell["value"], str) for row in found for cell in row.values()
        )
        total = answer.get("meta", {}).get("result-size-total", len(found))  # QLever says it
    except (AttributeError, KeyError, TypeError):
        return None
    return found if fit and total == len(found) else None


def gist(text: str) -> str:
    r"""What to show of an answer that is no result: the error in it, or how it begins.

    >>> gist("SPARQL-QUERY: queryStr=…\njava.lang.Exception: Query deadline is expired.\n at …")
    '«java.lang.Exception: Query deadline is expired.»'
    """
    error = re.search(r"[\w.$]+Exception\b[^\n]*", text)
    shown = " ".join((error[0] if error else text).split())
    return f"«{shown[:200]}…»" if len(shown) > 200 else f"«{shown}»"


def item(cell: Mapping[str, Any] | None) -> str | None:
    """The item that a cell stands for; None for unknown values, texts, properties, lexemes.

    >>> item({"type": "uri", "value": "http://www.wikidata.org/entity/Q42"})
    'Q42'
    >>> item({"type": "bnode", "value": "t1"})
    """
    if cell is None or cell.get("type") != "uri":
        return None
    match = ITEM.fullmatch(cell["value"])
    return match[1] if match else None


def read_counts(rows: Iterable[Row]) -> dict[str, int]:
    """The objects that are items, with their counts."""
    found = ((item(row.get("o")), row) for row in rows)
    return {name: int(row["n"]["value"]) for name, row in found if name}


def read_objects(rows: Iterable[Row]) -> list[str]:
    """The objects that are items, by number."""
    return _ordered(item(row.get("o")) for row in rows)


def read_parents(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """Of each item that is a subclass, of what."""
    found: dict[str, list[str | None]] = defaultdict(list)
    for row in rows:
        if name := item(row.get("o")):
            found[name].append(item(row.get("v")))
    return {name: tuple(_ordered(above)) for name, above in found.items()}


def read_details(
    rows: Iterable[Row], languages: Sequence[str], own: Sequence[str]
) -> dict[str, Entity]:
    """The items of which anything is known, as entities."""
    found: dict[str, Said] = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    for row in rows:
        name, value = item(row.get("o")), row.get("v")
        if name is None or value is None:
            continue
        said = found[name][row["k"]["value"]]
        if row["k"]["value"] in {"parent", "class"}:
            said[""].update(filter(None, [item(value)]))
        else:
            said[value.get("xml:lang", "").lower()].add(value["value"])
    return {name: _entity(name, said, languages, own) for name, said in found.items()}


def _entity(name: str, said: Said, languages: Sequence[str], own: Sequence[str]) -> Entity:
    texts = {
        kind: tuple(dict.fromkeys(text for code in own for text in sorted(said[kind][code])))
        for kind in OWN_TEXTS
    }
    links = {int(text) for kind in ("sitelinks", "links") for text in said[kind][""]}
    titles = {text for spoken in said["title"].values() for text in spoken}
    return Entity(
        id=name,
        labels={code: min(said["label"][code]) for code in languages if said["label"][code]},
        aliases=texts["alias"],
        description=best({c: min(t) for c, t in said["description"].items() if t}, languages),
        parents=tuple(_ordered(said["parent"][""])),
        classes=tuple(_ordered(said["class"][""])),
        sitelinks=max(links, default=0),
        title=min(titles, default=None),
        demonyms=texts["demonym"],
        feminine=texts["feminine"],
        masculine=texts["masculine"],
    )


def _ordered(items: Iterable[str | None]) -> list[str]:
    return sorted({name for name in items if name}, key=number)

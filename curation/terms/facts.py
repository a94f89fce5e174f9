"""What is asked of Wikidata and what comes of it: the same by query service and by dump."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from curation.records import Count, Entity

SUBCLASS, INSTANCE = "P279", "P31"
DEMONYM, FEMININE, MASCULINE = "P1549", "P2521", "P3321"


class Ask(NamedTuple):
    """What a domain asks: objects of these properties, counted by the subjects that state them.

    ``population`` restricts the subjects: for each property one of its items must be stated, as
    ``(("P27", ("Q252",)),)`` for people of Indonesia.
    """

    domain: str
    properties: tuple[str, ...]
    population: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Facts(NamedTuple):
    """Counts of all objects; entities for the looked-up ones and all that lies above them."""

    counts: list[Count]
    entities: list[Entity]


def languages(language: str, fallbacks: Iterable[str] = ()) -> tuple[str, ...]:
    """Wikidata's codes of a language, nearest first, and of its fallbacks.

    >>> languages("pt-BR", ["en"])
    ('pt-br', 'pt', 'mul', 'en')
    """
    code = language.lower()
    wanted = [code, code.split("-")[0], "mul", *(f.lower() for f in fallbacks)]
    return tuple(dict.fromkeys(wanted))


def wiki(language: str) -> str:
    """The Wikipedia of a language, as its host name and a dump's sitelinks begin.

    >>> wiki("pt-BR"), wiki("nb")
    ('pt', 'no')
    """
    code = language.lower().split("-")[0]
    return {"nb": "no"}.get(code, code)


def best(texts: Mapping[str, str], languages: Sequence[str]) -> str | None:
    """The text in the first of the languages that has one.

    >>> best({"en": "baker", "de": "Bäcker"}, ["de", "en"])
    'Bäcker'
    """
    return next((texts[code] for code in languages if texts.get(code)), None)


def number(qid: str) -> int:
    """A Wikidata id's number, by which ids are ordered.

    >>> number("Q42")
    42
    """
    return int(qid[1:])


def above(ids: Iterable[str], parents: Mapping[str, Sequence[str]]) -> set[str]:
    """The ids and everything above them; a circle ends where it began.

    >>> sorted(above(["a"], {"a": ["b"], "b": ["a", "c"]}))
    ['a', 'b', 'c']
    """
    found: set[str] = set()
    waiting = list(ids)
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting += parents.get(here, ())
    return found


def in_order(counts: Iterable[Count], entities: Iterable[Entity]) -> Facts:
    """Facts in the one order in which they are written, whatever brought them."""
    return Facts(
        sorted(counts, key=lambda c: (c.domain, c.property, -c.count, number(c.item))),
        sorted(entities, key=lambda e: number(e.id)),
    )

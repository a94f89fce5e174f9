"""Requests for Wikidata's facts, and the facts: the same for the query service and the dump."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from curation.records import Count, Entity

T = TypeVar("T")
SUBCLASS, INSTANCE = "P279", "P31"
DEMONYM, FEMININE, MASCULINE = "P1549", "P2521", "P3321"


class FactRequest(NamedTuple):
    """The facts that a domain needs: the objects of properties, with the number of subjects.

    ``population`` restricts the subjects. A subject must state, for each property in it, one of the
    items: ``(("P27", ("Q252",)),)`` selects people of Indonesia.
    """

    domain: str
    properties: tuple[str, ...]
    population: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Facts(NamedTuple):
    """The counts of all objects, and the entities of looked-up objects and of all their parents."""

    counts: list[Count]
    entities: list[Entity]


def wikidata_codes(language: str, fallbacks: Iterable[str] = ()) -> tuple[str, ...]:
    """Wikidata's codes for a language and its fallbacks, nearest first.

    >>> wikidata_codes("pt-BR", ["en"])
    ('pt-br', 'pt', 'mul', 'en')
    """
    code = language.lower()
    wanted = [code, code.split("-")[0], "mul", *(f.lower() for f in fallbacks)]
    return tuple(dict.fromkeys(wanted))


def wiki(language: str) -> str:
    """The code of a language's Wikipedia, with which its host name and sitelinks begin.

    >>> wiki("pt-BR"), wiki("nb")
    ('pt', 'no')
    """
    code = language.lower().split("-")[0]
    return {"nb": "no"}.get(code, code)


def best(texts: Mapping[str, str], languages: Sequence[str]) -> str | None:
    """The text in the first language that has one, or None.

    >>> best({"en": "baker", "de": "Bäcker"}, ["de", "en"])
    'Bäcker'
    """
    return next((texts[code] for code in languages if texts.get(code)), None)


def number(qid: str) -> int:
    """The number in a Wikidata id; ids are sorted by it.

    >>> number("Q42")
    42
    """
    return int(qid[1:])


def parents_in(entities: Mapping[str, Entity]) -> Callable[[str], Sequence[str]]:
    """A function from an id to its parents; an id that is not known has none."""
    return lambda qid: entities[qid].parents if qid in entities else ()


def with_ancestors(ids: Iterable[T], parents: Callable[[T], Iterable[T]]) -> set[T]:
    """The ids and all their ancestors; circles are allowed.

    >>> parents = {"a": ["b"], "b": ["a", "c"], "c": []}
    >>> sorted(with_ancestors(["a"], parents.__getitem__))
    ['a', 'b', 'c']
    """
    seen: set[T] = set()
    waiting = list(ids)
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += parents(here)
    return seen


def in_order(counts: Iterable[Count], entities: Iterable[Entity]) -> Facts:
    """Facts in the order in which they are written, the same for every source."""
    return Facts(
        sorted(counts, key=lambda c: (c.domain, c.property, -c.count, number(c.item))),
        sorted(entities, key=lambda e: number(e.id)),
    )

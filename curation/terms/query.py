"""Wikidata's facts from a query service: the queries, split into pieces, and their results."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from curation.files import CurationError
from curation.records import Count, Entity
from curation.terms import sparql
from curation.terms.facts import FactRequest, Facts, in_order, number
from curation.terms.wikidata import GOES_ON, SCAN, Service, TooHeavyError

Question = Callable[[Sequence[str]], str]  # makes the query about some items
Check = Callable[[list[sparql.Row]], object]  # reads the rows of an answer


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
    everything = partial(sparql.details, languages=languages, own=own)
    entities_in = partial(sparql.read_details, languages=languages, own=own)
    while waiting:
        done, seen = len(seen), seen | waiting
        above: set[str] = set()
        for size, rows in _in_batches(service, waiting, batch, everything, entities_in):
            entities = entities_in(rows)
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
        for size, rows in _in_batches(
            service, waiting, 5 * batch, sparql.parents, sparql.read_parents
        ):
            parents_of = sparql.read_parents(rows)
            bare.update(parents_of)
            above.update(parent for parents in parents_of.values() for parent in parents)
            done += size
            tell("classes", done, len(bare))
        waiting = above - seen - bare.keys()
    known.update({name: Entity(id=name, parents=above) for name, above in bare.items()})
    return in_order(counts, known.values())


def _counts(service: Service, ask: FactRequest, property: str, batch: int) -> dict[str, int]:
    """All objects of a property with their counts, in one query or, if needed, in many."""
    whole = sparql.counts(property, ask.population)
    which = sparql.objects(property, ask.population)
    # If an earlier run had to split the query, the single query would fail again.
    if service.holds(whole) or not service.holds(which):
        with suppress(TooHeavyError):
            return sparql.read_counts(service.select(whole, check=sparql.read_counts))
    try:
        objects = sparql.read_objects(service.select(which))
    except TooHeavyError as error:
        raise CurationError(
            f"{service.host}: the objects of {property} are too many for the service: {error}",
            f"run this again later, or {SCAN}; {GOES_ON}",
        ) from None
    some = partial(sparql.counts_of, property=property, population=ask.population)
    totals: dict[str, int] = {}
    for _, rows in _in_batches(service, objects, batch, some, sparql.read_counts):
        totals.update(sparql.read_counts(rows))
    return totals


def _in_batches(
    service: Service, items: Iterable[str], size: int, about: Question, check: Check
) -> Iterator[tuple[int, list[sparql.Row]]]:
    """Ask about items, ``size`` at once; a batch that is too heavy is split into halves.

    Yields:
        The number of items that an answer is about, and its rows.
    """
    ordered = sorted(items, key=number)  # the same batches each time, so that the cache has them
    waiting = [ordered[start : start + size] for start in range(0, len(ordered), size)][::-1]
    while waiting:
        part = waiting.pop()
        middle = len(part) // 2
        try:
            if _was_halved(service, part, about):
                raise TooHeavyError
            yield len(part), service.select(about(part), check=check)
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

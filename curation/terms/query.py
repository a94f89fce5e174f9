"""The query route to Wikidata's facts: what is asked, in which pieces, and what comes of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from curation.files import CurationError
from curation.records import Count, Entity
from curation.terms import sparql
from curation.terms.facts import Ask, Facts, in_order, number
from curation.terms.wikidata import GOES_ON, SCAN, Service, TooHeavyError

Question = Callable[[Sequence[str]], str]  # from items to the query about them


def query(
    service: Service,
    asks: Sequence[Ask],
    *,
    languages: Sequence[str],
    own: Sequence[str],
    least: int = 1,
    batch: int = 200,
    tell: Callable[[str, int, int], None] | None = None,
) -> Facts:
    """Count objects, look up those that are not too rare, and all that lies above them.

    Args:
        service: whom to ask.
        asks: what each domain wants.
        languages: codes for labels and the description, nearest first; the first names the
            Wikipedia of ``title``.
        own: codes for aliases, demonyms and forms, nearest first.
        least: objects that fewer subjects state, in every domain, are counted but not looked up.
        batch: how many items to ask for at once; halved where that is too much for the service.
        tell: told the stage (counts, details, classes), how much of it is done, and of how much;
            of details and classes the whole is what is known so far.

    Raises:
        CurationError: the service does not answer; says what to do.
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
    while waiting:
        done, seen = len(seen), seen | waiting
        above: set[str] = set()
        for size, rows in _in_batches(service, waiting, batch, everything):
            found = sparql.read_details(rows, languages, own)
            known.update(found)
            above.update(parent for entity in found.values() for parent in entity.parents)
            done += size
            tell("details", done, len(seen | above))
        waiting = above - seen

    bare: dict[str, tuple[str, ...]] = {}
    waiting = {name for entity in known.values() for name in entity.classes} - seen
    while waiting:
        done, above = len(bare), set()
        bare.update(dict.fromkeys(waiting, ()))
        for size, rows in _in_batches(service, waiting, 5 * batch, sparql.parents):
            of = sparql.read_parents(rows)
            bare.update(of)
            above.update(parent for found in of.values() for parent in found)
            done += size
            tell("classes", done, len(bare))
        waiting = above - seen - bare.keys()
    known.update({name: Entity(id=name, parents=above) for name, above in bare.items()})
    return in_order(counts, known.values())


def _counts(service: Service, ask: Ask, property: str, batch: int) -> dict[str, int]:
    """All objects of a property with their counts, in one query or, where it must be, in many."""
    whole = sparql.counts(property, ask.population)
    which = sparql.objects(property, ask.population)
    # Where a run before this one had to go the long way, there is no point in trying again.
    if service.holds(whole) or not service.holds(which):
        with suppress(TooHeavyError):
            return sparql.read_counts(service.select(whole))
    try:
        objects = sparql.read_objects(service.select(which))
    except TooHeavyError as error:
        raise CurationError(
            f"{service.host}: the objects of {property} are too many for it: {error}",
            f"run this again later, or {SCAN}; {GOES_ON}",
        ) from None
    some = partial(sparql.counts_of, property=property, population=ask.population)
    found: dict[str, int] = {}
    for _, rows in _in_batches(service, objects, batch, some):
        found.update(sparql.read_counts(rows))
    return found


def _in_batches(
    service: Service, items: Iterable[str], size: int, about: Question
) -> Iterator[tuple[int, list[sparql.Row]]]:
    """Ask about items, ``size`` at once; a batch that is too heavy is asked in halves.

    Yields:
        How many items an answer is about, and its rows.
    """
    ordered = sorted(items, key=number)  # the same batches each time, so that they are found again
    waiting = [ordered[start : start + size] for start in range(0, len(ordered), size)][::-1]
    while waiting:
        part = waiting.pop()
        middle = len(part) // 2
        try:
            if _was_halved(service, part, about):
                raise TooHeavyError
            yield len(part), service.select(about(part))
        except TooHeavyError as error:
            if not middle:
                raise CurationError(
                    f"{service.host}: {part[0]} alone is too much for it: {error}",
                    f"run this again later, or {SCAN}; {GOES_ON}",
                ) from None
            waiting += [part[middle:], part[:middle]]


def _was_halved(service: Service, part: Sequence[str], about: Question) -> bool:
    """Whether a batch was too heavy in a run before: a first piece of it is kept, it is not."""
    pieces = (part[: len(part) >> halvings] for halvings in range(1, len(part).bit_length()))
    return not service.holds(about(part)) and any(service.holds(about(p)) for p in pieces)

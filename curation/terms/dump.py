"""Wikidata's facts from its JSON dump, in two readings of the file and constant memory.

The first reading counts objects by the subjects that state them, and collects the subclass
relations. The second looks up the objects that are frequent enough, and all their ancestors.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from curation.files import CurationError
from curation.records import Count, Entity, Rejection
from curation.terms.dump_lines import FETCH, Lines, sizes
from curation.terms.dump_shapes import (
    UNFIT,
    Name,
    UnreadableError,
    detailed,
    in_languages,
    item_number,
    items,
    reader,
    shape,
    spoken,
)
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
    wiki,
)
from curation.work.engine import Engine, map_shards

KEPT = 1_000  # unreadable lines to keep per file; all of them are counted
SHOWN = 200  # characters to keep of each
# The beginning of a line in dumps: it shows the entity's id without decoding the line.
HEAD = re.compile(
    rb'\{\s*(?:"(?:pageid|ns|title|lastrevid|modified|type|datatype)":\s*(?:"[^"\\]*"|\d+),\s*)*'
    rb'"id":\s*"([A-Z])(\d{1,12})"'
)
T = TypeVar("T")
Tell = Callable[[int], None]
Edges = npt.NDArray[
    np.int64
]  # each has the subclass's number in the upper half, the parent's below
_Limits = list[tuple[str, set[int]]]  # a population: properties with their items


class Scanned(NamedTuple):
    """The facts of a dump, and the lines that could not be read.

    ``lines`` is the number of lines with content, ``unreadable`` the number of them that could not
    be read. ``rejections`` has the first thousand unreadable lines of each file.
    """

    facts: Facts
    rejections: list[Rejection]
    lines: int
    unreadable: int


def scan(
    paths: Sequence[Path],
    asks: Sequence[FactRequest],
    *,
    languages: Sequence[str],
    own: Sequence[str],
    least: int = 1,
    engine: Engine = "local",
    workers: int | None = None,
    tell: Tell | None = None,
) -> Scanned:
    """Count objects, and look up the frequent ones and all their ancestors.

    Args:
        paths: the dump, in one or several files; each entity is in one of them. On a Ray cluster
            its machines must see the files.
        asks: the request of each domain.
        languages: codes for labels and the description, nearest first; the first names the
            Wikipedia of ``title``.
        own: codes for aliases, demonyms and forms, nearest first.
        least: objects that fewer subjects state, in every domain, are counted but not looked up.
        engine: how several files are read at once, see ``curation.work.engine``.
        workers: how many files are read at once.
        tell: called with the number of bytes read since the last call; with several files, when a
            file is done. The total is twice the size of the files.

    Raises:
        CurationError: a file cannot be read, is cut off, or is not a Wikidata dump; the message
            names it.
    """
    if not paths:
        raise CurationError("no dump is given", "name at least one file")
    size, report = sizes(paths), tell or (lambda _: None)
    # A single file is read in this process, which can report progress all the time.
    progress: dict[str, Any] = {"tell": report} if len(paths) == 1 else {}

    def each(work: Callable[..., T], **options: Any) -> list[T]:
        def done(index: int) -> None:
            if not progress:
                report(size[index])

        run = partial(work, **options, **progress)
        return map_shards(run, paths, engine=engine, workers=workers, tell=done)

    counted = each(count_objects, asks=asks)
    if not any(part.lines for part in counted):
        raise _no_dump(f"{paths[0]}", "it has no entities")
    columns = [(ask.domain, property) for ask in asks for property in ask.properties]
    tallies = [_sum(part.tallies[n] for part in counted) for n in range(len(columns))]
    tree = _Tree([part.edges for part in counted])
    wanted = tree.above(o for tally in tallies for o, n in tally.items() if n >= least)
    looked_up = each(look_up, wanted=wanted, languages=languages, own=own)
    entities = {entity.id: entity for part in looked_up for entity in part}
    classes = {int(name[1:]) for entity in entities.values() for name in entity.classes}
    entities |= {f"Q{n}": Entity(id=f"Q{n}") for n in tree.above(classes) - wanted}
    facts = in_order(
        (
            Count(domain=domain, property=property, item=f"Q{number}", count=n)
            for (domain, property), tally in zip(columns, tallies, strict=True)
            for number, n in tally.items()
        ),
        (
            entity.model_copy(update={"parents": _names(tree.parents(int(name[1:])))})
            for name, entity in entities.items()
        ),
    )
    return Scanned(
        facts,
        [rejection for part in counted for rejection in part.rejections],
        sum(part.lines for part in counted),
        sum(part.unreadable for part in counted),
    )


# --- the first reading ----------------------------------------------------------------------


class Counted(NamedTuple):
    """The results of the first reading of one file, with a tally for each requested property."""

    tallies: list[Counter[int]]
    edges: Edges
    rejections: list[Rejection]
    lines: int
    unreadable: int


def count_objects(path: Path, asks: Sequence[FactRequest], tell: Tell | None = None) -> Counted:
    """The first reading of one file: count objects, and collect the subclass relations.

    Raises:
        CurationError: the file cannot be read, is cut off, or is not a Wikidata dump.
    """
    tallies: list[Counter[int]] = []
    plan: dict[str, list[tuple[_Limits, Counter[int]]]] = {}  # by property
    for ask in asks:
        limits = [(name, {item_number(id) for id in ids}) for name, ids in ask.population]
        for property in ask.properties:
            tallies.append(Counter())
            plan.setdefault(property, []).append((limits, tallies[-1]))
    limiting = [name for ask in asks for name, _ in ask.population]
    read = reader(shape([SUBCLASS, *plan, *limiting]))

    def count(claims: Any) -> None:
        for property, takers in plan.items():
            if statements := getattr(claims, property):
                stated = items(statements)
                for limits, tally in takers:
                    if all(items(getattr(claims, name)) & among for name, among in limits):
                        for number in stated:
                            tally[number] += 1

    edges = array("q")
    rejections: list[Rejection] = []
    entities = unreadable = number = last = 0
    lines = Lines(path, tell)
    for number, line in enumerate(lines, 1):
        try:
            entity = read(line)
        except UnreadableError as error:
            last, unreadable = number, unreadable + 1
            if unreadable <= KEPT:
                rejections.append(_rejection(path, number, line, str(error)))
            elif not entities:
                break  # not a dump: there is no need to read on
            continue
        if entity is None:
            continue
        entities += 1
        if claims := entity.claims:
            count(claims)
            if (above := claims.P279) and (child := item_number(entity.id)):
                edges.extend(child << 32 | parent for parent in items(above))
        if entity.type == "lexeme":
            for part in (*(entity.forms or ()), *(entity.senses or ())):
                if part.claims:
                    count(part.claims)
    if unreadable and not entities:
        raise _no_dump(rejections[0].where, rejections[0].detail)
    if lines.cut and last == number:
        raise CurationError(f"{path} line {number}: ends in the middle", FETCH)
    subclasses = np.frombuffer(edges, dtype=np.int64)
    return Counted(tallies, subclasses, rejections, entities + unreadable, unreadable)


def _rejection(path: Path, number: int, line: memoryview, why: str) -> Rejection:
    shown = bytes(line[: 4 * SHOWN]).decode("utf-8", "replace")[:SHOWN]
    where = f"{path} line {number}"
    return Rejection(code="unreadable_line", detail=why, where=where, record={"line": shown})


def _no_dump(where: str, why: str) -> CurationError:
    return CurationError(
        f"{where}: is not a Wikidata JSON dump ({why})",
        "use latest-all.json.gz from https://dumps.wikimedia.org/wikidatawiki/entities/",
    )


# --- the hierarchy of subclasses ------------------------------------------------------------


class _Tree:
    """Items and the items that they are subclasses of, as numbers: 8 bytes per pair."""

    def __init__(self, parts: Sequence[Edges]) -> None:
        self._edges = np.concatenate(parts)
        self._edges.sort()

    def parents(self, number: int) -> list[int]:
        start, end = np.searchsorted(self._edges, [number << 32, (number + 1) << 32])
        numbers: list[int] = (self._edges[start:end] & 0xFFFFFFFF).tolist()
        return list(dict.fromkeys(numbers))

    def above(self, numbers: Iterable[int]) -> set[int]:
        """The numbers and all their ancestors, as ``facts.above``."""
        seen: set[int] = set()
        waiting = list(numbers)
        while waiting:
            here = waiting.pop()
            if here not in seen:
                seen.add(here)
                waiting += self.parents(here)
        return seen


def _sum(parts: Iterable[Counter[int]]) -> Counter[int]:
    whole: Counter[int] = Counter()
    for part in parts:
        whole.update(part)
    return whole


def _names(numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"Q{number}" for number in sorted(numbers))


# --- the second reading ---------------------------------------------------------------------


def look_up(
    path: Path,
    wanted: set[int],
    languages: Sequence[str],
    own: Sequence[str],
    tell: Tell | None = None,
) -> list[Entity]:
    """The second reading of one file: the wanted items, without their parents.

    The parents are known from the first reading.
    """
    read, name = reader(detailed()), msgspec.json.Decoder(Name).decode
    entities = []
    for line in Lines(path, tell):
        if head := HEAD.match(line):
            number = int(head[2]) if head[1] == b"Q" else 0
        else:
            try:
                number = item_number(name(line).id)
            except UNFIT:  # an unusual line, or not an entity at all
                number = _odd_number(line, read)
        if number in wanted:
            try:
                entities.append(_entity(read(line), languages, own))
            except UnreadableError:
                continue  # the first reading has reported it
    return entities


def _odd_number(line: memoryview, read: Callable[[memoryview], Any]) -> int:
    try:
        entity = read(line)
    except UnreadableError:
        return 0
    return item_number(entity.id) if entity else 0


def _entity(raw: Any, languages: Sequence[str], own: Sequence[str]) -> Entity:
    labels, links = raw.labels or {}, raw.sitelinks or {}
    descriptions = {code: text.value for code, text in (raw.descriptions or {}).items()}
    aliases = ((code, [t.value for t in texts]) for code, texts in (raw.aliases or {}).items())
    page = links.get(f"{wiki(languages[0]).replace('-', '_')}wiki")

    def stated(property: str) -> Any:
        return getattr(raw.claims, property) if raw.claims else None

    return Entity(
        id=raw.id,
        labels={c: labels[c].value for c in languages if c in labels and labels[c].value},
        aliases=in_languages(aliases, own),
        description=best(descriptions, languages),
        classes=_names(items(stated(INSTANCE))),
        sitelinks=len(links),
        title=page.title if page else None,
        demonyms=spoken(stated(DEMONYM), own),
        feminine=spoken(stated(FEMININE), own),
        masculine=spoken(stated(MASCULINE), own),
    )

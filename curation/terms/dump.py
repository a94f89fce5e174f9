"""Wikidata's facts from its JSON dump, in two readings of the file and constant memory.

The first reading counts objects by the subjects that state them and keeps what is a subclass of
what; the second looks up the objects that are common enough, and all that lies above them.
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

from curation.engine import Engine, map_shards
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
    Ask,
    Facts,
    best,
    in_order,
    wiki,
)

KEPT = 1_000  # lines that cannot be read, kept of each file; of all it is told how many
SHOWN = 200  # characters kept of each
# How a line begins, as dumps write it: which entity it is can be seen without decoding it.
HEAD = re.compile(
    rb'\{\s*(?:"(?:pageid|ns|title|lastrevid|modified|type|datatype)":\s*(?:"[^"\\]*"|\d+),\s*)*'
    rb'"id":\s*"([A-Z])(\d{1,12})"'
)
T = TypeVar("T")
Tell = Callable[[int], None]
Edges = npt.NDArray[np.int64]  # of each: the subclass's number in the upper half, then the other's
_Limits = list[tuple[str, set[int]]]  # a population: properties, and of each the items


class Scanned(NamedTuple):
    """The facts, and how reading went.

    ``lines`` are those that hold something, ``unreadable`` those of them that could not be read;
    ``rejections`` has these, of each file the first thousand.
    """

    facts: Facts
    rejections: list[Rejection]
    lines: int
    unreadable: int


def scan(
    paths: Sequence[Path],
    asks: Sequence[Ask],
    *,
    languages: Sequence[str],
    own: Sequence[str],
    least: int = 1,
    engine: Engine = "local",
    workers: int | None = None,
    tell: Tell | None = None,
) -> Scanned:
    """Count objects, look up those that are not too rare, and all that lies above them.

    Args:
        paths: the dump, in one file or several, each entity in one of them; on a Ray cluster they
            must lie where its machines see them.
        asks: what each domain wants.
        languages: codes for labels and the description, nearest first; the first names the
            Wikipedia of ``title``.
        own: codes for aliases, demonyms and forms, nearest first.
        least: objects that fewer subjects state, in every domain, are counted but not looked up.
        engine: what reads several files at once, see ``curation.engine``.
        workers: how many files at once.
        tell: told how many bytes of the files were read since it was last told; with several
            files, whenever one is done. In all it is told twice the files' sizes.

    Raises:
        CurationError: a file cannot be read, is cut off, or is no Wikidata dump; says which.
    """
    if not paths:
        raise CurationError("no dump is given", "name at least one file")
    size, told = sizes(paths), tell or (lambda _: None)
    # A single file is read in this process, which can tell as it goes.
    going: dict[str, Any] = {"tell": told} if len(paths) == 1 else {}

    def each(work: Callable[..., T], **knobs: Any) -> list[T]:
        def done(index: int) -> None:
            if not going:
                told(size[index])

        run = partial(work, **knobs, **going)
        return map_shards(run, paths, engine=engine, workers=workers, tell=done)

    counted = each(count_objects, asks=asks)
    if not any(part.lines for part in counted):
        raise _no_dump(f"{paths[0]}", "it holds no entity")
    columns = [(ask.domain, property) for ask in asks for property in ask.properties]
    tallies = [_sum(part.tallies[n] for part in counted) for n in range(len(columns))]
    tree = _Tree([part.edges for part in counted])
    wanted = tree.above(o for tally in tallies for o, n in tally.items() if n >= least)
    found = each(look_up, wanted=wanted, languages=languages, own=own)
    entities = {entity.id: entity for part in found for entity in part}
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
    """What one file says, with a tally for each ask's property."""

    tallies: list[Counter[int]]
    edges: Edges
    rejections: list[Rejection]
    lines: int
    unreadable: int


def count_objects(path: Path, asks: Sequence[Ask], tell: Tell | None = None) -> Counted:
    """The first reading of one file: count objects, collect what is a subclass of what.

    Raises:
        CurationError: the file cannot be read, is cut off, or is no Wikidata dump.
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
                break  # it need not be read to its end
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
    found = np.frombuffer(edges, dtype=np.int64)
    return Counted(tallies, found, rejections, entities + unreadable, unreadable)


def _rejection(path: Path, number: int, line: memoryview, why: str) -> Rejection:
    shown = bytes(line[: 4 * SHOWN]).decode("utf-8", "replace")[:SHOWN]
    where = f"{path} line {number}"
    return Rejection(code="unreadable_line", detail=why, where=where, record={"line": shown})


def _no_dump(where: str, why: str) -> CurationError:
    return CurationError(
        f"{where}: is not a Wikidata JSON dump ({why})",
        "take latest-all.json.gz of https://dumps.wikimedia.org/wikidatawiki/entities/",
    )


# --- what lies above what -------------------------------------------------------------------


class _Tree:
    """Subclasses and what they are subclasses of, as numbers: 8 bytes for each pair."""

    def __init__(self, parts: Sequence[Edges]) -> None:
        self._edges = np.concatenate(parts)
        self._edges.sort()

    def parents(self, number: int) -> list[int]:
        start, end = np.searchsorted(self._edges, [number << 32, (number + 1) << 32])
        found: list[int] = (self._edges[start:end] & 0xFFFFFFFF).tolist()
        return list(dict.fromkeys(found))

    def above(self, numbers: Iterable[int]) -> set[int]:
        """The numbers and everything above them, as ``facts.above``."""
        found: set[int] = set()
        waiting = list(numbers)
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting += self.parents(here)
        return found


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
    """The second: the wanted items of one file, but their parents, which are known already."""
    read, name = reader(detailed()), msgspec.json.Decoder(Name).decode
    found = []
    for line in Lines(path, tell):
        if head := HEAD.match(line):
            number = int(head[2]) if head[1] == b"Q" else 0
        else:
            try:
                number = item_number(name(line).id)
            except UNFIT:  # odd, or no entity at all
                number = _odd_number(line, read)
        if number in wanted:
            try:
                found.append(_entity(read(line), languages, own))
            except UnreadableError:
                continue  # the first reading has told
    return found


def _odd_number(line: memoryview, read: Callable[[memoryview], Any]) -> int:
    try:
        entity = read(line)
    except UnreadableError:
        return 0
    return item_number(entity.id) if entity else 0


def _entity(said: Any, languages: Sequence[str], own: Sequence[str]) -> Entity:
    labels, links = said.labels or {}, said.sitelinks or {}
    told = {code: text.value for code, text in (said.descriptions or {}).items()}
    aliases = ((code, [t.value for t in texts]) for code, texts in (said.aliases or {}).items())
    page = links.get(f"{wiki(languages[0]).replace('-', '_')}wiki")

    def stated(property: str) -> Any:
        return getattr(said.claims, property) if said.claims else None

    return Entity(
        id=said.id,
        labels={c: labels[c].value for c in languages if c in labels and labels[c].value},
        aliases=in_languages(aliases, own),
        description=best(told, languages),
        classes=_names(items(stated(INSTANCE))),
        sitelinks=len(links),
        title=page.title if page else None,
        demonyms=spoken(stated(DEMONYM), own),
        feminine=spoken(stated(FEMININE), own),
        masculine=spoken(stated(MASCULINE), own),
    )

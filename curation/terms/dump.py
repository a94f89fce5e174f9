"""Wikidata's facts from its JSON dump, in two readings of the file and constant memory.

The first reading counts objects by the subjects that state them, and collects the subclass
relations. The second looks up the objects that are frequent enough, and all their ancestors.
"""

import bz2
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from isal import igzip, isal_zlib
from msgspec import Meta, Struct, field

from curation.files import CurationError, open_input
from curation.formats.packed import PACKINGS, packing_of
from curation.records import Count, Entity, Fields, Rejection
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
    with_ancestors,
)
from curation.work.engine import Engine, map_shards

BLOCK = 1 << 20  # bytes to decompress at once: more would not fit into the processor's cache
AHEAD = 4  # blocks that are being read or wait to be read
LONGEST = 32 << 20  # bytes of a line at most; Wikidata's longest entities have about a tenth of it
FETCH = "it was probably cut off: fetch it again"
COMMA = 0x2C


class _Block(NamedTuple):
    """Whole lines, in ``data[:end]``; ``read`` is the number of bytes read from the file."""

    data: bytearray
    end: int
    read: int


class Lines:
    """The lines of a dump file, without line ends and without the commas between entities.

    Each line is a view that is valid only until the next line is requested. The lines can be read
    once.

    Attributes:
        path: the file.
        cut: after all lines were read, whether the last one had no line end.
    """

    def __init__(self, path: Path, tell: Callable[[int], None] | None = None) -> None:
        """Prepare the reader; the file is not opened yet.

        Args:
            path: a JSON file, plain or compressed with gzip (any number of members) or bzip2.
            tell: called with the number of bytes read from the file since the last call.
        """
        self.path = path
        self.cut = False
        self._tell = tell or (lambda _: None)
        self._full: SimpleQueue[_Block | Exception | None] = SimpleQueue()
        self._free: SimpleQueue[bytearray | None] = SimpleQueue()

    def __iter__(self) -> Iterator[memoryview]:
        """The lines.

        Raises:
            CurationError: the file is missing, may not be read, ends in the middle, is damaged, or
                has no lines.
        """
        for _ in range(AHEAD):
            self._free.put(bytearray(BLOCK))
        thread = Thread(target=self._unpack, daemon=True)
        thread.start()
        try:
            while (block := self._full.get()) is not None:
                if isinstance(block, Exception):
                    raise block
                yield from self._lines(block)
                self._free.put(block.data if len(block.data) == BLOCK else bytearray(BLOCK))
                self._tell(block.read)
        finally:
            self._free.put(None)
            thread.join()

    def _lines(self, block: _Block) -> Iterator[memoryview]:
        data, end = block.data, block.end
        view, find, start = memoryview(data), data.find, 0
        while start < end:
            stop = find(b"\n", start, end)
            if stop < 0:
                stop, self.cut = end, True
            yield view[start : stop - 1 if data[stop - 1] == COMMA else stop]
            start = stop + 1

    def _unpack(self) -> None:
        """Decompress the file into blocks and hand them over; runs in the thread."""
        try:
            with open_input(self.path) as packed, _unpacked(self.path, packed) as plain:
                self._fill(packed, plain)
            self._full.put(None)
        except EOFError as error:
            self._full.put(CurationError(f"{self.path}: ends in the middle ({error})", FETCH))
        except (igzip.BadGzipFile, isal_zlib.error) as error:  # type: ignore[misc]
            self._full.put(_damaged(self.path, error))
        except OSError as error:  # errors of the system have a number, errors of bz2 do not
            self._full.put(error if error.errno else _damaged(self.path, error))
        except Exception as error:
            self._full.put(error)

    def _fill(self, packed: BinaryIO, plain: Any) -> None:
        rest, reported = b"", 0  # rest: the start of a line whose end is not decompressed yet
        while (data := self._free.get()) is not None:
            if len(data) < 2 * len(rest):
                data = bytearray(2 * len(rest))
            end = len(rest)
            with memoryview(data) as view:
                view[:end] = rest
                while end < len(data) and (got := plain.readinto(view[end:])):
                    end += got
                whole = end if end < len(data) else data.rfind(b"\n") + 1
                rest = bytes(view[whole:end])
            if len(rest) > LONGEST:
                raise CurationError(
                    f"{self.path}: is not a Wikidata JSON dump: a line has over {LONGEST} bytes",
                    "use the dump with one entity per line, latest-all.json.gz",
                )
            read = packed.tell()
            self._full.put(_Block(data, whole, read - reported))
            reported = read
            if end < len(data):
                return


def sizes(paths: Sequence[Path]) -> list[int]:
    """The size of each file in bytes.

    Raises:
        CurationError: a file is missing, empty or a folder, may not be read, or is given twice.
    """
    file_sizes = []
    for path in paths:
        with open_input(path) as file:
            file_sizes.append(file.seek(0, 2))
        if not file_sizes[-1]:
            raise CurationError(f"{path}: is empty", FETCH)
    for place, path in enumerate(paths):
        if any(path.samefile(other) for other in paths[:place]):
            raise CurationError(f"{path}: is given twice", "name each file once")
    return file_sizes


def _unpacked(path: Path, packed: BinaryIO) -> Any:
    """The decompressed content; the first bytes show the compression, whatever the file's name."""
    packing = packing_of(path)
    if path.suffix in PACKINGS.values() and path.suffix != packing:
        raise CurationError(f"{path}: is not {path.suffix} data", "fetch it again, or rename it")
    if packing == ".gz":
        return igzip.open(packed)  # type: ignore[no-untyped-call]
    return bz2.open(packed) if packing == ".bz2" else packed


def _damaged(path: Path, error: Exception) -> CurationError:
    return CurationError(f"{path}: is damaged ({error})", "fetch it again")


LIMIT = 1 << 31  # all item numbers are smaller, so two of them fit into 64 bits
ID = re.compile(r"[A-Z][1-9]\d{0,18}", re.ASCII)
PADDING = b"\xef\xbb\xbf[], \t\r\n"
KINDS = {"Q": "item", "L": "lexeme"}
UNFIT = (msgspec.DecodeError, ValueError, RecursionError)
Kind = Literal["item", "property", "lexeme"]
Empty = Annotated[list[Any], Meta(max_length=0)]  # how PHP writes an empty map


class UnreadableError(ValueError):
    """A line is not an entity; the message says why."""


class Value(Struct, gc=False):
    """An entity, or a text in a language; the filled fields show which."""

    kind: str = field(name="entity-type", default="")
    number: int = field(name="numeric-id", default=0)
    id: str = ""
    text: str = ""
    language: str = ""


class Data(Struct, gc=False):
    """A snak's value with its type."""

    value: Value | str | float | bool | list[Any] | None = None


class Snak(Struct, gc=False):
    """A value, or the statement that there is no value or no known value."""

    snaktype: str = ""
    datavalue: Data | None = None


class Statement(Struct, gc=False):
    """One claim of an entity; its qualifiers and references are not read."""

    mainsnak: Snak
    rank: str = "normal"


class Text(Struct, gc=False):
    """A label, an alias, a description."""

    value: str


class Link(Struct, gc=False):
    """A page about the item."""

    title: str | None = None


class Name(Struct, gc=False):
    """The id of an entity."""

    id: str


def shape(properties: Iterable[str]) -> type[Struct]:
    """The structure for counting: an entity's type, and its statements of some properties."""
    return msgspec.defstruct("Counted", _fields(properties), gc=False)


def detailed() -> type[Struct]:
    """The structure for a look-up: all fields of ``records.Entity`` except the parents."""
    texts = dict[str, Text] | Empty | None
    more: list[tuple[str, Any, Any]] = [
        ("labels", texts, None),
        ("descriptions", texts, None),
        ("aliases", dict[str, list[Text]] | Empty | None, None),
        ("sitelinks", dict[str, Link] | Empty | None, None),
    ]
    spoken = (DEMONYM, FEMININE, MASCULINE)
    return msgspec.defstruct("Detailed", [*_fields((INSTANCE, *spoken)), *more], gc=False)


def _fields(properties: Iterable[str]) -> list[tuple[str, Any] | tuple[str, Any, Any]]:
    statements = list[Statement] | None
    named: list[tuple[str, Any, Any]] = [
        (name, statements, None) for name in dict.fromkeys(properties)
    ]
    claims = msgspec.defstruct("Claims", named, gc=False) | Empty | None
    # A lexeme's forms and senses are subjects with their own statements.
    part: Any = msgspec.defstruct("Part", [("claims", claims, None)], gc=False)
    parts: Any = list[part] | None
    return [
        ("type", Kind),
        ("id", str),
        ("claims", claims, None),
        ("forms", parts, None),
        ("senses", parts, None),
    ]


def reader(wanted: type[Struct]) -> Callable[[memoryview], Any]:
    """A function that reads a line: it returns the entity, or None for an empty line.

    The function raises UnreadableError if the line is not JSON or not an entity.
    """
    decode = msgspec.json.Decoder(wanted).decode

    def read(line: memoryview) -> Any:
        try:
            return decode(line)
        except UNFIT:
            return odd(bytes(line), wanted)

    return read


def odd(line: bytes, wanted: type[Struct]) -> Any:
    """The entity of a line without the parts that do not fit; None for an empty line.

    Raises:
        UnreadableError: the line is not JSON, or not an entity.

    >>> odd(b" ]", shape([]))
    >>> odd(b'{"id": "Q1", "claims": 5}', shape(["P31"]))
    Counted(type='item', id='Q1', claims=None, forms=[], senses=[])
    """
    text = line.strip(PADDING)
    if not text:
        return None
    try:
        raw = msgspec.json.decode(text)
    except UNFIT as error:
        raise UnreadableError(f"not JSON: {error}") from None
    if not isinstance(raw, dict) or not ID.fullmatch(str(raw.get("id"))):
        raise UnreadableError("not an entity: no id like Q42")
    fitting = {
        "id": raw["id"],
        "type": KINDS.get(raw["id"][0], "property"),
        "claims": _claims(raw),
        **{name: _each(raw, name, Text) for name in ("labels", "descriptions")},
        "aliases": {
            code: [text for text in _values(texts) if _fits(text, Text)]
            for code, texts in _map(raw, "aliases").items()
        },
        "sitelinks": {
            site: link if _fits(link, Link) else {} for site, link in _map(raw, "sitelinks").items()
        },
        **{
            name: [{"claims": _claims(part)} for part in _values(raw.get(name))]
            for name in ("forms", "senses")
        },
    }
    return msgspec.convert(fitting, wanted)


def _claims(raw: Any) -> dict[str, list[Any]] | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("claims"), dict):
        return None
    return {
        name: [_statement(statement) for statement in _values(statements)]
        for name, statements in raw["claims"].items()
    }


def _statement(raw: Any) -> Any:
    if _fits(raw, Statement):
        return raw
    rank = raw.get("rank") if isinstance(raw, dict) else None
    # Only its rank can be read, if at all.
    return {"mainsnak": {}, "rank": rank if isinstance(rank, str) else "deprecated"}


def _map(raw: Fields, name: str) -> Fields:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _each(raw: Fields, name: str, kind: type[Struct]) -> Fields:
    return {key: value for key, value in _map(raw, name).items() if _fits(value, kind)}


def _values(raw: Any) -> list[Any]:
    """The values of a list; PHP writes a list with a gap as a map."""
    if isinstance(raw, dict):
        return list(raw.values())
    return raw if isinstance(raw, list) else []


def _fits(raw: Any, kind: type[Struct]) -> bool:
    try:
        msgspec.convert(raw, kind)
    except msgspec.ValidationError:
        return False
    return True


# --- the values of statements ---------------------------------------------------------------


def truthy(statements: Sequence[Statement] | None) -> list[Value]:
    """The values that count: those of preferred statements, else those of normal statements."""
    best = [s for s in statements or () if s.rank == "preferred"]
    best = best or [s for s in statements or () if s.rank == "normal"]
    data = [s.mainsnak.datavalue for s in best if s.mainsnak.snaktype == "value"]
    return [d.value for d in data if d is not None and isinstance(d.value, Value)]


def items(statements: Sequence[Statement] | None) -> set[int]:
    """The numbers of the items in truthy statements; each once, as triples are a set."""
    return {number for value in truthy(statements) if (number := _item(value))}


def _item(value: Value) -> int:
    if value.kind == "item" and 0 < value.number < LIMIT:
        return value.number
    return item_number(value.id)


def item_number(id: str) -> int:
    """The number of an item; 0 if the id is not an item's.

    >>> item_number("Q42"), item_number("P31"), item_number("Q0"), item_number("Q" + "9" * 5000)
    (42, 0, 0, 0)
    """
    if id[:1] != "Q" or not ID.fullmatch(id):
        return 0
    number = int(id[1:])
    return number if number < LIMIT else 0


def texts_in(statements: Sequence[Statement] | None, own: Sequence[str]) -> tuple[str, ...]:
    """The texts of truthy statements in some languages, in the order of the languages."""
    texts = [(value.language.lower(), value.text) for value in truthy(statements)]
    return in_languages(((code, [text]) for code, text in texts), own)


def in_languages(texts: Iterable[tuple[str, Iterable[str]]], own: Sequence[str]) -> tuple[str, ...]:
    """Distinct texts in the order of their languages, sorted within each language.

    >>> in_languages([("de", ["b", "a"]), ("mul", ["b", "c"]), ("fr", ["d"])], ["mul", "de"])
    ('b', 'c', 'a')
    """
    by_code: dict[str, list[str]] = {}
    for code, in_code in texts:
        by_code.setdefault(code, []).extend(filter(None, in_code))
    ordered = [text for code in own for text in sorted(by_code.get(code, ()))]
    return tuple(dict.fromkeys(ordered))


KEPT = 1_000  # unreadable lines to keep per file; all of them are counted
SHOWN = 200  # characters to keep of each
# The beginning of a line in dumps: it shows the entity's id without decoding the line.
HEAD = re.compile(
    rb'\{\s*(?:"(?:pageid|ns|title|lastrevid|modified|type|datatype)":\s*(?:"[^"\\]*"|\d+),\s*)*'
    rb'"id":\s*"([A-Z])(\d{1,12})"'
)
T = TypeVar("T")
Tell = Callable[[int], None]
Edges = npt.NDArray[np.int64]
"""Each has the subclass's number in the upper half, the parent's below."""
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
    progress: Fields = {"tell": report} if len(paths) == 1 else {}

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
    wanted = with_ancestors((o for t in tallies for o, n in t.items() if n >= least), tree.parents)
    looked_up = each(look_up, wanted=wanted, languages=languages, own=own)
    entities = {entity.id: entity for part in looked_up for entity in part}
    classes = {int(name[1:]) for entity in entities.values() for name in entity.classes}
    entities |= {
        f"Q{n}": Entity(id=f"Q{n}") for n in with_ancestors(classes, tree.parents) - wanted
    }
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
        """The items that an item is a direct subclass of, by number; each once."""
        start, end = np.searchsorted(self._edges, [number << 32, (number + 1) << 32])
        numbers: list[int] = (self._edges[start:end] & 0xFFFFFFFF).tolist()
        return list(dict.fromkeys(numbers))


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
        demonyms=texts_in(stated(DEMONYM), own),
        feminine=texts_in(stated(FEMININE), own),
        masculine=texts_in(stated(MASCULINE), own),
    )

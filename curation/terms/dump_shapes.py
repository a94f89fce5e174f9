"""The fields that are read from an entity of a dump, as structures that msgspec decodes.

The structures allow what occurs in real dumps: empty maps may be lists, old values have a number
but no id, and values have any type. ``odd`` reads lines that do not fit piece by piece, so that one
unusual statement does not lose its entity or the next statement.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from curation.terms.facts import DEMONYM, FEMININE, INSTANCE, MASCULINE

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


def _map(raw: dict[str, Any], name: str) -> dict[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _each(raw: dict[str, Any], name: str, kind: type[Struct]) -> dict[str, Any]:
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


def spoken(statements: Sequence[Statement] | None, own: Sequence[str]) -> tuple[str, ...]:
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

"""What is read of a dump's entity, and nothing else of it: the fields, as msgspec decodes them.

The shapes are as wide as real dumps are: empty maps may be lists, old values have a number and no
id, a value may be of any kind. What does not fit them all the same is read by ``odd``, piece by
piece, so that one odd statement loses neither its entity nor the next statement.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from curation.terms.facts import DEMONYM, FEMININE, INSTANCE, MASCULINE

LIMIT = 1 << 31  # no item has such a number, and two of them fit into 64 bits
ID = re.compile(r"[A-Z][1-9]\d*", re.ASCII)
PADDING = b"\xef\xbb\xbf[], \t\r\n"
KINDS = {"Q": "item", "L": "lexeme"}
UNFIT = (msgspec.DecodeError, ValueError, RecursionError)
Kind = Literal["item", "property", "lexeme"]
Empty = Annotated[list[Any], Meta(max_length=0)]  # how PHP writes an empty map


class UnreadableError(ValueError):
    """A line that is no entity; says why."""


class Value(Struct, gc=False):
    """An entity or a text in a language, by which of the fields are filled."""

    kind: str = field(name="entity-type", default="")
    number: int = field(name="numeric-id", default=0)
    id: str = ""
    text: str = ""
    language: str = ""


class Data(Struct, gc=False):
    """A snak's value with its type."""

    value: Value | str | float | bool | list[Any] | None = None


class Snak(Struct, gc=False):
    """A value, or the word that there is none or none known."""

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
    """Only which entity it is."""

    id: str


def shape(properties: Iterable[str]) -> type[Struct]:
    """Of an entity what is needed to count: its kind, and what it states by some properties."""
    return msgspec.defstruct("Counted", _fields(properties), gc=False)


def detailed() -> type[Struct]:
    """Of an entity all that an ``Entity`` of the records holds, but its parents."""
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
    # A lexeme's forms and senses state things of their own, as subjects of their own.
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
    """What reads a line: its entity, or None where nothing is in the line.

    Raises, when called:
        UnreadableError: no JSON, or no entity.
    """
    decode = msgspec.json.Decoder(wanted).decode

    def read(line: memoryview) -> Any:
        try:
            return decode(line)
        except UNFIT:
            return odd(bytes(line), wanted)

    return read


def odd(line: bytes, wanted: type[Struct]) -> Any:
    """A line's entity, of which what does not fit is left out; None where nothing is in the line.

    Raises:
        UnreadableError: no JSON, or no entity.

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
    # Nothing can be read of it but, perhaps, that it is preferred to others.
    return {"mainsnak": {}, "rank": rank if isinstance(rank, str) else "deprecated"}


def _map(raw: dict[str, Any], name: str) -> dict[str, Any]:
    found = raw.get(name)
    return found if isinstance(found, dict) else {}


def _each(raw: dict[str, Any], name: str, kind: type[Struct]) -> dict[str, Any]:
    return {key: value for key, value in _map(raw, name).items() if _fits(value, kind)}


def _values(raw: Any) -> list[Any]:
    """A list's values; PHP writes lists with a gap as maps."""
    if isinstance(raw, dict):
        return list(raw.values())
    return raw if isinstance(raw, list) else []


def _fits(raw: Any, kind: type[Struct]) -> bool:
    try:
        msgspec.convert(raw, kind)
    except msgspec.ValidationError:
        return False
    return True


# --- what statements say --------------------------------------------------------------------


def truthy(statements: Sequence[Statement] | None) -> list[Value]:
    """The values that count: of preferred statements if there are such, else of normal ones."""
    best = [s for s in statements or () if s.rank == "preferred"]
    best = best or [s for s in statements or () if s.rank == "normal"]
    data = [s.mainsnak.datavalue for s in best if s.mainsnak.snaktype == "value"]
    return [d.value for d in data if d is not None and isinstance(d.value, Value)]


def items(statements: Sequence[Statement] | None) -> set[int]:
    """The items that are truthily stated, by number; each once, as triples are a set."""
    return {number for value in truthy(statements) if (number := _item(value))}


def _item(value: Value) -> int:
    if value.kind == "item" and 0 < value.number < LIMIT:
        return value.number
    return item_number(value.id)


def item_number(id: str) -> int:
    """An item's number; 0 of what is no item.

    >>> item_number("Q42"), item_number("P31"), item_number("Q0")
    (42, 0, 0)
    """
    if id[:1] != "Q" or not ID.fullmatch(id):
        return 0
    number = int(id[1:])
    return number if number < LIMIT else 0


def spoken(statements: Sequence[Statement] | None, own: Sequence[str]) -> tuple[str, ...]:
    """The texts that are truthily stated in some languages, in the order of these."""
    said = [(value.language.lower(), value.text) for value in truthy(statements)]
    return in_languages(((code, [text]) for code, text in said), own)


def in_languages(texts: Iterable[tuple[str, Iterable[str]]], own: Sequence[str]) -> tuple[str, ...]:
    """Texts by language, in the order of the languages, sorted within each; each once.

    >>> in_languages([("de", ["b", "a"]), ("mul", ["b", "c"]), ("fr", ["d"])], ["mul", "de"])
    ('b', 'c', 'a')
    """
    by_code: dict[str, list[str]] = {}
    for code, found in texts:
        by_code.setdefault(code, []).extend(filter(None, found))
    ordered = [text for code in own for text in sorted(by_code.get(code, ()))]
    return tuple(dict.fromkeys(ordered))

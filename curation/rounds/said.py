"""What an answer can say: an item, a label, or nothing usable. The words that readers share."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from curation.records import Gold, Kind, Value
from curation.rules import read_label

LONGEST_ID = 200


class Place(NamedTuple):
    """Where an answer stands among all: by time, then in order of arrival. Sorts."""

    submitted_at: str
    round: str
    position: int
    part: int


class Option(NamedTuple):
    """One association as it was written or published."""

    id: str | None
    sentence: str
    intent: Gold | None
    published_gold: Value | None


class Written(NamedTuple):
    """An item that somebody wrote, or that was published; ``earlier`` are versions before it."""

    place: Place
    where: str
    record: dict[str, Any]
    id: str
    kind: Kind
    domain: str
    target: str
    context: str
    options: tuple[Option, ...]
    writer: str | None
    seconds: float | None
    version: str
    source: str
    earlier: tuple["Written", ...] = ()


class Given(NamedTuple):
    """A label that somebody gave; ``association`` is an id or the association's text.

    ``id`` is the answer's identity: a later answer of the same id by the same person replaces it.
    """

    place: Place
    where: str
    record: dict[str, Any]
    id: str
    item: str
    association: str
    annotator: str
    value: Value
    seconds: float | None
    version: str
    source: str
    earlier: tuple["Given", ...] = ()


class Refused(NamedTuple):
    """An answer, or a part of one, that says nothing usable."""

    where: str
    record: dict[str, Any]
    code: str
    detail: str
    source: str


Said = Written | Given | Refused


class UnusableError(Exception):
    """An answer says nothing usable; the reason code and a sentence."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


def need(row: Mapping[str, Any], name: str) -> str:
    """A field's text, as it stands.

    Raises:
        UnusableError: it is missing, empty or no text.
    """
    value = row.get(name)
    if value is None:
        raise UnusableError("missing_field", f"no {name!r}")
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise UnusableError("bad_value", f"{name!r} is no text")
    if not str(value).strip():
        raise UnusableError("empty_text", f"{name!r} is empty")
    return str(value)


def need_id(row: Mapping[str, Any], name: str) -> str:
    """A field that is an id or a name, without the spaces around it.

    Raises:
        UnusableError: as ``need``, or it is too long.
    """
    value = need(row, name).strip()
    if len(value) > LONGEST_ID:
        raise UnusableError("bad_value", f"{name!r} has more than {LONGEST_ID} characters")
    return value


def need_label(row: Mapping[str, Any], name: str) -> Value:
    """A field that is a label.

    Raises:
        UnusableError: as ``need``, or it is outside the vocabulary.
    """
    value = read_label(need(row, name))
    if value is None:
        raise UnusableError("unknown_label", f"{row[name]!r} is no label")
    return value

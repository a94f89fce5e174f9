"""Parsed answers: an item, labels, a review, consent, a check, or nothing usable.

All readers of answers produce these. They are msgspec structs and not pydantic models, because
there are very many answers.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from curation.formats.table_words import read_label
from curation.kinds import Action, Gold, Kind
from curation.records import FlagName, Source, Task, Value

LONGEST_ID = 200
NTH = "\x1f"
"""Before a number: the item's association of that number, in a table that does not name it."""
LONGEST_TEXT = 10_000  # characters; about 100 times a usual sentence


class Place(NamedTuple):
    """An answer's place among all answers: by time, then in order of arrival. Sortable."""

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


class Mark(msgspec.Struct, gc=False):
    """One label of an answer; ``association`` is an id, the association's text, or its number
    after ``NTH``.

    ``problem`` is the reason code and a sentence if the label itself is unusable.
    """

    association: str
    value: Value | None
    problem: tuple[str, str] | None = None


class _Reply(msgspec.Struct, gc=False, kw_only=True):
    """What all replies have.

    ``id`` identifies the answer: a later answer with the same id by the same person replaces it.
    ``earlier``, where there is one, are the answer's earlier versions.
    """

    where: str
    record: Any
    source: Source
    place: Place
    id: str
    person: str | None
    version: str
    task: Task | None = None

    @property
    def is_published(self) -> bool:
        """Whether it is of a dataset that was published before."""
        return self.source == "stereoset"


class Written(_Reply, gc=False, kw_only=True):
    """An item that was written or published.

    ``original`` is the target of the dataset from which a published item was translated. ``typing``
    says how the texts came about, if that was counted. The ``record`` of a published item is its
    JSON; its labels are those of ``interpret.labels``.
    """

    record: dict[str, Any] | bytes
    kind: Kind
    domain: str
    target: str
    context: str
    options: tuple[Option, ...]
    seconds: float | None
    earlier: tuple["Written", ...] = ()
    original: str | None = None
    typing: dict[str, Any] = {}


class Given(_Reply, gc=False, kw_only=True):
    """Labels and flags that somebody gave to an item in one answer."""

    record: dict[str, Any]
    item: str
    marks: tuple[Mark, ...]
    person: str
    seconds: float | None
    flags: tuple[FlagName, ...] = ()
    earlier: tuple["Given", ...] = ()


class Reviewed(_Reply, gc=False, kw_only=True):
    """A reviewer's answer on a term.

    ``into`` is the id of the term to merge it into, or ``into_text`` a text that may name it. If
    ``must_name`` is true, an answer whose text does not name a term is refused. ``problems`` are
    the reason codes and sentences of parts that are refused alone.
    """

    record: dict[str, Any]
    action: Action
    into: str | None
    into_text: str
    must_name: bool
    name: str | None
    note: str
    person: str
    seconds: float | None
    task: Task
    problems: tuple[tuple[str, str], ...] = ()
    earlier: tuple["Reviewed", ...] = ()


class Refused(_Reply, gc=False, kw_only=True):
    """An answer, or a part of one, that is not usable.

    With an ``id`` it is a version of that answer, and earlier versions do not count again. Without
    an ``id`` it changes nothing. ``empty`` is true if the answer has no content at all.
    """

    record: dict[str, Any]
    code: str
    detail: str
    person: str | None = None
    place: Place = Place("", "", 0, 0)
    id: str = ""
    version: str = ""
    empty: bool = False
    earlier: tuple["Refused", ...] = ()


class Consented(msgspec.Struct, gc=False, kw_only=True):
    """Somebody's consent: to which version of the text, and when."""

    where: str
    person: str
    version: str
    at: str


class Checked(msgspec.Struct, gc=False, kw_only=True):
    """An instruction check that somebody got, and whether they passed it.

    It may come again with the same ``id``, like an answer of somebody from Prolific.
    """

    id: str
    person: str
    passed: bool


class Deleted(msgspec.Struct, gc=False, kw_only=True):
    """The answer with this id was deleted on its platform, at this time or before."""

    where: str
    id: str
    at: str


Reply = Written | Given | Reviewed | Refused
ParsedAnswer = Reply | Consented | Checked | Deleted


class UnusableError(Exception):
    """An answer is not usable. It has the reason code and a sentence."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


def unexpected(error: Exception) -> str:
    """A sentence for an answer that makes a reader fail in a way that nobody foresaw."""
    first = " ".join(str(error).split())
    return f"the answer cannot be read ({type(error).__name__}: {first[:200]})"


ERROR_VALUES = {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"}
"""What a spreadsheet program shows for a formula that it cannot compute."""


def need(row: Mapping[str, Any], name: str) -> str:
    """A field's text, as it is.

    Raises:
        UnusableError: it is missing, empty, too long, an error value or not a text.
    """
    value = row.get(name)
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise UnusableError("bad_value", f"{name!r} has more than {LONGEST_TEXT:,} characters")
    if type(value) is str and value.strip():
        if value.startswith("#") and value.strip() in ERROR_VALUES:
            raise UnusableError(
                "bad_value", f"{name!r} is {value.strip()}, an error of a spreadsheet program"
            )
        return value
    if value is None:
        raise UnusableError("missing_field", f"no {name!r}")
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise UnusableError("bad_value", f"{name!r} is not a text")
    if not str(value).strip():
        raise UnusableError("empty_text", f"{name!r} is empty")
    return str(value)


def need_id(row: Mapping[str, Any], name: str) -> str:
    """A field that is an id or a name, without the spaces around it.

    Raises:
        UnusableError: as for ``need``, or it is too long.
    """
    return fitting(name, need(row, name).strip())


def fitting(name: str, value: str) -> str:
    """The id or the name in a field, as it is.

    Raises:
        UnusableError: it is too long.
    """
    if len(value) > LONGEST_ID:
        raise UnusableError("bad_value", f"{name!r} has more than {LONGEST_ID} characters")
    return value


def need_target(row: Mapping[str, Any]) -> str:
    """The target term, with single spaces.

    Raises:
        UnusableError: as for ``need``, or it is too long.
    """
    return fitting("target", " ".join(need(row, "target").split()))


def need_label(row: Mapping[str, Any], name: str) -> Value:
    """A field that is a label.

    Raises:
        UnusableError: as for ``need``, or it is not in the vocabulary.
    """
    value = read_label(need(row, name))
    if value is None:
        raise UnusableError("unknown_label", f"{row[name]!r} is not a label")
    return value

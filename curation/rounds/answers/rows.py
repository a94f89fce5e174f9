"""Parses rows of writers' and validators' tables."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from curation.files import timestamp
from curation.records import KINDS, Event, Gold
from curation.rounds.answers.archive import Sent
from curation.rounds.answers.parsed import (
    Given,
    Mark,
    Option,
    ParsedAnswer,
    Place,
    Refused,
    UnusableError,
    Written,
    need,
    need_id,
    need_label,
)
from curation.rules import fill, filler, same_text, stable_id

NAMES = {
    "writer": "annotator",
    "validator": "annotator",
    "worker": "annotator",
    "worker_id": "annotator",
    "workerid": "annotator",
    "annotator_id": "annotator",
    "participant_id": "annotator",
    "prolific_pid": "annotator",
    "prolific_id": "annotator",
    "bias_type": "domain",
    "term": "target",
    "association_id": "association",
    "sentence_id": "association",
    "sentence": "association",
    "value": "label",
    "antistereotype": "anti_stereotype",
    "item": "item_id",
    "time": "submitted_at",
    "submit_time": "submitted_at",
    "lead_time": "seconds",
}
"""Other names of columns."""

MEANT: dict[str, Gold] = {
    "stereotype": "stereotype",
    "anti_stereotype": "anti-stereotype",
    "unrelated": "unrelated",
}
PARTS = range(1, 4)
WRITERS = ("domain", "target", "context", *MEANT)
VALIDATORS = ("item_id", "annotator", "association", "label")
COLUMNS = {
    *WRITERS,
    *VALIDATORS,
    *(f"{name}_{n}" for name in ("association", "label") for n in PARTS),
    "kind",
    "answer_id",
    "submitted_at",
    "updated_at",
    "seconds",
    *("task_id", "consent", "template", "flags"),
    *("decision", "merge_into", "merge_into_other", "reasons", "rename"),
}
"""Every column that is read, in a table or in the answers of a form."""


@lru_cache(maxsize=1000)
def column(name: str) -> str:
    """The column that a heading means.

    >>> column(" Worker ID"), column("anti-stereotype"), column("note")
    ('annotator', 'anti_stereotype', 'note')
    """
    key = re.sub(r"[\s\-]+", "_", name.strip().casefold())
    return NAMES.get(key, key)


def understood(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A row's values by column. If two headings mean the same column, the first is used."""
    return {meaning: payload[name] for meaning, name in _layout(tuple(payload))}


@lru_cache(maxsize=1000)
def _layout(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The column that each heading means, computed once for all rows of a table."""
    headings: dict[str, str] = {}
    for name in names:
        headings.setdefault(column(name), name)
    return tuple(headings.items())


def has_label_columns(columns: Mapping[str, Any]) -> bool:
    """Whether these are the columns of a validators' table, and not of a writers' table."""
    return bool(columns.keys() & {"label", *(f"label_{n}" for n in PARTS)})


def missing_columns(columns: Mapping[str, Any]) -> list[str]:
    """The columns that a table of this kind needs and does not have."""
    if not has_label_columns(columns):
        return [name for name in WRITERS if name not in columns]
    needed = [name for name in VALIDATORS if name != "label"]
    if "label" not in columns:
        needed[-1:] = [f"association_{n}" for n in PARTS if f"label_{n}" in columns]
    return [name for name in needed if name not in columns]


def masked(record: Mapping[str, Any], pseudonym: Callable[[str], str]) -> dict[str, Any]:
    """What the rejection of a row shows: known columns only, and the person's pseudonym.

    >>> masked({"Worker ID": "A1", "label": "x", "e-mail": "a@b"}, lambda person: "p-1")
    {'Worker ID': 'p-1', 'label': 'x'}
    """
    shown = {name: value for name, value in record.items() if column(name) in COLUMNS}
    return {
        name: pseudonym(str(value)) if value and column(name) == "annotator" else value
        for name, value in shown.items()
    }


def read(event: Event | Sent, *, round: str, where: str) -> Iterator[ParsedAnswer]:
    """A writer's item, or a validator's labels.

    Raises:
        UnusableError: the row is not usable.
    """
    row = understood(event.payload)
    if row.get(""):
        raise UnusableError("bad_value", "the row has more cells than the table has columns")
    sent, version = time_of(row, "submitted_at"), time_of(row, "updated_at")
    place = Place(sent, round, event.position, 0)
    if has_label_columns(row):
        yield from _labels(event, row, place, version or sent, where)
    else:
        yield _written(event, row, place, version or sent, where)


def _written(
    event: Event | Sent, row: dict[str, Any], place: Place, version: str, where: str
) -> Written:
    context = need(row, "context")
    kind: str = str(row.get("kind") or "").strip().casefold()
    kind = kind or ("intrasentence" if "BLANK" in context else "intersentence")
    if kind not in KINDS:
        raise UnusableError("bad_value", f"kind is neither of {', '.join(KINDS)}")
    domain, target = need_id(row, "domain"), " ".join(need(row, "target").split())
    texts = {name: need(row, name).strip() for name in MEANT}
    if kind == "intrasentence":
        texts = {name: whole_sentence(context, target, text) for name, text in texts.items()}
    item_id = need_id(row, "item_id") if text_of(row, "item_id") else ""
    return Written(
        place=place,
        where=where,
        record=event.payload,
        id=item_id or stable_id("item", kind, domain, target, context, *texts.values()),
        kind="intrasentence" if kind == "intrasentence" else "intersentence",
        domain=domain,
        target=target,
        context=context.strip(),
        options=tuple(Option(None, texts[name], MEANT[name], None) for name in MEANT),
        person=text_of(row, "annotator") or None,
        seconds=seconds_of(row),
        version=version,
        source=event.source,
    )


ENDS = tuple(".!?。！？؟।…")
REPEATED = 12  # a filling word does not share this many characters with the context by chance


def whole_sentence(context: str, target: str, text: str) -> str:
    """The sentence that a fill word makes; a text that is a sentence stays as it is."""
    plain = same_text(text)
    frame = [same_text(part) for part in context.split("BLANK")]
    is_sentence = (
        filler(context, text) is not None
        or plain.endswith(ENDS)
        or (same_text(target) in plain and same_text(target) in same_text(context))
        or any(_shared(part, plain) >= REPEATED for part in frame)
    )
    return text if is_sentence else fill(context, text)


def _shared(text: str, other: str) -> int:
    """Length of the longest text that both texts have in common; 0 if it is short."""
    if min(len(text), len(other)) < REPEATED:
        return 0
    return SequenceMatcher(None, text, other, autojunk=False).find_longest_match().size


@lru_cache(maxsize=1000)
def _ends(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The endings of the names of a row's pairs of columns (association and label)."""
    if "label" in columns:
        return ("",)
    return tuple(f"_{n}" for n in PARTS if {f"label_{n}", f"association_{n}"} & set(columns))


def _labels(
    event: Event | Sent, row: dict[str, Any], place: Place, version: str, where: str
) -> Iterator[ParsedAnswer]:
    """One label, or the labels of all the item's associations (``association_1``, ``label_1``, …).

    Each label is an answer of its own, because a table may have each in a row of its own.
    """
    item, person = need_id(row, "item_id"), need_id(row, "annotator")
    answer = text_of(row, "answer_id")
    sent, round, position, _ = place
    for index, end in enumerate(_ends(tuple(row))):
        try:
            association = need(row, f"association{end}").strip()
            value = need_label(row, f"label{end}")
            # An answer without an id is identified by its content: it stays the same if the table
            # is exported again with more columns or in another order.
            identity = (answer,) if answer else (person, value, sent)
            yield Given(
                place=Place(sent, round, position, index),
                where=where,
                record=event.payload,
                id=stable_id("label", round, item, association, *identity),
                item=item,
                marks=(Mark(association, value),),
                person=person,
                seconds=seconds_of(row),
                version=version,
                source=event.source,
            )
        except UnusableError as problem:
            yield Refused(
                where=where,
                record=event.payload,
                code=problem.code,
                detail=problem.detail,
                source=event.source,
                person=person,
            )


def text_of(row: Mapping[str, Any], name: str) -> str:
    """A field as text, without surrounding spaces; empty if it is missing."""
    value = row.get(name)
    return "" if value is None else str(value).strip()


def seconds_of(row: Mapping[str, Any]) -> float | None:
    """How many seconds an answer took; None if that is not known.

    Raises:
        UnusableError: it is not a duration.
    """
    value = row.get("seconds")
    text = "" if value is None else str(value).strip()
    return _duration(text) if text else None


@lru_cache(maxsize=10_000)
def _duration(text: str) -> float:
    try:
        seconds = float(text.replace(",", "."))
    except ValueError:
        raise UnusableError("bad_value", "seconds is not a number") from None
    if not 0 <= seconds < float("inf"):
        raise UnusableError("bad_value", "seconds is not a duration")
    return seconds


_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
_DOTTED = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})( \d\d?:\d\d(:\d\d)?)?")
_SPOKEN = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d?) (\d\d:\d\d:\d\d) ([A-Z]{3}) (\d{4})")
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
LONG = len("2026-03-14T10:22:05.000000Z")
_ZONES = {"UTC": 0, "GMT": 0, "PST": 8, "PDT": 7}  # hours to add


def time_of(row: Mapping[str, Any], name: str) -> str:
    """A field that is a time, as a ``Timestamp``; empty if it is missing.

    Raises:
        UnusableError: it is not a time.
    """
    value = row.get(name)
    text = "" if value is None else str(value).strip()
    return _moment(text, name) if text else ""


@lru_cache(maxsize=10_000)
def _moment(text: str, name: str) -> str:
    """ISO 8601, 14.03.2026 10:22, or Mechanical Turk's Sat Mar 14 10:22:05 UTC 2026.

    3/4/2026 could be two different days, and is refused.
    """
    try:
        if _ISO.fullmatch(text):
            moment = datetime.fromisoformat(text)
            if len(text) == LONG and text[-1] == "Z":  # the form of very many times
                return text[:23] + "Z"
            return timestamp(moment)
        if dotted := _DOTTED.fullmatch(text):
            form = "%d.%m.%Y" + (" %H:%M" if dotted[4] else "") + (":%S" if dotted[5] else "")
            return timestamp(datetime.strptime(text, form))
        if spoken := _SPOKEN.fullmatch(text):
            month, day, clock, zone, year = spoken.groups()
            number = _MONTHS.index(month) // 3 + 1
            moment = datetime.fromisoformat(f"{year}-{number:02d}-{int(day):02d}T{clock}")
            return timestamp(moment + timedelta(hours=_ZONES[zone]))
    except (ValueError, OverflowError, KeyError):
        pass
    raise UnusableError("bad_value", f"{name} is not a time; write it as 2026-03-14T10:22:05Z")

"""What an archived answer says: a written item, labels, or why it says nothing.

Each source has one function here, from its payload to ``Written``, ``Given`` and ``Refused``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from curation.files import timestamp
from curation.records import KINDS, Event, Gold, Kind, Value
from curation.rules import fill, filler, read_label, same_text, stable_id


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
    """An item that somebody wrote, or that was published."""

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
    checked: bool


class Given(NamedTuple):
    """A label that somebody gave; ``association`` is an id or the association's text."""

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


class Refused(NamedTuple):
    """An answer, or a part of one, that says nothing usable."""

    where: str
    record: dict[str, Any]
    code: str
    detail: str


LONGEST_ID = 200
Said = Written | Given | Refused


class _UnusableError(Exception):
    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


def interpret(event: Event, *, round: str, where: str) -> Iterator[Said]:
    """What one archived answer says.

    Args:
        event: the answer.
        round: the round it came in.
        where: its place in the archive, for rejections.
    """
    read = {"stereoset": _stereoset, "answers": _table_row}[event.source]
    try:
        yield from read(event, round, where)
    except _UnusableError as problem:
        yield Refused(where, event.payload, problem.code, problem.detail)


def named(event: Event) -> tuple[str, str] | None:
    """The domain and the target that an answer names, where it names both."""
    if event.source == "stereoset":
        domain, target = (event.payload["item"].get(key) for key in ("bias_type", "target"))
    else:
        row = {_column(name): value for name, value in event.payload.items()}
        domain, target = (row.get(key) for key in ("domain", "target"))
        domain, target = (v.strip() if isinstance(v, str) else v for v in (domain, target))
    both = isinstance(domain, str) and isinstance(target, str) and domain and target
    return (domain, target) if both else None


def _need(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        raise _UnusableError("missing_field", f"no {name!r}")
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise _UnusableError("bad_value", f"{name!r} is {value!r}")
    if not str(value).strip():
        raise _UnusableError("empty_text", f"{name!r} is empty")
    return str(value)


def _need_id(row: Mapping[str, Any], name: str) -> str:
    value = _need(row, name).strip()
    if len(value) > LONGEST_ID:
        raise _UnusableError("bad_value", f"{name!r} has more than {LONGEST_ID} characters")
    return value


# --- StereoSet's published format -------------------------------------------------------------


def _stereoset(event: Event, round: str, where: str) -> Iterator[Said]:
    item = event.payload["item"]
    item_id, sentences = _need_id(item, "id"), item.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(s, dict) for s in sentences):
        raise _UnusableError("missing_field", f"item {item_id} has no list of sentences")
    if len(sentences) != 3:
        raise _UnusableError(
            "wrong_association_count", f"item {item_id} has {len(sentences)}, not 3"
        )
    options = tuple(
        Option(
            id=_need_id(s, "id"),
            sentence=_need(s, "sentence"),
            intent=None,
            published_gold=_published(s.get("gold_label")),
        )
        for s in sentences
    )
    place = Place("", round, event.position, 0)
    yield Written(
        place=place,
        where=where,
        record=item,
        id=item_id,
        kind=event.payload["kind"],
        domain=_need_id(item, "bias_type"),
        target=_need(item, "target"),
        context=_need(item, "context"),
        options=options,
        writer=None,
        seconds=None,
        version="",
        checked=False,
    )
    index = 0
    for sentence, option in zip(sentences, options, strict=True):
        labels = sentence.get("labels") or []
        if not isinstance(labels, list):
            detail = f"labels of {option.id} are {labels!r}"
            yield Refused(where, {"item": item_id, "sentence": option.id}, "bad_value", detail)
            continue
        for number, label in enumerate(labels):
            index += 1
            part = {"item": item_id, "sentence": option.id, "label": label}
            try:
                if not isinstance(label, dict):
                    raise _UnusableError("bad_value", f"label {number} of {option.id} is {label!r}")
                annotator, value = _need_id(label, "human_id"), _label(_need(label, "label"))
                yield Given(
                    place=place._replace(part=index),
                    where=where,
                    record=part,
                    id=stable_id("label", str(option.id), str(number), annotator, value),
                    item=item_id,
                    association=option.id or "",
                    annotator=annotator,
                    value=value,
                    seconds=None,
                    version="",
                    source="stereoset",
                )
            except _UnusableError as problem:
                yield Refused(where, part, problem.code, problem.detail)


def _published(value: Any) -> Value | None:
    return read_label(value) if isinstance(value, str) else None


def _label(text: str) -> Value:
    value = read_label(text)
    if value is None:
        raise _UnusableError("unknown_label", f"{text!r} is no label")
    return value


# --- rows of a table ----------------------------------------------------------------------------

NAMES = {
    "writer": "annotator",
    "validator": "annotator",
    "worker": "annotator",
    "worker_id": "annotator",
    "workerid": "annotator",
    "annotator_id": "annotator",
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
"""Other names that columns go by."""

MEANT: dict[str, Gold] = {
    "stereotype": "stereotype",
    "anti_stereotype": "anti-stereotype",
    "unrelated": "unrelated",
}


@lru_cache(maxsize=1000)
def _column(name: str) -> str:
    key = re.sub(r"[\s\-]+", "_", name.strip().casefold())
    return NAMES.get(key, key)


def masked(record: Mapping[str, Any], pseudonym: Callable[[str], str]) -> dict[str, Any]:
    """A refused row without the platform's id of the person.

    >>> masked({"Worker ID": "A1", "label": "x"}, lambda person: "p-1")
    {'Worker ID': 'p-1', 'label': 'x'}
    """
    return {
        name: pseudonym(str(value)) if value and _column(name) == "annotator" else value
        for name, value in record.items()
    }


def _table_row(event: Event, round: str, where: str) -> Iterator[Said]:
    row: dict[str, Any] = {}
    for name, value in event.payload.items():
        row.setdefault(_column(name), value)
    if row.get(""):
        raise _UnusableError("bad_value", "the row has more cells than the table has columns")
    sent, version = _time(row, "submitted_at"), _time(row, "updated_at")
    place = Place(sent, round, event.position, 0)
    if "label" in row or "label_1" in row:
        yield from _labels(event, row, place, version or sent, where)
    else:
        yield _written(event, row, place, version or sent, where)


def _written(event: Event, row: dict[str, Any], place: Place, version: str, where: str) -> Written:
    context = _need(row, "context")
    kind: str = str(row.get("kind") or "").strip().casefold()
    kind = kind or ("intrasentence" if "BLANK" in context else "intersentence")
    if kind not in KINDS:
        raise _UnusableError("bad_value", f"kind {kind!r} is neither of {', '.join(KINDS)}")
    texts = {name: _need(row, name).strip() for name in MEANT}
    if kind == "intrasentence":
        texts = {name: _sentence(context, text) for name, text in texts.items()}
    domain, target = _need_id(row, "domain"), _need(row, "target").strip()
    item_id = _need_id(row, "item_id") if str(row.get("item_id") or "").strip() else ""
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
        writer=_person(row),
        seconds=_seconds(row),
        version=version,
        checked=True,
    )


def _sentence(context: str, text: str) -> str:
    """A fill word becomes the sentence; what is a sentence already stays."""
    if filler(context, text) is not None:
        return text
    said = set(same_text(text).split())
    frame = set(same_text(context.replace("BLANK", " ")).split())
    repeats = len(said & frame) >= max(2, len(frame) / 2)
    return text if repeats else fill(context, text)


def _labels(
    event: Event, row: dict[str, Any], place: Place, version: str, where: str
) -> Iterator[Said]:
    """One label, or those of all the item's associations (``association_1``, ``label_1``, ...)."""
    item = _need_id(row, "item_id")
    annotator = _person(row)
    if annotator is None:
        raise _UnusableError("missing_field", "no 'annotator'")
    ends = [f"_{n}" for n in range(1, 4) if {f"label_{n}", f"association_{n}"} & row.keys()]
    ends = [""] if "label" in row else ends
    answer = str(row.get("answer_id") or "").strip()
    for index, end in enumerate(ends):
        try:
            association = _need(row, f"association{end}").strip()
            value = _label(_need(row, f"label{end}"))
            if answer:
                identity: tuple[str, ...] = (place.round, answer, association)
            elif place.submitted_at:
                identity = (item, association, annotator, value, place.submitted_at)
            else:
                identity = (event.id, str(index))
            yield Given(
                place=place._replace(part=index),
                where=where,
                record=event.payload,
                id=stable_id("label", *identity),
                item=item,
                association=association,
                annotator=annotator,
                value=value,
                seconds=_seconds(row),
                version=version,
                source="answers",
            )
        except _UnusableError as problem:
            yield Refused(where, event.payload, problem.code, problem.detail)


def _person(row: Mapping[str, Any]) -> str | None:
    person = str(row.get("annotator") or "").strip()
    return person or None


def _seconds(row: Mapping[str, Any]) -> float | None:
    text = str(row.get("seconds") or "").strip()
    if not text:
        return None
    try:
        seconds = float(text.replace(",", "."))
    except ValueError:
        raise _UnusableError("bad_value", f"seconds {text!r} is no number") from None
    if not 0 <= seconds < float("inf"):
        raise _UnusableError("bad_value", f"seconds {text!r} is no duration")
    return seconds


def _time(row: Mapping[str, Any], name: str) -> str:
    text = str(row.get(name) or "").strip()
    if not text:
        return ""
    try:
        return timestamp(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise _UnusableError(
            "bad_value", f"{name} {text!r} is no time; write it as 2026-03-14T10:22:05Z"
        ) from None

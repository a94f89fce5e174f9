"""Parses an archived answer of any source."""

import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from curation.catsets.entries import how_to_declare, undeclared_gap
from curation.formats.table_words import Words, read_label
from curation.kinds import ITEMS, RoundKindName
from curation.records import Event, Task, Value
from curation.rounds.answers import forms, rows
from curation.rounds.answers.archive import Sent
from curation.rounds.answers.parsed import (
    LONGEST_ID,
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
    need_target,
    unexpected,
)
from curation.text.rules import stable_id


def read(event: Event | Sent, *, round: str, where: str) -> Iterator[ParsedAnswer]:
    """The item as it was published, and what is refused of it. Only its form is checked.

    Its usable labels come from ``labels``.

    Raises:
        UnusableError: the item's form is wrong.
    """
    item = event.payload["item"]
    item_id, sentences = need_id(item, "id"), item.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(s, dict) for s in sentences):
        raise UnusableError("missing_field", f"item {item_id} has no list of sentences")
    if len(sentences) != (size := ITEMS[event.payload["kind"]].size):
        detail = f"item {item_id} has {len(sentences)}, not {size}"
        raise UnusableError("wrong_association_count", detail)
    if gap := undeclared_gap(event.payload["kind"], item):
        why = f"the gap of item {item_id} is «{gap}», not BLANK; {how_to_declare(gap)}"
        raise UnusableError("blank_missing", why)
    original = _original(item)
    options = tuple(
        Option(
            id=need_id(s, "id"),
            sentence=need(s, "sentence"),
            intent=None,
            published_gold=_gold(s.get("gold_label")),
        )
        for s in sentences
    )
    place = Place("", round, event.position, 0)
    yield Written(
        place=place,
        where=where,
        record=orjson.dumps(item),
        id=item_id,
        kind=event.payload["kind"],
        domain=need_id(item, "bias_type"),
        target=need_target(item),
        context=need(item, "context"),
        options=options,
        original=original,
        person=None,
        seconds=None,
        version="",
        source=event.source,
    )

    def refused(code: str, detail: str, **part: Any) -> Refused:
        record = {"item": item_id, **part}
        return Refused(where=where, record=record, code=code, detail=detail, source=event.source)

    if original is None and item.get("target_original") not in (None, ""):
        yield refused(
            "bad_value",
            f"'target_original' of item {item_id} is not a text of at most {LONGEST_ID} "
            "characters; it is left out",
            target_original=item["target_original"],
        )
    for sentence, option in zip(sentences, options, strict=True):
        gold, votes = sentence.get("gold_label"), sentence.get("labels")
        if option.published_gold is None and gold is not None:
            yield refused(
                "unknown_label",
                f"gold_label {_shown(gold)} of {option.id} is not a label; it is left out",
                sentence=option.id,
                gold_label=gold,
            )
        if votes is not None and not isinstance(votes, list):
            detail = f"labels of {option.id} are not a list"
            yield refused("bad_value", detail, sentence=option.id)
    for option, number, label in _votes(item, options):
        try:
            _voted(label, f"label {number} of {option.id}")
        except UnusableError as problem:
            yield refused(problem.code, problem.detail, sentence=option.id, label=label)


def labels(answer: Written) -> Iterator[Given]:
    """The usable labels of an item that ``read`` gave, in file order.

    They are made when they are needed: a large dataset has millions, and each takes a kilobyte.
    """
    item = answer.record if isinstance(answer.record, dict) else orjson.loads(answer.record)
    for part, (option, number, label) in enumerate(_votes(item, answer.options), 1):
        try:
            annotator, value = _voted(label, "")
        except UnusableError:
            continue
        yield Given(
            place=answer.place._replace(part=part),
            where=answer.where,
            record={"item": answer.id, "sentence": option.id, "label": label},
            id=stable_id("label", str(option.id), str(number), annotator, value),
            item=answer.id,
            marks=(Mark(option.id or "", value),),
            person=sys.intern(annotator),
            seconds=None,
            version="",
            source=answer.source,
        )


def _votes(
    item: Mapping[str, Any], options: tuple[Option, ...]
) -> Iterator[tuple[Option, int, Any]]:
    """Each label of an item with its association, and its number among the association's."""
    for sentence, option in zip(item["sentences"], options, strict=True):
        votes = sentence.get("labels")
        for number, label in enumerate(votes if isinstance(votes, list) else ()):
            yield option, number, label


def _voted(label: Any, place: str) -> tuple[str, Value]:
    """The annotator and the value of a label.

    Raises:
        UnusableError: it is not an object, or has no usable annotator or value.
    """
    if not isinstance(label, dict):
        raise UnusableError("bad_value", f"{place} is not an object")
    return need_id(label, "human_id"), _need_value(label)


def _gold(value: Any) -> Value | None:
    return read_label(value) if isinstance(value, str) else None


def _need_value(label: Mapping[str, Any]) -> Value:
    """The value of a label.

    Raises:
        UnusableError: it is missing, or it is not in the vocabulary; the message quotes it.
    """
    if type(label.get("label")) in (int, float):
        raise UnusableError("unknown_label", f"{_shown(label['label'])} is not a label")
    return need_label(label, "label")


def _original(item: Mapping[str, Any]) -> str | None:
    """The target of the original dataset, with single spaces; None if it is not a usable text."""
    given = item.get("target_original")
    text = " ".join(given.split()) if isinstance(given, str) else ""
    return text if 0 < len(text) <= LONGEST_ID else None


def _shown(value: Any) -> str:
    """A value as a message quotes it; only the beginning of a long one."""
    shown = reprlib.repr(value)
    return f"{shown} (a number)" if type(value) in (int, float) else shown


# --- sources ------------------------------------------------------------------------------------

Payload = Mapping[str, Any]


class RawSource(NamedTuple):
    """What is known of the raw answers of a source.

    Attributes:
        row: gives an answer's values by column: who gave it, and which domain and target it names.
            It takes the words of the answer's round.
        parse: parses an answer that was given to no task; None for answers to tasks, which
            ``forms.read`` parses.
        shown: gives what the rejection of an answer shows; by default the row.
    """

    row: Callable[[dict[str, Any], Words | None], Payload]
    parse: Callable[..., Iterator[ParsedAnswer]] | None = None
    shown: Callable[[dict[str, Any]], dict[str, Any]] | None = None


def _published(payload: Payload, words: Words | None) -> Payload:
    item = payload["item"]
    return {"domain": item.get("bias_type"), "target": item.get("target")}


def _annotation(payload: Payload, words: Words | None) -> Payload:
    return {"task_id": payload.get("task"), "annotator": payload.get("person")}


def _sent(payload: Payload, words: Words | None) -> Payload:
    return payload


def _nothing(event: Event | Sent, *, round: str, where: str) -> Iterator[ParsedAnswer]:
    return iter(())


SOURCES = {
    "stereoset": RawSource(_published, read, lambda payload: payload["item"]),
    "answers": RawSource(
        lambda payload, _: rows.understood(payload), rows.read, lambda payload: payload
    ),
    "forms": RawSource(rows.file_row),
    "web": RawSource(_sent),
    "label_studio": RawSource(_annotation),
    "erased": RawSource(_sent, _nothing),
}
"""Everything that the source of an answer decides, apart from how ``forms`` reads its fields."""

NO_TASKS: Mapping[str, Task] = {}


def interpret(
    event: Event | Sent,
    *,
    round: str,
    where: str,
    tasks: Mapping[str, Task] = NO_TASKS,
    kind: RoundKindName | None = None,
    words: Words | None = None,
) -> Iterator[ParsedAnswer]:
    """Parse one archived answer; an erased answer yields nothing.

    Args:
        event: the answer.
        round: the answer's round.
        where: its place in the archive, for rejections.
        tasks: the round's tasks by id, if the answer was given to a task.
        kind: the round's kind, if the answer was given to a task.
        words: the words of the round's own texts; None for those of the shipped languages.
    """
    parse = SOURCES[event.source].parse
    try:
        if parse is None:
            yield from forms.read(
                event, round=round, where=where, tasks=tasks, kind=kind, words=words
            )
        else:
            yield from parse(event, round=round, where=where)
    except UnusableError as problem:
        yield _refused(event, where, problem.code, problem.detail, words)
    except MemoryError:
        raise
    except Exception as error:  # a campaign goes on, whatever an answer holds
        yield _refused(event, where, "bad_value", unexpected(error), words)


def _refused(
    event: Event | Sent, where: str, code: str, detail: str, words: Words | None
) -> Refused:
    source, payload = SOURCES[event.source], event.payload
    try:
        person = person_of(event, words)
        record = source.shown(payload) if source.shown else dict(source.row(payload, words))
    except Exception:  # what cannot be read cannot be shown either; ``where`` is the place
        record, person = {}, None
    return Refused(
        where=where, record=record, code=code, detail=detail, source=event.source, person=person
    )


def person_of(event: Event | Sent, words: Words | None = None) -> str | None:
    """The id on the platform of the person who gave an answer.

    None if the answer was erased or published before, or does not name a person. ``words`` are
    those of the answer's round.
    """
    return rows.text_of(SOURCES[event.source].row(event.payload, words), "annotator") or None


def row_to_correct(event: Event | Sent, words: Words) -> dict[str, Any] | None:
    """The values by column of an answer that its person can correct in a table; None for others."""
    if event.source == "web":
        return forms.page_row(event.payload)
    return rows.file_row(event.payload, words) if event.source == "forms" else None


def named(event: Event | Sent) -> tuple[str, str] | None:
    """The domain and the target that an answer names; None if it does not name both.

    An answer to a task names neither, because the task does. A name that is too long does not
    count: the answer will be refused.
    """
    source = SOURCES[event.source]
    if source.parse is None:
        return None
    row = source.row(event.payload, None)
    domain, target = row.get("domain"), row.get("target")
    if not isinstance(domain, str) or not isinstance(target, str):
        return None
    domain, target = domain.strip(), " ".join(target.split())
    fits = 0 < len(domain) <= LONGEST_ID and 0 < len(target) <= LONGEST_ID
    return (domain, target) if fits else None

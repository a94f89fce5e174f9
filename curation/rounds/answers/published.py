"""Parses an item of a published StereoSet file, and its labels."""

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from curation.catsets.gaps import declared, undeclared_gap
from curation.records import Event, Value
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
)
from curation.rules import read_label, stable_id


def read(event: Event | Sent, *, round: str, where: str) -> Iterator[ParsedAnswer]:
    """The item as it was published, and its labels in file order. Only its form is checked.

    Raises:
        UnusableError: the item's form is wrong.
    """
    item = event.payload["item"]
    item_id, sentences = need_id(item, "id"), item.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(s, dict) for s in sentences):
        raise UnusableError("missing_field", f"item {item_id} has no list of sentences")
    if len(sentences) != 3:
        raise UnusableError(
            "wrong_association_count", f"item {item_id} has {len(sentences)}, not 3"
        )
    if gap := undeclared_gap(event.payload["kind"], item):
        why = f"the gap of item {item_id} is «{gap}», not BLANK; {declared(gap)}"
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
        record=item,
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
    labels: list[tuple[Option, int, Any]] = []
    for sentence, option in zip(sentences, options, strict=True):
        gold, votes = sentence.get("gold_label"), sentence.get("labels")
        if option.published_gold is None and gold is not None:
            yield refused(
                "unknown_label",
                f"gold_label {_shown(gold)} of {option.id} is not a label; it is left out",
                sentence=option.id,
                gold_label=gold,
            )
        if isinstance(votes, list):
            labels += [(option, number, label) for number, label in enumerate(votes)]
        elif votes is not None:
            detail = f"labels of {option.id} are not a list"
            yield refused("bad_value", detail, sentence=option.id)
    for part, (option, number, label) in enumerate(labels, 1):
        named = {"sentence": option.id, "label": label}
        try:
            annotator, value = _voted(label, f"label {number} of {option.id}")
        except UnusableError as problem:
            yield refused(problem.code, problem.detail, **named)
            continue
        yield Given(
            place=place._replace(part=part),
            where=where,
            record={"item": item_id, **named},
            id=stable_id("label", str(option.id), str(number), annotator, value),
            item=item_id,
            marks=(Mark(option.id or "", value),),
            person=annotator,
            seconds=None,
            version="",
            source=event.source,
        )


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

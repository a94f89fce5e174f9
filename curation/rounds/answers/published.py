"""Parses an item of a published StereoSet file, and its labels."""

from collections.abc import Iterator
from typing import Any

from curation.records import Event, Value
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
    options = tuple(
        Option(
            id=need_id(s, "id"),
            sentence=need(s, "sentence"),
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
        domain=need_id(item, "bias_type"),
        target=need_target(item),
        context=need(item, "context"),
        options=options,
        person=None,
        seconds=None,
        version="",
        source=event.source,
    )
    index = 0
    for sentence, option in zip(sentences, options, strict=True):
        labels = sentence.get("labels") or []
        if not isinstance(labels, list):
            yield Refused(
                where=where,
                record={"item": item_id, "sentence": option.id},
                code="bad_value",
                detail=f"labels of {option.id} are no list",
                source=event.source,
            )
            continue
        for number, label in enumerate(labels):
            index += 1
            part = {"item": item_id, "sentence": option.id, "label": label}
            try:
                if not isinstance(label, dict):
                    problem = f"label {number} of {option.id} is not an object"
                    raise UnusableError("bad_value", problem)
                annotator, value = need_id(label, "human_id"), need_label(label, "label")
                yield Given(
                    place=place._replace(part=index),
                    where=where,
                    record=part,
                    id=stable_id("label", str(option.id), str(number), annotator, value),
                    item=item_id,
                    marks=(Mark(option.id or "", value),),
                    person=annotator,
                    seconds=None,
                    version="",
                    source=event.source,
                )
            except UnusableError as problem:
                yield Refused(
                    where=where,
                    record=part,
                    code=problem.code,
                    detail=problem.detail,
                    source=event.source,
                )


def _published(value: Any) -> Value | None:
    return read_label(value) if isinstance(value, str) else None

"""Parses an archived answer of any source."""

from collections.abc import Iterator, Mapping

from curation.records import Event, RoundKind, Task
from curation.rounds.answers import forms, published, rows
from curation.rounds.answers.archive import Sent
from curation.rounds.answers.parsed import (
    LONGEST_ID,
    ParsedAnswer,
    Refused,
    UnusableError,
    unexpected,
)
from curation.text.table_words import Words

NO_TASKS: Mapping[str, Task] = {}


def interpret(
    event: Event | Sent,
    *,
    round: str,
    where: str,
    tasks: Mapping[str, Task] = NO_TASKS,
    kind: RoundKind | None = None,
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
    try:
        yield from _parts(event, round, where, tasks, kind, words)
    except UnusableError as problem:
        yield _refused(event, where, problem.code, problem.detail, words)
    except MemoryError:
        raise
    except Exception as error:  # a campaign goes on, whatever an answer holds
        yield _refused(event, where, "bad_value", unexpected(error), words)


def _parts(
    event: Event | Sent,
    round: str,
    where: str,
    tasks: Mapping[str, Task],
    kind: RoundKind | None,
    words: Words | None,
) -> Iterator[ParsedAnswer]:
    if event.source == "answers":
        yield from rows.read(event, round=round, where=where)
    elif event.source == "stereoset":
        yield from published.read(event, round=round, where=where)
    elif event.source != "erased":
        yield from forms.read(event, round=round, where=where, tasks=tasks, kind=kind, words=words)


def _refused(
    event: Event | Sent, where: str, code: str, detail: str, words: Words | None
) -> Refused:
    try:
        record, person = _row(event, words), person_of(event, words)
    except Exception:  # what cannot be read cannot be shown either; ``where`` is the place
        record, person = {}, None
    return Refused(
        where=where, record=record, code=code, detail=detail, source=event.source, person=person
    )


def _row(event: Event | Sent, words: Words | None) -> dict[str, object]:
    """What the rejection of an answer shows: values by column, or the published item."""
    if event.source == "stereoset":
        item: dict[str, object] = event.payload["item"]
        return item
    if event.source == "forms":
        return forms.file_row(event.payload, words)
    if event.source == "label_studio":
        return {
            "task_id": event.payload.get("task"),
            "annotator": event.payload.get("person"),
        }
    return event.payload


def person_of(event: Event | Sent, words: Words | None = None) -> str | None:
    """The id on the platform of the person who gave an answer.

    None if the answer was erased or published before, or does not name a person. ``words`` are
    those of the answer's round.
    """
    if event.source in ("stereoset", "erased"):
        return None
    if event.source == "label_studio":
        row = {"annotator": event.payload.get("person")}
    elif event.source == "answers":
        row = rows.understood(event.payload)
    else:
        row = forms.file_row(event.payload, words)
    return rows.text_of(row, "annotator") or None


def named(event: Event | Sent) -> tuple[str, str] | None:
    """The domain and the target that an answer names; None if it does not name both.

    An answer to a task names neither, because the task does. A name that is too long does not
    count: the answer will be refused.
    """
    if event.source == "stereoset":
        domain, target = (event.payload["item"].get(key) for key in ("bias_type", "target"))
    elif event.source == "answers":
        row = rows.understood(event.payload)
        domain, target = row.get("domain"), row.get("target")
    else:
        return None
    if not isinstance(domain, str) or not isinstance(target, str):
        return None
    domain, target = domain.strip(), " ".join(target.split())
    fits = 0 < len(domain) <= LONGEST_ID and 0 < len(target) <= LONGEST_ID
    return (domain, target) if fits else None

"""Parses an archived answer of any source."""

from collections.abc import Iterator, Mapping

from curation.records import Event, RoundKind, Task
from curation.rounds.answers import forms, published, rows
from curation.rounds.answers.archive import Sent
from curation.rounds.answers.parsed import ParsedAnswer, Refused, UnusableError

NO_TASKS: Mapping[str, Task] = {}


def interpret(
    event: Event | Sent,
    *,
    round: str,
    where: str,
    tasks: Mapping[str, Task] = NO_TASKS,
    kind: RoundKind | None = None,
) -> Iterator[ParsedAnswer]:
    """Parse one archived answer; an erased answer yields nothing.

    Args:
        event: the answer.
        round: the answer's round.
        where: its place in the archive, for rejections.
        tasks: the round's tasks by id, if the answer was given to a task.
        kind: the round's kind, if the answer was given to a task.
    """
    try:
        if event.source == "answers":
            yield from rows.read(event, round=round, where=where)
        elif event.source == "stereoset":
            yield from published.read(event, round=round, where=where)
        elif event.source != "erased":
            yield from forms.read(event, round=round, where=where, tasks=tasks, kind=kind)
    except UnusableError as problem:
        record = event.payload["item"] if event.source == "stereoset" else _row(event)
        yield Refused(
            where=where,
            record=record,
            code=problem.code,
            detail=problem.detail,
            source=event.source,
            person=person_of(event),
        )


def _row(event: Event | Sent) -> dict[str, object]:
    """What the rejection of an answer shows: values by column."""
    if event.source == "forms":
        return forms.file_row(event.payload)
    if event.source == "label_studio":
        return {
            "task_id": event.payload.get("task"),
            "annotator": event.payload.get("person"),
        }
    return event.payload


def person_of(event: Event | Sent) -> str | None:
    """The id on the platform of the person who gave an answer.

    None if the answer was erased or published before, or does not name a person.
    """
    if event.source in ("stereoset", "erased"):
        return None
    if event.source == "label_studio":
        row = {"annotator": event.payload.get("person")}
    else:
        read_row = rows.understood if event.source == "answers" else forms.file_row
        row = read_row(event.payload)
    return rows.text_of(row, "annotator") or None


def named(event: Event | Sent) -> tuple[str, str] | None:
    """The domain and the target that an answer names; None if it does not name both.

    An answer to a task names neither, because the task does.
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
    return (domain, target) if domain and target else None

"""What an archived answer says, whatever its source: a reader for each."""

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
    """What one archived answer says; nothing where it was erased.

    Args:
        event: the answer.
        round: the round it came in.
        where: its place in the archive, for rejections.
        tasks: the round's tasks by id, for answers that were given to tasks.
        kind: the round's kind, likewise.
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
    """What a refused answer shows: a row of values by their columns."""
    if event.source == "forms":
        return forms.file_row(event.payload)
    if event.source == "label_studio":
        return {
            "task_id": event.payload.get("task"),
            "annotator": event.payload.get("person"),
        }
    return event.payload


def person_of(event: Event | Sent) -> str | None:
    """Who gave an answer, as the platform names them.

    None for what was erased or published before, and where nobody is named.
    """
    if event.source in ("stereoset", "erased"):
        return None
    if event.source == "label_studio":
        row = {"annotator": event.payload.get("person")}
    else:
        read = rows.understood if event.source == "answers" else forms.file_row
        row = read(event.payload)
    return rows.text_of(row, "annotator") or None


def named(event: Event | Sent) -> tuple[str, str] | None:
    """The domain and the target that an answer names, where it names both.

    An answer to a task names neither: the task does.
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

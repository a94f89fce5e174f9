"""Fetches answers from a Label Studio: what is new, changed or deleted since the last pull."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from curation.files import CurationError
from curation.rounds.platforms.label_studio.connection import Connection, GoneError
from curation.rounds.platforms.label_studio.shapes import (
    annotation_id,
    annotations,
    is_anonymous,
    keepable,
    last_change,
    person,
    readable_time,
    task_id,
)
from curation.text.times import now

Known = Mapping[str, Mapping[int, str]]

# The server applies the same list of fields to tasks and to their annotations.
ANNOTATION = (
    "id,result,completed_by,was_cancelled,ground_truth,created_at,updated_at,draft_created_at,"
    "lead_time,import_id,last_action,bulk_created,task,project,updated_by,parent_prediction,"
    "parent_annotation,last_created_by"
)


@dataclass
class Pulled:
    """What a pull brings. The counts are complete after the last batch was taken.

    Attributes:
        batches: payloads; archive each batch before you take the next one.
        since: the ``since`` of the next pull; None until the last batch was taken.
        tasks: how many tasks the project has.
        new: annotations that the archive did not have.
        changed: annotations that it had in another version.
        deleted: annotations that it had and that no longer exist.
        same: annotations that it had in the same version.
    """

    batches: Iterator[list[dict[str, Any]]] = field(default_factory=lambda: iter(()))
    since: str | None = None
    tasks: int = 0
    new: int = 0
    changed: int = 0
    deleted: int = 0
    same: int = 0


def pull(
    to: Connection,
    project: int,
    *,
    since: str | None,
    known: Known,
    people: Callable[[], Mapping[int, str]],
) -> Pulled:
    """Fetch what the archive does not have; the server is asked when batches are taken.

    Args:
        to: the server.
        project: the project's id.
        since: ``since`` of an earlier pull; only tasks that changed since about then are looked
            at. None looks at all tasks.
        known: by our task ids, the annotations in the archive that were not deleted: their last
            ``updated_at`` by id.
        people: asks for the e-mail addresses of everybody, by user id.
    """
    pulled, begin = Pulled(), readable_time(since) if since is not None else None
    pulled.batches = _batches(pulled, to, project, begin, known, people)
    return pulled


def _batches(
    pulled: Pulled,
    to: Connection,
    project: int,
    since: str | None,
    known: Known,
    people: Callable[[], Mapping[int, str]],
) -> Iterator[list[dict[str, Any]]]:
    # Tasks that change while this runs are later than this one; the next pull takes them.
    newest = to.page(project, "id,updated_at", order="-tasks:updated_at", size=1)
    pulled.tasks = newest["total"]
    changes = [readable_time(task.get("updated_at")) for task in newest["tasks"]]
    latest = max(filter(None, changes), default=since)
    names = people()
    seen: set[str] = set()
    for page in to.pages(project, f"{ANNOTATION},annotations,data", since=since):
        seen.update(map(task_id, page))
        users = {person(annotation) for task in page for _, annotation in annotations(task)}
        if users - names.keys() - {None}:
            names = people()  # somebody signed up meanwhile
        payloads = [
            payload for task in page for payload in _of_task(pulled, to, task, known, names)
        ]
        if payloads:
            yield payloads
    lost = [id for id in known if id not in seen and known[id]] if since is None else []
    if lost and not seen & known.keys():
        raise CurationError(
            f"project {project} of {to.url} has none of the tasks that were answered",
            "it is another project, or its tasks were deleted: check the server",
        )
    for id in lost:
        payloads = [
            _deletion(id, old, at) for old, at in sorted(known[id].items()) if _is_gone(to, old)
        ]
        pulled.deleted += len(payloads)
        if payloads:
            yield payloads
    pulled.since = latest


def _of_task(
    pulled: Pulled, to: Connection, task: dict[str, Any], known: Known, names: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    id = task_id(task)
    had, here = known.get(id, {}), set[int]()
    for annotation in map(keepable, task["annotations"]):
        number = annotation_id(annotation)
        if number is None:  # it is kept as it came; reading it gives the reason why it is refused
            pulled.new += 1
            yield {"task": id, "person": "unknown", "annotation": annotation}
            continue
        here.add(number)
        before = had.get(number)
        if before == last_change(annotation):
            pulled.same += 1
            continue
        pulled.new += before is None
        pulled.changed += before is not None
        user = person(annotation)
        if user is not None:
            name = names.get(user, f"user {user}")
            annotation = {**annotation, "completed_by": user}
        else:
            name = "unknown" if is_anonymous(annotation) else ""
        yield {"task": id, "person": name, "annotation": annotation}
    for gone in sorted(had.keys() - here):
        if _is_gone(to, gone):
            pulled.deleted += 1
            yield _deletion(id, gone, had[gone])


def _is_gone(to: Connection, annotation: int) -> bool:
    """Ask for an annotation by id: a task may be there twice, and the other one has it."""
    try:
        to.ask("GET", f"annotations/{annotation}/")
    except GoneError:
        return True
    return False


def _deletion(task: str, annotation: int, was: str) -> dict[str, Any]:
    """The payload which says that an annotation was deleted, with its last change."""
    return {"task": task, "deleted": annotation, "was": was, "seen_at": now()}

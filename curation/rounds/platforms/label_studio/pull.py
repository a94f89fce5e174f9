"""Answers as they come in from a Label Studio: what is new, changed or gone since the last time."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from curation.files import CurationError, now
from curation.rounds.platforms.label_studio.connection import Connection, GoneError

Known = Mapping[str, Mapping[int, str]]

# The server applies a list of fields to tasks and to their annotations alike.
ANNOTATION = (
    "id,result,completed_by,was_cancelled,ground_truth,created_at,updated_at,draft_created_at,"
    "lead_time,import_id,last_action,bulk_created,task,project,updated_by,parent_prediction,"
    "parent_annotation,last_created_by"
)


@dataclass
class Pulled:
    """What a pull brings, batch by batch; the rest is told once all batches were taken.

    Attributes:
        batches: payloads; each batch is complete in itself, and is to be archived before the next.
        since: what to give the next pull; None until all was taken.
        tasks: how many tasks the project has.
        new: annotations that the archive did not have.
        changed: annotations that it had otherwise.
        deleted: annotations that it had and that are gone.
        same: annotations that it had just so.
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
    """Bring what the archive does not have; taking the batches is what asks the server.

    Args:
        to: the server.
        project: the project's id.
        since: ``since`` of an earlier pull: only tasks that changed from about then on are looked
            at. None: all of them.
        known: for our task ids, the annotations in the archive that were not deleted: their ids
            and their last ``updated_at``.
        people: asks for the e-mail addresses of everybody by the user's id.
    """
    pulled = Pulled()
    pulled.batches = _batches(pulled, to, project, since, known, people)
    return pulled


def _batches(
    pulled: Pulled,
    to: Connection,
    project: int,
    since: str | None,
    known: Known,
    people: Callable[[], Mapping[int, str]],
) -> Iterator[list[dict[str, Any]]]:
    # What comes in while this runs is later than this task, and left to the next pull.
    newest = to.page(project, "id,updated_at", order="-tasks:updated_at", size=1)
    pulled.tasks = newest["total"]
    latest = max((task["updated_at"] for task in newest["tasks"]), default=since)
    names = people()
    seen: set[str] = set()
    for page in to.pages(project, f"{ANNOTATION},annotations,data", since=since):
        seen.update(map(task_id, page))
        users = {person(one) for task in page for one in task["annotations"]}
        if users - names.keys() - {None}:
            names = people()  # somebody signed up meanwhile
        payloads = [one for task in page for one in _of_task(pulled, to, task, known, names)]
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
            _deletion(id, one, at) for one, at in sorted(known[id].items()) if _is_gone(to, one)
        ]
        pulled.deleted += len(payloads)
        if payloads:
            yield payloads
    pulled.since = latest


def _of_task(
    pulled: Pulled, to: Connection, task: dict[str, Any], known: Known, names: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    id = task_id(task)
    had = known.get(id, {})
    for one in task["annotations"]:
        before = had.get(one["id"])
        if before == one["updated_at"]:
            pulled.same += 1
            continue
        pulled.new += before is None
        pulled.changed += before is not None
        user = person(one)
        said = names.get(user, f"user {user}") if user is not None else "unknown"
        yield {"task": id, "person": said, "annotation": {**one, "completed_by": user}}
    for gone in sorted(had.keys() - {one["id"] for one in task["annotations"]}):
        if _is_gone(to, gone):
            pulled.deleted += 1
            yield _deletion(id, gone, had[gone])


def _is_gone(to: Connection, annotation: int) -> bool:
    """Ask for it: a task may be there twice, and its answer lie on the other one."""
    try:
        to.ask("GET", f"annotations/{annotation}/")
    except GoneError:
        return True
    return False


def _deletion(task: str, annotation: int, was: str) -> dict[str, Any]:
    """That an annotation is gone, as it last was."""
    return {"task": task, "deleted": annotation, "was": was, "seen_at": now()}


def task_id(task: Mapping[str, Any]) -> str:
    """Our id of a task of the server."""
    return str(task["data"].get("task_id", ""))


def person(annotation: Mapping[str, Any]) -> int | None:
    """The id of the user whose answer it is: some replies have the id, others the whole user."""
    said = annotation.get("completed_by")
    user = said.get("id") if isinstance(said, dict) else said
    return int(user) if user is not None else None

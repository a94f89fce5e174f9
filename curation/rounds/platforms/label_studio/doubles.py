"""Ends what is on a server twice although it was sent once.

A server may act on a request whose answer was lost, and it may act late. Label Studio on SQLite
can also handle a request twice by itself, if its database was locked; it then tells of the second
time only. One request has then made two projects, or put all its tasks there twice.
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from curation.files import CurationError
from curation.rounds.platforms.label_studio.connection import Connection, GoneError
from curation.rounds.platforms.label_studio.shapes import person, task_id

MOST = 10_000  # projects whose titles have a round's title
FIELDS = "id,data,annotations,draft_exists,completed_by,updated_by,was_cancelled,result"


class Project(NamedTuple):
    """A project on a server.

    Attributes:
        id: the server's id.
        tasks: how many tasks it has.
        description: what its owner sees of it in the list of projects.
    """

    id: int
    tasks: int
    description: str


def projects(to: Connection, title: str) -> list[Project]:
    """The projects with exactly this title; everybody uses the first of them.

    Those with tasks come first, and then those with smaller ids. So all who ask get the same one,
    and an empty project that is made late changes nothing.
    """
    fields = "id,title,description,task_number"

    def listed() -> dict[int, Any]:
        there: dict[int, Any] = {}
        for number, project in enumerate(to.sdk.projects.list(title=title, include=fields)):
            there[int(project.id)] = project  # one that moved to the next page comes twice
            if number > min(2 * len(there) + 100, MOST):
                raise to.repeats("projects")
        return there

    found = [
        Project(id, project.task_number or 0, project.description or "")
        for id, project in to.do(listed).items()
        if project.title == title
    ]
    return sorted(found, key=lambda project: (not project.tasks, project.id))


def delete_spare_projects(to: Connection, title: str, description: str) -> None:
    """Delete empty projects with this title and description, except the first with the title.

    Args:
        to: the server.
        title: the title.
        description: a description that one call alone gives to its projects.
    """
    for project in projects(to, title)[1:]:
        if project.description == description and not project.tasks:
            with suppress(CurationError):  # nobody uses it, so nothing fails if it stays
                to.ask("DELETE", f"projects/{project.id}/")


def merge_tasks(to: Connection, project: int) -> dict[str, int]:
    """Keep one task for each of our ids: the first with answers, or else the first.

    A task that has answers or drafts is never deleted. If two have some, the second one is only
    served no longer.

    Returns:
        The server's ids of the project's tasks, by our ids.
    """
    copies: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for task in to.tasks(project, FIELDS):
        copies[task_id(task)].append(task)
    there = {}
    for id, tasks in copies.items():
        kept = min(tasks, key=lambda task: (not _has_work(task), task["id"]))
        there[id] = kept["id"]
        for task in tasks if id else ():
            if task is not kept:
                with suppress(GoneError):
                    _end(to, task["id"])
    return there


def _end(to: Connection, task: int) -> None:
    """Stop serving a task, and delete it if nobody has worked on it."""
    to.ask("PATCH", f"tasks/{task}/", json={"is_labeled": True})
    # Somebody who was served it before may have answered it by now.
    if not _has_work(to.ask("GET", f"tasks/{task}/")):
        to.ask("DELETE", f"tasks/{task}/")


def _has_work(task: Mapping[str, Any]) -> bool:
    """Whether people have worked on a task; marks that bar people from it are not work."""
    return bool(task["draft_exists"]) or not all(map(_is_bar, task["annotations"]))


def _is_bar(annotation: Any) -> bool:
    """Whether this was skipped in somebody's name, but not by that person."""
    if not isinstance(annotation, dict) or annotation.get("result"):
        return False
    editor = annotation.get("updated_by")  # None if it came with the task
    return bool(annotation.get("was_cancelled")) and editor != person(annotation)

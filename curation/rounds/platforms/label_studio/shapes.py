"""The parts of a server's replies that are read: checked, whatever the server sends.

A reply whose list of tasks has another form is an error. An annotation of another form is kept as
it came, and is refused when answers are read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from curation.files import CurationError
from curation.text.times import read_time

_TYPES: dict[str, type] = {
    "id": int,
    "data": dict,
    "annotations": list,
    "overlap": int,
    "total_annotations": int,
    "is_labeled": bool,
}


def check_page(page: Any, fields: str, *, url: str, project: int) -> dict[str, Any]:
    """Check a page of a project's tasks.

    Args:
        page: the reply.
        fields: the fields that were asked for, separated by commas.
        url: the server's address, for messages.
        project: the project's id.

    Raises:
        CurationError: it is not a page of tasks with these fields.
    """
    where = f"{url}, project {project}"
    fix = "nothing was kept of this reply: check the server's version, and run this again"
    tasks = page.get("tasks") if isinstance(page, dict) else None
    if not isinstance(tasks, list) or not isinstance(page.get("total"), int):
        raise CurationError(f"{where}: the reply is not a page of tasks", fix)
    asked = [name for name in fields.split(",") if name in _TYPES]
    for task in tasks:
        if not isinstance(task, dict):
            raise CurationError(f"{where}: the reply has a task that is not an object", fix)
        for name in asked:
            if not isinstance(task.get(name), _TYPES[name]):
                raise CurationError(
                    f"{where}, task {str(task.get('id'))[:40]}: its field {name!r} is not of "
                    "Label Studio's form",
                    fix,
                )
    checked: dict[str, Any] = page
    return checked


def task_id(task: Mapping[str, Any]) -> str:
    """Our id of a task on the server."""
    return str(task["data"].get("task_id", ""))


def annotations(task: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The annotations of a task that have an id, by id."""
    for annotation in task["annotations"]:
        if (id := annotation_id(annotation)) is not None:
            yield id, annotation


def annotation_id(annotation: Any) -> int | None:
    """The id of an annotation; None if it has none that is a whole number."""
    return _whole(annotation.get("id")) if isinstance(annotation, dict) else None


def last_change(annotation: Mapping[str, Any]) -> str:
    """When an annotation was changed last, as the server wrote it."""
    return str(annotation.get("updated_at"))


def person(annotation: Mapping[str, Any]) -> int | None:
    """The id of the user who answered: some replies have the id, others the whole user."""
    return _whole(_user(annotation))


def is_anonymous(annotation: Mapping[str, Any]) -> bool:
    """Whether the server says that it does not know who answered."""
    return _user(annotation) is None


def keepable(annotation: Any) -> Any:
    """An annotation as it came, or what identifies it if it is nested too deeply to be kept."""
    try:
        orjson.dumps([{"payload": annotation}])  # as deep as in the archive
    except orjson.JSONEncodeError:
        names = ("id", "completed_by", "created_at", "updated_at")
        plain = {name: annotation.get(name) for name in names if isinstance(annotation, dict)}
        kept = {name: v for name, v in plain.items() if isinstance(v, str | int | None)}
        return {**kept, "result": "this was nested too deeply to be kept"}
    return annotation


def readable_time(text: Any) -> str | None:
    """A time of the server as it was sent; None if it is not one, so that nothing relies on it."""
    try:
        read_time(str(text))
    except ValueError:
        return None
    return str(text)


def _user(annotation: Mapping[str, Any]) -> Any:
    user = annotation.get("completed_by")
    return user.get("id") if isinstance(user, dict) else user


def _whole(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    is_number = isinstance(value, str) and value.isascii() and value.isdecimal()
    return int(value) if is_number and len(value) < 19 else None

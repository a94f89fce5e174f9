"""Projects, tasks, people and answers on a Label Studio.

Every call that was stopped half-way can be repeated; nothing is then there twice.
"""

import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from curation.files import CurationError
from curation.rounds.platforms.label_studio.connection import (
    PAGE,
    PROJECT,
    Connection,
    GoneError,
    Tell,
    annotation_id,
    annotations,
    is_anonymous,
    keepable,
    last_change,
    person,
    readable_time,
    task_id,
)
from curation.rounds.platforms.pages import apart
from curation.text.times import now

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


Known = Mapping[str, Mapping[int, str]]

# The server applies the same list of fields to tasks and to their annotations.
ANNOTATION = (
    "id,result,completed_by,was_cancelled,ground_truth,created_at,updated_at,draft_created_at,"
    "lead_time,import_id,last_action,bulk_created,task,project,updated_by,parent_prediction,"
    "parent_annotation,last_created_by"
)


class Pulled:
    """What a pull brings: what the archive does not have.

    The server is asked when batches are taken. The counts are complete after the last one.

    Attributes:
        batches: payloads; archive each batch before you take the next one.
        since: the ``since`` of the next pull; None until the last batch was taken.
        new: annotations that the archive did not have.
        changed: annotations that it had in another version.
        deleted: annotations that it had and that no longer exist.
        same: annotations that it had in the same version.
    """

    def __init__(
        self,
        to: Connection,
        project: int,
        *,
        since: str | None,
        known: Known,
        people: Callable[[], Mapping[int, str]],
    ) -> None:
        """Begin a pull.

        Args:
            to: the server.
            project: the project's id.
            since: ``since`` of an earlier pull; only tasks that changed since about then are looked
                at. None looks at all tasks.
            known: by our task ids, the annotations in the archive that were not deleted: their last
                ``updated_at`` by id.
            people: asks for the e-mail addresses of everybody, by user id.
        """
        self.to, self.project, self.known, self.people = to, project, known, people
        self.since: str | None = None
        self.new = self.changed = self.deleted = self.same = 0
        self.batches = self._batches(readable_time(since) if since is not None else None)

    def _batches(self, begin: str | None) -> Iterator[list[dict[str, Any]]]:
        known = self.known
        # Tasks that change while this runs are later than this one; the next pull takes them.
        newest = self.to.page(self.project, "id,updated_at", order="-tasks:updated_at", size=1)
        changes = [readable_time(task.get("updated_at")) for task in newest["tasks"]]
        latest = max(filter(None, changes), default=begin)
        names = self.people()
        seen: set[str] = set()
        for page in self.to.pages(self.project, f"{ANNOTATION},annotations,data", since=begin):
            seen.update(map(task_id, page))
            users = {person(annotation) for task in page for _, annotation in annotations(task)}
            if users - names.keys() - {None}:
                names = self.people()  # somebody signed up meanwhile
            payloads = [payload for task in page for payload in self._of_task(task, names)]
            if payloads:
                yield payloads
        lost = [id for id in known if id not in seen and known[id]] if begin is None else []
        if lost and not seen & known.keys():
            raise CurationError(
                f"project {self.project} of {self.to.url} has none of the tasks that were answered",
                "it is another project, or its tasks were deleted: check the server",
            )
        for id in lost:
            payloads = [
                _deletion(id, old, at)
                for old, at in sorted(known[id].items())
                if _is_gone(self.to, old)
            ]
            self.deleted += len(payloads)
            if payloads:
                yield payloads
        self.since = latest

    def _of_task(self, task: dict[str, Any], names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        id = task_id(task)
        had, here = self.known.get(id, {}), set[int]()
        for annotation in map(keepable, task["annotations"]):
            number = annotation_id(annotation)
            # Without a number it is kept as it came; reading it gives the reason for refusing it.
            if number is None:
                self.new += 1
                yield {"task": id, "person": "unknown", "annotation": annotation}
                continue
            here.add(number)
            before = had.get(number)
            if before == last_change(annotation):
                self.same += 1
                continue
            self.new += before is None
            self.changed += before is not None
            user = person(annotation)
            if user is not None:
                name = names.get(user, f"user {user}")
                annotation = {**annotation, "completed_by": user}
            else:
                name = "unknown" if is_anonymous(annotation) else ""
            yield {"task": id, "person": name, "annotation": annotation}
        for gone in sorted(had.keys() - here):
            if _is_gone(self.to, gone):
                self.deleted += 1
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


Advance = Callable[[int], None]
TITLE = range(3, 51)  # characters that Label Studio allows in a title


def connect(
    url: str, key: str, *, tell: Tell = lambda _: None, timeout: float = 60
) -> "LabelStudio":
    """Open a connection; see ``Connection``."""
    return LabelStudio(Connection(url, key, tell=tell, timeout=timeout))


class Asked(NamedTuple):
    """A task on the server.

    Attributes:
        id: the server's id.
        overlap: how many answers it was asked for in all.
        answers: how many answers it has.
        coming: how many answers it is still served for.
    """

    id: int
    overlap: int
    answers: int
    coming: int


@dataclass(frozen=True)
class LabelStudio:
    """A server, and what rounds do there."""

    to: Connection

    @property
    def url(self) -> str:
        """The server's address."""
        return self.to.url

    # --- projects and tasks

    def project(self, title: str) -> int | None:
        """The id of the project with exactly this title, or None.

        If there are several, it is the first that has tasks, or else the first.
        """
        return next((project.id for project in projects(self.to, title)), None)

    def has_project(self, project: int, title: str) -> bool:
        """Whether a project is there and has exactly this title."""
        return any(there.id == project for there in projects(self.to, title))

    def make_project(self, title: str, *, config: str, instruction: str, answers: int) -> int:
        """Make a project in which everybody gets tasks one by one and sees nothing else.

        A project that has the title already is taken instead. Surplus projects that this call has
        made are deleted.

        Args:
            title: 3 to 50 characters.
            config: the labelling config.
            instruction: HTML that people see first; empty for none.
            answers: how many people get each task, unless ``set_overlap`` changes it.

        Raises:
            CurationError: the server does not accept the title or the config.
        """
        if len(title) not in TITLE:
            raise CurationError(
                f"{title!r} cannot be a project's title", "Label Studio needs 3 to 50 characters"
            )
        description = f"Made by curation ({secrets.token_hex(8)})"  # by this call alone
        sent = False

        def make() -> int:
            nonlocal sent
            if (there := self.project(title)) is not None:
                return there
            sent = True
            made = self.to.do(
                lambda: self.to.sdk.projects.create(
                    title=title, description=description,
                    label_config=config, maximum_annotations=answers,
                    expert_instruction=instruction, show_instruction=bool(instruction),
                    skip_queue="REQUEUE_FOR_OTHERS", show_skip_button=True,
                    sampling="Uniform sampling",
                    enable_empty_annotation=True,  # or Submit is grey, and people do not learn why
                    show_collab_predictions=False, show_annotation_history=False,
                    evaluate_predictions_automatically=False, show_ground_truth_first=False,
                    reveal_preannotations_interactively=False,
                ),
                sure=False,
            )  # fmt: skip
            return int(made.id)

        project = self.to.settle(make)
        if not sent:
            return project
        delete_spare_projects(self.to, title, description)
        return self.project(title) or project

    def tasks(self, project: int) -> dict[str, int]:
        """The server's ids of a project's tasks, by our ids."""
        there: dict[str, int] = {}
        for task in self.to.tasks(project, "id,data"):
            there.setdefault(task_id(task), task["id"])
        return there

    def put_tasks(
        self,
        project: int,
        data: Sequence[Mapping[str, Any]],
        *,
        bars: Mapping[str, Collection[int]] | None = None,
        advance: Advance = lambda _: None,
    ) -> dict[str, int]:
        """Put tasks there that are not there yet, and keep one of each that is there twice.

        Args:
            project: the project's id.
            data: what people see of each task, with our ``task_id``.
            bars: by our task ids, the users who must never be served the task; see ``bar``.
            advance: called with the number of further tasks that are there.

        Returns:
            The server's ids of all the project's tasks, by our ids.
        """
        reported = 0

        def put() -> dict[str, int]:
            nonlocal reported
            there = self.tasks(project)
            wanted = {str(row["task_id"]): row for row in data}
            missing = [row for id, row in wanted.items() if id not in there]
            advance(len(wanted) - len(missing) - reported)
            reported = len(wanted) - len(missing)
            for begin in range(0, len(missing), PAGE):
                batch = missing[begin : begin + PAGE]
                body = [
                    {"data": _shown(row), "annotations": [_bar(user) for user in barred]}
                    for row in batch
                    for barred in [(bars or {}).get(str(row["task_id"]), ())]
                ]
                made = self.to.do(
                    lambda body=body: self.to.sdk.projects.import_tasks(  # type: ignore[misc]
                        project, request=body, return_task_ids=True,
                        request_options={"timeout_in_seconds": self.to.longest},
                    ),
                    sure=False,
                )  # fmt: skip
                ids = [str(row["task_id"]) for row in batch]
                there.update(zip(ids, made.task_ids, strict=True))
                advance(len(batch))
                reported += len(batch)
            return there

        there = self.to.settle(put)
        if self.to.page(project, "id", size=1)["total"] != len(there):
            there = merge_tasks(self.to, project)
        if bars:
            # An import counts barred users as people who answered, and closes the task.
            self.set_overlap(project, {there[id]: None for id in bars if id in there})
        return there

    def set_overlap(
        self, project: int, overlaps: Mapping[int, int | None], *, advance: Advance = lambda _: None
    ) -> int:
        """Set how many people get each task; this opens a task again, or closes it.

        Args:
            project: the project's id.
            overlaps: by the server's task ids, how many answers each is to get; None for as many as
                now.
            advance: called with the number of further tasks that are as wanted.

        Returns:
            How many tasks were changed.
        """
        changed = 0
        fields = "id,overlap,total_annotations,is_labeled"
        for task in self.to.tasks(project, fields) if overlaps else ():
            if task["id"] not in overlaps:
                continue
            wanted = overlaps[task["id"]] or task["overlap"]
            done = task["total_annotations"] >= wanted
            if (wanted, done) != (task["overlap"], task["is_labeled"]):
                change = {"overlap": wanted, "is_labeled": done}
                self.to.ask("PATCH", f"tasks/{task['id']}/", json=change)
                changed += 1
            advance(1)
        return changed

    def stop_serving(self, project: int, *, only: Collection[int] | None = None) -> int:
        """Stop serving a project's tasks; ``set_overlap`` opens them again.

        Args:
            project: the project's id.
            only: the server's ids of the tasks to stop; None for all.

        Returns:
            How many tasks were open.
        """
        closed = 0
        for task in self.to.tasks(project, "id,is_labeled"):
            if not task["is_labeled"] and (only is None or task["id"] in only):
                self.to.ask("PATCH", f"tasks/{task['id']}/", json={"is_labeled": True})
                closed += 1
        return closed

    def asked(self, project: int) -> dict[str, Asked]:
        """By our task ids, how many answers each task was asked for and has."""
        asked: dict[str, Asked] = {}
        for task in self.to.tasks(project, "id,data,overlap,total_annotations,is_labeled"):
            has = task["total_annotations"]
            coming = 0 if task["is_labeled"] else max(task["overlap"] - has, 0)
            asked.setdefault(task_id(task), Asked(task["id"], task["overlap"], has, coming))
        return asked

    def replace(self, task: int, data: Mapping[str, Any]) -> None:
        """Replace what a task shows."""
        self.to.ask("PATCH", f"tasks/{task}/", json={"data": dict(data)})

    # --- people

    def people(self) -> dict[int, str]:
        """Everybody who has an account: e-mail addresses in lower case, by user id."""
        users = self.to.do(lambda: self.to.sdk.users.list())
        return {int(user.id): str(user.email).lower() for user in users}

    def bar(self, project: int, pairs: Iterable[tuple[int, int]]) -> int:
        """Make sure that users are never served certain tasks, which may have answers already.

        Label Studio does not serve a task to a user who has skipped it. So the task is skipped in
        the user's name.

        Args:
            project: the project's id.
            pairs: pairs of the server's task id and user id.

        Returns:
            How many pairs were not barred before.
        """
        wanted: dict[int, set[int]] = defaultdict(set)
        for task, user in pairs:
            wanted[task].add(user)
        barred = 0

        def settle() -> None:
            nonlocal barred
            for task in self.to.tasks(project, "id,annotations,completed_by") if wanted else ():
                has = {person(annotation) for _, annotation in annotations(task)}
                for user in sorted(wanted.get(task["id"], set()) - has):
                    path = f"tasks/{task['id']}/annotations/"
                    self.to.ask("POST", path, json=_bar(user), sure=False)
                    barred += 1

        self.to.settle(settle)
        return barred

    def invite(self, *, reset: bool = False) -> str:
        """The address at which people sign up; with ``reset`` earlier addresses stop working."""
        reply = self.to.ask("POST", "invite/reset-token") if reset else self.to.ask("GET", "invite")
        if not isinstance(reply, dict) or "invite_url" not in reply:
            raise CurationError(
                f"{self.url}: the reply has no address to sign up", "check the server's version"
            )
        return f"{self.url}{reply['invite_url']}"

    def erase(self, project: int, users: Collection[int]) -> int:
        """Delete all answers and drafts of users. Returns how many were deleted."""
        deleted = 0
        names = self.people()
        whose = {*users, *(names[user] for user in users if user in names)}
        for task in self.to.tasks(project, "id,annotations,completed_by,draft_exists"):
            drafts = (
                self.to.ask("GET", f"tasks/{task['id']}/drafts") if task["draft_exists"] else ()
            )
            paths = [f"drafts/{d['id']}/" for d in drafts if _drafter(d["user"]) in whose]
            paths += [f"annotations/{id}/" for id, a in annotations(task) if person(a) in users]
            for path in paths:
                try:
                    self.to.ask("DELETE", path)
                except GoneError:
                    continue
                deleted += 1
        return deleted

    # --- answers

    def waiting(self, project: int) -> int:
        """How many answers the server has, without skipped ones."""
        reply = self.to.ask("GET", "projects/counts/", params={"ids": project})
        try:
            if not (counts := reply["results"]):
                raise GoneError(f"{self.url} has no project {project}", PROJECT)
            return int(counts[0]["total_annotations_number"])
        except (LookupError, TypeError, ValueError):
            raise CurationError(
                f"{self.url}, project {project}: the reply does not say how many answers there are",
                "check the server's version, and run this again",
            ) from None

    def pull(self, project: int, since: str | None, known: Known) -> Pulled:
        """Fetch what the archive does not have: new, changed and deleted annotations.

        Args:
            project: the project's id.
            since: ``since`` of an earlier pull; None looks at all tasks.
            known: by our task ids, what the archive has, as for ``Pulled``.
        """
        return Pulled(self.to, project, since=since, known=known, people=self.people)


def _drafter(user: Any) -> Any:
    """Who wrote a draft: a user id or, in 1.23, an e-mail address in lower case."""
    id = user.get("id") if isinstance(user, dict) else user
    return id.lower() if isinstance(id, str) else id


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    r"""A task's data; in its options no word after a dollar sign is read as one of its fields.

    >>> _shown({"task_id": "t", "choices": [{"value": "$term", "alias": "a"}]})["choices"]
    [{'value': '$\u2060term', 'alias': 'a'}]
    """
    if not (options := row.get("choices")):
        return dict(row)
    return {**row, "choices": [o | {"value": apart(o["value"])} for o in options]}


def _bar(user: int) -> dict[str, Any]:
    # An imported annotation counts as ground truth by default.
    return {"result": [], "was_cancelled": True, "ground_truth": False, "completed_by": user}

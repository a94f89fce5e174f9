"""What rounds do on a Label Studio: projects, tasks, people, and answers as they come in.

Whatever is broken off can be run again, and nothing is there twice.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from curation.files import CurationError
from curation.rounds.platforms.label_studio.connection import (
    LONGER,
    PAGE,
    PROJECT,
    Connection,
    GoneError,
    Tell,
)
from curation.rounds.platforms.label_studio.pull import Known, Pulled, person, pull, task_id

Advance = Callable[[int], None]
TITLE = range(3, 51)  # letters that Label Studio lets a title have


def connect(
    url: str, key: str, *, tell: Tell = lambda _: None, timeout: float = 60
) -> "LabelStudio":
    """Open a connection; see ``Connection``."""
    return LabelStudio(Connection(url, key, tell=tell, timeout=timeout))


class Asked(NamedTuple):
    """A task on the server: how many answers it was asked for, has, and is still served for."""

    id: int
    overlap: int
    answers: int
    coming: int


@dataclass(frozen=True)
class LabelStudio:
    """What rounds do on a server."""

    to: Connection

    @property
    def url(self) -> str:
        """Where the server is."""
        return self.to.url

    # --- projects and tasks

    def project(self, title: str) -> int | None:
        """The project of just this title, or None."""
        found = self.to.do(lambda: list(self.to.sdk.projects.list(title=title, include="id,title")))
        return min((int(one.id) for one in found if one.title == title), default=None)

    def make_project(self, title: str, *, config: str, instruction: str, answers: int) -> int:
        """Make a project in which everybody gets the tasks of the label stream and sees no more.

        Args:
            title: 3 to 50 letters.
            config: the labelling config.
            instruction: HTML that people see first; empty for none.
            answers: how many people get each task, where ``set_overlap`` says nothing else.

        Raises:
            CurationError: the server does not accept the title or the config.
        """
        if len(title) not in TITLE:
            raise CurationError(
                f"{title!r} cannot be a project's title", "Label Studio wants 3 to 50 letters"
            )

        def make() -> int:
            if (there := self.project(title)) is not None:
                return there
            made = self.to.do(
                lambda: self.to.sdk.projects.create(
                    title=title, label_config=config, maximum_annotations=answers,
                    expert_instruction=instruction, show_instruction=bool(instruction),
                    skip_queue="REQUEUE_FOR_OTHERS", show_skip_button=True,
                    sampling="Uniform sampling",
                    enable_empty_annotation=True,  # else Submit is grey, and nobody says why
                    show_collab_predictions=False, show_annotation_history=False,
                    evaluate_predictions_automatically=False, show_ground_truth_first=False,
                    reveal_preannotations_interactively=False,
                ),
                sure=False,
            )  # fmt: skip
            return int(made.id)

        return self.to.settle(make)

    def tasks(self, project: int) -> dict[str, int]:
        """Which tasks of ours a project has: our id to the server's."""
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
        """Put the tasks there that are not there yet.

        Args:
            project: the project's id.
            data: what people see of each task, with our ``task_id``.
            bars: for our task ids, the users who must never be served it; see ``bar``.
            advance: told how many more tasks are there.

        Returns:
            Our ids of all the project's tasks, with the server's.
        """
        told = 0

        def put() -> dict[str, int]:
            nonlocal told
            there = self.tasks(project)
            wanted = {str(one["task_id"]): one for one in data}
            missing = [one for id, one in wanted.items() if id not in there]
            advance(len(wanted) - len(missing) - told)
            told = len(wanted) - len(missing)
            for begin in range(0, len(missing), PAGE):
                batch = missing[begin : begin + PAGE]
                body = [
                    {"data": dict(one), "annotations": [_bar(user) for user in barred]}
                    for one in batch
                    for barred in [(bars or {}).get(str(one["task_id"]), ())]
                ]
                made = self.to.do(
                    lambda body=body: self.to.sdk.projects.import_tasks(  # type: ignore[misc]
                        project, request=body, return_task_ids=True,
                        request_options={"timeout_in_seconds": self.to.timeout * LONGER},
                    ),
                    sure=False,
                )  # fmt: skip
                ids = [str(one["task_id"]) for one in batch]
                there.update(zip(ids, made.task_ids, strict=True))
                advance(len(batch))
                told += len(batch)
            return there

        there = self.to.settle(put)
        if bars:
            # An import takes whom it bars for people who answered, and closes the task.
            self._tend(project, {there[id]: None for id in bars if id in there})
        return there

    def set_overlap(
        self,
        project: int,
        overlaps: Mapping[int, int],
        *,
        advance: Advance = lambda _: None,
    ) -> int:
        """Say of tasks how many people get each; opens a task again, or closes it.

        Args:
            project: the project's id.
            overlaps: for the server's task ids, how many answers each is to get.
            advance: told how many more tasks are as wanted.

        Returns:
            How many tasks were changed.
        """
        return self._tend(project, overlaps, advance)

    def _tend(
        self,
        project: int,
        overlaps: Mapping[int, int | None],
        advance: Advance = lambda _: None,
    ) -> int:
        """Give tasks their overlap, where not None, and have the stream know which are open."""
        changed = 0
        fields = "id,overlap,total_annotations,is_labeled"
        for task in self.to.tasks(project, fields) if overlaps else ():
            if task["id"] not in overlaps:
                continue
            wanted = overlaps[task["id"]] or task["overlap"]
            done = task["total_annotations"] >= wanted
            if (wanted, done) != (task["overlap"], task["is_labeled"]):
                said = {"overlap": wanted, "is_labeled": done}
                self.to.ask("PATCH", f"tasks/{task['id']}/", json=said)
                changed += 1
            advance(1)
        return changed

    def stop_serving(
        self,
        project: int,
        *,
        only: Collection[int] | None = None,
        advance: Advance = lambda _: None,
    ) -> int:
        """Serve none of a project's tasks any more; ``set_overlap`` opens them again.

        Args:
            project: the project's id.
            only: the tasks' ids on the server, where not all are meant.
            advance: told how many more tasks were looked at.

        Returns:
            How many tasks were open.
        """
        closed = 0
        for task in self.to.tasks(project, "id,is_labeled"):
            if not task["is_labeled"] and (only is None or task["id"] in only):
                self.to.ask("PATCH", f"tasks/{task['id']}/", json={"is_labeled": True})
                closed += 1
            advance(1)
        return closed

    def asked(self, project: int) -> dict[str, Asked]:
        """How often each task of ours was asked for there, and how many answers it has."""
        found: dict[str, Asked] = {}
        for task in self.to.tasks(project, "id,data,overlap,total_annotations,is_labeled"):
            has = task["total_annotations"]
            coming = 0 if task["is_labeled"] else max(task["overlap"] - has, 0)
            found.setdefault(task_id(task), Asked(task["id"], task["overlap"], has, coming))
        return found

    def replace(self, task: int, data: Mapping[str, Any]) -> None:
        """Show other words in a task."""
        self.to.ask("PATCH", f"tasks/{task}/", json={"data": dict(data)})

    # --- people

    def people(self) -> dict[int, str]:
        """Everybody who has an account: id and e-mail address in lower case."""
        users = self.to.do(lambda: self.to.sdk.users.list())
        return {int(user.id): str(user.email).lower() for user in users}

    def bar(self, project: int, pairs: Iterable[tuple[int, int]]) -> int:
        """See to it that users are never served certain tasks, on which answers may lie already.

        Label Studio serves nobody what he has passed on; so it is passed on in his name.

        Args:
            project: the project's id.
            pairs: a task's id on the server and a user's.

        Returns:
            How many were barred who were not before.
        """
        wanted: dict[int, set[int]] = defaultdict(set)
        for task, user in pairs:
            wanted[task].add(user)
        barred = 0

        def settle() -> None:
            nonlocal barred
            for task in self.to.tasks(project, "id,annotations,completed_by") if wanted else ():
                has = {person(one) for one in task["annotations"]}
                for user in sorted(wanted.get(task["id"], set()) - has):
                    path = f"tasks/{task['id']}/annotations/"
                    self.to.ask("POST", path, json=_bar(user), sure=False)
                    barred += 1

        self.to.settle(settle)
        return barred

    def invite(self, *, reset: bool = False) -> str:
        """The address at which people sign up; with ``reset`` earlier ones end."""
        said = self.to.ask("POST", "invite/reset-token") if reset else self.to.ask("GET", "invite")
        return f"{self.url}{said['invite_url']}"

    def erase(self, project: int, users: Collection[int]) -> int:
        """Delete all answers and drafts of users; gives how many."""
        gone = 0
        names = self.people()
        whose = {*users, *(names[user] for user in users if user in names)}
        for task in self.to.tasks(project, "id,annotations,completed_by,draft_exists"):
            drafts = (
                self.to.ask("GET", f"tasks/{task['id']}/drafts") if task["draft_exists"] else ()
            )
            doomed = [f"drafts/{one['id']}/" for one in drafts if _drafter(one["user"]) in whose]
            doomed += [
                f"annotations/{one['id']}/" for one in task["annotations"] if person(one) in users
            ]
            for path in doomed:
                try:
                    self.to.ask("DELETE", path)
                except GoneError:
                    continue
                gone += 1
        return gone

    # --- answers

    def waiting(self, project: int) -> int:
        """How many answers lie on the server, without those that were passed on."""
        said = self.to.ask("GET", "projects/counts/", params={"ids": project})["results"]
        if not said:
            raise GoneError(f"{self.url} has no project {project}", PROJECT)
        return int(said[0]["total_annotations_number"])

    def pull(self, project: int, since: str | None, known: Known) -> Pulled:
        """Bring what the archive does not have: new, changed and deleted annotations.

        Args:
            project: the project's id.
            since: ``since`` of an earlier pull; None looks at all tasks.
            known: for our task ids, what the archive has; see ``pull.pull``.
        """
        return pull(self.to, project, since=since, known=known, people=self.people)


def _drafter(user: Any) -> Any:
    """Who wrote a draft: an id, or as 1.23 has it, an e-mail address."""
    said = user.get("id") if isinstance(user, dict) else user
    return said.lower() if isinstance(said, str) else said


def _bar(user: int) -> dict[str, Any]:
    # What is imported counts as ground truth where one does not say that it is none.
    return {"result": [], "was_cancelled": True, "ground_truth": False, "completed_by": user}

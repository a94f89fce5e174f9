"""Tasks, people and answers on a real Label Studio, also if calls are stopped half-way."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from curation.rounds.platforms.label_studio.client import LabelStudio
from support.expected import fails
from support.label_studio import CONFIG, choices, data

TITLES = itertools.count(1)
Payload = dict[str, Any]
Seen = dict[str, dict[int, str]]


def is_bar(annotation: dict[str, Any]) -> bool:
    """Whether ``bar`` made this: skipped in somebody's name, but not by that person."""
    return (
        bool(annotation.get("was_cancelled"))
        and not annotation.get("result")
        and annotation.get("updated_by") != annotation["completed_by"]
    )


def said(label: str) -> list[dict[str, Any]]:
    return [choices("d", "t", label)]


@pytest.fixture
def made(ls: LabelStudio, worker_id: str) -> Callable[..., tuple[int, dict[str, int]]]:
    """Makes a project with tasks."""

    def make(*ids: str, answers: int = 2) -> tuple[int, dict[str, int]]:
        title = f"project {worker_id} {next(TITLES)}"
        project = ls.make_project(title, config=CONFIG, instruction="<b>Hi</b>", answers=answers)
        return project, ls.put_tasks(project, data(*ids))

    return make


class Archive:
    """Keeps what is pulled, as a campaign does."""

    def __init__(self, ls: LabelStudio, project: int) -> None:
        self.ls, self.project = ls, project
        self.since: str | None = None
        self.payloads: list[Payload] = []

    def known(self) -> Seen:
        known: Seen = defaultdict(dict)
        for id, one in self.now().items():
            known[one["task"]][id] = one["annotation"]["updated_at"]
        return known

    def pull(self, *, whole: bool = False) -> list[Payload]:
        pulled = self.ls.pull(self.project, None if whole else self.since, self.known())
        came = [one for batch in pulled.batches for one in batch]
        assert pulled.new + pulled.changed + pulled.deleted == len(came)
        assert pulled.since is not None
        self.since = pulled.since
        self.payloads += came
        return came

    def now(self) -> dict[int, Payload]:
        """The current answers."""
        stand: dict[int, Payload] = {}
        for one in self.payloads:
            if "deleted" in one:
                del stand[one["deleted"]]
            else:
                stand[one["annotation"]["id"]] = one
        return stand


# --- projects and tasks


def test_a_project_is_found_by_its_whole_title(ls: LabelStudio, made: Any) -> None:
    project, _ = made("t1")
    title = ls.to.ask("GET", f"projects/{project}/")["title"]
    assert ls.project(title) == project
    assert ls.project(title[:-1]) is None
    assert ls.project(title.upper()) is None


def test_people_are_shown_no_more_than_their_task(ls: LabelStudio, made: Any) -> None:
    project, _ = made("t1", answers=5)
    shows = ("show_instruction", "enable_empty_annotation", "show_skip_button")
    hides = ("show_collab_predictions", "show_annotation_history")
    # Without empty annotations Submit would be grey, and nobody says why.
    wanted = dict.fromkeys(shows, True) | dict.fromkeys(hides, False)
    wanted |= {"maximum_annotations": 5, "skip_queue": "REQUEUE_FOR_OTHERS"}
    wanted |= {"expert_instruction": "<b>Hi</b>"}
    has = ls.to.ask("GET", f"projects/{project}/")
    assert {name: has[name] for name in wanted} == wanted


@pytest.mark.parametrize("title", ["ab", "x" * 51])
def test_a_title_that_label_studio_refuses_is_named(ls: LabelStudio, title: str) -> None:
    with fails("cannot be a project's title"):
        ls.make_project(title, config=CONFIG, instruction="", answers=1)


def test_a_config_that_label_studio_refuses_is_named(ls: LabelStudio) -> None:
    with fails("answered 400", "label_config"):
        ls.make_project("bad config", config="<View><Text/></View>", instruction="", answers=1)


def test_tasks_are_put_once(ls: LabelStudio, made: Any) -> None:
    project, first = made("t1", "t2")
    steps: list[int] = []
    again = ls.put_tasks(project, data("t1", "t2", "t3"), advance=steps.append)
    assert set(again) == {"t1", "t2", "t3"}
    assert again.items() >= first.items()
    assert sum(steps) == 3
    assert ls.tasks(project) == again
    assert ls.put_tasks(project, []) == again


# --- who gets what


def test_five_people_get_each_task_once(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    project, _ = made("t1", "t2", "t3", answers=5)
    people = [sign_up() for _ in range(6)]
    served = [person.stream(project, said("a")) for person in people]
    assert [sorted(tasks) for tasks in served[:5]] == [["t1", "t2", "t3"]] * 5
    assert served[5] == []
    names = ls.people()
    assert [names[person.id] for person in people] == [person.email for person in people]
    came = Archive(ls, project).pull()
    assert Counter((one["task"], one["person"]) for one in came) == Counter(
        itertools.product(["t1", "t2", "t3"], [person.email for person in people[:5]])
    )
    assert ls.waiting(project) == 15


def test_a_task_is_topped_up_for_others_only(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    project, ids = made("t1", "t2", "t3", answers=2)
    ls.set_overlap(project, {ids["t3"]: 3})
    a, b, c, d = (sign_up() for _ in range(4))
    for person in (a, b):
        assert len(person.stream(project, said("a"))) == 3
    assert c.stream(project, said("b")) == ["t3"]
    steps: list[int] = []
    wanted = {ids["t1"]: 3, ids["t2"]: 2, ids["t3"]: 3}
    assert ls.set_overlap(project, wanted, advance=steps.append) == 1
    assert ls.set_overlap(project, wanted) == 0
    assert sum(steps) == 3
    assert [person.next(project) for person in (a, b)] == [None, None]
    assert d.stream(project, said("a")) == ["t1"]
    assert c.next(project) is None
    ls.put_tasks(project, data("t1", "t2", "t3", "t4"))  # leaves the others' overlap alone
    assert {task["overlap"] for task in ls.to.tasks(project, "id,overlap")} == {2, 3}


def test_a_task_that_needs_fewer_is_closed(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    project, ids = made("t1", answers=5)
    sign_up().stream(project, said("a"))
    assert ls.set_overlap(project, {ids["t1"]: 1}) == 1
    assert sign_up().next(project) is None


def test_a_writer_is_never_served_what_is_barred(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    writer = sign_up()
    project, ids = made("t1", "t2", answers=1)
    ids = ls.put_tasks(project, data("t1", "t2", "t3"), bars={"t3": [writer.id]})
    late = sign_up()  # after the import
    pairs = [(ids["t1"], writer.id), (ids["t1"], late.id)]
    assert [ls.bar(project, pairs) for _ in range(2)] == [2, 0]
    assert writer.stream(project, said("a")) == ["t2"]
    assert sorted(sign_up().stream(project, said("a"))) == ["t1", "t3"]  # a bar is no answer
    assert late.next(project) is None
    came = Archive(ls, project).pull()
    bars = [one for one in came if is_bar(one["annotation"])]
    assert Counter((one["task"], one["person"]) for one in bars) == Counter(
        [("t1", writer.email), ("t1", late.email), ("t3", writer.email)]
    )
    assert ls.waiting(project) == 3


def test_what_is_passed_on_goes_to_others(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    project, ids = made("t1", answers=1)
    a, b = sign_up(), sign_up()
    a.answer(ids["t1"], [], skip=True)
    assert a.next(project) is None
    assert b.stream(project, said("a")) == ["t1"]
    came = Archive(ls, project).pull()
    wanted = [(a.email, True), (b.email, False)]
    assert [(one["person"], one["annotation"]["was_cancelled"]) for one in came] == wanted
    assert not any(is_bar(one["annotation"]) for one in came)


# --- pulling


def test_a_pull_brings_what_changed(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    project, ids = made("t1", "t2", "t3", answers=5)
    a, b = sign_up(), sign_up()
    archive = Archive(ls, project)
    assert archive.pull() == []
    first = a.answer(ids["t1"], said("a"), 12.5)
    (came,) = archive.pull()
    assert (came["task"], came["person"]) == ("t1", a.email)
    wanted = {"result": said("a"), "lead_time": 12.5, "updated_at": first["updated_at"]}
    wanted |= {"completed_by": a.id, "updated_by": a.id}
    assert {name: came["annotation"][name] for name in wanted} == wanted
    assert "created_ago" not in came["annotation"]  # or it would look changed each time
    assert archive.pull() == []
    a.answer(ids["t1"], said("a"), 12.5)  # the button pressed twice
    a.edit(first["id"], said("b"))
    gone = b.answer(ids["t2"], said("a"))
    assert Counter(one["task"] for one in archive.pull()) == {"t1": 2, "t2": 1}
    b.edit(first["id"], said("a"))  # somebody else's answer
    b.delete(gone["id"])
    edited, deleted = archive.pull()
    assert edited["annotation"]["updated_by"] == b.id != edited["annotation"]["completed_by"]
    assert (deleted["task"], deleted["deleted"]) == ("t2", gone["id"])
    assert archive.pull() == archive.pull(whole=True) == []
    whole = Archive(ls, project)
    whole.pull()
    assert whole.now() == archive.now()
    assert len(whole.now()) == 2


def test_a_deleted_task_takes_its_answers_along(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    project, ids = made("t1", "t2", answers=5)
    person, archive = sign_up(), Archive(ls, project)
    person.stream(project, said("a"))
    archive.pull()
    person.call("DELETE", f"tasks/{ids['t1']}/")
    assert [one["task"] for one in archive.pull(whole=True) if "deleted" in one] == ["t1"]
    assert len(archive.now()) == 1


def test_another_project_is_no_deleted_one(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    project, _ = made("t1")
    sign_up().stream(project, said("a"))
    archive = Archive(ls, project)
    archive.pull()
    archive.project, _ = made("other")
    with fails("none of the tasks that were answered"):
        archive.pull(whole=True)


def test_a_project_that_is_gone_is_named(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    project, _ = made("t1")
    sign_up().call("DELETE", f"projects/{project}/")
    for act in (
        lambda: Archive(ls, project).pull(),
        lambda: ls.put_tasks(project, data("t1")),
        lambda: ls.waiting(project),
    ):
        with fails(f"has no project {project}"):
            act()


def test_what_a_person_gave_is_erased(ls: LabelStudio, made: Any, sign_up: Any) -> None:
    project, ids = made("t1", "t2", "t3", answers=5)
    a, b = sign_up(), sign_up()
    for person in (a, b):
        person.answer(ids["t1"], said("a"))
    a.answer(ids["t2"], [], skip=True)
    for person in (a, b):
        person.call("POST", f"tasks/{ids['t3']}/drafts", {"result": said("b"), "lead_time": 3})
    assert ls.erase(project, {a.id}) == 3
    assert ls.erase(project, {a.id}) == 0
    assert [one["person"] for one in Archive(ls, project).pull()] == [b.email]
    assert len(ls.to.ask("GET", f"tasks/{ids['t3']}/drafts")) == 1

"""What a server acts on late or twice is there once in the end, and no work of people is lost."""

import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from curation.rounds.platforms.label_studio.client import LabelStudio
from curation.rounds.platforms.label_studio.connection import LATE, Connection
from support.label_studio import CONFIG, Meddler, choices, data, in_turn

SAID = [choices("d", "t", "a")]
TITLES = itertools.count(1)


def make(ls: LabelStudio, title: str) -> int:
    return ls.make_project(title, config=CONFIG, instruction="", answers=2)


def foreign(ls: LabelStudio, title: str) -> int:
    """A project with this title that somebody else makes."""
    made = ls.to.ask("POST", "projects/", json={"title": title, "label_config": CONFIG})
    return int(made["id"])


def ids(ls: LabelStudio, title: str) -> list[int]:
    """The server's ids of all projects with a title."""
    listed = ls.to.ask("GET", "projects/", params={"title": title})["results"]
    return sorted(project["id"] for project in listed)


@pytest.fixture
def title(worker_id: str) -> str:
    return f"double {worker_id} {next(TITLES)}"


@pytest.fixture
def through(server: Any) -> Iterator[Callable[..., LabelStudio]]:
    """Connects through a proxy that does ``moods`` to the requests in question, one after another.

    What is late is delivered while the client waits for it.
    """
    with ExitStack() as proxies:

        def go(wanted: Callable[[str, str], bool], *moods: str | Callable[[], str]) -> LabelStudio:
            proxy = proxies.enter_context(Meddler(server.url, in_turn(wanted, *moods)))
            late.append(proxy.late)

            def pause(seconds: float) -> None:
                if seconds == LATE:
                    proxy.deliver()

            return LabelStudio(Connection(proxy.url, server.key, tell=str, timeout=20, pause=pause))

        late: list[Any] = []
        yield go
        assert not any(late)


def makes(method: str, path: str) -> bool:
    return (method, path) == ("POST", "/api/projects/")


# --- projects


MOODS = [("late",), ("twice",), ("late", "twice"), ("late", "late"), ("after",)]


@pytest.mark.parametrize("moods", MOODS)
def test_one_remains(ls: LabelStudio, through: Any, title: str, moods: tuple[str, ...]) -> None:
    project = make(through(makes, *moods), title)
    assert ids(ls, title) == [project] == [ls.project(title)]
    assert ls.has_project(project, title)
    assert make(ls, title) == project


@pytest.mark.parametrize("mood", ["pass", "twice", "late", "after"])
def test_two_who_open_get_one_project(ls: LabelStudio, through: Any, title: str, mood: str) -> None:
    theirs = []

    def act() -> str:
        theirs.append(foreign(ls, title))
        return mood

    assert [make(through(makes, act), title)] == theirs
    assert ids(ls, title) == theirs


def test_a_project_of_somebody_else_stays(ls: LabelStudio, through: Any, title: str) -> None:
    theirs = []

    def act() -> str:
        theirs.extend(foreign(ls, title) for _ in range(2))
        return "pass"

    assert make(through(makes, act), title) == theirs[0]
    assert ids(ls, title) == theirs  # only the call that made a project deletes it


def test_the_project_with_tasks_is_the_one(ls: LabelStudio, title: str) -> None:
    spare, used = (foreign(ls, title) for _ in range(2))
    assert ls.project(title) == spare
    ls.put_tasks(used, data("t1"))
    assert ls.project(title) == make(ls, title) == used
    assert ids(ls, title) == [spare, used]
    assert ls.has_project(spare, title)
    assert not ls.has_project(spare, title[:-1])


# --- tasks


@pytest.mark.parametrize("moods", MOODS)
def test_each_task_is_there_once(
    ls: LabelStudio, through: Any, title: str, sign_up: Any, moods: tuple[str, ...]
) -> None:
    project, writer = make(ls, title), sign_up()
    ls.put_tasks(project, data("t0"))
    put = through(lambda _, path: "/import" in path, *moods).put_tasks(
        project, data("t0", "t1", "t2"), bars={"t1": [writer.id]}
    )
    tasks = list(ls.to.tasks(project, "id,data,overlap,is_labeled"))
    assert {task["data"]["task_id"]: task["id"] for task in tasks} == put == ls.tasks(project)
    assert sorted(put) == ["t0", "t1", "t2"]
    assert len(tasks) == 3
    assert {(task["overlap"], task["is_labeled"]) for task in tasks} == {(2, False)}
    assert sorted(writer.stream(project, SAID)) == ["t0", "t2"]


def test_a_double_with_answers_or_drafts_stays(ls: LabelStudio, title: str, sign_up: Any) -> None:
    project = make(ls, title)
    names = ("t1", "t2", "t3", "t4")
    body = [{"data": row} for row in data(*names) * 2]
    how: dict[str, Any] = {"params": {"return_task_ids": "true"}, "json": body}
    put = ls.to.ask("POST", f"projects/{project}/import", **how)["task_ids"]
    first, second = (dict(zip(names, put[n : n + 4], strict=True)) for n in (0, 4))
    person = sign_up()
    for task in (second["t1"], first["t2"], second["t2"]):
        person.answer(task, SAID)
    person.answer(second["t4"], [], skip=True)
    person.call("POST", f"tasks/{second['t3']}/drafts", {"result": SAID, "lead_time": 3})
    kept = ls.put_tasks(project, data("t1"))
    assert kept == {"t1": second["t1"], "t2": first["t2"], "t3": second["t3"], "t4": second["t4"]}
    assert {task["id"] for task in ls.to.tasks(project, "id")} == {*kept.values(), second["t2"]}
    assert ls.tasks(project) == kept
    # The double that has an answer, too, is not served.
    assert sorted(sign_up().stream(project, SAID)) == ["t1", "t2", "t3", "t4"]


# --- the server that we start


def test_with_a_locked_database_a_request_is_handled_once(
    ls: LabelStudio, server: Any, title: str
) -> None:
    (database,) = Path(server.folder).rglob("*.sqlite3")

    def lock() -> None:
        """Lock the database for a moment as soon as the project's row is there."""
        with closing(sqlite3.connect(database, timeout=30, isolation_level=None)) as rows:
            query = "select count(*) from project where title = ?"
            while not rows.execute(query, (title,)).fetchone()[0]:
                pass
            rows.execute("begin immediate")
            time.sleep(0.6)
            rows.execute("commit")

    locker = threading.Thread(target=lock, daemon=True)
    locker.start()
    body = {"title": title, "label_config": CONFIG}
    made = ls.to.ask("POST", "projects/", json=body, sure=False)["id"]
    locker.join(60)
    assert ids(ls, title) == [made]
    assert "database is locked" not in (Path(server.folder) / "server.log").read_text("utf-8")

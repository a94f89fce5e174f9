"""Faults of a real server: it dies, hangs, loses data; answers are deleted or change."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from curation.records import Answer
from curation.rounds.platforms.label_studio import local
from curation.rounds.platforms.label_studio.local import Place
from support.desk import Desk
from support.label_studio import Meddler, free_port, labels, new_person, project_of
from support.strike import strike, times
from support.team import read_jsonl


class Own:
    """A server for this file alone, because it is killed."""

    def __init__(self, place: Place, executable: Path) -> None:
        self.place, self.executable = place, executable
        self.made = local.start(place, executable=executable)
        self.url, self.key = self.made.url, self.made.key

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.made.process.pid, signal.SIGKILL)
        self.made.process.wait(20)

    def again(self) -> None:
        self.made = local.start(self.place, executable=self.executable)


LABEL_STUDIO = ("--platform", "label_studio")


@pytest.fixture(scope="module")
def own(label_studio_executable: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    folder = tmp_path_factory.mktemp("own")
    server = Own(Place("validators", folder, free_port()), label_studio_executable)
    yield server
    server.kill()


@pytest.fixture(scope="module", autouse=True)
def key(own: Own) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABEL_STUDIO_URL", own.url)
        patch.setenv("LABEL_STUDIO_API_KEY", own.key)
        yield


@pytest.fixture(scope="module")
def written(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A campaign with six items, by a round on tables."""
    __import__("label_studio_sdk")  # once here, and not in every fork
    desk = Desk.make(forked, tmp_path_factory.mktemp("faults") / "c", items=3, near=1.0,
                     label_seconds=1.0)  # fmt: skip
    desk.open("intrasentence", "w", "--term", "baker", "--term", "potter")
    desk.written("w", ["ann", "ben"])
    return desk


@pytest.fixture(scope="module")
def work(written: Any, own: Own, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A campaign with a round of validation that was answered, and not pulled yet."""
    desk = written.copy(tmp_path_factory.mktemp("work") / "c")
    project = project_of(desk.say("rounds", "open", "validation", "--name", "v", *LABEL_STUDIO))
    golds = desk.golds()
    for person in (new_person(own.url, own.key) for _ in range(3)):
        person.stream(project, lambda data: labels(data, golds))
    return desk


def folded(desk: Any) -> dict[str, Any]:
    """What answers became, with their reasons, in any order and without places."""
    found = {}
    for name in ("items", "labels", "answers", "rejected", "flags"):
        rows = [*read_jsonl(desk.rounds / "v" / f"{name}.jsonl")]
        for row in rows:
            row.pop("where", None)
        found[name] = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return found


@pytest.fixture(scope="module")
def wanted(work: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result of an undisturbed pull."""
    desk = work.copy(tmp_path_factory.mktemp("wanted") / "c")
    desk.say("rounds", "pull", "v")
    found = folded(desk)
    assert len(found["answers"]) >= 18
    return found


@pytest.fixture
def desk(work: Any, tmp_path: Path) -> Any:
    return work.copy(tmp_path / "c")


def at(desk: Any, url: str) -> None:
    """Move the round to another server, by its file."""
    path = desk.rounds / "v" / "round.json"
    said = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**said, "server": url}), "utf-8")


def impatient(timeout: float = 3) -> None:
    """Two tasks per page and short waits, so that faults occur in the middle."""
    from curation.rounds.platforms.label_studio import client
    from curation.rounds.platforms.label_studio.connection import Connection

    Connection.page.__kwdefaults__["size"] = 2
    Connection.__init__.__kwdefaults__["waits"] = (0.1, 0.1)
    client.connect.__kwdefaults__["timeout"] = timeout


def check_refused(desk: Any, *says: str, before: Callable[[], None] = impatient) -> None:
    """A pull is refused with its fix."""
    done = desk.run("rounds", "pull", "v", before=before)
    assert done.code == 1, done.out
    assert "Traceback" not in done.err
    for part in (*says, "fix:   "):
        assert part in done.err


def check_pulled(desk: Any, own: Own, wanted: dict[str, Any]) -> None:
    """Pull again, and check that everything is there once."""
    at(desk, own.url)
    done = desk.run("rounds", "pull", "v", before=impatient)
    assert done.code == 0, done.err
    assert folded(desk) == wanted
    raw = sorted((desk.rounds / "v" / "raw").glob("*.jsonl"))
    events = [event for path in raw for event in read_jsonl(path)]
    ids = Counter(e["payload"]["annotation"]["id"] for e in events if "annotation" in e["payload"])
    assert set(ids.values()) == {1}
    assert [e["position"] for e in events] == list(range(len(events)))
    assert list(desk.root.rglob(".*.tmp")) == []


@pytest.mark.parametrize(("number", "mood"), [(3, "before"), (5, 500), (7, "after")])
def test_a_broken_line(
    desk: Any, own: Own, wanted: dict[str, Any], number: int, mood: str | int
) -> None:
    seen = 0

    def act(_: str, path: str) -> str | int:
        nonlocal seen
        seen += 1
        return mood if seen >= number else "pass"

    with Meddler(own.url, act) as proxy:
        at(desk, proxy.url)
        check_refused(desk, proxy.url)
    assert desk.run("rounds", "status").code == 0
    check_pulled(desk, own, wanted)


def test_a_pull_that_is_killed(desk: Any, own: Own, wanted: dict[str, Any], tmp_path: Path) -> None:
    count = desk.copy(tmp_path / "count")
    moments = times(count.run, ("rounds", "pull", "v"), count.root)
    for moment in range(moments // 4, moments, moments // 3):
        root = desk.copy(tmp_path / f"killed-{moment}")
        end = strike(root.root, at=moment)
        died = root.run("rounds", "pull", "v", before=lambda s=end: (impatient(), s()))
        assert died.code == -signal.SIGKILL
        looked = root.run("rounds", "status")
        assert looked.code == 0, looked.err
        check_pulled(root, own, wanted)


# --- what changes there: each in a project of its own ---------------------------------------------


@pytest.fixture
def fresh(written: Any, own: Own, tmp_path: Path) -> tuple[Any, int, list[Any]]:
    """A round that was just opened, its project, and two people."""
    desk = written.copy(tmp_path / "fresh")
    desk.name = f"v-{tmp_path.name[-12:]}"[:30]
    opening = ("rounds", "open", "validation", "--name", desk.name)
    project = project_of(desk.say(*opening, *LABEL_STUDIO))
    return desk, project, [new_person(own.url, own.key) for _ in range(2)]


def codes(desk: Any, name: str) -> Counter[Any]:
    return Counter(a.code for a in desk.records(f"{name}/answers.jsonl", Answer))


def test_answers_that_are_deleted_or_changed_there(fresh: Any) -> None:
    desk, project, (a, b) = fresh
    name, golds = desk.name, desk.golds()
    served = []
    while task := a.next(project):
        served.append((task, a.answer(task["id"], labels(task["data"], golds))))
    desk.say("rounds", "pull", name)
    assert codes(desk, name) == {None: 6}
    (_, gone), (task, late), (other, theirs) = served[:3]
    b.delete(gone["id"])
    changed = labels(task["data"], golds)
    changed[0]["value"]["choices"] = ["unrelated"]
    a.edit(late["id"], changed)
    b.edit(theirs["id"], labels(other["data"], dict.fromkeys(golds, "unrelated")))
    said = desk.say("rounds", "pull", name)
    assert (said["new"], said["changed"], said["deleted"]) == (0, 2, 1)
    assert codes(desk, name) == {None: 5, "deleted": 1}  # versions are one answer
    refused = Counter(row["code"] for row in read_jsonl(desk.rounds / name / "rejected.jsonl"))
    assert refused == {"deleted": 1, "superseded": 1, "edited_by_other": 1}
    said = desk.say("rounds", "pull", name, "--full")
    assert (said["new"], said["changed"], said["deleted"]) == (0, 0, 0)


def kill_at(what: str) -> Callable[[], None]:
    """Make an opening die just before or after a call."""

    def prepare() -> None:
        from curation.rounds.platforms import opening
        from curation.rounds.platforms.label_studio.client import LabelStudio

        def die(*_: Any, **__: Any) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        write = opening.write_round
        if what != "make_project":
            setattr(LabelStudio, what, die)
        else:  # the project is made, and nothing here knows of it

            def told(campaign: Any, round: Any) -> None:
                die() if round.project is not None else write(campaign, round)

            opening.write_round = told  # type: ignore[assignment]

    return prepare


@pytest.mark.parametrize("what", ["make_project", "put_tasks", "set_overlap"])
def test_an_opening_that_is_killed(written: Any, own: Own, tmp_path: Path, what: str) -> None:
    desk = written.copy(tmp_path / "c")
    name = f"o-{what.replace('_', '-')}"
    command = ("rounds", "open", "validation", "--name", name, *LABEL_STUDIO)
    died = desk.run(*command, before=kill_at(what))
    assert died.code == -signal.SIGKILL
    said = desk.run("rounds", "status", name)
    assert said.code == 0
    assert f"rounds open validation --name {name}" in said.out.replace("\n", " ")
    # Whoever does not name it goes on with it, and does not open a second one.
    opened = desk.say("rounds", "open", "validation")
    assert opened["round"] == name
    assert desk.say(*command)["address"] == opened["address"]
    owner = new_person(own.url, own.key)
    found = owner.call("GET", "projects/?page_size=100")["results"]
    (project,) = [p for p in found if p["title"].startswith(name)]
    assert project["task_number"] == opened["tasks"] == 6
    tasks = owner.call("GET", f"tasks/?project={project['id']}&fields=all")["tasks"]
    assert {task["overlap"] for task in tasks} == {5}


def test_a_server_that_is_killed_in_the_middle(desk: Any, own: Own, wanted: dict[str, Any]) -> None:
    seen = 0

    def act(_: str, path: str) -> str:
        nonlocal seen
        seen += path.startswith("/api/tasks/")
        if seen == 3:
            own.kill()
            return "before"
        return "pass"

    with Meddler(own.url, act) as proxy:
        at(desk, proxy.url)
        check_refused(desk)
    at(desk, own.url)
    check_refused(desk, f"{own.url}: no connection")
    assert list((desk.rounds / "v" / "raw").glob("*.jsonl"))  # what had come is kept
    own.again()
    check_pulled(desk, own, wanted)

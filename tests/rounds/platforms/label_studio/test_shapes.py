"""Replies of a Label Studio in another form: refused with a reason, and a pull can be repeated."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from curation.records import Task
from curation.rounds.answers import archive
from curation.rounds.answers.interpret import interpret
from curation.rounds.answers.parsed import Refused
from curation.rounds.platforms.label_studio import connection, platform
from curation.rounds.platforms.label_studio.client import LabelStudio, Pulled
from curation.rounds.platforms.label_studio.connection import Connection, GoneError
from support.expected import fails

AT = "2026-05-01T10:00:00.000000Z"
SOUND = {
    "id": 1, "completed_by": 7, "updated_by": 7, "created_at": AT, "updated_at": AT,
    "lead_time": 9.5, "was_cancelled": False, "result": [],
}  # fmt: skip
TASK = Task(id="t-1", term="term-1", domain="d", target="baker", wanted=1)


class Server:
    """A project whose pages are given; it has none of the annotations that are asked for by id."""

    url = "http://example.invalid"

    def __init__(self, tasks: list[Any], total: Any = 1) -> None:
        self.sent = {"tasks": tasks, "total": total}

    def page(self, project: int, fields: str, **_: Any) -> dict[str, Any]:
        return connection.check_page(self.sent, fields, url=self.url, project=project)

    def pages(self, project: int, fields: str, **_: Any) -> Iterator[list[dict[str, Any]]]:
        yield self.page(project, fields)["tasks"]

    def ask(self, *_: Any) -> None:
        raise GoneError("gone")


def task(*annotations: Any, **changes: Any) -> dict[str, Any]:
    data = {"task_id": "t-1"}
    return {"id": 5, "data": data, "annotations": list(annotations), "updated_at": AT} | changes


def pulled(place: Path, server: Any, since: str | None = None) -> tuple[Pulled, int]:
    """Pull as ``LabelStudioRound`` does, and count what was added to the archive."""
    raw, index = place / "raw", place / "pulled.json"
    before = platform.read_seen(raw, index)
    fetched = Pulled(server, 3, since=since or before.since, known=before.known, people=dict)
    added = 0
    for batch in fetched.batches:
        added += archive.deliver(raw, "label_studio", batch).added
        for payload in batch:
            platform.note_seen(before.known, payload)
    platform.keep_seen(raw, index, platform.Seen(fetched.since, before.known))
    return fetched, added


def codes(place: Path) -> list[str]:
    tasks: Mapping[str, Task] = {"t-1": TASK}
    found = list[str]()
    for where, sent in archive.read(place / "raw"):
        for answer in interpret(sent, round="r", where=where, tasks=tasks, kind="review"):
            assert isinstance(answer, Refused)
            found.append(answer.code)
    return found


def nested(depth: int) -> Any:
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    return deep


@pytest.mark.parametrize(
    ("annotation", "code"),
    [
        *((odd, "bad_value") for odd in (None, "x", [1], {})),
        *(({**SOUND, "id": odd}, "bad_value") for odd in ("x", None, {"id": 1})),
        *(({**SOUND, "result": odd}, "bad_value") for odd in ("x", {"x": 1}, [["x"]])),
        ({**SOUND, "result": [{"value": {"choices": [1, 2]}, "from_name": "a"}]}, "bad_value"),
        ({**SOUND, "result": [{"value": {"text": "a"}}]}, "bad_value"),
        *(({**SOUND, "result": nested(n)}, "bad_value") for n in (*range(245, 258), 300)),
        ({**SOUND, "created_at": 7}, "bad_value"),
        ({**SOUND, "created_at": None, "updated_at": ["x"]}, "bad_value"),
        ({**SOUND, "completed_by": ["x"]}, "missing_field"),
        ({**SOUND, "completed_by": {"id": "ann"}}, "missing_field"),
        ({**SOUND, "id": "1", "completed_by": "7", "updated_by": "7"}, "skipped"),
        ({"id": 1, "updated_at": AT}, "skipped"),
    ],
)
def test_an_odd_annotation_has_a_reason(tmp_path: Path, annotation: Any, code: str) -> None:
    server = Server([task(annotation)])
    fetched, added = pulled(tmp_path, server)
    assert (fetched.new, added, codes(tmp_path)) == (1, 1, [code])
    (tmp_path / "pulled.json").unlink()
    assert pulled(tmp_path, server)[1] == 0  # a repeated pull adds nothing
    assert len(codes(tmp_path)) == 1


@pytest.mark.parametrize(
    ("sends", "message"),
    [
        (Server([], total=None), "not a page of tasks"),
        (Server({"a": 1}), "not a page of tasks"),  # type: ignore[arg-type]
        (Server([task(), "x"]), "a task that is not an object"),
        (Server([task(), task(id="6")]), "task 6: its field 'id'"),
        (Server([task(annotations=None)]), "task 5: its field 'annotations'"),
        (Server([task(annotations={"1": SOUND})]), "task 5: its field 'annotations'"),
        (Server([task(data="t-1")]), "task 5: its field 'data'"),
    ],
)
def test_nothing_of_an_odd_page_is_kept(tmp_path: Path, sends: Server, message: str) -> None:
    with fails("http://example.invalid, project 3", message):
        pulled(tmp_path, sends)
    assert not (tmp_path / "raw").exists()
    assert pulled(tmp_path, Server([task(SOUND)]))[1] == 1


@pytest.mark.parametrize("reply", [None, [], "x", {"tasks": []}, {"tasks": 3, "total": 1}])
def test_a_reply_that_is_not_a_page(reply: Any) -> None:
    with fails("not a page of tasks"):
        connection.check_page(reply, "id", url="u", project=3)


@pytest.mark.parametrize("since", ["yesterday", "0001-01-01T00:00:00+23:59", AT])
def test_a_time_of_the_last_pull_that_is_unreadable_is_not_used(tmp_path: Path, since: str) -> None:
    fetched, added = pulled(tmp_path, Server([task(SOUND, updated_at=since)]), since)
    assert (added, fetched.since) == (1, since if since == AT else None)


@pytest.mark.parametrize(
    "content",
    [
        '{"segments": 3, "since": null, "accounts": [], "known": {}}',
        '{"segments": [], "since": 3, "accounts": ["x"], "known": {}}',
        '{"segments": [], "since": null, "accounts": [], "known": {"t": {"x": "y"}}}',
        '{"segments": [], "since": null, "accounts": [], "known": [1]}',
        "[]",
    ],
)
def test_a_damaged_index_is_made_again(tmp_path: Path, content: str) -> None:
    (tmp_path / "pulled.json").write_text(content, "utf-8")
    assert pulled(tmp_path, Server([task(SOUND)]))[1] == 1
    assert platform.read_seen(tmp_path / "raw", tmp_path / "pulled.json").known == {"t-1": {1: AT}}


class Replies(Connection):
    """A connection that gets the same reply to every request, and keeps the last query."""

    def __init__(self, reply: Any) -> None:
        self.url, self.reply, self.query = "http://example.invalid", reply, ""

    def ask(self, *_: Any, params: Mapping[str, Any] | None = None, **__: Any) -> Any:
        self.query = str((params or {}).get("query"))
        return self.reply


def test_a_server_that_sends_the_same_page_again_is_an_error() -> None:
    pages = Replies({"tasks": [task(SOUND)], "total": 1}).pages(3, "id,annotations,data")
    assert next(pages)
    with fails("the server sends the same tasks again"):
        next(pages)


class More(Replies):
    """A connection to a server that has one more task whenever it is asked."""

    def ask(self, *_: Any, **__: Any) -> Any:
        self.reply = {"tasks": [{"id": self.reply["tasks"][0]["id"] + 1}], "total": 9}
        return self.reply


def test_a_server_that_always_has_another_page_is_an_error() -> None:
    with fails("example.invalid, project 3: ", " or ever more", fix="Label Studio"):
        list(More({"tasks": [{"id": 0}]}).pages(3, "id"))


@pytest.mark.parametrize(
    ("since", "asked"),
    [
        ("2026-05-01 10:00:00.5Z", "2026-05-01T09:59:00.500000Z"),
        ("0001-01-01", "1969-12-31T23:59:00.000000Z"),
    ],
)
def test_changes_are_asked_for_from_a_minute_before_the_last_pull(since: str, asked: str) -> None:
    server = Replies({"tasks": [], "total": 0})
    assert server.page(3, "id", since=since)["tasks"] == []
    assert asked in server.query


def test_a_count_of_answers_in_another_form_is_an_error() -> None:
    for reply in (None, [], {"results": 3}, {"results": [{}]}, {"results": ["x"]}):
        with fails("does not say how many answers"):
            LabelStudio(Replies(reply)).waiting(3)
    with fails("no address to sign up"):
        LabelStudio(Replies([])).invite()

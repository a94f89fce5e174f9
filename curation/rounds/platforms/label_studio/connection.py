"""A connection to a Label Studio server: the only module of this stage that reaches the network.

A server may be slow, restart during a request or lose a connection. So requests that only read are
sent again. Before a request that changes something is sent again, it is checked what was changed.
"""

import importlib
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import urlsplit

import orjson

from curation.files import CurationError
from curation.http import (
    PATIENCE,
    FailedError,
    Failure,
    Gate,
    Reply,
    Server,
    gist,
    parsed_json,
    split_address,
)
from curation.text.times import moment, read_time
from curation.text.wording import has_secrets, show_address

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


T = TypeVar("T")
Tell = Callable[[str], None]

OLDEST = (1, 23)
WAITS = (1.0, 4.0, 15.0)  # seconds before a second, third and fourth try
PAGE = 250  # tasks per request: takes a few seconds and little memory
OVERLAP = timedelta(
    seconds=60
)  # changes that the server may still have been writing at the last pull
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATE = 5.0  # seconds within which a server still acts on most requests whose answer was lost
FEWEST = 10  # tasks on a page: more pages than that are not what a project has
GOES_ON = "nothing is lost: run this again, and it goes on from there"
ADDRESS = "check the address: the browser shows it before /projects or /user"
PROJECT = "it was deleted on the server: restore it from a backup, or close the round"
KEY = (
    "copy the whole key from Label Studio, at the top right: Account & Settings, then Access Token "
    "or Personal Access Token"
)


class UnsureError(FailedError):
    """A change was sent, and it is not known whether it was made."""


class GoneError(CurationError):
    """The requested object does not exist."""


class Connection:
    """An open connection to one server.

    Attributes:
        url: the server's address.
        sdk: the SDK's client; use it within ``do``.
        longest: seconds within which it must answer a request with much data.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        tell: Tell,
        timeout: float,
        waits: Sequence[float] = WAITS,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open a connection, and check that it works.

        Args:
            url: the server's address.
            key: an access token, or a personal access token, which is renewed.
            tell: called before each wait with a line that explains it.
            timeout: seconds within which the server must answer.
            waits: seconds before each new try.
            pause: waits for a number of seconds.

        Raises:
            CurationError: nothing answers, or it is not a Label Studio, or it is too old, or the
                key is wrong.
        """
        self.url, self.longest, self._key = url.rstrip("/"), PATIENCE * timeout, key.strip()
        self._waits, self._tell, self._pause = waits, tell, pause
        split_address(url)
        check_address(url)
        if not self._key or not key.isascii():
            raise CurationError(f"no key for {self.url}", KEY)
        self._server = Server(self.url, timeout=timeout, advice=ADDRESS, resumes=GOES_ON)
        self._server.authorize("Token", self._key)
        self._reply = Reply(0, {}, b"")  # the last one
        self.sdk = self._open_sdk(timeout)
        self._check()

    def _open_sdk(self, timeout: float) -> Any:
        """The SDK's client, whose requests go through the server, too."""
        try:
            sdk = importlib.import_module("label_studio_sdk")
            errors = importlib.import_module("label_studio_sdk.core.api_error")
            httpx = importlib.import_module("httpx")
        except ImportError as error:
            raise CurationError(
                f"this needs label-studio-sdk ({error})", "pip install 'curation[label-studio]'"
            ) from None
        self._sdk_error: type[Exception] = errors.ApiError
        send, above = self._send, urlsplit(self.url).path

        class Transport(httpx.BaseTransport):  # type: ignore[misc, name-defined]
            def handle_request(self, request: Any) -> Any:
                reply = send(
                    request.method,
                    request.url.raw_path.decode().removeprefix(above),
                    timeout=request.extensions["timeout"]["read"],
                    data=request.read(),
                    headers={"Content-Type": request.headers.get("Content-Type")},
                )
                return httpx.Response(reply.status, content=reply.content)

        client = httpx.Client(transport=Transport(), timeout=timeout)
        # The server sends the key, and not the SDK.
        return sdk.LabelStudio(base_url=self.url, api_key="-", httpx_client=client, max_retries=0)

    def tasks(self, project: int, fields: str) -> Iterator[dict[str, Any]]:
        """All tasks of a project, by id, with these fields of tasks and of their annotations."""
        return chain.from_iterable(self.pages(project, fields))

    def pages(
        self, project: int, fields: str, *, since: str | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """A project's tasks, by id, in pages.

        A page begins after the last id, not at a page number: if tasks are deleted meanwhile, page
        numbers shift, and tasks would be left out.
        """
        last = 0
        reply = self.page(project, fields, since=since)
        most = PAGE + reply["total"] // FEWEST
        while page := reply["tasks"]:
            most -= 1
            if page[-1]["id"] <= last or not most:
                raise self.repeats("tasks", f", project {project}")
            yield page
            last = page[-1]["id"]
            reply = self.page(project, fields, after=last, since=since)

    def repeats(self, what: str, where: str = "") -> CurationError:
        """The error of a list that does not end."""
        return CurationError(
            f"{self.url}{where}: the server sends the same {what} again, or ever more",
            "check that it is a Label Studio, and its version; then run this again",
        )

    def page(
        self,
        project: int,
        fields: str,
        *,
        after: int = 0,
        since: str | None = None,
        order: str = "tasks:id",
        size: int = PAGE,
    ) -> dict[str, Any]:
        """Tasks with ids above ``after`` that changed since about the time ``since``."""
        items = [_filter("id", "Number", after)]
        if since is not None:
            begin = max(moment(since), EPOCH) - OVERLAP
            items.append(_filter("updated_at", "Datetime", f"{begin:%Y-%m-%dT%H:%M:%S.%fZ}"))
        query = {"filters": {"conjunction": "and", "items": items}, "ordering": [order]}
        asked = {
            "project": project, "fields": "all", "include": fields, "page_size": size,
            "query": orjson.dumps(query).decode(),
        }  # fmt: skip
        try:
            page = self.ask("GET", "tasks/", params=asked)
        except GoneError:
            raise GoneError(f"{self.url} has no project {project}", PROJECT) from None
        return check_page(page, fields, url=self.url, project=project)

    def _check(self) -> None:
        """Check that the server is a Label Studio, is not too old, and accepts the key."""
        version = self.ask("GET", "version")
        release = version.get("release") if isinstance(version, dict) else ""
        numbers = release.split(".")[:2] if isinstance(release, str) else []
        if len(numbers) < 2 or not all(number.isdecimal() for number in numbers):
            raise CurationError(f"{self.url} is not Label Studio", ADDRESS)
        if tuple(map(int, numbers)) < OLDEST:
            raise CurationError(
                f"{self.url} is Label Studio {release}",
                f"it must be {'.'.join(map(str, OLDEST))} or newer: update it",
            )
        self.do(lambda: self.sdk.users.whoami())

    def ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: object = None,
        sure: bool = True,
    ) -> Any:
        """Send a request that the SDK does not offer, or whose reply it would change.

        For the errors and ``sure`` see ``do``.
        """

        def ask() -> Any:
            reply = self._send(method, f"/api/{path}", params=params, json=json)
            if reply.status >= 300:
                raise FailedError(self._judged())
            return orjson.loads(reply.content) if reply.content else None

        return self.do(ask, sure=sure)

    def _send(self, method: str, path: str, **content: Any) -> Reply:
        """Send a request once.

        Raises:
            FailedError: there is no reply.
        """
        reply = self._server.send(method, path, **content)
        if isinstance(reply, Reply) and reply.status == 401 and self._key.count(".") == 2:
            # A personal access token only gives the token for the next minutes.
            body, no_key = {"refresh": self._key}, lambda request: request
            reply = self._server.send("POST", "/api/token/refresh/", json=body, auth=no_key)
            if isinstance(reply, Reply) and reply.status == 200:
                self._reply = reply
                access = parsed_json(reply.content)
                if not isinstance(access, dict):
                    raise ValueError("this has no token")
                self._server.authorize("Bearer", str(access.get("access")))
                reply = self._server.send(method, path, **content)
        if isinstance(reply, Failure):
            raise FailedError(reply)
        self._reply = reply
        return reply

    def do(self, act: Callable[[], T], *, sure: bool = True) -> T:
        """Send a request, and send it again if it failed for a passing reason.

        Args:
            act: sends the request.
            sure: whether it may be sent twice.

        Raises:
            UnsureError: it may not be sent twice, and the server may have acted on it.
            CurationError: it failed finally.
        """

        def send() -> T | Failure:
            try:
                return act()
            except FailedError as error:
                failure = error.failure
            except (self._sdk_error, ValueError, RecursionError):
                failure = self._judged()
            if failure.acted and not sure:
                raise UnsureError(failure)
            return failure

        return Gate(self._waits, notice=self._tell, pause=self._pause).run(send)

    def settle(self, act: Callable[[], T]) -> T:
        """Make a change that first checks what is there; repeat it if its outcome is not known.

        The server may still act on a request whose answer was lost. So this then waits a little at
        the end, and the caller has to look whether something is there twice.

        Raises:
            CurationError: it failed finally.
        """
        unsure = False

        def send() -> T | Failure:
            nonlocal unsure
            try:
                return act()
            except UnsureError as error:
                unsure = True
                return error.failure

        done = Gate(self._waits, notice=self._tell, pause=self._pause).run(send)
        if unsure:
            self._pause(LATE)
        return done

    def _judged(self) -> Failure:
        """Why the last reply is of no use, if another try may succeed.

        Raises:
            CurationError: no other try will.
        """
        status, message = self._reply.status, _gist(self._reply.text)
        if status < 300:
            raise CurationError(f"{self.url}: the answer is not from Label Studio", ADDRESS)
        if status in {401, 403}:
            reason = self._server.hidden(message)
            raise CurationError(f"{self.url}: does not accept the key ({reason})", KEY)
        if status == 404:
            raise GoneError(f"{self.url}: does not have this, or is not Label Studio", ADDRESS)
        fix = "Label Studio does not accept what was sent; its answer says why"
        return self._server.judged(self._reply, message, fix)


def check_address(url: str) -> None:
    """Check that a server's address has nothing secret: it is stored in ``round.json``, and shown.

    Raises:
        CurationError: it has a user name, a password or a query; the message does not repeat them.
    """
    if has_secrets(url):
        raise CurationError(
            f"{show_address(url)}: the address is given with a user name, a password or a query",
            "leave them out, in --url, LABEL_STUDIO_URL and round.json; the key is read from "
            "LABEL_STUDIO_API_KEY",
        )


def healthy(url: str) -> bool:
    """Whether a Label Studio on this machine answers at an address."""
    server = Server(url, timeout=5, advice="", resumes="", here=True)
    try:
        reply = server.send("GET", "/health")
    finally:
        server.close()
    return isinstance(reply, Reply) and reply.status == 200


def taken(host: str, port: int) -> bool:
    """Whether something already listens on a port."""
    with socket.socket() as end:
        end.settimeout(2)
        return end.connect_ex((host, port)) == 0


def _filter(name: str, kind: str, above: object) -> dict[str, object]:
    return {
        "filter": f"filter:tasks:{name}", "operator": "greater", "type": kind, "value": above
    }  # fmt: skip


def _gist(text: str) -> str:
    """The message of a reply."""
    try:
        return gist(parsed_json(text.encode()))
    except ValueError:
        return gist(text)

"""A connection to a Label Studio server: the only module of this stage that reaches the network.

A server may be slow, restart during a request or lose a connection. So requests that only read are
sent again. Before a request that changes something is sent again, it is checked what was changed.
"""

import importlib
import math
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import orjson
import requests

from curation.files import CurationError
from curation.http import (
    TooLargeError,
    TooSlowError,
    has_secrets,
    hide_secrets,
    read_body,
    show_address,
)
from curation.text.times import moment, read_time

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
LOCAL = {"127.0.0.1", "localhost", "::1"}  # no proxy is used for these
PAGE = 250  # tasks per request: takes a few seconds and little memory
OVERLAP = timedelta(
    seconds=60
)  # changes that the server may still have been writing at the last pull
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATE = 5.0  # seconds within which a server still acts on most requests whose answer was lost
LONGER = 10  # times the timeout, for requests with much data, and for a whole reply
LARGEST = 128 << 20  # bytes of a reply; a page of tasks has a few MiB
FEWEST = 10  # tasks on a page: more pages than that are not what a project has
GOES_ON = "nothing is lost: run this again, and it goes on from there"
ADDRESS = "check the address: the browser shows it before /projects or /user"
PROJECT = "it was deleted on the server: restore it from a backup, or close the round"
KEY = (
    "copy the whole key from Label Studio, at the top right: Account & Settings, then Access Token "
    "or Personal Access Token"
)


_OF_PACKING = ("content-encoding", "content-length", "transfer-encoding")


class UnsureError(CurationError):
    """A change was sent, and it is not known whether it was made."""


class GoneError(CurationError):
    """The requested object does not exist."""


class _Flaw(NamedTuple):
    """Why a request failed."""

    message: str
    fix: str
    passing: bool = False  # another try may succeed
    unsent: bool = False  # the server did certainly not act on it
    gone: bool = False


class Connection:
    """An open connection to one server.

    Attributes:
        url: the server's address.
        sdk: the SDK's client; use it within ``do``.
        timeout: seconds within which the server must answer.
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
            key: an access token, or a personal access token (which the SDK renews by itself).
            tell: called before each wait with a line that explains it.
            timeout: seconds within which the server must answer.
            waits: seconds before each new try.
            pause: waits for a number of seconds.

        Raises:
            CurationError: nothing answers, or it is not a Label Studio, or it is too old, or the
                key is wrong.
        """
        self.url, self.timeout, self._key = url.rstrip("/"), timeout, key.strip()
        self._tell, self._waits, self._pause = tell, tuple(waits), pause
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise CurationError(
                f"{show_address(url)!r} is not an address", "write it as http://… or https://…"
            )
        check_address(url)
        if not key.strip() or not key.isascii():
            raise CurationError(f"no key for {self.url}", KEY)
        try:
            sdk = importlib.import_module("label_studio_sdk")
            errors = importlib.import_module("label_studio_sdk.core.api_error")
            httpx = importlib.import_module("httpx")
        except ImportError as error:
            raise CurationError(
                f"this needs label-studio-sdk ({error})", "pip install 'curation[label-studio]'"
            ) from None
        self._refused: type[Exception] = errors.ApiError
        self._lost: type[Exception] = httpx.TransportError
        self._unsent = (httpx.ConnectError, httpx.ConnectTimeout)
        try:
            client = httpx.Client(timeout=timeout, trust_env=parts.hostname not in LOCAL)
            client.send = self._bounded(client.send, httpx)
        except (ValueError, ImportError, httpx.InvalidURL) as error:  # of HTTP_PROXY and the like
            raise CurationError(
                f"{self.url}: the environment names a proxy that cannot be used ({error})",
                "correct HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or unset them",
            ) from None
        self.sdk: Any = self.do(
            lambda: sdk.LabelStudio(
                # without the final slash the SDK renews tokens at the wrong address
                base_url=f"{self.url}/",
                api_key=key.strip(),
                httpx_client=client,
                max_retries=0,
            )
        )
        self._check()

    def _bounded(self, send: Callable[..., Any], httpx: Any) -> Callable[..., Any]:
        """Send requests as ``send`` does, and read replies up to a size and a time."""

        def bounded(request: Any, **options: Any) -> Any:
            answer = send(request, **{**options, "stream": True})
            parts = answer.iter_bytes()
            try:
                body = read_body(
                    lambda _: next(parts, b""), seconds=LONGER * self.timeout, largest=LARGEST
                )
            except TooLargeError as error:
                raise CurationError(f"{self.url}: {error}", ADDRESS) from None
            except TooSlowError as error:
                raise httpx.ReadTimeout(str(error)) from None
            finally:
                answer.close()
            headers = [(k, v) for k, v in answer.headers.items() if k not in _OF_PACKING]
            return httpx.Response(
                answer.status_code, headers=headers, content=body, request=request
            )

        return bounded

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
        release = str(version.get("release", "")) if isinstance(version, dict) else ""
        numbers = release.split(".")[:2]
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
        """Send a request that the SDK does not offer, or whose reply it would change."""

        def ask() -> Any:
            answer = self.sdk._client_wrapper.httpx_client.request(
                f"api/{path}", method=method, params=params, json=json
            )
            if answer.status_code >= 300:
                raise self._refused(  # type: ignore[call-arg]
                    status_code=answer.status_code, headers=dict(answer.headers), body=answer.text
                )
            return orjson.loads(answer.content) if answer.content else None

        return self.do(ask, sure=sure)

    def do(self, act: Callable[[], T], *, sure: bool = True) -> T:
        """Send a request, and send it again if it failed for a passing reason.

        Args:
            act: sends the request.
            sure: whether it may be sent twice.

        Raises:
            UnsureError: it may not be sent twice, and the server may have acted on it.
            CurationError: it failed finally.
        """
        waits = iter(self._waits)
        while True:
            try:
                return act()
            except (self._lost, self._refused, ValueError) as error:
                flaw = self._flaw(error)
            if flaw.gone:
                raise GoneError(f"{self.url}: {flaw.message}", flaw.fix)
            if not flaw.passing:
                raise CurationError(f"{self.url}: {flaw.message}", flaw.fix)
            if not (sure or flaw.unsent):
                raise UnsureError(f"{self.url}: {flaw.message}", flaw.fix)
            self._wait(next(waits, None), flaw.message, flaw.fix)

    def settle(self, act: Callable[[], T]) -> T:
        """Make a change that first checks what is there; repeat it if its outcome is not known.

        The server may still act on a request whose answer was lost. So this then waits a little at
        the end, and the caller has to look whether something is there twice.

        Raises:
            CurationError: it failed finally.
        """
        waits, unsure = iter(self._waits), False
        while True:
            try:
                done = act()
                break
            except UnsureError as error:
                message, fix = error.what.removeprefix(f"{self.url}: "), error.fix
            unsure = True
            self._wait(next(waits, None), message, fix)
        if unsure:
            self._pause(LATE)
        return done

    def _wait(self, seconds: float | None, message: str, fix: str) -> None:
        if seconds is None:
            raise CurationError(f"{self.url}: {message}", fix)
        self._tell(f"{self.url}: {message}; trying again in {math.ceil(seconds)} s")
        self._pause(seconds)

    def _flaw(self, error: Exception) -> _Flaw:
        flaw = self._why(error)
        message, fix = (hide_secrets(text, self._key) for text in (flaw.message, flaw.fix))
        return flaw._replace(message=message, fix=fix)

    def _why(self, error: Exception) -> _Flaw:
        if isinstance(error, self._lost):
            unsent = isinstance(error, self._unsent)
            why = str(error) or f"no answer within {self.timeout:g} s"
            message = f"no connection ({why})" if unsent else f"the connection failed ({why})"
            return _Flaw(
                message, f"check that the server runs and can be reached; {GOES_ON}", True, unsent
            )
        status, body = getattr(error, "status_code", None), getattr(error, "body", None)
        if status is None or status < 300:
            return _Flaw("the answer is not from Label Studio", ADDRESS)
        message = f"answered {status}: {_gist(body)}"
        if status in {408, 425, 429} or status >= 500:
            # 425, 429 and 503 say that the server did not act; after 500 a part may have been done.
            return _Flaw(message, f"it may be busy: {GOES_ON}", True, status in {425, 429, 503})
        if status in {401, 403}:
            return _Flaw(f"does not accept the key ({_gist(body)})", KEY)
        if status == 404:
            return _Flaw("does not have this, or is not Label Studio", ADDRESS, gone=True)
        headers = {k.lower(): v for k, v in (getattr(error, "headers", None) or {}).items()}
        if place := headers.get("location"):
            return _Flaw(message, f"if you trust this server, use its address: {place}")
        return _Flaw(message, "Label Studio does not accept what was sent; its answer says why")


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
    with requests.Session() as session:
        session.trust_env = False
        try:
            answer = session.get(f"{url}/health", timeout=5, allow_redirects=False, stream=True)
        except requests.RequestException:
            return False
        return answer.status_code == 200


def taken(host: str, port: int) -> bool:
    """Whether something already listens on a port."""
    with socket.socket() as end:
        end.settimeout(2)
        return end.connect_ex((host, port)) == 0


def _filter(name: str, kind: str, above: object) -> dict[str, object]:
    return {
        "filter": f"filter:tasks:{name}", "operator": "greater", "type": kind, "value": above
    }  # fmt: skip


def _gist(body: object) -> str:
    """A short form of a reply, on one line."""
    content = body
    if isinstance(body, str) and body.lstrip().startswith("{"):
        try:
            content = orjson.loads(body)
        except orjson.JSONDecodeError:
            content = body
    if isinstance(content, dict):
        content = content.get("validation_errors") or content.get("detail") or content
    line = " ".join(str(content).split())
    return f"{line[:200]}…" if len(line) > 200 else line

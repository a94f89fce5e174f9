"""A connection to a Label Studio server: the one module of this stage that reaches the network.

A server may be slow, restart in the middle of a request or lose a connection. So what only asks is
asked again; what changes something looks first at what is there already, and is then done again.
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

T = TypeVar("T")
Tell = Callable[[str], None]

OLDEST = (1, 23)
WAITS = (1.0, 4.0, 15.0)  # seconds before a second, third and fourth try
LOCAL = {"127.0.0.1", "localhost", "::1"}  # where no proxy stands between
PAGE = 250  # tasks asked for at once: a few seconds, and little memory
OVERLAP = timedelta(seconds=60)  # what the server was still writing when it was last asked
LONGER = 10  # times the patience, for a request that brings much
GOES_ON = "nothing is lost: run this again, and it goes on from there"
ADDRESS = "check the address: it is what the browser shows before /projects or /user"
PROJECT = "it was deleted on the server: bring it back from a backup, or close the round"
KEY = (
    "take it from Label Studio, at the top right: Account & Settings, then Access Token or "
    "Personal Access Token, whole"
)


class UnsureError(CurationError):
    """A change was sent and nobody knows whether it was made."""


class GoneError(CurationError):
    """What was asked for is not there."""


class _Flaw(NamedTuple):
    """Why a request failed."""

    what: str
    fix: str
    passing: bool = False  # another try may do
    unsent: bool = False  # the server certainly did not act on it
    gone: bool = False


class Connection:
    """An open connection to one server.

    Attributes:
        url: where it is.
        sdk: the SDK's client; to be used within ``do``.
        timeout: seconds in which the server must say something.
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
        """Open it and see that it works.

        Args:
            url: where the server is.
            key: an access token, or a personal access token (which the SDK renews by itself).
            tell: told before each wait what it is for.
            timeout: seconds in which the server must say something.
            waits: seconds before each new try.
            pause: waits so many seconds.

        Raises:
            CurationError: nothing answers, or no Label Studio, or one too old; or the key is wrong.
        """
        self.url, self.timeout = url.rstrip("/"), timeout
        self._tell, self._waits, self._pause = tell, tuple(waits), pause
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise CurationError(f"{url!r} is no address", "write it as http://… or https://…")
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
        client = httpx.Client(timeout=timeout, trust_env=parts.hostname not in LOCAL)
        self.sdk: Any = self.do(
            lambda: sdk.LabelStudio(
                # without the last stroke the SDK would renew tokens at the wrong address
                base_url=f"{self.url}/",
                api_key=key.strip(),
                httpx_client=client,
                max_retries=0,
            )
        )
        self._check()

    def tasks(self, project: int, fields: str) -> Iterator[dict[str, Any]]:
        """All of a project's tasks by id, with these fields of them and of their annotations."""
        return chain.from_iterable(self.pages(project, fields))

    def pages(
        self, project: int, fields: str, *, since: str | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """A project's tasks by id. A page begins after the last id, not at a number: tasks that are
        deleted meanwhile would shift the numbers, and others be left out.
        """
        last = 0
        while page := self.page(project, fields, after=last, since=since)["tasks"]:
            yield page
            last = page[-1]["id"]

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
        """Tasks whose ids come after one, and that changed from about a time on."""
        items = [_filter("id", "Number", after)]
        if since is not None:
            moment = datetime.fromisoformat(since).astimezone(UTC) - OVERLAP
            items.append(_filter("updated_at", "Datetime", f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"))
        query = {"filters": {"conjunction": "and", "items": items}, "ordering": [order]}
        asked = {
            "project": project, "fields": "all", "include": fields, "page_size": size,
            "query": orjson.dumps(query).decode(),
        }  # fmt: skip
        try:
            page: dict[str, Any] = self.ask("GET", "tasks/", params=asked)
        except GoneError:
            raise GoneError(f"{self.url} has no project {project}", PROJECT) from None
        return page

    def _check(self) -> None:
        """That a Label Studio is there, not too old, and takes the key."""
        said = self.ask("GET", "version")
        release = str(said.get("release", "")) if isinstance(said, dict) else ""
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
        """One request that the SDK has no words for, or whose answer it would change."""

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
        """Ask, and ask again what fails only for now.

        Args:
            act: the request.
            sure: whether it may be sent twice.

        Raises:
            UnsureError: it may not, and the server may have acted on it.
            CurationError: it failed for good.
        """
        waits = iter(self._waits)
        while True:
            try:
                return act()
            except (self._lost, self._refused, ValueError) as error:
                flaw = self._flaw(error)
            if flaw.gone:
                raise GoneError(f"{self.url}: {flaw.what}", flaw.fix)
            if not flaw.passing:
                raise CurationError(f"{self.url}: {flaw.what}", flaw.fix)
            if not (sure or flaw.unsent):
                raise UnsureError(f"{self.url}: {flaw.what}", flaw.fix)
            self._wait(next(waits, None), flaw.what, flaw.fix)

    def settle(self, act: Callable[[], T]) -> T:
        """Do what looks first at what is there, and do it again where its end is not known.

        Raises:
            CurationError: it failed for good.
        """
        waits = iter(self._waits)
        while True:
            try:
                return act()
            except UnsureError as error:
                what, fix = error.what.removeprefix(f"{self.url}: "), error.fix
            self._wait(next(waits, None), what, fix)

    def _wait(self, seconds: float | None, what: str, fix: str) -> None:
        if seconds is None:
            raise CurationError(f"{self.url}: {what}", fix)
        self._tell(f"{self.url}: {what}; trying again in {math.ceil(seconds)} s")
        self._pause(seconds)

    def _flaw(self, error: Exception) -> _Flaw:
        if isinstance(error, self._lost):
            unsent = isinstance(error, self._unsent)
            why = str(error) or f"no answer within {self.timeout:g} s"
            what = f"no connection ({why})" if unsent else f"the connection failed ({why})"
            return _Flaw(
                what, f"see that the server runs and is reachable; {GOES_ON}", True, unsent
            )
        status, body = getattr(error, "status_code", None), getattr(error, "body", None)
        if status is None or status < 300:
            return _Flaw("answers with something that is not Label Studio's", ADDRESS)
        what = f"answered {status}: {_gist(body)}"
        if status in {408, 425, 429} or status >= 500:
            # It says itself that it did not act; after 500 a part may have been done.
            return _Flaw(what, f"it may be busy: {GOES_ON}", True, status in {425, 429, 503})
        if status in {401, 403}:
            return _Flaw(f"does not accept the key ({_gist(body)})", KEY)
        if status == 404:
            return _Flaw("has no such thing, or is not Label Studio", ADDRESS, gone=True)
        headers = {k.lower(): v for k, v in (getattr(error, "headers", None) or {}).items()}
        if place := headers.get("location"):
            return _Flaw(what, f"if you trust the place, give its address: {place}")
        return _Flaw(what, "Label Studio does not take what was sent; what it says tells why")


def healthy(url: str) -> bool:
    """Whether a Label Studio of this machine answers there."""
    with requests.Session() as session:
        session.trust_env = False
        try:
            answer = session.get(f"{url}/health", timeout=5, allow_redirects=False)
        except requests.RequestException:
            return False
        return answer.status_code == 200


def taken(host: str, port: int) -> bool:
    """Whether something listens on a port already."""
    with socket.socket() as end:
        end.settimeout(2)
        return end.connect_ex((host, port)) == 0


def _filter(name: str, kind: str, above: object) -> dict[str, object]:
    return {
        "filter": f"filter:tasks:{name}", "operator": "greater", "type": kind, "value": above
    }  # fmt: skip


def _gist(body: object) -> str:
    """What an answer says, in a line."""
    said = body
    if isinstance(body, str) and body.lstrip().startswith("{"):
        try:
            said = orjson.loads(body)
        except orjson.JSONDecodeError:
            said = body
    if isinstance(said, dict):
        said = said.get("validation_errors") or said.get("detail") or said
    line = " ".join(str(said).split())
    return f"{line[:200]}…" if len(line) > 200 else line

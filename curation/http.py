"""How services are reached over HTTP: what is sent, what may come back, when it is sent again.

A service has a module of its own, which knows its requests and its errors. It sends them through a
``Server``, and a ``Gate`` decides when they are sent again. ``Retry`` of urllib3 reads the header
``Retry-After`` and does no more: it sees neither the body of an answer nor the other threads, and
its waits are not reported and cannot be stopped.
"""

import math
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import orjson
import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from requests.exceptions import InvalidProxyURL, InvalidSchema, InvalidURL, ProxyError, SSLError
from urllib3.exceptions import (
    HTTPError,
    InvalidHeader,
    MaxRetryError,
    ProxySchemeUnknown,
    ReadTimeoutError,
)
from urllib3.util import Retry

from curation.files import CurationError
from curation.text.wording import hide_secrets, login_secrets, show_address
from curation.version import __version__

LARGEST = 128 << 20  # bytes of an answer, uncompressed
DEEPEST = 100  # levels of JSON in an answer
PATIENCE = 10  # times the time without any answer: some servers send blanks while a model thinks
CONNECTING = 10.0  # seconds
LONGEST = 600.0  # seconds; if a server asks for a longer wait, the command ends
LOCAL = {"127.0.0.1", "localhost", "::1"}  # no proxy in between, and nobody can listen
PASSING = {408, 425, 429}  # and all from 500: the same request may be answered later
OWN = 10  # a request that fails so often while others are answered fails because of its content
LONG = 15.0  # seconds; waits for a rate limit that are at least so long are always reported
OFTEN = 60.0  # seconds; short waits after other failures are not reported more often than this
_PART = 1 << 16
_FAR = 1e8  # seconds, about three years: a longer wait is the same to the user
_HOPELESS = (InvalidURL, SSLError)
_OF_PROXIES = (ProxyError, InvalidProxyURL, InvalidSchema)  # the last without PySocks
_PROXIES = "correct HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or unset them"
_WHERE = re.compile(r"<[^>]*>: |HTTPS?Connection\([^)]*\): ")  # precedes the reason
_SECRET = re.compile(r"key|token|secret|password|sig|code", re.IGNORECASE)  # in a query

Answer = TypeVar("Answer")


# --- what came back, or why nothing did


class Reply(NamedTuple):
    """A response; the names of its headers may be in any case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode("utf-8", "replace")


class Failure(NamedTuple):
    """Why a request failed, if a new try may help.

    Attributes:
        reason: what happened.
        fix: what the user can do if no new try helps.
        wait: seconds that the server asks to wait; 0 if it does not say.
        limited: the server has too many requests, so that no thread may send one now.
        acted: whether the server may have acted on it.
        waits: seconds before each new try after a failure of this kind; empty for the gate's.
        status: the HTTP status; 0 without a response.
        body: what the server sent, without keys; or the reason.
    """

    reason: str
    fix: str
    wait: float = 0.0
    limited: bool = False
    acted: bool = True
    waits: tuple[float, ...] = ()
    status: int = 0
    body: dict[str, object] | None = None


class FailedError(CurationError):
    """A request failed in all its tries.

    Attributes:
        failure: of the last try.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason, failure.fix)
        self.failure = failure


class RefusedError(Exception):
    """The server does not accept this request as it is; another request may work.

    Attributes:
        status: the HTTP status.
        body: what the server sent, without keys.
    """

    def __init__(self, reason: str, status: int = 0, body: dict[str, object] | None = None) -> None:
        super().__init__(reason)
        self.status, self.body = status, body or {}


def asked_wait(headers: Mapping[str, str]) -> float:
    """The seconds that a server asks to wait, from ``retry-after-ms`` or ``Retry-After``; or 0.

    ``Retry-After`` has seconds or a date.

    >>> asked_wait({"Retry-After": "2.5"}), asked_wait({"retry-after-ms": "80", "Retry-After": "1"})
    (2.5, 0.08)
    >>> asked_wait({"Retry-After": "soon"}), asked_wait({})
    (0.0, 0.0)
    """
    for name, unit in (("retry-after-ms", 1000), ("Retry-After", 1)):
        with suppress(ValueError):
            if math.isfinite(wait := float(headers.get(name, "")) / unit):
                return min(max(0.0, wait), _FAR)
    with suppress(InvalidHeader, ValueError, TypeError, OverflowError, IndexError):
        return Retry().parse_retry_after(headers.get("Retry-After", ""))
    return 0.0


def shorten(text: object) -> str:
    """A text on one line of at most 200 characters, as a message shows it."""
    line = " ".join(str(text).split())
    return f"{line[:200]}…" if len(line) > 200 else line


def gist(content: Any) -> str:
    """The message of an answer, in one line.

    >>> gist({"error": {"message": "no such model"}})
    'no such model'
    """
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    for name in ("error", "message", "validation_errors", "detail", "list"):
        if isinstance(content, dict):
            content = content.get(name) or content
    return shorten(content)


def deep(value: Any, levels: int = DEEPEST) -> bool:
    """Whether a JSON value is nested so deeply that it cannot be stored.

    >>> deep([[[1]]], 2), deep([[1], [2]], 2)
    (True, False)
    """
    children = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(
        deep(each, levels - 1) for each in children if isinstance(each, dict | list)
    )


def parsed_json(content: bytes) -> Any:
    """The JSON of an answer.

    Raises:
        ValueError: it is not JSON, or nested too deeply to be an answer of a service.
    """
    value = orjson.loads(content)
    if content.count(b"[") + content.count(b"{") > DEEPEST and deep(value):
        raise ValueError("nested too deeply")
    return value


# --- one request


class BodyError(Exception):
    """The answer is too large, or does not end in time."""


class _Adapter(HTTPAdapter):
    """Knows the connection that each thread uses, so that a timer can end an answer.

    The time limits of requests are of single reads. So headers that trickle, and "100 Continue"
    again and again, would have none.
    """

    def __init__(self, **how: Any) -> None:
        self.used: dict[int, Any] = {}
        super().__init__(**how)

    def get_connection_with_tls_context(self, *args: Any, **how: Any) -> Any:
        """The pool of connections to a server, whose connections are remembered by thread."""
        pool: Any = super().get_connection_with_tls_context(*args, **how)
        if not hasattr(pool.ConnectionCls, "line"):
            pool.ConnectionCls = _known(pool.ConnectionCls, self.used)
        return pool

    def end(self, thread: int, late: threading.Event) -> None:
        """End the answer that a thread waits for."""
        late.set()
        connection = self.used.get(thread)
        line: Any = connection and (connection.sock or connection.line)
        with suppress(OSError, TypeError):  # not connected yet, or not any more
            socket.socket.shutdown(line, socket.SHUT_RDWR)  # that of TLS would not wake the thread


def _known(kind: Any, used: dict[int, Any]) -> Any:
    class Known(kind):  # type: ignore[misc]
        line: socket.socket | None = None  # also after the last answer on it has begun

        def connect(self) -> None:
            used[threading.get_ident()] = self
            super().connect()

        def request(self, *args: Any, **how: Any) -> None:
            used[threading.get_ident()] = self
            super().request(*args, **how)
            self.line = self.sock

    return Known


def read_body(read: Callable[[int], bytes], *, seconds: float) -> bytes:
    """The body of a response, of at most ``LARGEST`` bytes.

    Args:
        read: reads at most this number of bytes, and waits only for the first; b"" at the end.
        seconds: the longest time for the whole body.

    Raises:
        BodyError: the body is larger, or takes longer.
    """
    end, parts, size = time.monotonic() + seconds, list[bytes](), 0
    while part := read(_PART):
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise BodyError(f"the answer is larger than {LARGEST >> 20} MiB")
        if time.monotonic() > end:
            raise BodyError(f"the answer did not end within {seconds:g} s")
    return b"".join(parts)


def split_address(url: str) -> SplitResult:
    """The parts of a server's address.

    Raises:
        CurationError: it is not an http or https address.
    """
    try:
        parts = urlsplit(url.strip())
        labels = (parts.hostname or "").removesuffix(".").split(".")
        fits = parts.scheme in {"http", "https"} and parts.port != 0
        fits = fits and all(0 < len(label) < 64 for label in labels)
    except ValueError:  # the port is not a number
        fits = False
    if not fits:
        raise CurationError(
            f"{show_address(url)!r} is not an address", "write it as http://… or https://…"
        )
    return parts


def plain_address(parts: SplitResult) -> str:
    """An address without user name, password and query."""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class _Authorization(AuthBase):
    """Sends a key. A plain header would be replaced by the credentials in ~/.netrc."""

    def __init__(self, header: str) -> None:
        self._header = header

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = self._header
        return request


class Server:
    """A service at an address.

    Redirects are not followed, so no other host gets a key, and none is sent unencrypted. A body
    may have ``LARGEST`` bytes, and an answer take ``PATIENCE`` times the time without any answer.
    Whatever is secret is not in the reason of a failure.

    Attributes:
        url: the address without user name, password and query.
        name: what messages call the service.
        secrets: keys and passwords.
    """

    def __init__(
        self,
        address: str,
        *,
        timeout: float,
        advice: str,
        resumes: str,
        name: str = "",
        contact: str = "",
        threads: int = 1,
        here: bool = False,
    ) -> None:
        """Prepare the connection; nothing is sent.

        Args:
            address: the address. Its user name and password, and its query, are sent each time.
            timeout: seconds without any answer after which a request has failed.
            advice: how to correct the address.
            resumes: what becomes of the work if the service cannot be reached.
            name: what messages call the service; by default its ``url``.
            contact: how its operators can reach the user.
            threads: requests under way at the same time.
            here: the service is on this machine, whatever its host name; no proxy is used.
        """
        parts = urlsplit(address)
        self.url = plain_address(parts)
        self.name = name or self.url
        self._query = f"?{parts.query}" if parts.query else ""
        self._timeout, self._advice, self._resumes = timeout, advice, resumes
        user, password = (unquote(part or "") for part in (parts.username, parts.password))
        query = [value for name, value in parse_qsl(parts.query) if _SECRET.search(name)]
        self.secrets = [
            *filter(None, (*login_secrets(user, password), parts.password)),
            *(value for value in query if len(value) > 5),
        ]
        self._session = requests.Session()
        self._session.trust_env = not here and parts.hostname not in LOCAL
        about = f" ({contact})" if contact else ""
        self._session.headers["User-Agent"] = (
            f"curation/{__version__}{about} requests/{requests.__version__}"
        )
        if parts.username:
            self._session.auth = (user, password)
        self._adapter = _Adapter(pool_maxsize=threads)
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, self._adapter)

    def authorize(self, scheme: str, key: str) -> None:
        """Send a key with every request from now on."""
        self._session.auth = _Authorization(f"{scheme} {key}")
        self.secrets.append(key)

    @property
    def authorized(self) -> bool:
        """Whether requests have a key or a password."""
        return bool(self._session.auth)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def send(
        self, method: str, path: str = "", *, timeout: float | None = None, **content: Any
    ) -> Reply | Failure:
        """Send a request once.

        Args:
            method: the HTTP method.
            path: what is added to the address.
            timeout: as for the server, for this request.
            content: arguments of ``requests.request``: params, headers, json, data.

        Raises:
            CurationError: no request can be sent to this address.
        """
        seconds, late, me = timeout or self._timeout, threading.Event(), threading.get_ident()
        timer = threading.Timer(PATIENCE * seconds, self._adapter.end, (me, late))
        timer.daemon = True
        timer.start()
        try:
            with self._session.request(
                method, f"{self.url}{path}{self._query}", stream=True, allow_redirects=False,
                timeout=(min(CONNECTING, seconds), seconds), **content,
            ) as response:  # fmt: skip
                # ``read`` would wait for all bytes of a slow server.
                read = partial(response.raw.read1, decode_content=True)
                body = read_body(read, seconds=PATIENCE * seconds)
        except (requests.RequestException, HTTPError, BodyError) as error:
            if not late.is_set():
                return self._broken(error, seconds)
        finally:
            timer.cancel()
            self._adapter.used.pop(me, None)
        if late.is_set():  # an answer without a length may look whole
            return self.lost(f"the answer did not end within {PATIENCE * seconds:g} s")
        return Reply(response.status_code, response.headers, body)

    def _broken(self, error: Exception, seconds: float) -> Failure:
        cause = next((part for part in error.args if isinstance(part, Exception)), error)
        why = _WHERE.sub("", str(getattr(cause, "reason", cause)))
        if isinstance(error, _OF_PROXIES) or isinstance(cause, ProxySchemeUnknown):
            what = self.hidden(f"the environment names a proxy that cannot be used ({why})")
            raise CurationError(f"{self.name}: {what}", _PROXIES) from None
        if isinstance(error, _HOPELESS):
            what = self.hidden(f"no connection ({why})")
            raise CurationError(f"{self.name}: {what}", self._advice) from None
        if isinstance(cause, MaxRetryError):
            return self.lost(f"no connection ({why})", acted=False)
        if isinstance(cause, ReadTimeoutError):
            return self.lost(f"no answer within {seconds:g} s")
        limit = isinstance(cause, BodyError)
        return self.lost(why if limit else f"the connection failed ({why})")

    def lost(self, why: str, *, acted: bool = True) -> Failure:
        """The failure of a request that got no answer."""
        fix = f"check that the server runs and can be reached; {self._resumes}"
        return Failure(self.hidden(f"{self.name}: {why}"), fix, acted=acted)

    def judged(self, reply: Reply, message: str, fix: str) -> Failure:
        """Why a reply has no result, if another try may get one.

        Args:
            reply: the reply.
            message: what it says.
            fix: what to do if no other try helps, unless it names another address.

        Raises:
            CurationError: no other try helps.
        """
        status, wait = reply.status, asked_wait(reply.headers)
        reason = self.hidden(f"{self.name}: answered {status}: {message}")
        if status in PASSING or status >= 500:
            limited = status == 429 or (status == 503 and wait > 0)
            busy = f"the server may be busy, try again later; {self._resumes}"
            # These say that the server did not act. After 500 a part may have been done.
            acted = status not in {425, 429, 503}
            return Failure(reason, busy, wait, limited, acted, status=status)
        if place := reply.headers.get("Location"):
            fix = f"if you trust this address, use it: {self.hidden(place)}"
        raise CurationError(reason, fix)

    def hidden(self, text: str) -> str:
        """A text without what is secret: some servers repeat it in errors."""
        return hide_secrets(text, *self.secrets)


# --- when a request is sent again


class Gate:
    """Decides when a request is sent and sent again. All threads of a connection share it.

    After a rate limit no thread sends anything before the time that the server names. Tries are
    counted since the last answer that any thread got. So a slow rate limit does not end a long
    run, and a server that answers nobody ends it after the last wait.

    Attributes:
        stopped: set it to end all waiting.
        pause: called to wait; its argument is in seconds.
    """

    def __init__(
        self,
        waits: Sequence[float],
        *,
        notice: Callable[[str], None],
        pause: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the gate, which is open.

        Args:
            waits: seconds before each new try.
            notice: receives a message before a wait.
            pause: called to wait; by default it ends early if ``stopped`` is set.
            clock: the time in seconds.
        """
        self.stopped = threading.Event()
        self.pause = pause or self.stopped.wait
        self._waits, self._notice, self._clock = tuple(waits), notice, clock
        self._lock = threading.Lock()
        self._until = 0.0  # nothing is sent before this time
        self._answers = 0
        self._notices = 0
        self._reported = {True: 0.0, False: 0.0}  # the longest waits, for a rate limit or not
        self._failed = -OFTEN  # when a failure that is not a rate limit was reported

    def run(self, send: Callable[[], Answer | Failure], *, once: bool = False) -> Answer:
        """Send a request until it is answered, and return the answer.

        Args:
            send: sends the request once.
            once: do not try again.

        Raises:
            FailedError: no thread got an answer during all tries, or this request alone fails.
            CurationError: the server asks for a wait of more than ``LONGEST``, or all is stopped.
        """
        tries, fruitless = Counter[tuple[float, ...]](), Counter[tuple[float, ...]]()
        waited, answers = 0.0, self._answers
        while True:
            waited = self._enter(waited)
            notices = self._notices
            try:
                answer = send()
            except RefusedError:
                self._count_answer()
                raise
            if not isinstance(answer, Failure):
                self._count_answer()
                return answer
            if answers != self._answers:
                fruitless.clear()
                answers = self._answers
            waits = answer.waits or self._waits
            tries[waits] += 1
            fruitless[waits] += 1
            if answer.wait > LONGEST:
                hours = timedelta(seconds=int(answer.wait))
                raise CurationError(f"{answer.reason}; it asks to wait {hours} h", answer.fix)
            if self.stopped.is_set():
                raise CurationError(answer.reason, answer.fix)
            alone = tries[waits] >= OWN and not answer.limited
            if once or alone or fruitless[waits] > len(waits):
                raise FailedError(answer)
            # A request that fails by itself waits longer each time, also if others are answered.
            step = fruitless[waits] if answer.limited else min(tries[waits], len(waits))
            wait = max(waits[step - 1], answer.wait)
            with self._lock:
                if answer.limited:
                    waited = max(waited, self._clock() + wait)
                    self._until = max(self._until, waited)
                # Requests that were under way at the last notice have failed for the same reason.
                say = notices == self._notices and self._is_news(answer, wait)
                self._notices += say
            if say:
                self._notice(f"{answer.reason}; trying again in {math.ceil(wait)} s")
            self.pause(wait)
            if self.stopped.is_set():
                raise CurationError(answer.reason, answer.fix)

    def _is_news(self, failure: Failure, wait: float) -> bool:
        """Whether to report a wait. A long run has many short waits for the same cause."""
        longest, time = self._reported[failure.limited], self._clock()
        self._reported[failure.limited] = max(longest, wait)
        news = wait > longest or wait >= LONG
        if not failure.limited and (news := news or time - self._failed >= OFTEN):
            self._failed = time
        return news

    def _count_answer(self) -> None:
        with self._lock:
            self._answers += 1

    def _enter(self, waited: float) -> float:
        """Wait until the gate is open, if this thread has not waited until ``waited`` already."""
        while (until := self._until) > waited and not self.stopped.is_set():
            rest = until - self._clock()
            if rest > 0:
                self.pause(rest)
            waited = until
        return waited

"""The connection to a completions or chat endpoint: requests, retries and the key.

The only module of ``models/`` that reaches the network. Model hubs are reached by transformers.
"""

import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from requests.exceptions import InvalidSchema, InvalidURL, ProxyError, SSLError
from urllib3.exceptions import HTTPError, ReadTimeoutError

from curation import __version__
from curation.files import CurationError
from curation.http import (
    HIDDEN,
    PATIENCE,
    TooLargeError,
    TooSlowError,
    hide_secrets,
    login_secrets,
    read_body,
    show_address,
)
from curation.models.endpoint.echoes import NEVER, TOO_LONG

FILTERED = re.compile(
    r"content.?filter|content.?policy|content management policy|ResponsibleAI"
    r"|safety (system|filter|polic|setting)|(?-i:\bSAFETY\b)|prohibited.?content"
    r"|requires moderation|moderation_blocked|was flagged|data_inspection_failed"
    r"|inappropriate content|content exists risk|sensitive (content|word)",
    re.IGNORECASE,
)
"""A content filter has refused a text: Azure, OpenAI, Gemini, OpenRouter, Alibaba, DeepSeek."""
WRONG_MODEL = re.compile(
    r"model_not_found|(invalid|unknown|incorrect|no such) model\b|not a valid model"
    r"|\bmodel:?(\s+\S+)?\s+((does |did )?not|doesn't|didn't|is not|isn't) (exist|found|available)",
    re.IGNORECASE,
)
NO_CHAT = re.compile(
    r"not a chat model|(not|n't) (support|work with) (the )?chat|chat.?completions?\b"
    r"( api| endpoint| operation)?( is| does)? (not|cannot) (supported|available|work|be used)",
    re.IGNORECASE,
)
IS_CHAT = re.compile(r"is a chat model|chat/completions", re.IGNORECASE)
NO_TEMPLATE = re.compile(r"chat.?template", re.IGNORECASE)
LARGE_MAX_TOKENS = re.compile(
    r"max_(completion_)?tokens\W.{0,60}"
    r"(too (large|high|big)|at most|exceed|less than|maximum|valid range)",
    re.IGNORECASE,
)
_FAR = 1e8  # seconds, about three years: a longer wait is the same to the user
_CODES = (
    *("error", "message", "msg", "detail", "code", "type", "status"),
    *("innererror", "metadata", "reason", "reasons"),
)


def error_in(content: Any) -> Any:
    """The error in an answer that was sent as a success, also inside of its choice; or None."""
    if not isinstance(content, dict):
        return None
    if content.get("error"):
        return content["error"]
    choices = content.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice.get("error") if isinstance(choice, dict) else None


def gist(content: Any) -> str:
    """The message of an answer, in one line.

    >>> gist({"error": {"message": "no such model"}})
    'no such model'
    """
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    for name in ("error", "message", "detail", "list"):
        if isinstance(content, dict):
            content = content.get(name) or content
    line = " ".join(str(content).split())
    return f"{line[:200]}…" if len(line) > 200 else line


def words(content: Any) -> str:
    """The messages and codes of an error, without what it repeats of the request.

    >>> words({"error": {"message": "no", "code": "content_filter"}, "input": "a text"})
    'no content_filter'
    """
    if isinstance(content, Mapping):
        return " ".join(filter(None, (words(content.get(name)) for name in _CODES)))
    if isinstance(content, list):
        return " ".join(filter(None, map(words, content)))
    return str(content) if isinstance(content, str | int) else ""


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """A copy of a JSON value with every text cleaned, also the names of fields."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(each, clean) for each in value]
    if isinstance(value, dict):
        return {clean(name): cleaned(each, clean) for name, each in value.items()}
    return value


def deep(value: Any, levels: int = 100) -> bool:
    """Whether a JSON value is nested so deeply that it cannot be stored.

    >>> deep([[[1]]], 2), deep([[1], [2]], 2)
    (True, False)
    """
    children = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(
        deep(each, levels - 1) for each in children if isinstance(each, dict | list)
    )


def asked_wait(headers: Mapping[str, str]) -> float:
    """The seconds that a server asks to wait, from ``retry-after-ms`` or ``Retry-After``; or 0.

    ``Retry-After`` has seconds or a date.

    >>> asked_wait({"Retry-After": "2.5"}), asked_wait({"retry-after-ms": "80", "Retry-After": "1"})
    (2.5, 0.08)
    >>> asked_wait({"Retry-After": "soon"}), asked_wait({})
    (0.0, 0.0)
    """
    for name, unit in (("retry-after-ms", 1000), ("Retry-After", 1)):
        try:
            wait = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if math.isfinite(wait):
            return min(max(0.0, wait), _FAR)
    try:
        date = parsedate_to_datetime(headers.get("Retry-After", ""))
        if date.tzinfo is None:  # «-0000», which dates of servers mean as UTC
            date = date.replace(tzinfo=UTC)
        return min(max(0.0, (date - datetime.now(UTC)).total_seconds()), _FAR)
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0


def read_object(text: str) -> dict[str, Any] | None:
    """A server's answer, ``{"text": text}`` if it is nested too deeply; None if it was cut off."""
    try:
        content = json.loads(text, parse_int=_number)
    except (ValueError, RecursionError):
        return None
    if _too_deep(text, content):
        return {"text": text}
    return content if isinstance(content, dict) else None


def _number(digits: str) -> float:
    """An integer of 64 bits, which can be stored; for a longer one the nearest float."""
    return int(digits) if len(digits) < 19 else float(digits)


def _too_deep(text: str, content: Any) -> bool:
    return text.count("[") + text.count("{") > 100 and deep(content)


def read_reply(text: str) -> dict[str, Any] | None:
    """A chat server's answer as it can be stored: an object without NaN, infinity and half pairs.

    A stream of events becomes ``{"sse": text}``, a value that is nested too deeply
    ``{"text": text}``, and a value that is not an object ``{"list": value}``.
    """
    if text.lstrip().startswith(("data:", "event:", ": ")):
        return {"sse": text}
    try:
        content = json.loads(
            text, parse_constant={"-Infinity": NEVER}.get, parse_int=_number, strict=False
        )
    except (ValueError, RecursionError):
        return None
    if _too_deep(text, content):
        return {"text": text}
    if "\\ud" in text.lower():
        content = cleaned(content, lambda each: each.encode("utf-8", "replace").decode())
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    return content if isinstance(content, dict) else {"list": content}


LONGEST = 600.0  # seconds; if a server asks for a longer wait, the command ends
OWN = 10  # a request that fails so often while others are answered fails because of its content
LONG = 15.0  # seconds; waits for a rate limit that are at least so long are always reported
OFTEN = 60.0  # seconds; short waits after other failures are not reported more often than this
Answer = TypeVar("Answer")


class RefusedError(Exception):
    """The server does not accept this request as it is; another request may work.

    Attributes:
        status: the HTTP status.
        body: what the server sent, without keys.
    """

    def __init__(self, reason: str, status: int = 0, body: dict[str, object] | None = None) -> None:
        super().__init__(reason)
        self.status, self.body = status, body or {}


class Failure(NamedTuple):
    """Why a request failed, if a new try may help.

    Attributes:
        reason: what happened.
        fix: what the user can do if no new try helps.
        wait: seconds that the server asks to wait; 0 if it does not say.
        limited: the server has too many requests, so that no thread may send one now.
        status: the HTTP status; 0 without a response.
        body: what the server sent, without keys; or the reason.
    """

    reason: str
    fix: str
    wait: float = 0.0
    limited: bool = False
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
        tries = fruitless = 0
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
                fruitless, answers = 0, self._answers
            tries, fruitless = tries + 1, fruitless + 1
            if answer.wait > LONGEST or self.stopped.is_set():
                raise CurationError(answer.reason, answer.fix)
            alone = tries >= OWN and not answer.limited
            if once or alone or fruitless > len(self._waits):
                raise FailedError(answer)
            # A request that fails by itself waits longer each time, also if others are answered.
            step = fruitless if answer.limited else min(tries, len(self._waits))
            wait = max(self._waits[step - 1], answer.wait)
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


KEYS = ("CURATION_ENDPOINT_KEY", "OPENAI_API_KEY")
WAITS = (1.0, 4.0, 15.0, 60.0)  # seconds before each new try
LOCAL = {"127.0.0.1", "localhost", "::1"}  # no proxy in between, and nobody can listen
KEY = f"set the environment variable {KEYS[0]} to the right key"
RESUMES = "nothing is lost: run the command again, and it continues from there"
_HOPELESS = (InvalidSchema, InvalidURL, ProxyError, SSLError)
_WHERE = re.compile(r"<[^>]*>: |HTTPS?Connection\([^)]*\): ")  # precedes the reason
_ENDS = re.compile(r"(/chat)?/completions$")
_SECRET = re.compile(r"key|token|secret|password|sig|code", re.IGNORECASE)  # in a query
_PASSING = {408, 425, 429}


class Service(NamedTuple):
    """One of the two services of an endpoint.

    Attributes:
        path: what is added to the address.
        read: the content of an answer; None if it was cut off.
        other: tells a model of the other service, by what the server says.
        fix: what to do if the server, or the model, has the other service only.
    """

    path: str
    read: Callable[[str], dict[str, Any] | None]
    other: re.Pattern[str]
    fix: str

    @property
    def address(self) -> str:
        """How to correct the address."""
        return (
            "check the address of the endpoint: it usually ends in /v1, and "
            f"{self.path} is added to it"
        )


class _Bearer(AuthBase):
    """Sends the key. A plain header would be replaced by the credentials in ~/.netrc."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


class Connection:
    """A connection to an endpoint.

    Attributes:
        url: the address of the endpoint, without credentials.
        gate: decides when requests are sent.
        stopped: set it to end all waiting.
    """

    def __init__(
        self,
        url: str,
        service: Service,
        *,
        key: str | None,
        notice: Callable[[str], None],
        timeout: float,
        waits: Sequence[float],
        pause: Callable[[float], object] | None,
        threads: int,
    ) -> None:
        """Prepare the connection; nothing is sent. For the arguments see ``Endpoint``."""
        parts, self.url = _address(url), host(url)
        self._service = service
        self._query = f"?{parts.query}" if parts.query else ""
        self._timeout = timeout
        self.gate = Gate(waits, notice=notice, pause=pause)
        self.stopped = self.gate.stopped
        self._secret = find_key(key, parts)
        self._unsent = not self._secret and bool(os.environ.get(KEYS[1]))
        name, password = (unquote(part or "") for part in (parts.username, parts.password))
        self._secrets = (
            *(self._secret, *login_secrets(name, password), parts.password or ""),
            *(
                value
                for name, value in parse_qsl(parts.query)
                if _SECRET.search(name) and len(value) > 5
            ),
        )
        self._session = requests.Session()
        self._session.trust_env = parts.hostname not in LOCAL
        self._session.headers["User-Agent"] = f"curation/{__version__}"
        if self._secret:
            self._session.auth = _Bearer(self._secret)
        elif parts.username:
            self._session.auth = (name, password)
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=threads))

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def models(self) -> list[dict[str, Any]]:
        """The models that the server lists; [] if it does not list any."""
        address = f"{self.url}/models{self._query}"
        try:
            answer = self._session.get(address, timeout=10, allow_redirects=False, stream=True)
            content = _content(answer, seconds=10 * PATIENCE)
            listed = json.loads(content)["data"] if answer.ok else []
            return [each for each in listed if isinstance(each, dict)]
        except (requests.RequestException, ValueError, KeyError, TypeError, RecursionError):
            return []

    def name_models(self) -> str:
        """The fix for the name of a model that the server does not have."""
        names = self._hidden(", ".join(str(model.get("id")) for model in self.models()[:20]))
        return f"name a model that it has: {names}" if names else "check the name of the model"

    def send(
        self, body: Mapping[str, Any], *, first: bool = False, once: bool = False
    ) -> dict[str, Any]:
        """Send a request, and try again after passing failures.

        Args:
            body: the content of the request.
            first: this request tries out what the server accepts, so 500 and 501 are refusals.
            once: do not try again.

        Raises:
            RefusedError: the server does not accept this request.
            FailedError: it still fails after the last try.
            CurationError: the server cannot be reached, or rejects the key or the model.
        """
        return self.gate.run(lambda: self._send(body, first=first), once=once)

    def _send(self, body: Mapping[str, Any], *, first: bool) -> dict[str, Any] | Failure:
        try:
            response = self._session.post(
                f"{self.url}{self._service.path}{self._query}", json=body,
                timeout=(10, self._timeout), allow_redirects=False, stream=True,
            )  # fmt: skip
            content = _content(response, seconds=PATIENCE * self._timeout)
        except requests.RequestException as error:
            return self._broken(error)
        return self._judged(response, content.decode("utf-8", "replace"), first=first)

    def _broken(self, error: requests.RequestException) -> Failure:
        cause = error.args[0] if error.args else error
        reason = self._hidden(_WHERE.sub("", str(getattr(cause, "reason", cause))))
        if isinstance(error, requests.Timeout) or isinstance(cause, ReadTimeoutError):
            return Failure(
                f"{self.url}: no answer within {self._timeout:g} s",
                f"the server may be busy: {RESUMES}",
            )
        if isinstance(cause, TooLargeError | TooSlowError):
            return Failure(f"{self.url}: {reason}", RESUMES)
        what = f"{self.url}: no connection ({reason})"
        if isinstance(error, _HOPELESS):
            raise CurationError(what, self._service.address) from None
        return Failure(what, f"check that the server runs and can be reached; {RESUMES}")

    def _judged(
        self, response: requests.Response, text: str, *, first: bool
    ) -> dict[str, Any] | Failure:
        """The content of a response, or why it cannot be used.

        Raises:
            RefusedError: the server might accept another request.
            CurationError: no request will work.
        """
        status, content = response.status_code, self._service.read(text)
        line = gist(text if content is None else content)
        reason = self._hidden(f"answered {status}: {line}")
        if status == 200:
            if content is None and text.lstrip().startswith("<"):
                raise CurationError(
                    f"{self.url}: answered with a web page instead of results: "
                    f"{self._hidden(line)}",
                    f"{self._service.address}; or open it in a browser: the network may require a "
                    "log-in",
                )
            if content is None:
                return Failure(f"{self.url}: the answer was cut off", RESUMES)
            error = error_in(content)
            if not error:
                return self._without_keys(content, text)
            # A relay reports a failure of the server behind it as a success.
            code = error.get("code") if isinstance(error, dict) else None
            if not isinstance(code, int) or not (code in _PASSING or code >= 500):
                raise RefusedError(reason, status, self._error_body(content, text))
            status, first = code, False
        # The reason may be a single text, or the form of the request.
        filtered = status in {403, 451} and FILTERED.search(words(content))
        if status in {400, 413, 422} or filtered or (status >= 500 and TOO_LONG.search(line)):
            reason += " (too long)" if status == 413 else ""
            raise RefusedError(reason, status, self._error_body(content, text))
        if status in {500, 501} and first:
            raise RefusedError(reason, status, self._error_body(content, text))
        if status == 402 or (status == 429 and "insufficient_quota" in text):
            raise CurationError(f"{self.url}: {reason}", f"your account is used up; {RESUMES}")
        if status in _PASSING or status >= 500:
            wait = asked_wait(response.headers)
            long = f"; it asks to wait {timedelta(seconds=int(wait))} h" if wait > LONGEST else ""
            return Failure(
                f"{self.url}: {reason}{long}",
                f"the server may be busy, try again later; {RESUMES}",
                wait,
                limited=status == 429 or (status == 503 and wait > 0),
                status=status,
                body=self._error_body(content, text),
            )
        if status in {401, 403}:
            raise self._no_key(reason)
        if status == 404:
            raise self._not_there(reason, line if isinstance(content, dict) else "")
        fix = self._service.address
        if place := response.headers.get("Location"):
            fix = f"if you trust this address, use it: {self._hidden(place)}"
        raise CurationError(f"{self.url}: {reason}", fix)

    def _no_key(self, reason: str) -> CurationError:
        fix = KEY
        if self._unsent:
            fix += f"; {KEYS[1]} is not sent unencrypted to another machine (use https://)"
        sent = "" if self._secret or self._session.auth else " (none is set)"
        return CurationError(f"{self.url}: does not accept the key{sent}: {reason}", fix)

    def _not_there(self, reason: str, line: str) -> CurationError:
        what, service = f"{self.url}: {reason}", self._service
        if service.other.search(line):
            return CurationError(what, service.fix)
        if re.search("model|deployment", line, re.IGNORECASE):
            return CurationError(what, self.name_models())
        if self.models():
            what = f"{self.url}: the server lists models, but it has no {service.path}: {reason}"
            return CurationError(what, service.fix)
        return CurationError(what, service.address)

    def _error_body(self, content: Any, text: str) -> dict[str, Any]:
        body = content if isinstance(content, dict) else {"text": text[:2000]}
        return dict(cleaned(body, self._hidden))

    def _without_keys(self, content: dict[str, Any], text: str) -> dict[str, Any]:
        """An answer without the key, if a server repeats it; addresses in answers stay."""
        secrets = [re.escape(secret) for secret in self._secrets if secret]
        known = re.compile("|".join(secrets)) if secrets else None
        if not known or not known.search(text.replace("\\/", "/")):
            return content
        return dict(cleaned(content, lambda line: known.sub(HIDDEN, line)))

    def _hidden(self, text: str) -> str:
        """A text without the key and the password: some servers repeat them in errors."""
        return hide_secrets(text, *self._secrets)


def _content(response: requests.Response, *, seconds: float) -> bytes:
    """The body of a response that was requested with ``stream=True``; the response is closed.

    Raises:
        ConnectionError: it is too large, does not end in time, or the connection was lost.
    """
    try:
        with response:
            # ``read`` would wait for all bytes of a slow server.
            read = partial(response.raw.read1, decode_content=True)
            return read_body(read, seconds=seconds)
    except (HTTPError, TooLargeError, TooSlowError) as error:
        raise requests.ConnectionError(error) from None


# --- the two services


COMPLETIONS = Service(
    "/completions",
    read_object,
    IS_CHAT,
    "it may be a chat endpoint: write chat: before the name of the model",
)
CHAT = Service(
    "/chat/completions",
    read_reply,
    NO_CHAT,
    "use a server with a chat endpoint; or leave out chat: before the name, to score the model by "
    "its log-probabilities",
)


# --- addresses and keys


def host(url: str) -> str:
    """An endpoint's address without credentials and query, so that it can be shown and stored.

    Raises:
        CurationError: it is not an http or https address.
    """
    parts = _address(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _address(url: str) -> SplitResult:
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
    return parts._replace(path=_ENDS.sub("", parts.path.rstrip("/")))


def find_key(key: str | None, parts: SplitResult) -> str:
    """The key for an endpoint: as given, or from the environment; "" if there is none.

    OPENAI_API_KEY is not sent without encryption to another machine.

    Raises:
        CurationError: it has characters that a key cannot have.
    """
    own, openai = (os.environ.get(name, "") for name in KEYS)
    if parts.scheme == "http" and parts.hostname not in LOCAL:
        openai = ""
    secret = (key or own or openai).strip()
    if not (secret.isascii() and secret.isprintable()):
        raise CurationError("the endpoint's key has characters that a key cannot have", KEY)
    return secret

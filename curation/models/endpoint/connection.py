"""The connection to a completions or chat endpoint: requests, retries and the key.

The only module of ``models/`` that reaches the network. Model hubs are reached by transformers.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple
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
from curation.models.endpoint.contents import read_object, read_reply
from curation.models.endpoint.echoes import TOO_LONG
from curation.models.endpoint.errors import (
    FILTERED,
    IS_CHAT,
    NO_CHAT,
    asked_wait,
    cleaned,
    error_in,
    gist,
    words,
)
from curation.models.endpoint.gate import LONGEST, Failure, Gate, RefusedError

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

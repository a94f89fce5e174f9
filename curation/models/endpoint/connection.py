"""The connection to a completions endpoint: requests, retries and the key.

The only module of ``models/`` that reaches the network. Model hubs are reached by transformers.
"""

import json
import math
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from requests.exceptions import InvalidSchema, InvalidURL, ProxyError, SSLError
from urllib3.exceptions import InvalidHeader, ReadTimeoutError
from urllib3.util import Retry

from curation import __version__
from curation.addresses import hide_secrets, login_secrets, show_address
from curation.files import CurationError
from curation.models.endpoint.echoes import TOO_LONG

KEYS = ("CURATION_ENDPOINT_KEY", "OPENAI_API_KEY")
WAITS = (1.0, 4.0, 15.0, 60.0)  # seconds before each new try
LONGEST = 600.0  # seconds; if a server asks for a longer wait, the command ends
LOCAL = {"127.0.0.1", "localhost", "::1"}  # no proxy in between, and nobody can listen
ADDRESS = (
    "check the address of the endpoint: it usually ends in /v1, and /completions is added to it"
)
KEY = f"set the environment variable {KEYS[0]} to the right key"
RESUMES = "nothing is lost: run the command again, and it continues from there"
_HOPELESS = (InvalidSchema, InvalidURL, ProxyError, SSLError)
_WHERE = re.compile(r"<[^>]*>: |HTTPS?Connection\([^)]*\): ")  # precedes the reason


class RefusedError(Exception):
    """The server does not accept this request as it is; another request may work."""


class _Failure(NamedTuple):
    """Why a request failed, if a new try may help; ``wait`` is in seconds."""

    reason: str
    fix: str
    wait: float = 0.0


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
        stopped: set it to end all waiting.
        pause: called to wait; its argument is in seconds.
    """

    def __init__(
        self,
        url: str,
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
        self._query = f"?{parts.query}" if parts.query else ""
        self._notice, self._timeout, self._waits = notice, timeout, tuple(waits)
        self.stopped = threading.Event()
        self.pause = pause or self.stopped.wait
        self._secret = find_key(key, parts)
        name, password = (unquote(part or "") for part in (parts.username, parts.password))
        self._secrets = (self._secret, *login_secrets(name, password), parts.password or "")
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
            answer = self._session.get(address, timeout=10, allow_redirects=False)
            return [each for each in json.loads(answer.content)["data"] if isinstance(each, dict)]
        except (requests.RequestException, ValueError, KeyError, TypeError):
            return []

    def send(self, body: Mapping[str, Any], *, first: bool = False) -> dict[str, Any]:
        """Send a request to ``/completions``, and try again after passing failures.

        Args:
            body: the content of the request.
            first: this request tries out what the server accepts, so 500 and 501 are refusals.

        Raises:
            RefusedError: the server does not accept this request.
            CurationError: the server cannot be reached, rejects the key or the model, or still
                fails after the last try.
        """
        waits = iter(self._waits)
        while True:
            try:
                response = self._session.post(
                    f"{self.url}/completions{self._query}", json=body,
                    timeout=(10, self._timeout), allow_redirects=False,
                )  # fmt: skip
            except requests.RequestException as error:
                answer: dict[str, Any] | _Failure = self._broken(error)
            else:
                answer = self._judged(response, first=first)
            if not isinstance(answer, _Failure):
                return answer
            wait = next(waits, None)
            if wait is None or answer.wait > LONGEST or self.stopped.is_set():
                raise CurationError(f"{self.url}: {answer.reason}", answer.fix)
            wait = max(wait, answer.wait)
            self._notice(f"{self.url}: {answer.reason}; trying again in {math.ceil(wait)} s")
            self.pause(wait)

    def _broken(self, error: requests.RequestException) -> _Failure:
        cause = error.args[0] if error.args else error
        reason = self._hidden(_WHERE.sub("", str(getattr(cause, "reason", cause))))
        if isinstance(error, requests.Timeout) or isinstance(cause, ReadTimeoutError):
            return _Failure(
                f"no answer within {self._timeout:g} s", f"the server may be busy: {RESUMES}"
            )
        if isinstance(error, _HOPELESS):
            raise CurationError(f"{self.url}: no connection ({reason})", ADDRESS) from None
        return _Failure(
            f"no connection ({reason})",
            f"check that the server runs and can be reached; {RESUMES}",
        )

    def _judged(self, response: requests.Response, *, first: bool) -> dict[str, Any] | _Failure:
        """The content of a response, or why it cannot be used.

        Raises:
            RefusedError: the server might accept another request.
            CurationError: no request will work.
        """
        status, text = response.status_code, response.content.decode("utf-8", "replace")
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        gist = _gist(text if content is None else content)
        reason = self._hidden(f"answered {status}: {gist}")
        if status == 200 and isinstance(content, dict):
            if content.get("error"):
                raise RefusedError(reason)
            return content
        if status == 200 and text.lstrip().startswith("<"):
            raise CurationError(
                f"{self.url}: answered with a web page instead of results: {self._hidden(gist)}",
                f"{ADDRESS}; or open it in a browser: the network may require a log-in",
            )
        if status == 200:
            return _Failure("the answer was cut off", RESUMES)
        # The reason may be a single text, or the form of the request.
        if status in {400, 413, 422} or (status >= 500 and TOO_LONG.search(gist)):
            raise RefusedError(reason + (" (too long)" if status == 413 else ""))
        if status in {500, 501} and first:
            raise RefusedError(reason)
        if status == 429 and "insufficient_quota" in text:
            raise CurationError(f"{self.url}: {reason}", f"your account is used up; {RESUMES}")
        if status in {408, 425, 429} or status >= 500:
            wait = _retry_after(response.headers.get("Retry-After"))
            long = f"; it asks to wait {timedelta(seconds=int(wait))} h" if wait > LONGEST else ""
            return _Failure(
                reason + long, f"the server may be busy, try again later; {RESUMES}", wait
            )
        fix = ADDRESS
        if status in {401, 403}:
            reason, fix = f"does not accept the key: {reason}", KEY
        elif status == 404 and isinstance(content, dict) and "model" in gist.lower():
            names = self._hidden(", ".join(str(model.get("id")) for model in self.models()[:20]))
            fix = f"name a model that it has: {names}" if names else "check the name of the model"
        elif place := response.headers.get("Location"):
            fix = f"if you trust this address, use it: {self._hidden(place)}"
        raise CurationError(f"{self.url}: {reason}", fix)

    def _hidden(self, text: str) -> str:
        """A text without the key and the password: some servers repeat them in errors."""
        return hide_secrets(text, *self._secrets)


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
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not a number
        fits = False
    if not fits:
        raise CurationError(
            f"{show_address(url)!r} is not an address", "write it as http://… or https://…"
        )
    return parts._replace(path=parts.path.rstrip("/").removesuffix("/completions"))


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


def _retry_after(header: str | None) -> float:
    """The seconds that a server asks to wait."""
    try:
        return float(Retry().parse_retry_after(header)) if header else 0.0
    except InvalidHeader:
        return 0.0


def _gist(content: Any) -> str:
    """The message of an answer, in one line."""
    for name in ("error", "message", "detail"):
        if isinstance(content, dict):
            content = content.get(name) or content
    line = " ".join(str(content).split())
    return f"{line[:200]}…" if len(line) > 200 else line

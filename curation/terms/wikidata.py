"""The connection to a query service: the only module of this stage that uses the network.

The services' operators ask for one request at a time, a contact address, and waiting when the
service says so. They block clients that do not comply for a day. Every good answer is saved on disk
at once, so an interrupted run continues where it stopped.
"""

import math
import re
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit

import orjson
import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import ChunkedEncodingError, ContentDecodingError, ProxyError, SSLError
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import InvalidHeader, MaxRetryError, ReadTimeoutError
from urllib3.util import Retry

from curation import __version__
from curation.files import CurationError, read_bytes, writing
from curation.http import hide_secrets, login_secrets, show_address
from curation.terms import sparql
from curation.text.times import now

ENDPOINTS = {
    "wdqs": "https://query.wikidata.org/sparql",
    "qlever": "https://qlever.dev/api/wikidata",
}
ADDRESS = re.compile(r"https?://[\w.:@%-]+([/?]\S*)?")
WITH_NAME = re.compile(r"(?<=://)[^/?#]*@")
CONTACT = re.compile(r"[^\s@()<>]+@[^\s@()<>]+\.[^\s@()<>]+|https?://[^\s()<>]+\.[^\s()<>]+")
NEVER_THERE = (MaxRetryError, ProxyError, SSLError)
HALFWAY = (requests.ConnectionError, ChunkedEncodingError, ContentDecodingError)
ASKED_TO_WAIT = 60.0  # seconds, if the service does not say how long; its operators' advice
AGAIN = (5.0, 30.0)  # seconds before the second and the third try
GOES_ON = "nothing is lost: the answers so far are saved, and the next run continues from there"
SCAN = "use a dump instead: curation terms scan"


class TooHeavyError(Exception):
    """The service could not answer, but may answer a smaller query; the message has its answer."""


class _Flaw(NamedTuple):
    """A useless answer; another try may give a better one.

    ``wait`` is the time in seconds before the next try. ``fix`` is set if a smaller query would not
    help.
    """

    message: str
    wait: float = 0.0
    fix: str = ""


class _Patience(Retry):
    """Waits as long as the service says, with ``wait``, which informs the user first."""

    wait: Callable[[float, str], None]

    def new(self, **changes: Any) -> Self:
        made = super().new(**changes)
        made.wait = self.wait
        return made

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        if response is None:
            self.wait(2.0 ** len(self.history), "no connection; trying again in")
            return
        try:
            asked = self.get_retry_after(response)
        except InvalidHeader:
            asked = None
        self.wait(asked or ASKED_TO_WAIT, "the service asks to wait")


class Service:
    """An open connection to a query service; every good answer is saved in a folder.

    Attributes:
        url: the address of the service.
        host: its host name, for messages.
        asked: how many queries the service answered.
        cached: how many answers came from the folder.
        oldest: the time of the oldest answer from the folder; None if none was used.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        contact: str,
        cache: Path,
        fresh: bool = False,
        tell: Callable[[str], None] | None = None,
        pause: Callable[[float], None] = time.sleep,
        timeout: tuple[float, float] = (10, 90),
    ) -> None:
        """Open it; nothing is sent yet.

        Args:
            endpoint: a name of ``ENDPOINTS``, or the address of another SPARQL 1.1 service.
            contact: an e-mail address or a web page through which the operators can reach the user.
            cache: the folder of answers.
            fresh: ignore answers that were saved before this moment.
            tell: called with the reason before each wait.
            pause: waits for a number of seconds.
            timeout: seconds to connect, and seconds between two bytes of an answer.

        Raises:
            CurationError: the endpoint or the contact is not valid.
        """
        self.url = _address(endpoint)
        parts = urlsplit(self.url)
        self.host = parts.netloc.rpartition("@")[2]
        name, password = (unquote(part or "") for part in (parts.username, parts.password))
        self._secrets = (*login_secrets(name, password), parts.password or "")
        self.asked = self.cached = 0
        self.oldest: str | None = None
        self._cache, self._fresh, self._timeout = cache, fresh, timeout
        self._tell, self._pause = tell or (lambda _: None), pause
        self._new: set[Path] = set()
        self._contact = _contact(contact)
        self._session = requests.Session()
        self._session.headers["Accept"] = "application/sparql-results+json"
        self._session.headers["User-Agent"] = (
            f"curation/{__version__} ({self._contact}) requests/{requests.__version__}"
        )
        # urllib3 repeats failed connections, and waits if the service gives a time.
        patience = _Patience(
            total=10, connect=3, read=False, status=5, other=0, allowed_methods=None,
            raise_on_status=False,
        )  # fmt: skip
        patience.wait = self._wait
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=patience))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def holds(self, query: str) -> bool:
        """Whether the answer to a query is already on disk."""
        return self._kept(query, lambda rows: None) is not None

    def select(
        self, query: str, *, check: Callable[[list[sparql.Row]], object] = lambda rows: None
    ) -> list[sparql.Row]:
        """The rows that answer a SELECT query, from disk or from the service.

        Args:
            query: the query.
            check: reads the rows; raises ``sparql.OddValueError`` if they are not what was asked
                for. Such an answer is not saved. If it was saved earlier, it is asked for again.

        Raises:
            TooHeavyError: each try failed as if the service ran out of time; a smaller query may
                work.
            CurationError: the service refuses or does not understand the query, cannot be reached,
                or sends a value that the check refuses.
        """
        path = self._path(query)
        if kept := self._kept(query, check):
            asked_at, rows = kept
            if path not in self._new:
                self.cached += 1
                self.oldest = min(self.oldest or asked_at, asked_at)
            return rows
        rows = self._ask(query)
        try:
            check(rows)
        except sparql.OddValueError as error:
            excerpt = " ".join(query.split())[-200:]
            raise CurationError(
                f"{self.host}: unusable answer: {error}; the query was «…{excerpt}»",
                f"use another service (--endpoint), or {SCAN}; {GOES_ON}",
            ) from None
        self.asked += 1
        about = {"endpoint": hide_secrets(self.url), "query": query, "asked_at": now()}
        with writing(path) as file:
            file.write(orjson.dumps({**about, "results": {"bindings": rows}}))
        self._new.add(path)
        return rows

    # --- the answers on disk

    def _path(self, query: str) -> Path:
        address = WITH_NAME.sub("", self.url)  # a password can be guessed from its digest
        return self._cache / f"{sha256((address + query).encode()).hexdigest()}.json"

    def _kept(
        self, query: str, check: Callable[[list[sparql.Row]], object]
    ) -> tuple[str, list[sparql.Row]] | None:
        path = self._path(query)
        if self._fresh and path not in self._new:
            return None
        try:
            content = orjson.loads(read_bytes(path))
            rows, asked_at = sparql.rows(content), content["asked_at"]
            fits = isinstance(asked_at, str) and content["query"] == query
            if fits and rows is not None:
                check(rows)
        except sparql.OddValueError:  # earlier versions saved such answers
            path.unlink(missing_ok=True)
            return None
        except (CurationError, ValueError, KeyError, TypeError):
            return None  # missing or damaged: the service is asked again
        return (asked_at, rows) if fits and rows is not None else None

    # --- one query

    def _ask(self, query: str) -> list[sparql.Row]:
        waits = iter(AGAIN)
        while isinstance(answer := self._post(query), _Flaw):
            wait = next(waits, None)
            if wait is None:
                end = CurationError(f"{self.host}: {answer.message}", answer.fix)
                raise end if answer.fix else TooHeavyError(answer.message)
            self._wait(max(wait, answer.wait), f"{answer.message}; asking again in")
        return answer

    def _wait(self, seconds: float, why: str) -> None:
        self._tell(f"{self.host}: {why} {math.ceil(seconds)} s")
        self._pause(seconds)

    def _post(self, query: str) -> list[sparql.Row] | _Flaw:
        try:
            # POST, because a few hundred items are too long for a URL.
            answer = self._session.post(
                self.url, data={"query": query}, timeout=self._timeout, allow_redirects=False
            )
        except requests.RequestException as error:
            return self._broken(error)
        rows = sparql.bindings(answer.content) if answer.status_code == 200 else None
        return self._flaw(answer) if rows is None else rows

    def _broken(self, error: requests.RequestException) -> _Flaw:
        cause = error.args[0] if error.args else error
        if isinstance(error, requests.ReadTimeout) or isinstance(cause, ReadTimeoutError):
            return _Flaw(f"no answer within {self._timeout[1]:g} s")
        never = isinstance(error, NEVER_THERE) or isinstance(cause, NEVER_THERE)
        if isinstance(error, HALFWAY) and not never:
            return _Flaw("the answer broke off")
        why = str(getattr(cause, "reason", cause)).split(": ", 1)[-1]
        raise CurationError(
            f"{self.host}: no connection ({why})",
            f"check the network and the endpoint's address; {GOES_ON}",
        ) from None

    def _flaw(self, answer: requests.Response) -> _Flaw:
        status, text = answer.status_code, answer.content.decode("utf-8", "replace")
        excerpt = hide_secrets(sparql.gist(text), *self._secrets)
        time_given = "Retry-After" in answer.headers
        message = f"answered {status}: {excerpt}"
        if status == 200 and text.lstrip().startswith("<"):  # a smaller query would not help
            fix = (
                "open the endpoint in a browser: the network may need a log-in, or the address is "
                "not an endpoint"
            )
            return _Flaw(f"answered with a page instead of results: {excerpt}", fix=fix)
        if status == 200:
            return _Flaw(f"the answer was cut off: {excerpt}")
        if status == 429 and not time_given and '"exception"' not in text:
            busy = f"the service is busy; run this again later; {GOES_ON}"
            return _Flaw(message, ASKED_TO_WAIT, busy)
        if status in {413, 414, 429} and not time_given:  # QLever answers 429 if it ran out of time
            raise TooHeavyError(message)
        if status == 408 or (status >= 500 and not (status == 503 and time_given)):
            return _Flaw(message)
        fix = "check the endpoint's address"
        if status == 403:
            fix = (
                "the service does not accept your requests: "
                f"check contact = {self._contact!r} in [terms] of campaign.toml. After too many "
                f"requests it blocks you for up to 24 hours: then wait a day; {GOES_ON}"
            )
        elif status == 400:
            fix = "the service does not support standard SPARQL 1.1, or this is a bug: report it"
        elif "Location" in answer.headers:
            place = hide_secrets(answer.headers["Location"], *self._secrets)
            fix = f"if you trust this address, set the endpoint to {place}"
        elif status in {429, 503}:
            fix = f"the service is busy; run this again later; {GOES_ON}"
        raise CurationError(f"{self.host}: {message}", fix)


def _address(endpoint: str) -> str:
    url = ENDPOINTS.get(endpoint, endpoint)
    if not ADDRESS.fullmatch(url):
        raise CurationError(
            f"{show_address(endpoint)!r} is not a query service",
            f"use {' or '.join(ENDPOINTS)}, or an address that begins with https://",
        )
    return url


def _contact(contact: str) -> str:
    if not (CONTACT.fullmatch(contact) and contact.isascii()):
        raise CurationError(
            f"contact = {contact!r} is not an e-mail address or a web page",
            "write an e-mail address or a web page of your project as contact in [terms] of "
            "campaign.toml: Wikidata refuses requests without one",
        )
    return contact

"""The connection to a completions or chat endpoint: requests, retries and the key.

The only module of ``models/`` that reaches the network. Model hubs are reached by transformers.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlunsplit

from curation.files import CurationError
from curation.http import (
    DEEPEST,
    LOCAL,
    PASSING,
    FailedError,
    Failure,
    Gate,
    RefusedError,
    Reply,
    Server,
    deep,
    gist,
    parsed_json,
    plain_address,
    split_address,
)
from curation.models.echoes import ERRORS, NEVER, TOO_LONG
from curation.records import Fields
from curation.text.wording import HIDDEN

__all__ = ["FailedError", "RefusedError"]  # the errors of ``Connection.send``

_CODES = (
    "error", "message", "msg", "detail", "code", "type", "status", "innererror", "metadata",
    "reason", "reasons",
)  # fmt: skip


def error_in(content: Any) -> Any:
    """The error in an answer that was sent as a success, also inside of its choice; or None."""
    if not isinstance(content, dict):
        return None
    if content.get("error"):
        return content["error"]
    choices = content.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice.get("error") if isinstance(choice, dict) else None


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


def _number(digits: str) -> float:
    """An integer of 64 bits, which can be stored; for a longer one the nearest float."""
    return int(digits) if len(digits) < 19 else float(digits)


def read_reply(text: str, constant: Callable[[str], float | None]) -> Fields | None:
    """A server's answer as it can be stored: an object without NaN, infinity and half pairs.

    None if it was cut off. A stream of events becomes ``{"sse": text}``, a value that is nested too
    deeply ``{"text": text}``, and a value that is not an object ``{"list": value}``.

    Args:
        text: the answer.
        constant: the value of NaN, Infinity and -Infinity.
    """
    if text.lstrip().startswith(("data:", "event:", ": ")):
        return {"sse": text}
    try:
        content = json.loads(text, parse_constant=constant, parse_int=_number, strict=False)
    except (ValueError, RecursionError):
        return None
    if text.count("[") + text.count("{") > DEEPEST and deep(content):
        return {"text": text}
    if "\\ud" in text.lower():
        content = cleaned(content, lambda each: each.encode("utf-8", "replace").decode())
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    return content if isinstance(content, dict) else {"list": content}


KEYS = ("CURATION_ENDPOINT_KEY", "OPENAI_API_KEY")
TIMEOUT = 120.0  # seconds without any answer after which a request has failed
WAITS = (1.0, 4.0, 15.0, 60.0)  # seconds before each new try
KEY = f"set the environment variable {KEYS[0]} to the right key"
RESUMES = "nothing is lost: run the command again, and it continues from there"
_ENDS = re.compile(r"(/chat)?/completions$")


class Service(NamedTuple):
    """One of the two services of an endpoint.

    Attributes:
        path: what is added to the address.
        constant: the value of NaN and infinities in an answer.
        other: tells a model of the other service, by what the server says.
        fix: what to do if the server, or the model, has the other service only.
    """

    path: str
    constant: Callable[[str], float | None]
    other: re.Pattern[str]
    fix: str

    @property
    def address(self) -> str:
        """How to correct the address."""
        return (
            "check the address of the endpoint: it usually ends in /v1, and "
            f"{self.path} is added to it"
        )


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
        notice: Callable[[str], None] = lambda _: None,
        timeout: float = TIMEOUT,
        waits: Sequence[float] = WAITS,
        pause: Callable[[float], object] | None = None,
        threads: int = 4,
    ) -> None:
        """Prepare the connection; nothing is sent.

        The key is the value of the first variable in ``KEYS`` that is set. OPENAI_API_KEY is not
        sent without encryption to another machine.

        Args:
            url: the address of the server's API, without the path of the service.
            service: one of the two services.
            notice: receives a message before each wait.
            timeout: seconds without any answer after which a request has failed.
            waits: seconds before each new try.
            pause: called to wait; its argument is in seconds.
            threads: requests under way at the same time.

        Raises:
            CurationError: the address or the key is not valid.
        """
        parts = _address(url)
        self._service = service
        self._server = Server(
            urlunsplit(parts),
            timeout=timeout, advice=service.address, resumes=RESUMES, threads=threads,
        )  # fmt: skip
        self.url, self.timeout = self._server.url, timeout
        self.gate = Gate(waits, notice=notice, pause=pause)
        self.stopped = self.gate.stopped
        secret = find_key(parts)
        self._unsent = not secret and bool(os.environ.get(KEYS[1]))
        if secret:
            self._server.authorize("Bearer", secret)

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def models(self) -> list[Fields]:
        """The models that the server lists; [] if it does not list any."""
        try:
            reply = self._server.send("GET", "/models", timeout=10)
            if isinstance(reply, Failure) or reply.status >= 400:
                return []
            return [each for each in parsed_json(reply.content)["data"] if isinstance(each, dict)]
        except (CurationError, ValueError, KeyError, TypeError):
            return []

    def served(self, model: str, *more: str) -> Fields:
        """What the server says about a model that it lists; ``more`` are fields of its own."""
        own = next((each for each in self.models() if each.get("id") == model), {})
        fields = ("id", "root", "owned_by", "max_model_len", *more, "meta")
        return {name: own[name] for name in fields if own.get(name) is not None}

    def name_models(self) -> str:
        """The fix for the name of a model that the server does not have."""
        names = ", ".join(str(model.get("id")) for model in self.models()[:20])
        names = self._server.hidden(names)
        return f"name a model that it has: {names}" if names else "check the name of the model"

    def send(self, body: Mapping[str, Any], *, first: bool = False, once: bool = False) -> Fields:
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

        def send() -> Fields | Failure:
            reply = self._server.send("POST", self._service.path, json=body)
            return reply if isinstance(reply, Failure) else self._judged(reply, first=first)

        return self.gate.run(send, once=once)

    def _judged(self, reply: Reply, *, first: bool) -> Fields | Failure:
        """The content of a reply, or why it cannot be used.

        Raises:
            RefusedError: the server might accept another request.
            CurationError: no request will work.
        """
        text, content = reply.text, read_reply(reply.text, self._service.constant)
        error = error_in(content) if reply.status == 200 else None
        if reply.status == 200 and content is not None and not error:
            return self._without_keys(content, text)
        line = gist(text if content is None else content)
        reason = self._server.hidden(f"answered {reply.status}: {line}")
        told = content if isinstance(content, dict) else {"text": text[:2000]}
        body: Fields = cleaned(told, self._server.hidden)
        if reply.status == 200 and content is None:
            if not text.lstrip().startswith("<"):
                return Failure(f"{self.url}: the answer was cut off", RESUMES)
            raise CurationError(
                f"{self.url}: answered with a web page instead of results: "
                f"{self._server.hidden(line)}",
                f"{self._service.address}; or open it in a browser: the network may require a "
                "log-in",
            )
        if reply.status == 200:
            # A relay reports a failure of the server behind it as a success.
            code = error.get("code") if isinstance(error, dict) else None
            if not isinstance(code, int) or not (code in PASSING or code >= 500):
                raise RefusedError(reason, reply.status, body)
            reply, first = reply._replace(status=code), False
        status = reply.status
        # The reason may be a single text, or the form of the request.
        filtered = status in {403, 451} and ERRORS["filtered"].search(words(content))
        untaken = status in {400, 413, 422} or (status in {500, 501} and first)
        if untaken or filtered or (status >= 500 and TOO_LONG.search(line)):
            reason += " (too long)" if status == 413 else ""
            raise RefusedError(reason, status, body)
        if status == 402 or (status == 429 and "insufficient_quota" in text):
            raise CurationError(f"{self.url}: {reason}", f"your account is used up; {RESUMES}")
        if status in {401, 403}:
            raise self._no_key(reason)
        if status == 404:
            raise self._not_there(reason, line if isinstance(content, dict) else "")
        return self._server.judged(reply, line, self._service.address)._replace(body=body)

    def _no_key(self, reason: str) -> CurationError:
        fix = KEY
        if self._unsent:
            fix += f"; {KEYS[1]} is not sent unencrypted to another machine (use https://)"
        sent = "" if self._server.authorized else " (none is set)"
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

    def _without_keys(self, content: Fields, text: str) -> Fields:
        """An answer without the key, if a server repeats it; addresses in answers stay."""
        known = re.compile("|".join(map(re.escape, self._server.secrets)) or "(?!)")
        if not known.search(text.replace("\\/", "/")):
            return content
        return dict(cleaned(content, lambda line: known.sub(HIDDEN, line)))


# --- the two services


COMPLETIONS = Service(
    "/completions",
    float,
    ERRORS["is_chat"],
    "it may be a chat endpoint: write chat: before the name of the model",
)
CHAT = Service(
    "/chat/completions",
    {"-Infinity": NEVER}.get,  # of NaN and Infinity, None: they cannot be stored
    ERRORS["no_chat"],
    "use a server with a chat endpoint; or leave out chat: before the name, to score the model by "
    "its log-probabilities",
)


# --- addresses and keys


def host(url: str) -> str:
    """An endpoint's address without credentials and query, so that it can be shown and stored.

    Raises:
        CurationError: it is not an http or https address.
    """
    return plain_address(_address(url))


def _address(url: str) -> SplitResult:
    parts = split_address(url)
    return parts._replace(path=_ENDS.sub("", parts.path.rstrip("/")))


def find_key(parts: SplitResult) -> str:
    """The key for an endpoint, from the environment; "" if there is none.

    OPENAI_API_KEY is not sent without encryption to another machine.

    Raises:
        CurationError: it has characters that a key cannot have.
    """
    own, openai = (os.environ.get(name, "") for name in KEYS)
    if parts.scheme == "http" and parts.hostname not in LOCAL:
        openai = ""
    secret = (own or openai).strip()
    if not (secret.isascii() and secret.isprintable()):
        raise CurationError("the endpoint's key has characters that a key cannot have", KEY)
    return secret

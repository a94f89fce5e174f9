"""Models behind an OpenAI-compatible completions endpoint; the one module here on the network.

A text is sent, and comes back with the log-probability of each of its tokens (``echo`` with
``logprobs``). Servers differ in what they take and what they answer: two short texts that are sent
first show how this one wants to be asked.
"""

import json
import math
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import timedelta
from itertools import product
from typing import Any, NamedTuple, Self
from urllib.parse import SplitResult, unquote, urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from requests.exceptions import InvalidSchema, InvalidURL, ProxyError, SSLError
from urllib3.exceptions import InvalidHeader, ReadTimeoutError
from urllib3.util import Retry

from curation import __version__
from curation.files import CurationError
from curation.models.endpoint.echoes import TOO_LONG, Echo, Echoes, excess, front_of, read_echoes
from curation.models.rules import Family, Refusal, Scored, ScoringRequest

KEYS = ("CURATION_ENDPOINT_KEY", "OPENAI_API_KEY")
WAITS = (1.0, 4.0, 15.0, 60.0)  # seconds before each new try
LONGEST = 600.0  # seconds; a server that asks for more is not waited for
LOCAL = {"127.0.0.1", "localhost", "::1"}  # where no proxy stands between, and nobody listens
PROBES = ("A cat sat on the mat.", "Rain fell on the roof.")
NO_ECHO = "the server gives no log-probabilities of the text that it is sent"
ECHO = (
    "take a server that answers echo with logprobs: vLLM, SGLang and llama-cpp-python with "
    "logits_all do; OpenAI's present models and llama.cpp's own server do not"
)
ADDRESS = "check the endpoint's address: it mostly ends in /v1, and /completions is added to it"
KEY = f"put the right key into the environment variable {KEYS[0]}"
GOES_ON = "nothing is lost: run this again, and it goes on from there"
HOPELESS = (InvalidSchema, InvalidURL, ProxyError, SSLError)
_WHERE = re.compile(r"<[^>]*>: |HTTPS?Connection\([^)]*\): ")  # what stands before a reason


class _Way(NamedTuple):
    """How a server wants to be asked: several texts at once, ``logprobs``, ``max_tokens``."""

    many: bool
    top: int
    most: int


class _Flaw(NamedTuple):
    """Why a request failed, where another try may do."""

    what: str
    fix: str
    wait: float = 0.0


class _RefusedError(Exception):
    """The server does not take this request as it is."""


class _Bearer(AuthBase):
    """Sends the key; a plain header would be replaced by what ~/.netrc says."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


class Endpoint:
    """A model on a server.

    Attributes:
        family: «endpoint».
        url: where it is, without credentials.
        model: its name there.
    """

    family: Family = "endpoint"

    def __init__(
        self,
        url: str,
        model: str,
        *,
        bos: str = "",
        key: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        timeout: float = 120,
        waits: Sequence[float] = WAITS,
        pause: Callable[[float], object] | None = None,
        threads: int = 4,
        batch: int = 16,
    ) -> None:
        """Open it; two short texts are sent to see how the server answers.

        Args:
            url: of the server's API, without ``/completions``.
            model: the model's name there.
            bos: the text of the model's BOS token; not used where the server puts one by itself.
            key: without one, what the first of ``KEYS`` that is set says. OPENAI_API_KEY is not
                sent without encryption to another machine.
            say: told before each wait what it is for.
            timeout: seconds in which the server must say something.
            waits: seconds before each new try.
            pause: waits so many seconds.
            threads: requests under way at once.
            batch: texts in a request, where the server takes several.

        Raises:
            CurationError: nothing answers, the key or the model's name is wrong, or the server
                gives no log-probabilities of what it is sent.
        """
        parts, self.url, self.model = _address(url), host(url), model
        self._query = f"?{parts.query}" if parts.query else ""
        self._say, self._timeout, self._waits = say, timeout, tuple(waits)
        self._ended = threading.Event()
        self._pause, self._threads, self._batch = pause or self._ended.wait, threads, batch
        self._secret = _key(key, parts)
        self._session = requests.Session()
        self._session.trust_env = parts.hostname not in LOCAL
        self._session.headers["User-Agent"] = f"curation/{__version__}"
        if self._secret:
            self._session.auth = _Bearer(self._secret)
        elif parts.username:
            self._session.auth = (unquote(parts.username), unquote(parts.password or ""))
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=threads))
        self._prints: set[str] = set()
        self._way, front, own_bos = self._learn()
        self._echoes = Echoes(bos, own_bos, front, {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def about(self) -> dict[str, Any]:
        """What a score file says: where the model is, and what the server says of itself."""
        said = next((one for one in self._models() if one.get("id") == self.model), {})
        told = ("id", "root", "owned_by", "max_model_len", "meta")
        return {
            "url": self.url,
            "model": self.model,
            "served": {name: said[name] for name in told if said.get(name) is not None},
            "system_fingerprint": sorted(self._prints),
            "bos": self._echoes.bos,
            "own_bos": self._echoes.own_bos,
        }

    def score(
        self,
        rule: str,
        asks: Sequence[ScoringRequest],
        *,
        tell: Callable[[int], None] = lambda _: None,
    ) -> list[Scored]:
        """Score associations; equal texts are sent once, also from call to call.

        Args:
            rule: one of those of ``curation.models.rules`` for family «endpoint».
            asks: the more at once, the more goes side by side; a few hundred do.
            tell: told how many texts an answer was about, as answers come.

        Raises:
            CurationError: the rule is not for endpoints or needs a BOS that is not given, or the
                server fails for good.
        """
        echoes = self._echoes
        echoes.check(rule, asks)
        needed = dict.fromkeys(prompt for ask in asks for prompt in echoes.prompts(rule, ask))
        self._gather([p for p in needed if p and p not in echoes.known], tell)
        return [echoes.score(rule, ask) for ask in asks]

    # --- what is asked

    def _gather(self, prompts: list[str], tell: Callable[[int], None]) -> None:
        """Ask for many texts, some requests at once; what came before an error is kept."""
        size = self._batch if self._way.many else 1
        batches = [prompts[n : n + size] for n in range(0, len(prompts), size)]
        self._ended.clear()
        with ThreadPoolExecutor(self._threads) as pool:
            asked = {pool.submit(self._fetch, batch): len(batch) for batch in batches}
            try:
                for done in as_completed(asked):
                    done.result()
                    tell(asked[done])
            except BaseException:
                self._ended.set()  # nobody waits for a better time any more
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _fetch(self, prompts: list[str]) -> None:
        try:
            echoes = self._ask(prompts, self._way)
        except _RefusedError as refused:
            if len(prompts) > 1:  # it may be about one of them only
                half = len(prompts) // 2
                self._fetch(prompts[:half])
                self._fetch(prompts[half:])
            elif TOO_LONG.search(str(refused)):
                self._echoes.known[prompts[0]] = Refusal("too_long", f"the server {refused}")
            else:
                raise CurationError(
                    f"{self.url}: {refused}", f"look at the text, which is {prompts[0]!r}"
                ) from None
            return
        if echoes is None:
            raise CurationError(f"{self.url}: {NO_ECHO}: {prompts[0]!r}", ECHO)
        self._echoes.known.update(zip(prompts, echoes, strict=True))

    def _learn(self) -> tuple[_Way, int, bool]:
        """The way to ask; how many BOS tokens are shown; whether the server puts one there."""
        why = ""
        for way in (_Way(*one) for one in product((True, False), (1, 0), (0, 1))):
            sent = PROBES if way.many else PROBES[:1]
            try:
                echoes = self._ask(sent, way, first=True) or []
            except _RefusedError as refused:
                if "echo" not in why.lower():
                    why = f"; it {refused}"
                continue
            found = [front_of(*one) for one in zip(echoes, sent, strict=False)]
            if not found or None in found:
                continue
            front, own_bos = found[0] or (0, False)
            if way.most == 0 and excess(echoes[0], sent[0], front) > 1:
                continue  # it takes 0 for «as many as you like»
            return way, front, own_bos
        raise CurationError(f"{self.url}: {NO_ECHO}{why}", ECHO)

    def _ask(self, prompts: Sequence[str], way: _Way, *, first: bool = False) -> list[Echo] | None:
        """The texts as they come back; None where the answer is none to them."""
        body = {
            "model": self.model, "prompt": list(prompts) if way.many else prompts[0],
            "max_tokens": way.most, "echo": True, "logprobs": way.top, "temperature": 0,
        }  # fmt: skip
        answer = self._send(body, first=first)
        if isinstance(answer.get("system_fingerprint"), str):
            self._prints.add(answer["system_fingerprint"])
        return read_echoes(answer, count=len(prompts), most=way.most)

    def _models(self) -> list[dict[str, Any]]:
        """What the server says it has; nothing where it does not say."""
        where = f"{self.url}/models{self._query}"
        try:
            answer = self._session.get(where, timeout=10, allow_redirects=False)
            return [one for one in json.loads(answer.content)["data"] if isinstance(one, dict)]
        except (requests.RequestException, ValueError, KeyError, TypeError):
            return []

    # --- one request

    def _send(self, body: Mapping[str, Any], *, first: bool) -> dict[str, Any]:
        """Send a request, again where it fails only for now."""
        waits = iter(self._waits)
        while True:
            try:
                answer = self._session.post(
                    f"{self.url}/completions{self._query}", json=body,
                    timeout=(10, self._timeout), allow_redirects=False,
                )  # fmt: skip
            except requests.RequestException as error:
                found: dict[str, Any] | _Flaw = self._broken(error)
            else:
                found = self._judged(answer, first=first)
            if not isinstance(found, _Flaw):
                return found
            wait = next(waits, None)
            if wait is None or found.wait > LONGEST or self._ended.is_set():
                raise CurationError(f"{self.url}: {found.what}", found.fix)
            wait = max(wait, found.wait)
            self._say(f"{self.url}: {found.what}; trying again in {math.ceil(wait)} s")
            self._pause(wait)

    def _broken(self, error: requests.RequestException) -> _Flaw:
        cause = error.args[0] if error.args else error
        why = _WHERE.sub("", str(getattr(cause, "reason", cause)))
        if isinstance(error, requests.Timeout) or isinstance(cause, ReadTimeoutError):
            return _Flaw(f"no answer within {self._timeout:g} s", f"it may be busy: {GOES_ON}")
        if isinstance(error, HOPELESS):
            raise CurationError(f"{self.url}: no connection ({why})", ADDRESS) from None
        return _Flaw(
            f"no connection ({why})", f"see that the server runs and is reachable; {GOES_ON}"
        )

    def _judged(self, answer: requests.Response, *, first: bool) -> dict[str, Any] | _Flaw:
        """An answer's content, or why it is of no use.

        Raises:
            _RefusedError: the server might take another request.
            CurationError: no request will do.
        """
        status, text = answer.status_code, answer.content.decode("utf-8", "replace")
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        said = _gist(text if content is None else content)
        what = self._hidden(f"answered {status}: {said}")
        if status == 200 and isinstance(content, dict):
            if content.get("error"):
                raise _RefusedError(what)
            return content
        if status == 200 and text.lstrip().startswith("<"):
            raise CurationError(
                f"{self.url}: answered with a page instead of results: {self._hidden(said)}",
                f"{ADDRESS}; or open it in a browser, the network may want a log-in",
            )
        if status == 200:
            return _Flaw("the answer was cut off", GOES_ON)
        # where one text is the matter, or the way of asking
        if status in {400, 413, 422} or (status >= 500 and TOO_LONG.search(said)):
            raise _RefusedError(what + (" (too long)" if status == 413 else ""))
        if status in {500, 501} and first:
            raise _RefusedError(what)
        if status == 429 and "insufficient_quota" in text:
            raise CurationError(f"{self.url}: {what}", f"the account is used up; {GOES_ON}")
        if status in {408, 425, 429} or status >= 500:
            wait = _wait(answer.headers.get("Retry-After"))
            long = f"; it asks to wait {timedelta(seconds=int(wait))} h" if wait > LONGEST else ""
            return _Flaw(what + long, f"it may be busy, try later; {GOES_ON}", wait)
        fix = ADDRESS
        if status in {401, 403}:
            what, fix = f"does not accept the key: {what}", KEY
        elif status == 404 and isinstance(content, dict) and "model" in said.lower():
            names = ", ".join(str(one.get("id")) for one in self._models()[:20])
            fix = f"name one that it has: {names}" if names else "check the model's name"
        elif place := answer.headers.get("Location"):
            fix = f"if you trust the place, give its address: {place}"
        raise CurationError(f"{self.url}: {what}", fix)

    def _hidden(self, text: str) -> str:
        """A text without the key: some servers say it back."""
        return text.replace(self._secret, "…") if self._secret else text


def open_endpoint(
    url: str,
    model: str,
    *,
    bos: str = "",
    key: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Endpoint:
    """Open a model on a server with the usual patience; arguments and errors as ``Endpoint``'s."""
    return Endpoint(url, model, bos=bos, key=key, say=say)


def host(url: str) -> str:
    """An endpoint's address as it may be told: without credentials and query."""
    parts = _address(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        fits = False
    if not fits:
        shown = url.rpartition("@")[2]
        raise CurationError(f"{shown!r} is no address", "write it as http://… or https://…")
    return parts._replace(path=parts.path.rstrip("/").removesuffix("/completions"))


def _key(key: str | None, parts: SplitResult) -> str:
    given, openai = (os.environ.get(name, "") for name in KEYS)
    if parts.scheme == "http" and parts.hostname not in LOCAL:
        openai = ""
    found = (key or given or openai).strip()
    if not (found.isascii() and found.isprintable()):
        raise CurationError("the endpoint's key has characters that no key has", KEY)
    return found


def _wait(asked: str | None) -> float:
    """Seconds that a server asks to wait."""
    try:
        return float(Retry().parse_retry_after(asked)) if asked else 0.0
    except InvalidHeader:
        return 0.0


def _gist(said: Any) -> str:
    """What an answer says, in a line."""
    for name in ("error", "message", "detail"):
        if isinstance(said, dict):
            said = said.get(name) or said
    line = " ".join(str(said).split())
    return f"{line[:200]}…" if len(line) > 200 else line

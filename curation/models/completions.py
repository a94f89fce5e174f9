"""Models behind an OpenAI-compatible completions endpoint.

A text is sent and comes back with the log-probability of each of its tokens (``echo`` with
``logprobs``). Servers differ in the requests that they accept and in their answers. So two short
texts are sent first, to find out how this server must be asked.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from itertools import combinations, product
from typing import Any, NamedTuple

from curation.files import CurationError
from curation.models.connection import COMPLETIONS, Connection, RefusedError
from curation.models.echoes import (
    BOUND,
    TOO_LONG,
    Echo,
    Echoes,
    drift,
    excess,
    front_of,
    read_echoes,
)
from curation.models.rules import Refusal, Scored, ScoringRequest

PROBES = ("A cat sat on the mat.", "Rain fell on the roof.")
NO_ECHO = "the server does not return log-probabilities of the text that it is sent"
ECHO = (
    "use a server that supports echo with logprobs: vLLM, SGLang and llama-cpp-python with "
    "logits_all do; OpenAI's present models and llama.cpp's own server do not; if it is a chat "
    "endpoint, write chat: before the name of the model"
)


class Repeats(NamedTuple):
    """How many ``texts`` were sent three times, and the ``largest`` drift between two answers."""

    texts: int
    largest: float


class _Form(NamedTuple):
    """The form of a request: several texts at once or not, ``logprobs``, ``max_tokens``."""

    many: bool
    logprobs: int
    max_tokens: int


class Endpoint(AbstractContextManager["Endpoint"]):
    """A model on a server.

    Attributes:
        url: the address of the server, without credentials.
        model: the name of the model there.
    """

    def __init__(
        self, url: str, model: str, *, bos: str = "", threads: int = 4, batch: int = 16, **how: Any
    ) -> None:
        """Open the model; two short texts are sent to see how the server answers.

        Args:
            url: the address of the server's API, without ``/completions``.
            model: the name of the model there.
            bos: BOS token text of the model; not used if the server adds a BOS by itself.
            threads: requests under way at the same time.
            batch: texts in a request, if the server accepts several.
            how: further arguments of ``Connection``.

        Raises:
            CurationError: nothing answers, the key or the model's name is wrong, or the server
                does not return log-probabilities of the text that it is sent.
        """
        self._server = Connection(url, COMPLETIONS, threads=threads, **how)
        self.url, self.model = self._server.url, model
        self._threads, self._batch = threads, batch
        self._fingerprints: set[str] = set()
        self._form, front, own_bos = self._find_form()
        self._echoes = Echoes(bos, own_bos, front, {})

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def about(self) -> dict[str, Any]:
        """What ``run.json`` says: the address, and what the server says about the model."""
        return {
            "url": self.url,
            "model": self.model,
            "served": self._server.served(self.model),
            "system_fingerprint": sorted(self._fingerprints),
            "bos": self._echoes.bos,
            "own_bos": self._echoes.own_bos,
        }

    def score(self, rule: str, requests: Sequence[ScoringRequest]) -> list[Scored]:
        """Score associations. Equal texts are sent only once, even in different calls.

        Args:
            rule: one of the rules in ``curation.models.rules`` for the family «endpoint».
            requests: the associations; a few hundred are enough to keep all threads busy.

        Raises:
            CurationError: the rule is not for endpoints or needs a BOS that is not given, or the
                server keeps failing.
        """
        echoes = self._echoes
        echoes.check(rule, requests)
        prompts = dict.fromkeys(text for each in requests for text in echoes.prompts(rule, each))
        self._fetch_all([text for text in prompts if text and text not in echoes.known])
        return [echoes.score(rule, each) for each in requests]

    def repeat(self, rule: str, requests: Sequence[ScoringRequest]) -> Repeats:
        """Send texts that were scored twice more: in the same order, and in the reverse order.

        A server may reuse what it computed for an earlier text with the same beginning, and some
        get it wrong. If answers differ by more than ``BOUND``, all of them are forgotten.

        Args:
            rule: the rule by which ``score`` has scored these associations.
            requests: the associations; texts that the server refused are left out.

        Raises:
            CurationError: as ``score``.
        """
        own = self._echoes.known
        sent = dict.fromkeys(t for each in requests for t in self._echoes.prompts(rule, each))
        texts = [text for text in sent if isinstance(own.get(text), Echo)]
        passes = [own]
        try:
            for order in (texts, texts[::-1]):
                self._echoes.known = {}
                self._fetch_all(order)
                passes.append(self._echoes.known)
        finally:
            self._echoes.known = own
        pairs = list(combinations(passes, 2))
        largest = max((drift(a[text], b[text]) for text in texts for a, b in pairs), default=0.0)
        if largest > BOUND:
            own.clear()
        return Repeats(len(texts), largest)

    # --- sending texts --------------------------------------------------------------------------

    def _fetch_all(self, prompts: list[str]) -> None:
        """Send many texts, several requests at a time; after an error, earlier answers are kept."""
        size = self._batch if self._form.many else 1
        batches = [prompts[n : n + size] for n in range(0, len(prompts), size)]
        self._server.stopped.clear()
        pool = ThreadPoolExecutor(self._threads)
        try:
            for done in as_completed([pool.submit(self._fetch, batch) for batch in batches]):
                done.result()
        except BaseException as error:
            self._server.stopped.set()  # no other thread waits any longer
            # An interrupted command does not wait for answers that are still to come.
            pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
            raise
        pool.shutdown()

    def _fetch(self, prompts: list[str]) -> None:
        try:
            echoes = self._send(prompts, self._form)
        except RefusedError as refused:
            if len(prompts) > 1:  # the reason may be only one of them
                half = len(prompts) // 2
                self._fetch(prompts[:half])
                self._fetch(prompts[half:])
            elif TOO_LONG.search(str(refused)):
                self._echoes.known[prompts[0]] = Refusal("too_long", f"the server {refused}")
            else:
                raise CurationError(
                    f"{self.url}: {refused}", f"look at this text: {prompts[0]!r}"
                ) from None
            return
        if echoes is None:
            raise CurationError(f"{self.url}: {NO_ECHO}: {prompts[0]!r}", ECHO)
        self._echoes.known.update(zip(prompts, echoes, strict=True))

    def _find_form(self) -> tuple[_Form, int, bool]:
        """The form of requests, how many BOS tokens are shown, whether the server adds a BOS."""
        reason = ""
        for form in (_Form(*values) for values in product((True, False), (1, 0), (0, 1))):
            sent = PROBES if form.many else PROBES[:1]
            try:
                echoes = self._send(sent, form, first=True) or []
            except RefusedError as refused:
                if "echo" not in reason.lower():
                    reason = f"; it {refused}"
                continue
            fronts = [front_of(*pair) for pair in zip(echoes, sent, strict=False)]
            if not fronts or None in fronts:
                continue
            front, own_bos = fronts[0] or (0, False)
            if form.max_tokens == 0 and excess(echoes[0], sent[0], front) > 1:
                continue  # the server reads 0 as «no limit»
            return form, front, own_bos
        raise CurationError(f"{self.url}: {NO_ECHO}{reason}", ECHO)

    def _send(
        self, prompts: Sequence[str], form: _Form, *, first: bool = False
    ) -> list[Echo] | None:
        """The texts as they come back; None if the answer does not contain them."""
        body = {
            "model": self.model, "prompt": list(prompts) if form.many else prompts[0],
            "max_tokens": form.max_tokens, "echo": True, "logprobs": form.logprobs,
            "temperature": 0,
        }  # fmt: skip
        answer = self._server.send(body, first=first)
        if isinstance(answer.get("system_fingerprint"), str):
            self._fingerprints.add(answer["system_fingerprint"])
        return read_echoes(answer, count=len(prompts), max_tokens=form.max_tokens)

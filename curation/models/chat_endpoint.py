"""Chat models behind an OpenAI-compatible endpoint.

Servers differ in the requests that they accept. The form of a request is found with the first
question, whose reply counts. Only if questions fail is one asked that is not about a CAT.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import chain, islice, product
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple, get_args

from curation.files import CurationError
from curation.models.chat import Answered, ChatSpec, Turns, messages
from curation.models.connection import (
    CHAT,
    RESUMES,
    TIMEOUT,
    WAITS,
    Connection,
    FailedError,
    RefusedError,
    words,
)
from curation.models.echoes import ERRORS
from curation.records import Fields
from curation.work.interrupts import held

IN_A_ROW = 20  # as many replies, all cut, end the command; if all are refused, it may end
TRIED = 3  # as many questions are tried in every form, and then ``PROBE``
FIELD = re.compile(r"log_?prob|temperature|max_(completion_)?tokens|parameter", re.IGNORECASE)
MOST = 50  # names in ``about``: some servers give each reply another fingerprint
SLOWEST = 10  # tokens per second; a slower server needs a longer timeout than it gets
PROBE = (
    "Which of these words is a colour?\n\nA: blue\nB: seven\n\n"
    "Answer with one letter only, A or B.",
)
"""A question that every chat model can answer. It is sent after failures only, and not kept: its
answer shows that the server works, so that the failure is that of one question."""
FORM = "check --temperature and --max-tokens, and look at the reason that the server gives"

Limit = Literal["max_tokens", "max_completion_tokens"]


class Form(NamedTuple):
    """The form of a request: which fields it has.

    Attributes:
        limit: the field for the largest number of tokens of an answer.
        temperature: whether it has a temperature; reasoning models refuse it.
        top_logprobs: how many log-probabilities it asks for each token; 0 for none.
    """

    limit: Limit
    temperature: bool
    top_logprobs: int


_LIMITS: tuple[Limit, ...] = get_args(Limit)
FORMS = tuple(Form(*fields) for fields in product(_LIMITS, (True, False), (20, 5, 0)))
"""In the order in which they are tried."""


class _Answer(NamedTuple):
    """What came back for a question.

    Attributes:
        status, body: of the response.
        accepted: whether the server took the request.
        problem: why it did not, if neither its content filter nor the question's length is why.
    """

    status: int
    body: Fields
    accepted: bool = False
    problem: str = ""


class ChatEndpoint(AbstractContextManager["ChatEndpoint"]):
    """A chat model on a server.

    Attributes:
        url: the address of the server, without credentials.
        model: the name of the model there.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        spec: ChatSpec,
        notice: Callable[[str], None] = lambda _: None,
        waits: Sequence[float] = WAITS,
        **how: Any,
    ) -> None:
        """Prepare the connection; nothing is sent.

        Args:
            url: the address of the server's API, without ``/chat/completions``.
            model: the name of the model there.
            spec: how it is asked; its temperature, max_tokens and concurrency are used.
            notice: receives a message before each wait, and if the server ignores a setting.
            waits: seconds before each new try.
            how: further arguments of ``Connection``. The timeout is longer if ``spec.max_tokens``
                may take longer at ``SLOWEST`` tokens per second.

        Raises:
            CurationError: the address or the key is not valid.
        """
        how["timeout"] = max(how.get("timeout", TIMEOUT), spec.max_tokens / SLOWEST)
        how |= {"notice": notice, "waits": waits, "threads": spec.concurrency}
        self._server = Connection(url, CHAT, **how)
        self.url, self.model = self._server.url, model
        self._spec, self._notice, self._wait = spec, notice, waits[0] if waits else 0.0
        self._form: Form | None = None
        self._changed = False  # the form is no longer the first that was accepted
        self._fingerprints: set[str] = set()
        self._named: set[str] = set()
        self._refused: list[tuple[int, _Answer]] = []  # in a row; they are not handed over yet
        self._cut: int | None = 0  # how many replies were cut; None if one was not

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def about(self) -> Fields:
        """What ``run.json`` says: the address, the form, and what the server says of the model."""
        return {
            "url": self.url,
            "model": self.model,
            "served": self._server.served(self.model, "context_length"),
            "named": sorted(self._named)[:MOST],
            "system_fingerprint": sorted(self._fingerprints)[:MOST],
            "form": self._form._asdict() if self._form else None,
        }

    def ask(self, questions: Sequence[Turns], answered: Answered) -> None:
        """Ask questions, several at the same time.

        If the server refuses a question for its content or its length, its error is the reply.

        Args:
            questions: the conversations, each up to the question.
            answered: called in this thread for each reply as it comes, with the index of the
                question, the HTTP status and the body. It must be short: a signal waits for it.

        Raises:
            CurationError: the server cannot be reached, rejects the key, the model or every form of
                a request, or keeps failing. Replies that came before were handed over.
        """
        left = iter(enumerate(questions))
        self._server.stopped.clear()
        try:
            for index, turns in left:
                if self._form:
                    self._ask_many(chain([(index, turns)], left), answered)
                else:
                    answer = self._ask_first(turns)
                    with held():
                        self._hand_over(index, answer, answered)
                    self._judge_refused(answered)
            self._judge_refused(answered, most=1)
        finally:
            if self._form:
                self._hand_over_refused(answered)
            self._refused = []

    # --- one question ---------------------------------------------------------------------------

    def _ask_first(self, turns: Turns, *, once: bool = False) -> _Answer:
        """Ask a question in each form, until the server accepts one.

        Args:
            turns: the conversation up to the question.
            once: do not try again after a failure.
        """
        reasons = dict[str, _Answer]()
        for form in FORMS:
            answer = self._ask(turns, form, first=True, once=once)
            if answer.problem and answer.status >= 500:  # it may be a passing failure
                self._server.gate.pause(self._wait)
                answer = self._ask(turns, form, first=True, once=once)
            if not answer.problem:
                if answer.accepted:
                    self._set_form(form)
                return answer
            if error := self._hopeless(answer.problem):
                raise error
            if not form.temperature and not form.top_logprobs:  # the plainest requests
                reasons.setdefault(answer.problem, answer)
        last = list(reasons.values())[-1]
        return last._replace(problem="; ".join(reasons))

    def _set_form(self, form: Form) -> None:
        self._form = form
        if not form.temperature and not self._changed:
            self._notice(
                f"{self.model} does not take the temperature {self._spec.temperature:g}, so its "
                "answers may differ from one time to the next"
                + (": use --samples N to see by how much" if self._spec.samples == 1 else "")
            )

    def _hopeless(self, problem: str) -> CurationError | None:
        """The error for a reason that has nothing to do with the form; or None."""
        template = "give the server a chat template (vLLM: --chat-template)"
        fixes = {
            "no_template": f"{template}; or {CHAT.fix}",
            "no_chat": CHAT.fix,
            "wrong_model": None,
            "large_max_tokens": "give a smaller --max-tokens",
        }
        for kind, fix in fixes.items():
            if ERRORS[kind].search(problem):
                return CurationError(f"{self.url}: {problem}", fix or self._server.name_models())
        return None

    def _ask_in_form(self, turns: Turns) -> _Answer:
        """Ask a question in the known form, or in another if the server refuses that one now."""
        known = self._form or FORMS[0]
        answer = self._ask(turns, known)
        if not (answer.problem and FIELD.search(answer.problem)):
            return answer
        place = FORMS.index(known)
        for form in FORMS[place + 1 :] + FORMS[:place]:
            if (other := self._ask(turns, form)).accepted:
                self._change_form(known, form, answer.problem)
                return other
        return answer

    def _change_form(self, known: Form, form: Form, problem: str) -> None:
        if self._form == known:  # no other thread has changed it
            self._set_form(form)
            if not self._changed:
                self._notice(
                    f"{self.url}: {problem}; this was accepted before, and questions are now asked "
                    "in another form"
                )
            self._changed = True

    def _works(self) -> bool:
        """Whether the server answers a plain question. If no form is known, it is found so."""
        try:
            form = self._form
            answer = (
                self._ask(PROBE, form, once=True) if form else self._ask_first(PROBE, once=True)
            )
        except CurationError:
            return False
        return answer.accepted

    def _ask(self, turns: Turns, form: Form, *, first: bool = False, once: bool = False) -> _Answer:
        request: Fields = {
            "model": self.model,
            "messages": messages(turns),
            form.limit: self._spec.max_tokens,
        }
        if form.temperature:
            request["temperature"] = self._spec.temperature
        if form.top_logprobs:
            request |= {"logprobs": True, "top_logprobs": form.top_logprobs}
        try:
            body = self._server.send(request, first=first, once=once)
        except FailedError as failed:
            failure = failed.failure
            if once or failure.limited or not self._works():
                raise
            return _Answer(failure.status, failure.body or {"error": {"message": failure.reason}})
        except RefusedError as refused:
            reason, codes = str(refused), words(refused.body)
            own = ERRORS["filtered"].search(codes) or (
                ERRORS["too_long"].search(reason)
                and not (first and ERRORS["large_max_tokens"].search(reason))
            )
            return _Answer(refused.status, refused.body, problem="" if own else reason)
        for names, name in ((self._fingerprints, "system_fingerprint"), (self._named, "model")):
            if isinstance(body.get(name), str):
                names.add(body[name])
        return _Answer(200, body, accepted=True)

    # --- many questions -------------------------------------------------------------------------

    def _ask_many(self, questions: Iterator[tuple[int, Turns]], answered: Answered) -> None:
        """Ask questions in threads; after an error, replies that have come are handed over."""
        size = self._spec.concurrency
        pool = ThreadPoolExecutor(size)
        running: dict[Future[_Answer], int] = {}
        done = SimpleQueue[Future[_Answer]]()
        try:
            while True:
                # One more for each thread, so that none waits for this one.
                for index, turns in islice(questions, 2 * size - len(running)):
                    future = pool.submit(self._ask_in_form, turns)
                    running[future] = index
                    future.add_done_callback(done.put)
                if not running:
                    break
                future = done.get()
                with held():
                    self._hand_over(running.pop(future), future.result(), answered)
                self._judge_refused(answered)
        except BaseException as error:
            self._server.stopped.set()  # no other thread waits any longer
            # An interrupted command does not wait for answers that are still to come.
            pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
            for future, index in running.items():
                if future.done() and not future.cancelled() and not future.exception():
                    answer = future.result()
                    if not answer.problem:
                        answered(index, answer.status, answer.body)
            raise
        pool.shutdown()

    # --- handing over replies -------------------------------------------------------------------

    def _hand_over(self, index: int, answer: _Answer, answered: Answered) -> None:
        """Hand over a reply, unless the server refused it for a reason that is not its own.

        Such replies wait until another question is answered, so that a server that refuses
        everything does not leave replies behind.

        Raises:
            CurationError: the first replies were all cut.
        """
        if answer.problem:
            self._refused.append((index, answer))
            return
        self._hand_over_refused(answered)
        answered(index, answer.status, answer.body)
        if not answer.accepted or self._cut is None:
            return
        self._cut = self._cut + 1 if _is_cut(answer.body) else None
        if self._cut == IN_A_ROW:
            raise CurationError(
                f"{self.url}: each of the first {IN_A_ROW} replies reached the limit of "
                f"{self._spec.max_tokens} tokens before the answer began",
                "give a larger --max-tokens, such as --max-tokens 4096: a reasoning model thinks "
                "before it answers; cut questions are asked again",
            )

    def _judge_refused(self, answered: Answered, *, most: int = 0) -> None:
        """If many replies in a row were refused, find out whether the server refuses everything.

        Args:
            answered: receives them if it does not.
            most: how many are many; by default ``IN_A_ROW``, or ``TRIED`` without a form.

        Raises:
            CurationError: it refuses a plain question, too.
        """
        if len(self._refused) < (most or (IN_A_ROW if self._form else TRIED)):
            return
        if not self._works():
            raise self._refusal()
        with held():
            self._hand_over_refused(answered)

    def _hand_over_refused(self, answered: Answered) -> None:
        refused, self._refused = self._refused, []
        for index, answer in refused:
            answered(index, answer.status, answer.body)

    def _refusal(self) -> CurationError:
        """The error for replies that were refused; they are dropped, so they are asked again."""
        problems = Counter(answer.problem for _, answer in self._refused)
        last = self._refused[-1][1]
        self._refused = []
        what = f"{self.url}: {problems.most_common(1)[0][0]}"
        if last.status >= 500:
            return CurationError(what, f"the server may be busy, try again later; {RESUMES}")
        return self._hopeless(last.problem) or CurationError(what, f"{FORM}; {RESUMES}")


def _is_cut(body: Mapping[str, Any]) -> bool:
    """Whether a reply reached the limit of tokens before an answer began, while thinking or not."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or choice.get("finish_reason") != "length":
        return False
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    text = content.strip() if isinstance(content, str) else ""
    return not text or (text.startswith("<think") and "</think" not in text)

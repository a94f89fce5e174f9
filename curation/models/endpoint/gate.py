"""When requests to an endpoint are sent: waits after failures, and rate limits for all threads."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from curation.files import CurationError

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

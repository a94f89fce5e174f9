"""When requests are sent again, and the errors of real servers.

A request in another's ``send`` stands for another thread's.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from curation.files import CurationError
from curation.models.endpoint import connection
from curation.models.endpoint.connection import Failure, Gate, RefusedError, asked_wait
from curation.models.endpoint.echoes import TOO_LONG
from support.written import beside

BUSY = Failure("busy", "wait")
LIMITED = Failure("too many", "wait", limited=True)


class Clock:
    """A time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waited: list[float] = []
        self.heard: list[str] = []

    def pause(self, seconds: float) -> None:
        self.now += seconds
        self.waited.append(seconds)

    def gate(self, *waits: float) -> Gate:
        return Gate(waits, notice=self.heard.append, pause=self.pause, clock=lambda: self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def sending(*results: Any) -> Callable[[], Any]:
    """Each call gives the next result; a function is called first, and gives it."""
    rest = iter(results)

    def send() -> Any:
        result = next(rest)
        result = result() if callable(result) else result
        if isinstance(result, Exception):
            raise result
        return result

    return send


def test_waits_grow_and_the_last_failure_is_the_error(clock: Clock) -> None:
    with pytest.raises(CurationError, match="busy"):
        clock.gate(1, 4, 15).run(sending(*[BUSY] * 4))
    assert clock.waited == [1, 4, 15]
    assert clock.heard == [f"busy; trying again in {wait} s" for wait in (1, 4, 15)]


def test_the_server_can_ask_for_longer_waits_up_to_a_limit(clock: Clock) -> None:
    later = [LIMITED._replace(wait=wait) for wait in (12.5, 0.5, connection.LONGEST)]
    assert clock.gate(1, 1, 1).run(sending(*later, "yes")) == "yes"
    assert clock.waited == [12.5, 1, connection.LONGEST]
    with pytest.raises(CurationError):
        clock.gate(1).run(sending(LIMITED._replace(wait=connection.LONGEST + 1)))
    assert len(clock.waited) == 3


def test_nobody_sends_before_the_time_that_a_rate_limit_names(clock: Clock) -> None:
    gate = clock.gate(1, 1)
    sent: list[float] = []

    def other() -> str:
        sent.append(clock.now)
        return "yes"

    def pause(seconds: float) -> None:
        if not clock.waited:  # the first request begins to wait, and the second one is to be sent
            clock.waited.append(0)
            gate.run(other)
        else:
            clock.pause(seconds)

    gate.pause = pause
    assert gate.run(sending(LIMITED._replace(wait=30), "yes")) == "yes"
    assert sent == [130]


@pytest.mark.parametrize("failure", [BUSY, BUSY._replace(wait=9)])
def test_other_failures_make_only_their_own_request_wait(clock: Clock, failure: Failure) -> None:
    gate = clock.gate(1, 4)
    gate.pause = lambda seconds: gate.run(sending("yes"))  # sent at once, without a wait
    assert gate.run(sending(failure, "yes")) == "yes"
    assert clock.waited == []


def test_tries_are_counted_since_the_last_answer_of_any_thread(clock: Clock) -> None:
    gate = clock.gate(1, 2)

    def limited_but_others_are_not() -> Failure:
        assert gate.run(sending("yes")) == "yes"
        return LIMITED

    assert gate.run(sending(*[limited_but_others_are_not] * 50, "yes")) == "yes"
    assert set(clock.waited) == {1}, "after an answer, waits begin from the first again"
    with pytest.raises(CurationError, match="too many"):
        gate.run(sending(limited_but_others_are_not, LIMITED, LIMITED))


def test_a_request_that_fails_by_itself_is_sent_less_and_less_often(clock: Clock) -> None:
    gate = clock.gate(1, 4, 15)

    def only_this_fails() -> Failure:
        assert gate.run(sending("yes")) == "yes"
        return BUSY

    assert gate.run(sending(*[only_this_fails] * 5, "yes")) == "yes"
    assert clock.waited == [1, 4, 15, 15, 15]


def test_a_request_that_always_fails_alone_ends_at_last(clock: Clock) -> None:
    gate = clock.gate(1)
    tries = []

    def only_this_fails() -> Failure:
        tries.append(gate.run(sending("yes")))
        return BUSY._replace(status=500)

    with pytest.raises(connection.FailedError, match="busy") as failed:
        gate.run(only_this_fails)
    assert (failed.value.failure.status, len(tries)) == (500, connection.OWN)


def test_a_refusal_is_an_answer(clock: Clock) -> None:
    gate = clock.gate(1)

    def another_is_refused() -> Failure:
        with pytest.raises(RefusedError):
            gate.run(sending(RefusedError("no")))
        return BUSY

    assert gate.run(sending(*[another_is_refused] * 9, "yes")) == "yes"


def test_requests_under_way_do_not_report_the_same_failure(clock: Clock) -> None:
    gate = clock.gate(1, 1)

    def together() -> Failure:
        assert gate.run(sending(BUSY, "yes")) == "yes"
        return BUSY

    assert gate.run(sending(together, "yes")) == "yes"
    assert clock.heard == ["busy; trying again in 1 s"]
    assert gate.run(sending(BUSY, "yes")) == "yes"
    assert len(clock.heard) == 1, "many failures of a bad connection are not reported one by one"
    clock.now += connection.OFTEN
    assert gate.run(sending(BUSY, "yes")) == "yes"
    assert len(clock.heard) == 2, "a later failure is reported again"


def test_many_short_waits_for_a_rate_limit_are_reported_once(clock: Clock) -> None:
    gate = clock.gate(1, 2)
    for _ in range(10):
        assert gate.run(sending(LIMITED, "yes")) == "yes"
    assert clock.heard == ["too many; trying again in 1 s"]
    gate.run(sending(LIMITED, LIMITED, "yes"))  # a longer wait
    assert clock.heard[1:] == ["too many; trying again in 2 s"]
    for _ in range(3):
        gate.run(sending(LIMITED._replace(wait=20), "yes"))
    assert clock.heard[2:] == ["too many; trying again in 20 s"] * 3, "long waits, each time"


def test_a_stopped_gate_does_not_wait_or_try_again(clock: Clock) -> None:
    gate = clock.gate(1, 1)
    gate.pause = lambda _: gate.stopped.set()
    for _ in range(2):
        with pytest.raises(CurationError, match="busy"):
            gate.run(sending(BUSY))


def test_the_wait_that_a_server_asks_for() -> None:
    later = datetime.now(UTC) + timedelta(seconds=30)
    assert 28 < asked_wait({"Retry-After": format_datetime(later, usegmt=True)}) <= 30
    assert 28 < asked_wait({"Retry-After": format_datetime(later)[:-5] + "-0000"}) <= 30
    assert asked_wait({"Retry-After": "Fri, 01 Jan 1999 00:00:00 GMT"}) == 0
    assert asked_wait({"Retry-After": "7"}) == 7
    for odd in ("", "-3", "nan", "inf", "soon", "Fri, 99 Jan 99999 00:00:00 GMT", "1 2 3"):
        assert asked_wait({"Retry-After": odd}) == 0, odd
    assert asked_wait({"Retry-After": "9" * 300}) == 1e8
    assert asked_wait({"retry-after-ms": "1500", "Retry-After": "9"}) == 1.5
    assert asked_wait({"retry-after-ms": "x", "Retry-After": "9"}) == 9


# --- errors of real servers ---------------------------------------------------------------------


PATTERNS = {
    "FILTERED": connection.FILTERED,
    "WRONG_MODEL": connection.WRONG_MODEL,
    "NO_CHAT": connection.NO_CHAT,
    "NO_TEMPLATE": connection.NO_TEMPLATE,
    "LARGE_MAX_TOKENS": connection.LARGE_MAX_TOKENS,
    "TOO_LONG": TOO_LONG,
}
SORTS = beside(__file__, "../errors.toml")["sorts"]


@pytest.mark.parametrize(("sort", "text"), [(sort, text) for sort in SORTS for text in SORTS[sort]])
def test_each_error_is_of_one_sort(sort: str, text: str) -> None:
    found = {name for name, pattern in PATTERNS.items() if pattern.search(text)}
    if sort == "LARGE_MAX_TOKENS":  # it is looked for before TOO_LONG
        found.discard("TOO_LONG")
    assert found == {sort} - {"parameters"}


def test_words_of_an_error_leave_out_what_it_repeats_of_the_request() -> None:
    body = {"detail": [{"type": "extra", "msg": "not permitted", "input": {"content": "flagged"}}]}
    assert connection.words(body) == "not permitted extra"
    azure = {"error": {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}
    assert connection.FILTERED.search(connection.words(azure))
    assert connection.FILTERED.search(
        connection.words({"error": {"code": 400, "status": "SAFETY"}})
    )
    assert connection.words(None) == connection.words(3.5) == connection.words({}) == ""


def test_gist_and_error_of_odd_contents() -> None:
    assert connection.gist([{"error": {"message": "blocked"}}]) == "blocked"
    assert connection.gist({"message": " two\n lines "}) == "two lines"
    assert connection.gist("x" * 300) == "x" * 200 + "…"
    odd = ({}, [], None, 1, {"choices": None}, {"choices": []}, {"choices": [1]}, {"error": None})
    assert [connection.error_in(content) for content in odd] == [None] * len(odd)
    assert connection.error_in({"error": "no"}) == "no"

"""Times of platforms, forms and spreadsheets; nothing is guessed."""

from datetime import UTC
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from curation.records import Timestamp
from curation.text.times import moment, order_of, read_time
from support.written import beside

CASES = beside(__file__)

IS_TIMESTAMP = TypeAdapter(Timestamp).validate_python


@pytest.mark.parametrize(("text", "time"), CASES["forms"])
def test_forms_of_times(text: str, time: str) -> None:
    assert read_time(text) == time
    assert IS_TIMESTAMP(time) == time


@pytest.mark.parametrize(
    ("order", "time"),
    [("day-first", "2026-04-03T10:22:00.000Z"), ("month-first", "2026-03-04T10:22:00.000Z")],
)
def test_a_date_that_could_be_two_days_needs_an_order(order: Any, time: str) -> None:
    with pytest.raises(ValueError, match="could be two days"):
        read_time("3/4/2026 10:22")
    assert read_time("3/4/2026 10:22", order) == time
    assert read_time("14/3/2026", order) == "2026-03-14T00:00:00.000Z"
    assert read_time("4.3.2026", order) == "2026-03-04T00:00:00.000Z"


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "1773041412000", "20260314", "3/14/26", "13/14/2026", "31.02.2026"),
        *("2026-02-30T10:22:05.000000Z", "2026-03-14T25:00:00Z", "2026-03-14 13:00 PM"),
        *("2026-03-14 0:30 AM", "0000-01-01T00:00:00.000Z", "0001-01-01T00:00:00+23:59"),
        *("9999-12-31T23:59:59-23:59", "2026-03-14T10:00:00+24:00", "2026-03-14T10:22:05.000000ZZ"),
        *("Sat Mar 14 10:22:05 CST 2026", "Sat Mar 14 25:22:05 UTC 2026", "Sat Foo 1 1:2:3 UTC 2"),
        *("2026-03-14T10:22:60Z", "2026/03/1410:22", "+2026-03-14", "2026-13-01"),
    ],
)
def test_what_is_not_a_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_time(text)


@pytest.mark.parametrize(("text", "why"), CASES["unclear"])
def test_a_time_that_cannot_be_read_safely_says_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_time(text)


def test_every_moment_is_in_utc() -> None:
    for text in ("2026-03-14", "2026-03-14T10:22:05.000Z", "2026-03-14 10:22+07"):
        assert moment(text).tzinfo == UTC


PIECES = st.sampled_from(
    [*"0123456789", *"-/.:, TZ+", "2026", "03", "14", "12", "GMT", "AM", "ص", "٣", "\u200f"]
)


@settings(max_examples=300, deadline=None)
@example("2026-03-14 10:22:05.000000Z")
@given(st.one_of(st.lists(PIECES, max_size=24).map("".join), st.text(max_size=30)))
def test_any_text_is_a_timestamp_or_a_value_error(text: str) -> None:
    order_of(text)
    try:
        time = read_time(text, "day-first")
    except ValueError:
        return
    assert IS_TIMESTAMP(time) == time == read_time(time)

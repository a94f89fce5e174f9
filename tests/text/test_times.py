"""Times of platforms, forms and spreadsheets; nothing is guessed."""

from datetime import UTC
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from curation.records import Timestamp
from curation.text.times import moment, order_of, read_time

IS_TIMESTAMP = TypeAdapter(Timestamp).validate_python


@pytest.mark.parametrize(
    ("text", "time"),
    [
        # ISO 8601, also with a space, a comma before the fraction, or compact
        ("2026-03-14T10:22:05.987654Z", "2026-03-14T10:22:05.987Z"),
        ("2026-03-14 10:22:05.987654Z", "2026-03-14T10:22:05.987Z"),
        ("2026-03-14T10:22:05,987654Z", "2026-03-14T10:22:05.987Z"),
        ("2026-03-14T102205.98765432Z", "2026-03-14T10:22:05.987Z"),
        ("20260314T102205Z", "2026-03-14T10:22:05.000Z"),
        ("2026-03-14t10:22:05z", "2026-03-14T10:22:05.000Z"),
        ("2026-03-14T10:22:05+0200", "2026-03-14T08:22:05.000Z"),
        ("2026-03-14T10:22:05 -05:30", "2026-03-14T15:52:05.000Z"),
        ("2026-03-14", "2026-03-14T00:00:00.000Z"),
        ("2026-3-4 9:05", "2026-03-04T09:05:00.000Z"),
        # Google Forms and Google Sheets
        ("2026/03/14 10:22:05 AM GMT+7", "2026-03-14T03:22:05.000Z"),
        ("2026/03/14 12:22:05 AM GMT+5:30", "2026-03-13T18:52:05.000Z"),
        ("2026/03/14 12:22:05 p.m. GMT-3", "2026-03-14T15:22:05.000Z"),
        ("2026/03/14 10:22:05\u202fPM UTC", "2026-03-14T22:22:05.000Z"),
        ("2026/03/14 10:22:05 午後 GMT+9", "2026-03-14T13:22:05.000Z"),
        ("2026. 3. 14 오전 10:22:05", "2026-03-14T10:22:05.000Z"),
        ("٢٠٢٦/٠٣/١٤ ١٠:٢٢:٠٥ م GMT+3", "2026-03-14T19:22:05.000Z"),
        ("3/14/2026 10:22:05", "2026-03-14T10:22:05.000Z"),
        ("14/3/2026, 10:22:05", "2026-03-14T10:22:05.000Z"),
        ("14-03-2026 10.22.05", "2026-03-14T10:22:05.000Z"),
        ("3/3/2026 10:22", "2026-03-03T10:22:00.000Z"),
        ("14.03.2026 10:22", "2026-03-14T10:22:00.000Z"),
        # the first and the last year
        ("0001-01-01", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z"),
        # Mechanical Turk
        ("Sat Mar 14 23:22:05 PDT 2026", "2026-03-15T06:22:05.000Z"),
    ],
)
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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("46095.43", "it is a number; a spreadsheet"),
        ("1773483725", "it is a number; a spreadsheet"),
        ("14/3/26 10:22", "its year has two digits"),
        ("14.3.26", "its year has two digits"),
        ("Sat Mar 14 10:22:05 EST 2026", "the time zone 'EST' is not known"),
        ("14 Mar 2026", "it is not a time"),
        ("1447/09/25 10:22", "the year 1447 is of another calendar"),
        ("١٤٤٧/٠٩/٢٥", "the year 1447 is of another calendar"),
        ("14/3/2569 10:22", "the year 2569 is of another calendar"),
    ],
)
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

"""Times as records have them, and the reading of times as platforms and spreadsheets write them.

A time without a zone counts as UTC. A date such as 3/4/2026 could be two days; it is only read if
you say which number is the day.
"""

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Literal, get_args

Order = Literal["day-first", "month-first"]
ORDERS: tuple[Order, ...] = get_args(Order)

# The form of very many times; Python reads it fast.
_PLAIN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:\d{3})?Z", re.ASCII)
_HALVES = {
    "am": 0,
    "午前": 0,
    "오전": 0,
    "ص": 0,
    "pm": 12,
    "午後": 12,
    "오후": 12,
    "م": 12,
}
"""Words for the halves of a day, and the hours to add."""
_HALF = rf"(?P<half>[ap]\.?m\.?|{'|'.join(word for word in _HALVES if not word.isascii())})"
_CLOCK = (
    r"(?P<hour>\d\d?)(?P<gap>[:.])(?P<minute>\d\d)"
    r"(?:(?P=gap)(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
)
_COMPACT = r"(?P<hour>\d\d)(?P<minute>\d\d)(?:(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
_ZONES = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7, "WIB": 7, "WITA": 8, "WIT": 9}
"""Hours ahead of UTC, by the name of the zone; the last three are those of Indonesia."""
_ZONE = (
    r"(?: ?(?:Z|(?:UTC|GMT)? ?(?P<sign>[+-])(?P<ahead>\d\d?)(?::?(?P<more>\d\d))?"
    rf"|(?P<zone>{'|'.join(_ZONES)})))"
)


def _pattern(date: str, clock: str = rf"{_CLOCK}(?: ?{_HALF})?") -> re.Pattern[str]:
    return re.compile(rf"{date}(?:(?:T|, ?| ){clock}{_ZONE}?)?", re.ASCII | re.IGNORECASE)


_YEAR_FIRST = r"(?P<year>\d{4})(?P<mark>[-/.]) ?(?P<month>\d\d?)(?P=mark) ?(?P<day>\d\d?)\.?"
_FORMS = (
    _pattern(_YEAR_FIRST),
    _pattern(_YEAR_FIRST, rf"{_HALF} ?{_CLOCK}"),
    re.compile(
        r"(?P<year>\d{4})(?P<mark>-?)(?P<month>\d\d)(?P=mark)(?P<day>\d\d)[T ]"
        rf"{_COMPACT}{_ZONE}?",
        re.ASCII | re.IGNORECASE,
    ),
    _pattern(r"(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d{4})"),
)
_YEAR_LAST = _pattern(r"(?P<one>\d\d?)(?P<mark>[-/])(?P<two>\d\d?)(?P=mark)(?P<year>\d{4})")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?", re.ASCII)
_SHORT_YEAR = re.compile(r"\d\d?([-/.])\d\d?\1\d\d(?!\d)", re.ASCII)
_SPOKEN = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d?) (\d\d):(\d\d):(\d\d) ([A-Z]{3,4}) (\d{4})", re.ASCII
)
_ELSEWHERE = (range(1300, 1600), range(2500, 2700))
"""Years of other calendars: the Islamic and Persian ones, and the Buddhist one."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@lru_cache(maxsize=10_000)
def read_time(text: str, order: Order | None = None) -> str:
    """A time as a ``Timestamp``; see ``moment``.

    >>> read_time("2026/03/14 10:22:05 AM GMT+7"), read_time("14.03.2026 10:22")
    ('2026-03-14T03:22:05.000Z', '2026-03-14T10:22:00.000Z')
    """
    if _PLAIN.fullmatch(text):
        datetime.fromisoformat(text)  # raises ValueError if there is no such day or hour
        return text[:23] + "Z"
    return timestamp(moment(text, order))


def now() -> str:
    """The current time as a ``Timestamp``."""
    return timestamp(datetime.now(UTC))


def timestamp(moment: datetime) -> str:
    """A time as a ``Timestamp``: in UTC, with milliseconds; without a zone it counts as UTC.

    >>> timestamp(datetime.fromisoformat("2026-03-14T10:22:05+02:00"))
    '2026-03-14T08:22:05.000Z'
    """
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: str, order: Order | None = None) -> datetime:
    """The moment that a text names.

    It reads ISO 8601 (2026-03-14T10:22:05Z, also compact or with a space), dates with the year
    first, 14.03.2026 10:22, Google Forms' 2026/03/14 10:22:05 AM GMT+7, and Mechanical Turk's
    Sat Mar 14 10:22:05 UTC 2026.

    Args:
        text: the text.
        order: what comes first in a date such as 3/4/2026.

    Returns:
        The moment with its zone, or in UTC if the text does not name a zone.

    Raises:
        ValueError: the text is not a time, is not within the years 1 to 9999 in UTC, or is one of
            two days and ``order`` is missing.
    """
    try:
        if _PLAIN.fullmatch(text):
            return datetime.fromisoformat(text)
        plain = _plain(text)
        if match := next(filter(None, (form.fullmatch(plain) for form in _FORMS)), None):
            return _built(match, int(match["month"]), int(match["day"]))
        if match := _YEAR_LAST.fullmatch(plain):
            one, two = int(match["one"]), int(match["two"])
            settled = order_of(plain)
            if settled == "either" and order is None:
                raise ValueError("it could be two days")
            day_first = (order if settled == "either" else settled) == "day-first"
            return _built(match, *((two, one) if day_first else (one, two)))
        if match := _SPOKEN.fullmatch(plain):
            name, day, hour, minute, second, zone, year = match.groups()
            month, clock = _MONTHS.index(name) + 1, (int(hour), int(minute), int(second))
            local = datetime(int(year), month, int(day), *clock, tzinfo=UTC)
            return local - timedelta(hours=_ZONES[zone])
    except OverflowError as error:
        raise ValueError(f"it is not a time ({error})") from None
    except KeyError as error:
        raise ValueError(f"the time zone {error} is not known") from None
    if _NUMBER.fullmatch(plain):
        raise ValueError("it is a number; a spreadsheet shows times as numbers in some formats")
    if _SHORT_YEAR.match(plain):
        raise ValueError("its year has two digits")
    raise ValueError("it is not a time")


_EXACT = re.compile(
    rf"[:.]\d\d.*(?:Z|{'|'.join(_ZONES)}|[A-Z]{{3,4}} \d{{4}}|[+-]\d\d?(?::?\d\d)?)$", re.ASCII
)


def is_exact(text: str) -> bool:
    """Whether a time names a clock and a zone, so that it is not a part of a day off.

    >>> [is_exact(text) for text in ("2026-03-14T10:22:05Z", "14.03.2026 10:22 GMT+7")]
    [True, True]
    >>> [is_exact(text) for text in ("2026-03-14", "2026-03-14 10:22", "2026-03-14T10:22:05")]
    [False, False, False]
    """
    return _EXACT.search(_plain(text).upper()) is not None


def is_plausible(moment: datetime | None) -> bool:
    """Whether a number that means this moment in a spreadsheet is probably a date."""
    return moment is not None and 2000 <= moment.year < 2100


def spreadsheet_day(text: str) -> str | None:
    """The time that a number probably is, if a spreadsheet wrote a date as a number.

    >>> spreadsheet_day("46095.43"), spreadsheet_day("1773483725")
    ('2026-03-14 10:19:12', None)
    """
    plain = _plain(text)
    if not re.fullmatch(r"\d{5}(?:[.,]\d{1,20})?", plain, re.ASCII):
        return None
    seconds = round(float(plain.replace(",", ".")) * 86_400)
    moment = datetime(1899, 12, 30) + timedelta(seconds=seconds)
    return moment.isoformat(" ") if is_plausible(moment) else None


def order_of(text: str) -> Order | Literal["either"] | None:
    """What a date says about the order of day and month; None if it says nothing.

    >>> order_of("14/3/2026 10:22"), order_of("3/14/2026"), order_of("3/4/2026 10:22")
    ('day-first', 'month-first', 'either')
    >>> order_of("3/3/2026"), order_of("2026-03-04")
    (None, None)
    """
    match = _YEAR_LAST.fullmatch(_plain(text))
    if match is None:
        return None
    one, two = int(match["one"]), int(match["two"])
    if one == two or max(one, two) > 31 or min(one, two) > 12:
        return None
    if max(one, two) <= 12:
        return "either"
    return "day-first" if one > 12 else "month-first"


def _plain(text: str) -> str:
    """A text with single spaces and ASCII digits, without invisible marks."""
    if not text.isascii():
        seen = (c for c in text if unicodedata.category(c) != "Cf")
        text = "".join(str(unicodedata.decimal(c, c)) for c in seen)
    return " ".join(text.split())


def _built(match: re.Match[str], month: int, day: int) -> datetime:
    part = match.groupdict()
    if any(int(part["year"]) in years for years in _ELSEWHERE):
        raise ValueError(f"the year {part['year']} is of another calendar")
    hour = int(part["hour"] or 0)
    if half := part.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError("a 12-hour clock has the hours 1 to 12")
        hour = hour % 12 + _HALVES[half.replace(".", "").lower()]
    zone = UTC
    if name := part.get("zone"):
        zone = timezone(timedelta(hours=_ZONES[name.upper()]))
    elif part["sign"]:
        hours, minutes = int(part["ahead"]), int(part["more"] or 0)
        ahead = timedelta(hours=hours, minutes=minutes)
        zone = timezone(-ahead if part["sign"] == "-" else ahead)
    made = datetime(
        int(part["year"]),
        month,
        day,
        hour,
        int(part["minute"] or 0),
        int(part["second"] or 0),
        int((part["fraction"] or "").ljust(6, "0")[:6]),
        zone,
    )
    return made.astimezone(UTC)

"""The owner's pages: how the rounds go, for the one who has the owner's link.

They have two sources, and say which is which: counts of the database as they are now, and the
figures of ``curation rounds status``, as of the last pull. People are pseudonyms. Names and
personal links are only on the private list, which a form opens.
"""

import secrets
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from curation.files import CurationError
from curation.formats.toml_files import shipped_table
from curation.reasons import REASONS
from curation.records import VALUES, Fields
from curation.rounds.platforms.interface import Overview, Progress, came
from curation.rounds.platforms.web import arrivals
from curation.rounds.platforms.web.platform import address, entry
from curation.rounds.platforms.web.rounds import HOUR, Live
from curation.rounds.platforms.web.site import OWNER, Refusal, Site, Visit
from curation.text.times import moment
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.rounds.quality import PersonQuality

BINS = {HOUR: "hour", 6 * HOUR: "six hours", 24 * HOUR: "day", 7 * 24 * HOUR: "week"}
MOST_BINS = 72
COLUMNS = 50  # of dots
REFRESH = "60"  # seconds
SOON = "2"  # seconds, while figures are being computed


class OwnerPages:
    """The pages below ``/owner``."""

    def __init__(self, site: Site) -> None:
        self.site, self.store, self.services = site, site.store, site.services

    def routes(self) -> list[Route]:
        """The addresses."""
        page = self.site.route
        return [
            page(OWNER, "owner", self.rounds),
            page(f"{OWNER}/r/{{round}}", "owner_round", self.round),
            page(f"{OWNER}/items", "owner_items", self.items, self.leave_out),
            page(f"{OWNER}/private", "owner_private", self.rounds, self.private),
            page(f"{OWNER}/leave", "owner_leave", None, self.leave),
            page(f"{OWNER}/{{secret}}", "owner_enter", self.enter),
        ]

    def enter(self, visit: Visit) -> Response:
        """The owner's link: its secret becomes a session, and leaves the address."""
        right = self.store.owner_secret().encode()
        if not secrets.compare_digest(right, visit.part("secret").encode()):
            raise Refusal(404, "link_wrong")
        response = RedirectResponse(OWNER, 303)
        known = self.store.is_owner(visit.cookie, visit.now)
        if visit.request.method != "HEAD" and not known:
            cookie = self.store.begin_owner_session(visit.now)
            self.site.set_cookie(visit, response, cookie)
        return response

    def leave(self, visit: Visit) -> Response:
        """End the session in this browser."""
        self.store.end_owner_session(visit.cookie)
        response = self.site.message(
            visit, None, "leave", ["You are no longer signed in as the owner in this browser."]
        )
        self.site.set_cookie(visit, response, "")
        return response

    def rounds(self, visit: Visit) -> Response:
        """All rounds of the campaign."""
        return self._page(visit, "owner.html")

    def round(self, visit: Visit) -> Response:
        """One round."""
        return self._page(visit, "owner_round.html", visit.part("round"))

    def items(self, visit: Visit, words: str = "") -> Response:
        """The items that are searched for, each with its votes and flags."""
        self._check_owner(visit)
        words = words or visit.request.query_params.get("q", "")
        context: dict[str, Any] = {"words": words, "found": [], "unread": "", "values": VALUES}
        try:
            context["found"] = self.services.find_items(words) if words else []
        except CurationError as error:
            context["unread"] = f"{error.what}; {error.fix}"
        return self._page(visit, "owner_items.html", **context)

    def leave_out(self, visit: Visit) -> Response:
        """Name an item in ``leave_out``, then show it again."""
        self._check_owner(visit)
        item = visit.form.one("item")
        if item not in {each.item.id for each in self.services.find_items(item)}:
            raise Refusal(404, "missing")
        self.services.leave_out(item)
        return self.items(visit, item)

    def private(self, visit: Visit) -> Response:
        """Who is who: names, pseudonyms and personal links."""
        claimed = arrivals.participants(self.store)
        people = [
            (
                person,
                claimed.get(person.id, ""),
                f"{address(self.store)}/p/{self.store.secret_of(person.id)}",
            )
            for person in self.store.people()
        ]
        return self._page(visit, "owner_private.html", people=people)

    def _check_owner(self, visit: Visit) -> None:
        if not self.store.is_owner(visit.cookie, visit.now):
            raise Refusal(401, "signed_out")

    def _page(self, visit: Visit, template: str, only: str = "", **context: Any) -> Response:
        self._check_owner(visit)
        overview, problem = None, ""
        try:
            overview = self.services.overview()
            problem = overview.problem if overview else ""
        except CurationError as error:
            problem = f"{error.what}; {error.fix}" if error.fix else error.what
        is_old = overview.is_old if overview else not problem
        refresh = REFRESH if visit.request.query_params.get("refresh") else ""
        live = self.store.live(visit.now)
        names = dict.fromkeys([*(overview.rounds if overview else ()), *live])
        if only and only not in names:
            raise Refusal(404, "missing")
        shown = [self._round(visit, n, live.get(n), overview) for n in names if only in ("", n)]
        shown.sort(key=lambda each: each["state"] == "closed")
        return self.site.page(
            visit,
            None,
            template,
            overview=overview,
            problem=problem,
            rounds=shown,
            costs=costs(overview) if overview else None,
            now=visit.now,
            when=when,
            day=lambda at: when(at, "%b"),
            number=lambda n: f"{n:,}",
            money=lambda x: f"{x:,.2f}",
            share=lambda x: f"{100 * x:.0f} %",
            whole=lambda x, times=1: "–" if x is None else f"{times * x:.0f}",
            amount=amount,
            reasons=REASONS,
            age=lambda at: age(at, visit.now),
            refresh=refresh,
            reload=SOON if is_old else refresh,
            **context,
        )

    def _round(
        self, visit: Visit, name: str, live: Live | None, overview: Overview | None
    ) -> dict[str, Any]:
        """What a page says of a round; ``live`` and ``figures`` are None where they are unknown."""
        figures = overview.rounds.get(name) if overview else None
        people = (overview.people.get(name) if overview else None) or []
        progress = figures.progress if figures else None
        plan = self.store.plan(name)
        is_open = live.is_open if live else progress is not None and progress.state == "open"
        is_old = overview is None or overview.is_old
        step = "" if is_old or not figures or figures.next == "closed" else figures.next
        if live and live.waiting:  # the figures may be older than what has come since
            step = came(live.waiting, name)
        return {
            "name": name,
            "kind": progress.kind if progress else live and live.kind,
            "state": "open" if is_open else progress.state if progress and not live else "closed",
            "next": step,
            "live": live,
            "figures": figures,
            "progress": progress,
            "bar": decided(progress) if progress else None,
            "link": entry(self.store, plan) if plan and is_open else "",
            "is_study": plan is not None and plan.prolific,
            "is_web": live is not None,
            "chart": over_time(live.hours, visit.now) if live else None,
            "people": people,
            "dots": dots(people),
            "agreement": agreement(people),
            "meanings": meanings(people),
            "recent": live.hours.get(int(visit.now // HOUR), 0) if live else 0,
        }


# --- what charts show ---------------------------------------------------------------------------


class Part(NamedTuple):
    """A part of a bar, with where it begins and how long it is in percent of the bar."""

    name: str
    n: float
    begin: float
    length: float


def bar(parts: Mapping[str, float]) -> list[Part]:
    """A bar of parts in their order; empty if there is nothing to show.

    >>> bar({"decided": 1, "open": 3})[1]
    Part(name='open', n=3, begin=25.0, length=75.0)
    """
    total, begin, made = sum(parts.values()), 0.0, []
    for name, n in parts.items():
        length = round(100 * n / total, 2) if total else 0.0
        made.append(Part(name, n, round(begin, 2), length))
        begin += length
    return made if total else []


def decided(progress: Progress) -> list[Part]:
    """The tasks of a round: decided or done, open and void."""
    is_open = progress.tasks - progress.void - progress.decided
    name = "decided" if progress.decides else "done"
    return bar({name: progress.decided, "open": is_open, "void": progress.void})


def costs(overview: Overview) -> dict[str, Any] | None:
    """What all rounds cost; None if nobody is paid and there is no budget."""
    each = [figures.progress for figures in overview.rounds.values()]
    cost, in_all = sum(p.cost for p in each), sum(p.cost_in_all for p in each)
    if not in_all and not overview.budget:
        return None
    left = max(overview.budget - in_all, 0.0)
    parts = bar({"earned": cost, "to come": in_all - cost, "left": left})
    return {"cost": cost, "in_all": in_all, "budget": overview.budget, "bar": parts}


class Chart(NamedTuple):
    """Answers over time, as a line of steps.

    Attributes:
        unit: what a step is, such as ``hour``.
        bins: the beginning of each step in seconds since 1970, and its number of answers.
        top: the number at the upper edge of the chart.
        line: the path of the line; a step is 1 wide, and the chart is 100 high.
        ticks: times at the lower edge: their place in percent, and the time.
    """

    unit: str
    bins: list[tuple[int, int]]
    top: int
    line: str
    ticks: list[tuple[float, str]]


def over_time(hours: Mapping[int, int], now: float) -> Chart | None:
    """Answers in each hour, or in longer steps if there were too many; None without answers."""
    if not hours:
        return None
    since = min(hours) * HOUR
    fits = (width for width in BINS if (now - since) / width < MOST_BINS)
    width = next(fits, 7 * 24 * HOUR)
    sums = Counter[int]()
    for hour, n in hours.items():
        sums[hour * HOUR // width] += n
    numbers = range(min(sums), max(int(now // width), max(sums)) + 1)
    bins = [(number * width, sums[number]) for number in numbers]
    top = _round_above(max(sums.values()))
    heights = [f"V{100 - 100 * n / top:.4g}h1" for _, n in bins]
    line = f"M0 100{''.join(heights)}V100"
    form, length = "%b, %H:%M" if width < 24 * HOUR else "%b", len(bins) * width
    ticks = [(place, when(bins[0][0] + place * length / 100, form)) for place in (0.0, 50.0, 100.0)]
    return Chart(BINS[width], bins, top, line, ticks)


def _round_above(n: int) -> int:
    """The next of 2, 4, 10, 20, 40, 100, … that is not below a number."""
    return next(top for m in count() for k in (2, 4, 10) if (top := k * int(10**m)) >= n)


class Dot(NamedTuple):
    """A person: where the dot is, from the start in percent and from the foot in dots."""

    person: "PersonQuality"
    place: float
    level: int


def dots(people: Sequence["PersonQuality"]) -> list[Dot]:
    """One dot for each person with an agreement; people with the same one are on each other."""
    levels, made = Counter[int](), []
    for person in sorted(people, key=lambda each: (bool(each.marks), each.person)):
        if person.agreement is not None:
            column = round(COLUMNS * person.agreement)
            made.append(Dot(person, 100 * column / COLUMNS, levels[column]))
            levels[column] += 1
    return made


def agreement(people: Sequence["PersonQuality"]) -> dict[str, float] | None:
    """The agreement of people with others, from 0 to 1, and of how many; None if none is known."""
    known = [each.agreement for each in people if each.agreement is not None]
    if not known:
        return None
    middle = statistics.median(known)
    return {"least": min(known), "median": middle, "most": max(known), "people": len(known)}


def meanings(people: Sequence["PersonQuality"]) -> Mapping[str, Fields]:
    """By mark what it means; empty if nobody has one."""
    if not any(each.marks for each in people):
        return {}
    return shipped_table("rounds", "marks.toml")


def age(at: str, now: float) -> str:
    """How long ago a time was, in its largest unit.

    >>> age("1970-01-01T00:00:00.000Z", 59), age("1970-01-01T00:00:00.000Z", 7300)
    ('less than a minute ago', '2 hours ago')
    """
    seconds = now - moment(at).timestamp()
    units = (("day", 24 * HOUR), ("hour", HOUR), ("minute", 60))
    whole = ((int(seconds // length), unit) for unit, length in units)
    return next((f"{amount(n, unit)} ago" for n, unit in whole if n > 0), "less than a minute ago")


def when(at: float | str, form: str = "%b %Y, %H:%M UTC") -> str:
    """A time as people read it: the day of the month, then what ``form`` says.

    >>> when("2026-03-14T10:22:05.000Z")
    '14 Mar 2026, 10:22 UTC'
    """
    time = moment(at) if isinstance(at, str) else datetime.fromtimestamp(at, UTC)
    return f"{time.day} {time:{form}}"

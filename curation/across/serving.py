"""Our own pages in front of annotators: the web server of a campaign, and people's links."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from curation.campaign.store import SETTINGS, Campaign, open_campaign
from curation.decisions.steps import find_items, leave_out
from curation.files import CurationError, read_text, writing
from curation.formats.tables import csv_text, read_csv
from curation.kinds import ROUNDS
from curation.rounds.answers import people
from curation.rounds.platforms.interface import ItemFacts, Overview
from curation.rounds.sheets import read_people
from curation.rounds.status import figures, read_status
from curation.text.times import now
from curation.text.wording import show_address
from curation.work.engine import in_own_process

if TYPE_CHECKING:
    from curation.rounds.platforms.web.forms import Services
    from curation.rounds.platforms.web.store import Person, Store

PORT = 8100
HERE = ("127.0.0.1", "localhost")
"""Addresses to listen on that only this machine can reach."""
NONE_OPEN = "no round is open on the web server"
LOCK = ".web.lock"
COLUMNS = ("name", "person", "link")  # of a file of links
_ADDRESS = re.compile(r"https?://[^\s/?#@:]+(:\d+)?/?")


@contextmanager
def opened_store(campaign: Campaign) -> "Iterator[Store]":
    """The database of the campaign's web server, closed at the end.

    Raises:
        CurationError: there is none yet, or it is damaged.
    """
    from curation.rounds.platforms.web.platform import DATABASE
    from curation.rounds.platforms.web.store import Store

    path = campaign.folder("rounds") / DATABASE
    if not path.exists():
        raise CurationError(NONE_OPEN, "«curation rounds open KIND» opens one")
    store = Store(path)
    try:
        yield store
    finally:
        store.close()


def common_links(store: "Store") -> dict[str, str]:
    """By open round the link by which everybody can join it; empty if it takes personal links."""
    from curation.rounds.platforms.web.platform import entry

    plans = {name: store.plan(name) for name in store.rounds()}
    return {name: entry(store, plan) if plan else "" for name, plan in plans.items()}


def owner_link(store: "Store") -> str:
    """The link to the owner's page, for the owner alone."""
    from curation.rounds.platforms.web.platform import address

    return f"{address(store)}/owner/{store.owner_secret()}"


# --- personal links -----------------------------------------------------------------------------


class Links(NamedTuple):
    """Personal links that were written to a file.

    Attributes:
        file: the private table of names, ids and links.
        rounds: the rounds that the links open.
        links: the link of each person, by name.
        new: how many of the people are new.
        is_dead: whether nobody can open them yet, because the server never ran.
    """

    file: Path
    rounds: list[str]
    links: dict[str, str]
    new: int
    is_dead: bool


def make_links(campaign: Campaign, rounds: Sequence[str], names: Sequence[str]) -> Links:
    """Make a personal link for each person, and write them to a private file, 2-rounds/links-N.csv.

    A person who has a link keeps it, and it opens these rounds, too. Somebody who answered under
    the same name in tables or on Label Studio gets the same pseudonym. Call this only under the
    campaign's lock.

    Args:
        campaign: the campaign.
        rounds: open rounds on the web server; empty for all.
        names: what the owner calls each person, as from ``names_in``, ``fresh_names`` or
            ``everybody``. People who came by a common link are called by their id.

    Raises:
        CurationError: nobody is named, a round is not open on the web server, somebody is out of
            the campaign, or somebody could get an item of their own.
    """
    if not names:
        raise CurationError("nobody has a link yet", "use --count N or --people FILE")
    from curation.rounds.platforms.web.platform import address

    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    with opened_store(campaign) as store:
        chosen = _open_rounds(store, rounds)
        known, is_dead = _known(store), not store.fact("address")
        before = _before(campaign, store, chosen, names)
        here = {person.pseudonym: person for person in _known(store).values()}
        rows, new = [], 0
        for name in names:
            if person := known.get(name) or here.get(before[name]):
                for round in chosen:
                    store.admit(person.id, round)
            else:
                own = before[name]
                named = (lambda _, own=own: own) if own else pseudonym
                person = store.add_person(named, chosen, name=name, at=time.time())
                here[person.pseudonym] = person
                new += 1
            link = f"{address(store)}/p/{store.secret_of(person.id)}"
            rows.append((name, person.id, link))
    path = campaign.folder("rounds") / f"links-{_next_number(campaign)}.csv"
    with writing(path, private=True) as written:
        written.write(csv_text([COLUMNS, *rows]).encode())
    links = {name: link for name, _, link in rows}
    return Links(path, chosen, links, new, is_dead)


def _before(
    campaign: Campaign, store: "Store", rounds: Sequence[str], names: Sequence[str]
) -> dict[str, str]:
    """By name the pseudonym under which somebody answered before; empty if nobody did.

    Raises:
        CurationError: somebody is out of the campaign, or is two people, and one of the rounds is
            of validation.
    """
    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    out, met, known = people.out(campaign.standing), _met(campaign), _known(store)
    plans = map(store.plan, rounds)
    labels = any(plan is not None and ROUNDS[plan.kind].work == "label" for plan in plans)
    before = {}
    for name in names:
        here = [known[name].pseudonym] if name in known else []
        spelled = [pseudonym(name), pseudonym(name.lower())]
        if gone := [out[person][0] for person in (*here, *spelled) if person in out]:
            raise CurationError(
                f"{name!r} is out of the campaign ({gone[0]})", "take them out of the list"
            )
        before[name] = next((person for person in spelled if person in met), "")
        if labels and here and before[name] not in ("", *here):
            raise CurationError(
                f"{name!r} is {here[0]} on our own pages and {before[name]} elsewhere, and so "
                "could get items of their own",
                "take them out of the list of a round of validation",
            )
    return before


def _met(campaign: Campaign) -> set[str]:
    """The pseudonyms of all who have answered."""
    return {person.id for person in campaign.people}


def _known(store: "Store") -> "dict[str, Person]":
    """The people who have a link, by name, or by id if the owner has not named them.

    People from Prolific whom it has not confirmed are not among them: they may be anybody.
    """
    from curation.rounds.platforms.web import arrivals

    unknown = arrivals.provisional(store)
    return {p.name or p.id: p for p in store.people() if p.id not in unknown}


def everybody(campaign: Campaign) -> list[str]:
    """The names of all people who have a link and are not out of the campaign."""
    out = people.out(campaign.standing)
    with opened_store(campaign) as store:
        return [name for name, person in _known(store).items() if person.pseudonym not in out]


def names_in(campaign: Campaign, file: Path) -> list[str]:
    """The names in a list of people, one in each line, or in a file of links of before.

    Raises:
        CurationError: a line is not a name, or names somebody a second time.
    """
    if not file.is_file() or not read_text(file).replace('"', "").startswith(",".join(COLUMNS)):
        return list(read_people(campaign, file).values())
    names = []
    for line, row in read_csv(read_text(file), file)[1]:
        if not row.get("name"):
            raise CurationError(f"{file} line {line}: no name", "delete the line")
        names.append(str(row["name"]))
    return list(dict.fromkeys(names))


def fresh_names(campaign: Campaign, count: int) -> list[str]:
    """Names for new people: person-1, person-2, …; numbers that somebody has are left out."""
    with opened_store(campaign) as store:
        numbers = (re.fullmatch(r"person-(\d+)", person.name) for person in store.people())
        last = max((int(number[1]) for number in numbers if number), default=0)
    met = _met(campaign)
    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    names = (f"person-{n}" for n in range(last + 1, last + count + len(met) + 1))
    return list(islice((name for name in names if pseudonym(name) not in met), count))


def _open_rounds(store: "Store", named: Sequence[str]) -> list[str]:
    """The named rounds, or all that are open on the web server."""
    live = store.rounds()
    wrong = [name for name in named if name not in live]
    if wrong or not live:
        what = f"round {wrong[0]} is not open on the web server" if wrong else NONE_OPEN
        fix = f"open there: {', '.join(live)}; " if live else ""
        raise CurationError(what, f"{fix}«curation rounds open KIND» opens one")
    return list(dict.fromkeys(named)) or live


def _next_number(campaign: Campaign) -> int:
    taken = (
        re.fullmatch(r"links-(\d+)\.csv", path.name) for path in campaign.folder("rounds").iterdir()
    )
    return 1 + max((int(number[1]) for number in taken if number), default=0)


# --- the server ---------------------------------------------------------------------------------


class Serving(NamedTuple):
    """A web server that runs.

    Attributes:
        url: where this machine reaches it.
        address: the address in people's links.
        links: by open round the common link; empty if the round takes personal links only.
        owner: the owner's link.
        old_lists: if the address has changed, the lists of personal links with another address.
        unchecked: what the owner should know if people from Prolific come and no token is set.
    """

    url: str
    address: str
    links: dict[str, str]
    owner: str
    old_lists: list[str]
    unchecked: str


def serve(
    campaign: Campaign,
    *,
    host: str = HERE[0],
    port: int = PORT,
    address: str = "",
    new_link: bool = False,
    ready: Callable[[Serving], None],
) -> None:
    """Run the web server of a campaign until SIGINT or SIGTERM. It takes no lock of the campaign.

    Args:
        campaign: the campaign.
        host: the address to listen on.
        port: the port to listen on.
        address: the public address, if a proxy is in front; it is kept for people's links. Empty
            for the one that is kept, or else the server's own. On all addresses of the machine
            (0.0.0.0) it has none that others can use.
        new_link: make a new link for the owner; the old one stops working.
        ready: called once the server answers.

    Raises:
        CurationError: an address is wrong, the port is in use, another server of this campaign
            runs, the disk is full, or the campaign's key is missing.
    """
    from curation.rounds.platforms.web import platform, server

    if address and not _ADDRESS.fullmatch(address):
        raise CurationError(
            f"--address: {show_address(address)!r} is not the address of a server",
            "use one without a path, such as https://study.example.org",
        )
    everywhere = not host.strip("0.")
    if everywhere and not address and not _public_address(campaign):
        raise CurationError(
            f"--host {host}: people's links need the address at which people reach this machine",
            f"add it, for example --address http://192.168.1.5:{port}",
        )
    campaign.folder("rounds").mkdir(exist_ok=True)
    if not campaign.rounds:  # as the first opening of a round would
        people.make_key(campaign.settings.campaign.id)
    url = f"http://{HERE[0] if host in HERE or everywhere else host}:{port}"

    own, overviews = services(campaign), Overviews(campaign)

    def tell() -> None:  # not before: a second server that is refused must not change the links
        with opened_store(campaign) as store:
            before = platform.address(store)
            store.set_fact("address", address.rstrip("/") or _public_address(campaign) or url)
            public = platform.address(store)
            old = _lists_without(campaign, public) if public != before else []
            if new_link:
                store.renew_link()
            plans = map(store.plan, store.rounds())
            crowd = own.crowd is None and any(plan and plan.prolific for plan in plans)
            unchecked = platform.UNCHECKED if crowd else ""
            ready(Serving(url, public, common_links(store), owner_link(store), old, unchecked))
        overviews.begin()

    server.run(
        campaign.folder("rounds") / platform.DATABASE,
        own._replace(overview=overviews),
        host=host,
        port=port,
        lock=campaign.folder("rounds") / LOCK,
        ready=tell,
    )


def _lists_without(campaign: Campaign, address: str) -> list[str]:
    """The lists of personal links that name another address."""
    paths = sorted(campaign.folder("rounds").glob("links-*.csv"))
    return [campaign.relative(path) for path in paths if f"{address}/p/" not in read_text(path)]


def check_port(port: int) -> None:
    """Check that a server could listen on a port of this machine now.

    Raises:
        CurationError: another program uses it, or you may not.
    """
    from curation.rounds.platforms.web import server

    with server.listening(HERE[0], port):
        pass


def _public_address(campaign: Campaign) -> str:
    """The address of the server that is kept; empty if none is, or only this machine reaches it."""
    from curation.rounds.platforms.web.platform import DATABASE

    if not (campaign.folder("rounds") / DATABASE).exists():
        return ""
    with opened_store(campaign) as store:
        kept = store.fact("address")
    return "" if kept.startswith(tuple(f"http://{name}:" for name in HERE)) else kept


def services(campaign: Campaign) -> "Services":
    """What the server may ask of the campaign: pseudonyms, who is out, Prolific, and items.

    Raises:
        CurationError: the campaign's key is missing.
    """
    from curation.rounds.platforms.web.forms import Services
    from curation.rounds.platforms.web.prolific import from_environment

    key, root = people.read_key(campaign.settings.campaign.id), campaign.root
    return Services(
        people.pseudonyms(key),
        _is_out(campaign),
        crowd=from_environment(),
        find_items=lambda words: in_own_process(_find_items, (root, words)),
        leave_out=lambda item: leave_out(open_campaign(root), item),
    )


def _is_out(campaign: Campaign) -> Callable[[str], bool]:
    """Tells whether somebody is out, by the file as it is now; it is read again if it changes."""
    path = campaign.folder("rounds") / "standing.jsonl"

    @lru_cache(maxsize=1)
    def out(state: object) -> set[str]:
        return set(people.out(campaign.standing))

    def is_out(pseudonym: str) -> bool:
        if not path.exists():
            return False
        stat = path.stat()
        return pseudonym in out((stat.st_mtime_ns, stat.st_size, stat.st_ino))

    return is_out


def overview(root: Path) -> Overview:
    """The figures of a campaign's rounds that were opened here, and of their people.

    It reads folded files.

    If the team's list of groups is damaged, there are none of people: those of a minority would be
    wrong.

    Raises:
        CurationError: a file of a round is missing or damaged.
    """
    from curation.rounds.quality import read_quality

    rounds, people, at, problem, campaign = {}, {}, now(), "", open_campaign(root)
    for round in campaign.rounds:
        status = read_status(campaign, round)
        rounds[round.name] = figures(campaign, status)
        try:
            if status.answers:
                people[round.name] = read_quality(campaign, round.name).people
        except CurationError as error:
            problem = f"{error.what}; {error.fix}"
    name, pay = campaign.settings.campaign.name, campaign.settings.rounds
    return Overview(name, pay.currency, pay.budget, rounds, people, at, problem)


def _find_items(about: tuple[Path, str]) -> list[ItemFacts]:
    return find_items(open_campaign(about[0]), about[1])


class Overviews:
    """The figures of a campaign's rounds for the server, which must not wait for them.

    They are computed again, in a process of their own, if a file of theirs has changed, and for the
    pace every few minutes. If that takes longer than ``WAIT``, those of before are given.
    """

    WAIT, OLD = 0.25, 600.0  # seconds

    def __init__(self, campaign: Campaign) -> None:
        self.campaign, self._lock = campaign, threading.Lock()
        self._thread: threading.Thread | None = None
        self._state: object = None
        self._last: Overview | CurationError | None = None

    def begin(self) -> None:
        """Begin to compute the figures, if those of before are out of date."""
        with self._lock:
            state = (self._files(), int(time.time() / self.OLD))
            if state != self._state and not (self._thread and self._thread.is_alive()):
                self._state = state
                self._thread = threading.Thread(target=self._compute, daemon=True)
                self._thread.start()

    def __call__(self) -> Overview | None:
        """The last figures; None while they are first computed.

        Raises:
            CurationError: a file of the campaign cannot be read.
        """
        self.begin()
        if self._thread:
            self._thread.join(self.WAIT)
        if isinstance(self._last, CurationError):
            raise self._last
        is_old = self._last and self._thread and self._thread.is_alive()
        return self._last._replace(is_old=True) if self._last and is_old else self._last

    def _compute(self) -> None:
        try:
            self._last = in_own_process(overview, self.campaign.root)
        except CurationError as error:
            self._last = error
        except Exception as error:  # a command may write the files now
            self._last = CurationError(
                f"the campaign's files cannot be read ({type(error).__name__})",
                "see «curation rounds status»",
            )

    def _files(self) -> list[tuple[str, int, int]]:
        """The name, time and inode of every file that the figures may depend on."""
        rounds, root = self.campaign.folder("rounds"), self.campaign.root
        own = (*rounds.glob("*.jsonl"), *rounds.glob("*/*.json*"), rounds / "annotators.csv")
        paths = (root / SETTINGS, self.campaign.folder("terms") / "targets.jsonl", *sorted(own))
        stats = [(str(path), path.stat()) for path in paths if path.exists()]
        return [(name, stat.st_mtime_ns, stat.st_ino) for name, stat in stats]

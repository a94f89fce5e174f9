"""The platform ``web``: our own pages. A round's tasks are in a database beside the rounds."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from curation.campaign.settings import least_seconds
from curation.files import CurationError, read_text, writing
from curation.kinds import ROUNDS
from curation.records import Round, Task
from curation.rounds.answers import archive
from curation.rounds.platforms import pages
from curation.rounds.platforms.interface import (
    WAITS,
    Attendance,
    Demand,
    Published,
    PullCounts,
    Reporter,
    RoundAccess,
    Submission,
    TopUp,
)
from curation.rounds.platforms.web import arrivals
from curation.rounds.platforms.web.arrivals import Arrival
from curation.rounds.platforms.web.rounds import Example, Line, Plan, WebTask
from curation.rounds.platforms.web.store import Store
from curation.text.times import now, timestamp
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.rounds.platforms.web.prolific import Prolific

DATABASE = "web.sqlite"
"""The file's name, in the folder of the rounds."""
LISTS = ("links-", "approve-", "bonus-")
"""How the names of the lists beside it begin that name people of these pages."""
ADDRESS = "http://127.0.0.1:8100"
"""Where ``curation rounds serve`` listens unless told otherwise."""
PARAMETERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
"""The query of a study's address; Prolific replaces what is in {{% and %}}."""
ADMITTED = "SELECT count(*) FROM admitted WHERE round = ?"
UNCHECKED = (
    "PROLIFIC_TOKEN is not set, so nobody checks whether people come from Prolific: ids in an "
    "address can be invented or shared. Their answers count"
)


def address(store: Store) -> str:
    """The public address of the server, without a slash at the end."""
    return (store.fact("address") or ADDRESS).rstrip("/")


def entry(store: Store, plan: Plan, *, prolific: bool = False) -> str:
    """Where everybody may enter a round; empty if it takes personal links only.

    If only people from Prolific may, or with ``prolific``, it has the parameters which it fills in.
    """
    if not plan.common_link and not plan.prolific:
        return ""
    query = f"?{PARAMETERS}" if plan.prolific or prolific else ""
    return f"{address(store)}/join/{store.token(plan.name)}{query}"


@dataclass(frozen=True)
class WebRound:
    """A round on our own pages; see ``interface.Platform``.

    Attributes:
        round: the round, as ``round.json`` has it.
        path: the database.
        archive: folder of the round's raw answers.
        access: what may be known of the campaign.
        common_link: whether people may enter a round of validation by one link for all. Others
            have such a link in any case.
        prolific: whether that link is only for people from Prolific.
        reporter: where warnings go.
        crowd: gives the API of Prolific; None without a token.
    """

    round: Round
    path: Path
    archive: Path
    access: RoundAccess
    reporter: Reporter
    common_link: bool = False
    prolific: bool = False
    crowd: "Callable[[], Prolific | None]" = lambda: None
    exchanges_tables: bool = False
    takes_tables: bool = True
    can_train: bool = True

    @property
    def can_pull(self) -> bool:
        """Whether the round has been opened, and the database is here."""
        return self.round.state != "planned" and self.path.exists()

    def publish(self, tasks: Sequence[Task], asked: Mapping[str, int]) -> Published:
        """Put the plan and the tasks into the database, and open the round there."""
        data = self.access.task_data(tasks)
        shown = [
            WebTask(task.id, task.term, " ".join(sorted(task.writers)) or None, content)
            for task, content in zip(tasks, data, strict=True)
        ]
        with self._database() as store:
            known = store.plan(self.round.name)
            common = self.common_link or ROUNDS[self.round.kind].work != "label"
            plan = self._plan(
                common or (known is not None and known.common_link),
                self.prolific or (known is not None and known.prolific),
            )
            store.put_round(plan, shown, asked)
            entrance = self._entrance(store, plan)
        if plan.prolific and self.crowd() is None:
            self.reporter.warn(UNCHECKED)
        return entrance

    def entrance(self, *, reset: bool = False) -> Published:
        """The common link, if the round has one."""
        with self.opened() as store:
            plan = store.plan(self.round.name)
            return self._entrance(store, plan) if plan else Published(self.round)

    def _entrance(self, store: Store, plan: Plan) -> Published:
        is_dead = not store.fact("address")
        return Published(self.round, entry(store, plan), is_dead=is_dead, is_study=plan.prolific)

    def pull(self, *, full: bool = False) -> PullCounts:
        """Copy answers from the database into the archive.

        Consents and instruction checks go with them, uncounted.
        Submissions of people from Prolific are checked first. Answers of unchecked ones wait, if
        there is a token. All answers under a submission are sent again if they no longer count, or
        count again.
        """
        round = self.round.name
        with self.opened() as store:
            crowd = self.crowd()
            self.check_arrivals(store, crowd)
            mine = {one.number: one for one in arrivals.of_round(store, round)}
            held = {n: -1 for n, one in mine.items() if crowd and one.standing == "unchecked"}
            sent = {n: one.changes for n, one in mine.items() if one.changes != one.sent} | held
            first = [n for n in sent if mine[n].sent < 0]
            lines = store.lines(round, all=full, also=first, never=held)
            resent = sent.keys() - {*first, *held}
            again = store.lines(round, also=resent, never=held) if resent else []
            added = self._deliver(store, lines, mine)
            changed = self._deliver(store, again, mine)
            last = lines[-1].number if lines else 0
            store.pulled(round, last, now())
            arrivals.note_sent(store, sent)
        if held:
            self.reporter.warn(
                f"the answers of {amount(len(held), 'person', 'people')} wait until Prolific has "
                "confirmed their submissions; pull again later"
            )
        return PullCounts(added, changed, 0)

    def _deliver(self, store: Store, lines: Sequence[Line], mine: Mapping[int, Arrival]) -> int:
        """Put answers into the archive, with what they are worth; how many are new to it."""
        names, gone = self._names(store), self.access.erased()
        payloads = [
            _marked(line.payload, mine.get(line.arrival or 0)) | {"annotator": names.get(who, who)}
            for line in lines
            if not line.arrival or line.arrival in mine  # else they have just come: next time
            for who in [line.payload["annotator"]]
        ]
        # If this is stopped here, the same answers come again, and the archive knows them.
        if others := [payload for payload in payloads if "task_id" not in payload]:
            archive.deliver(self.archive, "web", others, gone=gone)
        answers = [payload for payload in payloads if "task_id" in payload]
        return archive.deliver(self.archive, "web", answers, gone=gone).added

    def check_arrivals(self, store: Store, crowd: "Prolific | None") -> None:
        """Ask Prolific for the submissions of the round; if that fails, a warning says so."""
        if not arrivals.of_round(store, self.round.name):
            return
        if crowd is None:
            self.reporter.warn(UNCHECKED)
            return
        try:
            arrivals.refresh(store, crowd, self.round.name)
        except CurationError as error:
            self.reporter.warn(f"submissions are not checked now: {error.what}; {error.fix}")

    def pulled_at(self) -> str:
        """When answers were last pulled."""
        if not self.can_pull:
            return ""
        with self.opened() as store:
            return store.pulled_at(self.round.name)

    def waiting(self) -> int:
        """How many answers came after the last pull."""
        if not self.can_pull:
            return 0
        with self.opened() as store:
            return store.waiting(self.round.name)

    def attendance(self, excluded: Collection[str]) -> Attendance:
        """Whether there are a server, a link and a study; which submissions are complete."""
        if not self.can_pull:
            return Attendance()
        name = self.round.name
        with self.opened() as store:
            came, answered = arrivals.of_round(store, name), arrivals.answered(store, name)
            barred = {person.id for person in store.people() if person.pseudonym in excluded}
            complete = [
                one
                for one in came
                if (one.status, one.standing, one.outcome) == (WAITS, "checked", "finished")
                and answered.get(one.number)
                and one.person not in barred
            ]
            here = [one for one in came if one.standing not in ("returned", "forged")]
            is_full = 0 < self.round.people.people <= len(here) and all(o.outcome for o in here)
            return Attendance(self._closed_door(store, came), len(complete), is_full)

    def _closed_door(self, store: Store, came: Sequence[Arrival]) -> str:
        """The command without which nobody can enter; empty if people can."""
        name, plan = self.round.name, store.plan(self.round.name)
        if not store.fact("address"):
            return "curation rounds serve"
        if plan and plan.prolific and not came and not arrivals.studies(store, name):
            return f"curation rounds study {name}, then curation rounds study {name} --id STUDY"
        if plan and not entry(store, plan) and not store.one(ADMITTED, name):
            return f"curation rounds links {name} --count N"
        return ""

    def top_up(self, demand: Demand) -> TopUp:
        """Ask for as many answers as tasks still lack, and for no more.

        What came in since the last pull is on its way, whatever it is worth. An answer that was
        refused takes a place, and one that was erased takes none.
        """
        with self.opened() as store:
            loads = store.loads(self.round.name)
            totals = {id: loads[id].pulled + n for id, n in demand.lack.items() if id in loads}
            store.ask(self.round.name, totals)
        changed = {id: total for id, total in totals.items() if total != loads[id].asked}
        more = {id: n - loads[id].asked for id, n in changed.items() if n > loads[id].asked}
        return TopUp(more, changed)

    def stop(self) -> None:
        """Give out none of the round's tasks any more."""
        if self.path.exists():
            with self._database() as store:
                store.stop(self.round.name)

    def named(self, who: str) -> str:
        """The pseudonym of a person whom the owner calls so, or whose personal link this is."""
        if not self.path.exists():
            return ""
        secret = who.rpartition("/")[2]
        with self._database() as store:
            came = arrivals.participants(store)
            mine = {
                p.pseudonym
                for p in store.people()
                if who in (p.id, p.pseudonym, p.name or None, came.get(p.id))
                or secret == store.secret_of(p.id)
            }
        if len(mine) > 1:
            raise CurationError(
                f"several people are called {who!r} on the web platform",
                "give the personal link of the one that you mean, or the pseudonym",
            )
        return mine.pop() if mine else ""

    def codes(self, people: Collection[str]) -> dict[str, str]:
        """The code that each of these people is shown with the thanks, once they have finished."""
        from curation.rounds.platforms.web.forms import end_code, study_code

        if not self.path.exists():
            return {}
        with self._database() as store:
            ended = {one.person: one for one in arrivals.of_round(store, self.round.name)}
            return {
                who: study_code(store, self.round.name, ended[id].outcome or "finished")
                if id in ended
                else end_code(store.secret_of(id), self.round.name)
                for id, who in self._names(store).items()
                if who in people
            }

    def _names(self, store: Store) -> dict[str, str]:
        """By id what the archive calls each person.

        This is the name of people who have the pseudonym of their name, and the id at Prolific of
        those who came from there.
        """
        pseudonym, people = self.access.pseudonyms(), store.people()
        named = {
            person.id: name
            for person in people
            for name in (person.name, person.name.lower())
            if name and person.pseudonym == pseudonym(name)
        }
        return {person.id: person.id for person in people} | named | arrivals.participants(store)

    def erase(self, person: str) -> int:
        """Erase a person from the database and from lists, and their words from tasks."""
        if not self.path.exists():
            return 0
        with self._database() as store:
            pseudonym = self.access.pseudonyms()
            secrets = [store.secret_of(p.id) for p in store.people() if p.pseudonym == person]
            claimed = {one.participant for one in arrivals.select(store)}
            theirs = [name for name in claimed if pseudonym(name) == person]
            for path in sorted(self.path.parent.glob("*.csv")):
                if path.name.startswith(LISTS):
                    _forget(path, [*secrets, *theirs])
            plan = store.plan(self.round.name)
            if plan and plan.earlier != (earlier := self.access.earlier(without=person)):
                store.change_plan(msgspec.structs.replace(plan, earlier=earlier))
            arrivals.forget(store, theirs)
            return store.erase(person)

    @property
    def study(self) -> "ProlificStudy":
        """The studies on Prolific that bring people to the round."""
        return ProlificStudy(self)

    def _plan(self, common_link: bool, prolific: bool) -> Plan:
        """The round's plan by the present settings, with the texts that are frozen with it."""
        settings, access, texts = self.access.settings(), self.access, self.access.texts()
        rounds = settings.rounds
        caps = access.caps()
        training = tuple(
            Example(each.target, each.context, each.text, each.label, each.why)
            for each in access.training()
        )
        return Plan(
            name=self.round.name,
            kind=self.round.kind,
            language=settings.campaign.language,
            texts=texts,
            consent=self.round.consent,
            seed=self.round.seed,
            common_link=common_link,
            prolific=prolific,
            person_cap=caps.person,
            term_cap=caps.term,
            lease=60 * rounds.lease_minutes,
            pause_after=rounds.pause_after,
            pause=60 * rounds.pause_minutes,
            training=training if rounds.training_pass else (),
            training_pass=rounds.training_pass,
            training_tries=rounds.training_tries,
            name_target=rounds.name_target,
            blank_alone=rounds.blank_alone,
            near=rounds.near,
            earlier=access.earlier(),
            least_seconds=least_seconds(rounds, ROUNDS[self.round.kind].work),
            typing=pages.says_typing(texts),
            instruction_checks=rounds.instruction_checks,
            pay=self.round.pay,
            currency=rounds.currency,
        )

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """The database, if the round is in it."""
        name = self.round.name
        if self.round.state == "planned":
            raise CurationError(
                f"round {name} is not on its pages yet",
                f"«curation rounds open {self.round.kind} --name {name}» puts it there",
            )
        if not self.path.exists():
            raise CurationError(
                f"round {name} runs on {self.path}, which is not in this copy of the campaign",
                "work on the machine that has it: it is private, so .gitignore leaves it out",
            )
        with self._database() as store:
            yield store

    def _database(self) -> closing[Store]:
        return closing(Store(self.path))


@dataclass(frozen=True)
class ProlificStudy:
    """The studies on Prolific that bring people to a round; see ``interface.CrowdStudy``."""

    place: WebRound

    @property
    def can_approve(self) -> bool:
        """Whether a token is set."""
        return self.place.crowd() is not None

    def submissions(self, *, ask: bool) -> list[Submission]:
        """The submissions at Prolific, those that nobody entered with at the end."""
        place, round = self.place, self.place.round.name
        crowd, pseudonym = place.crowd(), place.access.pseudonyms()
        with place.opened() as store:
            listed = arrivals.refresh(store, crowd, round) if ask and crowd else {}
            mine, answered = arrivals.of_round(store, round), arrivals.answered(store, round)
        made = [
            Submission(
                id=one.id,
                participant=one.participant,
                pseudonym=pseudonym(one.participant),
                study=one.study,
                status=one.status,
                standing=one.standing,
                outcome=one.outcome,
                answered=answered.get(one.number, 0),
                arrived=_iso(one.arrived),
                ended=_iso(one.ended),
            )
            for one in mine
        ]
        known = {(one.id, one.participant) for one in mine}
        return made + [
            Submission(id, who, pseudonym(who), study, status, "unknown", "", 0, "", "")
            for id, (who, study, status, _) in listed.items()
            if (id, who) not in known
        ]

    def approve(self, ids: Collection[str]) -> dict[str, str]:
        """Approve submissions one by one; what Prolific refuses is in the result."""
        if (crowd := self.place.crowd()) is None:
            raise CurationError("PROLIFIC_TOKEN is not set", "set it, or approve on Prolific")
        became = {}
        for id in ids:
            try:
                became[id] = crowd.approve(id)
            except CurationError as error:
                became[id] = error.what
        with self.place.opened() as store:
            self.place.check_arrivals(store, crowd)  # they do not wait any more
        return became

    def link(self) -> str:
        """The address of a study at Prolific; empty if people may not enter with it."""
        with self.place.opened() as store:
            plan = store.plan(self.place.round.name)
            return entry(store, plan, prolific=True) if plan else ""

    def codes(self) -> dict[str, str]:
        """By outcome the code of the study."""
        from curation.rounds.platforms.web.forms import study_code

        with self.place.opened() as store:
            round = self.place.round.name
            return {outcome: study_code(store, round, outcome) for outcome in arrivals.OUTCOMES}

    def add(self, id: str) -> None:
        """Add a study of this round."""
        with self.place.opened() as store:
            round = self.place.round.name
            known = dict.fromkeys([*arrivals.studies(store, round), id])
            store.set_fact(f"studies {round}", " ".join(known))


def _iso(at: float) -> str:
    """A time in ISO 8601; empty if it is 0."""
    return timestamp(datetime.fromtimestamp(at, UTC)) if at else ""


def _marked(payload: dict[str, Any], under: Arrival | None) -> dict[str, Any]:
    """An answer with what it is worth, if that has ever changed: a new version of it."""
    if under is None or not under.changes:
        return payload
    standing = "checked" if under.standing == "unchecked" else under.standing
    return payload | {"arrival": standing, "arrival_changes": under.changes}


def _forget(path: Path, words: Sequence[str]) -> None:
    """Leave the lines with some people's links or ids out of a list; amounts of bonuses stay."""
    lines = read_text(path).splitlines(keepends=True)
    stays = "(erased),{}" if path.name.startswith("bonus-") else ""
    kept = [
        line
        if {*words}.isdisjoint(re.split(r"[\s,/\"]", line))  # whole cells, and ends of links
        else stays.format(line.rpartition(",")[2])
        for line in lines
    ]
    if kept != lines:
        with writing(path, private=True) as file:
            file.write("".join(kept).encode())

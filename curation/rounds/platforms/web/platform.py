"""The platform ``web``: our own pages. A round's tasks are in a database beside the rounds."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from curation.files import CurationError, read_text, writing
from curation.records import Round, Task
from curation.rounds.answers import archive
from curation.rounds.platforms.interface import Demand, Published, PullCounts, RoundAccess, TopUp
from curation.rounds.platforms.web.store import Example, Plan, Store, WebTask
from curation.text.times import now

DATABASE = "web.sqlite"
"""The file's name, in the folder of the rounds."""
ADDRESS = "http://127.0.0.1:8100"
"""Where ``curation rounds serve`` listens unless told otherwise."""


def address(store: Store) -> str:
    """The public address of the server, without a slash at the end."""
    return (store.fact("address") or ADDRESS).rstrip("/")


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
    """

    round: Round
    path: Path
    archive: Path
    access: RoundAccess
    common_link: bool = False
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
            WebTask(task.id, task.term, task.barred, content)
            for task, content in zip(tasks, data, strict=True)
        ]
        with self._opened() as store:
            known = store.plan(self.round.name)
            common = self.common_link or self.round.kind != "validation"
            plan = self._plan(common or (known is not None and known.common_link))
            store.put_round(plan, shown, asked)
            return self._entrance(store, common=plan.common_link)

    def entrance(self, *, reset: bool = False) -> Published:
        """The common link, if the round has one."""
        with self._store() as store:
            plan = store.plan(self.round.name)
            return self._entrance(store, common=plan is not None and plan.common_link)

    def _entrance(self, store: Store, *, common: bool) -> Published:
        link = f"{address(store)}/join/{store.token(self.round.name)}" if common else ""
        return Published(self.round, link, is_dead=not store.fact("address"))

    def pull(self, *, full: bool = False) -> PullCounts:
        """Copy answers from the database into the archive. Consents go with them, uncounted."""
        with self._store() as store:
            lines = store.lines(self.round.name, all=full)
            names = self._names(store)
            payloads = [
                line.payload | {"annotator": names.get(who := line.payload["annotator"], who)}
                for line in lines
            ]
            answers = [payload for payload in payloads if "task_id" in payload]
            consents = [payload for payload in payloads if "task_id" not in payload]
            gone = self.access.erased()
            # If this is stopped here, the same answers come again, and the archive knows them.
            if consents:
                archive.deliver(self.archive, "web", consents, gone=gone)
            delivery = archive.deliver(self.archive, "web", answers, gone=gone)
            last = lines[-1].number if lines else 0
            store.pulled(self.round.name, last, now())
        return PullCounts(delivery.added, 0, 0)

    def pulled_at(self) -> str:
        """When answers were last pulled."""
        if not self.can_pull:
            return ""
        with self._store() as store:
            return store.pulled_at(self.round.name)

    def waiting(self) -> int:
        """How many answers came after the last pull."""
        if not self.can_pull:
            return 0
        with self._store() as store:
            return store.waiting(self.round.name)

    def top_up(self, demand: Demand) -> TopUp:
        """Ask for as many answers as tasks still lack, and for no more.

        What came in since the last pull is on its way, whatever it is worth. An answer that was
        refused takes a place, and one that was erased takes none.
        """
        with self._store() as store:
            loads = store.loads(self.round.name)
            totals = {id: loads[id].pulled + n for id, n in demand.lack.items() if id in loads}
            store.ask(self.round.name, totals)
        changed = {id: total for id, total in totals.items() if total != loads[id].asked}
        more = {id: n - loads[id].asked for id, n in changed.items() if n > loads[id].asked}
        return TopUp(more, changed)

    def stop(self) -> None:
        """Give out none of the round's tasks any more."""
        if self.path.exists():
            with self._opened() as store:
                store.stop(self.round.name)

    def named(self, who: str) -> str:
        """The pseudonym of a person whom the owner calls so, or whose personal link this is."""
        if not self.path.exists():
            return ""
        secret = who.rpartition("/")[2]
        with self._opened() as store:
            mine = [
                person
                for person in store.people()
                if who in (person.id, person.pseudonym, person.name or None)
                or secret == store.secret_of(person.id)
            ]
        if len(mine) > 1:
            raise CurationError(
                f"several people are called {who!r} on the web platform",
                "give the personal link of the one that you mean, or the pseudonym",
            )
        return mine[0].pseudonym if mine else ""

    def codes(self, people: Collection[str]) -> dict[str, str]:
        """The code that each of these people is shown with the thanks, once they have finished."""
        from curation.rounds.platforms.web.forms import end_code

        if not self.path.exists():
            return {}
        with self._opened() as store:
            names = self._names(store)
            ids = {names.get(person.id, person.id): person.id for person in store.people()}
            return {
                who: end_code(store.secret_of(id), self.round.name)
                for who, id in ids.items()
                if who in people
            }

    def _names(self, store: Store) -> dict[str, str]:
        """By id the names of people who have the pseudonym of their name, and not of their id."""
        pseudonym = self.access.pseudonyms()
        return {
            person.id: name
            for person in store.people()
            for name in (person.name, person.name.lower())
            if name and person.pseudonym == pseudonym(name)
        }

    def erase(self, person: str) -> int:
        """Erase a person from the database and the lists of links, and their words from tasks."""
        if not self.path.exists():
            return 0
        with self._opened() as store:
            secrets = [store.secret_of(p.id) for p in store.people() if p.pseudonym == person]
            for path in sorted(self.path.parent.glob("links-*.csv")):
                _forget(path, secrets)
            plan = store.plan(self.round.name)
            if plan and plan.earlier != (earlier := self.access.earlier(without=person)):
                store.change_plan(msgspec.structs.replace(plan, earlier=earlier))
            return store.erase(person)

    def _plan(self, common_link: bool) -> Plan:
        """The round's plan by the present settings, with the texts that are frozen with it."""
        settings, access = self.access.settings(), self.access
        rounds = settings.rounds
        caps, training = (
            access.caps(),
            tuple(
                Example(each.target, each.context, each.text, each.label, each.why)
                for each in access.training()
            ),
        )
        least = {"validation": rounds.label_seconds, "review": 0.0}
        return Plan(
            name=self.round.name,
            kind=self.round.kind,
            language=settings.campaign.language,
            texts=access.texts(),
            consent=self.round.consent,
            seed=self.round.seed,
            common_link=common_link,
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
            least_seconds=least.get(self.round.kind, rounds.write_seconds),
        )

    @contextmanager
    def _store(self) -> Iterator[Store]:
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
        with self._opened() as store:
            yield store

    def _opened(self) -> closing[Store]:
        return closing(Store(self.path))


def _forget(path: Path, secrets: Sequence[str]) -> None:
    """Leave the lines with some people's links out of a list of links."""
    lines = read_text(path).splitlines(keepends=True)
    kept = [line for line in lines if not any(secret in line for secret in secrets)]
    if kept != lines:
        with writing(path, private=True) as file:
            file.write("".join(kept).encode())

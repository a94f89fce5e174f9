"""The platform ``label_studio``: a round's tasks are a project on a server."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from curation.files import CurationError
from curation.records import Round, Task
from curation.rounds import pages
from curation.rounds.answers import archive
from curation.rounds.platforms.interface import (
    Demand,
    Published,
    PullCounts,
    RoundAccess,
    TopUp,
)
from curation.rounds.platforms.label_studio import seen
from curation.text.times import timestamp

if TYPE_CHECKING:
    from curation.rounds.platforms.label_studio.client import LabelStudio


@dataclass(frozen=True)
class LabelStudioRound:
    """A round on a Label Studio; see ``interface.Platform``.

    Attributes:
        access: the round, and what may be known of its campaign.
        connect: connects to the server; raises CurationError if that fails.
    """

    access: RoundAccess
    connect: "Callable[[], LabelStudio]"
    exchanges_tables: bool = False

    @property
    def round(self) -> Round:
        """The round."""
        return self.access.round

    @property
    def can_pull(self) -> bool:
        """Whether the round has a project on a server."""
        return self.round.project is not None

    def publish(self, tasks: Sequence[Task], asked: Mapping[str, int]) -> Published:
        """Make the project if there is none, put tasks there, and ask for answers."""
        server, texts, report = self.connect(), self.access.texts(), self.access.reporter
        self._warn_of_writing(server.url)
        project = self.round.project
        if project is None:
            project = server.make_project(
                self.access.title,
                config=pages.config(self.round.kind, texts),
                instruction=pages.instruction(self.round.kind, texts),
                answers=min((task.wanted for task in tasks), default=1),
            )
        round = self.round.model_copy(update={"server": server.url, "project": project})
        self.access.save(round)
        data = self.access.task_data(tasks)
        with report.tracked("sending tasks", len(data)) as advance:
            bars = self._barred(server, tasks)
            ids = server.put_tasks(project, data, bars=bars, advance=advance)
        overlaps = {ids[task]: answers for task, answers in asked.items()}
        with report.tracked("asking for answers", len(overlaps)) as advance:
            server.set_overlap(project, overlaps, advance=advance)
        self._bar(server, project, tasks)
        address = f"{server.url}/projects/{project}/data?labeling=1"
        return Published(round, address, server.invite())

    def pull(self, *, full: bool = False) -> PullCounts:
        """Fetch new, changed and deleted annotations into the archive."""
        project = self._project()
        server, raw, index = self.connect(), self.access.archive, self._index()
        before = seen.read(raw, index)
        erased = self.access.erased()
        with self.access.reporter.tracked("pulling", server.waiting(project)) as advance:
            fetched = server.pull(project, None if full else before.since, before.known)
            for batch in fetched.batches:
                archive.deliver(raw, "label_studio", batch, gone=erased)
                for payload in batch:
                    seen.note(before.known, payload)
                advance(len(batch))
        accounts = frozenset(server.people())
        if accounts - before.accounts:  # a new account may be that of an item's writer
            self._bar(server, project, self.access.tasks())
        seen.keep(raw, index, seen.Seen(fetched.since, before.known, accounts))
        return PullCounts(fetched.new, fetched.changed, fetched.deleted)

    def pulled_at(self) -> str:
        """When the last pull ended."""
        index = self._index()
        if not index.exists():
            return ""
        return timestamp(datetime.fromtimestamp(index.stat().st_mtime, UTC))

    def top_up(self, demand: Demand) -> TopUp:
        """Raise the number of answers of tasks that lack some, and put deleted tasks there again.

        The server is asked what it has: an answer that was refused here, or that was there before
        its person withdrew, takes a place there.
        """
        project = self._project()
        server = self.connect()
        there = server.asked(project)
        if lost := [task for task in demand.tasks if task.id not in there]:
            data = self.access.task_data(lost)
            server.put_tasks(project, data, bars=self._barred(server, lost))
            there = server.asked(project)
        server.stop_serving(project, only={there[id].id for id in demand.void})
        lack = demand.lack
        more = {id: n - there[id].coming for id, n in lack.items() if n > there[id].coming}
        totals = {id: there[id].answers + lack[id] for id in more}
        with self.access.reporter.tracked("asking for answers", len(totals)) as advance:
            overlaps = {there[id].id: n for id, n in totals.items()}
            server.set_overlap(project, overlaps, advance=advance)
        return TopUp(more, totals)

    def stop(self) -> None:
        """Mark every task of the project as done, so that the server serves none."""
        if self.round.project is not None:
            self.connect().stop_serving(self.round.project)

    def erase(self, person: str) -> int:
        """Delete a person's annotations and drafts, and replace the tasks on their items."""
        project = self.round.project
        if project is None:
            return 0
        server, name = self.connect(), self.access.pseudonyms()
        users = [user for user, email in server.people().items() if name(email) == person]
        erased = server.erase(project, users) if users else 0
        theirs = [task for task in self.access.tasks() if task.barred == person]
        if theirs:
            ids, texts = server.tasks(project), self.access.texts()
            for task in theirs:
                if task.id in ids:
                    data = pages.task_data(task, self.round.kind, texts=texts)
                    server.replace(ids[task.id], data)
            server.stop_serving(project, only={ids[t.id] for t in theirs if t.id in ids})
        return erased + len(theirs)

    def _project(self) -> int:
        if self.round.project is None:
            raise CurationError(
                f"round {self.round.name} is not on its server yet",
                f"«curation rounds open {self.round.kind} --name {self.round.name}» puts it there",
            )
        return self.round.project

    def _index(self) -> Path:
        return self.access.archive.parent / "pulled.json"

    def _warn_of_writing(self, url: str) -> None:
        """Label Studio has no roles: validators on a server can read what was written there."""
        if self.round.kind == "validation" and (wrote := self.access.writing_rounds(url)):
            self.access.reporter.warn(
                f"{url} also holds {', '.join(wrote)}: validators there can look up what writers "
                "meant. Use another server for validation, or people whom you trust"
            )

    def _barred(self, server: "LabelStudio", tasks: Sequence[Task]) -> dict[str, list[int]]:
        """By task id the accounts that must not be served it: those of the item's writer."""
        if not any(task.barred for task in tasks):
            return {}
        name = self.access.pseudonyms()
        accounts: dict[str, list[int]] = defaultdict(list)
        for user, email in server.people().items():
            accounts[name(email)].append(user)
        return {t.id: accounts[t.barred] for t in tasks if t.barred in accounts}

    def _bar(self, server: "LabelStudio", project: int, tasks: Sequence[Task]) -> None:
        """Keep everybody from their own items, whenever they signed up."""
        if barred := self._barred(server, tasks):
            ids = server.tasks(project)
            pairs = [(ids[task], u) for task, users in barred.items() if task in ids for u in users]
            server.bar(project, pairs)

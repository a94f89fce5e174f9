"""The platform ``label_studio``: a round's tasks are a project on a server."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from curation.files import CurationError, dump_json, read_json, writing
from curation.kinds import ROUNDS
from curation.records import Round, Task
from curation.rounds.answers import archive
from curation.rounds.platforms import pages
from curation.rounds.platforms.interface import (
    Demand,
    Platform,
    Published,
    PullCounts,
    Reporter,
    RoundAccess,
    TopUp,
)
from curation.rounds.platforms.label_studio.connection import annotation_id, last_change
from curation.text.times import timestamp

if TYPE_CHECKING:
    from curation.rounds.platforms.label_studio.client import LabelStudio


Known = dict[str, dict[int, str]]
"""By task id and annotation id, the last change of annotations that were not deleted."""


class Seen(NamedTuple):
    """What was fetched from the server.

    Attributes:
        since: changes before this time were fetched; None if never.
        known: the annotations that the archive has.
        accounts: accounts on the server that are already kept from their own items.
    """

    since: str | None
    known: Known
    accounts: frozenset[int] = frozenset()


def read_seen(raw: Path, index: Path) -> Seen:
    """What the archive has.

    Args:
        raw: the archive's folder.
        index: the cache's path.
    """
    names = [path.name for path in archive.segments(raw)]
    cached = _cached(index)
    if cached is None:
        return Seen(None, _known(raw) if names else {})
    segments, content = cached
    if segments != names:  # a pull was killed between archive and index
        return Seen(content.since if set(segments) <= set(names) else None, _known(raw))
    return content


def _cached(index: Path) -> tuple[list[str], Seen] | None:
    """The segments that the index covers, and its content; None if it is missing or damaged."""
    try:
        content = read_json(index)
        since = content["since"]
        known = {
            str(task): {int(id): str(at) for id, at in ids.items()}
            for task, ids in content["known"].items()
        }
        accounts = frozenset(int(account) for account in content["accounts"])
        segments = [str(name) for name in content["segments"]]
    except (CurationError, LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    return segments, Seen(since if isinstance(since, str) else None, known, accounts)


def _known(raw: Path) -> Known:
    known: Known = {}
    for _, event in archive.read(raw):
        note_seen(known, event.payload)
    return known


def note_seen(known: Known, payload: dict[str, object]) -> None:
    """Add one more payload to what is known."""
    annotation, deleted = payload.get("annotation"), payload.get("deleted")
    task = known.setdefault(str(payload.get("task")), {})
    if (id := annotation_id(annotation)) is not None and isinstance(annotation, dict):
        task[id] = last_change(annotation)
    elif isinstance(deleted, int):
        task.pop(deleted, None)


def keep_seen(raw: Path, index: Path, seen: Seen) -> None:
    """Write the index."""
    content = {
        "segments": [path.name for path in archive.segments(raw)],
        "since": seen.since,
        "accounts": sorted(seen.accounts),
        "known": {t: {str(id): at for id, at in ids.items()} for t, ids in seen.known.items()},
    }
    with writing(index) as file:
        file.write(dump_json(content))


@dataclass(frozen=True)
class LabelStudioRound(Platform):
    """A round on a Label Studio; see ``interface.Platform``.

    Attributes:
        round: the round, as ``round.json`` has it.
        title: the round's title on the server; no other round of any campaign has it.
        archive: folder of the round's raw answers; an index is written beside it.
        access: what may be known of the campaign.
        connect: connects to the server; raises CurationError if that fails.
        reporter: where warnings and progress go.
    """

    round: Round
    title: str
    archive: Path
    access: RoundAccess
    connect: "Callable[[], LabelStudio]"
    reporter: Reporter
    exchanges_tables: bool = False
    takes_tables: bool = False
    can_train: bool = False

    @property
    def can_pull(self) -> bool:
        """Whether the round has a project on a server."""
        return self.round.project is not None

    def publish(self, tasks: Sequence[Task], asked: Mapping[str, int]) -> Published:
        """Make the project if there is none, put tasks there, and ask for answers."""
        server, texts, report = self.connect(), self.access.texts(), self.reporter
        self._warn_of_writing(server.url)
        project = self.round.project
        if project is None:
            shown = max((len(task.shown) for task in tasks), default=0)
            project = server.make_project(
                self.title,
                config=pages.config(self.round.kind, texts, shown=shown),
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
        return _entrance(round, server.invite())

    def entrance(self, *, reset: bool = False) -> Published:
        """The address of the tasks, and the link to sign up, as the server gives it now."""
        self._project()
        return _entrance(self.round, self.connect().invite(reset=reset))

    def pull(self, *, full: bool = False) -> PullCounts:
        """Fetch new, changed and deleted annotations into the archive."""
        project = self._project()
        server, raw, index = self.connect(), self.archive, self._index()
        before = read_seen(raw, index)
        erased = self.access.erased()
        with self.reporter.tracked("pulling", server.waiting(project)) as advance:
            fetched = server.pull(project, None if full else before.since, before.known)
            for batch in fetched.batches:
                archive.deliver(raw, "label_studio", batch, gone=erased)
                for payload in batch:
                    note_seen(before.known, payload)
                advance(len(batch))
        accounts = frozenset(server.people())
        if accounts - before.accounts:  # a new account may be that of an item's writer
            self._bar(server, project, self.access.tasks())
        keep_seen(raw, index, Seen(fetched.since, before.known, accounts))
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
        with self.reporter.tracked("asking for answers", len(totals)) as advance:
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
        theirs = [task for task in self.access.tasks() if person in task.writers]
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
        return self.archive.parent / "pulled.json"

    def _warn_of_writing(self, url: str) -> None:
        """Label Studio has no roles: validators on a server can read what was written there."""
        if ROUNDS[self.round.kind].work == "label" and (wrote := self.access.writing_rounds(url)):
            self.reporter.warn(
                f"{url} also holds {', '.join(wrote)}: validators there can look up what writers "
                "meant. Use another server for validation, or people whom you trust"
            )

    def _barred(self, server: "LabelStudio", tasks: Sequence[Task]) -> dict[str, list[int]]:
        """By task id the accounts that must not be served it: those of the item's writer."""
        if not any(task.writers for task in tasks):
            return {}
        name = self.access.pseudonyms()
        accounts: dict[str, list[int]] = defaultdict(list)
        for user, email in server.people().items():
            accounts[name(email)].append(user)
        barred = {t.id: [u for who in t.writers for u in accounts.get(who, ())] for t in tasks}
        return {task: users for task, users in barred.items() if users}

    def _bar(self, server: "LabelStudio", project: int, tasks: Sequence[Task]) -> None:
        """Keep everybody from their own items, whenever they signed up."""
        if barred := self._barred(server, tasks):
            ids = server.tasks(project)
            pairs = [(ids[task], u) for task, users in barred.items() if task in ids for u in users]
            server.bar(project, pairs)


def _entrance(round: Round, sign_up: str) -> Published:
    """The address of a round's tasks, and the link to sign up, which leads on to the first task."""
    address = f"{round.server}/projects/{round.project}/data?labeling=1"
    return Published(
        round, address, f"{sign_up}&next={address[address.index('/', len('https://')) :]}"
    )

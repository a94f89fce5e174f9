"""What a round's platform is asked to do: put tasks, pull answers, ask for more, stop, erase."""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.cli import serving
from curation.cli.console import note, tracked, warn
from curation.files import CurationError, read_json, timestamp
from curation.records import KINDS, Round, Task
from curation.rounds import people, standing
from curation.rounds.platforms.label_studio import seen
from curation.rules import stable_id
from curation.steps import read
from curation.steps.rounds import round_files, round_status

if TYPE_CHECKING:
    from curation.rounds.answers.archive import Sent
    from curation.rounds.platforms.label_studio.client import LabelStudio

KEY = "LABEL_STUDIO_API_KEY"  # as label-studio-sdk has it


def own_texts(campaign: Campaign) -> Path:
    """Where a team says its own words to annotators."""
    return campaign.rounds / "text.toml"


def texts(campaign: Campaign, round: Round | None = None) -> dict[str, Any]:
    """Every string that annotators see: those that ship, and the team's own before them.

    A round keeps those with which it was planned, so that all its people read the same.
    """
    from curation.rounds import pages

    frozen = campaign.rounds / round.name / "texts.json" if round else None
    if frozen is not None and frozen.exists():
        return dict(read_json(frozen))
    settings = campaign.settings
    study = {"licence": settings.release.licence}
    return pages.texts(settings.campaign.language, own_texts(campaign), study=study)


def connection(campaign: Campaign, round: Round, url: str = "") -> "LabelStudio":
    """The Label Studio on which a round runs, or is to run.

    Raises:
        CurationError: no address or no key is known, the server does not answer as it should, or
            what it has under the round's number is not the round.
    """
    from curation.rounds.platforms.label_studio import client

    own = serving.address(campaign, round.kind)
    address = (url or round.server or own).rstrip("/")
    if not address:
        raise CurationError(
            "no Label Studio is named",
            "name one with --url and its key in LABEL_STUDIO_API_KEY, or start one of the "
            "campaign's own with «curation rounds serve»; or take --platform files",
        )
    key = serving.key(campaign, round.kind) if address == own else _key(round)
    if not key:
        raise CurationError(
            f"no key for {address}",
            f"set {KEY}, or {KEY}_{serving.role(round.kind).upper()}, to the key that "
            "«Account & Settings» shows there",
        )
    server = client.connect(address, key, tell=note)
    if round.project is not None and server.project(_title(campaign, round)) != round.project:
        raise CurationError(
            f"{address} has no project {round.project} of round {round.name}",
            "is it the right server? If the project is gone: curation rounds close --offline",
        )
    return server


def _key(round: Round) -> str:
    """The key of a server that is not the campaign's own; there may be one for each role."""
    role = serving.role(round.kind)
    return os.environ.get(f"{KEY}_{role.upper()}") or os.environ.get(KEY, "")


def publish(campaign: Campaign, round: Round, tasks: Sequence[Task], url: str) -> tuple[Round, str]:
    """Put a round's tasks on its server; what is there already is not put there again.

    Returns:
        The round with its server and project, and the address for annotators.
    """
    from curation.rounds import pages

    server, said = connection(campaign, round, url), texts(campaign, round)
    _warn_of_neighbours(campaign, round, server.url)
    project = round.project
    if project is None:
        project = server.make_project(
            _title(campaign, round),
            config=pages.config(round.kind, said),
            instruction=pages.instruction(round.kind, said),
            answers=min((task.wanted for task in tasks), default=1),
        )
    round = round.model_copy(update={"server": server.url, "project": project})
    round_files.write_round(campaign, round)
    data = sent(campaign, round, tasks, said)
    with tracked("putting tasks", len(data)) as advance:
        bars = _barred(campaign, server, tasks)
        ids = server.put_tasks(project, data, bars=bars, advance=advance)
    stands = round_status.read_status(campaign, round)
    wanted = {ids[id]: n for id, n in stands.asked.items() if id not in stands.void}
    with tracked("asking", len(wanted)) as advance:
        server.set_overlap(project, wanted, advance=advance)
    _bar(campaign, server, project, tasks)
    note(f"sign-up: {server.invite()}")
    return round, f"{server.url}/projects/{project}/data?labeling=1"


def _warn_of_neighbours(campaign: Campaign, round: Round, url: str) -> None:
    """Label Studio knows no roles: who validates on a server can read what was written there."""
    wrote = [
        r.name
        for r in round_files.map_rounds(campaign)
        if r.server == url and r.kind in KINDS and round.kind == "validation"
    ]
    if wrote:
        warn(
            f"{url} holds {', '.join(wrote)} as well: whoever validates there can look up what "
            "writers meant. Take another server for validation, or people whom you trust"
        )


def _title(campaign: Campaign, round: Round) -> str:
    """A project's title, no other round's: a killed opening finds by it what it had made."""
    name, id = campaign.settings.campaign.name, campaign.settings.campaign.id
    return f"{round.name[:20]} · {name[:16]} · {stable_id('', id, round.name)[1:9]}"


def sent(
    campaign: Campaign, round: Round, tasks: Sequence[Task], said: dict[str, Any]
) -> list[dict[str, Any]]:
    """What leaves us for each task: what people need to answer it, and nothing else."""
    from curation.rounds import pages

    about = _about(campaign, tasks) if round.kind == "review" else {}
    names = {term.id: term.text for term in read.read_terms(campaign).values()}
    return [
        pages.task_data(
            task,
            round.kind,
            texts=said,
            info=about.get(task.term, ""),
            choices=[(id, names[id]) for id in task.choices if id in names],
        )
        for task in tasks
    ]


def _about(campaign: Campaign, tasks: Sequence[Task]) -> dict[str, str]:
    """What a reviewer is told of each term: its description, and how many statements it has."""
    wanted = {task.term for task in tasks}
    found = {}
    for candidate in read.selection(campaign).candidates:
        if candidate.id in wanted:
            counted = f"{candidate.rolled:,} statements" if candidate.item else ""
            found[candidate.id] = "; ".join(filter(None, [candidate.description, counted]))
    return found


def _barred(
    campaign: Campaign, server: "LabelStudio", tasks: Sequence[Task]
) -> dict[str, list[int]]:
    """By task the accounts that must not be served it: those of the item's writer."""
    if not any(task.barred for task in tasks):
        return {}
    name = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    accounts: dict[str, list[int]] = defaultdict(list)
    for user, email in server.people().items():
        accounts[name(email)].append(user)
    return {t.id: accounts[t.barred] for t in tasks if t.barred in accounts}


def _bar(campaign: Campaign, server: "LabelStudio", project: int, tasks: Sequence[Task]) -> None:
    """See to it that nobody is served an item of their own, whenever they signed up."""
    if barred := _barred(campaign, server, tasks):
        ids = server.tasks(project)
        server.bar(project, [(ids[t], u) for t, us in barred.items() if t in ids for u in us])


def pull(campaign: Campaign, round: Round, *, full: bool = False) -> dict[str, int]:
    """Fetch what is new on a round's server into its archive.

    Returns:
        How many answers are new, changed, deleted, and known already.
    """
    from curation.rounds.answers import archive

    if round.project is None:
        raise CurationError(
            f"round {round.name} is not on its server yet",
            f"«curation rounds open {round.kind} --name {round.name}» puts it there",
        )
    server = connection(campaign, round)
    folder = campaign.rounds / round.name
    raw, index = folder / "raw", folder / "pulled.json"
    before = seen.read(raw, index)
    gone = erased(campaign)
    with tracked("pulling", server.waiting(round.project)) as advance:
        fetched = server.pull(round.project, None if full else before.since, before.known)
        for batch in fetched.batches:
            archive.deliver(raw, "label_studio", batch, gone=gone)
            for payload in batch:
                seen.note(before.known, payload)
            advance(len(batch))
    accounts = frozenset(server.people())
    if accounts - before.accounts:  # who is new may be the writer of an item
        _bar(campaign, server, round.project, round_files.read_tasks(campaign, round.name))
    seen.keep(raw, index, seen.Seen(fetched.since, before.known, accounts))
    return {"new": fetched.new, "changed": fetched.changed, "deleted": fetched.deleted}


def pulled_at(campaign: Campaign, round: Round) -> str:
    """When a round on Label Studio was last pulled; empty for others."""
    index = campaign.rounds / round.name / "pulled.json"
    if not index.exists():
        return ""
    return timestamp(datetime.fromtimestamp(index.stat().st_mtime, UTC))


def erased(campaign: Campaign) -> "Callable[[Sent], bool]":
    """Tells of an answer whether it may not even be kept: its person had all erased."""
    from curation.rounds.answers.interpret import person_of

    out = standing.erased(round_files.read_standing(campaign))
    if not out:
        return lambda event: False
    name = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    return lambda event: (person := person_of(event)) is not None and name(person) in out


def top_up(campaign: Campaign, stands: round_status.RoundStatus) -> dict[str, int]:
    """Ask for what is lacking; returns how many answers more by task.

    A platform of its own mind is asked what it has: an answer that we refused, or that was there
    before its person withdrew, takes a place there.
    """
    from curation.rounds.progress import received

    round, asked = stands.round, dict(stands.asked)
    if round.platform == "files" or round.project is None:
        more = round_status.asks(stands)
        got = received(stands.answers)
        round_files.write_asked(campaign, round.name, {**asked, **more})
        return {task: n - max(asked[task], got[task]) for task, n in more.items()}
    server = connection(campaign, round)
    there = server.asked(round.project)
    if lost := [task for task in stands.tasks if task.id not in there]:
        data = sent(campaign, round, lost, texts(campaign, round))
        server.put_tasks(round.project, data, bars=_barred(campaign, server, lost))
        there = server.asked(round.project)
    server.stop_serving(round.project, only={there[id].id for id in stands.void})
    more = {id: n - there[id].coming for id, n in stands.lack.items() if n > there[id].coming}
    totals = {id: there[id].answers + stands.lack[id] for id in more}
    with tracked("asking", len(totals)) as advance:
        overlaps = {there[id].id: n for id, n in totals.items()}
        server.set_overlap(round.project, overlaps, advance=advance)
    round_files.write_asked(campaign, round.name, {**asked, **totals})
    return more


def stop_serving(campaign: Campaign, round: Round) -> None:
    """See to it that a round's server serves none of its tasks any more."""
    if round.project is not None:
        connection(campaign, round).stop_serving(round.project)


def erase(campaign: Campaign, round: Round, person: str) -> int:
    """Erase on a round's server a person's answers, and their words from tasks; says how many."""
    from curation.rounds import pages

    if round.project is None:
        return 0
    server = connection(campaign, round)
    name = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    users = [user for user, email in server.people().items() if name(email) == person]
    erased = server.erase(round.project, users) if users else 0
    theirs = [t for t in round_files.read_tasks(campaign, round.name) if t.barred == person]
    if theirs:
        ids, said = server.tasks(round.project), texts(campaign, round)
        for task in theirs:  # their words are gone from our tasks already
            if task.id in ids:
                server.replace(ids[task.id], pages.task_data(task, round.kind, texts=said))
        server.stop_serving(round.project, only={ids[t.id] for t in theirs if t.id in ids})
    return erased + len(theirs)

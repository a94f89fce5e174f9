"""What a round's platform is asked to do, and how the round stands by the answers here."""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.cli import reading, round_files, serving
from curation.cli.console import note, tracked
from curation.files import CurationError, now
from curation.records import Round, Task
from curation.rounds import people, seen, standing
from curation.rules import stable_id

if TYPE_CHECKING:
    from curation.rounds.archive import Sent
    from curation.rounds.label_studio import LabelStudio
    from curation.rounds.progress import Progress

KEY = "LABEL_STUDIO_API_KEY"  # as label-studio-sdk has it


def own_texts(campaign: Campaign) -> Path:
    """Where a team says its own words to annotators."""
    return campaign.rounds / "text.toml"


def texts(campaign: Campaign) -> dict[str, Any]:
    """Every string that annotators see: those that ship, and the team's own before them."""
    from curation.rounds import pages

    settings = campaign.settings
    study = {"licence": settings.release.licence}
    return pages.texts(settings.campaign.language, own_texts(campaign), study=study)


def connection(campaign: Campaign, round: Round, url: str = "") -> "LabelStudio":
    """The Label Studio on which a round runs, or is to run.

    Raises:
        CurationError: no address or no key is known, or the server does not answer as it should.
    """
    from curation.rounds import label_studio

    address = round.server or url
    if not address:
        address = serving.address(campaign, round.kind)
    if not address:
        raise CurationError(
            "no Label Studio is named",
            "name one with --url and its key in LABEL_STUDIO_API_KEY, or start one of the "
            "campaign's own with «curation rounds serve»; or take --platform files",
        )
    key = os.environ.get(KEY) or serving.key(campaign, address)
    if not key:
        raise CurationError(
            f"no key for {address}",
            f"set {KEY} to the key that «Account & Settings» shows there",
        )
    return label_studio.connect(address, key, tell=note)


def publish(campaign: Campaign, round: Round, tasks: Sequence[Task], url: str) -> tuple[Round, str]:
    """Put a round's tasks on its server; what is there already is not put there again.

    Returns:
        The round with its server and project, and the address for annotators.
    """
    from curation.rounds import pages

    server, said = connection(campaign, round, url), texts(campaign)
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
    asked = round_files.read_asked(campaign, round.name)
    with tracked("asking", len(tasks)) as advance:
        server.set_overlap(project, {ids[t.id]: asked[t.id] for t in tasks}, advance=advance)
    _bar(campaign, server, project, tasks)
    note(f"sign-up: {server.invite()}")
    return round, f"{server.url}/projects/{project}/data?labeling=1"


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
    names = {term.id: term.text for term in reading.read_terms(campaign).values()}
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
    for candidate in reading.selection(campaign).candidates:
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
    from curation.rounds import archive

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
    seen.keep(raw, index, seen.Seen(fetched.since, before.known))
    _bar(campaign, server, round.project, round_files.read_tasks(campaign, round.name))
    return {"new": fetched.new, "changed": fetched.changed, "deleted": fetched.deleted}


def erased(campaign: Campaign) -> "Callable[[Sent], bool]":
    """Tells of an answer whether it may not even be kept: its person had all erased."""
    from curation.rounds.answers import person_of

    out = standing.erased(round_files.read_standing(campaign))
    if not out:
        return lambda event: False
    name = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    return lambda event: (person := person_of(event)) is not None and name(person) in out


def lacking(campaign: Campaign, round: Round) -> dict[str, int]:
    """How many valid answers each task of a round still lacks."""
    from curation.rounds import progress

    knobs = campaign.settings.decisions
    return progress.lacking(
        round,
        round_files.read_tasks(campaign, round.name),
        round_files.read_answers(campaign, round.name),
        votes=_votes(campaign, round),
        needed=knobs.needed,
        of=knobs.of,
    )


def _votes(campaign: Campaign, round: Round) -> dict[str, list[tuple[int, int, int, int]]]:
    if round.kind != "validation":
        return {}
    return reading.votes(campaign, reading.read_items(campaign) if campaign.round_names() else [])


def progress(campaign: Campaign, round: Round) -> "Progress":
    """How a round stands, by the answers that are here."""
    from curation.rounds import progress as stage

    knobs = campaign.settings.decisions
    return stage.progress(
        round,
        round_files.read_tasks(campaign, round.name),
        round_files.read_answers(campaign, round.name),
        lack=lacking(campaign, round),
        asked=round_files.read_asked(campaign, round.name),
        votes=_votes(campaign, round),
        needed=knobs.needed,
        of=knobs.of,
        now=now(),
    )


def advice(campaign: Campaign, round: Round, stands: "Progress") -> str:
    """What to do next about a round, as a sentence."""
    if round.state == "planned":
        return f"not all of it is out; curation rounds open {round.kind} --name {round.name}"
    if round.state == "closed":
        return "closed"
    if not stands.remaining:
        return f"nothing is lacking; curation rounds close {round.name}"
    if asks(campaign, round):
        return f"{stands.remaining} answers lacking; curation rounds top-up {round.name}"
    on_files = round.platform == "files"
    bring = f"import {round.name} FILE" if on_files else f"pull {round.name}"
    return f"{stands.remaining} answers to come; curation rounds {bring}"


def asks(campaign: Campaign, round: Round) -> dict[str, int]:
    """The tasks that lack more than is on its way: how many they are to be asked for in all."""
    from curation.rounds import progress as stage

    return stage.to_ask(
        lacking(campaign, round),
        round_files.read_asked(campaign, round.name),
        stage.received(round_files.read_answers(campaign, round.name)),
    )


def top_up(campaign: Campaign, round: Round) -> dict[str, int]:
    """Ask for what is lacking; returns how many answers more by task."""
    from curation.rounds.progress import received

    asked = round_files.read_asked(campaign, round.name)
    got = received(round_files.read_answers(campaign, round.name))
    more = asks(campaign, round)
    if more and round.platform == "label_studio" and round.project is not None:
        server = connection(campaign, round)
        ids = server.tasks(round.project)
        with tracked("asking", len(more)) as advance:
            overlaps = {ids[task]: n for task, n in more.items()}
            server.set_overlap(round.project, overlaps, advance=advance)
    round_files.write_asked(campaign, round.name, {**asked, **more})
    return {task: n - max(asked[task], got[task]) for task, n in more.items()}


def stop_serving(campaign: Campaign, round: Round) -> None:
    """See to it that a round's server serves none of its tasks any more."""
    if round.project is not None:
        connection(campaign, round).stop_serving(round.project)

"""How a round stands by the answers that are here: what is lacking, void, paid, to be asked for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from curation.campaign import Campaign
from curation.files import now
from curation.records import Answer, Round, Task
from curation.steps import read
from curation.steps.rounds import round_files

if TYPE_CHECKING:
    from curation.rounds.progress import Progress
    from curation.rules import Votes


class RoundStatus(NamedTuple):
    """A round with all that its figures are made of."""

    round: Round
    tasks: list[Task]
    answers: list[Answer]
    asked: dict[str, int]
    votes: "dict[str, list[Votes]]"
    void: set[str]
    lack: dict[str, int]


def read_status(campaign: Campaign, round: Round) -> RoundStatus:
    """How a round stands, by the answers that are here."""
    from curation.rounds import progress

    tasks = round_files.read_tasks(campaign, round.name)
    answers = round_files.read_answers(campaign, round.name)
    items = read.read_items(campaign) if campaign.round_names() else []
    kept = {t.id for t in read.read_terms(campaign).values() if t.status == "kept"}
    void = progress.voided(round, tasks, {item.id: item for item in items}, kept)
    votes = {}
    if round.kind == "validation":
        votes = read.votes(campaign, items, also=round.name)
    knobs = campaign.settings.decisions
    lack = progress.lacking(
        round, tasks, answers, votes=votes, needed=knobs.needed, of=knobs.of, void=void
    )
    asked = round_files.read_asked(campaign, round.name, tasks)
    return RoundStatus(round, tasks, answers, asked, votes, void, lack)


def figures(campaign: Campaign, stands: RoundStatus) -> "Progress":
    """A round's figures now."""
    from curation.rounds import progress

    return progress.progress(
        stands.round,
        stands.tasks,
        stands.answers,
        lack=stands.lack,
        asked=stands.asked,
        votes=stands.votes,
        needed=campaign.settings.decisions.needed,
        of=campaign.settings.decisions.of,
        now=now(),
        void=stands.void,
    )


def asks(stands: RoundStatus) -> dict[str, int]:
    """The tasks that lack more than is on its way: how many they are to be asked for in all."""
    from curation.rounds import progress

    return progress.to_ask(stands.lack, stands.asked, progress.received(stands.answers))


def waiting(stands: RoundStatus) -> dict[str, int]:
    """How many answers each task was asked for and has not got; void ones wait for none."""
    from curation.rounds.progress import received

    got = received(stands.answers)
    return {
        task: n - got[task]
        for task, n in stands.asked.items()
        if n > got[task] and task not in stands.void
    }


def flagged(campaign: Campaign, round: Round, *, by: int = 2) -> Mapping[str, list[str]]:
    """The items that so many people gave one flag, by flag."""
    found = round_files.read_flags(campaign, round.name)
    times: dict[tuple[str, str], set[str]] = {}
    for flag in found:
        times.setdefault((flag.flag, flag.item), set()).add(flag.annotator)
    lists: dict[str, list[str]] = {}
    for (name, item), people in sorted(times.items()):
        if len(people) >= by:
            lists.setdefault(name, []).append(item)
    return lists


def advice(stands: RoundStatus, found: "Progress") -> str:
    """What to do next about a round, as a sentence."""
    round = stands.round
    if round.state == "planned":
        return f"not all of it is out; curation rounds open {round.kind} --name {round.name}"
    if round.state == "closed":
        return "closed"
    if not found.remaining:
        return f"nothing is lacking; curation rounds close {round.name}"
    answers = "1 answer" if found.remaining == 1 else f"{found.remaining} answers"
    if asks(stands):
        return f"{answers} lacking; curation rounds top-up {round.name}"
    if round.platform == "files":
        return f"{answers} to come; curation rounds import {round.name} FILE"
    return f"{answers} to come; curation rounds pull {round.name}, and in the end top-up"

"""A round's status by the answers that are here: what is missing, void, paid, to be asked for."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from curation.campaign import Campaign
from curation.files import now
from curation.records import Answer, Round, Task
from curation.steps import read
from curation.steps.rounds import round_files
from curation.steps.rounds.platform import open_platform
from curation.wording import amount

if TYPE_CHECKING:
    from curation.rounds.progress import Progress
    from curation.rules import Votes


class RoundStatus(NamedTuple):
    """A round with all that its progress is computed from.

    Attributes:
        round: the round.
        tasks: its tasks.
        answers: what became of each answer.
        asked: by task id, how many answers were asked for in all.
        votes: by item id, the counted votes of its three associations; empty for other kinds
            than validation.
        void: the tasks that no answer can serve any more.
        lack: by task id, how many valid answers it still lacks.
        exchanges_tables: whether tasks are exported and answers imported as tables.
    """

    round: Round
    tasks: list[Task]
    answers: list[Answer]
    asked: dict[str, int]
    votes: "dict[str, list[Votes]]"
    void: set[str]
    lack: dict[str, int]
    exchanges_tables: bool


def read_status(campaign: Campaign, round: Round) -> RoundStatus:
    """A round's status, by the answers that are here."""
    from curation.rounds import progress

    tasks = round_files.read_tasks(campaign, round.name)
    answers = round_files.read_answers(campaign, round.name)
    items = read.read_items(campaign) if campaign.round_names() else []
    kept = {t.id for t in read.read_terms(campaign).values() if t.status == "kept"}
    void = progress.voided(round, tasks, {item.id: item for item in items}, kept)
    votes = {}
    if round.kind == "validation":
        votes = read.votes(campaign, items, also=round.name)
    settings = campaign.settings.decisions
    lack = progress.lacking(
        round, tasks, answers, votes=votes, needed=settings.needed, of=settings.of, void=void
    )
    asked = round_files.read_asked(campaign, round.name, tasks)
    tables = open_platform(campaign, round).exchanges_tables
    return RoundStatus(round, tasks, answers, asked, votes, void, lack, tables)


def progress_of(campaign: Campaign, status: RoundStatus) -> "Progress":
    """A round's progress now."""
    from curation.rounds import progress

    return progress.progress(
        status.round,
        status.tasks,
        status.answers,
        lack=status.lack,
        asked=status.asked,
        votes=status.votes,
        needed=campaign.settings.decisions.needed,
        of=campaign.settings.decisions.of,
        now=now(),
        void=status.void,
    )


def received(status: RoundStatus) -> Counter[str]:
    """By task id, how many of the answers asked for came in, valid or not."""
    from curation.rounds import progress

    return progress.received(status.answers)


def waiting(status: RoundStatus) -> dict[str, int]:
    """By task id, how many answers were asked for and have not come; none for void tasks."""
    got = received(status)
    return {
        task: n - got[task]
        for task, n in status.asked.items()
        if n > got[task] and task not in status.void
    }


def flagged(campaign: Campaign, round: Round, *, by: int = 2) -> Mapping[str, list[str]]:
    """By flag, the items that at least ``by`` people gave it."""
    people_by_flag: dict[tuple[str, str], set[str]] = {}
    for flag in round_files.read_flags(campaign, round.name):
        people_by_flag.setdefault((flag.flag, flag.item), set()).add(flag.annotator)
    items: dict[str, list[str]] = {}
    for (flag_name, item), people in sorted(people_by_flag.items()):
        if len(people) >= by:
            items.setdefault(flag_name, []).append(item)
    return items


def advice(status: RoundStatus, progress: "Progress") -> str:
    """What to do next about a round, in one line."""
    from curation.rounds.progress import to_ask

    round = status.round
    if round.state == "planned":
        return f"not fully published; curation rounds open {round.kind} --name {round.name}"
    if round.state == "closed":
        return "closed"
    if not progress.remaining:
        return f"nothing is missing; curation rounds close {round.name}"
    answers = amount(progress.remaining, "answer")
    if to_ask(status.lack, status.asked, received(status)):
        return f"{answers} missing; curation rounds top-up {round.name}"
    if status.exchanges_tables:
        return f"{answers} to come; curation rounds import {round.name} FILE"
    return f"{answers} to come; curation rounds pull {round.name}, and in the end top-up"

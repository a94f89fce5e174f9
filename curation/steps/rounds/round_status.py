"""A round's status by the answers that are here: what is missing, void, paid, to be asked for."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from curation.campaign import Campaign
from curation.records import Answer, Round, Task
from curation.rounds.held import Holding
from curation.steps import read
from curation.steps.rounds import ledger, round_files
from curation.steps.rounds.platform import open_platform
from curation.text.times import now
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.rounds.progress import Progress
    from curation.text.rules import Votes


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
        tables: the tables that are out, oldest first; without void tasks.
        exchanges_tables: whether tasks are exported and answers imported as tables.
    """

    round: Round
    tasks: list[Task]
    answers: list[Answer]
    asked: dict[str, int]
    votes: "dict[str, list[Votes]]"
    void: set[str]
    lack: dict[str, int]
    tables: list[Holding]
    exchanges_tables: bool

    @property
    def held(self) -> dict[str, int] | None:
        """By task id, how many answers are out in tables; None if the round has no tables."""
        if not self.exchanges_tables:
            return None
        held = Counter[str]()
        for table in self.tables:
            held.update(table.tasks)
        return dict(held)


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
    out = ledger.read_holdings(campaign, ledger.read_ledger(campaign, round.name), answers, void)
    exchanges = open_platform(campaign, round).exchanges_tables
    return RoundStatus(round, tasks, answers, asked, votes, void, lack, out, exchanges)


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
        held=status.held,
    )


def received(status: RoundStatus) -> Counter[str]:
    """By task id, how many of the answers asked for came in, valid or not."""
    from curation.rounds import progress

    return progress.received(status.answers)


def to_deal(status: RoundStatus) -> dict[str, int]:
    """By task id, how many answers were asked for and are in no table that is out."""
    from curation.rounds import progress

    return progress.to_deal(status.lack, status.asked, received(status), status.held or {})


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
        out = f"; {amount(progress.out, 'answer')} out that no task needs" if progress.out else ""
        out = out if status.exchanges_tables else ""
        return f"nothing is missing{out}; curation rounds close {round.name}"
    parts = []
    if status.exchanges_tables and progress.out:
        parts.append(f"{amount(progress.out, 'answer')} {'is' if progress.out == 1 else 'are'} out")
        parts[0] += f" ({_tables(status)})"
    elif progress.out:
        parts.append(f"{amount(progress.out, 'answer')} to come")
    if progress.missing:
        parts.append(f"{progress.missing if parts else amount(progress.missing, 'answer')} missing")
    if to_ask(status.lack, status.asked, received(status), status.held or {}):
        command = f"top-up {round.name}"
    elif status.exchanges_tables:
        command = f"export {round.name}" if progress.missing else f"import {round.name} FILE"
    else:
        command = f"pull {round.name}, and in the end top-up"
    return f"{', '.join(parts)}; curation rounds {command}"


def _tables(status: RoundStatus) -> str:
    """How many tables are out, and since when."""
    tables = status.tables
    since = f"since {tables[0].since[:10]}"
    if len(tables) == 1:
        return f"{tables[0].table}, {since}"
    return f"{len(tables)} tables, the oldest {tables[0].table}, {since}"

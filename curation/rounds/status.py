"""A round's status by the answers that are here: what is missing, void, paid, to be asked for."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from curation.campaign.counted import votes_of
from curation.campaign.datasets import PLANS
from curation.campaign.settings import caps_of, least_seconds
from curation.campaign.store import Campaign
from curation.files import CurationError, dump_json, read_json, writing
from curation.kinds import ROUNDS, VALIDATION
from curation.records import Round, Task
from curation.rounds import progress
from curation.rounds.answers import people
from curation.rounds.held import LEDGER, read_holdings
from curation.rounds.platforms.interface import Progress, RoundFigures, came
from curation.rounds.platforms.opening import open_platform
from curation.rounds.progress import RefusedAnswer, RoundStatus
from curation.text.times import now
from curation.text.wording import amount

WRITING = "curation rounds open intrasentence, or curation rounds open intersentence"
"""What to do when the terms are reviewed and selected again."""


def read_status(campaign: Campaign, round: Round) -> RoundStatus:
    """A round's status, by the answers that are here."""
    tasks = campaign.tasks[round.name]
    answers = campaign.answers[round.name]
    items = campaign.items if campaign.round_names() else []
    known = {item.id: item for item in (*items, *campaign.neutral_items)}
    kept = {t.id for t in campaign.terms.values() if t.status == "kept"}
    void = progress.voided(round, tasks, known, kept)
    labels = ROUNDS[round.kind].work == "label"
    votes = votes_of(campaign, items, also=round.name) if labels else {}
    settings = campaign.settings.decisions
    lack = progress.lacking(
        round, tasks, answers, votes=votes, needed=settings.needed, of=settings.of, void=void
    )
    asked = read_asked(campaign, round.name, tasks)
    ledger = campaign[LEDGER][round.name]
    place, gone = open_platform(campaign, round), people.out(campaign.standing)
    excluded = {who for who, (code, _) in gone.items() if code == "excluded"}
    status = RoundStatus(
        round=round,
        tasks=tasks,
        answers=answers,
        asked=asked,
        votes=votes,
        void=void,
        lack=lack,
        tables=read_holdings(campaign, round.name, ledger, answers, void),
        exchanges_tables=place.exchanges_tables,
    )
    with suppress(CurationError):  # a damaged database: ``about_waiting`` says so
        status = status._replace(waiting=place.waiting(), attendance=place.attendance(excluded))
    if place.exchanges_tables and round.state == "open":
        status = status._replace(correctable=_correctable(campaign, status))
    return status


def read_asked(campaign: Campaign, name: str, tasks: Sequence[Task]) -> dict[str, int]:
    """How many answers each task was asked for in all.

    Raises:
        CurationError: the file is damaged.
    """
    path = campaign.folder("rounds") / name / "asked.json"
    asked = {task.id: task.wanted for task in tasks}
    if not path.exists():
        return asked
    written = read_json(path)
    fix = "delete it: tasks.jsonl is then used instead, and top-up asks for the rest"
    if not isinstance(written, dict):
        raise CurationError(f"{path}: not a JSON object", fix)
    for task in dict.fromkeys([*asked, *written]):
        answers = written.get(task)
        if type(answers) is not int or answers < 0:
            raise CurationError(
                f"{path}, task {task[:40]!r}: does not say how many answers it was asked for", fix
            )
    return dict(written)


def write_asked(campaign: Campaign, name: str, asked: dict[str, int]) -> None:
    """Write how many answers each task was asked for in all."""
    with writing(campaign.folder("rounds") / name / "asked.json") as file:
        file.write(dump_json(asked))


def left_out_pilots(campaign: Campaign) -> set[str]:
    """Names of the pilots with answers, whose items become no CATs unless the settings say so."""
    if campaign.settings.decisions.pilots:
        return set()
    return {name for name, plan in campaign[PLANS].items() if plan.pilot}


def to_correct(
    campaign: Campaign,
    status: RoundStatus,
    refused: Iterable[RefusedAnswer],
    complete: Collection[tuple[str, str]],
) -> tuple[dict[str, list[RefusedAnswer]], Counter[str]]:
    """The refused answers of a round that go back, by person; and how many do not, by why."""
    held, settings = status.held or {}, campaign.settings.rounds
    work = ROUNDS[status.round.kind].work
    return progress.to_correct(
        refused,
        status.tasks,
        status.answers,
        complete=complete,
        needed={task: n - held.get(task, 0) for task, n in status.lack.items()},
        caps=caps_of(settings, work),
        least=least_seconds(settings, work),
        out=people.out(campaign.standing),
    )


def _correctable(campaign: Campaign, status: RoundStatus) -> int:
    """How many refused answers could go back, on tasks that more answers should be asked for."""
    more = status.demand.to_ask()
    by_pair = {(a.task, a.annotator): a for a in status.answers}
    refused = [
        RefusedAnswer(a.task, a.annotator, (a.code,), ("",), {}, "", "", a.seconds, n)
        for n, a in enumerate(by_pair.values())
        if a.code and a.task in more
    ]
    accepted = {pair for pair, answer in by_pair.items() if answer.code is None}
    chosen, _ = to_correct(campaign, status, refused, accepted)
    return sum(map(len, chosen.values()))


def progress_of(campaign: Campaign, status: RoundStatus) -> Progress:
    """A round's progress now."""
    return progress.progress(status, campaign.settings.decisions, now())


def figures(campaign: Campaign, status: RoundStatus) -> RoundFigures:
    """What the owner of a round looks at: its progress, the next step, what was refused and why."""
    now_at = progress_of(campaign, status)
    return RoundFigures(
        now_at,
        advice(status, now_at),
        progress.refused_by_reason(status.answers),
        flagged(campaign, status.round),
    )


def about_budget(campaign: Campaign) -> str:
    """What all rounds that were opened here cost, against the budget; empty if there is none."""
    budget = campaign.settings.rounds.budget
    if not budget:
        return ""
    rounds = [progress_of(campaign, read_status(campaign, r)) for r in campaign.rounds]
    now, in_all = sum(p.cost for p in rounds), sum(p.cost_in_all for p in rounds)
    over = f", {in_all - budget:,.2f} more than the budget" if in_all > budget else ""
    return (
        f"budget: {now:,.2f} of {budget:,.2f} {campaign.settings.rounds.currency} "
        f"({100 * now / budget:.0f} %); with the answers still to come {in_all:,.2f}{over}"
    )


def flagged(campaign: Campaign, round: Round, *, by: int = 2) -> Mapping[str, list[str]]:
    """By flag, the items that at least ``by`` people gave it."""
    people_by_flag: dict[tuple[str, str], set[str]] = {}
    for flag in campaign.flags[round.name]:
        people_by_flag.setdefault((flag.flag, flag.item), set()).add(flag.annotator)
    items: dict[str, list[str]] = {}
    for (flag_name, item), annotators in sorted(people_by_flag.items()):
        if len(annotators) >= by:
            items.setdefault(flag_name, []).append(item)
    return items


def about_waiting(campaign: Campaign, name: str) -> str:
    """How many of a round's answers wait to be pulled, and the command for it; empty if none wait.

    A round that was not opened here has none.

    Raises:
        CurationError: the platform's own file is damaged.
    """
    opened = (round for round in campaign.rounds if round.name == name)
    waiting = sum(open_platform(campaign, round).waiting() for round in opened)
    return came(waiting, name) if waiting else ""


def about_neutral(campaign: Campaign) -> str:
    """The command that asks for labels on neutral associations, if nobody was asked yet."""
    rounds = campaign.rounds
    asked = {name for round in rounds if round.kind == VALIDATION.name for name in round.of}
    written = {item.round for item in campaign.neutral_items} - asked
    names = [round.name for round in rounds if round.name in written and round.state == "closed"]
    of = "".join(f" --of {name}" for name in names)
    return f"curation rounds open {VALIDATION.name}{of}" if names else ""


def advice(status: RoundStatus, progress: Progress) -> str:
    """What to do next about a round, in one line."""
    round = status.round
    if round.state == "planned":
        return f"not fully published; curation rounds open {round.kind} --name {round.name}"
    name, at = round.name, status.attendance
    closed = "closed; " if round.state == "closed" else ""
    if status.waiting:
        return f"{closed}{came(status.waiting, name)}"
    if at.complete and (closed or progress.remaining):
        bonus = f", then curation rounds approve {name} --bonus" if round.reward is not None else ""
        todo = f"curation rounds approve {name}{bonus}"
        return f"{closed}submissions to approve: {at.complete}; {todo}"
    if closed:
        return "closed"
    if not progress.remaining:
        out = f"; {amount(progress.out, 'answer')} out that no task needs" if progress.out else ""
        out = out if status.exchanges_tables else ""
        return f"nothing is missing{out}; curation rounds close {round.name}"
    parts = []
    if tabled := sum(each.answers for each in status.tables):
        parts.append(f"{amount(tabled, 'answer is', 'answers are')} out ({_tables(status)})")
    if progress.out > tabled:
        parts.append(f"{amount(progress.out - tabled, 'answer')} to come")
    if progress.missing:
        parts.append(f"{progress.missing if parts else amount(progress.missing, 'answer')} missing")
    if at.entrance:
        return f"{', '.join([*parts, 'nobody can enter yet'])}; {at.entrance}"
    if status.correctable:
        parts.append(f"{amount(status.correctable, 'refused answer')} can go back")
        command = f"refused {name} (or curation rounds top-up {name}, to ask others)"
    elif status.demand.to_ask():
        command = f"top-up {name}"
    elif status.exchanges_tables and progress.missing:
        command = f"export {name}"
    elif status.tables:
        command = f"import {name} FILE"
    elif at.is_full:
        command = f"close {name} (all places are taken; or add some to the study on Prolific)"
    else:
        command = f"status {name} --watch 60 (people are still working)"
    return f"{', '.join(parts)}; curation rounds {command}"


def _tables(status: RoundStatus) -> str:
    """How many tables are out, and since when."""
    tables = status.tables
    since = f"since {tables[0].since[:10]}"
    if len(tables) == 1:
        return f"{tables[0].table}, {since}"
    return f"{len(tables)} tables, the oldest {tables[0].table}, {since}"

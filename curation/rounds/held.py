"""Who holds which tasks: tables that went out and have not come back."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.campaign.dataset import of_round
from curation.campaign.store import Campaign
from curation.files import CurationError, dump_line, writing
from curation.records import Answer, Dealing
from curation.rounds.answers import people
from curation.text.times import now
from curation.text.wording import amount, some

HOLDINGS_SHOWN = 5  # tables named in a line
ENDINGS = ("xlsx", "csv")  # of the files of tables
ERASED = "(erased)"
"""The holder of a table whose person had everything erased."""
NO_ANSWER = ("skipped", "superseded", "deleted")


class Holding(NamedTuple):
    """A table that went out, with the answers that have not come back.

    Attributes:
        table: the table's file name.
        holder: the pseudonym of the person who got it, or its own name if it is for anybody.
        since: when it went out, in ISO 8601.
        tasks: by task id, how many answers are still out; without tasks that wait for none.
        corrects: whether it is a sheet of refused answers that went back to its holder.
    """

    table: str
    holder: str
    since: str
    tasks: dict[str, int]
    corrects: bool = False

    @property
    def is_for_anybody(self) -> bool:
        """Whether the table is not for one person."""
        return self.holder == self.table

    @property
    def answers(self) -> int:
        """How many answers are still out."""
        return sum(self.tasks.values())


def holdings(
    dealings: Iterable[Dealing],
    answers: Iterable[Answer],
    *,
    out: Collection[str] = (),
    refused: Collection[str] = (),
) -> list[Holding]:
    """The tables of a round, oldest first, with the answers that are still out.

    A person no longer holds a task if they have answered or skipped it, also if the answer was
    refused, and if the task was recalled. People who are out of the campaign hold nothing.

    An answer by somebody who was not dealt the task counts for a table which has it: for a table
    for anybody, or, if nothing was dealt to that person, for the table of a person who has answered
    nothing of it. Such a table may have come back under another id. If there are several, the table
    that shares the most tasks with that person's answers is taken, and then the oldest.

    A sheet of refused answers waits for each of them until it is corrected or accepted.

    Args:
        dealings: the round's ledger, in order.
        answers: what became of each answer to the round's tasks, in order of submission.
        out: pseudonyms of the people whose answers do not count.
        refused: places in the archive of the answers that are refused, and of no other version.
    """
    tables: dict[str, Holding] = {}
    sheets: dict[str, Holding] = {}
    came: dict[str, int] = {}
    dealt: set[tuple[str, str]] = set()
    for line in dealings:
        if line.action == "deal":
            tables[line.table] = Holding(line.table, line.holder, line.at, dict(line.tasks))
            for task in line.tasks:
                came.setdefault(task, line.came.get(task, 0))
                dealt.add((line.holder, task))
        elif line.action == "correct" and line.holder not in (ERASED, *out):
            due = {task: 1 for task, place in line.refused.items() if place in refused}
            sheets[line.table] = Holding(line.table, line.holder, line.at, due, corrects=True)
        elif holds := tables.get(line.table) or sheets.get(line.table):
            for task, n in line.tasks.items():
                _take(holds, task, n)
    own, strays = _sorted_out(answers, dealt, came)
    content = {table: set(holding.tasks) for table, holding in tables.items()}
    begun = set()
    for table, holding in tables.items():
        answered = own.get(holding.holder, set()) & content[table]
        if answered:
            begun.add(table)
        for task in answered:
            _take(holding, task)
        if holding.holder in out or holding.holder == ERASED:
            holding.tasks.clear()
    known = {holder for holder, _ in dealt}
    for person, counts in strays.items():
        able = [
            holding
            for table, holding in tables.items()
            if holding.is_for_anybody or (person not in known and table not in begun)
        ]
        able.sort(key=lambda holding: -len(content[holding.table] & counts.keys()))
        for task, n in counts.items():
            left = n
            for holding in able:
                left -= _take(holding, task, left)
    return [*tables.values(), *sheets.values()]


def _take(holding: Holding, task: str, n: int = 1) -> int:
    """Take answers off what a table waits for; gives how many it waited for."""
    taken = min(n, holding.tasks.get(task, 0))
    if taken:
        holding.tasks[task] -= taken
        if not holding.tasks[task]:
            del holding.tasks[task]
    return taken


def _sorted_out(
    answers: Iterable[Answer], dealt: Collection[tuple[str, str]], came: dict[str, int]
) -> tuple[dict[str, set[str]], dict[str, Counter[str]]]:
    """The tasks that people answered: those that they were dealt; and others, with how often."""
    own: dict[str, set[str]] = defaultdict(set)
    strays: dict[str, Counter[str]] = defaultdict(Counter)
    before = Counter[str]()
    for answer in answers:
        person, task = answer.annotator, answer.task
        if (person, task) in dealt:
            own[person].add(task)
        elif before[task] < came.get(task, 0):  # it was here before the first table went out
            before[task] += 1
        elif answer.code in NO_ANSWER:  # a copy of a table came back without this answer
            strays[person].setdefault(task, 0)
        else:
            strays[person][task] += 1
    # However a person's copy came back, it was one copy.
    return own, {p: Counter({t: max(n, 1) for t, n in c.items()}) for p, c in strays.items()}


# --- the ledger of a round ------------------------------------------------------------------------

LEDGER = of_round("dealt.jsonl", Dealing)
"""By round, the lines of its ledger, in order; empty before the first table."""


def write_ledger(campaign: Campaign, name: str, lines: Iterable[Dealing]) -> None:
    """Write a round's ledger, all at once."""
    with writing(campaign.folder("rounds") / name / "dealt.jsonl", private=True) as file:
        file.writelines(map(dump_line, lines))


def read_holdings(
    campaign: Campaign,
    name: str,
    lines: Sequence[Dealing],
    answers: Sequence[Answer],
    void: Collection[str] = (),
) -> list[Holding]:
    """The tables that are out, by the ledger and the answers that are here.

    Args:
        campaign: the campaign.
        name: the round's name.
        lines: the round's ledger.
        answers: what became of each answer to the round's tasks.
        void: ids of tasks that no answer can serve any more; they are left out.
    """
    if not lines:
        return []
    out = people.out(campaign.standing)
    sheets = any(line.action == "correct" for line in lines)
    rejections = campaign.rejected[name] if sheets else ()
    refused = {rejection.where for rejection in rejections if rejection.code not in NO_ANSWER}
    live = (
        each._replace(tasks={task: n for task, n in each.tasks.items() if task not in void})
        for each in holdings(lines, answers, out=out, refused=refused)
    )
    return [each for each in live if each.tasks]


def recalls(
    campaign: Campaign, out: Sequence[Holding], names: Sequence[str], named: Mapping[str, str]
) -> list[Dealing]:
    """Lines of the ledger that take back what some holders have not answered.

    Args:
        campaign: the campaign.
        out: the tables that are out.
        names: each a person's id on the platform, a pseudonym, or the name of a table.
        named: ids of people by pseudonym, for the error.

    Raises:
        CurationError: one of them holds nothing.
    """
    lines: dict[str, Dealing] = {}
    at = now()
    for name in names:
        pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))(name)
        file = Path(name).name
        theirs = [
            holding
            for holding in out
            if holding.holder in (name, pseudonym)
            or holding.table in (file, *(f"{file}.{ending}" for ending in ENDINGS))
        ]
        if not theirs:
            raise CurationError(
                f"--recall {name}: nothing is out under this name",
                f"out: {describe_holdings(out, named) or 'nothing'}",
            )
        for each in theirs:
            lines[each.table] = Dealing(
                action="recall", table=each.table, holder=each.holder, tasks=each.tasks, at=at
            )
    return list(lines.values())


def describe_holdings(out: Sequence[Holding], named: Mapping[str, str] | None = None) -> str:
    """Which tables are out, to whom, since when: the oldest in one line; empty if none is."""
    parts = []
    for each in out:
        who = "" if each.is_for_anybody else f"{(named or {}).get(each.holder, each.holder)}, "
        answers = amount(each.answers, "answer")
        parts.append(f"{each.table} ({who}{answers}, since {each.since[:10]})")
    return some(parts, HOLDINGS_SHOWN)


def forget_holder(campaign: Campaign, person: str, erased: Collection[str]) -> None:
    """Take people who had everything erased out of the ledgers of all rounds.

    Answers that the person gave in tables for anybody count as taken back, because the answers
    will be gone. A call that was stopped half-way can be repeated.

    Args:
        campaign: the campaign; its answers are still there.
        person: the pseudonym of the person whose answers are erased now.
        erased: pseudonyms of all people who had everything erased.
    """
    decisions = campaign.standing
    at = next(d.at for d in decisions if (d.person, d.action) == (person, "erase"))
    for name in (each.name for each in campaign.rounds):
        before = campaign[LEDGER][name]
        lines = [
            line.model_copy(update={"holder": ERASED}) if line.holder in erased else line
            for line in before
        ]
        if before and not any(line.action == "recall" and line.at == at for line in before):
            answers = campaign.answers[name]
            left = [answer for answer in answers if answer.annotator != person]
            still = {each.table: each.tasks for each in holdings(before, answers)}
            for each in holdings(before, left):
                more = {t: n - still[each.table].get(t, 0) for t, n in each.tasks.items()}
                gone = {task: n for task, n in more.items() if n > 0}
                if gone and each.holder not in erased:
                    lines.append(
                        Dealing(
                            action="recall", table=each.table, holder=each.holder, tasks=gone, at=at
                        )
                    )
        if tuple(lines) != before:
            write_ledger(campaign, name, lines)

"""The ledger of a round: which tasks went out in which table, to whom, and what was taken back.

Call functions that write only under the campaign's lock.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from curation.campaign import Campaign
from curation.files import CurationError, dump_line, read_records, writing
from curation.records import Answer, Dealing
from curation.rounds.held import ERASED, Holding, holdings
from curation.steps.rounds import round_files
from curation.text.times import now
from curation.text.wording import amount, some

SHOWN = 5  # tables named in a line
ENDINGS = ("xlsx", "csv")  # of the files of tables


def ledger_file(campaign: Campaign, name: str) -> Path:
    """The file that lists the tables of a round."""
    return campaign.rounds / name / "dealt.jsonl"


def read_ledger(campaign: Campaign, name: str) -> list[Dealing]:
    """The lines of a round's ledger, in order; empty before the first table."""
    path = ledger_file(campaign, name)
    return read_records(path, Dealing) if path.exists() else []


def write_ledger(campaign: Campaign, name: str, lines: Iterable[Dealing]) -> None:
    """Write a round's ledger, all at once."""
    with writing(ledger_file(campaign, name), private=True) as file:
        file.writelines(map(dump_line, lines))


def read_holdings(
    campaign: Campaign,
    lines: Sequence[Dealing],
    answers: Sequence[Answer],
    void: Collection[str] = (),
) -> list[Holding]:
    """The tables that are out, by the ledger and the answers that are here.

    Args:
        campaign: the campaign.
        lines: the round's ledger.
        answers: what became of each answer to the round's tasks.
        void: ids of tasks that no answer can serve any more; they are left out.
    """
    from curation.rounds import people

    if not lines:
        return []
    out = people.out(round_files.read_standing(campaign))
    live = (
        each._replace(tasks={task: n for task, n in each.tasks.items() if task not in void})
        for each in holdings(lines, answers, out=out)
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
    from curation.rounds import people

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
                f"out: {describe(out, named) or 'nothing'}",
            )
        for each in theirs:
            lines[each.table] = Dealing(
                action="recall", table=each.table, holder=each.holder, tasks=each.tasks, at=at
            )
    return list(lines.values())


def describe(out: Sequence[Holding], named: Mapping[str, str] | None = None) -> str:
    """Which tables are out, to whom, since when: the oldest in one line; empty if none is."""
    parts = []
    for each in out:
        who = "" if each.is_for_anybody else f"{(named or {}).get(each.holder, each.holder)}, "
        answers = amount(each.answers, "answer")
        parts.append(f"{each.table} ({who}{answers}, since {each.since[:10]})")
    return some(parts, SHOWN)


def forget(campaign: Campaign, person: str, erased: Collection[str]) -> None:
    """Take people who had everything erased out of the ledgers of all rounds.

    Answers that the person gave in tables for anybody count as taken back, because the answers
    will be gone. A call that was stopped half-way can be repeated.

    Args:
        campaign: the campaign; its answers are still there.
        person: the pseudonym of the person whose answers are erased now.
        erased: pseudonyms of all people who had everything erased.
    """
    decisions = round_files.read_standing(campaign)
    at = next(d.at for d in decisions if (d.person, d.action) == (person, "erase"))
    for name in round_files.planned_rounds(campaign):
        before = read_ledger(campaign, name)
        lines = [
            line.model_copy(update={"holder": ERASED}) if line.holder in erased else line
            for line in before
        ]
        if before and not any(line.action == "recall" and line.at == at for line in before):
            answers = round_files.read_answers(campaign, name)
            left = [answer for answer in answers if answer.annotator != person]
            still = {each.table: each.tasks for each in holdings(before, answers)}
            for each in holdings(before, left):
                more = {t: n - still[each.table].get(t, 0) for t, n in each.tasks.items()}
                gone = {task: n for task, n in more.items() if n > 0}
                if gone and each.holder not in erased:
                    lines.append(
                        Dealing(
                            action="recall",
                            table=each.table,
                            holder=each.holder,
                            tasks=gone,
                            at=at,
                        )
                    )
        if lines != before:
            write_ledger(campaign, name, lines)

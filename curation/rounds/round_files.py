"""A round's own files in a campaign: ``round.json``, tasks, what was asked for, answers."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from curation.campaign.dataset import of_round
from curation.campaign.datasets import PLANS
from curation.campaign.settings import RoundName
from curation.campaign.store import Campaign
from curation.files import CurationError, dump_json, dump_line, read_json, writing
from curation.formats.table_words import Words, round_words, shipped_words
from curation.records import FAILS, Answer, Correction, Dealing, Round, Task
from curation.rounds import people
from curation.rounds.held import ERASED, NO_ANSWER, Holding, holdings
from curation.text.times import now
from curation.text.wording import amount, some

if TYPE_CHECKING:
    from curation.rounds.answers.archive import Sent


Refusals = Counter[tuple[str, str]]
"""Refused answers, counted by reason code and place in the archive."""


def check_name(name: str) -> None:
    """Check that a round can have a name.

    Raises:
        CurationError: it has characters that a folder's name cannot have.
    """
    from pydantic import TypeAdapter

    try:
        TypeAdapter(RoundName).validate_python(name)
    except ValidationError:
        raise CurationError(
            f"{name!r} cannot be the name of a round",
            "use letters, digits, - and _, and do not begin with -",
        ) from None


def planned_rounds(campaign: Campaign) -> list[str]:
    """Names of the rounds that were opened here, with or without answers, oldest first."""
    return [round.name for round in campaign.rounds]


def is_pilot(name: str) -> bool:
    """Whether a round of this name is opened as a pilot: pilot, pilot-write and so on."""
    return name.casefold().startswith("pilot")


def left_out_pilots(campaign: Campaign) -> set[str]:
    """Names of the pilots with answers, whose items become no CATs unless the settings say so."""
    if campaign.settings.decisions.pilots:
        return set()
    return {name for name, plan in campaign[PLANS].items() if plan.pilot}


def write_round(campaign: Campaign, round: Round) -> None:
    """Write a round's state."""
    with writing(campaign.folder("rounds") / round.name / "round.json") as file:
        file.write(dump_json(round.model_dump()))


def the_round(campaign: Campaign, name: str | None) -> Round:
    """The named round, or the only one that is open.

    Raises:
        CurationError: the named round does not exist; or none is named, and not exactly one is
            open.
    """
    if name:
        return campaign.round(name)
    live = [r for r in campaign.rounds if r.state != "closed"]
    if len(live) != 1:
        names = ", ".join(r.name for r in live)
        raise CurationError(
            f"several rounds are open: {names}" if live else "no round is open",
            "name one of them" if live else "«curation rounds open KIND» opens one",
        )
    return live[0]


def open_rounds(campaign: Campaign, name: str | None, *, only: bool = False) -> list[Round]:
    """The named round, or all that are not closed; with ``only``, there must be one.

    Raises:
        CurationError: the named round does not exist; or none is named, and none is open.
    """
    live = [] if name or only else [each for each in campaign.rounds if each.state != "closed"]
    return live or [the_round(campaign, name)]


def write_tasks(campaign: Campaign, name: str, tasks: list[Task]) -> None:
    """Write a round's tasks, and ask for as many answers as each task says."""
    rewrite_tasks(campaign, name, tasks)
    write_asked(campaign, name, {task.id: task.wanted for task in tasks})


def rewrite_tasks(campaign: Campaign, name: str, tasks: list[Task]) -> None:
    """Write a round's tasks; what was asked for stays as it is."""
    with writing(campaign.folder("rounds") / name / "tasks.jsonl", private=True) as file:
        file.writelines(map(dump_line, tasks))


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


def failed_people(campaign: Campaign) -> list[str]:
    """Pseudonyms of the people who failed ``FAILS`` instruction checks in one round, sorted."""
    rows = (row for name in campaign.round_names() for row in campaign.checks[name])
    return sorted({row.annotator for row in rows if row.failed >= FAILS})


def refusals(campaign: Campaign) -> Refusals:
    """All refused answers of all rounds: an answer to one round can change those of another.

    The detail of a rejection is not part of it: its words differ between versions.
    """
    return Counter(
        (rejection.code, rejection.where)
        for path in campaign.folder("rounds").glob("*/rejected.jsonl")
        for rejection in campaign.rejected[path.parent.name]
    )


def new_refusals(campaign: Campaign, before: Refusals) -> Counter[str]:
    """By reason code, how many answers were refused since ``refusals`` gave ``before``."""
    return Counter(code for code, _ in (refusals(campaign) - before).elements())


def standing_file(campaign: Campaign) -> Path:
    """The file that lists who is excluded and who withdrew."""
    return campaign.folder("rounds") / "standing.jsonl"


def corrections_file(campaign: Campaign) -> Path:
    """The file that lists the texts of items that the team has changed."""
    return campaign.folder("rounds") / "corrections.jsonl"


def write_corrections(campaign: Campaign, corrections: Iterable[Correction]) -> None:
    """Write the list of corrections, all at once."""
    with writing(corrections_file(campaign), private=True) as file:
        file.writelines(map(dump_line, corrections))


def read_words(campaign: Campaign, name: str) -> Words:
    """What words in the tables of a round mean; those of the shipped languages if it has no texts.

    Raises:
        CurationError: the texts of the round are damaged.
    """
    texts = campaign.texts[name]
    return shipped_words() if texts is None else round_words(texts)


def erased(campaign: Campaign, name: str) -> "Callable[[Sent], bool]":
    """The predicate that tells whether an answer must not be kept: its person had all erased.

    Args:
        campaign: the campaign.
        name: the round of the answers.
    """
    from curation.rounds.answers.interpret import person_of

    erased_people = people.erased(campaign.standing)
    if not erased_people:
        return lambda event: False
    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    words = read_words(campaign, name)
    return lambda event: (
        (person := person_of(event, words)) is not None and pseudonym(person) in erased_people
    )


HOLDINGS_SHOWN = 5  # tables named in a line
ENDINGS = ("xlsx", "csv")  # of the files of tables


def ledger_file(campaign: Campaign, name: str) -> Path:
    """The file that lists the tables of a round."""
    return campaign.folder("rounds") / name / "dealt.jsonl"


LEDGER = of_round("dealt.jsonl", Dealing)
"""By round, the lines of its ledger, in order; empty before the first table."""


def write_ledger(campaign: Campaign, name: str, lines: Iterable[Dealing]) -> None:
    """Write a round's ledger, all at once."""
    with writing(ledger_file(campaign, name), private=True) as file:
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
    for name in planned_rounds(campaign):
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

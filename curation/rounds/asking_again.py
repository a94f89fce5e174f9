"""Sheets of refused answers: each person's own, with what to change in each.

Call ``write_refused`` only under the campaign's lock.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from curation.campaign.private import keep_out
from curation.campaign.store import Campaign
from curation.files import read_records, sweep_beside, writing
from curation.records import Dealing, Label, Rejection, Round
from curation.rounds import round_files, round_status, workbooks
from curation.rounds.answers import archive
from curation.rounds.answers.forms import page_row
from curation.rounds.answers.parsed import UnusableError
from curation.rounds.answers.rows import file_row, seconds_of, text_of, time_of
from curation.rounds.refused import RefusedAnswer
from curation.rounds.running import check_takes_tables
from curation.rounds.sheets import Format, csv_table, is_free, private_names, who_gets_which
from curation.rounds.steps import fold_answers
from curation.text.times import now
from curation.work.reporter import QUIET, Reporter


class Sheets(NamedTuple):
    """What went back to people.

    Attributes:
        tables: each sheet with its number of answers.
        who_gets_which: the list of who gets which sheet; None if there are no sheets.
        left: how many refused answers do not go back, by why.
    """

    tables: list[tuple[Path, int]]
    who_gets_which: Path | None
    left: Counter[str]


def write_refused(
    campaign: Campaign,
    round: Round,
    to: Path,
    *,
    format: Format = "xlsx",
    reporter: Reporter = QUIET,
) -> Sheets:
    """Write a sheet for each person with refused answers that the person can correct.

    A sheet has the person's own answers, and what to change in each. If it comes back, import it
    like any other table: a corrected row is a later version of the refused answer, and a row that
    is unchanged is left out. Answers that were accepted meanwhile and tasks that need no more
    answers are not in it. The same state gives the same sheets, under the same names.

    Args:
        campaign: the campaign.
        round: an open round on a platform that takes tables back.
        to: the folder to write to.
        format: workbooks with drop-down lists in the campaign's language, or CSV with canonical
            names.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the campaign's key is not on this machine, or the round is not of this kind
            or not open.
    """
    from curation.rounds import people, refused

    key = people.read_key(campaign.settings.campaign.id)  # the sheets have people's ids
    check_takes_tables(campaign, round, "take tables", back=True)
    fold_answers(campaign, reporter=reporter)
    status = round_status.read_status(campaign, round)
    answers, ids = _refused(campaign, round, people.pseudonyms(key))
    complete = _complete(campaign, status)
    chosen, left = round_status.to_correct(campaign, status, answers, complete)
    if not chosen:
        _book(campaign, round.name, ())
        return Sheets([], None, left)
    texts = round_status.shown_texts(campaign, round)
    consents = _consents(campaign)
    by_id = {task.id: task for task in status.tasks}
    wanted = [by_id[answer.task] for theirs in chosen.values() for answer in theirs]
    data = {row["task_id"]: row for row in round_status.task_data(campaign, round, wanted)}
    contents = []
    for person, theirs in chosen.items():
        shown_columns, rows = refused.refused_sheet(
            theirs,
            data,
            round,
            texts,
            agreed=consents.get(person, ""),
            consent=campaign.settings.rounds.consent,
            plain=format == "csv",
        )
        if format == "csv":
            contents.append(csv_table(shown_columns, rows))
        else:
            contents.append(workbooks.round_workbook(round.kind, texts, shown_columns, rows))
    keep_out(to, campaign.root, private_names(round.name))
    names = [ids[person] for person in chosen]
    tables, index = _write(round.name, to, contents, names, ending=format)
    _book(campaign, round.name, zip(tables, chosen.items(), strict=True))
    sizes = [len(theirs) for theirs in chosen.values()]
    return Sheets(list(zip(tables, sizes, strict=True)), index, left)


def _book(
    campaign: Campaign, round: str, sheets: Iterable[tuple[Path, tuple[str, list[RefusedAnswer]]]]
) -> None:
    """Put sheets, with their people and answers, into the ledger in place of all earlier ones."""
    before = campaign[round_files.LEDGER][round]
    known = {line.table: line for line in before if line.action == "correct"}
    lines = [line for line in before if line.table not in known]
    for path, (person, theirs) in sheets:
        places = {answer.task: answer.where for answer in theirs}
        about = Dealing(action="correct", table=path.name, holder=person, tasks={}, at=now())
        line = about.model_copy(update={"tasks": dict.fromkeys(places, 1), "refused": places})
        old = known.get(path.name)
        lines.append(old if old and old == line.model_copy(update={"at": old.at}) else line)
    if tuple(lines) != before:
        round_files.write_ledger(campaign, round, lines)


def _refused(
    campaign: Campaign, round: Round, pseudonym: Callable[[str], str]
) -> "tuple[list[RefusedAnswer], dict[str, str]]":
    """The refused answers to a round's tasks, and ids of people by pseudonym."""
    from curation.rounds.answers.interpret import person_of

    reasons: dict[str, list[Rejection]] = defaultdict(list)
    folder = campaign.folder("rounds") / round.name
    for rejection in campaign.rejected[round.name]:
        reasons[rejection.where].append(rejection)
    answers, ids = [], dict[str, str]()
    words = round_files.read_words(campaign, round.name)
    for where, sent in archive.read(folder / "raw"):
        mine = reasons.get(f"{round.name}/raw/{where}")
        person = person_of(sent, words)
        if not mine or person is None or sent.source not in ("forms", "web"):
            continue
        row = page_row(sent.payload) if sent.source == "web" else file_row(sent.payload, words)
        who = pseudonym(person)
        ids[who] = min(ids.get(who, person), person)
        answers.append(
            RefusedAnswer(
                task=text_of(row, "task_id"),
                person=who,
                codes=tuple(rejection.code for rejection in mine),
                details=tuple(rejection.detail for rejection in mine),
                row=row,
                sent=_time(row, "submitted_at"),
                updated=_time(row, "updated_at"),
                seconds=_seconds(row),
                position=sent.position,
                where=mine[0].where,
            )
        )
    return answers, ids


def _time(row: Mapping[str, Any], name: str) -> str:
    try:
        return time_of(row, name)
    except UnusableError:
        return ""


def _seconds(row: Mapping[str, Any]) -> float | None:
    try:
        return seconds_of(row)
    except UnusableError:
        return None


def _complete(campaign: Campaign, status: round_status.RoundStatus) -> set[tuple[str, str]]:
    """Pairs of task and pseudonym for which nothing is missing in what was accepted.

    Of an answer of three labels, one alone may be refused.
    """
    accepted = {(a.task, a.annotator) for a in status.answers if a.code is None}
    path = campaign.folder("rounds") / status.round.name / "labels.jsonl"
    if status.round.kind != "validation" or not path.exists():
        return accepted
    labelled: dict[tuple[str, str], set[str]] = defaultdict(set)
    for label in read_records(path, Label):
        labelled[label.item, label.annotator].add(label.association)
    shown_in = {task.id: (task.item or "", task.shown) for task in status.tasks}
    return {
        (task, person)
        for task, person in accepted
        if task in shown_in
        and {text.association for text in shown_in[task][1]} <= labelled[shown_in[task][0], person]
    }


def _consents(campaign: Campaign) -> dict[str, str]:
    """The version of the consent text to which each person agreed, by pseudonym."""
    return {each.id: each.consent for each in campaign.people if each.consent}


def _write(
    round: str, to: Path, contents: Sequence[bytes], people: Sequence[str], *, ending: str
) -> tuple[list[Path], Path]:
    """Write sheets and the list of who gets which; a file that has another content stays."""
    sweep_beside(to / round)
    for start in count(1):
        numbers = range(start, start + len(contents))
        paths = [to / f"{round}-refused-{n:03d}.{ending}" for n in numbers]
        number = f"-{start:03d}" if start > 1 else ""
        index = to / f"{round}-refused-who-gets-which{number}.csv"
        files = dict(zip(paths, contents, strict=True))
        files[index] = who_gets_which([path.name for path in paths], people)
        if all(is_free(path, content) for path, content in files.items()):
            break
    for path, content in files.items():
        with writing(path, private=True) as file:
            file.write(content)
    return paths, index

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
from curation.formats.table_words import (
    YES,
    Sections,
    Words,
    offered_words,
    read_label,
    round_words,
)
from curation.kinds import GOLD_COLUMNS, LABELS, ROUNDS
from curation.records import Dealing, Label, Rejection, Round
from curation.rounds.answers import archive, forms, people
from curation.rounds.answers.interpret import person_of, row_to_correct
from curation.rounds.answers.parsed import LONGEST_TEXT, UnusableError
from curation.rounds.answers.rows import (
    file_row,
    flag_words,
    seconds_of,
    text_of,
    time_of,
    unread,
)
from curation.rounds.held import LEDGER, write_ledger
from curation.rounds.platforms import pages
from curation.rounds.platforms.texts import read_words, shown_texts, task_data
from curation.rounds.progress import RefusedAnswer, RoundStatus
from curation.rounds.running import check_takes_tables
from curation.rounds.sheets import Format, csv_table, is_free, private_names, who_gets_which
from curation.rounds.status import read_status, to_correct
from curation.rounds.steps import fold_answers
from curation.rounds.workbooks import Column, Row, columns, round_workbook, task_row
from curation.text.times import now
from curation.work.reporter import QUIET, Reporter

WHAT = "what_to_change"
KEPT = ("answer_id", "submitted_at", "updated_at", "seconds")
"""The columns by which a corrected answer is recognised as a version of the refused one."""
_MIXED = ("flags", "reasons")  # fields that tables show as a column for each value


def refused_sheet(
    answers: Sequence[RefusedAnswer],
    data: Mapping[str, Mapping[str, Any]],
    round: Round,
    texts: Sections,
    *,
    agreed: str,
    consent: bool,
    plain: bool,
) -> tuple[list[Column], list[Row]]:
    """The columns and rows of a person's sheet.

    Args:
        answers: the refused answers that go back to the person.
        data: by task id, what people may see of the task, as ``pages.task_data`` gives it.
        round: the round.
        texts: the texts of the round, with those of tables.
        agreed: the version of the consent text to which the person agreed; empty if to none.
        consent: whether answers need consent.
        plain: canonical names and values instead of words, for a table that programs read.
    """
    words = round_words(texts)
    asks = round.consent if consent and not agreed else ""
    most = max(len(pages.numbers_in(data[each.task])) for each in answers)
    named = round.consent if consent else ""
    whole = columns(round.kind, texts, most, consent=named, personal=True, plain=plain)
    unknown = [field for field in _MIXED if any(_free(each, field, words) for each in answers)]
    concerned = {name for each in answers for _, names in _problems(each, round) for name in names}
    shown = [
        *(column for column in whole if column.name.partition(".")[0] not in unknown),
        *(Column(field, field, "", fill=True) for field in unknown),
        *(_kept(name, texts, fill=name in concerned) for name in KEPT),
        _kept(forms.AS_SENT, texts),
    ]
    kept = [_identity(each, round) for each in answers]
    empty = {name for name in KEPT if not any(cells[name] for cells in kept)}
    shown = [column for column in shown if column.name not in empty]
    heading = WHAT if plain else texts["heading"][WHAT]
    shown.insert(1, Column(WHAT, heading, texts["hint"][WHAT], long=True))
    rows = []
    for each, identity in zip(answers, kept, strict=True):
        # As it is in this answer: the same address in other letters would be another person's.
        id = text_of(each.row, "annotator")
        task = task_row(data[each.task], needed=0, annotator=id, plain=plain)
        cells = {**task.cells, WHAT: _what(each, round, texts, asks), "consent": agreed}
        own = _answer(each, round, texts, words, plain=plain) | identity
        cells |= {name: text[:LONGEST_TEXT] for name, text in own.items()}
        if listed := task.lists.get("merge_into"):
            cells["merge_into"] = _choice(cells["merge_into"], data[each.task], listed)
        read = file_row({c.heading: cells.get(c.name, "") for c in shown}, words)
        cells[forms.AS_SENT] = forms.digest(read, round.kind, words)
        rows.append(task._replace(cells=cells))
    return shown, rows


def _kept(name: str, texts: Sections, *, fill: bool = False) -> Column:
    return Column(name, name, texts["hint"]["kept"], fill=fill)


def _free(answer: RefusedAnswer, field: str, words: Words) -> bool:
    """Whether a field has words of the person's own, for which there is no column."""
    known = _values(answer, field, words)
    return any(meaning is None for _, meaning in known)


def _values(answer: RefusedAnswer, field: str, words: Words) -> list[tuple[str, str | None]]:
    """The words in a field, each with its canonical name; None if it is not known."""
    text = text_of(answer.row, field)
    if field == "flags":
        return [(word, words.read("flag", word)) for word in flag_words(text, words)]
    parts = [part.strip() for part in text.split("|") if part.strip()]
    return [(part, words.read("reason", part)) for part in parts]


def _answer(
    answer: RefusedAnswer, round: Round, texts: Sections, words: Words, *, plain: bool
) -> dict[str, str]:
    """The cells of the answer's fields, as the person sent them."""
    shown = offered_words(texts)
    cells: dict[str, str] = dict(unread(answer.row))
    for field in ROUNDS[round.kind].fields:
        text = text_of(answer.row, field)
        cells[field] = text
        if field in _MIXED:
            yes = YES if plain else shown["answer"][YES]
            values = _values(answer, field, words)
            cells |= {f"{field}.{meaning}": yes for _, meaning in values if meaning}
        elif field in LABELS and (label := read_label(text, words)):
            cells[field] = label if plain else shown["label"].get(label, text)
        elif field == "decision" and (decision := words.read("decision", text)):
            cells[field] = decision if plain else shown["decision"][decision]
    writes = ROUNDS[round.kind].writes
    if writes and writes.has_gap and not cells["template"]:
        cells["template"] = text_of(answer.row, "context")
    return cells


def _choice(text: str, data: Mapping[str, Any], listed: Sequence[str]) -> str:
    """The term to merge into as the list of a workbook shows it; other texts stay as they are."""
    ids = [choice["alias"] for choice in data["choices"]]
    names = dict(zip(ids, listed, strict=True))
    return names.get(text) or names.get(text.partition(": ")[0]) or text


def _identity(answer: RefusedAnswer, round: Round) -> dict[str, str]:
    """The cells that make a corrected row a later version of the refused answer."""
    cells = {name: text_of(answer.row, name) for name in KEPT}
    cells["submitted_at"] = answer.sent or cells["submitted_at"]
    cells["updated_at"] = answer.updated or cells["updated_at"]
    if not cells["submitted_at"] and not cells["updated_at"]:
        # Any time makes it a later version of an answer that has none. This one does not depend on
        # when the sheet is written.
        cells["updated_at"] = round.opened_at or ""
    return cells


def _what(answer: RefusedAnswer, round: Round, texts: Sections, asks: str) -> str:
    """What to change in an answer, in the language of the round's texts."""
    headings = texts["heading"]
    names: dict[str, list[str]] = {}
    for code, concerned in _problems(answer, round):
        too_long = code == "bad_value" and any(
            len(text_of(answer.row, name)) > LONGEST_TEXT for name in concerned
        )
        code = "too_long" if too_long else code
        names.setdefault(code, []).extend(headings.get(name, name) for name in concerned)
    if asks:
        names["no_consent"] = [f"{headings['consent']}: {asks}"]
    parts = []
    for code, shown in names.items():
        more = ", ".join(dict.fromkeys(shown))
        parts.append(texts["refused"][code] + (f" ({more})" if more else ""))
    return " ".join(parts)


def _problems(answer: RefusedAnswer, round: Round) -> list[tuple[str, list[str]]]:
    """The reason codes of an answer, each with the columns that it concerns, if they are known."""
    own = unread(answer.row)
    names = dict.fromkeys((*ROUNDS[round.kind].fields, *KEPT, *GOLD_COLUMNS, "context", *own))
    problems = []
    for code, detail in zip(answer.codes, answer.details, strict=True):
        concerned = [n for n in names if repr(n) in detail or detail.startswith(f"{n} is ")]
        if not concerned and code in ("unknown_label", "bad_value"):  # the detail quotes the cell
            quoted = detail.casefold()
            cells = {name: text_of(answer.row, name) for name in names}
            concerned = [n for n, cell in cells.items() if cell and repr(cell).casefold() in quoted]
        problems.append((code, concerned))
    return problems


# --- all sheets of a round ------------------------------------------------------------------------


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
    key = people.read_key(campaign.settings.campaign.id)  # the sheets have people's ids
    check_takes_tables(campaign, round, "take tables", back=True)
    fold_answers(campaign, reporter=reporter)
    status = read_status(campaign, round)
    answers, ids = _refused(campaign, round, people.pseudonyms(key))
    complete = _complete(campaign, status)
    chosen, left = to_correct(campaign, status, answers, complete)
    if not chosen:
        _book(campaign, round.name, ())
        return Sheets([], None, left)
    texts = shown_texts(campaign, round)
    consents = _consents(campaign)
    by_id = {task.id: task for task in status.tasks}
    wanted = [by_id[answer.task] for theirs in chosen.values() for answer in theirs]
    data = {row["task_id"]: row for row in task_data(campaign, round, wanted)}
    contents = []
    for person, theirs in chosen.items():
        shown_columns, rows = refused_sheet(
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
            contents.append(round_workbook(round.kind, texts, shown_columns, rows))
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
    before = campaign[LEDGER][round]
    known = {line.table: line for line in before if line.action == "correct"}
    lines = [line for line in before if line.table not in known]
    for path, (person, theirs) in sheets:
        places = {answer.task: answer.where for answer in theirs}
        about = Dealing(action="correct", table=path.name, holder=person, tasks={}, at=now())
        line = about.model_copy(update={"tasks": dict.fromkeys(places, 1), "refused": places})
        old = known.get(path.name)
        lines.append(old if old and old == line.model_copy(update={"at": old.at}) else line)
    if tuple(lines) != before:
        write_ledger(campaign, round, lines)


def _refused(
    campaign: Campaign, round: Round, pseudonym: Callable[[str], str]
) -> tuple[list[RefusedAnswer], dict[str, str]]:
    """The refused answers to a round's tasks, and ids of people by pseudonym."""
    reasons: dict[str, list[Rejection]] = defaultdict(list)
    folder = campaign.folder("rounds") / round.name
    for rejection in campaign.rejected[round.name]:
        reasons[rejection.where].append(rejection)
    answers, ids = [], dict[str, str]()
    words = read_words(campaign, round.name)
    for where, sent in archive.read(folder / "raw"):
        mine = reasons.get(f"{round.name}/raw/{where}")
        person = person_of(sent, words)
        row = row_to_correct(sent, words)
        if not mine or person is None or row is None:
            continue
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


def _complete(campaign: Campaign, status: RoundStatus) -> set[tuple[str, str]]:
    """Pairs of task and pseudonym for which nothing is missing in what was accepted.

    Of an answer of three labels, one alone may be refused.
    """
    accepted = {(a.task, a.annotator) for a in status.answers if a.code is None}
    path = campaign.folder("rounds") / status.round.name / "labels.jsonl"
    if ROUNDS[status.round.kind].work != "label" or not path.exists():
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

"""Rounds on platforms that exchange tables: who gets which tasks, and reading what comes back."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from curation.campaign.datasets import CONSENTS
from curation.campaign.private import keep_out
from curation.campaign.settings import caps_of
from curation.campaign.store import Campaign
from curation.files import CurationError, read_bytes, read_text, sweep_beside, writing
from curation.formats.table_words import Words
from curation.formats.tables import csv_text, list_columns
from curation.kinds import ROUNDS
from curation.records import Dealing, Round, Task
from curation.rounds import held, workbooks
from curation.rounds.answers import archive, forms, people
from curation.rounds.answers.rows import columns_of, file_row, probable, text_of
from curation.rounds.importing import warn_of_people
from curation.rounds.platforms import pages
from curation.rounds.platforms.opening import erased
from curation.rounds.platforms.texts import read_words, shown_texts, task_data
from curation.rounds.progress import RoundStatus
from curation.rounds.running import NewAnswers, check_takes_tables, new_answers
from curation.rounds.status import read_status
from curation.rounds.steps import fold_answers, refusals
from curation.rounds.workbooks import Column, Row, columns, task_row
from curation.text.times import Order, now
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.formats.tables import Table, TablePlace


Format = Literal["xlsx", "csv"]
LIST, TABLES = "-who-gets-which", (".xlsx", ".csv", ".jsonl")  # in the names of files
Share = list[tuple[Task, int]]
"""Tasks of a table, each with the number of answers that it asks for."""


class Exported(NamedTuple):
    """The result of an export.

    Attributes:
        instructions: the page of instructions.
        tables: each table with its number of tasks.
        who_gets_which: the list of who gets which table, if the tasks were dealt out to people.
        recalled: how many answers were taken back from those who held them.
        consent: the version of the consent text, which people write in the column ``consent``;
            empty if consent is not asked for.
    """

    instructions: Path
    tables: list[tuple[Path, int]]
    who_gets_which: Path | None
    recalled: int
    consent: str


class Layout(NamedTuple):
    """How tables are written.

    Attributes:
        format: workbooks with drop-down lists in the campaign's language, or CSV with canonical
            names.
        bom: whether CSV tables begin with a byte order mark, by which spreadsheet programs know
            that they are UTF-8.
    """

    format: Format = "xlsx"
    bom: bool = False


def write_files(
    campaign: Campaign,
    round: Round,
    status: RoundStatus,
    shares: Mapping[str, Share],
    to: Path,
    lines: Sequence[Dealing],
    named: Mapping[str, str],
    layout: Layout,
    reporter: Reporter,
) -> tuple[Exported, list[Dealing]]:
    """Write the files of an export; gives them, and the lines for the round's ledger."""
    language = campaign.settings.campaign.language
    texts, plain = shown_texts(campaign, round), layout.format == "csv"
    consent = round.consent if campaign.settings.rounds.consent else ""
    tasks = list({task.id: task for share in shares.values() for task, _ in share}.values())
    shown = max((len(task.shown) for task in tasks), default=0)
    chosen = columns(round.kind, texts, shown, consent=consent, personal=bool(named), plain=plain)
    table = (
        partial(csv_table, bom=layout.bom)
        if plain
        else partial(workbooks.round_workbook, round.kind, texts)
    )
    data = {row["task_id"]: row for row in task_data(campaign, round, tasks)}
    sweep_beside(to / round.name)
    contents = [
        table(
            chosen,
            [
                task_row(data[task.id], needed=n, annotator=named.get(person, ""), plain=plain)
                for task, n in share
            ],
        )
        for person, share in shares.items()
    ]
    known, whole = {line.table for line in lines}, not named
    names, start = _names(
        round.name, known, contents, to, reporter, whole=whole, ending=layout.format
    )
    exported = Exported(to / f"{round.name}-instructions.html", [], None, 0, consent)
    with writing(exported.instructions) as file:
        guide = workbooks.column_table(chosen, texts["sheet"])
        page = pages.page(round.kind, texts, language=language, columns=guide, fill=not plain)
        file.write(page.encode())
    if named:
        keep_out(to, campaign.root, private_names(round.name))
        text = who_gets_which(names, [named[person] for person in shares])
        paths = (
            to / f"{round.name}-who-gets-which{f'-{n:03d}' if n > 1 else ''}.csv"
            for n in count(start)
        )
        index = next(path for path in paths if is_free(path, text))
        with writing(index, private=True) as file:
            file.write(text)
        exported = exported._replace(who_gets_which=index)
    came, at, dealt = status.demand.received, now(), []
    for name, content, (person, share) in zip(names, contents, shares.items(), strict=True):
        with writing(to / name, private=bool(person)) as file:  # it has the person's id
            file.write(content)
        exported.tables.append((to / name, len(share)))
        dealt.append(
            Dealing(
                action="deal",
                table=name,
                holder=person or name,
                tasks={task.id: n for task, n in share},
                came={task.id: came[task.id] for task, _ in share if came[task.id]},
                at=at,
            )
        )
    return exported, dealt


def is_free(path: Path, content: bytes) -> bool:
    """Whether a file can be written without a loss: nothing is there, or the same content."""
    return not path.exists() or (path.is_file() and read_bytes(path) == content)


def private_names(round: str) -> list[str]:
    """What git calls the tables and sheets of a round that have people's ids."""
    tables = [f"{round}-[0-9]*.{ending}" for ending in held.ENDINGS]
    return [*tables, f"{round}-refused-*", f"{round}-who-gets-which*.csv"]


def _names(
    round: str,
    dealt: Collection[str],
    contents: Sequence[bytes],
    to: Path,
    reporter: Reporter,
    *,
    whole: bool,
    ending: str,
) -> tuple[list[str], int]:
    """File names for new tables, and the number of the first; no name that is taken.

    If a first table is ``whole``, that is for anybody, its name has no number.
    A person's id is not used as a file name: it may contain anything, and files get around.
    """
    endings = "|".join(held.ENDINGS)
    pattern = re.compile(rf"{re.escape(round)}(?:-(\d{{3,}}))?\.(?:{endings})")
    numbers = [int(match[1] or 1) for name in dealt if (match := pattern.fullmatch(name))]
    first = start = max(numbers, default=0) + 1
    only = f"{round}.{ending}"
    names = [only] if first == 1 and whole else _numbered(round, first, contents, ending)
    strange: list[str] = []
    while taken := [
        path.name
        for name, content in zip(names, contents, strict=True)
        if (path := _in_the_way(to / name, content))
    ]:
        strange += taken
        start += names[0] != only
        names = _numbered(round, start, contents, ending)
    if strange:
        reporter.warn(
            f"{to / strange[0]}: this file is there already, and it is not a table that the round "
            f"has dealt out; the new tables begin with {names[0]}"
        )
    return names, start


def _numbered(round: str, start: int, contents: Sequence[bytes], ending: str) -> list[str]:
    return [f"{round}-{n:03d}.{ending}" for n in range(start, start + len(contents))]


def _in_the_way(path: Path, content: bytes) -> Path | None:
    """The file because of which a table cannot have this name, or None.

    A file with the same content is not in the way: an export that was stopped wrote it. It is not
    in the ledger, and the same export writes it again. A file of the other format is in the way,
    since people would take it for the same table.
    """
    others = (path.with_name(f"{path.stem}.{ending}") for ending in held.ENDINGS)
    if not is_free(path, content):
        return path
    return next((other for other in others if other != path and other.exists()), None)


def csv_table(columns: Sequence[Column], rows: Sequence[Row], *, bom: bool = False) -> bytes:
    """A table to fill in as CSV, with the headings of its columns."""
    heads = [column.heading for column in columns]
    cells = ([row.cells.get(column.name, "") for column in columns] for row in rows)
    return csv_text([heads, *cells]).encode("utf-8-sig" if bom else "utf-8")


def who_gets_which(names: Sequence[str], people: Sequence[str]) -> bytes:
    """The list of who gets which table: the file's name, and the id of its person."""
    return csv_text([["file", "person"], *zip(names, people, strict=True)]).encode()


def export_round(
    campaign: Campaign,
    round: Round,
    to: Path,
    *,
    people: Path | None = None,
    recall: Sequence[str] = (),
    format: Format = "xlsx",
    bom: bool = False,
    reporter: Reporter = QUIET,
) -> Exported:
    """Write a round's tasks that wait for answers as tables, with the instructions.

    Tasks that are out in a table are not in it. Files of earlier exports stay; new tables have new
    names. The round's ledger says who holds which tasks.

    Args:
        campaign: the campaign.
        round: an open round on a platform that exchanges tables.
        to: the folder to write to.
        people: a file with one person's id per line; each person gets a table with a share of
            the tasks. None writes one table with all tasks.
        recall: people (ids or pseudonyms) or tables. What they have not answered is taken back, and
            dealt out again.
        format: ``xlsx`` for workbooks with drop-down lists in the campaign's language, ``csv`` for
            tables with canonical names, which programs read.
        bom: begin CSV tables with a byte order mark, by which spreadsheet programs know that they
            are UTF-8.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the round is not of this kind, is not open or waits for no answer that is
            not out already; nothing is out under a name to recall; the tasks cannot be dealt out
            to these people; a text is too long for a workbook; or ``bom`` is given for workbooks.
    """
    if bom and format != "csv":
        raise CurationError(
            "--bom is for CSV tables, and these are workbooks", "add --format csv, or omit --bom"
        )
    check_takes_tables(campaign, round, "be exported")
    fold_answers(campaign, reporter=reporter)
    status = read_status(campaign, round)
    named = read_people(campaign, people) if people else {}
    fix = f"use one id for both in {people}, and export again"
    warn_of_people(campaign, named.values(), reporter, fix=fix)
    lines = [*campaign[held.LEDGER][round.name]]
    out_now = [table for table in status.tables if not table.corrects]
    taken = held.recalls(campaign, out_now, recall, named)
    if taken:
        lines += taken
        tables = held.read_holdings(campaign, round.name, lines, status.answers, status.void)
        status = status._replace(tables=tables)
    waiting = status.demand.to_deal()
    if not waiting:
        if out := held.describe_holdings(status.tables, named):
            raise CurationError(
                f"round {round.name} waits for no answer that is not out already: {out}",
                "import what came back, or use --recall NAME to deal out a holder's tasks again "
                f"(of sheets of refused answers: «curation rounds top-up {round.name} --recall "
                "NAME»); "
                f"«curation rounds status {round.name}» lists all tables that are out",
            )
        raise CurationError(
            f"round {round.name} waits for no answer", "«curation rounds top-up» asks for more"
        )
    if people:
        shares = _dealt(campaign, round, status, waiting, named)
    else:
        shares = {"": [(task, waiting[task.id]) for task in status.tasks if task.id in waiting]}
    layout = Layout(format, bom)
    exported, dealt = write_files(
        campaign, round, status, shares, to, lines, named, layout, reporter
    )
    # After the tables: a command that is killed before writes the same tables when it is repeated.
    held.write_ledger(campaign, round.name, [*lines, *dealt])
    return exported._replace(recalled=sum(sum(line.tasks.values()) for line in taken))


_ONE_ID = "use a text file with one person's id per line, and nothing else"
HEADINGS = ("id", "ids", "name", "names", "person", "people", "email", "e-mail")
"""What the first line of a list of people may say, besides headings of the column annotator."""


def read_people(campaign: Campaign, path: Path) -> dict[str, str]:
    """The ids of people by pseudonym, from a file with one id per line."""
    from curation.formats.rows import is_workbook
    from curation.rounds.answers.rows import column

    if path.is_file() and is_workbook(path):
        raise CurationError(f"{path}: is a workbook", _ONE_ID)
    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    named: dict[str, str] = {}
    lines: dict[str, int] = {}
    rows = [line.strip() for line in read_text(path).splitlines()]
    first = next(filter(None, rows), "")
    if first.casefold() in HEADINGS or column(first) == "annotator":
        raise CurationError(
            f"{path}: its first line, {first!r}, looks like a heading", f"delete it; {_ONE_ID}"
        )
    if len(rows) > 1 and any(all(mark in row for row in rows if row) for mark in "\t;"):
        raise CurationError(f"{path}: has several cells in each line", _ONE_ID)
    for number, line in enumerate(rows, 1):
        if not line or line.startswith("#"):
            continue
        person = pseudonym(line)
        if person in named:
            same = "" if named[person] == line else f", as {named[person]!r}"
            raise CurationError(
                f"{path} line {number}: {line!r} is already in line {lines[person]}{same}",
                "name each person once",
            )
        named[person], lines[person] = line, number
    return named


def _dealt(
    campaign: Campaign,
    round: Round,
    status: RoundStatus,
    waiting: Mapping[str, int],
    named: Mapping[str, str],
) -> dict[str, Share]:
    """Each person's share of the tasks, by pseudonym; ``named`` has their ids."""
    from curation.rounds.allocation import assign

    out = people.out(campaign.standing)
    barred = [person for person in named if person in out]
    if barred:
        raise CurationError(
            f"{named[barred[0]]!r} is out of the campaign ({out[barred[0]][0]})",
            "take them out of the file",
        )
    given: dict[str, set[str]] = defaultdict(set)
    for answer in status.answers:
        given[answer.task].add(answer.annotator)
    for table in status.tables:  # what people hold counts as if they had answered it
        for task in table.tasks:
            given[task].add(table.holder)
    work = ROUNDS[round.kind].work
    assigned = assign(
        status.tasks,  # also those that wait for nobody: their answers count as work of a person
        list(named),
        answers=waiting,
        caps=caps_of(campaign.settings.rounds, work),
        work=work,
        given=given,
        seed=campaign.settings.campaign.seed,
    )
    by_id = {task.id: task for task in status.tasks}
    return {person: [(by_id[id], 1) for id in ids] for person, ids in assigned.items() if ids}


def import_tables(
    campaign: Campaign,
    round: Round,
    file: Path,
    *,
    consent: str = "",
    dates: Order | None = None,
    reporter: Reporter = QUIET,
) -> tuple[NewAnswers, dict[Path, CurationError]]:
    """Add the answers of a table, or of all in a folder, to a round's archive, and fold them.

    A row of a table for anybody in which nobody wrote anything is not an answer, and is left out.
    If a table names one person, rows with answers and without an id are that person's. In a folder,
    lists of who gets which are left out, and so are hidden files and those that a spreadsheet
    program keeps beside an open workbook.

    Args:
        campaign: the campaign.
        round: an open round on a platform that exchanges tables.
        file: the table, or the folder.
        consent: the version of the consent text to which all people in the tables agreed
            elsewhere; empty if the rows say it, or nobody was asked.
        dates: what comes first in a date such as 3/4/2026; by default the other dates settle it.
        reporter: where warnings and progress go.

    Returns:
        What came in; and the tables of a folder that could not be imported, each with its error.

    Raises:
        CurationError: the round is not of this kind or is not open, or there is no table in the
            folder; or, of a table that is named, no row has an answer to the round or is about one
            of its tasks, a column has slipped down a row, a date could be two days, or no round of
            the campaign has shown that version of the consent text.
    """
    check_takes_tables(campaign, round, "take tables", back=True)
    tables = [file]
    if file.is_dir():
        found = (path for path in file.iterdir() if path.suffix.casefold() in TABLES)
        tables = sorted(p for p in found if p.name[0] not in ".~" and LIST not in p.name)
    if not tables:
        raise CurationError(f"{file}: no table in it", f"put {', '.join(TABLES)} files there")
    before, counts = refusals(campaign), Counter[str]()
    words, failed = read_words(campaign, round.name), dict[Path, CurationError]()
    for path in tables:
        try:
            rows, place = read_answers(path, words, reporter=reporter)
            counts.update(_deliver(campaign, round, rows, place, consent, dates, reporter))
        except CurationError as error:
            if path == file:
                raise
            failed[path] = error
    fold_answers(campaign, reporter=reporter)
    return new_answers(campaign, round, dict(counts), before), failed


def _deliver(
    campaign: Campaign,
    round: Round,
    rows: Sequence[dict[str, Any]],
    place: "TablePlace | None",
    consent: str,
    dates: Order | None,
    reporter: Reporter,
) -> dict[str, int]:
    """Add the rows of a table to a round's archive; gives how many are new, and how many known."""
    from curation.rounds.answers.table_checks import (
        check_answers,
        check_tasks,
        filled_in,
        settle_dates,
        settle_person,
        unused_columns,
    )

    versions = campaign[CONSENTS]
    if consent and consent not in versions:
        raise CurationError(
            f"no round here has shown a consent text of version {consent!r}",
            f"versions: {', '.join(sorted(versions))}; the instructions of an export name theirs",
        )
    where, numbers, cells = place or ("the table", (), {})
    words = read_words(campaign, round.name)
    read = partial(file_row, words=words)
    warning = check_answers(rows, round.kind, where, words, cells)
    unused = unused_columns(rows, where, round.kind, words, cells)
    places: dict[str, str] = {}  # of each task, its first row with an answer
    for number, row in enumerate(map(read, rows)):
        if filled_in(row, round.kind) and (id := text_of(row, "task_id")):
            line = numbers[number] if numbers else number + 1
            places.setdefault(id, f"{where} row {line}, task_id {id[:60]!r}")
    _check_round(campaign, round, places)
    check_tasks(rows, read, round.kind, where=where, numbers=numbers)
    rows = settle_dates(rows, read, order=dates, where=where, numbers=numbers)
    if warning:
        reporter.warn(warning)
    if unused:
        reporter.note(unused)
    rows = [row for row in rows if not forms.is_untouched(read(row), round.kind)]
    if not rows:
        raise CurationError(
            f"{where}: nobody has filled in a row",
            "fill in annotator and the answer, as the instructions of the export say",
        )
    rows, lacking = settle_person(rows, read)
    if lacking:
        reporter.note(
            f"{where}: {amount(lacking, 'row')} with answers and without an id; taken as answers "
            "of the only person that the table names"
        )
    raw, gone = (
        campaign.folder("rounds") / round.name / "raw",
        erased(campaign, round.name),
    )
    ids = (str(read(row).get("annotator") or "").strip() for row in rows)
    warn_of_people(campaign, ids, reporter)
    if consent:
        people = dict.fromkeys(str(read(row).get("annotator") or "") for row in rows)
        agreed = [{"annotator": p, "consent": consent} for p in people if p.strip()]
        archive.deliver(raw, "forms", agreed, gone=gone)
    # A row of a sheet of refused answers that nobody changed is not another answer.
    changed = [r for r in rows if not forms.is_unchanged(read(r), round.kind, words)]
    delivery = archive.deliver(raw, "forms", changed, gone=gone)
    return {"new": delivery.added, "known": delivery.known + len(rows) - len(changed)}


def _check_round(campaign: Campaign, round: Round, places: Mapping[str, str]) -> None:
    """Check that a table is of a round; ``places`` are those of its tasks, for messages.

    Raises:
        CurationError: the table has answers to tasks, and none of these tasks is of the round.
    """
    own = {task.id for task in campaign.tasks[round.name]}
    if not places or not own.isdisjoint(places):
        return
    for other in (each.name for each in campaign.rounds):
        for task in campaign.tasks[other]:
            if task.id in places:
                raise CurationError(
                    f"{places[task.id]}: this table is of round {other}, and not of {round.name}",
                    f"curation rounds import {other} FILE",
                )
    raise CurationError(
        f"{next(iter(places.values()))}: neither this nor another row is about a task of round "
        f"{round.name}, or of another round here",
        "check that this is the right file and the right campaign; keep task_id as it was exported",
    )


def read_answers(
    file: Path, words: "Words | None" = None, *, reporter: Reporter = QUIET
) -> "Table":
    """A table of answers to tasks: an .xlsx workbook, CSV or JSONL.

    Args:
        file: the table.
        words: the words of the round's own texts; None for those of the shipped languages.
        reporter: where warnings go.

    Raises:
        CurationError: it cannot be read, has no rows, or has no column task_id or annotator.
    """
    from curation.formats.rows import read_table
    from curation.rounds.answers.table_checks import refuse_full_json

    table = read_table(file, reporter.warn, partial(columns_of, words=words))
    if not table.rows:
        raise CurationError(
            f"{file}: has a header and no rows", "check that this is the right file"
        )
    names = list({name: None for row in table.rows for name in row if name})
    refuse_full_json(names, table.place.name)
    columns = columns_of(names, words)
    missing = [name for name in ("task_id", "annotator") if name not in columns]
    if missing:
        near = "".join(f". Probably {pair}" for pair in probable(missing, names, table.place.cells))
        raise CurationError(
            f"{table.place.name}: no column {missing[0]}; it has {list_columns(names)}{near}",
            "keep the columns of the exported table; annotator names the person who answered",
        )
    return table

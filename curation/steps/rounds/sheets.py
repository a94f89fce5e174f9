"""Tables of rounds on platforms that exchange tables: tasks exported, answers imported.

Call these functions only under the campaign's lock.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign import Campaign
from curation.cells import csv_text
from curation.files import CurationError, read_bytes, read_text, writing
from curation.leftovers import sweep_beside
from curation.records import Dealing, Round, Task
from curation.rules import WORK
from curation.steps.alike import warn_of_people
from curation.steps.pipeline import fold_answers
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import ledger, round_files, round_status, shown
from curation.steps.rounds.caps import caps_of
from curation.steps.rounds.platform import open_platform
from curation.steps.rounds.round_status import RoundStatus
from curation.steps.rounds.running import NewAnswers, command_to_open, new_answers
from curation.times import Order, now

if TYPE_CHECKING:
    from curation.rounds.tables import Place, Table

Share = list[tuple[Task, int]]
"""Tasks of a table, each with the number of answers that it asks for."""


class Exported(NamedTuple):
    """The result of an export.

    Attributes:
        instructions: the page of instructions.
        tables: each table with its number of tasks.
        who_gets_which: the list of who gets which table, if the tasks were dealt out to people.
        recalled: how many answers were taken back from those who held them.
    """

    instructions: Path
    tables: list[tuple[Path, int]]
    who_gets_which: Path | None
    recalled: int


def export_round(
    campaign: Campaign,
    round: Round,
    to: Path,
    *,
    people: Path | None = None,
    recall: Sequence[str] = (),
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
        reporter: where warnings and progress go.

    Raises:
        CurationError: the round is not of this kind, is not open or waits for no answer that is
            not out already; nothing is out under a name to recall; or the tasks cannot be dealt
            out to these people.
    """
    _check_open(campaign, round, "be exported")
    fold_answers(campaign, reporter=reporter)
    status = round_status.read_status(campaign, round)
    named = _read_people(campaign, people) if people else {}
    fix = f"use one id for both in {people}, and export again"
    warn_of_people(campaign, named.values(), reporter, fix=fix)
    lines = ledger.read_ledger(campaign, round.name)
    taken = ledger.recalls(campaign, status.tables, recall, named)
    if taken:
        lines += taken
        tables = ledger.read_holdings(campaign, lines, status.answers, status.void)
        status = status._replace(tables=tables)
    waiting = round_status.to_deal(status)
    if not waiting:
        if out := ledger.describe(status.tables, named):
            raise CurationError(
                f"round {round.name} waits for no answer that is not out already: {out}",
                "import what came back, or use --recall NAME to deal out a holder's tasks again; "
                f"«curation rounds status {round.name}» lists all tables that are out",
            )
        raise CurationError(
            f"round {round.name} waits for no answer", "«curation rounds top-up» asks for more"
        )
    if people:
        shares = _dealt(campaign, round, status, waiting, named)
    else:
        shares = {"": [(task, waiting[task.id]) for task in status.tasks if task.id in waiting]}
    exported, dealt = _write(campaign, round, status, shares, to, lines, named, reporter)
    # After the tables: a command that is killed before writes the same tables when it is repeated.
    ledger.write_ledger(campaign, round.name, [*lines, *dealt])
    return exported._replace(recalled=sum(sum(line.tasks.values()) for line in taken))


def import_round(
    campaign: Campaign,
    round: Round,
    rows: Sequence[dict[str, Any]],
    *,
    consent: str = "",
    dates: Order | None = None,
    place: "Place | None" = None,
    reporter: Reporter = QUIET,
) -> NewAnswers:
    """Add answers to a round's tasks to its archive, and fold them into items and labels.

    Args:
        campaign: the campaign.
        round: an open round on a platform that exchanges tables.
        rows: the rows of a table, by column.
        consent: the version of the consent text to which all people in the table agreed
            elsewhere; empty if the rows say it, or nobody was asked.
        dates: what comes first in a date such as 3/4/2026; by default the other dates settle it.
        place: where the rows are, for messages.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the round is not of this kind or is not open, no row has an answer to it, a
            date could be two days, or no round of the campaign has shown that version of the
            consent text.
    """
    from curation.rounds.answers import archive
    from curation.rounds.answers.forms import file_row
    from curation.rounds.answers.table_checks import check_answers, settle_dates

    _check_open(campaign, round, "take tables")
    versions = round_files.consents(campaign)
    if consent and consent not in versions:
        raise CurationError(
            f"no round here has shown a consent text of version {consent!r}",
            f"versions: {', '.join(sorted(versions))}; the exported tables have it in the column "
            "consent_version",
        )
    where, numbers, cells = place or ("the table", (), {})
    warning = check_answers(rows, round.kind, where, cells)
    rows = settle_dates(rows, file_row, order=dates, where=where, numbers=numbers)
    if warning:
        reporter.warn(warning)
    before = round_files.refusals(campaign)
    raw, gone = campaign.rounds / round.name / "raw", round_files.erased(campaign)
    ids = (str(file_row(row).get("annotator") or "").strip() for row in rows)
    warn_of_people(campaign, ids, reporter)
    if consent:
        people = dict.fromkeys(str(file_row(row).get("annotator") or "") for row in rows)
        agreed = [{"annotator": p, "consent": consent} for p in people if p.strip()]
        archive.deliver(raw, "forms", agreed, gone=gone)
    delivery = archive.deliver(raw, "forms", rows, gone=gone)
    fold_answers(campaign, reporter=reporter)
    counts = {"new": delivery.added, "known": delivery.known}
    return new_answers(campaign, round, counts, before)


def read_answers(file: Path, reporter: Reporter = QUIET) -> "Table":
    """A table of answers to tasks: an .xlsx workbook, CSV or JSONL.

    Raises:
        CurationError: it cannot be read, has no rows, or has no column task_id or annotator.
    """
    from curation.rounds.answers.forms import columns_of
    from curation.rounds.answers.rows import probable
    from curation.rounds.tables import listed, read_table

    table = read_table(file, reporter.warn)
    if not table.rows:
        raise CurationError(
            f"{file}: has a header and no rows", "check that this is the right file"
        )
    names = list({name: None for row in table.rows for name in row if name})
    columns = columns_of(names)
    missing = [name for name in ("task_id", "annotator") if name not in columns]
    if missing:
        near = "".join(f". Probably {pair}" for pair in probable(missing, names, table.place.cells))
        raise CurationError(
            f"{table.place.name}: no column {missing[0]}; it has {listed(names)}{near}",
            "keep the columns of the exported table, and add annotator: the person who answered",
        )
    return table


def _check_open(campaign: Campaign, round: Round, verb: str) -> None:
    exchanges_tables = open_platform(campaign, round).exchanges_tables
    if exchanges_tables and round.state == "closed":
        raise CurationError(
            f"round {round.name} is closed", f"«{command_to_open(round)}» opens it again"
        )
    if not exchanges_tables or round.state != "open":
        raise CurationError(
            f"round {round.name} runs on {round.platform} and is {round.state}",
            f"only an open round of platform files can {verb}",
        )


def _read_people(campaign: Campaign, path: Path) -> dict[str, str]:
    """The ids of people by pseudonym, from a file with one id per line."""
    from curation.rounds import people

    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    named: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(map(str.strip, read_text(path).splitlines()), 1):
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
    from curation.rounds import standing
    from curation.rounds.allocation import assign

    out = standing.out(round_files.read_standing(campaign))
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
    work = WORK[round.kind]
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


def _write(
    campaign: Campaign,
    round: Round,
    status: RoundStatus,
    shares: Mapping[str, Share],
    to: Path,
    lines: Sequence[Dealing],
    named: Mapping[str, str],
    reporter: Reporter,
) -> tuple[Exported, list[Dealing]]:
    """Write the files of an export; gives them, and the lines for the round's ledger."""
    from curation.rounds import pages

    tasks = list({task.id: task for share in shares.values() for task, _ in share}.values())
    data = {row["task_id"]: row for row in shown.task_data(campaign, round, tasks)}
    sweep_beside(to / round.name)
    texts = [
        _table([{**data[task.id], "answers": n} for task, n in share]) for share in shares.values()
    ]
    known, whole = {line.table for line in lines}, not named
    names, start = _names(round.name, known, texts, to, reporter, whole=whole)
    exported = Exported(to / f"{round.name}-instructions.html", [], None, 0)
    with writing(exported.instructions) as file:
        language = campaign.settings.campaign.language
        page = pages.page(round.kind, shown.texts(campaign, round), language=language)
        file.write(page.encode())
    if named:
        rows = [[name, named[p]] for name, p in zip(names, shares, strict=True)]
        text = csv_text([["file", "person"], *rows])
        paths = (
            to / f"{round.name}-who-gets-which{f'-{n:03d}' if n > 1 else ''}.csv"
            for n in count(start)
        )
        index = next(path for path in paths if _free(path, text))
        with writing(index, private=True) as file:
            file.write(text.encode())
        exported = exported._replace(who_gets_which=index)
    came, at, dealt = round_status.received(status), now(), []
    for name, text, (person, share) in zip(names, texts, shares.items(), strict=True):
        with writing(to / name) as file:
            file.write(text.encode())
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


def _names(
    round: str,
    dealt: Collection[str],
    texts: Sequence[str],
    to: Path,
    reporter: Reporter,
    *,
    whole: bool,
) -> tuple[list[str], int]:
    """File names for new tables, and the number of the first; no name that is taken.

    If a first table is ``whole``, that is for anybody, its name has no number.
    A person's id is not used as a file name: it may contain anything, and files get around.
    """
    pattern = re.compile(re.escape(round) + r"(?:-(\d{3,}))?\.csv")
    numbers = [int(match[1] or 1) for name in dealt if (match := pattern.fullmatch(name))]
    first = start = max(numbers, default=0) + 1
    names = [f"{round}.csv"] if first == 1 and whole else _numbered(round, first, texts)
    strange = []
    while taken := [n for n, text in zip(names, texts, strict=True) if not _free(to / n, text)]:
        strange += taken
        start += names[0] != f"{round}.csv"
        names = _numbered(round, start, texts)
    if strange:
        reporter.warn(
            f"{to / strange[0]}: this file is there already, and it is not a table that the round "
            f"has dealt out; the new tables begin with {names[0]}"
        )
    return names, start


def _numbered(round: str, start: int, texts: Sequence[str]) -> list[str]:
    return [f"{round}-{n:03d}.csv" for n in range(start, start + len(texts))]


def _free(path: Path, text: str) -> bool:
    """Whether a file can have this name: it is not there, or an export that was stopped wrote it.

    Such an export is not in the ledger. If it is repeated, it writes the same text.
    """
    return not path.exists() or read_bytes(path) == text.encode()


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    flat: list[dict[str, Any]] = []
    for row in rows:
        plain = {k: v for k, v in row.items() if not isinstance(v, list)}
        if "choices" in row:
            plain["choices"] = " | ".join(f"{c['alias']}: {c['value']}" for c in row["choices"])
        plain["answers"] = plain.pop("answers")  # last, after the choices
        flat.append(plain)
    heads = list(flat[0])
    return csv_text([heads, *([row[head] for head in heads] for row in flat)])

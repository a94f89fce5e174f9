"""The files of an export: tables, the instructions, and the list of who gets which table."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

from curation.campaign import Campaign, keep_out
from curation.files import read_bytes, sweep_beside, writing
from curation.formats.tables import csv_text
from curation.records import Dealing, Round, Task
from curation.rounds.tables.workbooks import Column, Row, columns, row
from curation.steps.reporter import Reporter
from curation.steps.rounds import ledger, round_status, shown
from curation.steps.rounds.round_status import RoundStatus
from curation.text.times import now

Format = Literal["xlsx", "csv"]
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
    from curation.rounds import pages
    from curation.rounds.tables import workbooks

    language = campaign.settings.campaign.language
    texts, plain = shown.texts(campaign, round), layout.format == "csv"
    consent = round.consent if campaign.settings.rounds.consent else ""
    chosen = columns(round.kind, texts, consent=consent, personal=bool(named), plain=plain)
    table = (
        partial(csv_table, bom=layout.bom)
        if plain
        else partial(workbooks.round_workbook, round.kind, texts)
    )
    tasks = list({task.id: task for share in shares.values() for task, _ in share}.values())
    data = {row["task_id"]: row for row in shown.task_data(campaign, round, tasks)}
    sweep_beside(to / round.name)
    contents = [
        table(
            chosen,
            [
                row(data[task.id], needed=n, annotator=named.get(person, ""), plain=plain)
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
        keep_out(to, campaign, private_names(round.name))
        text = who_gets_which(names, [named[person] for person in shares])
        paths = (
            to / f"{round.name}-who-gets-which{f'-{n:03d}' if n > 1 else ''}.csv"
            for n in count(start)
        )
        index = next(path for path in paths if is_free(path, text))
        with writing(index, private=True) as file:
            file.write(text)
        exported = exported._replace(who_gets_which=index)
    came, at, dealt = round_status.received(status), now(), []
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
    tables = [f"{round}-[0-9]*.{ending}" for ending in ledger.ENDINGS]
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
    endings = "|".join(ledger.ENDINGS)
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
    others = (path.with_name(f"{path.stem}.{ending}") for ending in ledger.ENDINGS)
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

"""The files of an export: tables, the instructions, and the list of who gets which table."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from curation.campaign import Campaign
from curation.cells import csv_text
from curation.files import read_bytes, writing
from curation.leftovers import sweep_beside
from curation.records import Dealing, Round, Task
from curation.steps.reporter import Reporter
from curation.steps.rounds import round_status, shown
from curation.steps.rounds.round_status import RoundStatus
from curation.times import now

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


def write_files(
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

"""Answers of rounds on platforms that exchange tables: reads tables, and imports their answers.

Call ``import_round`` only under the campaign's lock.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.files import CurationError, read_records
from curation.formats.tables import listed
from curation.records import Round, Task
from curation.steps.alike import warn_of_people
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import round_files
from curation.steps.rounds.fold import fold_answers
from curation.steps.rounds.running import NewAnswers, check_takes_tables, new_answers
from curation.text.times import Order
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.rounds.tables.reading import Table, TablePlace
    from curation.text.table_words import Words


def import_round(
    campaign: Campaign,
    round: Round,
    rows: Sequence[dict[str, Any]],
    *,
    consent: str = "",
    dates: Order | None = None,
    place: "TablePlace | None" = None,
    reporter: Reporter = QUIET,
) -> NewAnswers:
    """Add answers to a round's tasks to its archive, and fold them into items and labels.

    A row of a table for anybody in which nobody wrote anything is not an answer, and is left out.
    If the table names one person, rows with answers and without an id are that person's.

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
        CurationError: the round is not of this kind or is not open, no row has an answer to it or
            is about one of its tasks, a column has slipped down a row, a date could be two days, or
            no round of the campaign has shown that version of the consent text.
    """
    from curation.rounds.answers import archive, forms
    from curation.rounds.answers.rows import text_of
    from curation.rounds.answers.table_checks import (
        check_answers,
        check_tasks,
        filled_in,
        settle_dates,
        settle_person,
    )

    check_takes_tables(campaign, round, "take tables")
    versions = round_files.consents(campaign)
    if consent and consent not in versions:
        raise CurationError(
            f"no round here has shown a consent text of version {consent!r}",
            f"versions: {', '.join(sorted(versions))}; the instructions of an export name theirs",
        )
    where, numbers, cells = place or ("the table", (), {})
    words = round_files.read_words(campaign, round.name)
    file_row = partial(forms.file_row, words=words)
    warning = check_answers(rows, round.kind, where, words, cells)
    places: dict[str, str] = {}  # of each task, its first row with an answer
    for number, row in enumerate(map(file_row, rows)):
        if filled_in(row, round.kind) and (id := text_of(row, "task_id")):
            line = numbers[number] if numbers else number + 1
            places.setdefault(id, f"{where} row {line}, task_id {id[:60]!r}")
    _check_round(campaign, round, places)
    check_tasks(rows, file_row, round.kind, where=where, numbers=numbers)
    rows = settle_dates(rows, file_row, order=dates, where=where, numbers=numbers)
    if warning:
        reporter.warn(warning)
    rows = [row for row in rows if not forms.is_untouched(file_row(row), round.kind)]
    if not rows:
        raise CurationError(
            f"{where}: nobody has filled in a row",
            "fill in annotator and the answer, as the instructions of the export say",
        )
    rows, lacking = settle_person(rows, file_row)
    if lacking:
        reporter.note(
            f"{where}: {amount(lacking, 'row')} with answers and without an id; taken as answers "
            "of the only person that the table names"
        )
    before = round_files.refusals(campaign)
    raw, gone = campaign.rounds / round.name / "raw", round_files.erased(campaign, round.name)
    ids = (str(file_row(row).get("annotator") or "").strip() for row in rows)
    warn_of_people(campaign, ids, reporter)
    if consent:
        people = dict.fromkeys(str(file_row(row).get("annotator") or "") for row in rows)
        agreed = [{"annotator": p, "consent": consent} for p in people if p.strip()]
        archive.deliver(raw, "forms", agreed, gone=gone)
    # A row of a sheet of refused answers that nobody changed is not another answer.
    changed = [r for r in rows if not forms.is_unchanged(file_row(r), round.kind, words)]
    delivery = archive.deliver(raw, "forms", changed, gone=gone)
    fold_answers(campaign, reporter=reporter)
    counts = {"new": delivery.added, "known": delivery.known + len(rows) - len(changed)}
    return new_answers(campaign, round, counts, before)


def _check_round(campaign: Campaign, round: Round, places: Mapping[str, str]) -> None:
    """Check that a table is of a round; ``places`` are those of its tasks, for messages.

    Raises:
        CurationError: the table has answers to tasks, and none of these tasks is of the round.
    """
    own = {task.id for task in round_files.read_tasks(campaign, round.name)}
    if not places or not own.isdisjoint(places):
        return
    for other in round_files.planned_rounds(campaign):
        path = campaign.rounds / other / "tasks.jsonl"
        for task in read_records(path, Task) if path.exists() else ():
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
    from curation.rounds.answers.forms import columns_of
    from curation.rounds.answers.rows import probable
    from curation.rounds.tables.reading import read_table

    table = read_table(file, reporter.warn, words)
    if not table.rows:
        raise CurationError(
            f"{file}: has a header and no rows", "check that this is the right file"
        )
    names = list({name: None for row in table.rows for name in row if name})
    columns = columns_of(names, words)
    missing = [name for name in ("task_id", "annotator") if name not in columns]
    if missing:
        near = "".join(f". Probably {pair}" for pair in probable(missing, names, table.place.cells))
        raise CurationError(
            f"{table.place.name}: no column {missing[0]}; it has {listed(names)}{near}",
            "keep the columns of the exported table; annotator names the person who answered",
        )
    return table

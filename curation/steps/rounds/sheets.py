"""Tables of rounds on platforms that exchange tables: tasks exported, answers imported.

Call these functions only under the campaign's lock.
"""

import csv
import io
import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.campaign import Campaign
from curation.files import CurationError, read_text, writing
from curation.records import Round, Task
from curation.steps.alike import warn_of_people
from curation.steps.pipeline import fold_answers
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import round_files, round_status, shown
from curation.steps.rounds.platform import open_platform
from curation.steps.rounds.running import NewAnswers, new_answers

Share = list[tuple[Task, int]]
"""Tasks of a table, each with the number of answers that it asks for."""


class Exported(NamedTuple):
    """The files of an export: the instructions, and each table with its number of tasks."""

    instructions: Path
    tables: list[tuple[Path, int]]


def export_round(
    campaign: Campaign,
    round: Round,
    to: Path,
    *,
    people: Path | None = None,
    reporter: Reporter = QUIET,
) -> Exported:
    """Write a round's tasks that wait for answers as tables, with the instructions.

    Tables of an earlier export in the folder are deleted.

    Args:
        campaign: the campaign.
        round: an open round on a platform that exchanges tables.
        to: the folder to write to.
        people: a file with one person's id per line; each person gets a table with a share of
            the tasks. None writes one table with all tasks.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the round is not of this kind, is not open or waits for no answer, or the
            tasks cannot be dealt out to these people.
    """
    _check_open(campaign, round, "be exported")
    fold_answers(campaign, reporter=reporter)
    status = round_status.read_status(campaign, round)
    waiting = round_status.waiting(status)
    if not waiting:
        raise CurationError(
            f"round {round.name} waits for no answer", "«curation rounds top-up» asks for more"
        )
    if people:
        shares = _dealt(campaign, round, status.tasks, waiting, _read_people(people))
    else:
        share = [(task, waiting[task.id]) for task in status.tasks if task.id in waiting]
        shares = {"tasks": share}
    return _write(campaign, round, shares, to)


def import_round(
    campaign: Campaign,
    round: Round,
    rows: Sequence[dict[str, Any]],
    *,
    consent: str = "",
    reporter: Reporter = QUIET,
) -> NewAnswers:
    """Add answers to a round's tasks to its archive, and fold them into items and labels.

    Args:
        campaign: the campaign.
        round: an open round on a platform that exchanges tables.
        rows: the rows of a table, by column.
        consent: the version of the consent text to which all people in the table agreed
            elsewhere; empty if the rows say it, or nobody was asked.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the round is not of this kind or is not open, or no round of the campaign
            has shown that version of the consent text.
    """
    from curation.rounds.answers import archive
    from curation.rounds.answers.forms import file_row

    _check_open(campaign, round, "take tables")
    versions = round_files.consents(campaign)
    if consent and consent not in versions:
        raise CurationError(
            f"no round here has shown a consent text of version {consent!r}",
            f"versions: {', '.join(sorted(versions))}; the exported tables have it in the column "
            "consent_version",
        )
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


def read_answers(file: Path) -> list[dict[str, Any]]:
    """The rows of a table of answers to tasks, by column.

    Raises:
        CurationError: it cannot be read, or has no column task_id or annotator.
    """
    from curation.rounds.answers.forms import file_row
    from curation.rounds.tables import read_rows

    rows = [row for _, row in read_rows(file)]
    first = file_row(rows[0]) if rows else {}
    missing = [name for name in ("task_id", "annotator") if name not in first]
    if missing:
        raise CurationError(
            f"{file}: no column {missing[0]}; it has {', '.join(rows[0]) if rows else ''}",
            "keep the columns of the exported table, and add annotator: the person who answered",
        )
    return rows


def _check_open(campaign: Campaign, round: Round, verb: str) -> None:
    if not open_platform(campaign, round).exchanges_tables or round.state != "open":
        raise CurationError(
            f"round {round.name} runs on {round.platform} and is {round.state}",
            f"only an open round of platform files can {verb}",
        )


def _read_people(path: Path) -> list[str]:
    lines = [line.strip() for line in read_text(path).splitlines()]
    people = [line for line in lines if line and not line.startswith("#")]
    twice = [person for person, times in Counter(people).items() if times > 1]
    if twice:
        raise CurationError(f"{path}: {twice[0]!r} is in it twice", "name each person once")
    return people


def _dealt(
    campaign: Campaign,
    round: Round,
    tasks: Sequence[Task],
    waiting: Mapping[str, int],
    named: Sequence[str],
) -> dict[str, Share]:
    """Each person's share of the tasks, by the id under which they are named."""
    from curation.rounds import people, standing
    from curation.rounds.allocation import assign

    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    out = standing.out(round_files.read_standing(campaign))
    named_as = {pseudonym(person): person for person in named}
    barred = [person for person in named_as if person in out]
    if barred:
        raise CurationError(
            f"{named_as[barred[0]]!r} is out of the campaign ({out[barred[0]][0]})",
            "take them out of the file",
        )
    given: dict[str, set[str]] = defaultdict(set)
    for answer in round_files.read_answers(campaign, round.name):
        given[answer.task].add(answer.annotator)
    settings = campaign.settings.rounds
    assigned = assign(
        tasks,  # also those that wait for nobody: their answers count as work of a person
        list(named_as),
        answers=waiting,
        per_person=settings.per_person,
        per_term=settings.per_term,
        given=given,
        seed=campaign.settings.campaign.seed,
    )
    by_id = {task.id: task for task in tasks}
    return {named_as[p]: [(by_id[id], 1) for id in ids] for p, ids in assigned.items() if ids}


def _write(campaign: Campaign, round: Round, shares: Mapping[str, Share], to: Path) -> Exported:
    from curation.rounds import pages

    tasks = list({task.id: task for share in shares.values() for task, _ in share}.values())
    data = {row["task_id"]: row for row in shown.task_data(campaign, round, tasks)}
    exported = Exported(to / f"{round.name}-instructions.html", [])
    for old in to.glob(f"{round.name}*.csv"):  # of an earlier export; open tasks are written below
        if re.fullmatch(re.escape(round.name) + r"(-\d{3}|-who-gets-which)?\.csv", old.name):
            old.unlink()
    with writing(exported.instructions) as file:
        file.write(pages.instruction(round.kind, shown.texts(campaign, round)).encode())
    for number, share in enumerate(shares.values(), 1):
        # A person's id is not used as a file name: it may hold anything, and files get around.
        suffix = f"-{number:03d}" if len(shares) > 1 else ""
        path = to / f"{round.name}{suffix}.csv"
        with writing(path) as file:
            file.write(_table([{**data[task.id], "answers": n} for task, n in share]).encode())
        exported.tables.append((path, len(share)))
    if len(shares) > 1:
        rows = [[path.name, p] for (path, _), p in zip(exported.tables, shares, strict=True)]
        with writing(to / f"{round.name}-who-gets-which.csv") as file:
            os.fchmod(file.fileno(), 0o600)  # it names people
            file.write(_csv([["file", "person"], *rows]).encode())
    return exported


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    flat: list[dict[str, Any]] = []
    for row in rows:
        plain = {k: v for k, v in row.items() if not isinstance(v, list)}
        if "choices" in row:
            plain["choices"] = " | ".join(f"{c['alias']}: {c['value']}" for c in row["choices"])
        plain["answers"] = plain.pop("answers")  # last, after the choices
        flat.append(plain)
    heads = list(flat[0])
    return _csv([heads, *([row[head] for head in heads] for row in flat)])


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()

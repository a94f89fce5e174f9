"""Exports of rounds on platforms that exchange tables: who gets which tasks.

Call these functions only under the campaign's lock.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from curation.campaign import Campaign
from curation.files import CurationError, read_text
from curation.records import Round
from curation.steps.alike import warn_of_people
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import ledger, round_files, round_status
from curation.steps.rounds.caps import caps_of
from curation.steps.rounds.export_files import Exported, Format, Layout, Share, write_files
from curation.steps.rounds.fold import fold_answers
from curation.steps.rounds.round_status import RoundStatus
from curation.steps.rounds.running import check_takes_tables
from curation.text.rules import WORK


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
    layout = Layout(format, bom)
    exported, dealt = write_files(
        campaign, round, status, shares, to, lines, named, layout, reporter
    )
    # After the tables: a command that is killed before writes the same tables when it is repeated.
    ledger.write_ledger(campaign, round.name, [*lines, *dealt])
    return exported._replace(recalled=sum(sum(line.tasks.values()) for line in taken))


_ONE_ID = "use a text file with one person's id per line, and nothing else"
HEADINGS = ("id", "ids", "name", "names", "person", "people", "email", "e-mail")
"""What the first line of a list of people may say, besides headings of the column annotator."""


def _read_people(campaign: Campaign, path: Path) -> dict[str, str]:
    """The ids of people by pseudonym, from a file with one id per line."""
    from curation.rounds import people
    from curation.rounds.answers.rows import column
    from curation.rounds.tables.reading import is_workbook

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
    from curation.rounds import people
    from curation.rounds.allocation import assign

    out = people.out(round_files.read_standing(campaign))
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

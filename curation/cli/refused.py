"""``curation rounds refused``: refused answers go back to people, with what to change."""

from pathlib import Path

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, RoundArgument, TableFormat, TasksFolder, Where
from curation.steps.rounds import round_files
from curation.steps.rounds.refused import write_refused
from curation.text.wording import amount


def refused(
    round: RoundArgument = None,
    campaign: Where = Path(),
    to: TasksFolder = None,
    format: TableFormat = "xlsx",
    as_json: Json = False,
) -> None:
    """Write a sheet per person with their refused answers, and what to change in each.

    Send each sheet to its person. They correct their answers and send the sheet back; import it
    with «curation rounds import». Rows that they did not change are left out. A sheet has only
    answers that a person can correct, on tasks that still need an answer.

    The sheets hold people's ids: they are private, and need the campaign's key.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        chosen = round_files.the_round(opened, round)
        folder = to or opened.root / "tasks"
        sheets = write_refused(opened, chosen, folder, format=format, reporter=console)
    if as_json:
        index = str(sheets.who_gets_which) if sheets.who_gets_which else None
        console.say_json(
            {
                "round": chosen.name,
                "files": [str(path) for path, _ in sheets.tables],
                "who_gets_which": index,
                "answers": sum(n for _, n in sheets.tables),
                "left": {why.replace(" ", "_"): n for why, n in sorted(sheets.left.items())},
            }
        )
        return
    if sheets.tables:
        rows = [[str(path), answers] for path, answers in sheets.tables]
        console.table("Sheets of refused answers", ["file", "answers"], rows)
        console.say(f"who gets which: {sheets.who_gets_which}")
    else:
        console.say(f"{chosen.name}: no refused answer can go back")
    if sheets.left:
        parts = ", ".join(f"{n} {why}" for why, n in sorted(sheets.left.items()))
        console.say(f"not in a sheet: {amount(sheets.left.total(), 'refused answer')} ({parts})")
    if sheets.tables:
        console.say(f"next: curation rounds import {chosen.name} FILE, then top-up")

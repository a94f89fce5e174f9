"""``curation rounds export`` and ``import``: rounds on platforms that exchange tables."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console, round_report
from curation.cli.options import (
    FILE,
    Dates,
    Json,
    RoundArgument,
    TableFormat,
    TasksFolder,
    Where,
)
from curation.steps.rounds import exporting, importing, round_files
from curation.text.wording import amount


def export(
    round: RoundArgument = None,
    campaign: Where = Path(),
    to: TasksFolder = None,
    people: Annotated[
        Path | None,
        typer.Option(
            help="A file with one person's id per line: share the tasks among them.", **FILE
        ),
    ] = None,
    recall: Annotated[
        list[str] | None,
        typer.Option(
            help="A person or a table: deal out again what they have not answered; repeatable.",
            metavar="NAME",
        ),
    ] = None,
    format: TableFormat = "xlsx",
    bom: Annotated[
        bool,
        typer.Option(
            "--bom", help="Begin CSV tables with a byte order mark, for spreadsheet programs."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a round's tasks as tables, with the instructions, for people on another platform.

    Each row is a task, with empty cells for the answer; the instructions name every column and its
    allowed values. The table is for anybody, and says how many answers each task still needs. With
    --people you get one table per person instead, with the person's id filled in. Nobody gets an
    item of their own or one that they have answered, the limits per_person_… and per_term_… in
    [rounds] apply, and everybody gets about the same number of tasks.

    Send the tables out, and import the answers with «curation rounds import». Tasks that are out
    are not dealt out again, unless you recall them. Earlier tables stay; new ones get new names.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        chosen = round_files.the_round(opened, round)
        folder = to or opened.root / "tasks"
        exported = exporting.export_round(
            opened,
            chosen,
            folder,
            people=people,
            recall=recall or [],
            format=format,
            bom=bom,
            reporter=console,
        )
    if as_json:
        files = [exported.instructions, *(path for path, _ in exported.tables)]
        index = str(exported.who_gets_which) if exported.who_gets_which else None
        summary = {"round": chosen.name, "files": list(map(str, files)), "who_gets_which": index}
        consent = exported.consent or None
        console.say_json({**summary, "recalled": exported.recalled, "consent": consent})
        return
    if exported.recalled:
        console.say(f"taken back: {amount(exported.recalled, 'answer')}")
    rows = [[str(path), tasks] for path, tasks in exported.tables]
    console.table("Tables", ["file", "tasks"], rows)
    if exported.who_gets_which:
        console.say(f"who gets which: {exported.who_gets_which}")
    console.say(f"instructions: {exported.instructions}")
    console.say(f"next: curation rounds import {chosen.name} FILE")


def import_(
    round: Annotated[str, typer.Argument(help="The round.", metavar="ROUND")],
    file: Annotated[Path, typer.Argument(help="An .xlsx workbook, a CSV or a JSONL file.", **FILE)],
    campaign: Where = Path(),
    consent: Annotated[
        str,
        typer.Option(
            help="Declare that all people in the file agreed, on their platform, to this version "
            "of the consent text.",
            metavar="VERSION",
        ),
    ] = "",
    dates: Dates = None,
    as_json: Json = False,
) -> None:
    """Import answers to a round's tasks from a table, as the platform wrote it.

    People fill in the coloured cells of an exported workbook, or the empty columns of a CSV table.
    Always: annotator. For review: decision, merge_into, merge_into_other, reasons, rename. For
    intrasentence: template, stereotype, anti_stereotype, unrelated. For intersentence: context and
    the same three. For validation: label_1, label_2, label_3 and flags. Once per person: consent.

    The column task_id must come back as it was. Columns that only platforms write: answer_id,
    submitted_at, updated_at, seconds. Headings and values in any shipped language are read, and
    old result files of MTurk as they are. A file without any column of its round's answers is an
    error.

    Every rule is checked again here: own items, second answers, caps, consent, content. If you
    import a file again, only new answers are added.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        chosen = round_files.read_round(opened, round)
        words = round_files.read_words(opened, chosen.name)
        rows, place = importing.read_answers(file, words, reporter=console)
        answers = importing.import_round(
            opened, chosen, rows, consent=consent, dates=dates, place=place, reporter=console
        )
    round_report.show_new_answers(opened, chosen, answers, as_json=as_json)

"""``curation rounds export``, ``import``, ``refused`` and ``texts``: tables that people fill in."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.rounds import sheets
from curation.rounds.commands.rounds import SHOWN, show_new_answers
from curation.rounds.platforms import pages
from curation.rounds.platforms import texts as round_texts
from curation.rounds.refused import write_refused
from curation.rounds.running import the_round
from curation.terminal import console
from curation.terminal.options import Json, RoundArgument, TableFormat, Where, language_code, locked
from curation.text.times import Order
from curation.text.wording import amount, some


def refused(
    round: RoundArgument = None,
    campaign: Where = Path(),
    to: Path | None = None,
    format: TableFormat = "xlsx",
    as_json: Json = False,
) -> None:
    """Write a sheet per person with their refused answers, and what to change in each.

    This is for rounds on our own pages and on tables; on Label Studio, people change their answers
    there. Send each sheet to its person. They correct their answers and send the sheet back; import
    it with «curation rounds import». Rows that they did not change are left out. A sheet has only
    answers that a person can correct, on tasks that still need an answer.

    The sheets hold people's ids: they are private, and need the campaign's key.
    """
    with locked(campaign) as opened:
        chosen = the_round(opened, round)
        folder = to or opened.root / "tasks"
        sheets = write_refused(opened, chosen, folder, format=format, reporter=console)
    if as_json:
        console.say_json(
            {
                "round": chosen.name,
                "files": [path for path, _ in sheets.tables],
                "who_gets_which": sheets.who_gets_which,
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
        console.say(f"next: curation rounds import {chosen.name} FILE")


def export(
    round: RoundArgument = None,
    campaign: Where = Path(),
    to: Path | None = None,
    people: Path | None = None,
    recall: list[str] | None = None,
    format: TableFormat = "xlsx",
    bom: bool = False,
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

    Options:
        people (FILE): A file with one person's id per line: share the tasks among them.
        recall (NAME): A person or a table: deal out again what they have not answered; repeatable.
        bom: Begin CSV tables with a byte order mark, for spreadsheet programs.
    """
    with locked(campaign) as opened:
        chosen = the_round(opened, round)
        folder = to or opened.root / "tasks"
        exported = sheets.export_round(
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
        console.say_json(
            {
                "round": chosen.name,
                "files": files,
                "who_gets_which": exported.who_gets_which,
                "recalled": exported.recalled,
                "consent": exported.consent or None,
            }
        )
        return
    if exported.recalled:
        console.say(f"taken back: {amount(exported.recalled, 'answer')}")
    rows = [[str(path), tasks] for path, tasks in exported.tables]
    console.table("Tables", ["file", "tasks"], rows)
    if exported.who_gets_which:
        console.say(f"who gets which: {exported.who_gets_which}")
    console.say(f"instructions: {exported.instructions}")
    console.say(f"next: curation rounds import {chosen.name} FILE, or a folder of files")


def import_(
    round: str,
    file: Path,
    campaign: Where = Path(),
    consent: str = "",
    dates: Order | None = None,
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
    import a file again, only new answers are added. If you name a folder, all tables in it are
    imported; those that cannot be are named at the end.

    Options:
        round (ROUND): The round.
        file (FILE): An .xlsx workbook, a CSV or a JSONL file, or a folder of them.
        consent (VERSION): Declare that all people in the file agreed, on their platform, to this
            version of the consent text.
    """
    with locked(campaign) as opened:
        chosen = opened.round(round)
        answers, failed = sheets.import_tables(
            opened, chosen, file, consent=consent, dates=dates, reporter=console
        )
    row = show_new_answers(opened, chosen, answers, as_json=as_json)
    if as_json:
        console.say_json(row)
    for error in failed.values():
        console.warn(f"{error.what}: {error.fix}")
    if failed:
        raise CurationError(
            f"{file}: not imported: {some([path.name for path in failed], SHOWN)}",
            "correct these files and import the folder again: what was imported is not added twice",
        )


def texts(
    language: Annotated[str, typer.Argument(callback=language_code)],
    campaign: Where = Path(),
    like: str = "",
    to: Path | None = None,
) -> None:
    """Write all texts that annotators read as a file to translate, with the English text of each.

    It is 2-rounds/text.toml, which the campaign then uses: texts of forms and pages, the words of
    tables, and the prompts of chat models. Texts that are shipped in the language, or in its base
    (id for id-ID), are filled in, and so is a [study] that is there already. If you have begun the
    file, it stays: the command says how many texts are left. Each time it also writes
    tasks/texts-KIND.html, the instructions of each kind of round and below them all other texts of
    its forms and pages, with English where a text lacks.

    Options:
        language: Code of the language, such as sw.
        like (LANGUAGE): Fill in the texts of this shipped language, because it is near.
        to (FILE): Write this file instead.
    """
    opened = open_campaign(campaign)
    own, path = opened.settings.campaign.language, round_texts.own_texts(opened)
    if to or own != language or not pages.lacking(language, opened[round_texts.OWN_TEXTS]).begun:
        path = round_texts.write_skeleton(opened, language, like=like, to=to)
        console.say(f"written: {path}; translate it, and fill in [study]")
    if own == language and not to:
        lacks, made = round_texts.preview_texts(opened, opened.root / "tasks")
        names = f": {some(lacks.left, SHOWN)}" if lacks.left else ""
        console.say(f"texts that are left: {len(lacks.left):,} of {lacks.of:,}{names}")
        console.say(f"to look at: {', '.join(opened.relative(page) for page in made)}")
    if own != language:
        console.note(f"the campaign's language is «{own}»: change it in campaign.toml")

"""``curation rounds``: open a round of people's work, see its progress, pull, top up, close.

Options:
    person (PERSON): A pseudonym, or the person's id on the platform. On our own pages also their
        name in links-N.csv, or their link.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.across.people import Action, Change, Foreseen, changed, decide_on_person
from curation.campaign.store import Campaign, open_campaign
from curation.cli.budget import ethics, plan
from curation.cli.correcting import correct, show_items
from curation.cli.crowd import approve, study
from curation.cli.importing import show_refused
from curation.cli.quality import quality
from curation.cli.serving import links, say_entrance, serve
from curation.files import CurationError
from curation.formats.requirements import described
from curation.records import Fields, Round
from curation.rounds import pages
from curation.rounds.pay import earned, money
from curation.rounds.refused import REPAIRABLE
from curation.steps.release.versions import Held
from curation.steps.rounds import round_files, round_status, running, sheets
from curation.steps.rounds.fold import describe_pitfalls
from curation.steps.rounds.pay import JobPay, PayList, write_pay
from curation.steps.rounds.quality import about_marked
from curation.steps.rounds.refused import write_refused
from curation.steps.rounds.round_status import RoundStatus, open_platform
from curation.steps.rounds.running import NewAnswers
from curation.terminal import console
from curation.terminal.asking import confirm
from curation.terminal.options import (
    Json,
    RoundArgument,
    TableFormat,
    Where,
    command_group,
    language_code,
    locked,
)
from curation.text.times import Order, now
from curation.text.wording import amount, some

DONE = {
    "exclude": "is excluded",
    "readmit": "counts again",
    "withdraw": "has withdrawn",
    "erase": "has withdrawn and is erased",
}


def exclude(
    person: str,
    campaign: Where = Path(),
    reason: str = "",
    undo: bool = False,
    as_json: Json = False,
) -> None:
    """Stop counting a person's answers, and show what changes. --undo counts them again.

    All results are computed again without the person's labels, the items that they wrote and the
    labels on these items: decisions, agreement, split and measures. The raw answers stay. A built
    version of the release is never changed; the command names the versions that hold something of
    what is lost.

    Options:
        reason (TEXT): Why; required, and saved.
        undo: Count the person's answers again.
    """
    if not undo and not reason.strip():
        raise CurationError("an exclusion needs a reason", "give it with --reason")
    action: Action = "readmit" if undo else "exclude"
    _decide(campaign, person, action, reason.strip() or "taken back", as_json=as_json)


def withdraw(
    person: str,
    campaign: Where = Path(),
    erase: bool = False,
    releases: bool = False,
    yes: bool = False,
    as_json: Json = False,
) -> None:
    """Remove a person who wants to withdraw. You cannot undo this.

    The command shows what it will do and asks; --yes is for scripts. Afterwards it shows what has
    changed.

    With --erase, their answers are also erased from the raw archive and their words from tasks, and
    both from our own pages, and from the rounds' Label Studio if it can be reached. An entry
    without content replaces each answer, so that a later pull does not add it again. At the end,
    the command lists the copies that it cannot reach, such as backups and published releases: erase
    these yourself. It also lists the versions in 7-release to delete; --releases deletes them.

    Options:
        erase: Also erase the answers from the raw archive.
        releases: With --erase: also delete the versions in 7-release that hold it.
        yes: Do not ask.
    """
    if releases and not erase:
        raise CurationError("--releases needs --erase", "add --erase, or leave --releases out")
    action: Action = "erase" if erase else "withdraw"
    reason = "the person's own wish"
    _decide(campaign, person, action, reason, as_json=as_json, releases=releases, yes=yes)


def _decide(
    root: Path,
    who: str,
    action: Action,
    reason: str,
    *,
    as_json: bool,
    releases: bool = False,
    yes: bool = True,
) -> None:
    def agree(foreseen: Foreseen) -> None:
        if not yes:
            _warn(foreseen, action, releases=releases)
            confirm("Withdraw this person for good?", yes=yes)

    campaign = open_campaign(root)
    with campaign.lock():
        change = decide_on_person(
            campaign, who, action, reason, releases=releases, agree=agree, reporter=console
        )
    if as_json:
        console.say_json(
            {
                "person": change.person,
                "action": change.action,
                "erased": change.erased,
                "changed": changed(change.before, change.after),
                "cats_lost": change.cats_lost,
                "cats_won": change.cats_won,
                "released_in": list(change.released_in),
                "releases_to_delete": change.to_delete,
                "releases_deleted": change.deleted,
            }
        )
        return
    _show(change)


def _warn(foreseen: Foreseen, action: Action, *, releases: bool) -> None:
    """Show on standard error what a withdrawal will do."""
    lost, risk = foreseen.cats, foreseen.touched
    console.note(
        f"{foreseen.person} gave {amount(foreseen.answers, 'answer')}. None will count:\n"
        f"  {amount(foreseen.items, 'item')}, with {amount(foreseen.others, 'label')} of others; "
        f"{amount(lost, 'CAT is', 'CATs are')} among them and will be lost\n"
        f"  {amount(foreseen.labels, 'label')} on items of others; "
        f"{amount(risk, 'CAT has', 'CATs have')} such labels and may be lost"
    )
    if action == "erase":
        console.note("  the answers are erased from the archive, and the words from tasks")
    for version in foreseen.versions:
        fate = "is deleted" if releases else "still holds items or labels of this person"
        console.note(f"  7-release/{version} {fate}")


def _show_version(change: Change, version: str, held: Held) -> None:
    """Say what a built version still holds, and what to do about it."""
    parts = [amount(held.cats, "CAT")] if held.cats else []
    if held.labels:
        parts.append(f"{amount(held.labels, 'label')} by {change.person}")
    holds = ", ".join(parts) or f"items of {change.person}"
    if version in change.deleted:
        console.warn(
            f"7-release/{version} is deleted ({holds}). If it was published, withdraw it there, "
            "and raise version in [release] before you build again"
        )
        return
    todo = "raise version in [release], build and publish a new version"
    if version in change.to_delete:
        todo += "; delete this one, here (--erase --releases) and where you published it"
    console.warn(f"7-release/{version} still holds what is lost ({holds}): {todo}")


def _show(change: Change) -> None:
    console.say(f"{change.person} {DONE[change.action]}.")
    rows = [
        [name.replace("_", " "), change.before[name], change.after.get(name)]
        for name in change.before
    ]
    console.table("Changes", ["", "before", "now"], rows)
    if change.cats_lost:
        console.say(f"CATs lost: {', '.join(change.cats_lost)}")
    if change.cats_won:
        console.say(f"CATs gained: {', '.join(change.cats_won)}")
    for version, held in change.released_in.items():
        _show_version(change, version, held)
    if change.action == "erase":
        console.say(
            f"{amount(change.erased, 'answer was', 'answers were')} erased. Erase these yourself "
            "if they exist:"
        )
        console.say("  - backups, and the account on Label Studio or another platform")
        console.say("  - on our own pages, drafts in the person's own browser")
        console.say(
            "  - tables in tasks/, lists for payment and lines of annotators.csv in 2-rounds/, and "
            "copies that you sent out"
        )
        console.say("  - the person's words quoted in other people's answers")
        for version in change.theirs:
            here = "" if version in change.deleted else f"7-release/{version}, and "
            console.say(f"  - {here}every published copy of version {version}")


PAY_HEADS = ("round", "kind", "pay", "people", "accepted", "amount", "minutes", "refused")


def pay(
    rounds: Annotated[list[str] | None, typer.Argument()] = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Write a pay list: one row per person, by their id on the platform, with what they earned.

    The amount is the number of accepted answers times the pay of the round. Refused answers have
    columns of their own. People who withdrew or are excluded are marked, and their answers count
    like those of others. People of our own pages have the codes that they are shown at the end.
    If times are known, the list says what each person earned for an hour of work, and what brings
    them to wage_floor in [rounds].

    The list is 2-rounds/pay.csv, or pay-ROUND.csv for some rounds. It is private: only your account
    can read it, and .gitignore excludes it. The command needs the campaign's key, and prints no ids
    of people.

    Options:
        rounds (ROUND): The rounds; default: all that have answers.
    """
    with locked(campaign) as opened:
        made = write_pay(opened, rounds or (), reporter=console)
    currency = opened.settings.rounds.currency
    if as_json:
        console.say_json(_as_json(made, currency))
        return
    rows = [
        [
            *(line.job.round, line.job.kind, money(earned(line.pay, 1)), line.people),
            *(line.tally.accepted, money(earned(line.pay, line.tally.accepted)), _minutes(line)),
            line.tally.refused,
        ]
        for line in made.jobs
    ]
    console.table(f"Pay in {currency}", PAY_HEADS, rows)
    console.say(
        f"{amount(made.people, 'person', 'people')}: {money(made.amount)} {currency} for accepted "
        f"answers; refused answers would be {money(made.amount_refused)} {currency} more"
    )
    for code, (people, sum_) in made.standing.items():
        console.say(
            f"  of these, {code}: {amount(people, 'person', 'people')}, {money(sum_)} {currency}; "
            "decide whether you pay them"
        )
    if made.erased:
        console.warn(
            f"{amount(made.erased, 'line')} of the archive {'is' if made.erased == 1 else 'are'} "
            "erased. Nobody knows any more whose they were, so they are not in the list. If you "
            "still owe these people money, use an earlier list"
        )
    _show_wages(made, opened.settings.rounds.wage_floor, currency)
    console.say(f"who gets what: {made.file} (private: give it only to the person who pays)")


def _show_wages(made: PayList, floor: float, currency: str) -> None:
    wages = made.wages
    if wages.median is None:
        return
    console.say(
        f"an hour of work: {money(wages.median)} {currency} (the median of "
        f"{amount(wages.known, 'person', 'people')} whose time is known)"
    )
    if not floor:
        console.say(
            "set [rounds] wage_floor to see who earns less than you want to pay for an hour"
        )
        return
    if not wages.below:
        console.say(f"  nobody earns less than {money(earned(floor, 1))} {currency}")
        return
    below = f"{wages.below} earn" if wages.below != 1 else "1 earns"
    console.say(
        f"  {below} less than {money(earned(floor, 1))} {currency}; "
        f"{money(wages.top_up)} {currency} would bring them up to it (column top_up)"
    )


def _minutes(line: JobPay) -> str:
    """The time that is known, and for how many answers."""
    tally = line.tally
    return f"{tally.seconds / 60:.1f} ({tally.timed} timed)" if tally.timed else "-"


def _as_json(made: PayList, currency: str) -> dict[str, object]:
    return {
        "file": made.file,
        "currency": currency,
        "people": made.people,
        "amount": money(made.amount),
        "amount_refused": money(made.amount_refused),
        "rounds": [
            {
                "round": line.job.round,
                "kind": line.job.kind,
                "pay": money(earned(line.pay, 1)),
                "people": line.people,
                "accepted": line.tally.accepted,
                "amount": money(earned(line.pay, line.tally.accepted)),
                "minutes": line.tally.seconds / 60 if line.tally.timed else None,
                "timed": line.tally.timed,
                "refused": line.tally.refused,
                "amount_refused": money(earned(line.pay, line.tally.refused)),
            }
            for line in made.jobs
        ],
        "standing": {
            code: {"people": people, "amount": money(sum_)}
            for code, (people, sum_) in made.standing.items()
        },
        "erased": made.erased,
        "hourly_wage": {
            "median": money(made.wages.median) if made.wages.median is not None else None,
            "people": made.wages.known,
            "below_floor": made.wages.below,
            "top_up": money(made.wages.top_up),
        },
    }


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
        chosen = round_files.the_round(opened, round)
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


SHOWN = 5  # items named in a line
HEADS = (
    *("round", "state", "people", "answers", "refused", "decided", "labels/item"),
    *("still to come", "per day", "done about"),
)


def show_progress(campaign: Campaign, rounds: Sequence[Round], *, tables: bool = False) -> None:
    """Print the progress of rounds, and what each of them waits for.

    Args:
        campaign: the campaign.
        rounds: the rounds.
        tables: print all tables that are out, not only the oldest.
    """
    currency = campaign.settings.rounds.currency
    statuses = [round_status.read_status(campaign, round) for round in rounds]
    progress = [round_status.progress_of(campaign, status) for status in statuses]
    rows = [
        [
            *(p.round, p.state, p.people, p.answers, p.refused),
            f"{p.decided} of {p.tasks - p.void}" + (f", {p.void} void" if p.void else ""),
            *(p.labels_per_item, 0 if p.state == "closed" else p.remaining, p.per_day),
            None if p.state == "closed" else p.done_at and p.done_at[:10],
            f"{p.cost:,.2f} of {p.cost_in_all:,.2f}" if p.cost_in_all else None,
        ]
        for p in progress
    ]
    console.wide_table("Rounds", [*HEADS, currency], rows)
    if text := round_status.about_budget(campaign):
        console.say(text)
    for status, p in zip(statuses, progress, strict=True):
        console.say(f"{p.round}: {round_status.advice(status, p)}")
        if status.tables and status.round.state == "open":
            for shown in [[each] for each in status.tables] if tables else [status.tables]:
                console.say(f"  out: {round_files.describe_holdings(shown)}")
        for flag, ids in round_status.flagged(campaign, status.round).items():
            console.say(
                f"  flagged {flag} by two or more: {some(ids, SHOWN)}; "
                f"curation rounds item {ids[0]}"
            )
        if when := open_platform(campaign, status.round).pulled_at():
            console.say(f"  as of the pull at {when[:16].replace('T', ' ')} UTC")
    try:
        if text := about_marked(campaign, [round.name for round in rounds]):
            console.say(text)
    except CurationError as error:
        console.warn(f"nobody is marked: {error.what}; {error.fix}")


def status_json(campaign: Campaign, status: RoundStatus) -> dict[str, Any]:
    """A round's progress, the next step, what was refused and why, and tables, as plain data."""
    tables = [
        {
            "table": each.table,
            "person": None if each.is_for_anybody else each.holder,
            "answers": each.answers,
            "since": each.since,
        }
        for each in status.tables
    ]
    figures = round_status.figures(campaign, status)
    more = {"next": figures.next, "refused_by_reason": figures.refused, "tables": tables}
    return {**figures.progress._asdict(), **more}


def show_new_answers(
    campaign: Campaign, round: Round, answers: NewAnswers, *, as_json: bool
) -> Fields:
    """What came into a round and how much of it was refused, as plain data; else it is printed."""
    counts, refused = answers.counts, answers.refused
    if as_json:
        return {"round": round.name, **counts, "refused": dict(sorted(refused.items()))}
    status = round_status.read_status(campaign, round)
    parts = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    console.say(f"{round.name}: {parts or 'nothing new'}")
    if counts.get("deleted"):
        console.warn(
            f"{amount(counts['deleted'], 'answer was', 'answers were')} deleted on the platform; "
            "the archive keeps every answer"
        )
    if refused:
        show_refused(refused)
    # Only if nobody's answer has a consent: a person who alone lacks it may have refused.
    if refused["no_consent"] >= counts.get("new", 0) > 0 and status.exchanges_tables:
        console.warn(
            "nobody in the file has consented, so all answers are refused; if all people agreed on "
            f"their platform, import the file again with --consent {round.consent}"
        )
    takes_tables = round_status.open_platform(campaign, round).takes_tables
    if takes_tables and any(code in refused for code in REPAIRABLE):
        console.say(
            f"«curation rounds refused {round.name}» makes sheets in which people can correct them"
        )
    if line := describe_pitfalls(answers.pitfalls, round.name, answers.items):
        console.say(line)
    console.say(round_status.advice(status, round_status.progress_of(campaign, status)))
    return {}


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
        chosen = round_files.the_round(opened, round)
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
    own, path = opened.settings.campaign.language, round_status.own_texts(opened)
    if to or own != language or not pages.lacking(language, opened[round_status.OWN_TEXTS]).begun:
        path = round_status.write_skeleton(opened, language, like=like, to=to)
        console.say(f"written: {path}; translate it, and fill in [study]")
    if own == language and not to:
        lacks, made = round_status.preview_texts(opened, opened.root / "tasks")
        names = f": {some(lacks.left, SHOWN)}" if lacks.left else ""
        console.say(f"texts that are left: {len(lacks.left):,} of {lacks.of:,}{names}")
        console.say(f"to look at: {', '.join(opened.relative(page) for page in made)}")
    if own != language:
        console.note(f"the campaign's language is «{own}»: change it in campaign.toml")


app = command_group(
    "Collect answers in rounds: people review terms, write items and label them. Rounds run on our "
    "own pages, on Label Studio, or on any platform that imports and exports tables. See "
    "docs/rounds.md."
)
app.command("plan")(plan)
app.command("ethics")(ethics)
app.command("serve")(serve)


@app.command("open")
def open_(
    kind: str,
    campaign: Where = Path(),
    name: str = "",
    platform_: Annotated[str, typer.Option("--platform")] = "",
    url: str = "",
    domain: list[str] | None = None,
    term: list[str] | None = None,
    of: list[str] | None = None,
    common_link: bool = False,
    prolific: bool = False,
    as_json: Json = False,
) -> None:
    """Open a round: plan its tasks and put them on the platform.

    review asks people to keep, merge or drop each term. intrasentence and intersentence ask
    writers for items on each kept term. validation asks for labels on the items that still need
    them. neutral asks for a neutral association beside each item, for a study that changes nothing
    in the data. [rounds] in campaign.toml sets how many answers are requested, and the pay.

    On our own pages, everybody can join a round of review or writing by its common link, which is
    printed. A round of validation needs personal links («curation rounds links»): with a common
    link, one person who uses two browsers could label an item twice.

    If the command was interrupted, run it again: no task is added twice. To open a closed round
    again, give its name.

    Options:
        kind (KIND): review, intrasentence, intersentence, validation or neutral.
        name: The round's name; default: KIND-1, KIND-2, …
        platform_: web (our own pages; default), label_studio, or files for any other platform.
        url: Address of a Label Studio; default: LABEL_STUDIO_URL. Its key is read from
            LABEL_STUDIO_API_KEY_WRITERS or _VALIDATORS, or else from LABEL_STUDIO_API_KEY.
        domain: Only terms or items of this domain; repeatable.
        term: Only this term (any name or id), or items on it; repeatable.
        of (ROUND): Take only items of this round; repeatable.
        common_link: Let everybody join a validation on our own pages by one link. One person with
            two browsers can then label an item twice.
        prolific: Let people from Prolific enter by one link, and nobody else. The link has
            Prolific's parameters. With PROLIFIC_TOKEN, each submission is checked.
    """
    with locked(campaign) as opened:
        made = running.open_round(
            opened,
            kind,
            name=name,
            platform=platform_,
            url=url,
            domains=domain or [],
            terms=term or [],
            of=of or [],
            common_link=common_link,
            prolific=prolific,
            reporter=console,
        )
    round = made.round
    if as_json:
        console.say_json(
            {
                "round": round.name,
                "kind": kind,
                "platform": round.platform,
                "tasks": made.tasks,
                "answers_asked": made.answers,
                "people": round.people.model_dump(),
                "address": made.entrance.address,
                "sign_up": made.entrance.sign_up,
            }
        )
        return
    console.say(
        f"round {round.name} is open: {amount(made.tasks, 'task')}, "
        f"{amount(made.answers, 'answer')} asked for."
    )
    if required := "; ".join(described(round.people)):
        console.say(f"who may take part (nothing checks it here): {required}")
    if made.exchanges_tables:
        console.say(f"next: curation rounds export {round.name}")
        return
    say_entrance(made.entrance)
    console.say(f"next: curation rounds status {round.name} --watch 60")


app.command("links")(links)
app.command("study")(study)
app.command("approve")(approve)


@app.command("status")
def status(
    round: Annotated[str | None, typer.Argument()] = None,
    campaign: Where = Path(),
    watch: int = 0,
    as_json: Json = False,
) -> None:
    """Show the progress of rounds: people, items decided, pace, estimated end, cost, next step.

    If settings, terms or answers have changed, items and labels are first computed again.

    Options:
        round (ROUND): The round; default: all that were opened here.
        watch (SECONDS): Pull and show again every SECONDS seconds, until Ctrl-C.
    """
    opened = open_campaign(campaign)
    names = [round] if round else round_files.planned_rounds(opened)
    rounds = [opened.round(name) for name in names]
    if not rounds:
        raise CurationError("no round was opened here", "«curation rounds open KIND» opens one")
    running.refresh_status(opened, reporter=console)
    if as_json:
        statuses = [round_status.read_status(opened, each) for each in rounds]
        console.say_json([status_json(opened, each) for each in statuses])
        return
    if not watch:
        show_progress(opened, rounds, tables=round is not None)
        return
    while True:
        for name in names:
            watched = opened.round(name)
            try:
                with opened.lock():
                    running.refresh_round(opened, watched, reporter=console)
            except CurationError as error:  # the server restarts, or another command is at work
                console.warn(f"{name}: {error.what}")
        console.out.clear()
        show_progress(opened, [opened.round(n) for n in names])
        console.say(f"{now()}; shown again in {amount(watch, 'second')}, press Ctrl-C to stop")
        time.sleep(watch)


def _each(
    rounds: Sequence[Round], work: Callable[[Round], Any]
) -> tuple[list[tuple[Round, Any]], list[CurationError]]:
    """Do something for each round, also if it fails for another; what was made, and the errors."""
    made, errors = [], []
    for round in rounds:
        try:
            made.append((round, work(round)))
        except CurationError as error:
            errors.append(error)
            if len(rounds) > 1:
                console.warn(f"{round.name}: {error.what}; {error.fix}")
    return made, errors


def _finish(
    name: str | None, rows: list[Fields], errors: Sequence[CurationError], *, as_json: bool
) -> None:
    """Print rows as JSON: that of a round that was named, else a list. Then fail if a round did."""
    if as_json and (rows or not name):
        console.say_json(rows[0] if name else rows)
    if errors:
        raise errors[0]


@app.command("pull")
def pull(
    round: RoundArgument = None, campaign: Where = Path(), full: bool = False, as_json: Json = False
) -> None:
    """Bring in the answers that people sent since the last pull, on our own pages or Label Studio.

    Every answer is first saved in the archive, unchanged. If a pull was interrupted, run it again.
    On Label Studio, an edited answer is saved as a new version, and answers that were deleted there
    stay in the archive and are refused with the reason «deleted».

    Options:
        round (ROUND): The round; default: all that are open, and closed ones that answers came to
            since their last pull.
        full: Download everything again, not only changes.
    """
    with locked(campaign) as opened:
        made, errors = _each(
            running.rounds_to_pull(opened, round),
            lambda each: running.pull_round(opened, each, full=full, reporter=console),
        )
    rows = [show_new_answers(opened, each, came, as_json=as_json) for each, came in made]
    _finish(round, rows, errors, as_json=as_json)


@app.command("top-up")
def top_up(
    round: RoundArgument = None,
    campaign: Where = Path(),
    recall: list[str] | None = None,
    as_json: Json = False,
) -> None:
    """Ask for the answers that are still missing, and for no more.

    These are answers to tasks whose answers were refused or skipped and, with labels = "needed",
    labels for items that are not decided yet. On our own pages and on Label Studio, people get
    these tasks at once. On other platforms they are in the next export; answers that people hold in
    tables, or correct in sheets of «curation rounds refused», are not requested again. If you run
    the command twice, nothing is requested twice.

    Options:
        round (ROUND): The round; default: all that are open. With --recall, the only open one.
        recall (NAME): A person, a table or a sheet of refused answers: ask others for what they
            have not answered; repeatable.
    """
    with locked(campaign) as opened:
        made, errors = _each(
            round_files.open_rounds(opened, round, only=bool(recall)),
            lambda each: running.top_up_round(opened, each, recall=recall or (), reporter=console),
        )
    rows = [_show_asked(opened, each, more, as_json=as_json) for each, more in made]
    _finish(round, rows, errors, as_json=as_json)


def _show_asked(
    campaign: Campaign, chosen: Round, more: Mapping[str, int], *, as_json: bool
) -> Fields:
    """What more was asked for in a round, as plain data; else it is printed."""
    status = round_status.read_status(campaign, chosen)
    waits = sum(round_status.to_deal(status).values()) if status.exchanges_tables else 0
    answers = sum(more.values())
    if as_json:
        summary = {"round": chosen.name, "tasks": len(more), "answers": answers}
        return {**summary, "to_export": waits}
    if not more:
        console.say(f"{chosen.name}: nothing more to ask for")
    else:
        tasks = amount(len(more), "task")
        console.say(f"{chosen.name}: asked for {amount(answers, 'more answer')}, on {tasks}")
    if waits:
        old = f", {waits - answers} of them asked for before" if waits > answers > 0 else ""
        console.say(
            f"next: curation rounds export {chosen.name}, for {amount(waits, 'answer')}{old}"
        )
    return {}


@app.command("close")
def close(
    round: RoundArgument = None,
    campaign: Where = Path(),
    offline: bool = False,
    as_json: Json = False,
) -> None:
    """Close a round: bring in the last answers and ask for no more.

    People are then given no more of its tasks. After a review, the majority decision on
    each term is added to 1-terms/edits.csv, unless the file already has a line on that term. To
    open a closed round again, use «curation rounds open KIND --name ROUND».

    Options:
        round (ROUND): The round; default: all that are open.
        offline: The server is gone: do not contact it.
    """
    with locked(campaign) as opened:
        made, errors = _each(
            round_files.open_rounds(opened, round),
            lambda each: running.close_round(opened, each, offline=offline, reporter=console),
        )
    rows = [_show_closed(opened, *closed, as_json=as_json) for _, closed in made]
    _finish(round, rows, errors, as_json=as_json)


def _show_closed(
    opened: Campaign, closed: Round, added: Sequence[Fields], *, as_json: bool
) -> Fields:
    """What became of a closed round, as plain data; else it is printed."""
    if as_json:
        return {"round": closed.name, "state": "closed", "edits": added}
    console.say(f"round {closed.name} is closed")
    status = round_status.read_status(opened, closed)
    if lacking := round_status.progress_of(opened, status).remaining:
        console.warn(
            f"tasks still lack {amount(lacking, 'answer')}, and nobody is asked for them now. To "
            f"ask again, open the round again: {running.command_to_open(closed)}"
        )
    if out := status.tables:
        console.warn(
            f"{amount(len(out), 'table is', 'tables are')} still out: "
            f"{round_files.describe_holdings(out)}. To import what comes back, open the round "
            f"again: {running.command_to_open(closed)}"
        )
    if added:
        rows = [list(line.values()) for line in added]
        console.table("Added to 1-terms/edits.csv", list(added[0]), rows)
    show_progress(opened, [closed])
    if closed.kind == "review":
        console.say(f"next: curation terms select, then {round_status.WRITING}")
    elif opened.neutral_rounds.get(closed.name):
        console.say("next: curation decisions neutral")
    return {}


app.command("quality")(quality)
app.command("export")(export)
app.command("import")(import_)
app.command("refused")(refused)
app.command("pay")(pay)
app.command("texts")(texts)
app.command("exclude")(exclude)
app.command("withdraw")(withdraw)
app.command("item")(show_items)
app.command("correct")(correct)

"""``curation rounds``: open a round of people's work, see its progress, pull, top up, close."""

import time
from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console, people, round_report, serving, sheets
from curation.cli.options import Json, RoundArgument, Where
from curation.files import CurationError, now
from curation.steps.rounds import round_files, round_status, running
from curation.steps.rounds.platform import open_platform

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=(
        "Rounds of people's work: review terms, write items, label them. Rounds run on Label "
        "Studio, or on any platform that imports and exports tables. See docs/rounds.md."
    ),
)
Url = Annotated[
    str,
    typer.Option(
        envvar="LABEL_STUDIO_URL",
        help="Address of a Label Studio. Its key is read from LABEL_STUDIO_API_KEY_WRITERS or "
        "_VALIDATORS, or else from LABEL_STUDIO_API_KEY.",
    ),
]


@app.command("open")
def open_(
    kind: Annotated[
        str,
        typer.Argument(help="review, intrasentence, intersentence or validation.", metavar="KIND"),
    ],
    campaign: Where = Path(),
    name: Annotated[str, typer.Option(help="The round's name; by default KIND-1, KIND-2, …")] = "",
    platform_: Annotated[
        str,
        typer.Option("--platform", help="label_studio (default), or files for any other platform."),
    ] = "",
    url: Url = "",
    domain: Annotated[
        list[str] | None, typer.Option(help="Only terms or items of this domain; repeatable.")
    ] = None,
    term: Annotated[
        list[str] | None, typer.Option(help="Only this term, or items on it; repeatable.")
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option("--of", help="Validate the items of this round; repeatable.", metavar="ROUND"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Open a round: plan its tasks and publish them where people work.

    review asks people to keep, merge or drop each term. intrasentence and intersentence ask
    writers for items on each kept term. validation asks for labels on the items that still lack
    them. [rounds] of campaign.toml sets how many answers are asked for, and the pay.

    If the command was stopped half-way, run it again: no task is published twice. To open a closed
    round again, give its name.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        round, tasks, answers, address = running.open_round(
            opened,
            kind,
            name=name,
            platform=platform_,
            url=url,
            domains=domain or [],
            terms=term or [],
            of=of or [],
            reporter=console,
        )
    summary = {
        "round": round.name,
        "kind": kind,
        "platform": round.platform,
        "tasks": tasks,
        "answers_asked": answers,
        "address": address,
    }
    if as_json:
        console.say_json(summary)
        return
    console.say(f"round {round.name} is open: {tasks} tasks, {answers} answers asked for.")
    if address:
        console.say(f"for annotators: {address}")
        console.say(f"next: curation rounds status {round.name} --watch 60")
    else:
        console.say(f"next: curation rounds export {round.name}")


@app.command("status")
def status(
    round: RoundArgument = None,
    campaign: Where = Path(),
    watch: Annotated[
        int,
        typer.Option(help="Pull and show again every SECONDS, until Ctrl-C.", metavar="SECONDS"),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Show the progress of rounds: people, items decided, labels per item, pace, end, cost."""
    opened = open_campaign(campaign)
    names = [round] if round else round_files.planned_rounds(opened)
    rounds = [round_files.read_round(opened, name) for name in names]
    if not rounds:
        raise CurationError("no round was opened here", "«curation rounds open KIND» opens one")
    if as_json:
        statuses = [round_status.read_status(opened, each) for each in rounds]
        console.say_json([round_status.progress_of(opened, each)._asdict() for each in statuses])
        return
    if not watch:
        round_report.show_progress(opened, rounds)
        return
    while True:
        for name in names:
            watched = round_files.read_round(opened, name)
            try:
                with opened.lock():
                    running.refresh_round(opened, watched, reporter=console)
            except CurationError as error:  # the server restarts, or another command is at work
                console.warn(f"{name}: {error.what}")
        console.out.clear()
        round_report.show_progress(opened, [round_files.read_round(opened, n) for n in names])
        console.say(f"{now()}; shown again in {watch} seconds, press Ctrl-C to stop")
        time.sleep(watch)


@app.command("pull")
def pull(
    round: RoundArgument = None,
    campaign: Where = Path(),
    full: Annotated[
        bool, typer.Option("--full", help="Fetch everything again, and not only changes.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Fetch what people answered on Label Studio since the last pull.

    Every answer goes to the append-only archive before anything reads it. Edited answers come in
    as new versions. Answers that were deleted on Label Studio stay in the archive and are refused
    with the reason deleted. If a pull was stopped, run it again.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        chosen = round_files.the_round(opened, round)
        answers = running.pull_round(opened, chosen, full=full, reporter=console)
    round_report.show_new_answers(opened, chosen, answers, as_json=as_json)


@app.command("top-up")
def top_up(
    round: RoundArgument = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Ask for the answers that are still missing, and for no more.

    A task is asked for again if answers were refused or, with labels = "needed", if its item is
    still open. On Label Studio this happens in place. A second call asks for nothing more.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        chosen = round_files.the_round(opened, round)
        more = running.top_up_round(opened, chosen, reporter=console)
    answers = sum(more.values())
    if as_json:
        console.say_json({"round": chosen.name, "tasks": len(more), "answers": answers})
        return
    if not more:
        console.say(f"{chosen.name}: nothing more to ask for")
        return
    console.say(f"{chosen.name}: asked for {answers} more answers, on {len(more)} tasks")
    if open_platform(opened, chosen).exchanges_tables:
        console.say(f"next: curation rounds export {chosen.name}")


@app.command("close")
def close(
    round: RoundArgument = None,
    campaign: Where = Path(),
    offline: Annotated[
        bool, typer.Option("--offline", help="Its server is gone: close it without reaching it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Close a round: bring in the last answers and ask for no more.

    Label Studio then stops serving its tasks. After a review, what most reviewers of a term say is
    added to 1-terms/edits.csv, unless the file has a line on that term already. To open a closed
    round again, use «curation rounds open KIND --name ROUND».
    """
    opened = open_campaign(campaign)
    with opened.lock():
        chosen = round_files.the_round(opened, round)
        closed, added = running.close_round(opened, chosen, offline=offline, reporter=console)
    if as_json:
        console.say_json({"round": closed.name, "state": "closed", "edits": added})
        return
    console.say(f"round {closed.name} is closed")
    if added:
        rows = [list(line.values()) for line in added]
        console.table("Added to 1-terms/edits.csv", list(added[0]), rows)
    round_report.show_progress(opened, [closed])


app.command("export")(sheets.export)
app.command("import")(sheets.import_)
app.command("serve")(serving.serve)
app.command("exclude")(people.exclude)
app.command("withdraw")(people.withdraw)

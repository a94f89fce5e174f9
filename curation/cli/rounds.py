"""``curation rounds``: open a round of people's work, see its progress, pull, top up, close."""

import time
from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console, pay, people, refused, round_report, serving, sheets
from curation.cli.options import Json, RoundArgument, Where
from curation.files import CurationError
from curation.steps.rounds import ledger, round_files, round_status, running
from curation.steps.rounds.caps import warn_of_earlier_names
from curation.text.times import now
from curation.text.wording import amount

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=(
        "Collect answers in rounds: people review terms, write items and label them. Rounds run "
        "on Label Studio, or on any platform that imports and exports tables. See docs/rounds.md."
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

app.command("serve")(serving.serve)


@app.command("open")
def open_(
    kind: Annotated[
        str,
        typer.Argument(help="review, intrasentence, intersentence or validation.", metavar="KIND"),
    ],
    campaign: Where = Path(),
    name: Annotated[str, typer.Option(help="The round's name; default: KIND-1, KIND-2, …")] = "",
    platform_: Annotated[
        str,
        typer.Option("--platform", help="label_studio (default), or files for any other platform."),
    ] = "",
    url: Url = "",
    domain: Annotated[
        list[str] | None, typer.Option(help="Only terms or items of this domain; repeatable.")
    ] = None,
    term: Annotated[
        list[str] | None,
        typer.Option(help="Only this term (any name or id), or items on it; repeatable."),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of", help="Validate only items of this round; repeatable.", metavar="ROUND"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Open a round: plan its tasks and put them on the platform.

    review asks people to keep, merge or drop each term. intrasentence and intersentence ask
    writers for items on each kept term. validation asks for labels on the items that still need
    them. [rounds] in campaign.toml sets how many answers are requested, and the pay.

    If the command was interrupted, run it again: no task is added twice. To open a closed round
    again, give its name.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        round, tasks, answers, address, sign_up = running.open_round(
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
        "sign_up": sign_up,
    }
    if as_json:
        console.say_json(summary)
        return
    console.say(
        f"round {round.name} is open: {amount(tasks, 'task')}, {amount(answers, 'answer')} asked "
        "for."
    )
    if address:
        console.say(f"for annotators: {address}")
        console.say(f"to sign up first: {sign_up}")
        console.say(f"next: curation rounds status {round.name} --watch 60")
    else:
        console.say(f"next: curation rounds export {round.name}")


@app.command("status")
def status(
    round: Annotated[
        str | None,
        typer.Argument(help="The round; default: all that were opened here.", metavar="ROUND"),
    ] = None,
    campaign: Where = Path(),
    watch: Annotated[
        int,
        typer.Option(
            help="Pull and show again every SECONDS seconds, until Ctrl-C.", metavar="SECONDS"
        ),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Show the progress of rounds: people, items decided, pace, estimated end, cost, next step.

    If settings, terms or answers have changed, items and labels are first computed again.
    """
    opened = open_campaign(campaign)
    names = [round] if round else round_files.planned_rounds(opened)
    rounds = [round_files.read_round(opened, name) for name in names]
    if not rounds:
        raise CurationError("no round was opened here", "«curation rounds open KIND» opens one")
    warn_of_earlier_names(opened, reporter=console)
    running.refresh_status(opened, reporter=console)
    if as_json:
        statuses = [round_status.read_status(opened, each) for each in rounds]
        console.say_json([round_report.as_json(opened, each) for each in statuses])
        return
    if not watch:
        round_report.show_progress(opened, rounds, tables=round is not None)
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
        console.say(f"{now()}; shown again in {amount(watch, 'second')}, press Ctrl-C to stop")
        time.sleep(watch)


@app.command("pull")
def pull(
    round: RoundArgument = None,
    campaign: Where = Path(),
    full: Annotated[
        bool, typer.Option("--full", help="Download everything again, not only changes.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Download the answers that came in on Label Studio since the last pull.

    Every answer is first saved in the archive, unchanged. An edited answer is saved as a new
    version. Answers that were deleted on Label Studio stay in the archive and are refused with the
    reason «deleted». If a pull was interrupted, run it again.
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

    These are answers to tasks whose answers were refused or skipped and, with labels = "needed",
    labels for items that are not decided yet. On Label Studio the tasks are reopened. On other
    platforms they are in the next export; answers that people hold in tables are not requested
    again. If you run the command twice, nothing is requested twice.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        chosen = round_files.the_round(opened, round)
        more = running.top_up_round(opened, chosen, reporter=console)
    status = round_status.read_status(opened, chosen)
    waits = sum(round_status.to_deal(status).values()) if status.exchanges_tables else 0
    answers = sum(more.values())
    if as_json:
        summary = {"round": chosen.name, "tasks": len(more), "answers": answers}
        console.say_json({**summary, "to_export": waits})
        return
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


@app.command("close")
def close(
    round: RoundArgument = None,
    campaign: Where = Path(),
    offline: Annotated[
        bool, typer.Option("--offline", help="The server is gone: do not contact it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Close a round: bring in the last answers and ask for no more.

    Label Studio then stops showing its tasks to people. After a review, the majority decision on
    each term is added to 1-terms/edits.csv, unless the file already has a line on that term. To
    open a closed round again, use «curation rounds open KIND --name ROUND».
    """
    opened = open_campaign(campaign)
    with opened.lock():
        chosen = round_files.the_round(opened, round)
        closed, added = running.close_round(opened, chosen, offline=offline, reporter=console)
    if as_json:
        console.say_json({"round": closed.name, "state": "closed", "edits": added})
        return
    console.say(f"round {closed.name} is closed")
    if out := round_status.read_status(opened, closed).tables:
        console.warn(
            f"{amount(len(out), 'table is', 'tables are')} still out: {ledger.describe(out)}. To "
            f"import what comes back, open the round again: {running.command_to_open(closed)}"
        )
    if added:
        rows = [list(line.values()) for line in added]
        console.table("Added to 1-terms/edits.csv", list(added[0]), rows)
    round_report.show_progress(opened, [closed])


app.command("export")(sheets.export)
app.command("import")(sheets.import_)
app.command("refused")(refused.refused)
app.command("pay")(pay.pay)
app.command("exclude")(people.exclude)
app.command("withdraw")(people.withdraw)

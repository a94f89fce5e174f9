"""``curation rounds``: open a round of people's work, see how it goes, pull, top up, close."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import Campaign, open_campaign
from curation.cli import console, people, serving, sheets
from curation.cli.importing import check_name, refusals, show_refused
from curation.cli.options import Json, RoundArgument, Where
from curation.files import CurationError, now, read_records
from curation.records import ROUND_KINDS, Item, Round
from curation.steps.pipeline import fold_answers
from curation.steps.rounds import platform, round_files, round_status
from curation.steps.rounds.check import pitfalls, tell_pitfalls
from curation.steps.rounds.planning import fresh_name, plan_round

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=(
        "Rounds of people's work: review terms, write items, label them; on Label Studio, or on "
        "any platform that takes and gives tables. docs/rounds.md is the guide."
    ),
)
SHOWN = 5  # items named in a line
Url = Annotated[
    str,
    typer.Option(
        envvar="LABEL_STUDIO_URL",
        help="Address of a Label Studio; its key is read from LABEL_STUDIO_API_KEY_WRITERS or "
        "_VALIDATORS, else LABEL_STUDIO_API_KEY.",
    ),
]


@app.command("open")
def open_(
    kind: Annotated[
        str,
        typer.Argument(help="review, intrasentence, intersentence or validation.", metavar="KIND"),
    ],
    campaign: Where = Path(),
    name: Annotated[str, typer.Option(help="The round's name; else KIND-1, KIND-2, …")] = "",
    platform_: Annotated[
        str,
        typer.Option("--platform", help="label_studio (unless said), or files for any other."),
    ] = "",
    url: Url = "",
    domain: Annotated[
        list[str] | None, typer.Option(help="Only terms or items of this domain; repeatable.")
    ] = None,
    term: Annotated[
        list[str] | None, typer.Option(help="Only this term or items on it; repeatable.")
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option("--of", help="Validate the items of this round; repeatable.", metavar="ROUND"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Open a round: plan its tasks and put them where people work.

    review asks people to keep, merge or drop each term; intrasentence and intersentence ask
    writers for items on each kept term; validation asks for labels on the items that still lack
    them. How many, and for what pay, stands in [rounds] of campaign.toml.

    A command that was stopped half-way is simply given again: no task is put there twice. A
    closed round is opened again by its name.
    """
    opened = open_campaign(campaign)
    known = next((k for k in ROUND_KINDS if k == kind), None)
    if known is None:
        raise CurationError(f"no kind of round {kind!r}", f"kinds: {', '.join(ROUND_KINDS)}")
    if platform_ not in ("", "label_studio", "files"):
        raise CurationError(f"no platform {platform_!r}", "platforms: label_studio, files")
    with opened.lock():
        taken = set(round_files.planned_rounds(opened)) | set(opened.round_names())
        name = name or fresh_name(opened, kind, taken)
        check_name(name)
        if (opened.rounds / name / "round.json").exists():
            round = round_files.read_round(opened, name)
            if round.kind != kind or platform_ not in ("", round.platform):
                raise CurationError(
                    f"round {name} is one of {round.kind} on {round.platform}",
                    "name another, or leave --name out",
                )
            if domain or term or of:
                raise CurationError(
                    f"round {name} is planned already, on terms and items of its own",
                    "leave --domain, --term and --of out, or name another round",
                )
        else:
            if name in taken:
                raise CurationError(f"round {name} has imported answers", "choose another --name")
            round = plan_round(opened, name, known, platform_, domain or [], term or [], of or [])
        tasks = round_files.read_tasks(opened, round.name)
        address = ""
        if round.platform == "label_studio":
            round, address = platform.publish(opened, round, tasks, url)
        if round.state != "open":
            again = {"state": "open", "closed_at": None, "opened_at": round.opened_at or now()}
            round = round.model_copy(update=again)
            round_files.write_round(opened, round)
    asked = sum(round_files.read_asked(opened, round.name, tasks).values())
    summary = {
        "round": round.name,
        "kind": kind,
        "platform": round.platform,
        "tasks": len(tasks),
        "answers_asked": asked,
        "address": address,
    }
    if as_json:
        console.say_json(summary)
        return
    console.say(f"round {round.name} is open: {len(tasks)} tasks, {asked} answers asked for.")
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
        typer.Option(help="Pull and show again every so many seconds, until Ctrl-C.", metavar="S"),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Say how rounds go: people, items decided, labels per item, pace, end, cost so far."""
    opened = open_campaign(campaign)
    names = [round] if round else round_files.planned_rounds(opened)
    rounds = [round_files.read_round(opened, name) for name in names]
    if not rounds:
        raise CurationError("no round was opened here", "«curation rounds open KIND» opens one")
    if as_json:
        stands = [round_status.read_status(opened, r) for r in rounds]
        console.say_json([round_status.figures(opened, s)._asdict() for s in stands])
        return
    if not watch:
        show_progress(opened, rounds)
        return
    while True:
        for name in names:
            one = round_files.read_round(opened, name)
            try:
                with opened.lock():
                    if one.platform == "label_studio" and one.state == "open":
                        platform.pull(opened, one)
                    fold_answers(opened, reporter=console)
            except CurationError as error:  # a server that restarts, another command at work
                console.warn(f"{one.name}: {error.what}")
        console.out.clear()
        show_progress(opened, [round_files.read_round(opened, name) for name in names])
        console.say(f"{now()}; again in {watch} seconds, Ctrl-C ends it")
        time.sleep(watch)


def show_progress(campaign: Campaign, rounds: Sequence[Round]) -> None:
    """Print how rounds stand, and what each of them waits for."""
    currency = campaign.settings.rounds.currency
    stands = [round_status.read_status(campaign, round) for round in rounds]
    found = [round_status.figures(campaign, one) for one in stands]
    rows = [
        [
            *(p.round, p.state, p.people, p.answers, p.refused),
            f"{p.decided} of {p.tasks - p.void}" + (f", {p.void} void" if p.void else ""),
            *(p.labels_per_item, p.remaining, p.per_day, p.done_at and p.done_at[:10]),
            f"{p.cost:,.2f} of {p.cost_in_all:,.2f}" if p.cost_in_all else None,
        ]
        for p in found
    ]
    heads = ["round", "state", "people", "answers", "refused", "decided", "labels/item"]
    heads += ["still to come", "a day", "done about", currency]
    console.table("Rounds", heads, rows)
    for one, p in zip(stands, found, strict=True):
        console.say(f"{p.round}: {round_status.advice(one, p)}")
        for flag, items in round_status.flagged(campaign, one.round).items():
            more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
            console.say(f"  {flag}, say two or more: {', '.join(items[:SHOWN])}{more}")
        if when := platform.pulled_at(campaign, one.round):
            console.say(f"  as of the pull at {when}")


@app.command("pull")
def pull(
    round: RoundArgument = None,
    campaign: Where = Path(),
    full: Annotated[
        bool, typer.Option("--full", help="Fetch everything anew, and not only what changed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring in what people answered on Label Studio since the last pull.

    Every answer goes to the append-only archive before anything reads it. Edited answers come in
    as new versions; answers that were deleted there stay in the archive and are refused with the
    reason deleted. A pull that was stopped is simply given again.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        one = round_files.the_round(opened, round)
        if one.platform != "label_studio":
            raise CurationError(
                f"round {one.name} does not run on Label Studio",
                f"«curation rounds import {one.name} FILE» brings its answers in",
            )
        before = refusals(opened)
        pulled = platform.pull(opened, one, full=full)
        fold_answers(opened, reporter=console)
        refused = Counter(code for code, *_ in (refusals(opened) - before).elements())
    tell_delivery(opened, one, pulled, refused, as_json=as_json)


def tell_delivery(
    campaign: Campaign,
    round: Round,
    counts: dict[str, int],
    refused: Counter[str],
    *,
    as_json: bool,
) -> None:
    """Say what came in and what of it was refused."""
    if as_json:
        console.say_json({"round": round.name, **counts, "refused": dict(sorted(refused.items()))})
        return
    said = ", ".join(f"{n} {name}" for name, n in counts.items() if n) or "nothing new"
    console.say(f"{round.name}: {said}")
    if counts.get("deleted"):
        console.warn(
            f"{counts['deleted']} answers were deleted on the platform; they stay in the archive"
        )
    if refused:
        show_refused("Newly refused, in 2-rounds/*/rejected.jsonl", refused)
    if found := pitfalls(campaign, round.name):
        items = read_records(campaign.rounds / round.name / "items.jsonl", Item)
        tell_pitfalls(found, round.name, len(items))
    stands = round_status.read_status(campaign, round)
    console.say(round_status.advice(stands, round_status.figures(campaign, stands)))


@app.command("top-up")
def top_up(
    round: RoundArgument = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Ask for the answers that are still missing, and for no more.

    Where answers were refused or, with labels = "needed", where an item is still open, the task is
    asked for again; on Label Studio in place. Given twice it asks once.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        one = round_files.the_round(opened, round)
        if one.state != "open":
            raise CurationError(
                f"round {one.name} is {one.state}",
                f"«curation rounds open {one.kind} --name {one.name}» opens it",
            )
        if one.platform == "label_studio":  # or what has just come in is asked for again
            platform.pull(opened, one)
        fold_answers(opened, reporter=console)
        asks = platform.top_up(opened, round_status.read_status(opened, one))
    more = sum(asks.values())
    if as_json:
        console.say_json({"round": one.name, "tasks": len(asks), "answers": more})
        return
    if not asks:
        console.say(f"{one.name}: nothing more to ask for")
        return
    console.say(f"{one.name}: {more} answers more asked for, on {len(asks)} tasks")
    if one.platform == "files":
        console.say(f"next: curation rounds export {one.name}")


@app.command("close")
def close(
    round: RoundArgument = None,
    campaign: Where = Path(),
    offline: Annotated[
        bool, typer.Option("--offline", help="Its server is gone: close it by what is here.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Close a round: bring in what is there and ask for no more.

    On Label Studio its tasks are no longer served. Of a review, what most reviewers of a term say
    goes into 1-terms/edits.csv, where nothing stands on that term yet. A closed round opens again
    with «curation rounds open KIND --name ROUND».
    """
    from curation.steps.rounds.reviews import apply_reviews

    opened = open_campaign(campaign)
    with opened.lock():
        one = round_files.the_round(opened, round)
        on_server = one.platform == "label_studio" and one.project is not None and not offline
        on_server = on_server and one.state != "closed"
        if on_server:
            platform.pull(opened, one, full=True)
        fold_answers(opened, reporter=console)
        added = apply_reviews(opened, one) if one.kind == "review" else []
        if on_server:
            platform.stop_serving(opened, one)
        if one.state != "closed":
            one = one.model_copy(update={"state": "closed", "closed_at": now()})
            round_files.write_round(opened, one)
    if as_json:
        console.say_json({"round": one.name, "state": "closed", "edits": added})
        return
    console.say(f"round {one.name} is closed")
    if added:
        console.table(
            "Added to 1-terms/edits.csv", list(added[0]), [list(a.values()) for a in added]
        )
    show_progress(opened, [one])


app.command("export")(sheets.export)
app.command("import")(sheets.import_)
app.command("serve")(serving.serve)
app.command("exclude")(people.exclude)
app.command("withdraw")(people.withdraw)

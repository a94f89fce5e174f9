"""``curation rounds``: open a round of people's work, see its progress, pull, top up, close."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.campaign.settings import describe_people
from curation.campaign.store import Campaign, open_campaign
from curation.files import CurationError
from curation.formats.tables import csv_text
from curation.kinds import GOLDS, ROUNDS
from curation.records import Fields, Round
from curation.rounds import running
from curation.rounds import status as round_status
from curation.rounds.commands.importing import show_refused
from curation.rounds.held import describe_holdings
from curation.rounds.platforms.interface import Published
from curation.rounds.platforms.opening import open_platform
from curation.rounds.progress import REPAIRABLE, RoundStatus
from curation.rounds.running import NewAnswers
from curation.rounds.steps import describe_pitfalls
from curation.terminal import console
from curation.terminal.options import (
    Json,
    RoundArgument,
    Where,
    locked,
)
from curation.text.times import now
from curation.text.wording import amount, some

if TYPE_CHECKING:
    from curation.rounds.quality import PersonQuality

SHOWN = 5  # items named in a line
HEADS = (
    "round",
    "state",
    "people",
    "answers",
    "refused",
    "decided",
    "labels/item",
    "still to come",
    "per day",
    "done about",
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
            p.round,
            p.state,
            p.people,
            p.answers,
            p.refused,
            f"{p.decided} of {p.tasks - p.void}" + (f", {p.void} void" if p.void else ""),
            p.labels_per_item,
            0 if p.state == "closed" else p.remaining,
            p.per_day,
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
                console.say(f"  out: {describe_holdings(shown)}")
        for flag, ids in round_status.flagged(campaign, status.round).items():
            console.say(
                f"  flagged {flag} by two or more: {some(ids, SHOWN)}; "
                f"curation rounds item {ids[0]}"
            )
        if when := open_platform(campaign, status.round).pulled_at():
            console.say(f"  as of the pull at {when[:16].replace('T', ' ')} UTC")
    from curation.rounds.quality import (
        about_marked,  # numpy and pandas, which no other command needs
    )

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
    takes_tables = open_platform(campaign, round).takes_tables
    if takes_tables and any(code in refused for code in REPAIRABLE):
        console.say(
            f"«curation rounds refused {round.name}» makes sheets in which people can correct them"
        )
    if line := describe_pitfalls(answers.pitfalls, round.name, answers.items):
        console.say(line)
    console.say(round_status.advice(status, round_status.progress_of(campaign, status)))
    return {}


# --- where people enter a round -------------------------------------------------------------------

SERVE_FIRST = "next: curation rounds serve (nobody can open these links before)"


def command_for_links(round: str) -> str:
    """The command that makes personal links to a round."""
    return f"curation rounds links {round} --count N"


def say_entrance(made: Published) -> None:
    """Print where people enter a round; a link to sign up is printed whole, with its token."""
    round = made.round.name
    if made.sign_up:
        console.say(f"for annotators: {made.address}")
        console.say(f"to sign up first: {made.sign_up}")
    elif made.is_study:
        console.say(f"for Prolific, as the study's URL: {made.address}")
    elif made.address:
        console.say(f"for everybody: {made.address}")
        console.say(f"for one person each: {command_for_links(round)}")
    else:
        console.say(f"people need personal links: {command_for_links(round)}")
    if made.is_dead:
        console.say(SERVE_FIRST)


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
    if required := "; ".join(describe_people(round.people)):
        console.say(f"who may take part (nothing checks it here): {required}")
    if made.exchanges_tables:
        console.say(f"next: curation rounds export {round.name}")
        return
    say_entrance(made.entrance)
    console.say(f"next: curation rounds status {round.name} --watch 60")


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
    rounds = [opened.round(round)] if round else list(opened.rounds)
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
    names = [each.name for each in rounds]
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
            running.open_rounds(opened, round, only=bool(recall)),
            lambda each: running.top_up_round(opened, each, recall=recall or (), reporter=console),
        )
    rows = [_show_asked(opened, each, more, as_json=as_json) for each, more in made]
    _finish(round, rows, errors, as_json=as_json)


def _show_asked(
    campaign: Campaign, chosen: Round, more: Mapping[str, int], *, as_json: bool
) -> Fields:
    """What more was asked for in a round, as plain data; else it is printed."""
    status = round_status.read_status(campaign, chosen)
    waits = sum(status.demand.to_deal().values()) if status.exchanges_tables else 0
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
            running.open_rounds(opened, round),
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
            f"{describe_holdings(out)}. To import what comes back, open the round "
            f"again: {running.command_to_open(closed)}"
        )
    if added:
        rows = [list(line.values()) for line in added]
        console.table("Added to 1-terms/edits.csv", list(added[0]), rows)
    show_progress(opened, [closed])
    if ROUNDS[closed.kind].work == "review":
        console.say(f"next: curation terms select, then {round_status.WRITING}")
    elif opened.neutral_rounds.get(closed.name):
        console.say("next: curation decisions neutral")
    return {}


# --- how people work ------------------------------------------------------------------------------


def quality(
    round: Annotated[str | None, typer.Argument()] = None,
    campaign: Where = Path(),
    as_csv: Annotated[bool, typer.Option("--csv")] = False,
    as_json: Json = False,
) -> None:
    """Show how each person works: agreement, labels, runs, time, and why to look at their answers.

    A mark is a reason to look at a person's answers, with the figures and items that led to it.
    Nobody is excluded by it. People who see a target differently differ from others, too: with
    their groups in 2-rounds/annotators.csv (columns annotator and group), they are compared within
    their own group. docs/quality.md defines the figures, and says how often the marks are right.

    Options:
        round (ROUND): The round; default: all rounds.
        as_csv: Print the table as CSV, unrounded.
    """
    from curation.rounds.quality import PersonQuality, about_removed, read_quality, thresholds

    if as_csv and as_json:
        raise CurationError("--csv and --json cannot be combined", "choose one of them")
    opened = open_campaign(campaign)
    running.refresh_status(opened, reporter=console)
    result = read_quality(opened, round)
    if as_json:
        console.say_json(result)
        return
    heads = _cells(PersonQuality(""))
    rows = [_cells(person) for person in result.people]
    if as_csv:
        cells = [["" if cell is None else cell for cell in row.values()] for row in rows]
        sys.stdout.write(csv_text([list(heads), *cells]))
        return
    if not rows:
        console.say("no answer counts yet")
        return
    filled = [name for name in heads if any(row[name] not in (None, "") for row in rows)]
    console.wide_table("People", filled, [[row[name] for name in filled] for row in rows])
    for person in result.marked:
        for mark in person.marks:
            items = f"; see «curation rounds item {' '.join(mark.items)}»" if mark.items else ""
            means = thresholds()[mark.code]["means"]
            console.say(f"{person.person}: {mark.code} ({means}): {mark.evidence}{items}")
    if result.marked:
        marked = amount(len(result.marked), "person is", "people are")
        console.say(f"{marked} marked. Look at their answers before you decide; nobody is excluded")
    else:
        console.say("nobody is marked")
    if warning := about_removed(opened):
        console.warn(warning)


PARTS: dict[str, tuple[str, ...]] = {
    "agreement_ci": ("low", "high"),
    "group_agreement_ci": ("group_low", "group_high"),
    "shares": GOLDS,
}


def _cells(person: "PersonQuality") -> dict[str, Any]:
    """A person's row, by column. The table leaves out columns that nobody has a value in."""
    cells: dict[str, Any] = {}
    for name, value in person._asdict().items():
        names = PARTS.get(name, (name,))
        values = [value] if name not in PARTS else value or [None] * len(names)
        cells |= zip(names, values, strict=True)
    return cells | {"marks": ", ".join(mark.code for mark in person.marks)}

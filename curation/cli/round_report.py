"""What commands show of rounds: the table of their progress, and what came in."""

from collections.abc import Sequence
from typing import Any

from curation.campaign import Campaign
from curation.cli import console
from curation.cli.importing import show_refused
from curation.records import Round
from curation.rounds.refused import REPAIRABLE
from curation.steps.rounds import ledger, round_status
from curation.steps.rounds.check import describe_pitfalls
from curation.steps.rounds.platform import open_platform
from curation.steps.rounds.round_status import RoundStatus
from curation.steps.rounds.running import NewAnswers
from curation.text.wording import amount, some

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
            *(p.labels_per_item, p.remaining, p.per_day, p.done_at and p.done_at[:10]),
            f"{p.cost:,.2f} of {p.cost_in_all:,.2f}" if p.cost_in_all else None,
        ]
        for p in progress
    ]
    console.table("Rounds", [*HEADS, currency], rows)
    for status, p in zip(statuses, progress, strict=True):
        console.say(f"{p.round}: {round_status.advice(status, p)}")
        if status.tables and status.round.state == "open":
            for shown in [[each] for each in status.tables] if tables else [status.tables]:
                console.say(f"  out: {ledger.describe(shown)}")
        for flag, items in round_status.flagged(campaign, status.round).items():
            console.say(f"  flagged {flag} by two or more: {some(items, SHOWN)}")
        if when := open_platform(campaign, status.round).pulled_at():
            console.say(f"  as of the pull at {when}")


def as_json(campaign: Campaign, status: RoundStatus) -> dict[str, Any]:
    """A round's progress, and the tables that are out, as plain data."""
    tables = [
        {
            "table": each.table,
            "person": None if each.is_for_anybody else each.holder,
            "answers": each.answers,
            "since": each.since,
        }
        for each in status.tables
    ]
    return {**round_status.progress_of(campaign, status)._asdict(), "tables": tables}


def show_new_answers(
    campaign: Campaign, round: Round, answers: NewAnswers, *, as_json: bool
) -> None:
    """Print what came into a round and how much of it was refused."""
    counts, refused = answers.counts, answers.refused
    if as_json:
        console.say_json({"round": round.name, **counts, "refused": dict(sorted(refused.items()))})
        return
    status = round_status.read_status(campaign, round)
    parts = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    console.say(f"{round.name}: {parts or 'nothing new'}")
    if counts.get("deleted"):
        console.warn(
            f"{amount(counts['deleted'], 'answer was', 'answers were')} deleted on the platform; "
            "the archive keeps every answer"
        )
    if refused:
        show_refused("Newly refused, in 2-rounds/*/rejected.jsonl", refused)
    # Only if nobody's answer has a consent: a person who alone lacks it may have refused.
    if refused["no_consent"] >= counts.get("new", 0) > 0 and status.exchanges_tables:
        console.warn(
            "nobody in the file has consented, so all answers are refused; if all people agreed on "
            f"their platform, import the file again with --consent {round.consent}"
        )
    if status.exchanges_tables and any(code in refused for code in REPAIRABLE):
        console.say(
            f"«curation rounds refused {round.name}» makes sheets in which people can correct them"
        )
    if line := describe_pitfalls(answers.pitfalls, round.name, answers.items):
        console.say(line)
    console.say(round_status.advice(status, round_status.progress_of(campaign, status)))

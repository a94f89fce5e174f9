"""``curation rounds exclude`` and ``withdraw``: people whose answers no longer count."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.files import CurationError
from curation.steps.rounds.exclusion import Action, Change, decide_on_person
from curation.wording import amount

Who = Annotated[
    str,
    typer.Argument(help="A pseudonym, or the person's id on the platform.", metavar="PERSON"),
]
DONE = {
    "exclude": "is excluded",
    "readmit": "counts again",
    "withdraw": "has withdrawn",
    "erase": "has withdrawn and is erased",
}


def exclude(
    person: Who,
    campaign: Where = Path(),
    reason: Annotated[str, typer.Option(help="Why; required, and saved.", metavar="TEXT")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Count the person's answers again.")] = False,
    as_json: Json = False,
) -> None:
    """Stop counting a person's answers, and show what changes. --undo counts them again.

    All results are computed again without the person's labels, the items that they wrote and the
    labels on these items: decisions, agreement, split and release. The raw answers stay.
    """
    if not undo and not reason.strip():
        raise CurationError("an exclusion needs a reason", "give it with --reason")
    action: Action = "readmit" if undo else "exclude"
    _decide(campaign, person, action, reason.strip() or "taken back", as_json=as_json)


def withdraw(
    person: Who,
    campaign: Where = Path(),
    erase: Annotated[
        bool, typer.Option("--erase", help="Also erase the answers from the raw archive.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Remove a person who wants to withdraw, and show what changes. You cannot undo this.

    With --erase, their answers are also erased from the raw archive and their words from tasks, and
    both from the rounds' Label Studio if it can be reached. An entry without content replaces each
    answer, so that a later pull does not add it again. At the end, the command lists the copies
    that it cannot reach, such as backups and published releases: erase these yourself.
    """
    action: Action = "erase" if erase else "withdraw"
    _decide(campaign, person, action, "the person's own wish", as_json=as_json)


def _decide(root: Path, who: str, action: Action, reason: str, *, as_json: bool) -> None:
    campaign = open_campaign(root)
    with campaign.lock():
        change = decide_on_person(campaign, who, action, reason, reporter=console)
    if as_json:
        before, after = change.before, change.after
        console.say_json(
            {
                "person": change.person,
                "action": change.action,
                "erased": change.erased,
                "changed": {
                    name: [before[name], after.get(name)]
                    for name in before
                    if before[name] != after.get(name)
                },
                "cats_lost": change.cats_lost,
                "cats_won": change.cats_won,
                "released_in": change.released_in,
            }
        )
        return
    _show(change)


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
    for version in change.released_in:
        console.warn(
            f"7-release/{version} still contains CATs that were lost; publish a new version"
        )
    if change.action == "erase":
        console.say(
            f"{amount(change.erased, 'answer was', 'answers were')} erased. Erase these yourself "
            "if they exist:"
        )
        console.say("  - the account on the platform, and backups")
        console.say("  - tables in tasks/, and copies that you sent out")
        console.say("  - the person's words quoted in other people's answers")

"""``curation rounds exclude`` and ``withdraw``: people whose answers no longer count."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.files import CurationError
from curation.steps.release.erasing import Held
from curation.steps.rounds.exclusion import Action, Change, decide_on_person
from curation.text.wording import amount

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
    labels on these items: decisions, agreement, split and measures. The raw answers stay. A built
    version of the release is never changed; the command names the versions that hold something of
    what is lost.
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
    releases: Annotated[
        bool,
        typer.Option(
            "--releases", help="With --erase: also delete the versions in 7-release that hold it."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Remove a person who wants to withdraw, and show what changes. You cannot undo this.

    With --erase, their answers are also erased from the raw archive and their words from tasks, and
    both from the rounds' Label Studio if it can be reached. An entry without content replaces each
    answer, so that a later pull does not add it again. At the end, the command lists the copies
    that it cannot reach, such as backups and published releases: erase these yourself. It also
    lists the versions in 7-release to delete; --releases deletes them.
    """
    if releases and not erase:
        raise CurationError("--releases needs --erase", "add --erase, or leave --releases out")
    action: Action = "erase" if erase else "withdraw"
    reason = "the person's own wish"
    _decide(campaign, person, action, reason, as_json=as_json, releases=releases)


def _decide(
    root: Path,
    who: str,
    action: Action,
    reason: str,
    *,
    as_json: bool,
    releases: bool = False,
) -> None:
    campaign = open_campaign(root)
    with campaign.lock():
        change = decide_on_person(
            campaign, who, action, reason, releases=releases, reporter=console
        )
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
                "released_in": list(change.released_in),
                "releases_to_delete": _to_delete(change),
                "releases_deleted": change.deleted,
            }
        )
        return
    _show(change)


def _to_delete(change: Change) -> list[str]:
    """After an erasure, the built versions that still hold something of the person."""
    erased = change.action == "erase"
    return [version for version in change.theirs if erased and version not in change.deleted]


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
    if version in _to_delete(change):
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
        console.say("  - the account on the platform, and backups")
        console.say("  - tables in tasks/, pay lists in 2-rounds/, and copies that you sent out")
        console.say("  - the person's words quoted in other people's answers")
        for version in change.theirs:
            here = "" if version in change.deleted else f"7-release/{version}, and "
            console.say(f"  - {here}every published copy of version {version}")

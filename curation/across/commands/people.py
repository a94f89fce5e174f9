"""``curation rounds exclude`` and ``withdraw``: a person's answers no longer count.

Options:
    person (PERSON): A pseudonym, or the person's id on the platform. On our own pages also their
        name in links-N.csv, or their link.
"""

from pathlib import Path

from curation.across.people import Action, Change, Foreseen, changed, decide_on_person
from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.release.versions import Held
from curation.terminal import console
from curation.terminal.options import Json, Where
from curation.text.wording import amount

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
            console.confirm("Withdraw this person for good?", yes=yes)

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

"""Commands of ``curation rounds`` that join stages, and the list of all of them.

Options:
    person (PERSON): A pseudonym, or the person's id on the platform. On our own pages also their
        name in links-N.csv, or their link.
"""

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from curation.across import serving
from curation.across.corrections import Planned, correct_item
from curation.across.ethics import ethics_sheet
from curation.across.people import Action, Change, Foreseen, changed, decide_on_person
from curation.campaign.store import Campaign, open_campaign
from curation.decisions.steps import find_items
from curation.files import CurationError, writing
from curation.reasons import REASONS
from curation.records import VALUES, Fields
from curation.release.versions import Held
from curation.rounds import running
from curation.rounds.commands.pay import approve, pay, plan, study
from curation.rounds.commands.rounds import (
    SERVE_FIRST,
    close,
    command_for_links,
    open_,
    pull,
    quality,
    say_entrance,
    status,
    top_up,
)
from curation.rounds.commands.tables import export, import_, refused, texts
from curation.rounds.platforms.interface import ItemFacts
from curation.rounds.platforms.label_studio.local import ROLES, server_folder, servers_home
from curation.rounds.platforms.opening import DEFAULT, PLATFORMS, open_platform, platform_name
from curation.rounds.running import the_round
from curation.rounds.status import left_out_pilots
from curation.terminal import console
from curation.terminal.options import (
    Json,
    MaybeCount,
    Natural,
    Where,
    command_group,
    locked,
    write_text,
)
from curation.text.wording import amount
from curation.work.interrupts import SIGNALS

SERVED = [name for name, kind in PLATFORMS.items() if kind.is_ours or kind.server]
DONE = {
    "exclude": "is excluded",
    "readmit": "counts again",
    "withdraw": "has withdrawn",
    "erase": "has withdrawn and is erased",
}


def serve(
    campaign: Where = Path(),
    platform_: Annotated[str, typer.Option("--platform")] = DEFAULT,
    host: str = serving.HERE[0],
    port: MaybeCount = None,
    address: str = "",
    only: Annotated[list[str] | None, typer.Option("--role")] = None,
    new_links: bool = False,
) -> None:
    """Start the server on which annotators work, on this machine, until you press Ctrl-C.

    The campaign's own pages need no installation. Rounds that you open while the server runs
    appear by themselves. By default only this machine can reach it. deploy/README.md explains how
    to put it on the Internet, with TLS.

    With --platform label_studio, Label Studio is started instead. The first time, it is installed
    into its own environment (about 1 GB). Writers and validators get a server each, with separate
    accounts, and people can only sign up with the printed link. Nothing is sent to other machines.

    Options:
        platform_: web (default): our own pages. label_studio: a Label Studio for each role.
        host: Address to listen on; keep the default unless TLS is in front.
        port: Port; default: 8100. For Label Studio: the port of the writers' server, 8090; that of
            the validators is the next.
        address (URL): The public address of the pages behind a proxy, for people's links. It is
            kept.
        only (ROLE): Label Studio only: writers or validators; default: both.
        new_links: Make a new link for the owner; on Label Studio, new sign-up links. Old ones stop
            working.
    """
    opened = open_campaign(campaign)
    if platform_ not in SERVED:
        raise CurationError(
            f"platform {platform_!r} has no server here", f"platforms: {', '.join(SERVED)}"
        )
    for_label_studio = not PLATFORMS[platform_name(platform_)].is_ours
    others = {"--address": bool(address)} if for_label_studio else {"--role": bool(only)}
    if wrong := [option for option, given in others.items() if given]:
        other = next(name for name in SERVED if name != platform_)
        raise CurationError(
            f"{wrong[0]} is not an option of {platform_}", f"add --platform {other}, or omit it"
        )
    if ":" in host:
        raise CurationError(
            f"{host!r} is not an address to listen on", "use an IPv4 address or a host name"
        )
    if host not in serving.HERE:
        said = "passwords are" if for_label_studio else "links and answers are"
        console.warn(f"others can reach {host}, and {said} sent unencrypted: put TLS in front")
    if for_label_studio:
        _serve_label_studio(opened, only or list(ROLES), port or ROLES["writers"], host, new_links)
        return
    serving.serve(
        opened,
        host=host,
        port=port or serving.PORT,
        address=address,
        new_link=new_links,
        ready=_show_server,
    )
    console.note("the server has stopped; everything that it acknowledged is saved")


def _show_server(running: serving.Serving) -> None:
    """Print where people enter."""
    console.heading(f"pages for annotators: {running.url}")
    if running.address != running.url:
        console.say(f"  public address {running.address}")
    for round, link in running.links.items():
        console.say(f"  {round}: {link or f'personal links ({command_for_links(round)})'}")
    if not running.links:
        console.say("  no round is open on these pages yet")
    if running.unchecked:
        console.warn(running.unchecked)
    console.say(f"owner's page, for you alone: {running.owner}")
    if running.old_lists:
        console.warn(
            f"{', '.join(running.old_lists)}: links made before have another address; "
            "«curation rounds links ROUND --people FILE» writes them again"
        )
    console.say("Press Ctrl-C to stop. In another window: curation rounds open KIND")


def _show_entrances(
    campaign: Campaign, names: Sequence[str | None], *, reset: bool, as_json: bool
) -> None:
    """Print where people enter rounds, as when they were opened."""
    if reset and len(names) > 1:  # they may share a server, and only its last link works
        raise CurationError("--reset is for one round", "name one round of each server")
    shown, is_ours = [], False
    for name in names or (None,):
        round = the_round(campaign, name)
        made = open_platform(campaign, round, reporter=console).entrance(reset=reset)
        if reset and not made.sign_up:
            raise CurationError(f"nobody signs up for round {round.name}", "leave out --reset")
        shown.append({"round": round.name, "address": made.address, "sign_up": made.sign_up})
        if not as_json:
            console.heading(round.name)
            say_entrance(made)
        is_ours |= PLATFORMS[round.platform].is_ours
    if as_json:
        console.say_json(shown)
    elif is_ours:
        with serving.opened_store(campaign) as store:
            console.say(f"owner's page, for you alone: {serving.owner_link(store)}")


def links(
    rounds: Annotated[list[str] | None, typer.Argument()] = None,
    campaign: Where = Path(),
    count: Natural = 0,
    people: Path | None = None,
    everybody: bool = False,
    reset: bool = False,
    as_json: Json = False,
) -> None:
    """Make personal links to rounds on our own pages: one for each person, and for one person only.

    Without --count, --people or --everybody, the command makes none. It then shows where people
    enter: the common link of a round on our own pages, or the link to sign up on Label Studio and
    the address of its tasks. On our own pages it also shows the link to the owner's page.

    A person with a link can leave, come back on another device, and is the same person in every
    round. Send each person their own link. A person who has a link keeps it; it then opens
    these rounds, too. So to show links again, or to invite the same people to the next round, give
    --people with the file of before.

    The links are written to 2-rounds/links-N.csv. The file is private: anyone who has a link can
    answer in that person's name.

    Options:
        rounds (ROUND): The rounds; default: all that are open on our own pages. To show where
            people enter: the only one that is open.
        count (N): Make links for N new people, person-1, person-2, …
        people (FILE): Make a link for each person in this file: one name per line, or a file
            links-N.csv.
        everybody: Let all people in who have a link, also those who came by a common link.
        reset: Label Studio only: make a new link to sign up; old ones stop working.
    """
    ways = sum((people is not None, bool(count), everybody))
    if ways > 1 or (ways and reset):
        raise CurationError(
            "say for whom the links are, in one way",
            "use --count N, --people FILE with a name per line, or --everybody",
        )
    if not ways:
        _show_entrances(open_campaign(campaign), rounds or [], reset=reset, as_json=as_json)
        return
    with locked(campaign) as opened:
        if people:
            names = serving.names_in(opened, people)
        elif everybody:
            names = serving.everybody(opened)
        else:
            names = serving.fresh_names(opened, count)
        made = serving.make_links(opened, rounds or (), names)
    if as_json:
        summary = {"file": made.file, "rounds": made.rounds, "people": len(made.links)}
        console.say_json({**summary, "new": made.new})
        return
    console.say(
        f"{amount(len(made.links), 'personal link')} ({made.new:,} for new people) to "
        f"{', '.join(made.rounds)}"
    )
    console.say(f"who gets which: {made.file} (private: send each person only their own link)")
    if made.is_dead:
        console.say(SERVE_FIRST)


def _serve_label_studio(
    campaign: Campaign, roles: list[str], port: int, host: str, new_links: bool
) -> None:
    """Run a Label Studio for each role until Ctrl-C."""
    from curation.rounds.platforms.label_studio import client, local

    id = campaign.settings.campaign.id
    unknown = set(roles) - set(ROLES)
    if unknown:
        raise CurationError(f"no role {min(unknown)!r}", f"roles: {', '.join(ROLES)}")
    executable = local.prepare(servers_home(), console.note)
    running: list[local.Instance] = []
    ended = threading.Event()
    try:
        for name in roles:
            place = local.Place(name, server_folder(id, name), port + list(ROLES).index(name))
            console.note(f"starting the server for {name}; the first time takes a minute")
            instance = local.start(place, executable=executable, host=host, tell=console.note)
            running.append(instance)
            with writing(place.folder / "address") as file:
                file.write(instance.url.encode())
            server = client.connect(instance.url, instance.key, tell=console.note)
            console.heading(f"{name}: {instance.url}")
            console.say(f"  owner       {instance.email}, password in {place.folder}/owner.json")
            console.say(f"  annotators  {server.invite(reset=new_links)}")
        console.say(
            "Press Ctrl-C to stop. In another window: curation rounds open KIND --platform "
            "label_studio"
        )
        for end in SIGNALS:  # from now on this is how the command ends, and not an interruption
            signal.signal(end, lambda *_: ended.set())
        while not ended.wait(1):
            dead = [i.place for i in running if i.process.poll() is not None]
            if dead:
                raise CurationError(
                    f"the server for {dead[0].name} has ended", f"see its log, {dead[0].log}"
                )
    finally:
        for instance in running:
            instance.stop()


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
    _show_change(change)


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


def _show_counts(counts: Fields) -> None:
    rows = [[name.replace("_", " "), *pair] for name, pair in counts.items()]
    console.table("Changes", ["", "before", "now"], rows)


def _show_change(change: Change) -> None:
    console.say(f"{change.person} {DONE[change.action]}.")
    _show_counts({name: [n, change.after.get(name)] for name, n in change.before.items()})
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


def show_items(
    items: Annotated[list[str], typer.Argument()], campaign: Where = Path(), as_json: Json = False
) -> None:
    """Show items with their texts, the votes on each, who gave which label, flags, and pitfalls.

    If settings, terms or answers have changed, items and labels are first computed again.

    Options:
        items (ITEM): The ids of items, as reports and other commands name them; or words in their
            texts, to search.
    """
    opened = open_campaign(campaign)
    running.refresh_status(opened, reporter=console)
    found = {each.item.id: each for name in items for each in find_items(opened, name)}
    if not found:
        raise CurationError(
            f"no item has the id or the words {', '.join(items)}",
            "2-rounds/*/items.jsonl lists the items that passed the checks",
        )
    if as_json:
        console.say_json([each.model_dump() for each in found.values()])
        return
    for each in found.values():
        _show_item(each)
    console.say("next: curation rounds correct ITEM; or name it in leave_out in [decisions]")


def _show_item(shown: ItemFacts) -> None:
    item, decision = shown.item, shown.decision
    about = filter(None, [shown.target, item.kind, item.round, item.writer])
    console.heading(f"{item.id}: {', '.join(about)}")
    console.say(item.context)
    rows = [
        [association.sentence, association.intent, verdict.gold, *verdict.votes]
        for association, verdict in zip(item.associations, decision.verdicts, strict=True)
    ]
    console.table("Votes that count", ["text", "meant", "gold label", *VALUES], rows)
    console.table("Labels", ["person", "text", "label"], [[*label] for label in shown.labels])
    for flag in shown.flags:
        console.say(f"flagged {flag.flag} by {flag.annotator}")
    if shown.pitfalls:
        console.say(f"known pitfalls: {', '.join(shown.pitfalls)}")
    console.say(f"no CAT: {REASONS[decision.reason]}" if decision.reason else "it is a CAT")


def correct(
    item: str,
    campaign: Where = Path(),
    *,
    field: str,
    text: str,
    by: str,
    why: str,
    yes: bool = False,
    as_json: Json = False,
) -> None:
    """Change a text of an item, show what that changes, and ask for labels of the new words.

    The raw answer stays. The correction, who made it (under a pseudonym) and why are saved in
    2-rounds/corrections.jsonl. Labels that people gave for the old words no longer count. An open
    round of validation that has the item asks for new ones at once; otherwise the next «curation
    rounds open validation» does. A built version of the release is never changed; the command names
    the versions that hold the item.

    Options:
        item (ITEM): The item's id, as in 2-rounds/ROUND/items.jsonl.
        field: context, stereotype, anti_stereotype, unrelated, or the id of an association.
        text: The new text. For an intrasentence association, the words in the gap are enough.
        by (NAME): Who makes the correction.
        why (TEXT): Why.
        yes: Do not ask.
    """

    def agree(planned: Planned) -> None:
        if not as_json:
            _show_planned(planned)
        console.confirm("Correct it?", yes=yes)

    with locked(campaign) as opened:
        done = correct_item(
            opened, item, field, text, by=by, why=why, agree=agree, reporter=console
        )
    planned = done.planned
    counts = changed(done.before, done.after)
    if as_json:
        console.say_json(
            {
                "item": item,
                "by": planned.correction.by,
                "texts": [{"before": old, "after": new} for old, new in planned.texts],
                "labels_lost": planned.labels,
                "was_cat": planned.is_cat,
                "items_refused": planned.refused,
                "neutral_refused": planned.neutral,
                "changed": counts,
                "released_in": planned.versions,
                "asked_in": done.asked,
            }
        )
        return
    console.say(f"{item} is corrected, by {planned.correction.by}.")
    if counts:
        _show_counts(counts)
    for name in done.asked:
        console.say(f"{name} asks for labels of the new words")
    if planned.labels and not done.asked:
        round = planned.correction.round
        name = " --name pilot-again" if round in left_out_pilots(opened) else ""
        console.say(f"next: curation rounds open validation --of {round}{name}")


def _show_planned(planned: Planned) -> None:
    """What a correction will change."""
    for old, new in planned.texts:
        console.say(f"- {old}")
        console.say(f"+ {new}")
    labels, people = planned.labels, amount(planned.people, "person", "people")
    if labels:
        verb = "no longer counts" if labels == 1 else "no longer count"
        console.say(f"{amount(labels, 'label')} by {people} {verb}")
    else:
        console.say("every label still counts")
    if planned.is_cat and labels:
        console.say("it is a CAT now, and is not one until it has new labels")
    if planned.refused:
        console.say(f"too like the new text, and so refused: {', '.join(planned.refused)}")
    if planned.neutral:
        many = amount(len(planned.neutral), "neutral association")
        console.say(f"written beside the old text, and so refused: {many}")
    for version in planned.versions:
        console.warn(
            f"7-release/{version} holds the item as it was: raise version in [release], build and "
            "publish a new version"
        )


def ethics(
    campaign: Where = Path(),
    kind: list[str] | None = None,
    platform_: Annotated[str, typer.Option("--platform")] = "",
    prolific: bool = False,
    to: Path | None = None,
) -> None:
    """Describe the study for an ethics board: what people do, read and earn, risks, data, erasure.

    The sheet is Markdown. It is made from campaign.toml, 2-rounds/text.toml, the texts that people
    are shown and 7-release/statement.toml. What curation cannot know is marked OPEN, and counted
    at the end.

    Options:
        kind: Only rounds of this kind; repeatable. Default: review, intrasentence, intersentence,
            validation, and the kinds of rounds that were opened.
        platform_ (NAME): The platform of rounds to come: web (our own pages), label_studio, files.
            Default: that of the last round of each kind, else web.
        prolific: People come from Prolific.
        to (FILE): Write to this file. One that exists is not changed.
    """
    if to and to.exists():
        raise CurationError(f"{to}: exists already", "give another file with --to FILE")
    sheet = ethics_sheet(
        open_campaign(campaign), kinds=kind or (), platform=platform_, prolific=prolific
    )
    if to:
        write_text(to, sheet.text)
    else:
        sys.stdout.write(sheet.text)
    console.note(f"{amount(len(sheet.open), 'question is', 'questions are')} open: look for OPEN")


COMMANDS: dict[str, Callable[..., None]] = {
    "plan": plan,
    "ethics": ethics,
    "serve": serve,
    "open": open_,
    "links": links,
    "study": study,
    "approve": approve,
    "status": status,
    "pull": pull,
    "top-up": top_up,
    "close": close,
    "quality": quality,
    "export": export,
    "import": import_,
    "refused": refused,
    "pay": pay,
    "texts": texts,
    "exclude": exclude,
    "withdraw": withdraw,
    "item": show_items,
    "correct": correct,
}
app = command_group()
for name, command in COMMANDS.items():
    app.command(name)(command)

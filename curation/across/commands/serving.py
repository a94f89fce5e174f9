"""``curation rounds serve`` and ``links``: the servers on which people work, and personal links."""

import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from curation.across import serving
from curation.campaign.store import Campaign, open_campaign
from curation.files import CurationError, writing
from curation.rounds import round_files
from curation.rounds.commands.entrance import SERVE_FIRST, command_for_links, say_entrance
from curation.rounds.platforms.label_studio.local import ROLES, server_folder, servers_home
from curation.rounds.round_status import DEFAULT, open_platform
from curation.terminal import console
from curation.terminal.options import Json, MaybeCount, Natural, Where, locked
from curation.text.wording import amount
from curation.work.interrupts import SIGNALS

SERVERS = ("web", "label_studio")


def serve(
    campaign: Where = Path(),
    platform_: Annotated[str, typer.Option("--platform")] = "web",
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
    if platform_ not in SERVERS:
        raise CurationError(
            f"platform {platform_!r} has no server here", f"platforms: {', '.join(SERVERS)}"
        )
    for_label_studio = platform_ != DEFAULT
    others = {"--address": bool(address)} if for_label_studio else {"--role": bool(only)}
    if wrong := [option for option, given in others.items() if given]:
        other = "web" if for_label_studio else "label_studio"
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
    else:
        serve_pages(
            opened, host=host, port=port or serving.PORT, address=address, new_link=new_links
        )


def serve_pages(
    campaign: Campaign,
    *,
    host: str = serving.HERE[0],
    port: int = serving.PORT,
    address: str = "",
    new_link: bool = False,
) -> None:
    """Run the web server until Ctrl-C, and print where people enter."""

    def show(running: serving.Serving) -> None:
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

    serving.serve(campaign, host=host, port=port, address=address, new_link=new_link, ready=show)
    console.note("the server has stopped; everything that it acknowledged is saved")


def _show_entrances(
    campaign: Campaign, names: Sequence[str | None], *, reset: bool, as_json: bool
) -> None:
    """Print where people enter rounds, as when they were opened."""
    if reset and len(names) > 1:  # they may share a server, and only its last link works
        raise CurationError("--reset is for one round", "name one round of each server")
    shown, is_ours = [], False
    for name in names or (None,):
        round = round_files.the_round(campaign, name)
        made = open_platform(campaign, round, reporter=console).entrance(reset=reset)
        if reset and not made.sign_up:
            raise CurationError(f"nobody signs up for round {round.name}", "leave out --reset")
        shown.append({"round": round.name, "address": made.address, "sign_up": made.sign_up})
        if not as_json:
            console.heading(round.name)
            say_entrance(made)
        is_ours |= round.platform == DEFAULT
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

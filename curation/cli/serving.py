"""``curation rounds serve``: a Label Studio of the campaign's own, on this machine."""

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Where
from curation.files import CurationError, writing
from curation.rounds.platforms.label_studio.local import ROLES, server_folder, servers_home
from curation.work.interrupts import SIGNALS


def serve(
    campaign: Where = Path(),
    only: Annotated[
        list[str] | None,
        typer.Option("--role", help="writers or validators; default: both.", metavar="ROLE"),
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port of the writers' server; the validators' is the next.", min=1)
    ] = ROLES["writers"],
    host: Annotated[
        str, typer.Option(help="Address to listen on; keep the default unless TLS is in front.")
    ] = "127.0.0.1",
    new_links: Annotated[
        bool, typer.Option("--new-links", help="Make new sign-up links; old ones stop working.")
    ] = False,
) -> None:
    """Start Label Studio for this campaign on this machine, until you press Ctrl-C.

    The first time, Label Studio is installed into its own environment (about 1 GB). Writers and
    validators get a server each, with separate accounts. People can only sign up with the printed
    link, and nothing is sent to other machines. By default only this machine can reach the servers.
    docs/rounds.md explains how to set up servers that other people can reach safely.
    """
    from curation.rounds.platforms.label_studio import client, local

    id = open_campaign(campaign).settings.campaign.id
    roles = only or list(ROLES)
    unknown = set(roles) - set(ROLES)
    if unknown:
        raise CurationError(f"no role {min(unknown)!r}", f"roles: {', '.join(ROLES)}")
    if ":" in host:
        raise CurationError(
            f"{host!r} is not an address to listen on", "use an IPv4 address or a host name"
        )
    if host not in ("127.0.0.1", "localhost"):
        console.warn(
            f"others can reach {host}, and passwords are sent unencrypted: put TLS in front"
        )
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
        console.say("Press Ctrl-C to stop. In another window: curation rounds open KIND")
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

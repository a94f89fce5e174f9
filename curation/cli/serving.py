"""``curation rounds serve``: a Label Studio of the campaign's own, on this machine."""

import os
import signal
import threading
from pathlib import Path
from typing import Annotated

import typer
from platformdirs import user_data_path

from curation.campaign import Campaign, open_campaign
from curation.cli import console
from curation.cli.options import Where
from curation.files import CurationError, read_json
from curation.records import RoundKind

SERVERS = "CURATION_SERVERS"  # environment variable: the folder of servers' data
ROLES = {"writers": 8090, "validators": 8091}
"""A server for each role, so that no writer can look up what validators say, or the reverse."""


def home() -> Path:
    """Where servers live: ``$CURATION_SERVERS``, else the user's data folder."""
    folder = os.environ.get(SERVERS)
    return Path(folder) if folder else user_data_path("curation") / "servers"


def _folder(campaign: Campaign, role: str) -> Path:
    return home() / campaign.settings.campaign.id / role


def role(kind: RoundKind) -> str:
    """On which of the two servers a kind of round runs."""
    return "validators" if kind == "validation" else "writers"


def address(campaign: Campaign, kind: RoundKind) -> str:
    """Where the campaign's own server for a kind of round was last started; empty if never."""
    path = _folder(campaign, role(kind)) / "address"
    return path.read_text("utf-8").strip() if path.exists() else ""


def key(campaign: Campaign, kind: RoundKind) -> str:
    """The owner's key of the campaign's own server for a kind of round; empty if there is none."""
    owner = _folder(campaign, role(kind)) / "owner.json"
    return str(read_json(owner)["key"]) if owner.exists() else ""


def serve(
    campaign: Where = Path(),
    only: Annotated[
        list[str] | None,
        typer.Option("--role", help="writers or validators; both unless said.", metavar="ROLE"),
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port of the writers' server; the validators' is the next.", min=1)
    ] = ROLES["writers"],
    host: Annotated[
        str, typer.Option(help="Address to listen on; loopback unless you know what you do.")
    ] = "127.0.0.1",
    new_links: Annotated[
        bool, typer.Option("--new-links", help="Make sign-up links anew; old ones end.")
    ] = False,
) -> None:
    """Start a Label Studio of the campaign's own, until Ctrl-C.

    At first use it is installed into an environment of its own (about 1 GB). Writers and
    validators get a server each, with accounts of their own. Sign-up is by the printed link alone;
    nothing is sent to anybody. Only this machine reaches it; docs/rounds.md says how sixty people
    reach one safely.
    """
    from curation.rounds.platforms.label_studio import client, local

    opened = open_campaign(campaign)
    roles = only or list(ROLES)
    unknown = set(roles) - set(ROLES)
    if unknown:
        raise CurationError(f"no role {min(unknown)!r}", f"roles: {', '.join(ROLES)}")
    if ":" in host:
        raise CurationError(f"{host!r} cannot be listened on", "name an IPv4 address or a host")
    if host not in ("127.0.0.1", "localhost"):
        console.warn(
            f"{host} can be reached by others, and passwords travel in the clear: put TLS in front"
        )
    executable = local.prepare(home(), console.note)
    running: list[local.Instance] = []
    ended = threading.Event()
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, lambda *_: ended.set())
    try:
        for name in roles:
            place = local.Place(name, _folder(opened, name), port + list(ROLES).index(name))
            console.note(f"starting the server for {name}; the first time takes a minute")
            instance = local.start(place, executable=executable, host=host, tell=console.note)
            running.append(instance)
            (place.folder / "address").write_text(instance.url, "utf-8")
            server = client.connect(instance.url, instance.key, tell=console.note)
            console.heading(f"{name}: {instance.url}")
            console.say(f"  owner       {instance.email}, password in {place.folder}/owner.json")
            console.say(f"  annotators  {server.invite(reset=new_links)}")
        console.say("Ctrl-C stops. In another window: curation rounds open KIND")
        while not ended.wait(1):
            dead = [i.place for i in running if i.process.poll() is not None]
            if dead:
                raise CurationError(
                    f"the server for {dead[0].name} has ended", f"its log is {dead[0].log}"
                )
    finally:
        for instance in running:
            instance.stop()

"""Which Label Studio a round runs on: the campaign's own servers, or one that is named.

The campaign's own servers are in the user's data folder, outside the campaign. There is one for
writers and one for validators, so that nobody can look up what the others say.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_path

from curation.files import CurationError, read_bytes, read_json
from curation.records import Round, RoundKind

if TYPE_CHECKING:
    from curation.rounds.platforms.label_studio.client import LabelStudio

SERVERS = "CURATION_SERVERS"  # environment variable: the folder of servers' data
KEY = "LABEL_STUDIO_API_KEY"  # the name that label-studio-sdk uses
ROLES = {"writers": 8090, "validators": 8091}
"""The two roles with their default ports."""


def home() -> Path:
    """The folder of all servers: ``$CURATION_SERVERS``, or a folder in the user's data folder."""
    folder = os.environ.get(SERVERS)
    return Path(folder) if folder else user_data_path("curation") / "servers"


def folder(campaign_id: str, role: str) -> Path:
    """The folder of a campaign's own server for a role."""
    return home() / campaign_id / role


def role_of(kind: RoundKind) -> str:
    """The role whose server a kind of round runs on."""
    return "validators" if kind == "validation" else "writers"


def own_address(campaign_id: str, kind: RoundKind) -> str:
    """Where the campaign's own server for a kind of round was last started; empty if never."""
    path = folder(campaign_id, role_of(kind)) / "address"
    return read_bytes(path).decode("utf-8", "replace").strip() if path.exists() else ""


def own_key(campaign_id: str, kind: RoundKind) -> str:
    """The owner's key of the campaign's own server for a kind of round; empty if there is none."""
    owner = folder(campaign_id, role_of(kind)) / "owner.json"
    return read_owner(owner)["key"] if owner.exists() else ""


def read_owner(path: Path) -> dict[str, str]:
    """The account of the owner of a campaign's own server: email, password and key.

    Raises:
        CurationError: the file is damaged.
    """
    kept = read_json(path)
    fields = ("email", "password", "key")
    if isinstance(kept, dict) and all(isinstance(kept.get(name), str) for name in fields):
        return {name: kept[name] for name in fields}
    raise CurationError(f"{path}: does not hold the owner's account", "restore it from a backup")


def open_server(
    campaign_id: str, round: Round, *, title: str, url: str, tell: Callable[[str], None]
) -> "LabelStudio":
    """Connect to the Label Studio that a round runs on, or is to run on.

    Args:
        campaign_id: the campaign's id.
        round: the round.
        title: the title of the round's project.
        url: the server's address; empty for the round's, or else the campaign's own server.
        tell: called with a line when a request is tried again.

    Raises:
        CurationError: no address or no key is known, the server does not answer as it should, or
            the project with the round's number is not the round's.
    """
    from curation.rounds.platforms.label_studio import client

    own = own_address(campaign_id, round.kind)
    address = (url or round.server or own).rstrip("/")
    if not address:
        raise CurationError(
            "no Label Studio is named",
            "name one with --url and set its key in LABEL_STUDIO_API_KEY, start one of the "
            "campaign's own with «curation rounds serve», or use --platform files",
        )
    role = role_of(round.kind).upper()
    if address == own:
        key = own_key(campaign_id, round.kind)
    else:  # a server of somebody else's; there may be a key for each role
        key = os.environ.get(f"{KEY}_{role}") or os.environ.get(KEY, "")
    if not key:
        raise CurationError(
            f"no key for {address}",
            f"set {KEY}, or {KEY}_{role}, to the key that «Account & Settings» shows there",
        )
    server = client.connect(address, key, tell=tell)
    if round.project is not None and not server.has_project(round.project, title):
        raise CurationError(
            f"{address} has no project {round.project} of round {round.name}",
            "check that it is the right server; if the project is gone, use "
            "«curation rounds close --offline»",
        )
    return server

"""``curation release reveal``: the hidden gold labels of a version, with their proof."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.steps.release.hidden import revealing
from curation.text.wording import amount


def reveal(
    version: Annotated[
        str, typer.Argument(help="The version with hidden gold labels.", metavar="VERSION")
    ],
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Write 7-release/VERSION-revealed: the gold labels that a version hides, with their proof.

    If it hides the texts, too, the folder has these.

    The command first computes every commitment again, and compares texts, options and commitments
    with the public folder. Publish the new folder beside it. Its README.md says how everybody can
    check that the gold labels are those of the release.
    """
    opened = open_campaign(campaign)
    with opened.lock():
        made = revealing.reveal(opened, version)
    if as_json:
        console.say_json(
            {"folder": str(made.folder), "cats": made.cats, "unchanged": made.unchanged}
        )
        return
    console.say(f"{amount(made.cats, 'hidden CAT')} of version {version} in {made.folder}")
    if made.unchanged < made.cats:
        console.say(
            f"{amount(made.cats - made.unchanged, 'CAT')} changed in the campaign since: without "
            "tier and annotations"
        )
    console.say(
        'next: publish the folder beside the version; set hide = "" in [release] if the next '
        "version is to have all gold labels"
    )

"""``curation release``: the folder that is published."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from curation.campaign import open_campaign
from curation.cli import (
    console,
    release_check,
    release_near,
    release_push,
    release_reveal,
    release_statement,
)
from curation.cli.options import Json, Where
from curation.steps.pipeline import bring_up_to_date
from curation.steps.release.golds import gold_file
from curation.steps.release.hiding import with_hide
from curation.wording import amount

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="Build the folder that is published."
)


@app.command("build")
def build(
    campaign: Where = Path(),
    hide: Annotated[
        Literal["test"] | None,
        typer.Option(
            help="Publish the CATs of this split without their gold labels; default: hide in "
            "[release].",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write 7-release/VERSION: dev.json, test.json, annotations.csv, README.md, SHA256SUMS.

    The version is set in [release]. A version that is built is never rewritten: if its content
    would change, raise the version, or delete the folder if nobody has it.
    """
    opened = open_campaign(campaign)
    if hide:
        opened = with_hide(opened, hide)
    with opened.lock():
        counts = bring_up_to_date(opened, "release", reporter=console).counts
    folder = opened.releases / opened.settings.release.version
    if as_json:
        console.say_json({"folder": str(folder), **counts})
        return
    console.say(
        f"{amount(counts['cats'], 'CAT')}, {amount(counts['annotations'], 'annotation')} in "
        f"{folder}"
    )
    if secret := counts.get("hidden"):
        console.say(
            f"the gold labels of {amount(secret, 'CAT')} are hidden; they are only in "
            f"{gold_file(opened, folder.name)}: back it up, it cannot be made again"
        )
    if kept := counts.get("without_votes"):
        console.say(
            f"{amount(kept, 'CAT has', 'CATs have')} no votes; README.md and the JSON files say so."
        )


app.command("check")(release_check.check)
app.command("push")(release_push.push)
app.command("reveal")(release_reveal.reveal)
app.command("near")(release_near.near)
app.command("statement")(release_statement.statement)

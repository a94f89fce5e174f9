"""``curation release``: the folder that is published."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from curation.campaign import open_campaign
from curation.cli import (
    console,
    release_check,
    release_diff,
    release_export,
    release_near,
    release_push,
    release_reveal,
    release_statement,
)
from curation.cli.options import Json, Where
from curation.steps.release.hidden.golds import gold_file
from curation.steps.release.hidden.hiding import as_built, set_hide
from curation.steps.release.making import build_release
from curation.text.wording import amount

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="Build the folder that is published."
)


@app.command("build")
def build(
    campaign: Where = Path(),
    anonymous: Annotated[
        bool,
        typer.Option(
            "--anonymous", help="Build VERSION-anonymous for review, without names and links."
        ),
    ] = False,
    hide: Annotated[
        Literal["labels", "all"] | None,
        typer.Option(
            help="labels: publish the test CATs without their gold labels. all: leave out their "
            "texts, too, and publish only counts and commitments. Either sets hide in [release] "
            "for later versions.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write 7-release/VERSION: data, card, statement, metadata, licence, checksums.

    Score models first, so that the card has their results. The version is set in [release]. A
    version that is built is never rewritten: if its content would change, raise the version, or
    delete the folder if nobody has it.
    """
    opened = open_campaign(campaign)
    if hide:
        opened = set_hide(opened, hide, console)
    with opened.lock():
        made = build_release(opened, anonymous=anonymous, reporter=console)
    counts = made.counts
    if as_json:
        about = {"files": made.files, "open": made.open, "next": made.next}
        console.say_json({"folder": str(made.folder), **counts, **about})
        return
    console.say(
        f"{amount(counts['cats'], 'CAT')}, {amount(counts['annotations'], 'annotation')} in "
        f"{made.folder}"
    )
    console.say(f"{amount(len(made.files), 'file')}: {', '.join(_shown(made.files))}")
    if secret := counts.get("hidden"):
        private = gold_file(opened, opened.settings.release.version)
        texts = "texts and " * (as_built(opened).settings.release.hide == "all")
        console.say(
            f"the {texts}gold labels of {amount(secret, 'CAT')} are hidden; they are only in "
            f"{private}: back it up, it cannot be made again"
        )
    if kept := counts.get("without_votes"):
        console.say(
            f"{amount(kept, 'CAT has', 'CATs have')} no votes; README.md and the JSON files say so."
        )
    if made.open:
        console.say(
            f"{amount(len(made.open), 'question is', 'questions are')} open; README.md and "
            "STATEMENT.md show them."
        )
    console.say(f"next: {made.next}")


def _shown(files: list[str]) -> list[str]:
    """Files of the folder itself, and folders; each folder once."""
    return sorted({name.split("/")[0] + ("/" if "/" in name else "") for name in files})


app.command("statement")(release_statement.statement)
app.command("check")(release_check.check)
app.command("push")(release_push.push)
app.command("diff")(release_diff.diff)
app.command("near")(release_near.near)
app.command("export")(release_export.export)
app.command("reveal")(release_reveal.reveal)

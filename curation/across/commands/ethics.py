"""``curation rounds ethics``: the sheet for ethics boards."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from curation.across.ethics import ethics_sheet
from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.terminal import console
from curation.terminal.options import Where, write_text
from curation.text.wording import amount


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

"""``curation release near``: test CATs that nearly repeat public CATs."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import FILE, Json, Where
from curation.release.contents import published
from curation.steps.pipeline import bring_up_to_date
from curation.steps.release import versions
from curation.steps.release.versions import ANONYMOUS, REVEALED
from curation.steps.source import campaign_source
from curation.text.wording import amount

SHOWN = 20  # pairs


def near(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Other files with public CATs, in any layout.", **FILE),
    ] = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """List test CATs that nearly repeat CATs of dev, of other versions, or of files.

    Such a CAT is known to everybody who has the public one. Nothing is written.
    """
    from curation.steps.release.repeats import near_public

    opened = open_campaign(campaign)
    with opened.lock():
        bring_up_to_date(opened, "split", reporter=console)
    cats = campaign_source(opened).cats
    version = opened.settings.release.version
    own = {f"{version}{end}" for end in ("", ANONYMOUS, REVEALED)}
    others = [place.name for place in versions.built(opened) if place.name not in own]
    counts, pairs = near_public(
        opened, [published(cat) for cat in cats], versions=others, files=files or ()
    )
    if as_json:
        console.say_json(
            {
                "similarity": counts[0].similarity,
                "counts": {row.place: row.cats for row in counts},
                "pairs": [pair._asdict() for pair in pairs],
            }
        )
        return
    test = sum(cat.split == "test" for cat in cats)
    rows = [[row.place, test, row.cats] for row in counts]
    heads = ["public CATs", "test CATs", "near-duplicates"]
    console.table("Test CATs that nearly repeat public ones", heads, rows)
    if pairs:
        console.table("Pairs", ["test CAT", "place", "CAT"], [list(p) for p in pairs[:SHOWN]])
    if len(pairs) > SHOWN:
        console.say(f"{amount(len(pairs) - SHOWN, 'more pair')}; --json lists all")

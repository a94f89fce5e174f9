"""``curation rounds quality``: how each person works, and whom to look at."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.formats.tables import csv_text
from curation.records import GOLDS
from curation.rounds import running
from curation.terminal import console
from curation.terminal.options import Json, Where
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.rounds.quality import PersonQuality


def quality(
    round: Annotated[str | None, typer.Argument()] = None,
    campaign: Where = Path(),
    as_csv: Annotated[bool, typer.Option("--csv")] = False,
    as_json: Json = False,
) -> None:
    """Show how each person works: agreement, labels, runs, time, and why to look at their answers.

    A mark is a reason to look at a person's answers, with the figures and items that led to it.
    Nobody is excluded by it. People who see a target differently differ from others, too: with
    their groups in 2-rounds/annotators.csv (columns annotator and group), they are compared within
    their own group. docs/quality.md defines the figures, and says how often the marks are right.

    Options:
        round (ROUND): The round; default: all rounds.
        as_csv: Print the table as CSV, unrounded.
    """
    from curation.rounds.quality import PersonQuality, thresholds
    from curation.rounds.work_quality import about_removed, read_quality

    if as_csv and as_json:
        raise CurationError("--csv and --json cannot be combined", "choose one of them")
    opened = open_campaign(campaign)
    running.refresh_status(opened, reporter=console)
    result = read_quality(opened, round)
    if as_json:
        console.say_json(result)
        return
    heads = _cells(PersonQuality(""))
    rows = [_cells(person) for person in result.people]
    if as_csv:
        cells = [["" if cell is None else cell for cell in row.values()] for row in rows]
        sys.stdout.write(csv_text([list(heads), *cells]))
        return
    if not rows:
        console.say("no answer counts yet")
        return
    filled = [name for name in heads if any(row[name] not in (None, "") for row in rows)]
    console.wide_table("People", filled, [[row[name] for name in filled] for row in rows])
    for person in result.marked:
        for mark in person.marks:
            items = f"; see «curation rounds item {' '.join(mark.items)}»" if mark.items else ""
            means = thresholds()[mark.code]["means"]
            console.say(f"{person.person}: {mark.code} ({means}): {mark.evidence}{items}")
    if result.marked:
        marked = amount(len(result.marked), "person is", "people are")
        console.say(f"{marked} marked. Look at their answers before you decide; nobody is excluded")
    else:
        console.say("nobody is marked")
    if warning := about_removed(opened):
        console.warn(warning)


PARTS: dict[str, tuple[str, ...]] = {
    "agreement_ci": ("low", "high"),
    "group_agreement_ci": ("group_low", "group_high"),
    "shares": GOLDS,
}


def _cells(person: "PersonQuality") -> dict[str, Any]:
    """A person's row, by column. The table leaves out columns that nobody has a value in."""
    cells: dict[str, Any] = {}
    for name, value in person._asdict().items():
        names = PARTS.get(name, (name,))
        values = [value] if name not in PARTS else value or [None] * len(names)
        cells |= zip(names, values, strict=True)
    return cells | {"marks": ", ".join(mark.code for mark in person.marks)}

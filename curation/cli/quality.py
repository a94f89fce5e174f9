"""``curation rounds quality``: how each person works, and whom to look at."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.files import CurationError
from curation.formats.tables import csv_text
from curation.records import GOLDS
from curation.steps.rounds import running
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
    from curation.steps.rounds.quality import read_quality

    if as_csv and as_json:
        raise CurationError("--csv and --json cannot be combined", "choose one of them")
    opened = open_campaign(campaign)
    running.refresh_status(opened, reporter=console)
    result = read_quality(opened, round)
    if as_json:
        people = [
            {**person._asdict(), "marks": [mark._asdict() for mark in person.marks]}
            for person in result.people
        ]
        console.say_json({"people": people, "excluded": result.excluded, "met": result.met})
        return
    if as_csv:
        cells = [list(_cells(person).values()) for person in result.people]
        heads = list(_cells(PersonQuality("")))
        sys.stdout.write(
            csv_text([heads, *(["" if c is None else c for c in row] for row in cells)])
        )
        return
    rows = [_row(person) for person in result.people]
    filled = [n for n in range(len(HEADS)) if any(row[n] is not None for row in rows)]
    console.table("People", [HEADS[n] for n in filled], [[row[n] for n in filled] for row in rows])
    for person in result.marked:
        for mark in person.marks:
            items = f"; see {', '.join(mark.items)}" if mark.items else ""
            means = thresholds()[mark.code]["means"]
            console.say(f"{person.person}: {mark.code} ({means}): {mark.evidence}{items}")
    marked = amount(len(result.marked), "person is", "people are")
    console.say(f"{marked} marked. Look at their answers before you decide; nobody is excluded")
    if result.warning:
        console.warn(result.warning)


HEADS = (
    *("person", "group", "labels", "tasks", "agreement", "95 %", "in group", "95 % in group"),
    *("s/a/u %", "entropy", "label run", "task run", "seconds", "pace", "pasted", "competence"),
    "marks",
)


def _row(person: "PersonQuality") -> list[Any]:
    """A person's row of the table; columns that nobody has a value in are left out."""
    shares = person.shares and "/".join(f"{100 * share:.0f}" for share in person.shares)
    return [
        *(person.person, person.group or None, person.labels, person.tasks),
        *(person.agreement, person.agreement_ci),
        *(person.group_agreement, person.group_agreement_ci),
        *(shares, person.entropy, person.label_run, person.position_run),
        *(person.seconds, person.pace, person.pasted, person.competence),
        ", ".join(mark.code for mark in person.marks) or None,
    ]


def _cells(person: "PersonQuality") -> dict[str, Any]:
    """A person's row of the CSV table, by column."""
    cells: dict[str, Any] = person._asdict()
    for name in ("agreement_ci", "group_agreement_ci"):
        low, high = cells.pop(name) or (None, None)
        cells |= {name.replace("ci", "low"): low, name.replace("ci", "high"): high}
    cells |= zip(GOLDS, cells.pop("shares") or (None,) * len(GOLDS), strict=True)
    del cells["marks"]
    return cells | {"marks": " ".join(mark.code for mark in person.marks)}

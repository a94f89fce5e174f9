"""What the commands of scores have in common: the CATs, how ties count, files of results."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.campaign import Campaign
from curation.cli import console
from curation.cli.options import FILE
from curation.files import CurationError, dump_json, read_records, writing
from curation.records import Cat

if TYPE_CHECKING:
    from curation.scores.runs import Run

GoldFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--gold",
        help="Instead of a campaign: a gold file; may be repeated.",
        show_default=False,
        **FILE,
    ),
]
Scores = Annotated[
    Path,
    typer.Option(
        "--scores", metavar="DIR", help="With --gold: the folder of MODEL/RULE/scores.jsonl."
    ),
]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Also write the results to this file.", **FILE),
]


class TieRule(StrEnum):
    """How a tie counts."""

    half = "half"
    official = "official"


class Split(StrEnum):
    """Which CATs of a campaign."""

    test = "test"
    dev = "dev"
    all = "all"


LatexFile = Annotated[
    Path | None,
    typer.Option("--latex", help="Also write the table as LaTeX.", show_default=False, **FILE),
]
Intervals = Annotated[
    bool, typer.Option("--intervals", help="Print intervals in the LaTeX table, too.")
]
Ties = Annotated[
    TieRule,
    typer.Option(
        "--ties", help="half: a tie is half won. official: it is lost, as StereoSet counts."
    ),
]
OfCampaign = Annotated[
    Split | None, typer.Option("--split", help="Of a campaign; default test.", show_default=False)
]
Tier = Annotated[
    int | None,
    typer.Option(
        "--tier",
        metavar="N",
        min=1,
        help="Only CATs on whose labels N or more annotators agree; 4 is the paper's stricter set.",
        show_default=False,
    ),
]


def read_gold(paths: Sequence[Path]) -> list[Cat]:
    """The CATs of gold files.

    Raises:
        CurationError: a file is none, or a CAT stands in two.
    """
    from curation.stereoset import read_cats

    cats = [cat for path in paths for cat in read_cats(path)]
    twice = [name for name, times in Counter(cat.id for cat in cats).items() if times > 1]
    if twice:
        raise CurationError(
            f"CAT {min(twice)} stands in two gold files", "name each file once, without overlap"
        )
    ids = Counter(a.id for cat in cats for a in cat.associations)
    if len(ids) < 3 * len(cats):
        raise CurationError(
            f"sentence {ids.most_common(1)[0][0]} stands in two gold files",
            "an id must stand for one sentence: give one of them another",
        )
    return cats


def campaign_cats(campaign: Campaign) -> list[Cat]:
    """The CATs that a campaign has kept.

    Raises:
        CurationError: there are none yet.
    """
    path = campaign.decisions / "cats.jsonl"
    if not path.exists():
        raise CurationError(f"{path}: no CATs yet", "run «curation decisions split»")
    cats = read_records(path, Cat)
    if not cats:
        raise CurationError(f"{path}: no CAT was kept", "collect more labels first")
    return cats


def of_split(
    cats: list[Cat], split: Split | None, gold: Sequence[Path] | None
) -> tuple[list[Cat], str]:
    """The CATs of a split, and its name; gold files give their own.

    Raises:
        CurationError: there is none, or a gold file is asked for a split.
    """
    if gold:
        if split:
            raise CurationError(
                "--split is of a campaign: a gold file does not say it", "name the split's file"
            )
        return cats, "+".join(path.stem for path in gold)
    of = split or Split.test
    own = [cat for cat in cats if of in (Split.all, cat.split)]
    if not own:
        raise CurationError(f"there is no CAT in the split «{of.value}»", "take --split all")
    return own, of.value


def take_tier(cats: Sequence[Cat], tier: int | None) -> list[Cat]:
    """The CATs of a tier or above; warns of those whose votes are not known."""
    from curation.scores.tiers import of_tier

    found, unknown = of_tier(cats, tier)
    if unknown:
        console.warn(f"--tier {tier}: of {unknown} CATs the votes are not known; they are left out")
    return found


def current_runs(runs: "Sequence[Run]", cats: Sequence[Cat]) -> "list[Run]":
    """The runs without scores of texts that have changed since; warns of them."""
    from curation.scores.runs import current

    found, lost = current(runs, cats)
    for name, count in lost.items():
        console.warn(f"{name}: {count} scores are of texts that have changed since; score it again")
    return found


def write_file(path: Path, content: bytes) -> None:
    """Write a whole file, or nothing of it."""
    with writing(path) as file:
        file.write(content)


def write_json(path: Path | None, content: Any) -> None:
    """Write results where they were asked for."""
    if path:
        write_file(path, dump_json(content))


def write_csv(path: Path | None, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV if a file was asked for."""
    if path:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        write_text(path, text.getvalue())


def write_text(path: Path | None, text: str) -> None:
    """Write a text if a file was asked for."""
    if path:
        write_file(path, text.encode())

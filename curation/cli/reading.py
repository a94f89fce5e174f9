"""What the steps read of a campaign: its files, and the tables and records in them."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from curation.campaign import Campaign
from curation.files import CurationError, digest, read_records, read_table
from curation.manifest import read_manifest
from curation.records import Item, Label, Term

if TYPE_CHECKING:
    import pandas as pd

    from curation.decisions.filter import Counted
    from curation.terms.targets import Edit


def _round_files(campaign: Campaign, name: str) -> list[Path]:
    return [campaign.rounds / round / name for round in campaign.round_names()]


def item_files(campaign: Campaign) -> list[Path]:
    """Every round's items."""
    return _round_files(campaign, "items.jsonl")


def label_files(campaign: Campaign) -> list[Path]:
    """Every round's labels."""
    return _round_files(campaign, "labels.jsonl")


def raw_files(campaign: Campaign) -> list[Path]:
    """Every segment of every round's archive."""
    from curation.rounds.archive import segments

    return [p for raw in _round_files(campaign, "raw") for p in segments(raw)]


def raw_is_here(campaign: Campaign) -> bool:
    """Whether the raw answers are on this machine, whole and as they came.

    Raises:
        CurationError: of what the items and labels were made, a part is gone or was changed.
    """
    run = read_manifest(campaign.rounds).steps.get("fold")
    known = {n: sha for n, sha in run.inputs.items() if "/raw/" in n} if run else {}
    here = bool(raw_files(campaign))
    for name, sha in known.items() if here else ():
        found = digest(campaign.root / name)
        if found != sha:
            what = "were changed" if found else "are not here"
            raise CurationError(
                f"{campaign.root / name}: these raw answers {what}",
                "put the file back from a backup, or from whoever has it; nothing was touched",
            )
    return here


Stamps = tuple[tuple[Path, int, int], ...]


def _stamps(paths: Sequence[Path]) -> Stamps:
    """What tells whether files are still those that were read."""
    stats = [(path, path.stat()) for path in paths]
    return tuple((path, stat.st_mtime_ns, stat.st_ino) for path, stat in stats)


@lru_cache(maxsize=1)
def _items(stamps: Stamps) -> list[Item]:
    return [item for path, *_ in stamps for item in read_records(path, Item)]


@lru_cache(maxsize=1)
def _labels(stamps: Stamps) -> "pd.DataFrame":
    return read_table([path for path, *_ in stamps], Label)


def read_items(campaign: Campaign) -> list[Item]:
    """The items of all rounds; read once while the files stay as they are."""
    return _items(_stamps(item_files(campaign)))


def read_labels(campaign: Campaign) -> "pd.DataFrame":
    """The labels of all rounds as a table; read once while the files stay as they are."""
    return _labels(_stamps(label_files(campaign)))


def read_terms(campaign: Campaign) -> dict[str, Term]:
    """The campaign's terms by id."""
    return {t.id: t for t in read_records(campaign.terms / "targets.jsonl", Term)}


def terms_of(campaign: Campaign, items: Sequence[Item]) -> dict[str, Term]:
    """The campaign's terms by id, those of all these items among them.

    Raises:
        CurationError: an item's term is not there; the raw answers and the settings have parted.
    """
    terms = read_terms(campaign)
    for item in items:
        if item.term not in terms:
            raise CurationError(
                f"item {item.id}: its term {item.term} is not in 1-terms/targets.jsonl",
                "put its domain back into [campaign], or go to where the raw answers are",
            )
    return terms


def read_counted(campaign: Campaign, items: Sequence[Item]) -> "Counted":
    """Which labels count, under the campaign's settings."""
    from curation.decisions.filter import count

    knobs = campaign.settings.decisions
    return count(
        items,
        read_labels(campaign),
        of=knobs.of,
        count_writer=knobs.count_writer,
        count_repeats=knobs.count_repeats,
        rounds=knobs.rounds,
    )


def read_edits(campaign: Campaign) -> "list[Edit]":
    """What people said of terms; nothing where the file is missing or empty."""
    from curation.rounds.tables import read_rows
    from curation.terms import targets

    path = campaign.terms / "edits.csv"
    if not path.exists() or not path.read_bytes().strip():
        return []
    return targets.read_edits(read_rows(path), str(path))

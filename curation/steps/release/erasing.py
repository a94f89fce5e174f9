"""Which built versions hold CATs and labels that are to be erased, and how versions are deleted."""

import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from curation.campaign import Campaign
from curation.files import digest, read_bytes
from curation.leftovers import beside
from curation.manifest import file_names
from curation.release.layout import ERRATA, SUMS
from curation.steps.release.versions import ANONYMOUS, REVEALED, built

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_CELL = re.compile(r'[^",\r\n]+')


class Held(NamedTuple):
    """What a built version holds of a person, or of CATs that are lost.

    Attributes:
        cats: how many of the CATs it holds.
        labels: how many of the person's labels it holds.
    """

    cats: int
    labels: int


def holding(campaign: Campaign, cats: Collection[str], person: str = "") -> dict[str, Held]:
    """The built versions that hold one of these CATs, or a label by a person.

    The texts in Parquet files are not read: their labels are in ``annotations.csv``, too. The ids
    of hidden CATs are in the private file with their gold labels.

    Args:
        campaign: the campaign.
        cats: ids of CATs.
        person: the person's pseudonym; nobody's labels are looked for without one.
    """
    versions = {}
    for place in built(campaign):
        cells = Counter[str]()  # of the table, which has one row per label
        quoted = Counter[str]()  # of the JSON files, which may be all that is there
        for path in (*map(place.joinpath, file_names(place)), *_private(campaign, place.name)):
            # Errata also name CATs that were removed; the version itself has all the others.
            if path.suffix not in (".csv", ".json", ".jsonl") or path.name == ERRATA:
                continue
            text = read_bytes(path).decode("utf-8", "replace")
            if path.suffix == ".csv":
                cells.update(_CELL.findall(text))
            else:
                quoted.update(_QUOTED.findall(text))
        ids = {id for id in cats if id in cells or id in quoted}
        labels = max(cells[person], quoted[person]) if person else 0
        if ids or labels:
            versions[place.name] = Held(len(ids), labels)
    return versions


def _private(campaign: Campaign, version: str) -> list[Path]:
    """The private file of a version with hidden gold labels, if it has one."""
    version = version.removesuffix(REVEALED).removesuffix(ANONYMOUS)
    path = campaign.releases / f"gold-{version}.jsonl"
    return [path] if path.is_file() else []


def fingerprint(campaign: Campaign, version: str) -> str:
    """The sha256 of a version's ``SHA256SUMS``, which is that of its content; empty if missing."""
    return digest(campaign.releases / version / SUMS) or ""


def delete(campaign: Campaign, versions: Iterable[str]) -> list[str]:
    """Delete built versions; gives those that are deleted.

    A version whose folder is a link is left: the folder that it points to is not the campaign's. So
    is one that cannot be deleted. The private gold file of a version goes with it.
    """
    deleted = []
    for version in versions:
        place = campaign.releases / version
        if place.is_symlink() or campaign.releases.is_symlink():
            continue
        try:
            place.rename(beside(place))  # a killed deletion leaves no half of a version
            shutil.rmtree(beside(place))
        except OSError:
            continue
        if not version.endswith((ANONYMOUS, REVEALED)):
            for path in _private(campaign, version):
                with suppress(OSError):
                    path.unlink()
        deleted.append(version)
    return deleted

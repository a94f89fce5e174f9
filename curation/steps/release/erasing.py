"""Which built versions hold CATs and labels that are to be erased, and how versions are deleted."""

import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from curation.campaign import Campaign
from curation.files import beside, digest, read_bytes
from curation.release.contents import ERRATA, SUMS
from curation.steps.release.versions import ANONYMOUS, REVEALED, built
from curation.work.manifest import file_names

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ORIGINAL = re.compile(r'.*"original":"([^"]*)"')  # the last one in a line is the CAT's
_CELL = re.compile(r'[^",\r\n]+')


class Held(NamedTuple):
    """What a built version holds of a person, or of CATs that are lost.

    Attributes:
        cats: how many of the CATs it holds.
        labels: how many of the person's labels it holds.
    """

    cats: int
    labels: int


def names(campaign: Campaign) -> list[str]:
    """The names of all built versions, also of those of which only the gold file is left."""
    alone = (path.stem.removeprefix("gold-") for path in campaign.releases.glob("gold-*.jsonl"))
    return sorted({*(place.name for place in built(campaign)), *alone})


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
    for place in (campaign.releases / name for name in names(campaign)):
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


def delete(campaign: Campaign, versions: Iterable[str], items: Collection[str]) -> list[str]:
    """Delete built versions; gives those that are deleted.

    A version whose folder is a link is left: the folder that it points to is not the campaign's. So
    is one that cannot be deleted. The private gold file of a version goes with it, if the version
    was revealed, or if the file has an item that the campaign has no longer. Otherwise it stays:
    it cannot be made again, and published copies of the version need it.

    Args:
        campaign: the campaign.
        versions: their names.
        items: the ids of the items that the campaign has.
    """
    deleted = []
    ending = len(REVEALED)
    revealed = {p.name[:-ending] for p in built(campaign) if p.name.endswith(REVEALED)}
    for version in versions:
        place = campaign.releases / version
        if place.is_symlink() or campaign.releases.is_symlink():
            continue
        try:
            if place.exists():
                place.rename(beside(place))  # a killed deletion leaves no half of a version
                shutil.rmtree(beside(place))
            if not version.endswith((ANONYMOUS, REVEALED)):
                for path in _private(campaign, version):
                    if version in revealed or not _originals(path) <= set(items):
                        path.unlink()
        except OSError:
            continue
        deleted.append(version)
    return deleted


def _originals(path: Path) -> set[str]:
    """The ids in the campaign of the CATs in a gold file, which may be damaged."""
    lines = read_bytes(path).decode("utf-8", "replace").splitlines()
    return {match[1] if (match := _ORIGINAL.search(line)) else "" for line in lines}

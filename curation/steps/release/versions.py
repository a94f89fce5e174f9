"""The built versions of a release: none is ever rewritten; and which of them hold what.

A version is the folder ``7-release/VERSION``. Its ``SHA256SUMS`` says what it was built with; the
manifest describes the last build only.
"""

import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from curation.campaign import Campaign
from curation.catsets.entries import sentences_of
from curation.catsets.labels import is_hidden
from curation.files import CurationError, digest, read_bytes, read_json, refuse_links
from curation.leftovers import beside
from curation.manifest import file_names, is_inside, read_manifest
from curation.records import KINDS, SplitName
from curation.release.contents import SPLITS
from curation.release.layout import ERRATA, SUMS
from curation.steps.rounds.round_files import read_standing
from curation.wording import some

_NAMED = 3  # files that an error names
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ORIGINAL = re.compile(r'.*"original":"([^"]*)"')  # the last one in a line is the CAT's
_CELL = re.compile(r'[^",\r\n]+')


ANONYMOUS, REVEALED = "-anonymous", "-revealed"
"""What the folders of an anonymous and of a revealed version have after the version."""


class BuiltError(CurationError):
    """A version is built already, and its content would change."""


class NoParquetError(CurationError):
    """A release needs pyarrow, and it is not installed."""


class Held(NamedTuple):
    """What a built version holds of a person, or of CATs that are lost.

    Attributes:
        cats: how many of the CATs it holds.
        labels: how many of the person's labels it holds.
    """

    cats: int
    labels: int


def name(campaign: Campaign, *, anonymous: bool = False) -> str:
    """The name of the folder of the version that the settings name."""
    return campaign.settings.release.version + (ANONYMOUS if anonymous else "")


def folder(campaign: Campaign, *, anonymous: bool = False) -> Path:
    """The folder of the version that the settings name."""
    return campaign.releases / name(campaign, anonymous=anonymous)


def built(campaign: Campaign) -> list[Path]:
    """The folders of all built versions, by name."""
    there = campaign.releases.glob("*")
    return sorted(path for path in there if path.is_dir() and not path.name.startswith("."))


def taken(campaign: Campaign, *, anonymous: bool = False) -> bool:
    """Whether the version that the settings name was built, so that it is never rewritten."""
    place = folder(campaign, anonymous=anonymous)
    return place.exists() or place.name in _erased(campaign)


def blocked(campaign: Campaign, *, anonymous: bool = False) -> CurationError | None:
    """The error if a release cannot be written: pyarrow is missing, or a link is in the way."""
    from curation.release.data.parquet_files import check_installed

    try:
        check_installed()
    except CurationError as error:
        return NoParquetError(error.what, error.fix)
    return linked(campaign, anonymous=anonymous)


def _erased(campaign: Campaign) -> set[str]:
    """The versions that were deleted because a person had everything erased."""
    lines = read_standing(campaign)
    return {name for line in lines if line.delete_releases for name in line.released}


def linked(campaign: Campaign, *, anonymous: bool = False) -> CurationError | None:
    """The error if a release would be written through a link, or over a file.

    That is so if ``7-release``, the version's folder or something in it is a symbolic link.
    """
    place = folder(campaign, anonymous=anonymous)
    inside = place.rglob("*") if place.is_dir() and not place.is_symlink() else ()
    try:
        for path in (place, *sorted(inside)):
            refuse_links(path, below=campaign.root)
    except CurationError as error:
        return error
    for path in (campaign.releases, place):
        if path.exists() and not path.is_dir():
            return CurationError(f"{path}: is a file, not a folder", "move it away")
    return None


def check_unchanged(campaign: Campaign, staged: Path, *, anonymous: bool = False) -> None:
    """Check that a version is not built yet, or has exactly the content that would be written.

    Files that are missing may be written again.

    Args:
        campaign: the campaign; its settings name the version.
        staged: the folder with all files that would be written.
        anonymous: whether the version is anonymous.

    Raises:
        BuiltError: the version is built, and a file would change or disappear; the message names
            the first ones. Or the version was deleted after an erasure.
    """
    place = folder(campaign, anonymous=anonymous)
    if not place.exists():
        if place.name in _erased(campaign):
            raise BuiltError(
                f"version {place.name} was deleted because a person had their answers erased; it "
                "is not built again with other content",
                "raise version in [release]",
            )
        return
    sums = {name: digest(staged / name) for name in file_names(staged)}
    recorded = _recorded(campaign, place)
    now = {name: _digest(place / name) for name in {*sums, *recorded}}
    # A missing file is compared by what is recorded of it.
    before = {name: sha or recorded.get(name) for name, sha in now.items()}
    changed = [name for name, sha in before.items() if sha and sha != sums.get(name)]
    if not changed:
        return
    # The checksums change with any other file, so they are named last.
    changed.sort(key=lambda name: (name == SUMS, name.casefold()))
    where = f"{campaign.releases.name}/{place.name}"
    named = some(changed, _NAMED)
    if all(recorded.get(name) == sums.get(name) for name in changed):
        raise BuiltError(
            f"{where}: changed after it was built: {named}; a built version is never rewritten",
            "delete these files, and «curation release build» writes them again as they were",
        )
    raise BuiltError(
        f"{where} is built already, and its content would change: {named}; a built version is "
        "never rewritten",
        "raise version in [release] and build again; or, if nobody has this version, delete the "
        "folder",
    )


def _recorded(campaign: Campaign, place: Path) -> dict[str, str]:
    """The sha256 of a version's files as it was built, from ``SHA256SUMS`` and the manifest."""
    path = place / SUMS
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    pairs = (line.partition("  ") for line in lines)
    sums = {name: sha for sha, _, name in pairs if is_inside(name)}
    own = f"{place.name}/"
    made = {
        name.removeprefix(own): sha
        for run in read_manifest(campaign.releases).steps.values()
        for name, sha in run.outputs.items()
        if name.startswith(own)
    }
    return sums | made


def _digest(path: Path) -> str | None:
    return "a folder" if path.is_dir() else digest(path)


# --- what versions hold ---------------------------------------------------------------------


def items_of(place: Path, splits: Iterable[SplitName] = SPLITS) -> list[dict[str, Any]]:
    """The items of a built version's JSON files, with their kind as ``kind``.

    What does not have the form of such a file is left out.

    Raises:
        CurationError: a file is not JSON.
    """
    every: list[dict[str, Any]] = []
    for name in splits:
        path = place / f"{name}.json"
        content = read_json(path) if path.is_file() else None
        data = content.get("data") if isinstance(content, dict) else None
        if not isinstance(data, dict):
            continue
        for kind in KINDS:
            items = data.get(kind)
            rows = items if isinstance(items, list) else ()
            every += [{**item, "kind": kind} for item in rows if isinstance(item, dict)]
    return every


def is_hidden_item(item: dict[str, Any]) -> bool:
    """Whether an item of a file has no gold labels."""
    golds = [sentence.get("gold_label") for sentence in sentences_of(item)]
    return not golds or any(gold is None or is_hidden(gold) for gold in golds)


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

"""The built versions of a release: none is ever rewritten.

A version is the folder ``7-release/VERSION``. Its ``SHA256SUMS`` says what it was built with; the
manifest describes the last build only.
"""

import re
import shutil
import uuid
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from curation.campaign.manifest import file_names, is_inside
from curation.campaign.step import UnlessNamedError
from curation.campaign.store import Campaign
from curation.campaign.versions import (
    ANONYMOUS,
    BUILT,
    REVEALED,
    Built,
    built_versions,
    earlier,
    first_builds_file,
)
from curation.files import (
    CurationError,
    beside,
    digest,
    dump_line,
    read_bytes,
    read_json,
    refuse_links,
)
from curation.formats.parquet import check_installed
from curation.release import differences
from curation.release.differences import Change, Difference, difference
from curation.released.contents import ERRATA, FACTS, SUMS, Contents, Version
from curation.released.facts import Changes
from curation.released.versions import read_version
from curation.text.times import now
from curation.text.wording import amount, some
from curation.version import __version__
from curation.work.run_folder import append_lines, cut_half_line

_NAMED = 3  # files that an error names


class NoParquetError(UnlessNamedError):
    """A release needs pyarrow, and it is not installed."""


def version_name(campaign: Campaign, *, anonymous: bool = False) -> str:
    """The name of the folder of the version that the settings name."""
    return campaign.settings.release.version + (ANONYMOUS if anonymous else "")


def version_folder(campaign: Campaign, *, anonymous: bool = False) -> Path:
    """The folder of the version that the settings name."""
    return campaign.folder("release") / version_name(campaign, anonymous=anonymous)


def is_taken(campaign: Campaign, *, anonymous: bool = False) -> bool:
    """Whether the version that the settings name was built, so that it is never rewritten."""
    place = version_folder(campaign, anonymous=anonymous)
    return place.exists() or place.name in _erased(campaign)


def why_blocked(campaign: Campaign, *, anonymous: bool = False) -> CurationError | None:
    """The error if a release cannot be written.

    That is so if pyarrow is missing; if ``7-release``, the version's folder or something in it is a
    symbolic link; or if one of these folders is a file.
    """
    place = version_folder(campaign, anonymous=anonymous)
    inside = place.rglob("*") if place.is_dir() and not place.is_symlink() else ()
    try:
        check_installed()
    except CurationError as error:
        return NoParquetError(error.what, error.fix)
    try:
        for path in (place, *sorted(inside)):
            refuse_links(path, below=campaign.root)
    except CurationError as error:
        return error
    for path in (campaign.folder("release"), place):
        if path.exists() and not path.is_dir():
            return CurationError(f"{path}: is a file, not a folder", "move it away")
    return None


def _erased(campaign: Campaign) -> set[str]:
    """The versions that were deleted because a person had everything erased."""
    lines = campaign.standing
    return {name for line in lines if line.delete_releases for name in line.released}


def check_not_erased(campaign: Campaign, *, anonymous: bool = False) -> None:
    """Check that the version was not deleted after an erasure.

    Raises:
        UnlessNamedError: it was.
    """
    place = version_folder(campaign, anonymous=anonymous)
    if not place.exists() and place.name in _erased(campaign):
        raise UnlessNamedError(
            f"version {place.name} was deleted because a person had their answers erased; it "
            "is not built again with other content",
            "raise version in [release]",
        )


def check_unchanged(campaign: Campaign, staged: Path, *, anonymous: bool = False) -> None:
    """Check that a version is not built yet, or has exactly the content that would be written.

    Files that are missing may be written again.

    Args:
        campaign: the campaign; its settings name the version.
        staged: the folder with all files that would be written.
        anonymous: whether the version is anonymous.

    Raises:
        UnlessNamedError: the version is built, and a file would change or disappear; the message
            names the first ones.
    """
    place = version_folder(campaign, anonymous=anonymous)
    if not place.exists():
        return
    sums = {name: digest(staged / name) for name in file_names(staged)}
    recorded = _recorded(campaign, place)
    paths = {name: place / name for name in {*sums, *recorded}}
    now = {n: "a folder" if path.is_dir() else digest(path) for n, path in paths.items()}
    # A missing file is compared by what is recorded of it.
    before = {name: sha or recorded.get(name) for name, sha in now.items()}
    changed = [name for name, sha in before.items() if sha and sha != sums.get(name)]
    if not changed:
        return
    # The checksums change with any other file, so they are named last.
    changed.sort(key=lambda name: (name == SUMS, name.casefold()))
    where = f"{campaign.folder('release').name}/{place.name}"
    named = some(changed, _NAMED)
    if all(recorded.get(name) == sums.get(name) for name in changed):
        raise UnlessNamedError(
            f"{where}: changed after it was built: {named}; a built version is never rewritten",
            "delete these files, and «curation release build» writes them again as they were",
        )
    raise UnlessNamedError(
        f"{where} is built already, and its content would change: {named}; a built version is "
        "never rewritten",
        "raise version in [release] and build again; or, if nobody has this version, delete the "
        "folder",
    )


def read_sums(path: Path) -> list[tuple[str, str]]:
    """The lines of ``SHA256SUMS``, unchecked: the name and the sha256 of each file."""
    lines = read_bytes(path).decode("utf-8", "replace").splitlines() if path.is_file() else []
    return [(name, sha) for sha, _, name in (line.partition("  ") for line in lines)]


def _recorded(campaign: Campaign, place: Path) -> dict[str, str]:
    """The sha256 of a version's files as it was built, from ``SHA256SUMS`` and the manifest."""
    sums = {name: sha for name, sha in read_sums(place / SUMS) if is_inside(name)}
    own, runs = f"{place.name}/", campaign.manifest(campaign.folder("release")).steps.values()
    outputs = ((name, sha) for run in runs for name, sha in run.outputs.items())
    return sums | {name.removeprefix(own): sha for name, sha in outputs if name.startswith(own)}


# --- first builds --------------------------------------------------------------------------------


def first_build(campaign: Campaign, *, anonymous: bool = False) -> Built:
    """The first build of the version that the settings name; made up now if there was none.

    If the line is missing and the version's folder exists, its ``release.json`` says the same.
    Nothing is written: see ``record``.

    Args:
        campaign: the campaign; its settings name the version.
        anonymous: whether the version is anonymous.

    Raises:
        CurationError: a line of ``built.jsonl`` is damaged.
    """
    cut_half_line(first_builds_file(campaign))
    version = version_name(campaign, anonymous=anonymous)
    for line in campaign[BUILT]:
        if line.version == version:
            return line
    path = campaign.folder("release") / version / FACTS
    new = {"version": version, "anonymous": anonymous}
    try:
        facts = read_json(path) if path.exists() else {}
        known = {"date": facts["date"], "canary": facts["canary"]}
        return Built.model_validate(new | known | {"curation": facts["versions"]["curation"]})
    except (CurationError, KeyError, TypeError, ValidationError):  # none, or it was edited
        known = {"date": now()[:10], "canary": str(uuid.uuid4()), "curation": __version__}
        return Built.model_validate(new | known)


def record_build(campaign: Campaign, build: Built) -> None:
    """Append a first build to ``built.jsonl``, unless the file has it."""
    path = first_builds_file(campaign)
    if any(line.version == build.version for line in campaign[BUILT]):
        return
    refuse_links(path, below=campaign.root)
    path.parent.mkdir(parents=True, exist_ok=True)
    append_lines(path, [dump_line(build)])


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


def version_names(campaign: Campaign) -> list[str]:
    """The names of all built versions, also of those of which only the gold file is left."""
    alone = (
        path.stem.removeprefix("gold-") for path in campaign.folder("release").glob("gold-*.jsonl")
    )
    return sorted({*(place.name for place in built_versions(campaign)), *alone})


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
    for place in (campaign.folder("release") / name for name in version_names(campaign)):
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
        labels = max(cells[person], quoted[person]) if person else 0
        held = Held(len(set(cats) & (cells.keys() | quoted.keys())), labels)
        if any(held):
            versions[place.name] = held
    return versions


def _private(campaign: Campaign, version: str) -> list[Path]:
    """The private file of a version with hidden gold labels, if it has one."""
    version = version.removesuffix(REVEALED).removesuffix(ANONYMOUS)
    path = campaign.folder("release") / f"gold-{version}.jsonl"
    return [path] if path.is_file() else []


def fingerprint(campaign: Campaign, version: str) -> str:
    """The sha256 of a version's ``SHA256SUMS``, which is that of its content; empty if missing."""
    return digest(campaign.folder("release") / version / SUMS) or ""


def delete_versions(
    campaign: Campaign, versions: Iterable[str], items: Collection[str]
) -> list[str]:
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
    there = {place.name for place in built_versions(campaign)}
    for version in versions:
        place = campaign.folder("release") / version
        if place.is_symlink() or campaign.folder("release").is_symlink():
            continue
        try:
            if place.exists():
                place.rename(beside(place))  # a killed deletion leaves no half of a version
                shutil.rmtree(beside(place))
            if not version.endswith((ANONYMOUS, REVEALED)):
                for path in _private(campaign, version):
                    if f"{version}{REVEALED}" in there or not _originals(path) <= set(items):
                        path.unlink()
        except OSError:
            continue
        deleted.append(version)
    return deleted


def _originals(path: Path) -> set[str]:
    """The ids in the campaign of the CATs in a gold file, which may be damaged."""
    lines = read_bytes(path).decode("utf-8", "replace").splitlines()
    return {match[1] if (match := _ORIGINAL.search(line)) else "" for line in lines}


MOVED = "moved_to_test"
"""The code in ``accept`` that lets a release have public dev data in test."""
_SHOWN = 5


def changes(
    campaign: Campaign, contents: Contents, whole: Contents | None = None
) -> tuple[Changes, list[Change]] | None:
    """How a release differs from the version before it.

    Args:
        campaign: the campaign; its settings name the version.
        contents: what the release publishes, with what it hides already removed.
        whole: if the test set is sealed, the contents with its texts: none may be of public dev.

    Returns:
        The numbers, and the errata (written by ``differences.errata_text``). The errata leave out
        CATs whose gold labels are hidden in either version. None if there is no earlier version.

    Raises:
        CurationError: dev data of an earlier version would be in test, and ``accept`` does not
            allow it; or an earlier version is damaged.
    """
    since = None
    for folder in reversed(earlier(campaign)):
        before = _earlier_version(folder)
        changed = difference(before, version_of(contents))
        check_moved(campaign, difference(before, version_of(whole)) if whole else changed)
        since = since or (differences.difference_facts(changed), changed.open_changes())
        if MOVED in campaign.settings.release.accept:
            break  # older versions are read for this check only
    return since


def version_of(contents: Contents) -> Version:
    """The contents of a release, as they are compared with other versions."""
    terms = {(line.term.domain, line.term.text): line.term.id for line in contents.terms}
    return Version(contents.version, contents.cats, terms or None, sealed=contents.sealed)


def _earlier_version(folder: Path) -> Version:
    try:
        return read_version(folder)
    except CurationError as error:
        raise CurationError(
            f"an earlier version cannot be read, so changes since then are not known: {error.what}",
            f"restore {folder.parent.name}/{folder.name}, such as from where it is published; or, "
            "if nobody has this version, delete its folder",
        ) from None


def check_moved(campaign: Campaign, changed: Difference) -> None:
    """Refuse a release whose test split has public dev data of an earlier version.

    Raises:
        CurationError: a term moved from dev to test, or texts that were in dev are in test, and
            ``accept`` in [release] does not name ``moved_to_test``.
    """
    if MOVED in campaign.settings.release.accept or not (changed.to_test or changed.seen):
        return
    parts = []
    if changed.to_test:
        count = amount(len(changed.to_test), "term was", "terms were")
        named = some(differences.term_names(changed.to_test), _SHOWN)
        parts.append(f"{count} in dev and would be in test now: {named}")
    terms, seen = set(changed.to_test), set(changed.seen)
    in_test = (cat for cat in changed.after.cats if cat.id in seen)
    if others := [cat.id for cat in in_test if (cat.domain, cat.target) not in terms]:
        count = amount(len(others), "CAT in test has", "CATs in test have")
        parts.append(f"{count} texts that were in dev: {some(others, _SHOWN)}")
    newest = earlier(campaign)[-1].name
    raise CurationError(
        f"{MOVED}: since version {changed.before.name}, {'; and '.join(parts)}. Published dev data "
        "may have been used to tune models",
        f'set keep = "{newest}" in [split], so that terms stay in their split; or leave these '
        f'items out (leave_out in [decisions]); if you accept it, add "{MOVED}" to accept in '
        "[release]",
    )

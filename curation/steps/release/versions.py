"""The built versions of a release: none is ever rewritten.

A version is the folder ``7-release/VERSION``. Its ``SHA256SUMS`` says what it was built with; the
manifest describes the last build only.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.catsets.entries import is_hidden, sentences_of
from curation.files import CurationError, digest, read_bytes, read_json, refuse_links
from curation.records import KINDS, SplitName
from curation.release.contents import SPLITS, SUMS
from curation.release.hidden.commitments import texts
from curation.steps.rounds.round_files import read_standing
from curation.steps.step import UnlessNamedError
from curation.text.wording import some
from curation.work.manifest import file_names, is_inside, read_manifest

_NAMED = 3  # files that an error names

ANONYMOUS, REVEALED = "-anonymous", "-revealed"
"""What the folders of an anonymous and of a revealed version have after the version."""


class BuiltError(UnlessNamedError):
    """A version is built already, and its content would change."""


class NoParquetError(UnlessNamedError):
    """A release needs pyarrow, and it is not installed."""


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
    from curation.release.data_files import check_installed

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
    lines = read_bytes(path).decode("utf-8", "replace").splitlines() if path.is_file() else []
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


# --- their items ----------------------------------------------------------------------------------


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


def texts_of_item(item: dict[str, Any]) -> tuple[object, ...]:
    """What makes an item of a version the same CAT for a reader, whatever its id and labels are."""
    sentences = (str(s.get("sentence")) for s in sentences_of(item))
    return texts(item["kind"], str(item.get("context")), sentences)

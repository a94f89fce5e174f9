"""Reveal the hidden gold labels of a version: the folder ``7-release/VERSION-revealed``."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from curation.campaign.counted import read_counted
from curation.campaign.manifest import file_names, is_inside, write_folder
from curation.campaign.store import Campaign
from curation.campaign.versions import ANONYMOUS, REVEALED, History, gold_file
from curation.catsets.stereoset import FileSettings
from curation.decisions.steps import kept_without_votes
from curation.files import CurationError, digest, read_bytes, read_json, refuse_links
from curation.release.collecting import file_settings, warning
from curation.release.versions import read_sums
from curation.released import commitments
from curation.released.commitments import HiddenGold, read_golds
from curation.released.contents import STEREOSET, SUMS, Contents, published
from curation.released.versions import read_commitments
from curation.text.wording import amount, some
from curation.work.reporter import QUIET

_SHOWN = 3  # CATs or files that an error names


class Revealed(NamedTuple):
    """A revealed folder, its CATs, and how many of them have tiers and annotations."""

    folder: Path
    cats: int
    unchanged: int


def reveal(campaign: Campaign, version: str) -> Revealed:
    """Write the hidden gold labels of a version with their proof.

    Before anything is written, every commitment is computed again, and compared with the public
    folder, which must be as it was built. Tiers and annotations are those of the campaign now: of
    the CATs that still have the texts and gold labels of the version, and of people who have not
    withdrawn. No step is run.

    Args:
        campaign: the campaign.
        version: the version with hidden gold labels.

    Raises:
        CurationError: the version has no hidden gold labels; a file is missing, damaged or was
            changed; or a commitment does not hold.
    """
    from curation.release.build import revealed_files

    golds = proved_golds(campaign, version)
    contents = _contents(campaign, version, golds)
    name, says = campaign.settings.campaign.name, warning(campaign)
    content = revealed_files(golds, contents, name=name, warning=says)
    content[SUMS] = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(content.items())
    ).encode()
    folder = campaign.folder("release") / f"{version}{REVEALED}"
    _check_not_other(campaign, folder, content)
    write_folder(folder, content)
    return Revealed(folder, len(golds), len(contents.cats))


def proved_golds(campaign: Campaign, version: str) -> list[HiddenGold]:
    """The hidden CATs of a version with their gold labels, in the order of their public ids.

    Raises:
        CurationError: the version has no hidden gold labels; a file is missing, damaged or was
            changed; or a commitment does not hold.
    """
    path = gold_file(campaign, version)
    if not path.exists():
        raise _no_golds(campaign, version)
    golds = sorted(read_golds(path), key=lambda gold: gold.id)
    for place in _public(campaign, version):
        check_sums(place)
        _check_proved(place, path, golds)
    return golds


def _contents(campaign: Campaign, version: str, golds: Sequence[HiddenGold]) -> Contents:
    """What the campaign has of the hidden CATs, under its own ids, as far as it is the same."""
    from curation.release.data_files import annotations

    every = campaign.cats
    changed = {*commitments.differences(map(published, every), golds)}
    cats = [cat for cat in every if cat.id not in changed]
    labels = read_counted(campaign, campaign.items).labels
    place = _public(campaign, version)[0]
    file = place / STEREOSET[0 if golds[0].sealed else 1]
    settings = FileSettings.model_validate(read_json(file).get("curation", {}))
    if golds[0].sealed and cats:  # other names of test targets are not public
        names = file_settings(campaign.settings, campaign.terms, cats, QUIET).names
        settings = settings.model_copy(update={"names": names})
    without = frozenset(kept_without_votes(campaign) if cats else ())
    table = annotations(cats, labels)
    return Contents(version, tuple(map(published, cats)), table, (), settings, without)


def _no_golds(campaign: Campaign, version: str) -> CurationError:
    known, path = ", ".join(History(campaign).files), gold_file(campaign, version)
    if (campaign.folder("release") / version).is_dir():
        return CurationError(
            f"{path}: no such file, so version {version} has no hidden gold labels, or they are "
            "lost",
            "if it has hidden ones, restore the file from a backup"
            + (f"; versions with a gold file: {known}" if known else ""),
        )
    fix = f"versions with hidden gold labels: {known or 'none'}"
    return CurationError(f"{path}: no such file", fix)


def _public(campaign: Campaign, version: str) -> list[Path]:
    """The built folders of a version: the ordinary one and the anonymous one."""
    places = [campaign.folder("release") / f"{version}{end}" for end in ("", ANONYMOUS)]
    there = [place for place in places if place.is_dir()]
    if not there:
        raise CurationError(
            f"{places[0]}: no such folder, so it cannot be proved what was published",
            "put back the folder as you published it",
        )
    return there


def check_sums(place: Path) -> None:
    """Check that a folder has the files that its checksums list, unchanged.

    Raises:
        CurationError: it has not.
    """
    path = place / SUMS
    if not path.is_file():
        raise CurationError(f"{path}: no such file", "put back the folder as you published it")
    lines = read_sums(path)
    sums = dict(lines)
    if bad := [number for number, (name, _) in enumerate(lines, 1) if not is_inside(name)]:
        raise CurationError(
            f"{path} line {bad[0]}: is not a checksum with the name of a file",
            "put back the folder as you published it",
        )
    now = {name: digest(place / name) or "" for name in file_names(place) if name != SUMS}
    changed = sorted(name for name in sums.keys() | now.keys() if sums.get(name) != now.get(name))
    if changed:
        raise CurationError(
            f"{place}: changed after it was built: {some(changed, _SHOWN)}",
            "put back the folder as you published it; «curation release build» writes missing files"
            " again",
        )


def _check_proved(place: Path, path: Path, golds: Sequence[HiddenGold]) -> None:
    """Check every gold label against the commitments that were published."""
    problems = commitments.verify(read_commitments(place), commitments.reveal_rows(golds))
    if problems:
        raise CurationError(
            f"{path.name} does not reveal {place}: {amount(len(problems), 'problem')}: "
            f"{'; '.join(problems[:_SHOWN])}",
            "put back the gold file and the folder of the version as they were built",
        )


def _check_not_other(campaign: Campaign, folder: Path, content: dict[str, bytes]) -> None:
    """Check that an earlier reveal of the version has the same content, as far as it is there."""
    refuse_links(folder, below=campaign.root)
    if not folder.is_dir():
        return
    there = {name: read_bytes(folder / name) for name in file_names(folder)}
    if changed := [name for name, data in there.items() if data != content.get(name)]:
        raise CurationError(
            f"{folder} is there already, and its content would change: {some(changed, _SHOWN)}",
            "keep the folder if you have published it; else delete it and reveal again",
        )

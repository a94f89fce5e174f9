"""The built versions of a campaign's release, and those that a split keeps."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints

from curation.campaign.dataset import Dataset, in_file
from curation.campaign.store import Campaign
from curation.files import CurationError, read_bytes
from curation.formats.tables import read_json_lines
from curation.records import Id, Record
from curation.released.commitments import HiddenGold
from curation.released.contents import SEALED, TERMS
from curation.released.folder import data_files, read_version
from curation.released.golds import read_golds
from curation.released.version import Version

ANONYMOUS = "-anonymous"
REVEALED = "-revealed"
"""What the folders of an anonymous and of a revealed version have after the version."""


def built_versions(campaign: Campaign) -> list[Path]:
    """The folders of all built versions, by name."""
    there = campaign.folder("release").glob("*")
    return sorted(path for path in there if path.is_dir() and not path.name.startswith("."))


Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")]
BUILDS = "built.jsonl"


class Built(Record):
    """A line of ``built.jsonl``: the first build of a version of the release.

    ``version`` is the name of its folder. Later builds of the version use the same date (a day),
    canary and version of curation, so that they give the same bytes.
    """

    version: Id
    date: Day
    canary: Id
    curation: Id
    anonymous: bool = False


def first_builds_file(campaign: Campaign) -> Path:
    """The file with one line for each version that was built."""
    return campaign.folder("release") / BUILDS


BUILT = in_file("release", BUILDS, Built)
"""The first builds of all versions, oldest first."""


_NUMBERS = re.compile(r"(\d+)")


def earlier(campaign: Campaign) -> list[Path]:
    """The folders of the versions before the one that the settings name, oldest first.

    These are the versions in ``built.jsonl`` before this one whose folders exist. Before them come
    versions that ``built.jsonl`` does not have, such as those of a copied or lost campaign: those
    with a name below this one's. Numbers in names are compared as numbers, so 0.9.0 is below
    0.10.0. Anonymous and revealed versions do not count.
    """
    own = campaign.settings.release.version
    ends = (ANONYMOUS, REVEALED)
    folders = {p.name: p for p in built_versions(campaign) if not p.name.endswith(ends)}
    built = [*campaign[ORDER]]
    below = [name for name in folders if name not in built and natural(name) < natural(own)]
    if own in built:
        built = built[: built.index(own)]
    elif own in folders:  # the list does not say when
        built = []
    names = [*sorted(below, key=natural), *(name for name in built if name in folders)]
    return [folders[name] for name in names]


def natural(name: str) -> list[tuple[int, int, str]]:
    """The order of version names: numbers in them are compared as numbers.

    A suffix such as ``-rc1`` comes before the version without it.

    >>> sorted(["0.10.0", "0.9.0", "0.10.0-rc1"], key=natural)
    ['0.9.0', '0.10.0-rc1', '0.10.0']
    """
    keys = (
        (2, int(part), "") if part.isdigit() else (0 if part[0] == "-" else 3, 0, part)
        for part in filter(None, _NUMBERS.split(name))
    )
    return [*keys, (1, 0, "")]


def _first_built(campaign: Campaign) -> tuple[str, ...]:
    path = first_builds_file(campaign)
    data = read_bytes(path) if path.is_file() else b""
    # The last line of a build that was killed may be cut off; the step itself repairs it.
    lines = data.decode("utf-8", "replace").splitlines(keepends=True)
    whole = "".join(line for line in lines if line.rstrip().endswith("}"))
    rows = [row for _, row in read_json_lines(whole, path)] if whole else []
    return tuple(str(row.get("version")) for row in rows)


ORDER = Dataset("versions", lambda campaign: [first_builds_file(campaign)], _first_built)
"""The versions in the order of their first builds; folders say which of them are anonymous."""


def _earlier_files(campaign: Campaign) -> list[Path]:
    folders = ((*data_files(each), each / TERMS, each / SEALED) for each in earlier(campaign))
    return [path for paths in folders for path in paths if path.is_file()]


EARLIER = Dataset("earlier versions", _earlier_files, lambda campaign: tuple(earlier(campaign)))
"""The folders of the versions before the one that the settings name, oldest first."""


def gold_file(campaign: Campaign, version: str) -> Path:
    """The private file with the hidden gold labels of a version."""
    return campaign.folder("release") / f"gold-{version}.jsonl"


def _kept_files(campaign: Campaign) -> list[Path]:
    return [
        path
        for folder in _kept(campaign)
        for path in (*data_files(folder), folder / TERMS, gold_file(campaign, folder.name))
        if path.is_file()
    ]


def _read_kept(campaign: Campaign) -> tuple[tuple[Version, tuple[HiddenGold, ...]], ...]:
    kept = []
    for folder in _kept(campaign):
        if not folder.is_dir():
            raise CurationError(
                f"[split] keep names version {folder.name}, which is not in {folder.parent}",
                "put its folder back, or name another built version",
            )
        version = read_version(folder)
        sealed = read_golds(gold_file(campaign, folder.name)) if version.sealed else ()
        kept.append((version, tuple(sealed)))
    return tuple(kept)


KEPT = Dataset("kept versions", _kept_files, _read_kept)
"""The built version that ``keep`` names and those before it, oldest first; each with its private
gold labels if it is sealed. Asking for it raises a CurationError if one is missing or damaged."""


def _kept(campaign: Campaign) -> list[Path]:
    """The folders of the version that ``keep`` names and of those before it, oldest first."""
    name = campaign.settings.split.keep
    if not name:
        return []
    folder = campaign.folder("release") / name
    before = earlier(campaign)
    return before[: before.index(folder) + 1] if folder in before else [folder]

"""The built versions of a campaign's release: their order, and what they hide and gave out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints

from curation.campaign.dataset import Dataset, in_file
from curation.campaign.settings import Hide, ReleaseSettings
from curation.campaign.store import SETTINGS, Campaign, open_campaign
from curation.files import CurationError, read_bytes, read_json, read_records
from curation.formats.tables import read_json_lines
from curation.records import Id, Record
from curation.released import numbers
from curation.released.commitments import HiddenGold, read_golds
from curation.released.contents import (
    FACTS,
    SEALED,
    TERMS,
    PublishedCat,
    Version,
)
from curation.released.facts import Facts
from curation.released.folder import read_published
from curation.released.numbers import GivenOut
from curation.released.versions import data_files, read_version
from curation.text.wording import amount

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


# --- what was hidden, published and given out before --------------------------------------------

LEDGER = "given-out.jsonl"


@dataclass
class BuiltVersion:
    """A built version: its folder, and what is in it, read when it is first asked for."""

    folder: Path

    @property
    def version(self) -> str:
        """The version, without what the folder of an anonymous one has after it."""
        return self.folder.name.removesuffix(ANONYMOUS)

    @property
    def is_sealed(self) -> bool:
        """Whether the texts of its test set are hidden."""
        return (self.folder / SEALED).exists()

    @cached_property
    def cats(self) -> list[PublishedCat]:
        """Its CATs, as in ``dev.json`` and ``test.json``, or in ``cats/``."""
        return read_published(self.folder)

    @cached_property
    def facts(self) -> Facts | None:
        """Its ``release.json``, if there is one."""
        path = self.folder / FACTS
        return Facts.model_validate(read_json(path)) if path.is_file() else None


def _named_versions(campaign: Campaign) -> list[BuiltVersion]:
    version = campaign.settings.release.version
    return [BuiltVersion(campaign.folder("release") / f"{version}{e}") for e in ("", ANONYMOUS)]


def _hide_files(campaign: Campaign) -> list[Path]:
    built = [place.folder for place in _named_versions(campaign)]
    gold = gold_file(campaign, campaign.settings.release.version)
    return [gold, *built, *(folder / SEALED for folder in built)]


def _read_hide(campaign: Campaign) -> Hide:
    release, built = campaign.settings.release, _named_versions(campaign)
    is_built = any(place.folder.is_dir() for place in built)
    if release.hide or not (is_built and gold_file(campaign, release.version).is_file()):
        return release.hide
    return "all" if any(place.is_sealed for place in built) else "labels"


HIDE: Dataset[Hide] = Dataset("hide", _hide_files, _read_hide, by_value=True)
"""What is hidden of the version that the settings name: what ``hide`` says, or how it was built.

A built version is never rewritten, so it stays hidden, also if ``hide`` was removed since. If
``hide`` names another level, the build is an error.
"""


@dataclass
class History:
    """What was hidden, published and given out before, read once and only if it is asked for.

    Attributes:
        campaign: the campaign; its settings name the version that is built.
    """

    campaign: Campaign
    _golds: dict[str, list[HiddenGold]] = field(default_factory=dict)

    @property
    def release(self) -> ReleaseSettings:
        """The settings in ``[release]``; what is hidden of this version is ``hide``, below."""
        return self.campaign.settings.release

    @property
    def hide(self) -> Hide:
        """What is hidden of the version that the settings name."""
        return self.campaign[HIDE]

    @cached_property
    def files(self) -> dict[str, Path]:
        """The private gold file of each version that has one."""
        paths = sorted(self.campaign.folder("release").glob("gold-*.jsonl"))
        return {path.stem.removeprefix("gold-"): path for path in paths}

    @cached_property
    def built(self) -> list[BuiltVersion]:
        """All built versions, by name."""
        return [BuiltVersion(folder) for folder in built_versions(self.campaign)]

    @cached_property
    def ledger(self) -> list[GivenOut]:
        """The values that were given out.

        Raises:
            CurationError: a line is damaged.
        """
        try:
            return read_records(self.campaign.folder("release") / LEDGER, GivenOut, missing_ok=True)
        except CurationError as error:
            fix = "correct the line (docs/release.md, How many values), or restore the file"
            raise CurationError(error.what, fix) from None

    def revealed(self, version: str) -> bool:
        """Whether a version was revealed: its folder VERSION-revealed is there."""
        return (self.campaign.folder("release") / f"{version}{REVEALED}").is_dir()

    def golds(self, version: str) -> list[HiddenGold]:
        """The lines of a version's gold file.

        Raises:
            CurationError: the file is damaged.
        """
        if version not in self._golds:
            self._golds[version] = read_golds(self.files[version])
        return self._golds[version]

    def secret(self, golds: Sequence[HiddenGold]) -> list[HiddenGold]:
        """The hidden CATs whose gold labels no other version has published or revealed."""
        return [gold for gold in golds if not self.public & numbers.same_names([gold])]

    @cached_property
    def public(self) -> set[object]:
        """By what CATs are recognised whose gold labels are public."""
        public: set[object] = set()
        for version in filter(self.revealed, self.files):
            public |= numbers.same_names(self.golds(version))
        for cat in (cat for place in self.built for cat in place.cats if cat.labelled):
            public |= {cat.id, cat.texts}
        return public

    @cached_property
    def unknown(self) -> set[object]:
        """By what CATs are recognised whose gold labels a version hides, also without its file."""
        known = {name for golds in self.hidden.values() for name in numbers.same_names(golds)}
        closed = (place for place in self.built if not self.revealed(place.version))
        return known | {cat.texts for place in closed for cat in place.cats if not cat.labelled}

    @cached_property
    def hidden(self) -> dict[str, Sequence[HiddenGold]]:
        """The CATs of each version that is not revealed whose gold labels nobody knows."""
        versions = (version for version in self.files if not self.revealed(version))
        return {version: self.secret(self.golds(version)) for version in versions}

    def given(self, golds: Mapping[str, Sequence[HiddenGold]]) -> list[GivenOut]:
        """The values that were given out about gold labels that are still hidden.

        They are those of the ledger, and those of built versions, in case the ledger was lost.
        """
        found = [value for value in self.ledger if not self.revealed(value.version)]
        for place in self.built:
            if not self.revealed(place.version) and place.facts:
                found += values_of(place.facts, place.version, golds.get(place.version, ()))
        return found


def values_of(facts: Facts, version: str, golds: Sequence[HiddenGold]) -> list[GivenOut]:
    """The values about hidden gold labels in the facts of a version with these hidden CATs."""
    cats = numbers.fingerprint(golds)
    return [
        GivenOut(version=version, cats=cats, name=name, value=value)
        for name, value in numbers.gold_values(facts).items()
    ]


def remaining(path: Path) -> str:
    """How many values about the CATs of a private gold file may still be given out, in words.

    Args:
        path: a gold file. The text is empty if it is not that of a hidden version of a campaign.

    Raises:
        CurationError: the ledger or a gold file is damaged.
    """
    version, folder = path.stem.removeprefix("gold-"), path.resolve().parent
    if version == path.stem or not (folder.parent / SETTINGS).is_file():
        return ""
    history = History(open_campaign(folder.parent))
    golds = history.hidden
    if version not in golds or history.files[version].resolve() != path.resolve():
        return ""
    places = (place for place in history.built if place.version == version)
    facts = next((place.facts for place in places if place.facts), None)
    # It was not built, or its folder was deleted; or all results may be published.
    if facts is None or golds[version][0].sealed:
        return ""
    dev = numbers.dev_cats(facts)
    left = max(numbers.values_left(version, golds, history.given(golds), dev=dev), 0)
    allowed = amount(numbers.budget(len(golds[version]), dev), "value")
    return (
        f"{path.name} has hidden gold labels: {left} of {allowed} about them may still be given "
        "out, each the overall ss and icat of one model, rounded to one decimal; lms does not "
        "count. More would give the labels away (docs/release.md, What hidden labels protect)"
    )

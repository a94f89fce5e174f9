"""How a release differs from the version before it, while it is built."""

import re
from pathlib import Path

from curation.campaign import Campaign
from curation.files import CurationError, read_bytes
from curation.formats.tables import read_json_lines
from curation.release import differences
from curation.release.contents import SEALED, TERMS, Contents
from curation.release.differences import (
    Change,
    Difference,
    Version,
    data_files,
    difference,
    read_version,
)
from curation.release.facts import Changes
from curation.steps.release import versions
from curation.text.wording import amount, some

MOVED = "moved_to_test"
"""The code in ``accept`` that lets a release have public dev data in test."""
BUILT = "built.jsonl"
_OTHERS = ("-anonymous", "-revealed")
_SHOWN = 5
_NUMBERS = re.compile(r"(\d+)")


def earlier(campaign: Campaign) -> list[Path]:
    """The folders of the versions before the one that the settings name, oldest first.

    These are the versions in ``built.jsonl`` before this one whose folders exist. Before them come
    versions that ``built.jsonl`` does not have, since an earlier version of curation built them:
    those with a name below this one's. Numbers in names are compared as numbers, so 0.9.0 is below
    0.10.0. Anonymous and revealed versions do not count.
    """
    own = campaign.settings.release.version
    folders = {p.name: p for p in versions.built(campaign) if not p.name.endswith(_OTHERS)}
    built = _first_built(campaign.releases / BUILT)
    below = [name for name in folders if name not in built and natural(name) < natural(own)]
    if own in built:
        built = built[: built.index(own)]
    elif own in folders:  # also built by an earlier version of curation
        built = []
    names = [*sorted(below, key=natural), *(name for name in built if name in folders)]
    return [folders[name] for name in names]


def previous(campaign: Campaign) -> Path | None:
    """The folder of the version before the one that the settings name: the last of ``earlier``."""
    folders = earlier(campaign)
    return folders[-1] if folders else None


def natural(name: str) -> list[tuple[int, int, str]]:
    """The order of version names: numbers in them are compared as numbers.

    A suffix such as ``-rc1`` comes before the version without it.

    >>> sorted(["0.10.0", "0.9.0", "0.10.0-rc1"], key=natural)
    ['0.9.0', '0.10.0-rc1', '0.10.0']
    """
    parts = [part for part in _NUMBERS.split(name) if part]
    keys = [
        (2, int(part), "") if part.isdigit() else (0 if part[0] == "-" else 3, 0, part)
        for part in parts
    ]
    return [*keys, (1, 0, "")]


def _first_built(path: Path) -> list[str]:
    """The versions in the order of their first builds; folders say which of them are anonymous."""
    if not path.is_file() or not read_bytes(path).strip():
        return []
    # The last line of a build that was killed may be cut off; the step itself repairs it.
    lines = read_bytes(path).decode("utf-8", "replace").splitlines(keepends=True)
    whole = "".join(line for line in lines if line.rstrip().endswith("}"))
    rows = [row for _, row in read_json_lines(whole, path)] if whole else []
    return [str(row.get("version")) for row in rows]


def inputs(campaign: Campaign) -> list[Path]:
    """The data files of the versions before: a release depends on them."""
    return [
        path
        for folder in earlier(campaign)
        for path in (*data_files(folder), folder / TERMS, folder / SEALED)
        if path.is_file()
    ]


def changes(
    campaign: Campaign, contents: Contents, whole: Contents | None = None
) -> tuple[Changes, list[Change]] | None:
    """How a release differs from the version before it.

    Args:
        campaign: the campaign; its settings name the version.
        contents: what the release publishes, with what it hides already removed.
        whole: if the test set is sealed, the contents with its texts: none may be of public dev.

    Returns:
        The numbers, and the errata (written by ``errata.text``). The errata leave out CATs whose
        gold labels are hidden in either version. None if there is no earlier version.

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
    terms = set(changed.to_test)
    others = [
        cat.id
        for cat in changed.after.cats
        if cat.id in set(changed.seen) and (cat.domain, cat.target) not in terms
    ]
    if others:
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

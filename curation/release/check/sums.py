"""Checks SHA256SUMS: every file is listed, and none changed; and the canonical hash."""

import hashlib
import re
from collections.abc import Iterator

from curation.files import CurationError, digest, open_input
from curation.release.check.findings import Finding, finding, named
from curation.release.check.folder import Release, readable, unreadable
from curation.release.layout import CARD, FACTS, SUMS
from curation.work.manifest import is_inside

_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_LARGEST = 16 << 20  # bytes of SHA256SUMS


def findings(release: Release) -> Iterator[Finding]:
    """What is wrong with the checksums of a release."""
    yield from _sums(release)
    yield from _canonical(release)


def _sums(release: Release) -> Iterator[Finding]:
    if SUMS not in release.files:
        yield finding("no_checksums", SUMS, "is not there", severity=release.lacking)
        return
    if problem := readable(release, SUMS, most=_LARGEST):
        yield problem
        return
    try:
        lines = release.text(SUMS).splitlines()
    except CurationError as error:
        yield unreadable(release, error)
        return
    listed: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        where = f"{SUMS} line {number}"
        if not match:
            yield finding("sums_malformed", where, f"is not a checksum and a path: {line[:80]!r}")
        elif not is_inside(match[2]):
            yield finding("sums_malformed", where, f"{match[2][:80]!r} leaves the folder")
        elif match[2] in listed:
            yield finding("sums_malformed", where, f"names {match[2][:80]!r} again")
        else:
            listed[match[2]] = match[1]
    missing = [name for name in listed if name not in release.files]
    if missing:
        yield finding("file_missing", named(missing), f"in {SUMS}, but not in the folder")
    for name, sha in listed.items():
        if name in release.files:
            try:
                actual = digest(release.root / name)
            except OSError as error:
                yield finding("unreadable", name, error.strerror or "may not be read")
                continue
            if actual != sha:
                yield finding(
                    "file_changed", name, "is not the file that the checksums were computed from"
                )
    unlisted = [name for name in release.files if name not in {*listed, SUMS}]
    unlisted = [name for name in unlisted if release.ours or not name.startswith(".")]
    if unlisted:
        yield finding("file_unlisted", named(unlisted), f"not in {SUMS}", severity=release.lacking)


def _canonical(release: Release) -> Iterator[Finding]:
    """The canonical hash is sha256 of the files in ``cats/``, one after the other by name."""
    names = sorted(n for n in release.files if n.startswith("cats/") and n.endswith(".jsonl"))
    if not release.ours or not release.facts:
        return
    whole = hashlib.sha256()
    for name in names:
        try:
            with open_input(release.root / name) as file:
                while block := file.read(1 << 20):
                    whole.update(block)
        except CurationError:
            return  # reported as unreadable
    actual = whole.hexdigest()
    if names and release.facts.canonical != actual:
        stated = release.facts.canonical[:12] or "nothing"
        yield finding("canonical_hash", FACTS, f"has {stated}…; cats/*.jsonl has {actual}")
    if names and release.card and actual not in release.card.text:
        yield finding("canonical_hash", CARD, f"does not have the hash {actual}")

"""Checks a release, ours or another's: a folder in, findings out."""

from collections.abc import Callable, Iterator
from pathlib import Path

from curation.release.check import cats, metadata, privacy
from curation.released.contents import REVEAL
from curation.released.findings import Finding
from curation.released.folder import Release, read_release

CHECKS: tuple[Callable[[Release], Iterator[Finding]], ...] = (
    cats.check_sums,
    cats.check_canonical,
    cats.check_cats,
    cats.check_labels,
    metadata.check_cards,
    metadata.check_metadata,
    privacy.check_privacy,
    privacy.check_hidden,
)

_WHOLE = frozenset({"part_missing", "card_incomplete", "no_config"})
"""What is said of a release that is not whole; revealed gold labels are published beside one."""


def check(folder: Path) -> tuple[Release, list[Finding]]:
    """Check a release folder without its texts' meaning: ``release.checking`` adds that.

    Args:
        folder: the folder of a release.

    Returns:
        What was read, and the findings.

    Raises:
        CurationError: it is not a folder, is empty, or may not be read.
    """
    release, findings = read_release(folder)
    for each in CHECKS:
        findings += each(release)
    if REVEAL in release.files and not release.ours:
        findings = [finding for finding in findings if finding.code not in _WHOLE]
    unread: set[str] = set()  # a file that cannot be read is found by several checks
    kept = []
    for finding in findings:
        if finding.code != "unreadable" or finding.where not in unread:
            kept.append(finding)
        unread |= {finding.where} if finding.code == "unreadable" else set()
    return release, kept

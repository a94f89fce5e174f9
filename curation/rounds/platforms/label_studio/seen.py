"""What the archive of a round on Label Studio already has, so that a pull fetches only the rest.

The index is a cache beside the archive. It lists the segments that it covers, and is made again
from the archive if it does not cover all of them.
"""

from pathlib import Path
from typing import NamedTuple

from curation.files import CurationError, dump_json, read_json, writing
from curation.rounds.answers import archive
from curation.rounds.platforms.label_studio.shapes import annotation_id, last_change

Known = dict[str, dict[int, str]]
"""By task id and annotation id, the last change of annotations that were not deleted."""


class Seen(NamedTuple):
    """What was fetched from the server.

    Attributes:
        since: changes before this time were fetched; None if never.
        known: the annotations that the archive has.
        accounts: accounts on the server that are already kept from their own items.
    """

    since: str | None
    known: Known
    accounts: frozenset[int] = frozenset()


def read(raw: Path, index: Path) -> Seen:
    """What the archive has.

    Args:
        raw: the archive's folder.
        index: the cache's path.
    """
    names = [path.name for path in archive.segments(raw)]
    cached = _cached(index)
    if cached is None:
        return Seen(None, _known(raw) if names else {})
    segments, content = cached
    if segments != names:  # a pull was killed between archive and index
        return Seen(content.since if set(segments) <= set(names) else None, _known(raw))
    return content


def _cached(index: Path) -> tuple[list[str], Seen] | None:
    """The segments that the index covers, and its content; None if it is missing or damaged."""
    try:
        content = read_json(index)
        since = content["since"]
        known = {
            str(task): {int(id): str(at) for id, at in ids.items()}
            for task, ids in content["known"].items()
        }
        accounts = frozenset(int(account) for account in content["accounts"])
        segments = [str(name) for name in content["segments"]]
    except (CurationError, LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    return segments, Seen(since if isinstance(since, str) else None, known, accounts)


def _known(raw: Path) -> Known:
    known: Known = {}
    for _, event in archive.read(raw):
        note(known, event.payload)
    return known


def note(known: Known, payload: dict[str, object]) -> None:
    """Add one more payload to what is known."""
    annotation, deleted = payload.get("annotation"), payload.get("deleted")
    task = known.setdefault(str(payload.get("task")), {})
    if (id := annotation_id(annotation)) is not None and isinstance(annotation, dict):
        task[id] = last_change(annotation)
    elif isinstance(deleted, int):
        task.pop(deleted, None)


def keep(raw: Path, index: Path, seen: Seen) -> None:
    """Write the index."""
    content = {
        "segments": [path.name for path in archive.segments(raw)],
        "since": seen.since,
        "accounts": sorted(seen.accounts),
        "known": {t: {str(id): at for id, at in ids.items()} for t, ids in seen.known.items()},
    }
    with writing(index) as file:
        file.write(dump_json(content))

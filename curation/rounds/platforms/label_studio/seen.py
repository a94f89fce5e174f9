"""What the archive of a round on Label Studio already has, so that a pull fetches only the rest.

The index is a cache beside the archive. It lists the segments that it covers, and is made again
from the archive if it does not cover all of them.
"""

from pathlib import Path
from typing import Any, NamedTuple

from curation.files import CurationError, dump_json, read_json, writing
from curation.rounds.answers import archive

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
    if cached["segments"] != names:  # a pull was killed between archive and index
        return Seen(cached["since"] if set(cached["segments"]) <= set(names) else None, _known(raw))
    known = {task: {int(id): at for id, at in ids.items()} for task, ids in cached["known"].items()}
    return Seen(cached["since"], known, frozenset(cached["accounts"]))


def _cached(index: Path) -> dict[str, Any] | None:
    """The index, or None if there is none or it is damaged."""
    try:
        content = read_json(index)
    except CurationError:
        return None
    names = {"segments", "since", "accounts", "known"}
    return content if isinstance(content, dict) and names <= content.keys() else None


def _known(raw: Path) -> Known:
    known: Known = {}
    for _, event in archive.read(raw):
        note(known, event.payload)
    return known


def note(known: Known, payload: dict[str, object]) -> None:
    """Add one more payload to what is known."""
    annotation, deleted = payload.get("annotation"), payload.get("deleted")
    task = known.setdefault(str(payload.get("task")), {})
    if isinstance(annotation, dict):
        task[int(annotation["id"])] = str(annotation.get("updated_at"))
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

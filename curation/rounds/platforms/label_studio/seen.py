"""What the archive of a round on Label Studio already has, so that a pull fetches only the rest.

The index is a cache beside the archive: it says which segments it covers, and is made anew from
the archive where it does not cover them all.
"""

from pathlib import Path
from typing import Any, NamedTuple

from curation.files import CurationError, dump_json, read_json, writing
from curation.rounds.answers import archive

Known = dict[str, dict[int, str]]
"""By task id: the annotations that the archive has alive, each with its last change."""


class Seen(NamedTuple):
    """Up to when the server's changes were fetched (null: never), and what is known.

    ``accounts`` are those of the server whom to keep from their own items was seen to.
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
    """The index, or None where there is none that can be used: it is made anew."""
    try:
        found = read_json(index)
    except CurationError:
        return None
    whole = isinstance(found, dict) and {"segments", "since", "accounts", "known"} <= found.keys()
    return found if whole else None


def _known(raw: Path) -> Known:
    known: Known = {}
    for _, event in archive.read(raw):
        note(known, event.payload)
    return known


def note(known: Known, payload: dict[str, object]) -> None:
    """Take one more payload into account."""
    annotation, deleted = payload.get("annotation"), payload.get("deleted")
    task = known.setdefault(str(payload.get("task")), {})
    if isinstance(annotation, dict):
        task[int(annotation["id"])] = str(annotation.get("updated_at"))
    elif isinstance(deleted, int):
        task.pop(deleted, None)


def keep(raw: Path, index: Path, found: Seen) -> None:
    """Write the index."""
    content = {
        "segments": [path.name for path in archive.segments(raw)],
        "since": found.since,
        "accounts": sorted(found.accounts),
        "known": {t: {str(id): at for id, at in ids.items()} for t, ids in found.known.items()},
    }
    with writing(index) as file:
        file.write(dump_json(content))

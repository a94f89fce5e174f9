"""The folder of a run: whose scores it has, what is done, and what is set aside.

``run.json`` says what scores. Scores of another model, rule, dtype or version of a package never
join it: such a run is moved to ``superseded/`` and scoring starts again. So are scores of texts
that have changed since.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from curation.files import (
    CurationError,
    dump_json,
    dump_line,
    now,
    read_json,
    read_records,
    sweep,
    writing,
)
from curation.models.rules import REVISED
from curation.records import Rejection, Score

RUN, SCORES, REJECTED, RESULTS = "run.json", "scores.jsonl", "rejected.jsonl", "results.json"
_FREE = {"started_at", "opened", "tokens", "own_head"}  # what run.json says besides who scores
_REVISIONS = "revisions"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other commands out of a run's folder, or two would score the same."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise CurationError(
            f"{folder}: another command is scoring here", "wait until it has ended"
        ) from None
    try:
        sweep(folder)
        yield
    finally:
        lock.release()


def rename_old(folder: Path, says: Mapping[str, Any], notice: Callable[[str], None]) -> None:
    """Give the folder of the same run its present name, where it still has another.

    Folders used to be named after profiles. One is taken up if it is of just this run, or if it
    differs in how a rule was computed, so that ``resume`` sets its scores aside.

    Args:
        folder: the run's folder; nothing is done where it exists.
        says: what ``run.json`` must say.
        notice: told what was renamed.

    Raises:
        CurationError: another command is scoring in the old folder.
    """
    if folder.exists():
        return
    for place in sorted(folder.parent.glob(f"*/{RUN}")):
        try:
            others = set(_others(place, says))
        except CurationError:  # damage there does not concern this run
            continue
        if others and (_REVISIONS not in others or others & {"rules", "variant"}):
            continue
        with held(place.parent):
            place.parent.rename(folder)
        notice(f"{place.parent}: this folder is now {folder.name}, after its rules")
        return


def resume(
    folder: Path, says: Mapping[str, Any], asked: Mapping[str, str], notice: Callable[[str], None]
) -> dict[str, str]:
    """Make the folder ready; what needs no scoring any more.

    Args:
        folder: of the run.
        says: what ``run.json`` must say.
        asked: the digest of each association's text.
        notice: told what was set aside, and why.

    Returns:
        The associations that are scored or refused, with their digests.

    Raises:
        CurationError: what lies in the folder is not a run.
    """
    place, scores, rejected = (folder / name for name in (RUN, SCORES, REJECTED))
    for path in (scores, rejected):
        _cut_half_line(path)
    others = _others(place, says)
    if not place.exists() and _count(scores) + _count(rejected):
        notice(f"{scores}: no {RUN} says whose these scores are; they are set aside")
        set_aside(folder)
    if others:
        why = _why(others, read_json(place), says)
        aside = set_aside(folder)
        notice(f"{place}: {why}; those scores are in {aside} now")
    if not place.exists() and (old := _like(folder, says)):
        notice(f"{old}: those scores are of just this, and are taken up again")
        _move([RUN, REJECTED, SCORES], old, folder)
    if not place.exists():
        write(place, {**says, "started_at": now()})
    valid = [s for s in read(scores, Score) if asked.get(s.association, s.asked) == s.asked]
    barred = [r for r in read(rejected, Rejection) if _stands(r, asked)]
    if len(valid) < _count(scores) or len(barred) < _count(rejected):
        aside = set_aside(folder, [SCORES, REJECTED, RESULTS])
        notice(f"{scores}: texts have changed and are scored again; the old scores are in {aside}")
        add(scores, [dump_line(score) for score in valid])
        add(rejected, [dump_line(rejection) for rejection in barred])
    known = {score.association: score.asked for score in valid}
    return known | {r.record["association"]: r.record["asked"] for r in barred}


def _others(place: Path, says: Mapping[str, Any]) -> list[str]:
    """In what a folder's run differs from the one that is wanted."""
    if not place.exists():
        return []
    before = read_json(place)
    if not isinstance(before, dict):
        raise CurationError(f"{place}: not a run", "take it away, or move the folder")
    keys = dict.fromkeys([*says, *(key for key in before if key not in _FREE)])
    return [key for key in keys if before.get(key) != says.get(key)]


def _why(others: Sequence[str], before: Mapping[str, Any], says: Mapping[str, Any]) -> str:
    """What differs, in words; of a rule that is now computed in another way, how."""
    was, is_ = (dict(about.get(_REVISIONS) or {}) for about in (before, says))
    served = set(dict(before.get("rules") or {}).values())
    told = [REVISED[rule][1] for rule in is_ if rule in served and was.get(rule) != is_[rule]]
    plain = [key for key in others if key != _REVISIONS or not told]
    return "; ".join([*([f"another {' and '.join(plain)}"] if plain else []), *told])


def _like(folder: Path, says: Mapping[str, Any]) -> Path | None:
    """The latest run that was set aside and is no other than the one that is wanted."""
    places = sorted(folder.glob(f"superseded/*/{RUN}"), reverse=True)
    return next((place.parent for place in places if not _others(place, says)), None)


def _stands(rejection: Rejection, asked: Mapping[str, str]) -> bool:
    name, digest = (str(rejection.record.get(key, "")) for key in ("association", "asked"))
    return bool(name and digest) and asked.get(name, digest) == digest


def set_aside(folder: Path, names: Sequence[str] = (SCORES, REJECTED, RESULTS, RUN)) -> Path:
    """Move a run's files. ``run.json`` goes last: without it, scores are nobody's."""
    place, number = folder / "superseded" / now().replace(":", "-"), 0
    old = place
    while old.exists():  # two in one millisecond
        number += 1
        old = place.with_name(f"{place.name}-{number}")
    old.mkdir(parents=True)
    _move(names, folder, old)
    return old


def _move(names: Sequence[str], folder: Path, to: Path) -> None:
    for name in names:
        if (folder / name).exists():
            os.replace(folder / name, to / name)


def _cut_half_line(path: Path) -> None:
    """Take away the half line that a killed run left."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)


def note(folder: Path, **fields: Any) -> None:
    """Write fields to ``run.json`` that do not tell one run from another."""
    about = read_json(folder / RUN)
    if any(name not in about or about[name] != value for name, value in fields.items()):
        write(folder / RUN, {**about, **fields})


def add(path: Path, lines: list[bytes]) -> None:
    """Write lines to the end of a file, all of them or none."""
    if not lines:
        return
    with path.open("ab", buffering=0) as file:
        before, left = file.tell(), memoryview(b"".join(lines))
        try:
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError as error:  # the disk is full: no half line stays
            file.truncate(before)
            error.filename = str(path)
            raise


def read(path: Path, record: Any) -> list[Any]:
    """The records of a file; none where it does not exist."""
    return read_records(path, record) if path.exists() else []


def _count(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def write(path: Path, content: Any) -> None:
    """Write JSON, whole or not at all."""
    with writing(path) as file:
        file.write(dump_json(content))

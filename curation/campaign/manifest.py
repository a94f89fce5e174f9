"""Write a step's results together, and record in ``manifest.json`` how they were made.

A step writes all its files under temporary names, renames them when all are complete, and writes
the manifest last. So a step that dies leaves the last good results, or is recognised as unfinished
and runs again.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from pydantic import ValidationError

from curation.campaign.stamps import Known, known_of
from curation.files import (
    CurationError,
    beside,
    digest,
    dump_json,
    dump_line,
    read_bytes,
    refuse_links,
    staging,
    sync,
    writing,
)
from curation.records import Manifest, Record, StepRun
from curation.text.times import now
from curation.version import __version__

MANIFEST = "manifest.json"
SEGMENTS = "segments.json"
"""The raw answers that a folder's results were made from, with their sha256. The file is kept apart
from the manifest, so that a lost raw answer is noticed after a damaged manifest was deleted."""


class Results:
    """The results of one step in one folder, staged until all of them are complete."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.staged: list[Path] = []
        self.folders: list[Path] = []
        self.warnings: list[str] = []
        self.known: dict[Path, Known] = {}

    def lines(self, name: str, lines: Iterable[bytes], *, private: bool = False) -> None:
        """Stage a file from byte chunks; a ``private`` one can be read by its owner alone."""
        place = self.folder / name
        refuse_links(place, below=self.folder.parent)
        self.staged.append(place)
        with staging(place, private=private) as file:
            file.writelines(lines)

    def records(self, name: str, records: Iterable[Record], *, private: bool = False) -> None:
        """Stage a JSONL file of records."""
        self.lines(name, map(dump_line, records), private=private)

    def json(self, name: str, content: Any) -> None:
        """Stage a JSON file."""
        self.lines(name, [dump_json(content)])

    def new_folder(self, name: str) -> Path:
        """Stage a folder that appears as a whole: write its files below the returned path.

        If a folder of that name exists, it only gets the files that it does not have. No file in it
        is replaced.
        """
        place = self.folder / name
        self.folders.append(place)
        shutil.rmtree(beside(place), ignore_errors=True)
        beside(place).mkdir(parents=True)
        return beside(place)

    def commit(self) -> dict[str, str]:
        """Move all staged files and folders to their places.

        Returns:
            The sha256 of each file by its name in the folder of the results.
        """
        staged = {place: beside(place) for place in self.staged}
        for place in self.folders:
            names = file_names(beside(place))
            staged |= {place / name: beside(place) / name for name in names}
        self.known = {p: found for p, path in staged.items() if (found := known_of(path))}
        for place in self.staged:
            os.replace(beside(place), place)
        for folder in {place.parent for place in self.staged}:
            sync(folder)
        for place in self.folders:
            _move_folder(beside(place), place)
        self.staged, self.folders = [], []
        known = self.known.items()
        return {p.relative_to(self.folder).as_posix(): each.hashed.sha256 for p, each in known}

    def discard(self) -> None:
        """Delete the staged files and folders."""
        for place in self.staged:
            beside(place).unlink(missing_ok=True)
        for place in self.folders:
            shutil.rmtree(beside(place), ignore_errors=True)


R = TypeVar("R", bound=Results)


def write_folder(folder: Path, content: Mapping[str, bytes]) -> None:
    """Write a folder, which appears as a whole: its files by path. See ``Results.new_folder``."""
    results = Results(folder.parent)
    try:
        staged = results.new_folder(folder.name)
        for name, data in content.items():
            with writing(staged / name) as file:
                file.write(data)
        results.commit()
    finally:
        results.discard()


def file_names(folder: Path) -> list[str]:
    """The files of a folder and of the folders in it, by path relative to it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in files)


def _move_folder(staged: Path, place: Path) -> None:
    """Move a folder to its place; if that exists, only the files that it does not have."""
    if not place.exists():
        staged.rename(place)
        sync(place.parent)
        return
    for name in file_names(staged):
        target = place / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(staged / name, target)
            sync(target.parent)
    shutil.rmtree(staged)


def read_manifest(folder: Path) -> Manifest:
    """A folder's manifest; an empty manifest if there is no file yet.

    Raises:
        CurationError: the file is not a valid manifest; the message names the step and the field.
    """
    path = folder / MANIFEST
    if not path.exists():
        return Manifest(steps={})
    try:
        manifest = Manifest.model_validate_json(read_bytes(path))
    except ValidationError as error:
        first = error.errors()[0]
        top, *inner = map(str, first["loc"] or ("",))
        where = f", step {inner[0]!r}" if inner else f", field {top!r}" if top else ""
        where += f", field {'.'.join(inner[1:])!r}" if inner[1:] else ""
        raise CurationError(
            f"{path}{where}: not a valid manifest: {first['msg']}", _fix(folder)
        ) from None
    for step, run in manifest.steps.items():
        for name in run.outputs:
            if not is_inside(name):  # an erasure deletes results: never other files
                raise CurationError(
                    f"{path}, step {step!r}, field 'outputs': {name[:40]!r} is not the name of a "
                    "file in this folder",
                    _fix(folder),
                )
    return manifest


def is_inside(name: str) -> bool:
    """Whether a name that was read from a file is that of a file below a folder.

    >>> [is_inside(name) for name in ("a.json", "v1/a.json", "../a.json", "/a.json", "")]
    [True, True, False, False, False]
    """
    parts = PurePosixPath(name).parts
    usable = all(len(part.encode("utf-8", "replace")) < 256 for part in parts)
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\0" not in name and usable


def _fix(folder: Path) -> str:
    if any(folder.glob("*/raw")) and not (folder / SEGMENTS).exists():  # nothing else lists them
        return (
            "put the file back from a backup or from version control; if there is none, make sure "
            "that no file of raw/ is missing, then delete it"
        )
    return "delete the file; the steps will run again"


def changes(
    run: StepRun,
    folder: Path,
    *,
    algorithm: int,
    settings: Mapping[str, Any],
    inputs: Mapping[str, str],
    sha256: Callable[[Path], str | None] = digest,
) -> Iterator[str]:
    """What has changed since a step's last results; nothing if they are still valid.

    Args:
        run: how they came about.
        folder: where they are.
        algorithm: the version of the step now.
        settings: every setting that it reads, now.
        inputs: the sha256 of every input now, by name.
        sha256: gives that of a file.

    Yields:
        "the step itself", the name of a setting or an input, or the path of a result.
    """
    if run.algorithm != algorithm:
        yield "the step itself"
    for before, after in ((run.settings, settings), (run.inputs, inputs)):
        yield from (
            name for name in {**before, **after} if before.get(name, ...) != after.get(name, ...)
        )
    yield from (
        f"{folder.name}/{name}" for name, sha in run.outputs.items() if sha256(folder / name) != sha
    )


def digests(paths: Mapping[str, Path]) -> dict[str, str]:
    """The sha256 of each file by its given name; an empty text for a missing file."""
    return {name: digest(path) or "" for name, path in sorted(paths.items())}


def run_step(
    results: R,
    step: str,
    work: Callable[[R], dict[str, int]],
    *,
    algorithm: int,
    settings: dict[str, Any],
    inputs: dict[str, str],
) -> StepRun:
    """Run a step: stage its results, move them to their places, and write the manifest last.

    Args:
        results: its results, of which there are none yet.
        step: the step's name in the manifest.
        work: stages files, and returns the counts in and out.
        algorithm: the version of the step; it is raised when results change.
        settings: every setting that the step reads.
        inputs: the sha256 of every input, by name.
    """
    folder = results.folder
    refuse_links(folder / MANIFEST, below=folder.parent)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        counts = work(results)
        outputs = results.commit()
    finally:
        results.discard()
    run = StepRun(
        algorithm=algorithm,
        settings=settings,
        inputs=inputs,
        outputs=outputs,
        counts=counts,
        warnings=tuple(results.warnings),
        curation=__version__,
        finished_at=now(),
    )
    steps = {**read_manifest(folder).steps, step: run}
    with writing(folder / MANIFEST) as file:
        file.write(dump_json(Manifest(steps=dict(sorted(steps.items()))).model_dump()))
    return run

"""A release folder, ours or another's: its files, and what was read of them."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path, PurePosixPath
from sys import intern
from typing import Any

import yaml

from curation.catsets.stereoset import FileSettings
from curation.files import CurationError, open_input, read_text
from curation.records import Severity
from curation.release.check.findings import Finding, finding
from curation.release.check.forms import Form
from curation.release.facts import Facts
from curation.release.layout import ANNOTATIONS, DESCRIBED, ERRATA, REVEAL, SEALED, TASKS, TERMS

LARGEST = 256 << 20  # bytes of a file that is read as a whole
BLOCK = 1 << 20  # characters of a file that are searched at once
LARGEST_YAML = 256 << 10  # characters; YAML is read slowly
SKIPPED = frozenset({".git", ".cache", "__pycache__"})
"""Folders that version control and downloads make; they are not part of a release."""
METADATA = frozenset(
    {
        *(*DESCRIBED, ANNOTATIONS, TERMS, ERRATA, SEALED, REVEAL),
        *("dataset_infos.json", "dataset_info.json", "dataset-metadata.json", "metadata.json"),
        *("eval.yaml", "codemeta.json", "package.json"),
    }
)
"""Files that are about the data."""
FORMS = ("StereoSet", "Parquet", "JSON Lines", "CSV", "flat Parquet")
"""The forms of the data; the first that is there is checked in full."""


@dataclass(frozen=True)
class Card:
    """README.md: its YAML (None if it cannot be read) and its text."""

    data: dict[str, Any] | None
    text: str


class Table:
    """A table with many rows, by column: equal texts are one in memory, a missing cell is None."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {}
        self.rows = 0

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows at the end."""
        for row in rows:
            for name, value in row.items():
                column = self.columns.get(name)
                if column is None:
                    column = self.columns[name] = [None] * self.rows
                column.append(intern(value) if type(value) is str else value)
            self.rows += 1
            if len(row) < len(self.columns):
                for column in self.columns.values():
                    column += [None] * (self.rows - len(column))

    def add_columns(self, rows: int, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add rows at the end that are given by column."""
        for name, cells in columns.items():
            if name not in self.columns:
                self.columns[name] = [None] * self.rows
            self.columns[name] += [intern(c) if type(c) is str else c for c in cells]
        self.rows += rows
        for column in self.columns.values():
            column += [None] * (self.rows - len(column))

    def column(self, name: str) -> Sequence[Any]:
        """The cells of a column; None if there is no such column."""
        return self.columns.get(name) or [None] * self.rows


@dataclass
class Release:
    """What was read of a release folder.

    Attributes:
        root: the folder.
        files: the size in bytes of each plain file, by its path in the folder.
        modes: the permissions of each file.
        ours: whether curation built it: it has a release.json.
        facts: release.json, if it can be read.
        card: README.md, if there is one.
        forms: the CATs, by the form of the data.
        annotations: annotations.csv; None if there is none.
        repeated: the Parquet files that repeat annotations.csv; None if there are none.
        terms: the rows of terms.jsonl; None if there is none.
        sealed: the rows of sealed.jsonl; None if there is none.
        repeated_terms: the rows of Parquet files that repeat terms.jsonl; None if there are none.
        settings: how the CATs of our StereoSet files were checked.
    """

    root: Path
    files: dict[str, int] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    ours: bool = False
    facts: Facts | None = None
    card: Card | None = None
    forms: dict[str, Form] = field(default_factory=dict)
    annotations: Table | None = None
    repeated: Table | None = None
    terms: list[dict[str, Any]] | None = None
    sealed: list[dict[str, Any]] | None = None
    repeated_terms: list[dict[str, Any]] | None = None
    settings: list[FileSettings] = field(default_factory=list)

    @property
    def main(self) -> Form:
        """The CATs of the form that has the most: ids and labels, if there are any."""
        ready = (self.forms[name] for name in FORMS if self.forms.get(name))
        return next(ready, [])

    @property
    def lacking(self) -> Severity:
        """How severe it is if a part is missing: another's release may have its own ways."""
        return "block" if self.ours else "warn"

    @property
    def reveals(self) -> bool:
        """Whether it has revealed gold labels; card and licence are those of the release."""
        return not self.ours and "reveal.jsonl" in self.files

    @property
    def hidden(self) -> bool:
        """Whether gold labels are hidden."""
        return self.sealed is not None or any(cat.hidden for f in self.forms.values() for cat in f)

    def text(self, name: str) -> str:
        """The text of a file.

        Raises:
            CurationError: the file is not text, or may not be read.
        """
        return read_text(self.root / name)

    def blocks(self, name: str) -> Iterator[str]:
        """The text of a file in blocks of whole lines, each of about a million characters.

        Raises:
            CurationError: the file may not be read.
            UnicodeDecodeError: it is not text.
        """
        with open_input(self.root / name) as file:
            is_wide = file.peek(2).startswith((b"\xff\xfe", b"\xfe\xff"))
            text = TextIOWrapper(file, "utf-16" if is_wide else "utf-8-sig", newline="\n")
            while block := text.read(BLOCK) + text.readline():
                yield block


def refuse_no_folder(root: Path) -> None:
    """Refuse what is not a folder.

    Raises:
        CurationError: it is not a folder, or may not be read.
    """
    try:
        if root.is_file():
            raise CurationError(f"{root}: is a file, not a folder", "name the folder of a release")
        if not root.is_dir():
            raise CurationError(f"{root}: no such folder", "check the path")
        os.listdir(root)  # noqa: PTH208 - raises what walk would hide
    except (PermissionError, ValueError) as error:
        fix = "give yourself permission to read it"
        raise CurationError(f"{root}: may not be read ({type(error).__name__})", fix) from None


def list_files(release: Release) -> Iterator[Finding]:
    """List the files of a folder in ``release.files``; links are findings and never followed.

    Raises:
        CurationError: it is not a folder, or may not be read.
    """
    root = release.root
    refuse_no_folder(root)
    errors: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=errors.append):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted((*folders, *names)):
            path = Path(folder, name)
            place = path.relative_to(root).as_posix()
            try:
                state = path.lstat()
                place.encode()
            except (OSError, UnicodeEncodeError):
                yield finding(
                    "not_plain", ascii(place)[1:-1], "its name is not UTF-8, or it is gone"
                )
                continue
            if stat.S_ISREG(state.st_mode):
                release.files[place] = state.st_size
                release.modes[place] = stat.S_IMODE(state.st_mode)
            elif not stat.S_ISDIR(state.st_mode):
                kind = "a link" if path.is_symlink() else "not a plain file"
                yield finding("not_plain", place, f"is {kind}")
    for failed in errors:
        place = str(failed.filename).removeprefix(f"{root}{os.sep}")
        yield finding("unreadable", place, failed.strerror or "may not be read")


def read_yaml(text: str) -> Any:
    """The content of YAML that anybody may have written.

    Raises:
        ValueError: it is not YAML; the message says why, and in which line.
    """
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 1}" if mark else ""
        why = getattr(error, "problem", None) or "damaged"
        raise ValueError(f"not YAML{place}: {why}") from None
    except Exception as error:  # PyYAML raises all kinds, such as for a date that is not one
        why = " ".join(str(error).split())[:200]
        raise ValueError(f"not YAML: {type(error).__name__} {why}") from None


def unreadable(release: Release, error: CurationError, where: str = "") -> Finding:
    """The finding about a file that cannot be read, from the error of reading it."""
    message = error.what.replace(f"{release.root}{os.sep}", "")
    place, _, detail = message.partition(": ")
    return finding("unreadable", where or place, detail or message, fix=error.fix)


def readable(release: Release, name: str, *, most: int = LARGEST) -> Finding | None:
    """A finding if a file is too large to be read; None if it can be."""
    size = release.files[name]
    if size <= most:
        return None
    return finding("not_read", name, f"has {size:,} bytes, and {most:,} are read at most")


def is_metadata(name: str) -> bool:
    """Whether a file is about the data, so that it is not read as data."""
    path = PurePosixPath(name)
    return path.name.startswith(".") or path.parts[0] == TASKS or name in METADATA

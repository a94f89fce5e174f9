"""Reads everything in a release folder, ours or another's, and says what it could not read."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from io import TextIOWrapper
from itertools import islice
from pathlib import Path, PurePosixPath
from sys import intern
from typing import Any, TypeVar

from pydantic import ValidationError

from curation.catsets.content import read_parts
from curation.catsets.entries import Part, Row
from curation.catsets.reading import read_dataset
from curation.catsets.stereoset import FileSettings
from curation.files import CurationError, digest, open_input, read_bytes, read_json, read_text
from curation.formats.parquet import each_columns
from curation.formats.tables import read_csv, read_json_lines
from curation.kinds import CAT_KINDS
from curation.records import Severity, SplitName
from curation.released.contents import (
    ANNOTATIONS,
    CARD,
    CONFIGS,
    DESCRIBED,
    ERRATA,
    FACTS,
    REVEAL,
    SEALED,
    SPLITS,
    STEREOSET,
    TASKS,
    TERMS,
    PublishedCat,
    split_of,
)
from curation.released.facts import Facts
from curation.released.findings import Finding, finding, named
from curation.released.seen import from_item, from_row
from curation.released.versions import read_commitments

LARGEST = 256 << 20  # bytes of a file that is read as a whole
T = TypeVar("T")
BLOCK = 1 << 20  # characters of a file that are searched at once
_AT_ONCE = 10_000  # rows that are added to a table at once
LARGEST_YAML = 256 << 10  # characters; YAML is read slowly
SKIPPED = frozenset({".git", ".cache", "__pycache__"})
"""Folders that version control and downloads make; they are not part of a release."""
METADATA = frozenset(
    {
        *DESCRIBED,
        ANNOTATIONS,
        TERMS,
        ERRATA,
        SEALED,
        REVEAL,
        "dataset_infos.json",
        "dataset_info.json",
        "dataset-metadata.json",
        "metadata.json",
        "eval.yaml",
        "codemeta.json",
        "package.json",
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
        left = iter(rows)
        while part := list(islice(left, _AT_ONCE)):
            names = dict.fromkeys(name for row in part for name in row)
            self.add_columns(len(part), {name: [r.get(name) for r in part] for name in names})

    def add_columns(self, rows: int, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add rows at the end that are given by column."""
        for name, cells in columns.items():
            column = self.columns.setdefault(name, [])
            column += [None] * (self.rows - len(column))
            column += [intern(c) if type(c) is str else c for c in cells]
        self.rows += rows

    def column(self, name: str) -> Sequence[Any]:
        """The cells of a column; None where a row has none, or if there is no such column."""
        cells = self.columns.get(name, [])
        return cells + [None] * (self.rows - len(cells)) if len(cells) < self.rows else cells


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
    forms: dict[str, list[PublishedCat]] = field(default_factory=dict)
    annotations: Table | None = None
    repeated: Table | None = None
    terms: list[dict[str, Any]] | None = None
    sealed: list[dict[str, Any]] | None = None
    repeated_terms: list[dict[str, Any]] | None = None
    settings: list[FileSettings] = field(default_factory=list)

    @property
    def main(self) -> list[PublishedCat]:
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
        return not self.ours and REVEAL in self.files

    @property
    def hidden(self) -> bool:
        """Whether gold labels are hidden."""
        return self.sealed is not None or any(cat.hidden for f in self.forms.values() for cat in f)

    def content(self, name: str) -> bytes:
        """The bytes of a file.

        Raises:
            CurationError: it may not be read.
        """
        return read_bytes(self.root / name)

    def digest(self, name: str) -> str | None:
        """The sha256 of a file; None if it is not there.

        Raises:
            OSError: it may not be read.
        """
        return digest(self.root / name)

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
    import yaml

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


def load(
    release: Release, name: str, read: Callable[[Path], T], *, most: int = LARGEST
) -> tuple[T | None, list[Finding]]:
    """What is read of a file, or the finding why it cannot be; neither if it is not there.

    Args:
        release: the release.
        name: the file.
        read: reads a file.
        most: the most bytes that are read.
    """
    problem = readable(release, name, most=most) if name in release.files else None
    if problem or name not in release.files:
        return None, [problem] if problem else []
    try:
        return read(release.root / name), []
    except CurationError as error:
        return None, [unreadable(release, error)]


def is_metadata(name: str) -> bool:
    """Whether a file is about the data, so that it is not read as data."""
    path = PurePosixPath(name)
    return path.name.startswith(".") or path.parts[0] == TASKS or name in METADATA


LARGEST_CARD = 4 << 20  # bytes
DATA = {".json": "StereoSet", ".parquet": "Parquet", ".jsonl": "JSON Lines"}
DATA |= dict.fromkeys((".csv", ".tsv"), "CSV")
"""Suffixes of files that may have CATs, and the form of the data."""
OTHER_DATA = frozenset({".arrow", ".feather", ".pkl", ".pickle", ".xlsx", ".zip", ".tar"})
"""Words in the names of files, and the split that they mean."""
_OTHER = "not another set of CATs"  # what readers say of other data


def read_release(root: Path) -> tuple[Release, list[Finding]]:
    """Read a release folder.

    Args:
        root: the folder.

    Returns:
        What was read, and the findings about what was not.

    Raises:
        CurationError: it is not a folder, is empty, or may not be read.
    """
    release = Release(root)
    findings = list(list_files(release))
    if not (release.files or findings):
        raise CurationError(f"{root}: the folder is empty", "name the folder of a release")
    release.ours = FACTS in release.files
    for name, read in _PARTS.items():
        most = LARGEST_CARD if name == CARD else LARGEST
        found, problems = load(release, name, partial(read, release), most=most)
        findings += found or problems
    findings += _forms(release)
    return release, findings


# --- single files ---------------------------------------------------------------------------------


def _facts(release: Release, path: Path) -> list[Finding]:
    content = read_json(path)
    try:
        release.facts = Facts.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        return [finding("facts_damaged", path.name, f"{field}: {first['msg']}")]
    return []


def _card(release: Release, path: Path) -> list[Finding]:
    text = read_text(path)
    release.card = Card(None, text)
    try:
        release.card = Card(_front_matter(text), text)
    except ValueError as error:
        return [finding("card_yaml", path.name, str(error))]
    return []


def _front_matter(text: str) -> dict[str, Any]:
    """The YAML between the first two lines of three hyphens.

    Raises:
        ValueError: what is wrong with it.
    """
    first, *lines = text.replace("\r\n", "\n").split("\n")
    if first.strip() != "---":
        return {}
    end = next((n for n, line in enumerate(lines) if line.strip() == "---"), None)
    if end is None:
        raise ValueError("the YAML begins with --- and has no second line ---")
    front = "\n".join(lines[:end])
    if len(front) > LARGEST_YAML:
        raise ValueError(f"the YAML has more than {LARGEST_YAML:,} characters")
    data = read_yaml("\n" + front)  # the line of --- counts in messages
    if not isinstance(data, dict | type(None)):
        raise ValueError("the YAML is not a list of fields")
    return data or {}


def _annotations(release: Release, path: Path) -> list[Finding]:
    _, rows = read_csv(read_text(path), path)
    release.annotations = Table()
    release.annotations.add(row for _, row in rows)
    return []


def _terms(release: Release, path: Path) -> list[Finding]:
    release.terms = [row for _, row in read_json_lines(read_text(path), path)]
    bad = [str(row.get("id")) for row in release.terms if not isinstance(row.get("text"), str)]
    return [finding("unreadable", path.name, f"terms without a text: {named(bad)}")] if bad else []


def _sealed(release: Release, path: Path) -> list[Finding]:
    release.sealed = read_commitments(release.root)
    return []


_PARTS: dict[str, Callable[[Release, Path], list[Finding]]] = {
    FACTS: _facts,
    CARD: _card,
    ANNOTATIONS: _annotations,
    TERMS: _terms,
    SEALED: _sealed,
}
"""What reads each single file."""


# --- CATs -----------------------------------------------------------------------------------------


def _forms(release: Release) -> Iterator[Finding]:
    unread = []
    for name in release.files:
        if is_metadata(name):
            continue
        suffixes = [part.lower() for part in PurePosixPath(name).suffixes]
        packed = suffixes[-1:] in ([".gz"], [".bz2"])
        suffix = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
        if suffix not in DATA:
            unread += [name] if suffix in OTHER_DATA else []
        elif suffix == ".parquet" and find_spec("pyarrow") is None:
            fix = "pip install 'curation[parquet]'"
            yield finding("not_read", name, "reading Parquet needs pyarrow", fix=fix)
        elif problem := readable(release, name):
            yield problem
        else:
            try:
                yield from _file(release, name, DATA[suffix])
            except (RecursionError, MemoryError):
                yield finding("unreadable", name, "its content is nested too deep, or too large")
    if unread:
        yield finding("not_read", named(unread), "files of this kind are not read")
    if not any(release.forms.values()):
        yield finding("no_cats", ".", "no file in the folder has CATs")


def _file(release: Release, name: str, form: str) -> Iterator[Finding]:
    path, content = release.root / name, None
    try:
        if release.ours and _ours(release, name):
            return
        content = read_parts(path)
        dataset = read_dataset(path, content)
    except CurationError as error:
        detail = error.what.replace(f"{path}: ", "").replace(str(path), name)
        if content:
            detail = f"is not read as a set of CATs: {detail}"
            yield finding("not_read", name, detail, fix=error.fix)
        elif release.ours or _OTHER not in error.what:
            yield unreadable(release, error)
        else:
            yield finding("not_read", name, "is other data, such as predictions", fix=error.fix)
        return
    cats = [
        from_item(entry.item, entry.kind, f"{name}, {entry.where}", _split(name))
        for entry in dataset.entries
    ]
    if not any(cat.options for cat in cats):  # such as a file of predictions
        yield finding("not_read", name, "its items have no associations")
        return
    _add(release, form, cats)
    if dataset.curation:  # such as the test.json of revealed gold labels
        _settings(release, dataset.curation)


def _ours(release: Release, name: str) -> bool:
    """Read a data file of a release by curation; False if it is not such a file."""
    path, parts = release.root / name, PurePosixPath(name).parts
    if name in STEREOSET:
        cats, about = _stereoset(path)
        _settings(release, about)
        return _add(release, "StereoSet", cats)
    if len(parts) != 2:
        return False
    if parts[0] == "cats" and name.endswith(".jsonl"):
        return _add(release, "JSON Lines", _read_flat(path, name))
    if parts[0] not in CONFIGS or not name.endswith(".parquet"):
        return False
    if parts[0] == "annotations":
        release.repeated = release.repeated or Table()
        for part in each_columns(path):
            release.repeated.add_columns(*part)
        return True
    file_parts, _ = read_parts(path)
    rows = ((part, row) for part in file_parts for row in _drained(part))
    if parts[0] == "terms":
        known = release.repeated_terms or []
        release.repeated_terms = [*known, *(row.values for _, row in rows)]
        return True
    if parts[0] in CAT_KINDS:
        cats = [
            from_item(row.values, parts[0], f"{name} {row.where}", _split(name), part.classes)
            for part, row in rows
        ]
        return _add(release, "Parquet", cats)
    cats = [from_row(row.values, f"{name} {row.where}") for _, row in rows]
    return _add(release, "flat Parquet", cats)


def _stereoset(path: Path) -> tuple[list[PublishedCat], Any]:
    """The CATs of ``dev.json`` or ``test.json``, and the field ``curation``."""
    parts, about = read_parts(path)
    cats = [
        from_item(row.values, part.kind or "", f"{path.name}, {row.where}", path.stem)
        for part in parts
        for row in _drained(part)
    ]
    return cats, about


def read_published(folder: Path, splits: Iterable[SplitName] = SPLITS) -> list[PublishedCat]:
    """The CATs of a release's files in StereoSet's format, or of its flat files, unchecked.

    Some kinds of CATs are in flat files only, where associations have no ids. CATs have no labels
    and no ``where``, which take much memory.

    Args:
        folder: the folder of a release. A file that is missing or has no CATs is left out.
        splits: the splits to read.

    Raises:
        CurationError: a file is damaged.
    """
    cats: list[PublishedCat] = []
    for path in (folder / f"{split}.json" for split in splits):
        try:
            cats += _stereoset(path)[0] if path.is_file() else ()
        except CurationError as error:
            if _OTHER not in error.what:
                raise
    if not any((folder / name).is_file() for name in STEREOSET):
        for path in sorted(folder.glob("cats/*.jsonl")):
            if split_of(path) in [*splits]:
                cats += _read_flat(path)
    return [
        cat._replace(where="", options=tuple(option._replace(labels=()) for option in cat.options))
        for cat in cats
    ]


def _read_flat(path: Path, name: str = "") -> list[PublishedCat]:
    """The CATs of a file in ``cats/``; their ``where`` begins with a name."""
    lines = read_json_lines(read_text(path), path)
    return [from_row(row, f"{name} line {number}") for number, row in lines]


def _drained(part: Part) -> Iterator[Row]:
    """The rows of a part, each of which is free after its turn."""
    part.rows.reverse()
    while part.rows:
        yield part.rows.pop()


def _add(release: Release, form: str, cats: list[PublishedCat]) -> bool:
    release.forms.setdefault(form, []).extend(cats)
    return True


def _settings(release: Release, about: Any) -> None:
    try:
        release.settings.append(FileSettings.model_validate(about))
    except ValidationError:
        release.settings.append(FileSettings())  # the facts have the language, too


def _split(name: str) -> str:
    """The split that the name of a file means; empty if it means none."""
    return split_of(PurePosixPath(name)) or ""

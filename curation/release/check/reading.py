"""Reads what is in a release folder, so that it can be checked.

Nothing raises: what cannot be read becomes a finding.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from curation.catsets.content import read_parts
from curation.catsets.entries import Part, Row
from curation.catsets.reading import read_dataset
from curation.catsets.stereoset import FileSettings
from curation.files import CurationError, read_json, read_text
from curation.formats.parquet import each_columns
from curation.formats.tables import read_csv, read_json_lines
from curation.records import KINDS
from curation.release.check.findings import Finding, finding, named
from curation.release.check.folder import (
    LARGEST_YAML,
    Card,
    Release,
    Table,
    is_metadata,
    list_files,
    read_yaml,
    readable,
    unreadable,
)
from curation.release.check.forms import Form, from_item, from_parquet, from_row
from curation.release.check.hidden import read_sealed
from curation.release.facts import Facts
from curation.release.layout import ANNOTATIONS, CARD, CONFIGS, FACTS, STEREOSET, TERMS, split_of

LARGEST_CARD = 4 << 20  # bytes
DATA = {
    ".json": "StereoSet",
    ".parquet": "Parquet",
    ".jsonl": "JSON Lines",
    ".csv": "CSV",
    ".tsv": "CSV",
}
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
    if not release.files and not findings:
        raise CurationError(f"{root}: the folder is empty", "name the folder of a release")
    release.ours = FACTS in release.files
    for part in (_facts, _card, _annotations, _terms, read_sealed):
        try:
            findings += part(release)
        except CurationError as error:
            findings.append(unreadable(release, error))
    findings += _forms(release)
    return release, findings


# --- single files ---------------------------------------------------------------------------------


def _facts(release: Release) -> Iterator[Finding]:
    if not release.ours:
        return
    if problem := readable(release, FACTS):
        yield problem
        return
    content = read_json(release.root / FACTS)
    try:
        release.facts = Facts.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        yield finding("facts_damaged", FACTS, f"{field}: {first['msg']}")


def _card(release: Release) -> Iterator[Finding]:
    if CARD not in release.files:
        return
    if problem := readable(release, CARD, most=LARGEST_CARD):
        yield problem
        return
    text = release.text(CARD)
    data, problem_text = _front_matter(text)
    release.card = Card(data, text)
    if problem_text:
        yield finding("card_yaml", CARD, problem_text)


def _front_matter(text: str) -> tuple[dict[str, Any] | None, str]:
    """The YAML between the first two lines of three hyphens, and what is wrong with it."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].strip() != "---":
        return {}, ""
    end = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    if not end:
        return None, "the YAML begins with --- and has no second line ---"
    front = "\n".join(lines[1:end])
    if len(front) > LARGEST_YAML:
        return None, f"the YAML has more than {LARGEST_YAML:,} characters"
    try:
        data = read_yaml("\n" + front)  # the line of --- counts in messages
    except ValueError as error:
        return None, str(error)
    if data is None:
        return {}, ""
    return (data, "") if isinstance(data, dict) else (None, "the YAML is not a list of fields")


def _annotations(release: Release) -> Iterator[Finding]:
    name = ANNOTATIONS
    if name not in release.files:
        return
    if problem := readable(release, name):
        yield problem
        return
    path = release.root / name
    _, rows = read_csv(read_text(path), path)
    release.annotations = Table()
    release.annotations.add(row for _, row in rows)


def _terms(release: Release) -> Iterator[Finding]:
    name = TERMS
    if name not in release.files:
        return
    if problem := readable(release, name):
        yield problem
        return
    path = release.root / name
    release.terms = [row for _, row in read_json_lines(read_text(path), path)]
    if bad := [str(row.get("id")) for row in release.terms if not isinstance(row.get("text"), str)]:
        yield finding("unreadable", name, f"terms without a text: {named(bad)}")


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
            yield from _file(release, name, DATA[suffix])
    if unread:
        yield finding("not_read", named(unread), "files of this kind are not read")
    if not any(release.forms.values()):
        yield finding("no_cats", ".", "no file in the folder has CATs")


def _file(release: Release, name: str, form: str) -> Iterator[Finding]:
    path = release.root / name
    try:
        if release.ours and _ours(release, name):
            return
        _, about = read_parts(path)
    except CurationError as error:
        if release.ours or _OTHER not in error.what:
            yield unreadable(release, error)
        else:
            yield finding("not_read", name, "is other data, such as predictions", fix=error.fix)
        return
    except (RecursionError, MemoryError):
        yield finding("unreadable", name, "its content is nested too deep, or too large")
        return
    try:
        dataset = read_dataset(path)
    except CurationError as error:
        detail = error.what.replace(f"{path}: ", "").replace(str(path), name)
        yield finding("not_read", name, f"is not read as a set of CATs: {detail}", fix=error.fix)
        return
    except (RecursionError, MemoryError):
        yield finding("unreadable", name, "its content is nested too deep, or too large")
        return
    cats = [
        from_item(entry.item, entry.kind, f"{name}, {entry.where}", _split(name))
        for entry in dataset.entries
    ]
    if not any(cat.options for cat in cats):  # such as a file of predictions
        yield finding("not_read", name, "its items have no associations")
        return
    _add(release, form, cats)
    if about:  # such as the test.json of revealed gold labels
        _settings(release, about)


def _ours(release: Release, name: str) -> bool:
    """Read a data file of a release by curation; False if it is not such a file."""
    path, parts = release.root / name, PurePosixPath(name).parts
    if name in STEREOSET:
        file_parts, about = read_parts(path)
        cats = [
            from_item(
                row.values,
                part.kind or "",
                f"{name}, {row.where}",
                _split(name),
            )
            for part in file_parts
            for row in _drained(part)
        ]
        _settings(release, about)
        return _add(release, "StereoSet", cats)
    if len(parts) != 2:
        return False
    if parts[0] == "cats" and name.endswith(".jsonl"):
        lines = read_json_lines(read_text(path), path)
        return _add(release, "JSON Lines", [from_row(row, f"{name} line {n}") for n, row in lines])
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
        release.repeated_terms = [
            *(release.repeated_terms or ()),
            *(row.values for _, row in rows),
        ]
        return True
    if parts[0] in KINDS:
        cats = [
            from_parquet(
                row.values,
                part.classes,
                parts[0],
                f"{name} {row.where}",
                _split(name),
            )
            for part, row in rows
        ]
        return _add(release, "Parquet", cats)
    cats = [from_row(row.values, f"{name} {row.where}") for _, row in rows]
    return _add(release, "flat Parquet", cats)


def _drained(part: Part) -> Iterator[Row]:
    """The rows of a part, each of which is free after its turn."""
    part.rows.reverse()
    while part.rows:
        yield part.rows.pop()


def _add(release: Release, form: str, cats: Form) -> bool:
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

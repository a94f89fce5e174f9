"""Checks that nothing is in a release that tells of a person, or that must stay private."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from curation.campaign import PRIVATE
from curation.files import CurationError
from curation.release.check.findings import Finding, finding, named
from curation.release.check.folder import LARGEST, Release, Table

NEVER = (
    "gold-*.jsonl",
    "given-out.jsonl",
    "people.jsonl",
    "people.csv",
    "standing.jsonl",
    "asked.json",
    "*.key",
)
"""Names of files that never leave a campaign."""
FOLDERS = frozenset({"raw", "tasks", "2-rounds", "1-terms"})
_EMAIL = re.compile(
    r"[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,12}\b"
)
_SECRET = re.compile(r"://[^\s/@\"'<>]{1,200}@")
_PERSON = re.compile(r"https?://[^\s\"'<>]{1,100}?/(?:~|users?/|profile/|in/|@)[\w.-]{2,60}", re.I)
PHONE = re.compile(
    r"(?<![\w.+-])(?:\+\d{1,3}[ .-]?\(?\d{1,4}\)?(?:[ .-]?\d{2,4}){2,4}"
    r"|\(\d{2,4}\)[ .-]?\d{3,4}[ .-]\d{4}|\d{3}[ .-]\d{3}[ .-]\d{4})(?![\w-])"
)
_HOME = re.compile(r"(?:/home/|/Users/|\b[A-Za-z]:[/\\]{1,4}Users[/\\]{1,4})[\w.-]{2,60}")
_WORKER = re.compile(r"A[A-Z0-9]{10,20}|[0-9a-f]{24}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_TIMES = frozenset({"submitted_at", "seconds", "timestamp", "time", "created_at", "duration"})
_DATA = (".json", ".jsonl", ".csv", ".tsv")
_TEXTS = frozenset({"release.json", "croissant.json", "datapackage.json"})
"""Files that name the authors and their address on purpose."""


def findings(release: Release) -> Iterator[Finding]:
    """What is in a release that must not be."""
    for name in release.files:
        if _is_private(name):
            yield finding("private_file", name, "never belongs into a release")
    closed = [name for name, mode in release.modes.items() if not mode & 0o044]
    if closed:
        yield finding("mode", named(closed), "only its owner may read it")
    yield from _data(release)
    yield from _people(release)


def _is_private(name: str) -> bool:
    path = PurePosixPath(name)
    inside = FOLDERS.intersection(path.parts[:-1])
    of_campaign = any(fnmatchcase(name, p.rstrip("/*") + "/*") for p in PRIVATE if p.endswith("/"))
    return bool(inside) or of_campaign or any(fnmatchcase(path.name, p) for p in NEVER)


def _data(release: Release) -> Iterator[Finding]:
    """Search the data for addresses; Parquet files have the same texts."""
    for name, size in release.files.items():
        if not name.endswith(_DATA) or size > LARGEST:
            continue
        try:
            text = release.text(name)
        except CurationError:
            continue  # reported as unreadable, or empty
        homes = _HOME.finditer(text) if "/home/" in text or "Users" in text else iter(())
        if home := next((m for m in homes if not _in_link(text, m.start())), None):
            line = text.count("\n", 0, home.start()) + 1
            yield finding("maybe_personal", name, f"a folder of somebody's computer: line {line}")
        if name in _TEXTS:
            continue
        for kind, code, mark, pattern in (
            ("e-mail addresses", "personal", "@", _EMAIL),
            ("addresses with a name or a password", "personal", "://", _SECRET),
            ("phone numbers", "maybe_personal", "", PHONE),
            ("pages of people", "maybe_personal", "://", _PERSON),
        ):
            if mark not in text:
                continue
            places = [
                f"line {text.count(chr(10), 0, match.start()) + 1}"
                for _, match in zip(range(50), pattern.finditer(text), strict=False)
            ]
            if places:
                yield finding(code, name, f"{kind}: {named(list(dict.fromkeys(places)))}")


def _in_link(text: str, place: int) -> bool:
    """Whether a place in a text is in the path of a web address."""
    return re.search(r"://[^\s\"'<>]{1,200}$", text[max(0, place - 210) : place]) is not None


def _people(release: Release) -> Iterator[Finding]:
    """Ids of people must not be those of platforms, and answers must have no times."""
    table = release.annotations or Table()
    people = {str(person or "") for person in set(table.column("annotator"))}
    people |= {
        person for cat in release.main for option in cat.options for person, _ in option.labels
    }
    if workers := sorted(person for person in people if _WORKER.fullmatch(person)):
        # 24 hexadecimal digits are Prolific's, and may be a digest that somebody made.
        sure = any(worker[0] == "A" for worker in workers)
        shown = [f"{worker[:4]}…" for worker in workers]
        detail = f"{len(workers)} annotators look like ids of a platform: {named(shown)}"
        yield finding(
            "personal", "the labels", detail, severity="block" if sure else release.lacking
        )
    if times := [name for name in table.columns if name.lower() in _TIMES]:
        yield finding("maybe_personal", "annotations.csv", f"has a column {times[0]!r}")
        return
    places = []
    for column in table.columns.values():
        found = {cell for cell in set(map(str, column)) if _TIME.search(cell)}
        if found:
            places.append(next(n for n, cell in enumerate(column, 1) if str(cell) in found))
    if places:
        yield finding("maybe_personal", f"annotations.csv row {min(places)}", "has a time")

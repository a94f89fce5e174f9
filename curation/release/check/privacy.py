"""Checks that nothing is in a release that tells of a person, or that must stay private."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple

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
    # A search is fastest if the first character is tested first, and what is before it afterwards.
    r"[+(\d](?<![\w.+-].)(?:(?<=\+)\d{1,3}[ .-]?\(?\d{1,4}\)?(?:[ .-]?\d{2,4}){2,4}"
    r"|(?<=\()\d{2,4}\)[ .-]?\d{3,4}[ .-]\d{4}|(?<=\d)\d\d[ .-]\d{3}[ .-]\d{4})(?![\w-])"
)
_HOME = re.compile(r"(?:/home/|/Users/|\b[A-Za-z]:[/\\]{1,4}Users[/\\]{1,4})[\w.-]{2,60}")
_WORKER = re.compile(r"A[A-Z0-9]{10,20}|[0-9a-f]{24}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_TIMES = frozenset({"submitted_at", "seconds", "timestamp", "time", "created_at", "duration"})
_DATA = (".json", ".jsonl", ".csv", ".tsv")
_TEXTS = frozenset({"release.json", "croissant.json", "datapackage.json"})
"""Files that name the authors and their address on purpose."""


_SHAPE = bytes.maketrans(bytes((*b"012345678.-", *range(128, 256))), b"999999999  " + b"9" * 128)
"""Every digit becomes 9, also those of other scripts, and what separates digits a space."""


class _Search(NamedTuple):
    """What is searched for: ``pattern``, in blocks whose shape has one of ``marks``."""

    what: str
    code: str
    marks: tuple[bytes, ...]
    pattern: re.Pattern[str]
    most: int = 50


_SEARCHES = (
    _Search(
        "a folder of somebody's computer", "maybe_personal", (b"/home/", b"Users"), _HOME, most=1
    ),
    _Search("e-mail addresses", "personal", (b"@",), _EMAIL),
    _Search("addresses with a name or a password", "personal", (b"://",), _SECRET),
    _Search("phone numbers", "maybe_personal", (b"+9", b"(9", b"999 999"), PHONE),
    _Search("pages of people", "maybe_personal", (b"://",), _PERSON),
)
"""No pattern matches a line break, so lines may be searched by themselves."""


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
        searches = _SEARCHES[:1] if name in _TEXTS else _SEARCHES
        lines: list[list[int]] = [[] for _ in searches]
        first = 1
        try:
            for block in release.blocks(name):
                shape = block.encode().translate(_SHAPE)
                for search, found in zip(searches, lines, strict=True):
                    if any(mark in shape for mark in search.marks):
                        places = islice(_places(search, block), search.most - len(found))
                        found += [first + block.count("\n", 0, place) for place in places]
                first += block.count("\n")
        except (CurationError, UnicodeDecodeError):
            continue  # reported as unreadable
        for search, found in zip(searches, lines, strict=True):
            if found:
                places_shown = named([f"line {line}" for line in dict.fromkeys(found)])
                yield finding(search.code, name, f"{search.what}: {places_shown}")


def _places(search: _Search, block: str) -> Iterator[int]:
    """Where a block has what is searched for."""
    for match in search.pattern.finditer(block):
        if search.pattern is not _HOME or not _in_link(block, match.start()):
            yield match.start()


def _in_link(text: str, place: int) -> bool:
    """Whether a place in a text is in the path of a web address."""
    return re.search(r"://[^\s\"'<>]{1,200}\Z", text[max(0, place - 210) : place]) is not None


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

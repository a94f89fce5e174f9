"""Checks that nothing tells of a person or of hidden gold labels, or must stay private."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple

from curation.campaign.private import PRIVATE
from curation.files import CurationError, read_text
from curation.kinds import CAT_KINDS
from curation.released.columns import TELLING
from curation.released.contents import ANNOTATIONS, FACTS, SEALED
from curation.released.findings import Finding, finding, listed, named
from curation.released.folder import FORMS, LARGEST, Release, Table, is_metadata, load
from curation.released.numbers import too_much
from curation.text.rules import same_text

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
_TABLES = (".json", ".jsonl", ".csv", ".tsv")
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


def check_privacy(release: Release) -> Iterator[Finding]:
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
        if not name.endswith(_TABLES) or size > LARGEST:
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
            shown = [f"line {line}" for line in dict.fromkeys(found)]
            yield from listed(search.code, name, shown, f"{search.what}: {{places}}")


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
    workers = [f"{person[:4]}…" for person in sorted(people) if _WORKER.fullmatch(person)]
    # 24 hexadecimal digits are Prolific's, and may be a digest that somebody made.
    how = "block" if any(worker[0] == "A" for worker in workers) else release.lacking
    says = "{n} annotators look like ids of a platform: {places}"
    yield from listed("personal", "the labels", workers, says, severity=how)
    if times := [name for name in table.columns if name.lower() in _TIMES]:
        yield finding("maybe_personal", "annotations.csv", f"has a column {times[0]!r}")
        return
    places = []
    for column in table.columns.values():
        if found := {cell for cell in set(map(str, column)) if _TIME.search(cell)}:
            places.append(next(n for n, cell in enumerate(column, 1) if str(cell) in found))
    if places:
        yield finding("maybe_personal", f"annotations.csv row {min(places)}", "has a time")


_HEX, _ID = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}")
_WORD = re.compile(r"[\w.-]+")
_PUBLIC_DATA = ("test.json", "cats/", "hidden/", *(f"{kind}/" for kind in CAT_KINDS))
"""Files that have the hidden CATs; every other file must not name one."""
_TELLING = TELLING | {"agreement", "votes", "flags"}
"""Fields that a hidden CAT must not have a value of."""
_NUMBERED = re.compile(r"(.*?)[-_.]?\d{1,7}")
_START = 8  # letters by which texts are looked up
_FEW = 8  # of fewer ids, chance may make numbers


def check_hidden(release: Release) -> Iterator[Finding]:
    """What tells of the hidden gold labels; nothing if none are hidden."""
    cats = {cat.id: cat for name in FORMS for cat in release.forms.get(name, ()) if cat.hidden}
    facts = release.facts
    if release.sealed is not None or (facts and facts.is_sealed):
        yield from _sealed(release)
        return
    if facts and facts.hidden and not cats:
        detail = "says that gold labels are hidden, and the data have all of them"
        yield finding("hidden_leak", "release.json", detail)
    if not cats:
        return
    if facts and (found := too_much(facts)):
        yield finding("hidden_values", "release.json", "; ".join(found))
    yield from _fields(release, cats.keys())
    ids = {*cats, *(option.id for cat in cats.values() for option in cat.options if option.id)}
    yield from _elsewhere(release, ids, _PUBLIC_DATA)
    yield from _orders(release)
    yield from _commitments(release)


def _sealed(release: Release) -> Iterator[Finding]:
    """Whether a sealed test set has commitments only, and the numbers that release.json has."""
    rows, facts = release.sealed or [], release.facts
    wrong = [
        row["id"]
        for row in rows
        if not (_ID.fullmatch(row["id"]) and _HEX.fullmatch(row["commitment"]))
    ]
    yield from listed("commitment", SEALED, wrong, "not 32 and 64 hexadecimal digits: {places}")
    for field in ("id", "commitment"):
        counts = Counter(row[field] for row in rows)
        twice = [value for value, count in counts.items() if count > 1]
        yield from listed("commitment", SEALED, twice, f"the same {field}: {{places}}")
    if facts and (not facts.hidden or facts.hidden.cats != len(rows)):
        stated = facts.hidden.cats if facts.hidden else 0
        yield finding("sizes_differ", FACTS, f"says {stated} sealed CATs; {SEALED} has {len(rows)}")
    actual = release.digest(SEALED)
    if facts and facts.hidden and facts.hidden.sealed != actual:
        yield finding("canonical_hash", FACTS, f"{SEALED} has the sha256 {actual}")
    for form, cats in release.forms.items():
        shown = [cat.id for cat in cats if cat.split != "dev"]
        yield from listed("hidden_leak", form, shown, "texts of test CATs: {places}")
    yield from _elsewhere(release, {row["id"] for row in rows}, (SEALED,))


def find_quotations(release: Release, texts: Iterable[str]) -> Iterator[Finding]:
    """Whether files about the data, such as the card, quote texts that are not to be public.

    Case and white space do not count. Texts of fewer than 8 letters are not searched for.
    """
    by_start: dict[str, set[str]] = defaultdict(set)
    for text in map(same_text, texts):
        by_start[text[:_START]].add(text)
    for name in release.files:
        if not is_metadata(name) or name == ANNOTATIONS:
            continue
        content, _ = load(release, name, read_text)  # reported as unreadable
        content = same_text((content or "").replace("\\", ""))  # escapes of JSON, Markdown
        places = ((at, content[at : at + _START]) for at in range(len(content) - _START + 1))
        found = {t for at, s in places for t in by_start.get(s, ()) if content.startswith(t, at)}
        yield from listed("hidden_leak", name, sorted(found), "texts of sealed CATs: {places}")


def _fields(release: Release, hidden: Collection[str]) -> Iterator[Finding]:
    leaks = []
    for form in release.forms.values():
        for cat in form:
            if cat.id not in hidden:
                continue
            values = _TELLING & cat.fields - {"tier"}
            values |= {"tier"} if cat.tier is not None else set()
            values |= {"gold labels" for option in cat.options if option.gold is not None}
            values |= {"labels" for option in cat.options if option.labels}
            if values:
                leaks.append(f"{cat.where} (id {cat.id}): {', '.join(sorted(values))}")
    yield from listed("hidden_leak", "hidden CATs", leaks)


def _elsewhere(release: Release, ids: set[str], data: tuple[str, ...]) -> Iterator[Finding]:
    """Hidden CATs are named in the files of the data only."""
    for name, size in release.files.items():
        if name.startswith(data) or name.endswith(".parquet") or size > LARGEST:
            continue
        there: set[str] = set()
        try:
            for block in release.blocks(name):
                there |= ids.intersection(_WORD.findall(block))
        except (CurationError, UnicodeDecodeError):
            continue  # reported as unreadable
        # Harnesses get the texts of hidden CATs, too, but nothing by which they are found.
        if not name.startswith("lm-eval/"):
            yield from listed("hidden_leak", name, sorted(there), "names hidden CATs: {places}")


def _orders(release: Release) -> Iterator[Finding]:
    """Numbered ids may follow the campaign's; sorted random ids say nothing."""
    for form, cats in release.forms.items():
        ids = [cat.id for cat in cats if cat.hidden]
        inside = [o.id for cat in cats if cat.hidden for o in cat.options if o.id]
        for kind, names in (("CATs", ids), ("associations", inside)):
            numbers = [match for name in names if (match := _NUMBERED.fullmatch(name))]
            stems = {match[1] for match in numbers}
            if len(numbers) == len(names) >= _FEW and len(stems) <= len(names) / 2:
                yield finding("hidden_order", form, f"the ids of hidden {kind} are numbered")


def _commitments(release: Release) -> Iterator[Finding]:
    for form, cats in release.forms.items():
        given = [(cat.id, cat.commitment) for cat in cats if cat.commitment is not None]
        bad = [name for name, commitment in given if not _HEX.fullmatch(commitment)]
        yield from listed("commitment", form, bad, "not 64 hexadecimal digits: {places}")
        counts = Counter(commitment for _, commitment in given)
        twice = [name for name, commitment in given if counts[commitment] > 1]
        yield from listed("commitment", form, twice, "the same commitment: {places}")
    flat = release.forms.get("JSON Lines", [])
    without = [cat.id for cat in flat if cat.hidden and cat.commitment is None]
    yield from listed("commitment", "cats/", without, "hidden CATs without one: {places}")

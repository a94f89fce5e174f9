"""Checks a hidden test set: nothing that is public may tell of its gold labels."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from curation.catsets.entries import HIDDEN
from curation.files import CurationError, digest
from curation.release.check.findings import Finding, finding, named
from curation.release.check.folder import FORMS, LARGEST, Release, is_metadata, readable
from curation.release.hidden.numbers import too_much
from curation.release.layout import ANNOTATIONS, FACTS, SEALED
from curation.release.versions.reading import committed
from curation.text.rules import same_text

_HEX, _ID = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}")
_WORD = re.compile(r"[\w.-]+")
_DATA = ("test.json", "cats/", "hidden/", "intrasentence/", "intersentence/")
"""Files that have the hidden CATs; every other file must not name one."""
_TELLING = frozenset({"tier", "agreement", "votes", "flags", "stereotype", "anti_stereotype"})
"""Fields that a hidden CAT must not have a value of."""
_NUMBERED = re.compile(r"(.*?)[-_.]?\d{1,7}")
_START = 8  # letters by which texts are looked up
_FEW = 8  # of fewer ids, chance may make numbers


def read_sealed(release: Release) -> Iterator[Finding]:
    """Read ``sealed.jsonl`` into ``release.sealed``.

    Raises:
        CurationError: it is damaged.
    """
    if SEALED not in release.files:
        return
    if problem := readable(release, SEALED):
        yield problem
        return
    release.sealed = committed(release.root)


def findings(release: Release) -> Iterator[Finding]:
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
    yield from _elsewhere(release, ids, _DATA)
    yield from _orders(release)
    yield from _commitments(release)


def _sealed(release: Release) -> Iterator[Finding]:
    """Whether a sealed test set has commitments only, and the numbers that release.json has."""
    rows, facts = release.sealed or [], release.facts
    wrong = [
        row for row in rows if not (_ID.fullmatch(row["id"]) and _HEX.fullmatch(row["commitment"]))
    ]
    if wrong:
        detail = f"not 32 and 64 hexadecimal digits: {named([row['id'] for row in wrong])}"
        yield finding("commitment", SEALED, detail)
    for field in ("id", "commitment"):
        counts = Counter(row[field] for row in rows)
        if twice := [value for value, count in counts.items() if count > 1]:
            yield finding("commitment", SEALED, f"the same {field}: {named(twice)}")
    if facts and (not facts.hidden or facts.hidden.cats != len(rows)):
        stated = facts.hidden.cats if facts.hidden else 0
        yield finding("sizes_differ", FACTS, f"says {stated} sealed CATs; {SEALED} has {len(rows)}")
    actual = digest(release.root / SEALED)
    if facts and facts.hidden and facts.hidden.sealed != actual:
        yield finding("canonical_hash", FACTS, f"{SEALED} has the sha256 {actual}")
    for form, cats in release.forms.items():
        if shown := [cat.id for cat in cats if cat.split != "dev"]:
            yield finding("hidden_leak", form, f"texts of test CATs: {named(shown)}")
    yield from _elsewhere(release, {row["id"] for row in rows}, (SEALED,))


def quoted(release: Release, texts: Iterable[str]) -> Iterator[Finding]:
    """Whether files about the data, such as the card, quote texts that are not to be public.

    Case and white space do not count. Texts of fewer than 8 letters are not searched for.
    """
    by_start: dict[str, set[str]] = defaultdict(set)
    for text in map(same_text, texts):
        by_start[text[:_START]].add(text)
    for name in release.files:
        if not is_metadata(name) or name == ANNOTATIONS or readable(release, name):
            continue
        with suppress(CurationError):  # reported as unreadable
            content = same_text(release.text(name).replace("\\", ""))  # escapes of JSON, Markdown
            places = ((at, content[at : at + _START]) for at in range(len(content) - _START + 1))
            found = {
                t for at, s in places for t in by_start.get(s, ()) if content.startswith(t, at)
            }
            if found:
                yield finding("hidden_leak", name, f"texts of sealed CATs: {named(sorted(found))}")


def _fields(release: Release, hidden: Collection[str]) -> Iterator[Finding]:
    leaks = []
    for form in release.forms.values():
        for cat in form:
            if cat.id not in hidden:
                continue
            values = {field for field in _TELLING & cat.fields if field != "tier"}
            if cat.tier is not None:
                values.add("tier")
            values |= {"gold labels" for option in cat.options if option.gold != HIDDEN}
            values |= {"labels" for option in cat.options if option.labels}
            if values:
                leaks.append(f"{cat.where} (id {cat.id}): {', '.join(sorted(values))}")
    if leaks:
        yield finding("hidden_leak", "hidden CATs", f"{len(leaks)}: {named(leaks)}")


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
        if there and not name.startswith("lm-eval/"):
            yield finding("hidden_leak", name, f"names hidden CATs: {named(sorted(there))}")


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
        if bad := [name for name, commitment in given if not _HEX.fullmatch(commitment)]:
            yield finding("commitment", form, f"not 64 hexadecimal digits: {named(bad)}")
        counts = Counter(commitment for _, commitment in given)
        if twice := [name for name, commitment in given if counts[commitment] > 1]:
            yield finding("commitment", form, f"the same commitment: {named(twice)}")
    flat = release.forms.get("JSON Lines", [])
    if without := [cat.id for cat in flat if cat.hidden and cat.commitment is None]:
        yield finding("commitment", "cats/", f"hidden CATs without one: {named(without)}")

"""Checks a hidden test set: nothing that is public may tell of its gold labels."""

import re
from collections import Counter
from collections.abc import Collection, Iterator

from curation.catsets.labels import HIDDEN
from curation.files import CurationError
from curation.release.check.findings import Finding, finding, named
from curation.release.check.folder import FORMS, LARGEST, Release
from curation.release.check.forms import Seen
from curation.release.hidden.numbers import too_much

_HEX = re.compile(r"[0-9a-f]{64}")
_WORD = re.compile(r"[\w.-]+")
_DATA = ("test.json", "cats/", "hidden/", "intrasentence/", "intersentence/")
"""Files that have the hidden CATs; every other file must not name one."""
_TELLING = frozenset({"tier", "agreement", "votes", "flags", "stereotype", "anti_stereotype"})
"""Fields that a hidden CAT must not have a value of."""
_NUMBERED = re.compile(r"(.*?)[-_.]?\d{1,7}")
_FEW = 8  # of fewer ids, chance may make numbers


def findings(release: Release) -> Iterator[Finding]:
    """What tells of the hidden gold labels; nothing if none are hidden."""
    cats = {cat.id: cat for name in FORMS for cat in release.forms.get(name, ()) if cat.hidden}
    facts = release.facts
    if facts and facts.hidden and not cats:
        detail = "says that gold labels are hidden, and the data have all of them"
        yield finding("hidden_leak", "release.json", detail)
    if not cats:
        return
    if facts and (found := too_much(facts)):
        yield finding("hidden_values", "release.json", "; ".join(found))
    yield from _fields(release, cats.keys())
    yield from _elsewhere(release, cats)
    yield from _orders(release)
    yield from _commitments(release)


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


def _elsewhere(release: Release, cats: dict[str, Seen]) -> Iterator[Finding]:
    """Hidden CATs are named in the files of the data only."""
    ids = {*cats, *(option.id for cat in cats.values() for option in cat.options if option.id)}
    for name, size in release.files.items():
        if name.startswith(_DATA) or name.endswith(".parquet") or size > LARGEST:
            continue
        try:
            text = release.text(name)
        except CurationError:
            continue  # reported as unreadable, or empty
        there = sorted(ids.intersection(_WORD.findall(text)))
        # Harnesses get the texts of hidden CATs, too, but nothing by which they are found.
        if there and not name.startswith("lm-eval/"):
            yield finding("hidden_leak", name, f"names hidden CATs: {named(there)}")


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

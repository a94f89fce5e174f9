"""Checks the card, release.json, CITATION.cff, croissant.json, datapackage.json and other parts."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from curation.campaign.manifest import is_inside
from curation.files import read_json, read_text
from curation.released.contents import (
    CARD,
    CITATION,
    CROISSANT,
    DATAPACKAGE,
    FACTS,
    LICENSE,
    STATEMENT,
    TERMS,
)
from curation.released.findings import Finding, finding, listed, named
from curation.released.folder import LARGEST_YAML, Release, is_metadata, load, read_yaml
from curation.text.wording import amount, some

PARTS = (CARD, STATEMENT, LICENSE, CITATION, CROISSANT)
"""Files that every release has, besides its data; the card and the data are checked elsewhere."""
LICENCES = ("LICENSE", "LICENCE", "LICENSE.txt", "LICENSE.md", "LICENCE.txt", "COPYING")
CITED = ("cff-version", "message", "title", "authors")
_LARGEST = 64 << 20  # bytes
_TABLES = (".parquet", ".json", ".jsonl", ".csv")
_MOST_QUESTIONS = 40  # questions that a finding names


def check_metadata(release: Release) -> Iterator[Finding]:
    """What is wrong with the metadata of a release."""
    yield from _parts(release)
    yield from _sizes(release)
    yield from _citation(release)
    yield from _descriptors(release)
    if release.facts and (keys := release.facts.open):
        detail = f"{amount(len(keys), 'question')}: {some(keys, _MOST_QUESTIONS)}"
        yield finding("open_question", STATEMENT, detail)


def _parts(release: Release) -> Iterator[Finding]:
    for name in (*PARTS[1:], DATAPACKAGE, TERMS) if release.ours else ():
        if name not in release.files:
            yield finding("part_missing", name, "is not there")
    if release.ours or release.reveals:
        return
    have = {name.upper() for name in release.files}
    if not have & {name.upper() for name in LICENCES}:
        yield finding("part_missing", "LICENSE", "no text of a licence", severity="warn")
    if CITATION not in release.files:
        yield finding("part_missing", CITATION, "no file says how to cite", severity="note")


# --- release.json ---------------------------------------------------------------------------------


def _sizes(release: Release) -> Iterator[Finding]:
    """Count the data again, and compare with release.json."""
    facts = release.facts
    if facts is None or not release.main:
        return
    cats: Counter[tuple[str, str, str]] = Counter()
    terms: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for cat in release.main:
        cats[cat.domain, cat.kind, cat.split] += 1
        terms[cat.domain, cat.kind, cat.split].add(cat.target)
    sealed = Counter(
        (str(r.get("domain")), str(r.get("kind")), "test") for r in release.sealed or ()
    )
    stated = {(size.domain, size.kind, size.split): size for size in facts.sizes}
    for cell in sorted({*cats, *sealed, *stated}):
        size = stated.get(cell)
        pair = (size.cats, size.terms) if size else (0, 0)
        actual = (cats[cell], len(terms.get(cell, ())))
        if cell in sealed:  # nobody sees on how many terms
            actual = (cats[cell] + sealed[cell], pair[1])
        if pair != actual:
            detail = "{} {} {}: ".format(*cell) + (
                f"says {pair[0]} CATs on {pair[1]} terms; the data have {actual[0]} on {actual[1]}"
            )
            yield finding("sizes_differ", FACTS, detail)
    if release.annotations is not None:
        people = len(set(release.annotations.column("annotator")))
        for name, count_stated, actual_count in (
            ("annotations", facts.annotations, release.annotations.rows),
            ("annotators", facts.annotators, people),
        ):
            if count_stated != actual_count:
                detail = f"{name}: says {count_stated}; annotations.csv has {actual_count}"
                yield finding("sizes_differ", FACTS, detail)
    numbers = (cat.tier for cat in release.main if not cat.hidden and type(cat.tier) is int)
    tiers = Counter(map(str, numbers))
    if any("tier" in cat.fields for cat in release.main) and facts.tiers:
        tiers_stated = {name: count for name, count in facts.tiers.items() if count}
        if {n: c for n, c in tiers_stated.items() if n.isdigit()} != tiers:
            detail = f"tiers: says {tiers_stated}; the data have {dict(sorted(tiers.items()))}"
            yield finding("sizes_differ", FACTS, detail)


# --- descriptors ----------------------------------------------------------------------------------


def _citation(release: Release) -> Iterator[Finding]:
    text, problems = load(release, CITATION, read_text, most=LARGEST_YAML)
    yield from problems
    if text is None:
        return
    try:
        data = read_yaml(text)
    except ValueError as error:
        yield finding("citation", CITATION, str(error))
        return
    if not isinstance(data, dict):
        yield finding("citation", CITATION, "is not a list of fields")
    elif missing := [key for key in CITED if not data.get(key)]:
        yield finding("citation", CITATION, f"has no {', '.join(missing)}")


def _descriptors(release: Release) -> Iterator[Finding]:
    for name, described_files, check_rest in (
        (CROISSANT, _distribution, _address),
        (DATAPACKAGE, _resources, _licences),
    ):
        content, problems = load(release, name, read_json, most=_LARGEST)
        yield from problems
        if name not in release.files or problems:
            continue
        if not isinstance(content, dict):
            yield finding("descriptor", name, "is not a JSON object")
            continue
        described = list(described_files(content))
        for path, sha, size in described:
            yield from _described(release, name, path, sha, size)
        if release.ours and not described:
            yield finding("descriptor", name, "describes no file")
        yield from check_rest(release, content)


def _objects(content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in a list that a file should have under this key."""
    given = content.get(key)
    return [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []


def _distribution(content: Mapping[str, Any]) -> Iterator[tuple[Any, Any, int | None]]:
    """Path, sha256 and size of each file that Croissant describes."""
    for entry in _objects(content, "distribution"):
        if "contentUrl" in entry:
            number = str(entry.get("contentSize", "")).removesuffix("B").strip()
            size = int(number) if number.isdecimal() and len(number) < 20 else None
            yield entry["contentUrl"], entry.get("sha256"), size


def _resources(content: Mapping[str, Any]) -> Iterator[tuple[Any, Any, int | None]]:
    """Path, sha256 and size of each file that a data package describes."""
    for entry in _objects(content, "resources"):
        paths = entry.get("path")
        if isinstance(paths, list):  # sha256 and size are of all together
            yield from ((path, None, None) for path in paths if path is not None)
        elif paths is not None:
            sha = str(entry.get("hash", "")).removeprefix("sha256:")
            size = entry.get("bytes")
            yield paths, sha if len(sha) == 64 else None, size if type(size) is int else None


def _address(release: Release, content: Mapping[str, Any]) -> Iterator[Finding]:
    if release.facts and not release.facts.anonymous and not content.get("url"):
        yield finding("no_address", CROISSANT, "has no «url»")


def _licences(release: Release, content: Mapping[str, Any]) -> Iterator[Finding]:
    facts, names = release.facts, [str(e.get("name")) for e in _objects(content, "licenses")]
    if facts and facts.licence.spdx and names and facts.licence.spdx not in names:
        detail = f"{named(names)}; release.json has {facts.licence.spdx}"
        yield finding("licence_differs", DATAPACKAGE, detail)


def _described(
    release: Release, name: str, path: Any, sha: Any, size: int | None
) -> Iterator[Finding]:
    """Compare a file with what a descriptor says of it; addresses are not looked at."""
    if not isinstance(path, str):
        yield finding("descriptor", name, f"names {str(path)[:80]!r} as a file")
        return
    if "://" in path:
        return
    path = path.removeprefix("./")
    if not is_inside(path):
        yield finding("descriptor", name, f"{path[:80]!r} leaves the folder")
    elif path not in release.files:
        yield finding("file_missing", name, f"names {path[:80]!r}, which is not there")
    else:
        if size is not None and size != release.files[path]:
            detail = f"{path} has {release.files[path]} bytes, not {size}"
            yield finding("descriptor", name, detail)
        try:
            actual = release.digest(path) if sha is not None else None
        except OSError:
            return  # reported as unreadable
        if sha is not None and actual != sha:
            yield finding("descriptor", name, f"{path} has another sha256")


_MOST_PATHS = 10_000  # paths in configs that are looked at
_GUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I)
_NEEDED = {
    "a content warning": re.compile(r"warning|offensive|disclaimer|sensitive", re.I),
    "its limits": re.compile(r"limit|out.of.scope|caveat", re.I),
    "a canary": re.compile(r"canary", re.I),
    "a contact": re.compile(r"contact|e-?mail|@[\w-]+\.\w|/issues", re.I),
}
"""What a card must have, and words by which it is recognised."""


def check_cards(release: Release) -> Iterator[Finding]:
    """What is wrong with the card of a release."""
    if release.reveals:
        return
    if release.card is None:
        if CARD not in release.files:
            yield finding("part_missing", CARD, "there is no card", severity=release.lacking)
        return
    data, text = release.card.data, release.card.text
    if data is not None:
        missing = [f"«{key}»" for key in ("license", "language") if not data.get(key)]
        if missing:
            yield finding("card_incomplete", CARD, f"the YAML has no {' and no '.join(missing)}")
        yield from _configs(release, data)
        yield from _licence(release, data)
    anonymous = release.facts is not None and release.facts.anonymous
    needed = {
        part: words for part, words in _NEEDED.items() if part != "a contact" or not anonymous
    }
    warning = release.facts.warning if release.facts else ""
    if warning and warning in text:  # in any language
        del needed["a content warning"]
    silent = [part for part, words in needed.items() if not words.search(text)]
    if "a canary" not in silent and not _GUID.search(text):
        silent.append("the GUID of its canary")
    if silent:
        yield finding("card_incomplete", CARD, f"does not have {', '.join(silent)}")
    if (facts := release.facts) and facts.canary not in text:
        yield finding("card_incomplete", CARD, f"does not have the canary {facts.canary}")
    if facts and not facts.statement.contact and not anonymous:
        yield finding("card_incomplete", FACTS, "there is no contact")


def _configs(release: Release, data: dict[str, Any]) -> Iterator[Finding]:
    configs = data.get("configs")
    names = [n for n in release.files if n.endswith(_TABLES) and not is_metadata(n)]
    if not isinstance(configs, list):
        if names:
            yield finding("no_config", CARD, "the YAML has no «configs»")
        return
    # The aliases of YAML can name millions of files in a few lines.
    patterns = list(dict.fromkeys(islice(_patterns(configs), _MOST_PATHS)))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in release.files):
            says = f"configs name {pattern[:80]!r}, which is not there"
            yield finding("file_missing", CARD, says)
    if release.ours:  # the other files have the same data
        names = [name for name in names if name.endswith(".parquet")]
    without = [n for n in names if not any(fnmatchcase(n, pattern) for pattern in patterns)]
    yield from listed("no_config", CARD, without, "{places}")


def _patterns(configs: list[Any]) -> Iterator[str]:
    """The paths that configurations name; they may be texts, lists, or objects with a path."""
    for config in configs:
        if not isinstance(config, dict):
            continue
        given = config.get("data_dir")
        folder = given.strip("/") if isinstance(given, str) else ""
        files = config.get("data_files")
        if files is None and folder:
            yield f"{folder}/*"
        for entry in files if isinstance(files, list) else [files]:
            path = entry.get("path") if isinstance(entry, dict) else entry
            for text in path if isinstance(path, list) else [path]:
                if isinstance(text, str):
                    name = text.removeprefix("./")
                    # ** also means no folder at all
                    yield (f"{folder}/{name}" if folder else name).replace("**/", "*")


def _licence(release: Release, data: dict[str, Any]) -> Iterator[Finding]:
    facts, given = release.facts, data.get("license")
    if facts is None or not given:
        return
    texts = given if isinstance(given, list) else [given]
    names = {name.lower() for name in texts if isinstance(name, str)}
    if facts.licence.hub.lower() not in names:
        detail = f"{', '.join(sorted(names))[:80]}; release.json has {facts.licence.hub}"
        yield finding("licence_differs", CARD, detail)

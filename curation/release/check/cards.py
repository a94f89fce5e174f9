"""Checks the card: its YAML, the files that it names, and what readers must know."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from curation.release.check.findings import Finding, finding, named
from curation.release.check.folder import Release, is_metadata
from curation.release.layout import CARD, FACTS

_MOST = 10_000  # paths in configs that are looked at
_GUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I)
_NEEDED = {
    "a content warning": re.compile(r"warning|offensive|disclaimer|sensitive", re.I),
    "its limits": re.compile(r"limit|out.of.scope|caveat", re.I),
    "a canary": re.compile(r"canary", re.I),
    "a contact": re.compile(r"contact|e-?mail|@[\w-]+\.\w|/issues", re.I),
}
"""What a card must have, and words by which it is recognised."""


def findings(release: Release) -> Iterator[Finding]:
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
    silent = [
        part
        for part, words in _NEEDED.items()
        if not words.search(text) and not (anonymous and part == "a contact")
    ]
    if "a canary" not in silent and not _GUID.search(text):
        silent.append("the GUID of its canary")
    if silent:
        yield finding("card_incomplete", CARD, f"does not have {', '.join(silent)}")
    facts = release.facts
    if facts is None:
        return
    if facts.canary not in text:
        yield finding("card_incomplete", CARD, f"does not have the canary {facts.canary}")
    contact = facts.statement.contact
    if not contact and not facts.anonymous:
        yield finding("card_incomplete", FACTS, "there is no contact")


def _configs(release: Release, data: dict[str, Any]) -> Iterator[Finding]:
    configs = data.get("configs")
    names = [name for name in release.files if not is_metadata(name) and _is_table(name)]
    if not isinstance(configs, list):
        if names:
            yield finding("no_config", CARD, "the YAML has no «configs»")
        return
    # The aliases of YAML can name millions of files in a few lines.
    patterns = list(dict.fromkeys(islice(_patterns(configs), _MOST)))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in release.files):
            yield finding(
                "file_missing", CARD, f"configs name {pattern[:80]!r}, which is not there"
            )
    if release.ours:  # the other files have the same data
        names = [name for name in names if name.endswith(".parquet")]
    without = [n for n in names if not any(fnmatchcase(n, pattern) for pattern in patterns)]
    if without:
        yield finding("no_config", CARD, named(without))


def _is_table(name: str) -> bool:
    return name.endswith((".parquet", ".json", ".jsonl", ".csv"))


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

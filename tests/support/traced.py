"""Whether every number in a text of a release has its source in the facts of the release."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from curation.release.texts.questions import BY_KEY, QUESTIONS
from curation.released.facts import Facts

CONSTANTS = {
    "50": "an ss near 50 is good",
    "32": "bytes of the key of a commitment",
    "256": "HMAC-SHA256",
    "95": "confidence of intervals",
    "97": "the acceptance rate that StereoSet asked for",
}
"""Numbers that the fixed text of cards and statements has, each with its reason."""
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_LEFT_OUT = (
    re.compile(r"(?s)\A---\n.*?\n---\n"),  # the front matter, which has its own test
    re.compile(r"(?ms)^```.*?^```"),
    re.compile(r"`[^`\n]*`"),
    re.compile(r"\[[^\]\n]*\]\([^)\n]*\)"),
    re.compile(r"https?://\S+"),
)


def untraced(text: str, facts: Facts, constants: Iterable[str] = CONSTANTS) -> list[str]:
    """The numbers of a text that are neither in the facts nor among the constants, with their line.

    Code, links and the front matter are left out. A number is traced if it is a value of the facts,
    rounded to up to three decimals, if a text of the facts has it, or if it is a sum of sizes.

    Args:
        text: README.md or STATEMENT.md.
        facts: the facts that it was written from.
        constants: numbers of the fixed text.
    """
    known = {*constants, *_known(facts)}
    for pattern in _LEFT_OUT:
        text = pattern.sub(lambda part: "\n" * part[0].count("\n"), text)
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        for match in _NUMBER.findall(line):
            if match.rstrip(",.").replace(",", "") not in known:
                found.append(f"line {number}: {match} in {line.strip()[:80]!r}")
    return found


def _known(facts: Facts) -> Iterator[str]:
    for value in _values(facts.model_dump()):
        yield from _shown(value)
    yield from map(str, _totals(facts))


def _shown(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        for match in _NUMBER.findall(value):
            yield match.rstrip(",.").replace(",", "")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
        for digits in range(4):
            yield f"{value:.{digits}f}".removeprefix("-")
        if 0 <= value <= 1:  # a share, shown in per cent
            yield from (f"{100 * value:.{digits}f}" for digits in range(2))


def _values(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from _values(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _values(value)
    else:
        yield node


def _totals(facts: Facts) -> Iterator[int | str]:
    """Sums and counts that texts show: CATs by domain, kind and split; questions; shares."""
    keys = ("domain", "kind", "split")
    for length in range(len(keys) + 1):
        for chosen in combinations(keys, length):
            sums: Counter[tuple[str, ...]] = Counter()
            for size in facts.sizes:
                sums[tuple(getattr(size, key) for key in chosen)] += size.cats
            yield from sums.values()
    yield sum(count.terms for count in facts.terms)
    yield sum(made.refused for made in facts.rounds)
    yield from (len(QUESTIONS), sum(key in BY_KEY for key in facts.open))
    for row in facts.pitfalls:
        if row.count and row.of:
            yield f"{100 * row.count / row.of:.1f}"
    if facts.changes:
        yield from (len(facts.changes.terms_to_dev), len(facts.changes.terms_to_test))

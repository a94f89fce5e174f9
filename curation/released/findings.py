"""What a check of a release can find: each code with its severity, its meaning and its fix.

The severities:

- ``block``: the data are wrong, or something must not be published.
- ``warn``: fix it, or at least know about it. Parts that another's release lacks are of this kind.
- ``note``: something was not checked, or is worth a look.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.records import Severity
from curation.text.wording import some

NAMED = 3  # places that a finding names
_CODES = "data", "release", "findings.toml"
_LONGEST = 500  # characters of a place and of a detail


class About(NamedTuple):
    """The description of a code; ``severity`` is that of a release by curation."""

    severity: Severity
    says: str
    fix: str


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        code: a code of ``CODES``.
        severity: block, warn or note.
        where: the file, and the place in it.
        detail: what is wrong there.
        fix: what to do.
    """

    code: str
    severity: Severity
    where: str
    detail: str
    fix: str


CODES = {
    code: About(**entry)
    for code, entry in read_toml(shipped(*_CODES), fix="see findings.py for its form").items()
}
"""Every code, in the order of the checks, as ``data/release/findings.toml`` has it."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


def finding(
    code: str, where: str, detail: str, *, severity: Severity | None = None, fix: str = ""
) -> Finding:
    """A finding with the severity and the fix of its code, unless others are given."""
    about = CODES[code]
    place, text = (" ".join(words.split())[:_LONGEST] for words in (where, detail))
    return Finding(code, severity or about.severity, place, text, fix or about.fix)


def listed(
    code: str,
    where: str,
    places: Collection[str],
    says: str = "{n}: {places}",
    *,
    severity: Severity | None = None,
) -> Iterator[Finding]:
    """A finding that names places; none without places.

    Args:
        code: its code.
        where: the file.
        places: the places, of which the first are named.
        says: its detail, with ``{n}`` for their number and ``{places}`` for their names.
        severity: if it is not that of the code.
    """
    if places:
        detail = says.replace("{n}", str(len(places))).replace("{places}", named(places))
        yield finding(code, where, detail, severity=severity)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings from the most to the least severe; of one severity, in the order of ``CODES``."""
    codes = list(CODES)
    return sorted(
        findings, key=lambda f: (SEVERITIES.index(f.severity), codes.index(f.code), f.where)
    )


def strictly(findings: Iterable[Finding]) -> list[Finding]:
    """The findings of a strict check: an open question blocks, too."""
    return [replace(f, severity="block") if f.code == "open_question" else f for f in findings]


def named(places: Iterable[str]) -> str:
    """The first of some places, and how many more there are."""
    return some([place[:120] for place in places], NAMED)

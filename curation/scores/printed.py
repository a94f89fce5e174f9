"""What the StereoSet papers print: tables of lms, ss and icat, models, terms (``data/published``).

ACL is the paper of 2021, arXiv its first version of 2020.
"""

import csv
import io
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from curation.files import CurationError, read_text, shipped


class Printed(NamedTuple):
    """One printed row: lms, ss and icat of a model.

    ``profile`` names the profile with the rules of the paper's text, "" for baselines. ``numbers``
    names the profiles by whose intrasentence rule the printed numbers may have been made, and
    ``basis`` says how this is known: the authors' «files» of predictions give the values; it is
    inferred from «dev rows», or from «arXiv rows» that are equal; or only the «text» says it.
    ``kind`` is a kind or ``both``, ``domain`` a domain or ``all``. ``target`` is "" for rows of
    more than one term.
    ``lms`` is None if the paper prints a dash. ``digits`` is how many decimals are printed.
    """

    source: str
    profile: str
    numbers: tuple[str, ...]
    basis: str
    split: str
    kind: str
    domain: str
    target: str
    model: str
    lms: float | None
    ss: float
    icat: float
    digits: int
    note: str


class Model(NamedTuple):
    """A printed model: all its names in lower case, its family, and an ensemble's members."""

    name: str
    names: frozenset[str]
    family: str
    members: frozenset[str]
    casing: str


class Target(NamedTuple):
    """A target term as arXiv Table 9 spells it.

    ``also`` are the spellings of ACL Table 10 or of the data. ``agreement`` is that of ACL Table
    10. ``split`` is "" for terms that are not in the data.
    """

    domain: str
    term: str
    also: tuple[str, ...]
    agreement: float
    split: str


def _rows(name: str) -> list[dict[str, str]]:
    path = shipped("data", "published", name)
    return list(csv.DictReader(io.StringIO(read_text(path), newline="")))


def _list(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(";")) if cell else ()


@cache
def tables() -> tuple[Printed, ...]:
    """All printed rows: ACL Tables 4 to 8 and arXiv Tables 4 to 8, in their order."""
    return tuple(
        Printed(
            source=row["source"],
            profile=row["profile"],
            numbers=_list(row["numbers"]),
            basis=row["basis"],
            split=row["split"],
            kind=row["kind"],
            domain=row["domain"],
            target=row["target"],
            model=row["model"],
            lms=float(row["lms"]) if row["lms"] else None,
            ss=float(row["ss"]),
            icat=float(row["icat"]),
            digits=len(row["icat"].partition(".")[2]),
            note=row["note"],
        )
        for row in _rows("tables.csv")
    )


@cache
def models() -> dict[str, Model]:
    """The printed models by printed name."""
    by_name = {}
    for row in _rows("models.csv"):
        hub = _list(row["hub"])
        short = (name.rpartition("/")[2] for name in hub)
        names = (row["model"], *_list(row["also"]), *hub, *short)
        by_name[row["model"]] = Model(
            row["model"],
            frozenset(name.casefold() for name in names),
            row["family"],
            frozenset(_list(row["members"])),
            row["casing"],
        )
    return by_name


@cache
def targets() -> tuple[Target, ...]:
    """The papers' target terms (arXiv Table 9, ACL Table 10)."""
    return tuple(
        Target(
            row["domain"],
            row["term"],
            _list(row["also"]),
            float(row["agreement"]),
            row["split"],
        )
        for row in _rows("terms.csv")
    )


def choose(wanted: Sequence[str]) -> list[Printed]:
    """The rows of some tables; all rows if no table is named.

    Args:
        wanted: names such as ``acl 4`` or ``arXiv Table 7``, or ``all``; case does not matter.

    Raises:
        CurationError: there is no such table; lists the tables.
    """

    def key(text: str) -> tuple[str, str]:
        words = text.replace(",", " ").casefold().split()
        return (words[0], words[-1]) if words else ("", "")

    there = {key(row.source): row.source for row in tables()}
    every = key("all")
    for name in wanted:
        if key(name) not in {*there, every}:
            raise CurationError(
                f"there is no table «{name}»", f"use one of: {', '.join(there.values())}, all"
            )
    keys = {key(name) for name in wanted} or {every}
    return [row for row in tables() if {every, key(row.source)} & keys]


def short_name(source: str) -> str:
    """A table's name in the short form that ``choose`` accepts.

    >>> short_name("arXiv 2020, Table 7")
    'arxiv 7'
    """
    words = source.casefold().split()
    return f"{words[0]} {words[-1]}"

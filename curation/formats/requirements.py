"""What people must be to take part in a round, in words; countries and languages by their names."""

from collections.abc import Iterable
from functools import cache

from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.records import Requirements
from curation.text.wording import amount


@cache
def names(of: str) -> dict[str, str]:
    """The English names of ``countries`` or ``languages``, by code."""
    path = shipped("data", "people", "names.toml")
    return dict(read_toml(path, fix="put the shipped file back")[of])


def unknown_country(codes: Iterable[str]) -> str:
    """The first code that is not that of a country; empty if all are."""
    return next((code for code in codes if code not in names("countries")), "")


def named(of: str, codes: Iterable[str]) -> list[str]:
    """Codes as names; a code without a name stays."""
    return [names(of).get(code, code) for code in codes]


def described(people: Requirements) -> list[str]:
    """What people must be, a line each; empty if anybody may take part.

    >>> described(Requirements(countries=("US",), approval_rate=97))
    ['they live in United States', 'at least 97 % of their work was accepted before']
    """
    where = " or ".join(named("countries", people.countries))
    speak = " or ".join(named("languages", people.first_languages))
    rate = people.approval_rate
    lines = [
        where and f"they live in {where}",
        speak and f"their first language is {speak}",
        f"at least {rate} % of their work was accepted before" if rate else "",
        people.qualification,
        people.people and amount(people.people, "person is asked", "people are asked"),
    ]
    return [line for line in lines if line]

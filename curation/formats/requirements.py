"""What people must be to take part in a round, in words; countries and languages by their names."""

from functools import cache

from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.records import Fields, Requirements


@cache
def names() -> Fields:
    """Names of countries and languages by code, and a line for each requirement."""
    return read_toml(shipped("data", "people", "names.toml"), fix="put the shipped file back")


def shown(people: Requirements) -> dict[str, str]:
    """By field what people must be, with names in place of codes; what is not required is left out.

    >>> shown(Requirements(countries=("US", "GB"), approval_rate=97))
    {'countries': 'United States or United Kingdom', 'approval_rate': '97'}
    """
    return {
        name: " or ".join(names()[name].get(code, code) for code in value)
        if isinstance(value, tuple)
        else str(value)
        for name, value in people
        if value
    }


def described(people: Requirements) -> list[str]:
    """What people must be, a line each; empty if anybody may take part.

    >>> described(Requirements(first_languages=("id",), people=12))
    ['their first language is Indonesian', 'people asked: 12']
    """
    return [names()["lines"][name].format(text) for name, text in shown(people).items()]

"""How a release is cited: ``CITATION.cff`` (Citation File Format 1.2.0), and BibTeX."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import yaml

from curation.released.facts import Author, Facts

T = TypeVar("T")

_URL = re.compile(r"https?://\S+")
_DOI = re.compile(r"10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+")
_ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
_BEFORE = re.compile(r"^(?:https?://)?(?:dx\.)?(?:doi\.org/|orcid\.org/|doi:)", re.IGNORECASE)
_TEX = re.compile(r"[\\{}%&#$_~^]")
_TEX_WORDS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
KEYWORDS = ("stereotypes", "bias", "language models", "Context Association Test", "StereoSet")


class PersonName(NamedTuple):
    """A person's name in two parts; ``family`` is empty if there is only one."""

    given: str
    family: str


def authors(facts: Facts) -> tuple[Author, ...]:
    """The authors, or who is named in their place: a citation needs at least one."""
    if facts.anonymous:
        return (Author(name="Anonymous"),)
    return facts.statement.authors or (Author(name=f"The authors of {facts.name}"),)


def person(author: Author) -> PersonName | None:
    """An author's name as that of a person; None for an institution.

    «Family, Given» is split at the comma. Without one, an author with an affiliation or an ORCID
    is a person whose last word is the family name. Any other author is cited by the whole name.

    >>> person(Author(name="Ōta, María José"))
    PersonName(given='María José', family='Ōta')
    >>> person(Author(name="María José Ōta", affiliation="An Institute"))
    PersonName(given='María José', family='Ōta')
    >>> person(Author(name="An Institute")) is None
    True
    """
    family, comma, given = (part.strip() for part in author.name.partition(","))
    if comma and family and given:
        return PersonName(given, family)
    if not (author.affiliation or author.orcid):
        return None
    given, _, family = author.name.strip().rpartition(" ")
    return PersonName(given.strip(), family) if given else PersonName(family, "")


def full_name(author: Author) -> str:
    """An author's name in reading order.

    >>> full_name(Author(name="Ōta, María José"))
    'María José Ōta'
    """
    name = person(author)
    return " ".join(part for part in name if part) if name else author.name


def orcid(author: Author) -> str:
    """The address of an author's ORCID; empty if there is none or it has another form."""
    number = _BEFORE.sub("", author.orcid.strip())
    return f"https://orcid.org/{number}" if _ORCID.fullmatch(number) else ""


def address(facts: Facts) -> str:
    """The dataset's page: the homepage, the Hugging Face Hub, the DOI or the repository."""
    statement, number = facts.statement, _doi(facts)
    hub = f"https://huggingface.co/datasets/{statement.hub.id}" if statement.hub.id else ""
    places = (statement.homepage, hub, f"https://doi.org/{number}" if number else "")
    return next(filter(_is_url, (*places, statement.repository)), "")


def citation(facts: Facts) -> bytes:
    """The content of ``CITATION.cff``."""
    statement, licence = facts.statement, facts.licence
    number, page = _doi(facts), address(facts)
    content: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this dataset, please cite it as below.",
        "type": "dataset",
        "title": facts.name,
        "abstract": statement.description,
        "authors": [_author(author) for author in authors(facts)],
        "version": facts.version,
        "date-released": facts.date,
        "doi": number,
        "identifiers": _identifiers(facts),
        "license": licence.spdx,
        "license-url": "" if licence.spdx or not _is_url(licence.url) else licence.url,
        "url": page,
        "repository": statement.repository if _is_url(statement.repository) else "",
        "keywords": list(KEYWORDS),
    }
    return yaml.safe_dump(filled(content), allow_unicode=True, sort_keys=False, width=100).encode()


def filled(entry: Mapping[str, T]) -> dict[str, T]:
    """The fields that are not empty."""
    return {name: value for name, value in entry.items() if value}


def bibtex(facts: Facts) -> str:
    """The release as a BibTeX entry."""
    word = re.sub(r"[^a-z0-9]+", "", facts.name.casefold()) or "dataset"
    fields = {
        "author": " and ".join(
            f"{_tex(name.family)}, {_tex(name.given)}"
            if (name := person(author)) and all(name)
            else "{" + _tex(author.name) + "}"
            for author in authors(facts)
        ),
        "title": "{" + _tex(facts.name) + "}",
        "year": facts.date[:4],
        "version": _tex(facts.version),
        "doi": _doi(facts),
        "url": address(facts),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in filled(fields).items())
    return f"@misc{{{word}{facts.date[:4]},\n{lines}}}"


def _author(author: Author) -> dict[str, str]:
    entry = {"name": author.name}
    if name := person(author):
        entry = {"family-names": name.family, "given-names": name.given}
        entry["affiliation"] = author.affiliation
    return filled({**entry, "email": author.email, "orcid": orcid(author)})


def _identifiers(facts: Facts) -> list[dict[str, str]]:
    """The dataset's page, the paper, and a DOI that does not have the form of one.

    The page comes first, because converters take the first one as the address of the dataset.
    """
    statement, page = facts.statement, address(facts)
    identifiers, paper = [], statement.paper
    if paper and page:
        identifiers.append({"type": "url", "value": page, "description": "The dataset"})
    if paper:
        about = {"value": paper, "description": "The paper that describes the dataset"}
        identifiers.append({"type": "url" if _is_url(paper) else "other", **about})
    if statement.doi and not _doi(facts):
        identifiers.append({"type": "other", "value": statement.doi})
    return identifiers


def _doi(facts: Facts) -> str:
    number = _BEFORE.sub("", facts.statement.doi.strip())
    return number if _DOI.fullmatch(number) else ""


def _is_url(text: str) -> bool:
    return bool(_URL.fullmatch(text))


def _tex(text: str) -> str:
    return _TEX.sub(lambda mark: _TEX_WORDS.get(mark[0], f"\\{mark[0]}"), " ".join(text.split()))

"""The report: one page that can be mailed, and a folder beside it.

``files`` makes all of it from what JSON files hold; it opens none of them, and knows no campaign.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from curation.files import read_text, shipped
from curation.kinds import CAT_KINDS
from curation.pages import bars, dots, terms
from curation.pages.sourced import FILTERS, wrap

HERE = Path(__file__).parent
STYLE = (shipped("data", "pages", "tokens.css"), HERE / "static" / "report.css")
SECTIONS = ("summary", "made", "scores", "trust", "terms", "statement")
"""The sections of the page in their order; each has a template of its name."""


class Report(NamedTuple):
    """What the pages are made of.

    Attributes:
        name: the campaign's or dataset's name.
        texts: every string of the pages, by section and key.
        language: the language of these strings.
        sources: the content of JSON files, each with the path of its file, by a short name that
            templates use; a file that is not there is missing.
        stale: why what a source says is out of date, by the source's name.
        private: whether votes, hidden gold labels and what writers meant are shown.
        hidden: whether gold labels are hidden, so that all about them comes from the release.
        data_language: the language of the CATs; by default that of the strings.
    """

    name: str
    texts: Mapping[str, Any]
    language: str
    sources: Mapping[str, tuple[str, Any]]
    stale: Mapping[str, str] = {}
    private: bool = False
    hidden: bool = False
    data_language: str = ""


def files(report: Report) -> Iterator[tuple[str, bytes]]:
    """All files of the report: the path of each in its folder, and what is in it."""
    templates, given = environment(), given_to(report)
    made = (
        (name, templates.get_template(f"section_{name}.html").render(given).strip())
        for name in SECTIONS
    )
    given["made"] = [(name, html) for name, html in made if html]
    pages = [("report.html", templates.get_template("report.html").render(given))]
    for path, page in chain(pages, terms.files(templates, given)):
        yield path, terms.slim(page).encode()


@cache
def environment(*more: Path) -> Environment:
    """The templates, with the filters and functions that they use.

    Args:
        more: folders with other templates, for pages that are not of the report.
    """
    made = Environment(
        loader=FileSystemLoader([*more, HERE / "templates", HERE / "static"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= FILTERS
    made.globals |= {
        "KINDS": CAT_KINDS,
        "bars": bars,
        "choosing": terms.choosing,
        "term_file": terms.file,
        **dots.PICTURES,
    }
    return made


def given_to(report: Report) -> dict[str, Any]:
    """What all templates have: the sources by name; None for one that is missing."""
    sources = {name: wrap(content, file) for name, (file, content) in report.sources.items()}
    return {
        "report": report,
        "t": report.texts,
        "direction": report.texts["page"]["direction"],
        "style": "".join(map(read_text, STYLE)),
        "of": sources.get,
        "data_language": report.data_language or report.language,
    }

"""The folder beside the report: a page for each term, and the list of all CATs."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment

from curation.files import read_text
from curation.pages.sourced import Sourced, pairs
from curation.text.rules import stable_id

SEARCH = Path(__file__).parent / "static" / "search.js"
_INDENT = re.compile(r"\s*\n\s*")
_PLAIN = re.compile(r"[a-z0-9-]{1,100}")


def files(environment: Environment, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The path of each page in the report's folder, and what is in it.

    Args:
        environment: where templates are.
        given: what all templates have; ``terms`` of ``of("terms")`` is an object by their ids.
    """
    found: Sourced | None = given["of"]("terms")
    if not found or not found["terms"]:
        return
    script = slim(read_text(SEARCH))  # as it is in the page: its digest is there
    allowed = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    yield (
        "cats.html",
        environment.get_template("cats.html").render(given, script=script, allowed=allowed),
    )
    template = environment.get_template("term.html")
    for name, term in pairs(found["terms"]):
        yield f"terms/{file(name)}", template.render(given, term=term, runs=list(found["runs"]))


def file(term: str) -> str:
    """The name of a term's page; an id that could be another path is replaced.

    >>> file("term-5917ec1f"), file("../Up")
    ('term-5917ec1f.html', 'page-ca16e22d7dcd7393732f.html')
    """
    return f"{term if _PLAIN.fullmatch(term) else stable_id('page', term)}.html"


def slim(page: str) -> str:
    """A page without its indents, which are a quarter of it."""
    return _INDENT.sub("\n", page)


def choosing(runs: list[str], letters: str, letter: str) -> list[str]:
    """The runs that have a letter.

    >>> choosing(["a", "b"], "st", "t")
    ['b']
    """
    return [run for run, own in zip(runs, letters, strict=True) if own == letter]

"""The folder beside the report: a page for each term, and the list of all CATs."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment

from curation.pages.sourced import Sourced, pairs

SEARCH = Path(__file__).parent / "static" / "search.js"


def files(environment: Environment, given: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The path of each page in the report's folder, and what is in it.

    Args:
        environment: where templates are.
        given: what all templates have; ``of("terms")`` is an object of terms by their ids.
    """
    found: Sourced | None = given["of"]("terms")
    if not found:
        return
    script = SEARCH.read_text("utf-8")
    allowed = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment.get_template("cats.html").render(given, script=script, allowed=allowed)
    yield "cats.html", page.encode()
    template = environment.get_template("term.html")
    for name, term in pairs(found):
        yield f"terms/{name}.html", template.render(given, term=term).encode()

"""Names and other foreign texts in Markdown: they are shown as they are and never act as markup."""

import re
import unicodedata

from curation.checks.characters import DIRECTIONS

_MARKS = re.compile(r"[\\`*\[\]<>|~$#!]|(?<![^\W_])_|_(?![^\W_])")
_ENTITIES = {"<": "&lt;", ">": "&gt;"}
_AMPERSAND = re.compile(r"&(?=#?\w+;)")
_BEGINNING = re.compile(r"^(?:[-+=]|\d+(?=[.)](?:\s|$)))")


def inline(text: str) -> str:
    r"""A text as one line of Markdown, also in a heading or in a table's cell.

    Line breaks become spaces; control characters, also those of direction, are removed.

    >>> inline("A | B"), inline("# not a\nheading"), inline("<b>snake_case</b>")
    ('A \\| B', '\\# not a heading', '&lt;b&gt;snake_case&lt;/b&gt;')
    """
    line = "".join(c for c in " ".join(text.split()) if not _is_control(c))
    line = _AMPERSAND.sub("&amp;", line)
    line = _MARKS.sub(lambda mark: _ENTITIES.get(mark[0], f"\\{mark[0]}"), line)
    return _BEGINNING.sub(lambda start: _escaped_start(start[0]), line)


def _escaped_start(start: str) -> str:
    # A number at the beginning is escaped at the mark behind it.
    return f"{start}\\" if start.isdigit() else f"\\{start}"


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc" or character in DIRECTIONS

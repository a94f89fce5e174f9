"""Names and other foreign texts in Markdown: they are shown as they are and never act as markup."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from curation.text.wording import DIRECTIONS

_MARKS = re.compile(r"[\\`*\[\]<>|~$#!]|(?<![^\W_])_|_(?![^\W_])")
_ENTITIES = {"<": "&lt;", ">": "&gt;"}
_AMPERSAND = re.compile(r"&(?=#?\w+;)")
_LISTED = re.compile(r"\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])")
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


def paragraphs(text: str) -> list[str]:
    r"""A text of several paragraphs as lines of Markdown that show it as it is.

    Empty lines separate paragraphs, which end with an empty line. A line that looks like one of a
    list keeps its own line; other line breaks become spaces.

    >>> paragraphs("One\ntwo\n\n# three\n- four")
    ['One two', '', '\\# three\\', '\\- four', '']
    """
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip()):
        parts = [inline(part) for part in _LISTED.split(paragraph)]
        shown = [part for part in parts if part]
        if shown:
            lines += [*(f"{part}\\" for part in shown[:-1]), shown[-1], ""]
    return lines


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown and an empty line; nothing if there are no rows.

    Args:
        heads: the headings; a heading that begins with ``>`` is above a column of numbers.
        rows: the cells as Markdown, so foreign texts in them went through ``inline``.
    """
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return []
    marks = "|".join("---:" if head.startswith(">") else "---" for head in heads)
    return [f"| {' | '.join(h.lstrip('>') for h in heads)} |", f"|{marks}|", *lines, ""]

"""Fields with several values, such as flags: one cell, or a yes-column for each value.

The cells of a yes-column, such as ``flags.objective``, are yes, no or empty. A cell with another
word is kept in the row under the column's name. It is refused alone: the rest of the answer counts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from curation.text.table_words import NO, YES, Words

SHOWN = 60  # characters of a cell in a message


def flag_words(text: str, words: Words) -> Iterator[str]:
    """The words for flags in a cell; a part of it that is not one is split at its spaces."""
    for part in filter(None, map(str.strip, re.split(r"[|,;،؛、\n]+", text.casefold()))):
        yield from [part] if words.read("flag", part) else part.split()


def answer_in(cell: Any, words: Words) -> str:
    """What a cell of a yes-column says: yes, no, its text if it is neither, or nothing.

    >>> from curation.text.table_words import shipped_words
    >>> [answer_in(cell, shipped_words()) for cell in (" Ya", "✗", None, "maybe ")]
    ['yes', 'no', '', 'maybe']
    """
    text = "" if cell is None else str(cell).strip()
    meaning = words.read("answer", text)
    return meaning if meaning in (YES, NO) else text


def unread(row: Mapping[str, Any]) -> dict[str, str]:
    """The cells of yes-columns that are neither yes nor no, by column.

    >>> unread({"task_id": "t-1", "flags": "objective", "flags.ungrammatical": "maybe"})
    {'flags.ungrammatical': 'maybe'}
    """
    return {name: str(text) for name, text in row.items() if "." in name}


def problems(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The reason code and a sentence for each cell that is neither yes nor no."""
    return tuple(
        ("bad_value", f"{name!r} is {_short(text)!r}, which is neither yes nor no")
        for name, text in unread(row).items()
    )


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"

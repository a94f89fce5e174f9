"""Recognises rows of a sheet of refused answers that came back unchanged.

The sheet has each answer as it was sent, and ``as_sent``, a digest of it. A row whose answer still
has this digest corrects nothing, so it is not imported.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from curation.records import RoundKind
from curation.rounds.answers.forms import FIELDS, LABELS
from curation.rounds.answers.several_values import flag_words, unread
from curation.text.rules import read_label
from curation.text.table_words import Words, shipped_words
from curation.text.times import read_time

AS_SENT = "as_sent"
_TIMES = ("submitted_at", "updated_at")
# What a cell of a workbook cannot hold, and what is written in its place.
_NO_CELL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffd-\uffff]")
_OTHERS = ("consent", "seconds", *_TIMES)


def digest(row: Mapping[str, Any], kind: RoundKind, words: Words | None = None) -> str:
    """A digest of what a person can change in a row: the form's fields, consent, and times.

    Spaces, the language of a word, and the form of numbers and times make no difference.

    Args:
        row: values by column.
        kind: the kind of the round.
        words: the words of the round; None for those of the shipped languages.

    >>> digest({"label_1": "unrelated", "seconds": "5"}, "validation") == digest(
    ...     {"label_1": " Tidak berkaitan ", "seconds": 5.0, "flags": None}, "validation")
    True
    """
    known = words or shipped_words()
    cells = [_plain(name, row.get(name), known) for name in (*FIELDS[kind], *_OTHERS)]
    cells += [f"{name}={text}" for name, text in sorted(unread(row).items())]
    return hashlib.sha256("\x1f".join(cells).encode()).hexdigest()[:16]


def is_unchanged(row: Mapping[str, Any], kind: RoundKind, words: Words | None = None) -> bool:
    """Whether a row, by column, is of a sheet of refused answers and has the answer as it was."""
    before = str(row.get(AS_SENT) or "").strip()
    return bool(before) and before == digest(row, kind, words)


def _plain(name: str, value: Any, words: Words) -> str:
    text = " ".join(_NO_CELL.sub("", str("" if value is None else value)).split())
    if name in LABELS:
        return read_label(text, words) or text
    if name == "decision":
        return words.read("decision", text) or text
    if name == "flags":
        return "|".join(sorted({words.read("flag", f) or f for f in flag_words(text, words)}))
    if name == "reasons":
        parts = filter(None, map(str.strip, text.split("|")))
        return "|".join(sorted({words.read("reason", part) or part for part in parts}))
    try:
        return read_time(text) if name in _TIMES and text else repr(float(text))
    except ValueError:
        return text

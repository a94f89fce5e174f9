"""Recognises rows of a sheet of refused answers that came back unchanged.

The sheet has each answer as it was sent, and ``as_sent``, a digest of it. A row whose answer still
has this digest corrects nothing, so it is not imported.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from curation.records import RoundKind
from curation.rounds.answers.forms import FIELDS
from curation.times import read_time

AS_SENT = "as_sent"
_OTHERS = ("consent", "seconds", "submitted_at")
_LISTS = ("flags", "reasons")


def digest(row: Mapping[str, Any], kind: RoundKind) -> str:
    """A digest of what a person can change in a row: the form's fields, consent, and times.

    Spaces and the form in which a program writes numbers and times make no difference.

    >>> digest({"label_1": "related", "seconds": "5"}, "validation") == digest(
    ...     {"label_1": " related ", "seconds": 5.0, "flags": None}, "validation")
    True
    """
    cells = [_plain(name, row.get(name)) for name in (*FIELDS[kind], *_OTHERS)]
    return hashlib.sha256("\x1f".join(cells).encode()).hexdigest()[:16]


def is_unchanged(row: Mapping[str, Any], kind: RoundKind) -> bool:
    """Whether a row, by column, is of a sheet of refused answers and has the answer as it was."""
    before = str(row.get(AS_SENT) or "").strip()
    return bool(before) and before == digest(row, kind)


def _plain(name: str, value: Any) -> str:
    text = " ".join(str("" if value is None else value).split())
    if name in _LISTS:
        return "|".join(sorted({word.casefold() for word in re.split(r"[|,;\s]+", text) if word}))
    try:
        return read_time(text) if name == "submitted_at" and text else f"{float(text):g}"
    except ValueError:
        return text

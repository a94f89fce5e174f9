"""Writes labels and answers as JSON lines, fast: structs with the fields of a record.

There are very many of them. Their schemas are those of ``records.Label`` and ``records.Answer``,
which check them when they are read from disk.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from curation.records import Value

CHUNK = 10_000  # lines made at once


class LabelRow(msgspec.Struct, gc=False, frozen=True):
    """A ``records.Label``."""

    id: str
    item: str
    association: str
    annotator: str
    value: Value
    round: str
    submitted_at: str | None
    seconds: float | None
    source: str


class AnswerRow(msgspec.Struct, gc=False, frozen=True):
    """A ``records.Answer``."""

    task: str
    annotator: str
    submitted_at: str | None
    seconds: float | None
    code: str | None


def lines(rows: Iterable[LabelRow] | Iterable[AnswerRow]) -> Iterator[bytes]:
    """Rows as JSON lines, in chunks of many lines."""
    encode = msgspec.json.Encoder().encode_lines
    rest = iter(rows)
    while chunk := list(islice(rest, CHUNK)):
        yield encode(chunk)

"""Labels and answers as they are written: structs with a record's fields, fast to make and dump.

There are very many of them; their schemas are those of ``records.Label`` and ``records.Answer``,
and whoever reads them from disk checks them against these.
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
    """Rows as JSON lines, many at once."""
    encode = msgspec.json.Encoder().encode_lines
    rest = iter(rows)
    while chunk := list(islice(rest, CHUNK)):
        yield encode(chunk)

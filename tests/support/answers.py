"""Answers about a baker as they arrive, and what the fold makes of them."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from curation.kinds import RoundKindName
from curation.records import Event, Task
from curation.rounds.answers import archive
from curation.rounds.answers.interpret import NO_TASKS, interpret
from curation.rounds.answers.parsed import ParsedAnswer
from curation.rounds.fold import Folded
from curation.text.rules import stable_id

Row = dict[str, Any]
Said = list[tuple[str, ParsedAnswer]]
Source = Literal["answers", "stereoset", "forms", "web", "label_studio"]
TERMS = {("profession", word): stable_id("term", "profession", word) for word in ("baker", "nurse")}
WORDS = {"stereotype": "early", "anti_stereotype": "late", "unrelated": "algebraic"}
ITEM = {
    "item_id": "i1", "annotator": "writer", "domain": "profession", "target": "baker",
    "kind": "intrasentence", "context": "The baker is BLANK.", **WORDS,
}  # fmt: skip
LABEL = {"item_id": "i1", "annotator": "anna", "association": "early", "label": "stereotype"}


def written(**changes: Any) -> Row:
    """A row of a table with an item; what is None is left out."""
    return {key: value for key, value in (ITEM | changes).items() if value is not None}


def label(**changes: Any) -> Row:
    """A row with a label of that item; what is None is left out."""
    return {key: value for key, value in (LABEL | changes).items() if value is not None}


def say(
    payloads: Iterable[Row],
    source: Source | None = None,
    *,
    round: str = "main",
    tasks: Mapping[str, Task] = NO_TASKS,
    kind: RoundKindName | None = None,
) -> Said:
    """Answers of a round, parsed; without a source they are rows of a table or published items."""
    found = []
    for position, row in enumerate(payloads):
        of = source or ("stereoset" if "where" in row else "answers")
        event = Event(id=f"{round}-{position}", source=of, position=position, payload=row)
        where = f"{round} line {position + 1}"
        found += [
            (round, x) for x in interpret(event, round=round, where=where, tasks=tasks, kind=kind)
        ]
    return found


def archived(
    deliveries: Iterable[Sequence[Row]],
    source: Source,
    *,
    round: str = "main",
    tasks: Mapping[str, Task] = NO_TASKS,
    kind: RoundKindName | None = None,
) -> Said:
    """The same, after these deliveries to an archive."""
    with tempfile.TemporaryDirectory() as folder:
        for rows in deliveries:
            archive.deliver(Path(folder), source, rows)
        return [
            (round, answer)
            for where, event in archive.read(Path(folder))
            for answer in interpret(event, round=round, where=where, tasks=tasks, kind=kind)
        ]


def cut(rows: Sequence[Row], places: Iterable[int]) -> list[Sequence[Row]]:
    """The rows in parts."""
    ends = [0, *sorted(min(place, len(rows)) for place in places), len(rows)]
    return [rows[start:end] for start, end in pairwise(ends)]


def codes(result: Folded, round: str = "main") -> list[tuple[str, str]]:
    """Reason code and place of each rejection."""
    return [(r.code, r.where.rpartition(" ")[2]) for r in result.rejections.get(round, [])]

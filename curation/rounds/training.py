"""Training sets: examples with the right answer and a reason, which people try before their tasks.

A set is a CSV table. ``data/training/<language>.csv`` has the shipped ones; a campaign can have its
own in ``2-rounds/training.csv``, which then replaces the shipped one as a whole.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from curation.files import CurationError, read_text, shipped
from curation.formats.table_words import read_label, shipped_words
from curation.formats.tables import listed, read_csv, restored
from curation.records import GOLDS, KINDS, ROUND_KINDS, RoundKind
from curation.text.item_form import BLANK, filler
from curation.text.rules import WORK

COLUMNS = ("kind", "target", "context", "text", "label", "why")
DECISIONS = ("keep", "merge", "drop")
KEEPS_RULES = ("good", "bad")
"""The answers for writers: whether something that was written keeps to the rules of writing."""
BETWEEN = " | "
"""What is between the three texts of an item that was written."""


class TrainingExample(NamedTuple):
    """An example of a training set.

    Attributes:
        kind: the kind of round that it is for; empty for validation.
        target: the group that it is about; of a review, it may be empty.
        context: the context of the text, with BLANK for the gap of an intrasentence context.
        text: the text to label; of a review, the term to decide on; of writing, what was written:
            a neutral text, or the three of an item with ``BETWEEN``, in the order of its form.
        label: the right answer: a label, or one of ``values_of``.
        why: the reason, which people read after they have answered.
    """

    kind: str
    target: str
    context: str
    text: str
    label: str
    why: str


def values_of(kind: str) -> tuple[str, ...]:
    """The answers to an example for a kind of round; an empty kind is validation."""
    work = WORK[kind] if kind in ROUND_KINDS else "label"
    return {"review": DECISIONS, "write": KEEPS_RULES}.get(work, GOLDS)


def read_training(own: Path, language: str, kind: RoundKind) -> tuple[TrainingExample, ...]:
    """The examples for a kind of round, in the order of their file.

    Args:
        own: path of the campaign's own set, which need not exist.
        language: the campaign's language code; ``en-GB`` uses ``en`` if it has no file.
        kind: the kind of round.

    Returns:
        The examples of the campaign's own set, else of the shipped set in this language; empty if
        there is none.

    Raises:
        CurationError: a column or a cell is missing, or a value is not allowed.
    """
    folder = shipped("data", "training")
    there = [own, *(folder / f"{name}.csv" for name in (language, language.split("-")[0]))]
    path = next((path for path in there if path.exists()), None)
    if path is None:
        return ()
    kinds = (kind, "") if kind == "validation" else (kind,)
    return tuple(each for each in _read(path) if each.kind in kinds)


def _read(path: Path) -> list[TrainingExample]:
    names, rows = read_csv(read_text(path), path)
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise CurationError(
            f"{path}: no column {', '.join(missing)}; it has {listed(names)}",
            f"use the columns {', '.join(COLUMNS)}",
        )
    return [_example(row, f"{path} line {number}") for number, row in rows]


def _example(row: Mapping[str, Any], place: str) -> TrainingExample:
    if row.get(""):
        raise CurationError(
            f"{place}: more cells than columns", "put texts with a comma into quotation marks"
        )
    cells = {name: " ".join(restored(str(row.get(name) or "")).split()) for name in COLUMNS}
    kind = cells["kind"] = cells["kind"].casefold()
    if kind and kind not in ROUND_KINDS:
        raise CurationError(
            f"{place}: no kind of round {kind!r}",
            f"use {', '.join(ROUND_KINDS)}, or leave the cell empty for validation",
        )
    needed = ("text", "label", "why") if kind == "review" else COLUMNS[1:]
    empty = [name for name in needed if not cells[name]]
    if empty:
        raise CurationError(f"{place}: {', '.join(empty)}: empty", "fill it in")
    known = values_of(kind)
    word, words = cells["label"], shipped_words()
    label = words.read("decision", word) if kind == "review" else read_label(word, words)
    label = word.casefold() if known == KEEPS_RULES else label
    if label not in known:
        raise CurationError(
            f"{place}: {word!r} is not the answer to such an example", f"use {', '.join(known)}"
        )
    is_item = kind in KINDS
    if is_item and len(cells["text"].split(BETWEEN)) != len(GOLDS):
        raise CurationError(
            f"{place}: the text is not the three texts of an item",
            f"put{BETWEEN}between stereotype, anti-stereotype and unrelated",
        )
    if not is_item and BLANK in cells["context"] and not filler(cells["context"], cells["text"]):
        raise CurationError(
            f"{place}: the text is not the context with {BLANK} filled",
            "repeat the context, with words in the place of the gap",
        )
    return TrainingExample(**{**cells, "label": str(label)})

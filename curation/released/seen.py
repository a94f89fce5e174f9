"""CATs as files have them: read from items, rows and lines without refusing anything.

What is not there is empty, and other values are written as texts. So such a CAT may be faulty.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from sys import intern
from types import MappingProxyType
from typing import Any

from curation.catsets.entries import HIDDEN, is_hidden
from curation.formats.table_words import read_label
from curation.kinds import GOLD_COLUMNS, find_item_kind
from curation.released.contents import PublishedCat, PublishedOption


def from_item(
    item: Mapping[str, Any],
    kind: str,
    where: str,
    split: str,
    classes: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> PublishedCat:
    """A CAT from an item in StereoSet's form, or from a row as in ``McGill-NLP/stereoset``.

    Args:
        item: the item; its sentences may also be an object of lists.
        kind: the kind of the CAT.
        where: the file, and the place in it.
        split: the split that the name of the file says, if it does.
        classes: the names of labels that are numbers, by column.
    """
    options = []
    for sentence in _rows(item.get("sentences")):
        gold = _gold(_name(sentence.get("gold_label"), classes.get("gold_label", ())))
        labels = _labels(sentence.get("labels"), classes.get("label", ()))
        id, text = _text(sentence.get("id")), _text(sentence.get("sentence"))
        options.append(PublishedOption(id, text, gold, labels))
    return _seen(item, kind, where, split or _text(item.get("split")), options)


def from_row(row: Mapping[str, Any], where: str) -> PublishedCat:
    """A CAT from a line of the flat form; a hidden one has ``options`` and ``commitment``."""
    kind = find_item_kind(row.get("kind"))
    columns = kind.columns if kind else GOLD_COLUMNS
    options = [
        PublishedOption("", _text(row.get(column)), gold)
        for column, gold in columns.items()
        if column in row
    ]
    options += [
        PublishedOption(_text(option.get("id")), _text(option.get("sentence")), None)
        for option in _rows(row.get("options"))
    ]
    return _seen(row, _text(row.get("kind")), where, _text(row.get("split")), options)


def _seen(
    item: Mapping[str, Any], kind: Any, where: str, split: Any, options: Sequence[PublishedOption]
) -> PublishedCat:
    proof, original = item.get("commitment"), item.get("target_original")
    return PublishedCat(
        id=_text(item.get("id")),
        kind=kind,
        domain=_text(item.get("domain", item.get("bias_type"))),
        target=_text(item.get("target")),
        target_original=None if original is None else _text(original),
        split=split,
        context=_text(item.get("context")),
        tier=item.get("tier"),
        options=tuple(options),
        commitment=None if proof is None else _text(proof),
        where=where,
        fields=_fields(tuple(item)),
    )


@lru_cache
def _fields(names: tuple[Any, ...]) -> frozenset[str]:
    return frozenset(map(str, names))


def _text(value: Any) -> str:
    """A text, which is one in memory for all forms that have it."""
    return intern(value) if type(value) is str else "" if value is None else str(value)[:200]


def _gold(value: Any) -> str | None:
    """A gold label; None if it is hidden, and any other text as it is."""
    text = _text(value)
    return None if is_hidden(text) else read_label(text) or text


def _name(value: Any, names: Sequence[str]) -> Any:
    known = type(value) is int and 0 <= value < len(names)
    return names[value] if known else value


def _rows(value: Any) -> list[dict[str, Any]]:
    """The objects of a list of objects, or of an object of lists."""
    if isinstance(value, dict):
        columns = [column if isinstance(column, list) else [] for column in value.values()]
        return [dict(zip(value, cells, strict=True)) for cells in zip_longest(*columns)]
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _labels(value: Any, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    pairs = ((row.get("human_id"), _name(row.get("label"), names)) for row in _rows(value))
    return tuple(_label(_text(annotator), _text(label)) for annotator, label in pairs)


@lru_cache(1 << 16)  # a release has many labels, and few different ones of each annotator
def _label(annotator: str, label: str) -> tuple[str, str]:
    return annotator, _gold(label) or HIDDEN

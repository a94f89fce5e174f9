"""CATs as files have them: read from items, rows and lines without refusing anything."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from sys import intern
from types import MappingProxyType
from typing import Any, NamedTuple

from curation.catsets.entries import HIDDEN, is_hidden
from curation.formats.table_words import read_label
from curation.kinds import GOLD_COLUMNS, GOLDS, KINDS


class Option(NamedTuple):
    """An association; ``gold`` may be any text, and ``labels`` are (annotator, label)."""

    id: str
    sentence: str
    gold: str
    labels: tuple[tuple[str, str], ...] = ()


class Seen(NamedTuple):
    """A CAT as a file has it, which may be faulty; ``fields`` are the names of all its fields."""

    id: str
    kind: str
    domain: str
    target: str
    context: str
    split: str
    tier: Any
    options: tuple[Option, ...]
    where: str
    commitment: str | None = None
    fields: frozenset[str] = frozenset()

    @property
    def hidden(self) -> bool:
        """Whether its gold labels are hidden."""
        return self.commitment is not None or any(o.gold == HIDDEN for o in self.options)

    @property
    def has_texts(self) -> bool:
        """Whether it has a kind, a context and a sentence, so that its texts can be compared."""
        return self.kind in KINDS and bool(self.context and any(o.sentence for o in self.options))

    @property
    def labelled(self) -> bool:
        """Whether it has options, and each has a gold label."""
        return bool(self.options) and all(o.gold not in ("", HIDDEN) for o in self.options)

    @property
    def whole(self) -> bool:
        """Whether it has texts and three options, one of each gold label."""
        texts = (self.id, self.kind, self.domain, self.target, self.context)
        golds = sorted(option.gold for option in self.options)
        return all(texts) and golds == sorted(GOLDS) and all(o.sentence for o in self.options)

    @property
    def content(self) -> tuple[object, ...]:
        """What all forms must have in the same way."""
        options = sorted((option.gold, option.sentence) for option in self.options)
        return (self.kind, self.domain, self.target, self.context, *options)


Form = list[Seen]


def from_item(
    item: Mapping[str, Any],
    kind: str,
    where: str,
    split: str,
    classes: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Seen:
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
        options.append(Option(id, text, gold, labels))
    return _seen(item, kind, where, split or _text(item.get("split")), options)


def from_row(row: Mapping[str, Any], where: str) -> Seen:
    """A CAT from a line of the flat form; a hidden one has ``options`` and ``commitment``."""
    options = [
        Option("", _text(row.get(column)), gold)
        for column, gold in GOLD_COLUMNS.items()
        if column in row
    ]
    options += [
        Option(_text(option.get("id")), _text(option.get("sentence")), HIDDEN)
        for option in _rows(row.get("options"))
    ]
    return _seen(row, _text(row.get("kind")), where, _text(row.get("split")), options)


def _seen(
    item: Mapping[str, Any], kind: str, where: str, split: str, options: Sequence[Option]
) -> Seen:
    id, target, context = (_text(item.get(name)) for name in ("id", "target", "context"))
    domain, proof = _text(item.get("domain", item.get("bias_type"))), item.get("commitment")
    about = (where, None if proof is None else _text(proof), _fields(tuple(item)))
    texts = (id, kind, domain, target, context, split)
    return Seen(*texts, item.get("tier"), tuple(options), *about)


@lru_cache
def _fields(names: tuple[Any, ...]) -> frozenset[str]:
    return frozenset(map(str, names))


def _text(value: Any) -> str:
    """A text, which is one in memory for all forms that have it."""
    return intern(value) if type(value) is str else "" if value is None else str(value)[:200]


def _gold(value: Any) -> str:
    text = _text(value)
    return HIDDEN if is_hidden(text) else read_label(text) or text


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
    return annotator, _gold(label)

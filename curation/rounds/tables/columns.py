"""The columns of a round's tables: their names, what to write in them, and the allowed values."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from curation.records import FLAGS, KINDS, RoundKind
from curation.rounds.answers.forms import FIELDS
from curation.text.table_words import FORM, OTHER, YES, Sections, Space, offered

TASK = "task_id"
GIVEN: dict[RoundKind, tuple[str, ...]] = {
    "review": ("term", "domain", "info"),
    "intrasentence": ("target", "domain"),
    "intersentence": ("target", "domain"),
    "validation": ("target", "domain", "context"),
}
"""What every table says of a task of a kind, besides its id and the texts to label."""
_EACH: dict[str, tuple[str, ...]] = {"flags": FLAGS, "reasons": tuple(FORM["reason"])}
_VALUES: dict[str, Space] = {"decision": "decision", "label": "label"}
_LISTED = "merge_into"  # its values differ between tasks


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: its canonical name.
        heading: the name that the table shows.
        hint: what it is, or what to write in it.
        values: the values that are allowed, as the table shows them; empty if any text is.
        fill: whether people fill it in.
        listed: whether each row has allowed values of its own.
        long: whether its cells have long texts.
    """

    name: str
    heading: str
    hint: str
    values: tuple[str, ...] = ()
    fill: bool = False
    listed: bool = False
    long: bool = False


class Row(NamedTuple):
    """A row of a table: its cells by canonical name, and the values of columns that are listed."""

    cells: Mapping[str, Any]
    lists: Mapping[str, Sequence[str]] = {}


def columns(
    kind: RoundKind,
    texts: Sections,
    *,
    consent: str,
    personal: bool,
    plain: bool = False,
) -> list[Column]:
    """The columns of a table of tasks, in order.

    Args:
        kind: the kind of the round.
        texts: the texts of the round, with those of tables.
        consent: the version of the consent text, the only value of the column ``consent``; empty
            if people agree elsewhere, and the table has no such column.
        personal: whether the table is for one person. It then names that person, and does not say
            how many answers each task needs.
        plain: canonical names instead of words, for a table that programs read. Such a table also
            has the ids of the texts, and the terms to merge into.
    """
    shown = offered(texts)
    yes = YES if plain else shown["answer"][YES]

    def column(name: str, *, fill: bool = False) -> Column:
        base = re.sub(r"_\d$", "", name)
        space = _VALUES.get(base)
        words = shown[space] if space else {}
        values = tuple(words) if plain else tuple(words.values())
        if name.partition(".")[0] in _EACH:
            values = (yes,)
        elif name == "consent":
            values = (consent,)
        return Column(
            name=name,
            heading=name if plain else shown["column"].get(name, name),
            hint=_hint(name, base, kind if fill else None, texts),
            values=values,
            fill=fill,
            listed=name == _LISTED and not plain,
            long=base in ("context", "text", "template", "info")
            or (kind == "intersentence" and fill and not values),
        )

    given = [TASK, *GIVEN[kind]]
    if not personal:
        given.append("answers_needed")
    if plain and kind == "review":
        given.append("merge_choices")
    every = [column(name) for name in given]
    for field in FIELDS[kind]:
        if field.startswith("label_"):
            number = field.removeprefix("label_")
            shown_with = (f"id_{number}", f"text_{number}") if plain else (f"text_{number}",)
            every += [column(name) for name in shown_with]
        names = [f"{field}.{value}" for value in _EACH[field]] if field in _EACH else [field]
        every += [column(name, fill=True) for name in names]
    every.append(column("annotator", fill=not personal))
    return every + ([column("consent", fill=True)] if consent else [])


def _hint(name: str, base: str, kind: RoundKind | None, texts: Sections) -> str:
    """What a column is, or what to write; ``kind`` if people fill it in."""
    hints = texts["hint"]
    if kind in KINDS and f"{name}_hint" in texts[kind]:
        return str(texts[kind][f"{name}_hint"])
    field, _, value = base.partition(".")
    if field == "flags":
        return f"{texts['validation'][f'{value}_hint']}\n{hints['flag']}"
    return str(hints["reason" if field == "reasons" else base])


def row(data: Mapping[str, Any], *, needed: int, annotator: str = "", plain: bool = False) -> Row:
    """The row of a task.

    Args:
        data: what people may see of the task, as ``pages.task_data`` gives it.
        needed: how many answers the task still needs.
        annotator: the person whose table it is; empty for a table for anybody.
        plain: as in ``columns``.
    """
    cells = {name: value for name, value in data.items() if not isinstance(value, list)}
    cells |= {"answers_needed": needed, "annotator": annotator}
    offers = [(o["alias"], o["value"].replace("$\u2060", "$")) for o in data.get("choices", ())]
    if plain:
        cells["merge_choices"] = " | ".join(f"{term}: {text}" for term, text in offers)
        return Row(cells)
    times = Counter(text for _, text in offers)
    texts = [text if times[text] == 1 or id == OTHER else f"{id}: {text}" for id, text in offers]
    return Row(cells, {_LISTED: texts} if offers else {})

"""Gold labels and votes of published files, in our words."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from curation.files import CurationError
from curation.rules import read_label

GOLD_ORDER = ("anti-stereotype", "stereotype", "unrelated")
"""The integers of ``gold_label`` in the Hugging Face layout, as its dataset card documents them."""
LABEL_ORDER = (*GOLD_ORDER, "related")
"""The integers of ``label`` in the same layout."""


HIDDEN = "hidden"
"""The gold label of a hidden CAT in a release; in the Hugging Face layout, it is -1."""


def is_hidden(value: Any) -> bool:
    """Whether a gold label in a file says that it is not published.

    >>> is_hidden("hidden"), is_hidden(-1), is_hidden("stereotype")
    (True, True, False)
    """
    return type(value) in (str, int) and key_of(value) in (HIDDEN, "-1")


def hidden_error(where: str) -> CurationError:
    """The error of a place whose gold labels are hidden."""
    return CurationError(
        f"{where}: the gold labels are hidden; this needs the gold labels",
        "use the test.json of the release in which they are revealed (VERSION-revealed); the team "
        "of the dataset can use its 7-release/gold-VERSION.jsonl",
    )


def key_of(value: Any) -> str:
    """A value of a file as a mapping file's key names it."""
    return str(value).strip().casefold()


def our_label(value: Any, given: Mapping[str, str], order: Sequence[str] = ()) -> Any:
    """A label in our words; a value that is not known stays as it is.

    Args:
        value: the label in the file.
        given: the labels of a mapping file, by ``key_of``.
        order: the names of integers.

    >>> our_label(0, {}, GOLD_ORDER), our_label("estereotipo", {"estereotipo": "stereotype"})
    ('anti-stereotype', 'stereotype')
    >>> our_label(7, {}, GOLD_ORDER), our_label("Anti_Stereotype", {})
    (7, 'anti-stereotype')
    """
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        if key_of(value) in given:
            return given[key_of(value)]
        if isinstance(value, int) and 0 <= value < len(order):
            name = order[value]
            return given.get(key_of(name)) or read_label(name) or name
    if isinstance(value, str):
        return read_label(value) or value
    return value


def our_votes(labels: Any, given: Mapping[str, str], order: Sequence[str] = ()) -> Any:
    """The votes of a sentence as a list of objects, with the labels in our words.

    Args:
        labels: a list of objects, an object of lists, or either as JSON; anything else is kept.
        given: as for ``our_label``.
        order: as for ``our_label``.

    >>> our_votes({"label": [1], "human_id": ["p1"]}, {}, LABEL_ORDER)
    [{'label': 'stereotype', 'human_id': 'p1'}]
    """
    labels = unpacked(labels)
    if isinstance(labels, dict):
        rows = rows_of_lists(labels)
        labels = labels if rows is None else rows
    if not isinstance(labels, list):
        return labels
    return [
        {**vote, "label": our_label(vote["label"], given, order)}
        if isinstance(vote, dict) and "label" in vote
        else vote
        for vote in labels
    ]


def rows_of_lists(columns: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """An object of lists as a list of objects; None if it is not one, or they differ in length.

    >>> rows_of_lists({"a": [1, 2], "b": [3, 4]})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 4}]
    """
    lists = {name: value for name, value in columns.items() if isinstance(value, list)}
    lengths = {len(value) for value in lists.values()}
    if len(lengths) != 1 or len(lists) != len(columns):
        return None
    return [{name: value[index] for name, value in lists.items()} for index in range(lengths.pop())]


def unpacked(cell: Any) -> Any:
    """A cell that is a list or an object written as JSON, as that list or object."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell

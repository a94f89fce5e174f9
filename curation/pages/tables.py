"""The downloads of the report: every table of its JSON files as CSV."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from curation.formats.tables import csv_text

ENDS = ("low", "high")  # the columns of an interval
_PRIVATE = frozenset({("agreement", "annotators")})
"""The tables that mark single people."""
_TOO_LONG = frozenset({"examples", "read", "cats"})
"""Tables in tables that only quote texts; a release has its CATs as tables."""


class Table(NamedTuple):
    """A table: its file, what is in it, and how many rows and which columns it has."""

    file: str
    data: bytes
    about: dict[str, Any]


def tables(contents: Mapping[str, Any], *, private: bool) -> list[Table]:
    """All tables of some JSON files, each a list of objects there, or an object of objects.

    Args:
        contents: the content of each file by its name.
        private: also tables with a row for each person.
    """
    return [
        _table("-".join(path), rows)
        for name, content in contents.items()
        for path, rows in _found((name,), content, {})
        if private or path[:2] not in _PRIVATE
    ]


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    every = dict.fromkeys(column for row in rows for column in row)
    columns = [name for name in every if f"{name}.{ENDS[0]}" not in every]
    text = csv_text([columns, *([row.get(column) for column in columns] for row in rows)])
    file = f"{name.replace('_', '-')}.csv"
    return Table(file, text.encode(), {"file": file, "rows": len(rows), "columns": columns})


def _found(
    path: tuple[str, ...], content: Any, above: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    """The tables in a value, outer ones first; rows of inner ones begin with columns ``above``."""
    if _is_table(content):
        content = [{"name": name, **value} for name, value in content.items()]
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield from _found((*path, name), value, above)
    elif _are_objects(content):
        rows = [{**above, **dict(_cells(row))} for row in content]
        yield path, rows
        inner: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row, cells in zip(content, rows, strict=True):
            short = {name: cell for name, cell in cells.items() if isinstance(cell, str)}
            for name, value in row.items():
                if _are_objects(value) and name not in _TOO_LONG:
                    for where, those in _found((*path, name), value, short):
                        inner.setdefault(where, []).extend(those)
        yield from inner.items()


def _is_table(value: Any) -> bool:
    """Whether a value is an object of objects that have no such object in them."""
    inner = list(value.values()) if isinstance(value, Mapping) else []
    return bool(inner) and all(
        isinstance(each, Mapping) and not any(map(_is_table, each.values())) for each in inner
    )


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _cells(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The columns of an object: intervals in two of them, lists of texts in one."""
    for key, value in row.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _cells(value, f"{name}.")
        elif not isinstance(value, list):
            yield name, value
        elif len(value) == len(ENDS) and all(isinstance(e, float | int | None) for e in value):
            yield from zip((f"{name}.{end}" for end in ENDS), value, strict=True)
        elif not _are_objects(value):
            yield name, "; ".join(map(str, value))

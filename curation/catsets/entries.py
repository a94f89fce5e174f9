"""What is read from a set of CATs: its items in StereoSet's form, and what its layout lacks."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from curation.records import Kind


class Entry(NamedTuple):
    """One item in StereoSet's form, and its place in the file."""

    kind: Kind
    where: str
    item: dict[str, Any]


@dataclass(frozen=True)
class Dataset:
    """The items of a set of CATs.

    Attributes:
        entries: the items, in the order of the file; they may be faulty.
        layout: the name of the layout.
        notes: what users should know of how the file was read, one sentence each.
        skip_bad: whether the mapping file says to leave out items that are not CATs.
        curation: the field ``curation`` of a release's file, unchecked.
    """

    entries: list[Entry]
    layout: str
    notes: tuple[str, ...] = ()
    skip_bad: bool = False
    curation: Any = field(default_factory=dict)


class Row(NamedTuple):
    """A row of a table, or a JSON object: its place in the file, and its values by column."""

    where: str
    values: dict[str, Any]


@dataclass(frozen=True)
class Part:
    """Rows that are together in a file, such as the items of one kind.

    Attributes:
        rows: the rows.
        kind: the kind of all of them, if their place says it.
        classes: the names of integer labels by column, if the file declares them.
        whole: whether these are items of StereoSet's own JSON, whose other fields are kept.
        by_label: whether the rows were in a list for each gold label.
        header: the columns, if the file lists them itself.
    """

    rows: list[Row]
    kind: Kind | None = None
    classes: dict[str, list[str]] = field(default_factory=dict)
    whole: bool = False
    by_label: bool = False
    header: tuple[str, ...] = ()

    def columns(self) -> list[str]:
        """The columns, in order of appearance."""
        named = (column for row in self.rows for column in row.values)
        return list(dict.fromkeys((*self.header, *named)))


def sentences_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The sentences of an item that are objects; none if it has no list of them."""
    sentences = item.get("sentences")
    return [s for s in sentences if isinstance(s, dict)] if isinstance(sentences, list) else []

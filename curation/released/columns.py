"""The columns of the tables of a release, from which every format and its metadata are written."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from curation.catsets.entries import GOLD_ORDER, LABEL_ORDER
from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.kinds import CAT_KINDS, GOLD_COLUMNS, ITEMS

Feature = Mapping[str, Any]
Table = Literal["hub", "cats", "hidden", "sealed", "annotations", "terms"]


class Column(NamedTuple):
    """A column of a table, or a part of one: a section of ``data/release/columns.toml``."""

    name: str
    says: str
    docs: str = ""
    type: str = "text"
    shape: str = ""
    tables: tuple[str, ...] = ()
    optional: bool = False
    unique: bool = False
    telling: bool = False
    compared: bool = False


class Type(NamedTuple):
    """A type of values: as a feature of datasets, in Croissant, in a data package, and in words."""

    feature: Feature
    croissant: str
    frictionless: str
    says: str


def _sequence(of: Feature) -> Feature:
    # Versions of datasets before 4 know «Sequence» only, and later ones read it as well.
    return {"feature": of, "_type": "Sequence"}


_TEXT, _INTEGER, _BOOLEAN = ({"dtype": t, "_type": "Value"} for t in ("string", "int64", "bool"))
_GOLD, _LABEL = ({"names": [*o], "_type": "ClassLabel"} for o in (GOLD_ORDER, LABEL_ORDER))
TYPES = {
    "text": Type(_TEXT, "sc:Text", "string", "text"),
    "integer": Type(_INTEGER, "sc:Integer", "integer", "whole number"),
    "count": Type(_INTEGER, "sc:Integer", "integer", "whole number"),
    "boolean": Type(_BOOLEAN, "sc:Boolean", "boolean", "true or false"),
    "texts": Type(_sequence(_TEXT), "sc:Text", "array", "list of texts"),
    "list": Type(_sequence({}), "", "array", "list"),
    "gold": Type(_GOLD, "cr:Int64", "integer", "whole number"),
    "label": Type(_LABEL, "cr:Int64", "integer", "whole number"),
}
_CONTENT = read_toml(shipped("data", "release", "columns.toml"), fix="see its first lines")
_EACH_KIND = "KIND"
TABLES: dict[str, str] = _CONTENT.pop("tables")
"""What a row of each table is."""


def _read_columns() -> Iterator[Column]:
    for table, columns in _CONTENT.items():
        for name, about in columns.items():
            fields = about | {"tables": tuple(about.get("tables", (table,)))}
            if name == _EACH_KIND:
                for kind in CAT_KINDS:
                    yield Column(kind, **fields | {"says": about["says"].replace(name, kind)})
            else:
                yield Column(name, **fields)


_ALL = [*_read_columns()]
COLUMNS = {table: tuple(c for c in _ALL if table in c.tables) for table in TABLES}
"""The columns of each table in their order; parts of a column come after it."""
TELLING = frozenset(column.name for column in COLUMNS["cats"] if column.telling)
"""What a hidden CAT has no value of."""
COMPARED = tuple(column.name for column in COLUMNS["cats"] if column.compared)
"""What two versions of a CAT may differ in, besides its split, tier, associations and ids."""


def list_columns(table: Table, kinds: Iterable[str] = CAT_KINDS) -> list[Column]:
    """The columns of a table whose CATs are of these kinds: only roles that these have."""
    there = [kind for kind in ITEMS.values() if kind.name in kinds]
    own = {name for kind in there for name in kind.columns}
    sizes = {kind.size for kind in there}
    size = str(sizes.pop()) if len(sizes) == 1 else "-1"
    return [
        column._replace(shape=column.shape.replace("SIZE", size))
        for column in COLUMNS[table]
        if column.name in own or column.name not in GOLD_COLUMNS
    ]


def column_names(table: Table, kinds: Iterable[str] = CAT_KINDS) -> list[str]:
    """The names of a table's columns, without those that are parts of another."""
    return [column.name for column in list_columns(table, kinds) if "." not in column.name]


def key_of(table: Table) -> str:
    """The column by which rows of a table are told apart; empty if there is none."""
    return next((column.name for column in COLUMNS[table] if column.unique), "")


def features(table: Table, kinds: Iterable[str] = CAT_KINDS) -> dict[str, Feature]:
    """The columns of a table, as of ``list_columns``, as features of datasets."""
    built: dict[str, Any] = {}
    for column in list_columns(table, kinds):
        *above, last = column.name.split(".")
        parts = built
        for name in above:
            parts = parts.setdefault(name, _sequence({}))["feature"]
        is_list = column.type == "list"
        parts[last] = _sequence({}) if is_list else TYPES[column.type].feature
    return built
